"""irtoolkit build plotretrieval: from comments to a checked benchmark, and what users get wrong."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.building.plotretrieval import pieces
from irtoolkit.building.plotretrieval.annotation import USUAL
from irtoolkit.building.plotretrieval.build import Recipe, build_plotretrieval
from irtoolkit.building.plotretrieval.filters import Filter, Limits
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.lexical import BM25
from tests import critic, reader

BOOKS = {f"book{n}": reader.book(n, 90) for n in range(3)}
READERS = reader.readers(BOOKS, 60, 3)
BUILD = ["build", "plotretrieval", "--books", "novels", "--comments", "comments", "-o", "mine"]
BUILD += ["--align", "bm25", "--ask", "0.02"]


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with novels/ and comments/."""
    for folder in ("novels", "comments"):
        (tmp_path / folder).mkdir()
    for name, sentences in BOOKS.items():
        (tmp_path / "novels" / f"{name}.txt").write_text(critic.as_text(name, sentences), "utf-8")
    READERS.write(tmp_path / "comments" / "readers.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pieces, "PIECE", 16)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as sheet:
        return list(csv.DictReader(sheet, delimiter="\t"))


def write(path: Path, found: list[dict[str, str]], delimiter: str = "\t", **how: Any) -> None:
    with path.open("w", newline="", **{"encoding": "utf-8", **how}) as out:
        sheet = csv.DictWriter(out, found[0], delimiter=delimiter)
        sheet.writeheader()
        sheet.writerows(found)


def recipe() -> Recipe:
    return Recipe(BM25(), USUAL["bm25"], Filter(Limits(words="sklearn")))


def test_the_whole_path(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    said = capsys.readouterr()
    assert "words of a query, mean" in said.out
    assert "29.1" in said.out  # the paper's
    assert "mine/train, mine/val, mine/test" in said.err
    for run in ("bm25", "random"):
        assert main(["retrieve", "mine/val/book", run, "-o", f"{run}.run"]) == 0
    assert main(["eval", "mine/val/book", "bm25.run", "random.run"]) == 0
    assert "NRODCG@10" in capsys.readouterr().out
    assert main(["compare", "mine/val/book", "bm25.run", "random.run"]) == 0
    assert main(["report", "mine/val/book", "bm25.run", "random.run", "-o", "report.html"]) == 0
    assert "PlotRetrieval (built from other texts)" in Path("report.html").read_text("utf-8")
    assert main(["datasets", "mine/test/m5"]) == 0
    assert "texts" in capsys.readouterr().out
    assert main(["retrieve", "mine/test/m5/book", "bm25", "-o", "m5.run"]) == 0


def test_the_published_form(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads irtoolkit's form of the release reads the folder in its place."""
    build_plotretrieval(["novels"], ["comments"], "data/plotretrieval", recipe())
    monkeypatch.setenv("IRTOOLKIT_DATA", str(texts / "data"))
    for split in ("train", "val", "test"):
        for view in ("", "/book"):
            theirs = Dataset.load(f"plotretrieval/{split}{view}")
            ours = Dataset.load(f"data/plotretrieval/{split}{view}")
            assert theirs.queries() == ours.queries()
            assert theirs.relevant() == ours.relevant()


def test_a_reader_confirms_pairs(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only confirmed pairs make the benchmark, with the query as the reader has left it."""
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    sheet = rows(texts / "mine" / "check.tsv")
    assert {row["decision"] for row in sheet} == {"keep", "ask"}
    for number, row in enumerate(sheet):
        row["verdict"] = ("yes", "no", "Yes", "unsure", "")[number % 5]
    first = sheet[0]
    first["query"] = "She shortens it and he does too."
    confirmed = {row["id"]: row["query"] for row in sheet if row["verdict"].lower() == "yes"}
    # As a spreadsheet saves it elsewhere.
    write(texts / "filled.csv", sheet, ";", encoding="utf-8-sig")
    assert main([*BUILD, "--checked", "filled.csv"]) == 0
    assert "ask: no" in capsys.readouterr().out
    found = {}
    for split in ("train", "val", "test"):
        for line in Path(f"mine/queries-{split}.jsonl").read_text("utf-8").splitlines():
            query = json.loads(line)
            found[query["query_id"]] = query["query"]
    assert found == confirmed
    quality = json.loads(Path("mine/quality.json").read_text("utf-8"))
    assert quality["queries that a reader has shortened or rewritten"] == 1
    # The verdicts are on the sheet of the folder, and no build without them overwrites it.
    assert {r["id"]: r["verdict"] for r in rows(texts / "mine" / "check.tsv")} == {
        row["id"]: row["verdict"].lower() for row in sheet
    }
    capsys.readouterr()
    checked = contents(texts / "mine")
    assert main(BUILD) == 2
    assert (
        "verdicts that would be lost (give it: --checked mine/check.tsv" in capsys.readouterr().err
    )
    assert contents(texts / "mine") == checked
    assert main([*BUILD, "--checked", "mine/check.tsv"]) == 0
    assert contents(texts / "mine") == checked
    Path("mine/check.tsv").unlink()
    assert main(BUILD) == 0
    assert contents(texts / "mine") == before


def unknown_verdict(sheet: list[dict[str, str]]) -> None:
    sheet[1]["verdict"] = "maybe"


def edited_id(sheet: list[dict[str, str]]) -> None:
    sheet[1]["id"] = sheet[1]["id"][:-1] + "x"


def twice_on_it(sheet: list[dict[str, str]]) -> None:
    sheet[1]["id"] = sheet[0]["id"]


def no_query(sheet: list[dict[str, str]]) -> None:
    sheet[1] |= {"verdict": "yes", "query": " "}


def no_verdict(sheet: list[dict[str, str]]) -> None:
    for row in sheet:
        row["verdict"] = "no"


def no_column(sheet: list[dict[str, str]]) -> None:
    for row in sheet:
        row["judgement"] = row.pop("verdict")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (unknown_verdict, "filled.tsv:3: verdict 'maybe' (write yes, no, unsure, or nothing)"),
        (edited_id, "is not among the"),
        (twice_on_it, "appears twice"),
        (no_query, "is empty (keep what describes the plot)"),
        (no_verdict, "filled.tsv: no pair has the verdict yes"),
        (no_column, "filled.tsv:1: no column 'verdict'"),
    ],
)
def test_bad_sheets(
    damage: Any, said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    sheet = rows(texts / "mine" / "check.tsv")
    damage(sheet)
    write(texts / "filled.tsv", sheet)
    capsys.readouterr()
    assert main([*BUILD, "--checked", "filled.tsv"]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
    now = contents(texts / "mine")
    assert {name: now[name] for name in before if name != "check.tsv"} == {
        name: data for name, data in before.items() if name != "check.tsv"
    }


@pytest.mark.nightly
def test_processes_give_the_same_bytes(texts: Path) -> None:
    assert main(BUILD) == 0
    here = contents(texts / "mine")
    shutil.rmtree("mine")
    assert main([*BUILD, "--workers", "2"]) == 0
    assert contents(texts / "mine") == here


def test_an_interrupted_build_continues(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_plotretrieval(["novels"], ["comments"], "whole", recipe())
    made: list[str] = []
    work = pieces.Piecework.__call__

    def twice(self: Any, block: Any) -> bool:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(block.book)
        return work(self, block)

    with monkeypatch.context() as patched:
        patched.setattr(pieces.Piecework, "__call__", twice)
        with pytest.raises(KeyboardInterrupt):
            build_plotretrieval(["novels"], ["comments"], "mine", recipe())
    assert not Path("mine/benchmark.json").exists()
    again = build_plotretrieval(["novels"], ["comments"], "mine", recipe())
    assert (again.continued, whole.continued) == (2, 0)
    assert whole.pieces > 4
    assert contents(texts / "mine") == contents(texts / "whole")


def test_other_settings_need_replace(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    assert main([*BUILD, "--keep", "0.9"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert contents(texts / "mine") == before
    assert main([*BUILD, "--keep", "0.9", "--replace"]) == 0
    now = contents(texts / "mine")
    # Pieces of other settings do not stay.
    assert len([n for n in now if n.startswith("pieces")]) == len(
        [n for n in before if n.startswith("pieces")]
    )
    assert now != before


def test_a_sheet_without_a_sure_pair_ends_the_benchmark_that_it_replaces(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    path = texts / "comments" / "readers.jsonl"
    listed = path.read_text("utf-8")
    nothing_alike(texts)
    assert main([*BUILD, "--replace"]) == 2  # there is no pair at all: nothing changes
    kept = contents(texts / "mine")
    assert {n for n in before if not n.startswith("pieces")} <= kept.keys()
    assert all(kept[n] == data for n, data in before.items() if not n.startswith("pieces"))
    lines = map(json.loads, listed.splitlines())
    free = [{"book": line["book"], "text": line["text"]} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in free), "utf-8")
    assert main([*BUILD, "--keep", "1", "--replace"]) == 2
    assert "no pair is sure without a reader" in capsys.readouterr().err.splitlines()[-1]
    assert contents(texts / "mine")["check.tsv"] != before["check.tsv"]
    assert not Path("mine/benchmark.json").exists()


def test_labelled_texts_train_what_tells_plots(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = list(READERS.planted)[:20]
    felt = [f"{one} Really{'!' * n}" for n in range(1, 6) for one in reader.FEELINGS]
    lines = [f"{t}\tplot" for t in told] + [f"{t}\tnot" for t in felt]
    Path("labels.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    assert main([*BUILD, "--labelled", "labels.tsv"]) == 0
    assert "held-out accuracy, percent" in capsys.readouterr().out
    quality = json.loads(Path("mine/quality.json").read_text("utf-8"))
    counts = {row["what"]: row["value"] for row in quality["counts"]}
    assert counts["labelled texts"] == 40
    assert counts["held-out accuracy, percent"] >= 95
    assert quality["comments left out"]["not about the plot"] >= 12
    Path("labels.tsv").write_text("She walks.\tplot\nHa.\tno\n", "utf-8")
    assert main([*BUILD, "--labelled", "labels.tsv", "--replace"]) == 2
    assert "labels.tsv:2: label 'no' (a label is plot or not)" in capsys.readouterr().err


def test_criticism(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence before a quotation is the comment, and what is quoted is the passage."""
    said = "She is about to speak to him of the lamp that he has broken:"
    quoted = " ".join(BOOKS["book1"][40:42])
    for name in BOOKS:
        one = " ".join(BOOKS[name][10:11])
        text = (
            f'There is more. {said}\n\n"{quoted}"\n\nAnd of it he says to her: "{one}" He is glad.'
        )
        more = " ".join(reader.book(500, 12))
        Path(f"comments/on {name}.txt").write_text(f"An essay. {more}\n\n{text}\n", "utf-8")
    Path("comments/readers.jsonl").unlink()
    assert main(BUILD) == 0
    found = [
        json.loads(line)
        for split in ("train", "val", "test")
        for line in Path(f"mine/queries-{split}.jsonl").read_text("utf-8").splitlines()
    ]
    assert {(q["query"], q["book"], tuple(q["spans"][0])) for q in found} == {
        (said, "book1", (40, 42)),
        *(("And of it he says to her:", name, (10, 11)) for name in BOOKS),
    }
    assert "a comment that is there already" in capsys.readouterr().out


def add(text: str, **how: Any) -> Any:
    def damage(texts: Path) -> None:
        path = texts / "comments" / "more.jsonl"
        path.write_bytes(text.encode(**{"encoding": "utf-8", **how}))

    return damage


GOOD = '{"book": "book1", "text": "She goes to him with the lamp."}\n'


def same_book(texts: Path) -> None:
    shutil.copy(texts / "novels" / "book1.txt", texts / "novels" / "other.txt")


def nothing_alike(texts: Path) -> None:
    (texts / "comments" / "readers.jsonl").write_text(GOOD.replace("lamp", "zzyzx"), "utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (add(GOOD + GOOD.replace("book1", "book7")), "comments/more.jsonl:2: no book 'book7' (did you mean"),
        (add(GOOD + '{"book": "book1", "te'), "comments/more.jsonl:2: not JSON"),
        (add(""), "comments/more.jsonl: an empty file"),
        (add(GOOD + '["book1"]'), "comments/more.jsonl:2: not a comment"),
        (add('{"book": "book1"}'), "comments/more.jsonl:1: a comment without text"),
        (add(GOOD.replace("goes", "go\u00e9s"), encoding="latin-1"), "comments/more.jsonl:1: not UTF-8"),
        (add(GOOD.replace("}", ', "sentence": 90}')), "sentence 90 of a book with 90"),
        (add(GOOD.replace("}", ', "sentences": [3, 3]}')), "sentences [3, 3] of a book with 90"),
        (add(GOOD.replace("}", ', "position": 40}')), "position 40 (give a share"),
        (add(GOOD.replace("}", ', "position": 0.4, "sentence": 3}')), "both sentence and position"),
        (same_book, "novels/other.txt: the same book as novels/book1.txt: 100 %"),
        (nothing_alike, "none of 1 comments makes a pair: 1 no passage is near enough"),
    ],
)  # fmt: skip
def test_bad_input(damage: Any, said: str, texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(texts)
    assert main(BUILD) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1]
    assert not (texts / "mine" / "benchmark.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--keep", "1.8"], "--keep 1.8 is not between 0 and 1"),
        (["--keep", "0.01"], "--ask 0.02 is above --keep 0.01"),
        (["--test", "emma"], "emma"),
        (["--checked", "nowhere.tsv"], "nowhere.tsv"),
        (["--align", "dense", "--model", "no/such-model"], "no/such-model"),
    ],
)
def test_bad_arguments(
    words: list[str], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BUILD, *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1]


def test_pairs_that_need_a_reader_are_on_the_sheet(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A build without a sure pair is no benchmark, but readers can make it one."""
    path = texts / "comments" / "readers.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    free = [{"book": line["book"], "text": line["text"]} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in free), "utf-8")
    assert main([*BUILD, "--keep", "1"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("irtoolkit: mine/check.tsv: no pair is sure without a reader")
    sheet = rows(texts / "mine" / "check.tsv")
    for row in sheet:
        row["verdict"] = "yes"
    write(texts / "mine" / "check.tsv", sheet)
    assert main([*BUILD, "--keep", "1", "--checked", "mine/check.tsv"]) == 0
    assert f"{len(sheet)} pairs" in capsys.readouterr().err
