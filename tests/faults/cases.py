"""The commands that are disturbed, and what they need beforehand."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests import critic, quotable
from tests.faults.zygote import ROOT

_SAMPLES = ROOT / "irtoolkit" / "datasets" / "samples"
_WORDS = ["whale", "ship", "sea", "captain", "letter", "storm", "harbour", "lamp", "coat", "sister"]

Files = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A command to disturb.

    Attributes:
        argv: its words after "irtoolkit".
        files: writes what it reads into a folder.
        before: commands that are run undisturbed beforehand.
        env: environment variables; `{}` stands for the folder, `{beside}` for the one that it is in.
        continues: folders whose half-finished work the same command continues; all other files are
            whole or absent at any time.
        moments: how many moments of each kind, at most.
        shares: where these are the only kinds, how many moments of each.
        workers: whether processes that it starts are killed too, and looked for when it has ended.
        reads: whether it changes nothing, so that files read are its moments.
    """

    argv: tuple[str, ...]
    files: tuple[Files, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    continues: tuple[str, ...] = ()
    moments: int = 8
    shares: dict[str, int] = field(default_factory=dict)
    workers: bool = False
    reads: bool = False


def documents(first: int, count: int) -> str:
    """Lines of JSON of documents of a few words, the same for the same numbers."""
    lines = []
    for number in range(first, first + count):
        words = random.Random(number).choices(_WORDS, weights=range(1, 11), k=number % 9)
        lines.append(json.dumps({"doc_id": f"d{number}", "text": " ".join(words)}))
    return "\n".join(lines) + "\n"


def docs(folder: Path) -> None:
    """Writes documents, some more, and queries."""
    (folder / "docs.jsonl").write_text(documents(0, 400))
    (folder / "more.jsonl").write_text(documents(400, 200))
    (folder / "topics.tsv").write_text("q1\twhale ship\nq2\tletter\nq3\tstorm lamp coat\n")


def release(folder: Path) -> None:
    """Puts samples where releases are."""
    for name in ("csfcube", "quoter", "relic"):
        shutil.copytree(_SAMPLES / name, folder / "data" / name)


def model(folder: Path) -> None:
    """Saves a tiny model."""
    from tests import tiny

    tiny.save(folder / "tiny")


def recipe(folder: Path) -> None:
    """Writes a recipe, and the model that it starts from."""
    from tests import tiny

    tiny.save(folder / "tiny")
    (folder / "mine.toml").write_text(RECIPE)


RECIPE = """
title = "A model of nothing"
paper = "Nobody 2026, §1"
note = "Only for this test."
start = "./tiny"
pooling = "mean"
similarity = "cosine"
query_length = 20
doc_length = 16

[[stage]]
dataset = "quoter/sample/en/train"
loss = "in-batch"
scale = 20.0
batch = 4
rate = 1e-3
epochs = 2
evaluate = "quoter/sample/en/val"
measure = "RR"
"""


def corpus(folder: Path) -> None:
    """Writes quotes, and books that have them."""
    quotes = quotable.western(12)
    (folder / "books").mkdir()
    (folder / "quotes.txt").write_text("\n".join(quotes), "utf-8")
    for number in range(3):
        text = quotable.essay(quotes, number, 60).text
        (folder / "books" / f"essay{number}.txt").write_text(text, "utf-8")


def novel(folder: Path) -> None:
    """Writes a novel."""
    sentences = critic.book(7, 120)
    (folder / "novel.txt").write_text("\n\n".join(sentences), "utf-8")


_TWO_RUNS = (
    ("retrieve", "csfcube/sample", "bm25", "-o", "bm25.run"),
    ("retrieve", "csfcube/sample", "random", "-o", "random.run"),
)
_EVAL = ("eval", "csfcube/sample", "bm25.run", "random.run", "--per-query")
_INDEX = ("index", "docs.jsonl", "bm25", "-o", "idx")
_ADD = ("index", "more.jsonl", "bm25", "-o", "idx", "--add")
_SEARCH = ("retrieve", "--index", "idx", "--topics", "topics.tsv", "-o", "idx.run")
QUOTER = ("build", "quoter", "--quotes", "quotes.txt", "--corpus", "books/", "-o", "mine")

_SERVE = ("serve", "novel.txt", "--folder", "library", "--model", "none", "--port", "0")

# Ray is started for each, which takes its time; its own files are beside the folder.
_RAY = ("--engine", "ray", "--workers", "2")
_BESIDE = {"RAY_TMPDIR": "{beside}/r"}
_RAY_SHARES = {"kill": 4, "interrupt": 2, "term": 2}

CASES: dict[str, Case] = {
    "load": Case(
        ("retrieve", "relic/val", "bm25", "-o", "a.run"), (release,),
        env={"IRTOOLKIT_DATA": "{}/data"},
    ),
    "retrieve": Case(("retrieve", "csfcube/sample", "bm25", "-o", "a.run.gz")),
    # With warm caches the largest new file is the output, and is torn within.
    "retrieve-again": Case(
        ("retrieve", "csfcube/sample", "bm25", "-o", "a.run"), (), _TWO_RUNS[:1], moments=4
    ),
    "retrieve-parquet": Case(("retrieve", "csfcube/sample", "bm25", "-o", "a.parquet"), moments=4),
    "index": Case(_INDEX, (docs,), continues=("idx",)),
    "add": Case(_ADD, (docs,), (_INDEX,), continues=("idx",)),
    "merge": Case(
        ("index", "idx", "--merge"), (docs,), (_INDEX, _ADD), continues=("idx",)
    ),
    "search": Case(_SEARCH, (docs,), (_INDEX,), moments=4),
    "encode": Case(
        ("retrieve", "csfcube/sample", "./tiny", "-o", "dense.run"), (model,),
    ),
    "train": Case(
        ("train", "mine.toml", "-o", "model", "--save-every", "20"), (recipe,),
        continues=("model", "model.training"),
    ),
    "build": Case(QUOTER, (corpus,), continues=("mine",)),
    "eval": Case(
        (*_EVAL, "values.tsv"), (), _TWO_RUNS,
    ),
    "eval-again": Case(
        (*_EVAL, "values.tsv"), (), (*_TWO_RUNS, (*_EVAL, "first.tsv")), moments=4,
    ),
    "eval-print": Case(
        ("eval", "csfcube/sample", "bm25.run", "--format", "json"), (), _TWO_RUNS[:1], reads=True
    ),
    "report": Case(
        ("report", "csfcube/sample", "bm25.run", "random.run", "-o", "report.html", "-o",
         "table.tex", "--figures", "figures"), (), _TWO_RUNS,
    ),
    "tune": Case(
        ("tune", "relic/sample/val", "bm25", "--grid", "k1=0.5,0.9", "b=0.4,0.9", "--measures",
         "R@10", "-o", "tuned.json"), continues=("tuned.json",),
    ),
    "reproduce": Case(
        ("reproduce", "csfcube", "--sample", "--systems", "random", "fabs_bm25"),
        continues=("runs",),
    ),
    "serve-prepare": Case((*_SERVE, "--prepare"), (novel,), continues=("library",)),
    # It is asked to stop as soon as it answers.
    "serve": Case(
        _SERVE, (novel,), ((*_SERVE, "--prepare"),), env={"FAULTS_STOP": "1"},
        continues=("library",), moments=4,
    ),
    "workers": Case(
        (*_INDEX, "--workers", "2"), (docs,), continues=("idx",), moments=4, workers=True
    ),
    "build-workers": Case(
        (*QUOTER, "--workers", "2"), (corpus,), continues=("mine",), moments=4, workers=True
    ),
    "ray": Case(
        (*_INDEX, *_RAY), (docs,), env=_BESIDE, continues=("idx",), shares=_RAY_SHARES, workers=True
    ),
    "ray-retrieve": Case(
        ("retrieve", "csfcube/sample", "bm25", "-o", "a.run", *_RAY), env=_BESIDE,
        shares=_RAY_SHARES, workers=True,
    ),
    "ray-reproduce": Case(
        ("reproduce", "csfcube", "--sample", "--systems", "random", "fabs_bm25", *_RAY),
        env=_BESIDE, continues=("runs",), shares=_RAY_SHARES, workers=True,
    ),
}  # fmt: skip
