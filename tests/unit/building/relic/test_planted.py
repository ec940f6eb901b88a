"""Quotations planted in invented criticism are found, and nothing else is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from irtoolkit.building.relic.build import build_relic
from tests import critic

BOOKS = {f"book{n}": critic.book(n) for n in range(4)}
ARTICLES = {f"article{n}": critic.article(BOOKS, 100 + n) for n in range(3)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("planted")
    for folder in ("novels", "articles"):
        (place / folder).mkdir()
    for name, sentences in BOOKS.items():
        (place / "novels" / f"{name}.txt").write_text(critic.as_text(name, sentences), "utf-8")
    for name, article in ARTICLES.items():
        (place / "articles" / f"{name}.txt").write_text(article.text, "utf-8")
    build_relic([place / "novels"], [place / "articles"], place / "mine")
    return place / "mine"


def found(built: Path) -> Counter[tuple[str, str, int, int]]:
    lines = [json.loads(line) for line in (built / "windows.jsonl").read_text("utf-8").splitlines()]
    golds = Counter()
    for line in lines:
        book, _, span = line["passage"].rpartition(":")
        start, _, length = span.partition("+")
        golds[line["article"], book, int(start), int(length)] += 1
    return golds


def planted(kind: str | None = None) -> Counter[tuple[str, str, int, int]]:
    return Counter(
        (name, one.book, one.start, one.length)
        for name, article in ARTICLES.items()
        for one in article.planted
        if kind in (None, one.kind)
    )


def test_books_have_the_sentences_that_were_written(built: Path) -> None:
    sentences = {}
    for split in ("train", "val", "test"):
        release = json.loads((built / f"{split}.json").read_text("utf-8"))
        sentences |= {name: record["sentences"] for name, record in release.items()}
    assert sentences == BOOKS


def test_precision_and_recall(built: Path) -> None:
    golds = found(built)
    right = sum((golds & planted()).values())
    assert right > 0.95 * sum(golds.values())
    assert right > 0.95 * sum(planted().values())


@pytest.mark.parametrize("kind", critic.KINDS)
def test_every_kind_is_found(built: Path, kind: str) -> None:
    wanted = planted(kind)
    assert sum((found(built) & wanted).values()) >= 0.8 * sum(wanted.values())


def test_contexts_say_what_the_critic_says(built: Path) -> None:
    """No running head, page number or part of the quotation is in them."""
    written = {word for a in ARTICLES.values() for word in a.text.split()}
    for split in ("train", "val", "test"):
        release = json.loads((built / f"{split}.json").read_text("utf-8"))
        for record in release.values():
            for left, start, length, right in record["quotes"].values():
                context = " ".join((*left, *right))
                assert "INVENTION" not in context
                assert "INVENTED CRITIC" not in context
                assert all(s not in context for s in record["sentences"][start : start + length])
                assert 3 <= len(left) <= 4
                assert 3 <= len(right) <= 4
    assert "INVENTION" in written


def test_splits_share_no_book(built: Path) -> None:
    names = [
        name
        for s in ("train", "val", "test")
        for name in json.loads((built / f"{s}.json").read_text("utf-8"))
    ]
    assert sorted(names) == sorted(BOOKS)
