"""irtoolkit build plotretrieval: from comments to a checked benchmark, and what users get wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.building.plotretrieval import pieces
from irtoolkit.cli import main
from tests import reader
from tests.inputs.builders import COMMANDS, contents, lay, plot_books, plot_readers

BOOKS = plot_books()
BUILD = [*COMMANDS["plotretrieval"]]
GOOD = '{"book": "book1", "text": "She goes to him with the lamp."}\n'


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pieces, "PIECE", 16)
    return lay("plotretrieval", tmp_path)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as sheet:
        return list(csv.DictReader(sheet, delimiter="\t"))


def write(path: Path, found: list[dict[str, str]], delimiter: str = "\t", **how: Any) -> None:
    with path.open("w", newline="", **{"encoding": "utf-8", **how}) as out:
        sheet = csv.DictWriter(out, found[0], delimiter=delimiter)
        sheet.writeheader()
        sheet.writerows(found)


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
    told = list(plot_readers().planted)[:20]
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


def test_comments_that_are_there_already_count_once(texts: Path) -> None:
    """Beside criticism, too, whose quotations are counted after the comments of readers."""

    def counts() -> tuple[int, int]:
        assert main([*BUILD, "--replace"]) == 0
        report = json.loads(Path("mine/quality.json").read_text("utf-8"))
        again = report["comments left out"].get("a comment that is there already", 0)
        return report["counts"][0]["value"], again

    before = counts()
    line = Path("comments/readers.jsonl").read_text("utf-8").splitlines()[0]
    Path("comments/again.jsonl").write_text(f"{line}\n", "utf-8")
    quoted = " ".join(BOOKS["book1"][40:42])
    essay = f'An essay. She is about to speak to him of the lamp:\n\n"{quoted}"\n\nHe is glad.\n'
    Path("comments/essay.txt").write_text(essay, "utf-8")
    assert counts() == (before[0] + 2, before[1] + 1)


@pytest.mark.parametrize("name", ["more.csv", "more.json.gz"])
def test_tables_are_no_criticism(
    name: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(GOOD, "utf-8")
    words = [name if word == "comments" else word for word in BUILD]
    assert main(words) == 2
    assert f"{name}: neither comments nor criticism by its name" in capsys.readouterr().err


def nothing_alike(texts: Path) -> None:
    (texts / "comments" / "readers.jsonl").write_text(GOOD.replace("lamp", "zzyzx"), "utf-8")


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
