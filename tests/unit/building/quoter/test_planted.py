"""Quotes planted in invented texts are found, and nothing else is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtoolkit.building.quoter import corpus
from irtoolkit.building.quoter.build import build_quoter
from irtoolkit.building.quoter.letters import letters
from irtoolkit.building.quoter.recipe import Recipe
from tests import quotable
from tests.quotable import Written

QUOTES = {"en": quotable.western(30), "zh": quotable.eastern(30)}
TEXTS = {
    "en": {f"essay{n}": quotable.essay(QUOTES["en"], n, 70) for n in range(3)},
    "zh": {f"essay{n}": quotable.zh_essay(QUOTES["zh"], n, 70) for n in range(3)},
}
# Text, place of the first letter, quote.
Found = Counter[tuple[str, int, str]]


@pytest.fixture(scope="module", params=["en", "zh"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lang = str(request.param)
    place = tmp_path_factory.mktemp(lang)
    (place / "corpus").mkdir()
    (place / "quotes.txt").write_text("\n".join(QUOTES[lang]), "utf-8")
    for name, written in TEXTS[lang].items():
        (place / "corpus" / f"{name}.txt").write_text(written.text, "utf-8")
    with pytest.MonkeyPatch.context() as patched:
        # Pieces so small that many quotes are at their borders.
        patched.setattr(corpus.pieces, "__defaults__", (3000,))
        build_quoter([place / "quotes.txt"], [place / "corpus"], place / "mine", Recipe(least=2))
    return place / "mine"


def language(built: Path) -> str:
    return str(json.loads((built / "benchmark.json").read_text("utf-8"))["lang"])


def rows(built: Path) -> Iterator[tuple[str, dict[str, int]]]:
    for path in sorted((built / "occurrences").iterdir()):
        for line in path.read_text("utf-8").splitlines()[1:-1]:
            yield path.stem, json.loads(line)


def first_letter(text: str, begin: int) -> int:
    return next(at for at in range(begin, len(text)) if letters(text[at]))


def planted(lang: str, kind: str | None = None) -> Found:
    return Counter(
        (name, first_letter(written.text, begin), QUOTES[lang][number])
        for name, written in TEXTS[lang].items()
        for begin, _, number, how in written.planted
        if kind in (None, how)
    )


def found(built: Path) -> Found:
    quotes = QUOTES[language(built)]
    return Counter((name, row["begin"], quotes[row["quote"]]) for name, row in rows(built))


def test_the_language_is_guessed(built: Path) -> None:
    assert language(built) == built.parent.name.rstrip("0123456789")


def test_precision_and_recall(built: Path) -> None:
    ours, theirs = found(built), planted(language(built))
    right = sum((ours & theirs).values())
    assert right > 0.95 * sum(ours.values())
    assert right > 0.95 * sum(theirs.values())


def test_contexts_are_what_is_around_the_quote(built: Path) -> None:
    """Forty words, or fifty characters, without the marks of pages and the hyphens of line ends."""
    lang = language(built)
    words = {w for written in TEXTS["en"].values() for w in _words(written)}
    for line in (
        (built / f"{'english' if lang == 'en' else 'modern_chinese'}.txt")
        .read_text("utf-8")
        .splitlines()
    ):
        left, quote, right = line.split("\t")
        assert quote in QUOTES[lang]
        assert letters(quote) not in letters(left + right)
        if lang == "en":
            assert left.endswith(('He said: "', "He said:"))
            assert max(len(left.split()), len(right.split())) <= 43
            assert {letters(word) for word in (left + " " + right).split()} - {""} <= words
        else:
            assert left.endswith("曰：")
            assert max(len(left), len(right)) <= 50


def _words(written: Written) -> Iterator[str]:
    mended = written.text.replace("[Pg 12]", "").replace("-\n", "")
    for word in mended.replace("\u2014", " ").replace("\u2026", " ").split():
        yield letters(word)


def test_every_quote_is_in_val_and_test(built: Path) -> None:
    lines = [
        json.loads(line) for line in (built / "contexts.jsonl").read_text("utf-8").splitlines()
    ]
    quotes = {
        split: {line["quote"] for line in lines if line["split"] == split}
        for split in ("train", "val", "test")
    }
    assert quotes["val"] == quotes["test"]
    assert quotes["train"] < quotes["val"]
