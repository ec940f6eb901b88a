"""irtoolkit build quoter: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from irtoolkit.building.quoter.build import build_quoter
from irtoolkit.building.quoter.recipe import Recipe
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from tests import quotable
from tests.inputs.builders import COMMANDS, QUOTES, contents, lay

BUILD = [*COMMANDS["quoter"]]


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return lay("quoter", tmp_path)


def test_the_splits_are_those_that_were_drawn(texts: Path) -> None:
    made = build_quoter(["quotes.txt"], ["books"], "mine")
    lines = [
        json.loads(line) for line in Path("mine/contexts.jsonl").read_text("utf-8").splitlines()
    ]
    listed = [line.split("\t") for line in Path("mine/english.txt").read_text("utf-8").splitlines()]
    assert [line["quote"] for line in lines] == [quote for _, quote, _ in listed]
    for split in ("train", "val", "test"):
        own = {line["query_id"]: line["quote"] for line in lines if line["split"] == split}
        data = Dataset.load(f"mine/{split}")
        texts_of = {doc.doc_id: doc.text for doc in data.docs_iter()}
        assert {query: texts_of[gold] for query, [gold] in data.relevant().items()} == own
        assert len(own) == len(made.splits[split])


def test_chinese_data_take_the_settings_of_chinese(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quotes = quotable.eastern(12)
    Path("quotes.txt").write_text("\n".join(quotes), "utf-8")
    for number in range(3):
        text = quotable.zh_essay(quotes, number, 60).text
        Path(f"books/essay{number}.txt").write_text(text, "utf-8")
    assert main(BUILD) == 0
    assert main(["retrieve", "mine/val", "BM25", "-o", "named.run"]) == 0
    assert main(["retrieve", "mine/val", "bm25", "--set", "analyzer=cjk", "-o", "cjk.run"]) == 0
    assert main(["retrieve", "mine/val", "bm25", "--set", "analyzer=words", "-o", "en.run"]) == 0
    named, cjk, english = (ranked(Path(f"{name}.run")) for name in ("named", "cjk", "en"))
    assert named == cjk != english


def ranked(run: Path) -> list[list[str]]:
    """Queries, documents and scores of a TREC run."""
    lines = run.read_text("utf-8").splitlines()
    return [line.split()[:5] for line in lines if not line.startswith("#")]


def test_a_collection_and_a_copy_are_left_out(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = build_quoter(["quotes.txt"], ["books"], "plain")
    shutil.copy("quotes.txt", "books/list.txt")
    shutil.copy("books/essay1.txt", "books/other.txt")
    made = build_quoter(["quotes.txt"], ["books"], "mine")
    assert made.left_out["in a collection of quotations"] == len(QUOTES)
    assert made.left_out["in a text that is there already"] > 20
    assert [p.context for p in made.pairs] == [p.context for p in plain.pairs]
    assert main([*BUILD, "--replace"]) == 0
    assert "books/list.txt: left out, a collection of quotations" in capsys.readouterr().err


def test_quotes_with_too_few_and_too_many_contexts(texts: Path) -> None:
    made = build_quoter(["quotes.txt"], ["books"], "mine", Recipe(least=9, most=12))
    sizes = {quote: sum(p.quote == quote for p in made.pairs) for quote in range(len(QUOTES))}
    assert set(sizes.values()) - {0} <= set(range(9, 13))
    assert 12 in sizes.values()
    other = build_quoter(["quotes.txt"], ["books"], "other", Recipe(least=9, most=12, seed=1))
    assert [p.context for p in other.pairs] != [p.context for p in made.pairs]


def test_the_list_may_have_authors_blank_lines_and_duplicates(texts: Path) -> None:
    plain = build_quoter(["quotes.txt"], ["books"], "plain")
    rows = [f"{quote}\tA. Author\tEssays, ii" for quote in QUOTES]
    text = "\ufeff" + "\r\n\r\n".join([*rows, QUOTES[0].upper(), "Too short.", "It is what it is."])
    Path("quotes.txt").write_text(text + "\t\n", "utf-8")
    made = build_quoter(["quotes.txt"], ["books"], "mine")
    assert made.listed.left_out.total() == 3
    assert contents(texts / "mine")["english.txt"] == contents(texts / "plain")["english.txt"]
    assert len(made.pairs) == len(plain.pairs)
    first = json.loads(Path("mine/contexts.jsonl").read_text("utf-8").splitlines()[0])
    assert (first["author"], first["source"]) == ("A. Author", "Essays, ii")


def test_a_language_that_is_not_known_is_said(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quotes = ["Znanie sila bez uma mogila", "Tikhaya voda berega podmyvaet vsegda"]
    Path("quotes.txt").write_text("\n".join(quotes), "utf-8")
    prose = "mnogo slov skazal {} raz potom {} zamolchal kak vsegda {} znal i. " * 3
    text = "".join(
        prose.format(*(n * k for k in range(7, 16))) + quotes[n % 2] + ". " for n in range(40)
    )
    Path("books/essay0.txt").write_text(text, "utf-8")
    assert main([*BUILD, "--context", "8"]) == 0
    assert "no known language: see --lang; 8 words on each side" in capsys.readouterr().err
    assert Dataset.load("mine/val").query_ids()[0].startswith("und-")
    assert main([*BUILD, "--context", "8", "--lang", "ru", "--replace"]) == 0
    assert Path("mine/ru.txt").is_file()
    assert not Path("mine/und.txt").exists()
