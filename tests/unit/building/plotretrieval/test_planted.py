"""Comments planted on invented books find their passages, and comments that make no pair are left out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")

from irtoolkit.building.plotretrieval.alignment import USUAL
from irtoolkit.building.plotretrieval.build import Recipe, build_plotretrieval
from irtoolkit.building.plotretrieval.quality import Gathered
from irtoolkit.retrievers.dense import Dense
from tests import critic, reader

SEEDS = (1, 2, 3, 4)
BOOKS = {f"book{n}": reader.book(n) for n in SEEDS}
READERS = reader.readers(BOOKS, 50)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Gathered]:
    place = tmp_path_factory.mktemp("planted")
    (place / "novels").mkdir()
    for name, sentences in BOOKS.items():
        (place / "novels" / f"{name}.txt").write_text(critic.as_text(name, sentences), "utf-8")
    READERS.write(place / "comments.jsonl")
    model = reader.save_model(place / "model", SEEDS)
    recipe = Recipe(Dense(model=str(model)), USUAL["dense"])
    made = build_plotretrieval(
        [place / "novels"], [place / "comments.jsonl"], place / "mine", recipe
    )
    return place / "mine", made


def queries(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for split in ("train", "val", "test")
        for line in (folder / f"queries-{split}.jsonl").read_text("utf-8").splitlines()
    ]


def test_precision_and_recall(built: tuple[Path, Gathered]) -> None:
    found = {(q["query"], q["book"], *span) for q in queries(built[0]) for span in q["spans"]}
    planted = {(text, *where) for text, where in READERS.planted.items()}
    assert len(planted) == 160
    right = len(found & planted)
    assert right > 0.95 * len(found)
    assert right > 0.95 * len(planted)


@pytest.mark.parametrize("kind", reader.KINDS)
def test_every_way_to_say_the_place(built: tuple[Path, Gathered], kind: str) -> None:
    name = {"near": "sentence", "free": ""}.get(kind, kind)
    asked = [
        line["text"]
        for line in READERS.lines
        if line["text"] in READERS.planted and (name in line if name else len(line) == 2)
    ]
    assert len(asked) == 32
    spans = {q["query"]: (q["book"], *q["spans"][0]) for q in queries(built[0])}
    right = sum(spans.get(text) == READERS.planted[text] for text in asked)
    assert right > 0.9 * len(asked)


def test_other_comments_are_left_out_for_what_they_are(built: tuple[Path, Gathered]) -> None:
    made = built[1]
    assert made.left_out == Counter(
        {
            "not about the plot": 16, "quotes the book": 16, "shorter than 4 words": 16,
            "in another language than the book": 16, "no passage is near enough": 16,
            "shares its words with the passage": 16,
        }
    )  # fmt: skip
    assert made.comments == len(READERS.lines) == len(made.candidates) + 96


def test_splits_share_no_book(built: tuple[Path, Gathered]) -> None:
    folder = built[0]
    of_split = {
        split: {json.loads(line)["book"] for line in (folder / f"queries-{split}.jsonl").open()}
        for split in ("train", "val", "test")
    }
    assert sorted(book for books in of_split.values() for book in books) == sorted(BOOKS)
    for name, sentences in BOOKS.items():
        record = json.loads((folder / "books" / f"{name}.json").read_text("utf-8"))
        assert record == {"book": name, "sentences": sentences}
