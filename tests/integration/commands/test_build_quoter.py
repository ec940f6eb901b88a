"""irtoolkit build quoter: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.quoter.build import build_quoter
from irtoolkit.building.quoter.recipe import Recipe
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from tests import quotable

QUOTES = quotable.western(12)
BUILD = ["build", "quoter", "--quotes", "quotes.txt", "--corpus", "books/", "-o", "mine"]


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with quotes.txt and books/."""
    (tmp_path / "books").mkdir()
    (tmp_path / "quotes.txt").write_text("\n".join(QUOTES), "utf-8")
    for number in range(3):
        text = quotable.essay(QUOTES, number, 60).text
        (tmp_path / "books" / f"essay{number}.txt").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_whole_path(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    said = capsys.readouterr()
    assert "contexts for training" in said.out
    assert "mine/train, mine/val, mine/test" in said.err
    assert "language en; 40 words on each side" in said.err
    for run in ("CRM", "bm25", "random"):
        assert main(["retrieve", "mine/val", run, "-o", f"{run}.run"]) == 0
    assert main(["eval", "mine/val", "CRM.run", "random.run", "--by", "frequency"]) == 0
    assert "MedianRank" in capsys.readouterr().out
    assert main(["compare", "mine/val", "CRM.run", "random.run"]) == 0
    assert main(["report", "mine/val", "CRM.run", "random.run", "-o", "report.html"]) == 0
    assert "QuoteR" in Path("report.html").read_text("utf-8")
    for view in ("val/left", "lower/val", "lower/test/right"):
        assert main(["retrieve", f"mine/{view}", "bm25", "-o", "near.run"]) == 0
    assert main(["datasets", "mine/val"]) == 0
    assert "texts" in capsys.readouterr().out


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


@pytest.mark.nightly
def test_processes_give_the_same_bytes(texts: Path) -> None:
    assert main(BUILD) == 0
    here = contents(texts / "mine")
    shutil.rmtree("mine")
    assert main([*BUILD, "--workers", "2"]) == 0
    assert contents(texts / "mine") == here


def test_an_interrupted_build_continues(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_quoter(["quotes.txt"], ["books"], "whole")
    from irtoolkit.building.quoter import texts as works

    made: list[str] = []
    find = works.Finder.__call__

    def once(self: Any, text: Any) -> bool:
        if made:
            raise KeyboardInterrupt
        made.append(text.file.name)
        return find(self, text)

    with monkeypatch.context() as patched:
        patched.setattr(works.Finder, "__call__", once)
        with pytest.raises(KeyboardInterrupt):
            build_quoter(["quotes.txt"], ["books"], "mine")
    assert not Path("mine/benchmark.json").exists()
    with pytest.raises(InputError, match="no dataset 'mine/val'"):
        Dataset.load("mine/val")
    again = build_quoter(["quotes.txt"], ["books"], "mine")
    assert (again.continued, whole.continued) == (1, 0)
    assert contents(texts / "mine") == contents(texts / "whole")
    assert build_quoter(["quotes.txt"], ["books"], "mine").continued == 3


def test_other_settings_need_replace(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    assert main([*BUILD, "--context", "9"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert contents(texts / "mine") == before
    assert main([*BUILD, "--context", "9", "--replace"]) == 0
    assert contents(texts / "mine") != before


def test_a_damaged_description_needs_replace(
    texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(BUILD) == 0
    whole = contents(texts / "mine")
    Path("mine/benchmark.json").write_text('{"key": "cut', "utf-8")
    assert main(BUILD) == 2
    assert "--replace" in capsys.readouterr().err.splitlines()[-1]
    assert main([*BUILD, "--replace"]) == 0
    assert contents(texts / "mine") == whole


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


def test_nothing_stays_of_other_texts_and_of_killed_builds(texts: Path) -> None:
    assert main(BUILD) == 0
    whole = contents(texts / "mine")
    Path("mine/occurrences/.essay1.jsonl.0123.tmp").write_text("{", "utf-8")
    Path("mine/occurrences/essay7.jsonl").write_text("{", "utf-8")
    Path("mine/occurrences/essay1.jsonl").write_text('{"key": "cut', "utf-8")
    assert main([*BUILD, "--least", "5"]) == 0
    assert contents(texts / "mine") == whole


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


def test_another_edition_gives_no_further_contexts(texts: Path) -> None:
    plain = build_quoter(["quotes.txt"], ["books"], "plain")
    text = Path("books/essay1.txt").read_text("utf-8")
    Path("books/other.txt").write_text(text.replace("\n", " ").replace("the ", "ye "), "utf-8")
    made = build_quoter(["quotes.txt"], ["books"], "mine")
    repeated = made.left_out["a near duplicate of another context of the quote"]
    repeated += made.left_out["a pair that is there already"]
    assert repeated >= 0.9 * made.found.total() / 4
    assert len(made.pairs) <= len(plain.pairs) + 3


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


def columns(texts: Path) -> None:
    (texts / "quotes.txt").write_text(f"{QUOTES[0]}\n{QUOTES[1]}\tA\tB\tC\n", "utf-8")


def a_release(texts: Path) -> None:
    sides = [" ".join(f"{side}{n}" for n in range(40)) for side in ("before", "after")]
    lines = [f"{sides[0]}\t{quote}\t{sides[1]}\n" for quote in QUOTES]
    (texts / "quotes.txt").write_text("".join(lines), "utf-8")


def no_quote(texts: Path) -> None:
    (texts / "quotes.txt").write_text(f"{QUOTES[0]}\n\tHe Himself\n", "utf-8")


def damaged_list(texts: Path) -> None:
    (texts / "quotes.txt").write_bytes("é ü ñ ".encode() * 9 + b"\xe9 and so on")


def short_quotes(texts: Path) -> None:
    (texts / "quotes.txt").write_text("Know thyself.\n", "utf-8")


def no_list(texts: Path) -> None:
    (texts / "quotes.txt").write_text("\n\n", "utf-8")


def damaged(texts: Path) -> None:
    (texts / "books" / "essay1.txt").write_bytes("é ü ñ ".encode() * 9 + b"\xe9 and so on")


def empty(texts: Path) -> None:
    (texts / "books" / "essay9.txt").write_text("", "utf-8")


def no_text(texts: Path) -> None:
    (texts / "books" / "essay9.txt").write_text("* * *\n\n", "utf-8")


def a_pdf(texts: Path) -> None:
    (texts / "books" / "essay9.txt").write_bytes(b"%PDF-1.7 and so on")


def other_books(texts: Path) -> None:
    for path in (texts / "books").iterdir():
        path.write_text("Nothing is quoted here, as far as one can see.", "utf-8")


def not_ours(texts: Path) -> None:
    (texts / "mine").mkdir()
    (texts / "mine" / "thesis.tex").write_text("mine", "utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (columns, "quotes.txt:2: 4 columns: a line is a quote, its author and its source"),
        (a_release, "quotes.txt: left context, quote and right context, as in a release of QuoteR"),
        (no_quote, "quotes.txt:2: no quote: a line begins with it"),
        (damaged_list, "quotes.txt:1: UTF-8 but for byte 0xe9 at offset 81"),
        (short_quotes, "quotes.txt: none of 1 quotes has 4 words"),
        (no_list, "quotes.txt: an empty file"),
        (damaged, "books/essay1.txt:1: UTF-8 but for byte 0xe9 at offset 81"),
        (empty, "books/essay9.txt: an empty file"),
        (no_text, "books/essay9.txt: there is no text in it"),
        (a_pdf, "books/essay9.txt: not a text but a PDF"),
        (other_books, "no quote has 5 contexts: 0 of 12 quotes are found in 3 texts"),
        (not_ours, "mine: the folder is not empty"),
    ],
)
def test_bad_input(damage: Any, said: str, texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(texts)
    assert main(BUILD) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1]
    assert not (texts / "mine" / "benchmark.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--least", "1"], "--least 1: a quote with one context cannot be in val and in test"),
        (["--least", "9", "--most", "7"], "--most 7 is below --least 9"),
        (["--context", "4"], "--short 10 is more than both sides have with --context 4"),
        (["--lang", "../quality"], "--lang ../quality is no code of a language"),
        (["--unseen", "-1"], "--unseen -1 is not at least 0"),
        (["--corpus", "nowhere"], "nowhere: no such file or folder"),
    ],
)
def test_bad_arguments(
    words: list[str], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BUILD, *words]) == 2
    assert said in capsys.readouterr().err


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


def test_other_encodings_are_said(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = texts / "books" / "essay0.txt"
    text = path.read_text("utf-8")
    path.write_bytes(f"Caf\xe9. {text}".encode("cp1252", errors="replace"))
    other = texts / "books" / "essay1.txt"
    other.write_bytes(other.read_text("utf-8").encode("utf-16"))
    assert main(BUILD) == 0
    said = capsys.readouterr().err
    assert "books/essay0.txt: not UTF-8, read as windows-1252" in said
    assert "books/essay1.txt: not UTF-8, read as utf-16" in said
