"""The commands index and search as a user types them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.commands import search
from irtoolkit.retrievers.hits import SearchResult
from tests.conftest import Answer

Command = Callable[..., Answer]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    for name, docs in {
        "docs.jsonl": {"a": "a whale swims at sea", "b": "a boat", "c": "鲸鱼 " * 200 + "whale"},
        "more.jsonl": {"d": "another whale"},
    }.items():
        lines = [json.dumps({"id": key, "text": text}) for key, text in docs.items()]
        Path(name).write_text("\n".join(lines) + "\n")


def test_build_add_delete_merge_verify(irtoolkit: Command) -> None:
    answer = irtoolkit("index", "docs.jsonl", "-o", "ix")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("ix\n  3 documents in 1 shard, ")
    assert "  from docs.jsonl: 3\n" in answer.out
    there = "  was there already; --replace builds it again\n"
    assert irtoolkit("index", "docs.jsonl", "-o", "ix").out == answer.out + there
    assert irtoolkit("index", "docs.jsonl", "-o", "ix", "--replace").out == answer.out

    added = irtoolkit("index", "more.jsonl", "-o", "ix", "--add").out
    assert "  4 documents in 2 shards, " in added
    assert "  from more.jsonl: 1\n" in added
    again = irtoolkit("index", "more.jsonl", "-o", "ix", "--add")
    assert (again.status, "are in the index ix already" in again.err) == (2, True)

    gone = irtoolkit("index", "ix", "--delete", "a", "d").out
    assert "  2 documents and 2 deleted in 2 shards, " in gone
    assert "  from more.jsonl: 1\n  deleted of these: 2\n" in gone
    assert irtoolkit("index", "ix", "--info").out == gone
    merged = irtoolkit("index", "ix", "--merge").out
    assert "  2 documents in 1 shard, " in merged
    assert "  deleted of these: 2\n" in merged
    verified = irtoolkit("index", "ix", "--verify")
    assert (verified.status, verified.err) == (0, "")
    assert verified.out.endswith(" files are as they were written\n")
    assert irtoolkit("index", "more.jsonl", "-o", "ix", "--replace").status == 0
    assert irtoolkit("search", "ix", "boat").out == "no document matches 'boat'\n"


def test_the_index_of_a_dataset_holds_its_documents(irtoolkit: Command) -> None:
    assert irtoolkit("index", "docs.jsonl").status == 0
    folder = next(Path("cache/indexes").iterdir())
    for words in (
        ["docs.jsonl", "--delete", "a"],
        [str(folder), "--delete", "a"],
        ["more.jsonl", "-o", str(folder), "--add"],
    ):
        answer = irtoolkit("index", *words)
        assert (answer.status, answer.out) == (2, "")
        assert "irtoolkit's cache holds the documents of docs.jsonl" in answer.err
        assert "irtoolkit index docs.jsonl bm25 -o FOLDER" in answer.err
    assert "a whale swims" in irtoolkit("search", "docs.jsonl", "whale").out
    assert "  3 documents in 1 shard, " in irtoolkit("index", "docs.jsonl", "--info").out


@pytest.mark.parametrize("index", [["ix"], ["--index", "ix"], ["ix", "bm25"]])
def test_topics_are_ranked_with_a_folder(irtoolkit: Command, index: list[str]) -> None:
    Path("topics.tsv").write_text("q1\twhale at sea\nq2\tboat\n")
    Path("qrels.txt").write_text("q1 0 c 1\n")
    assert irtoolkit("index", "docs.jsonl", "-o", "ix").status == 0
    more = ["--topics", "topics.tsv", "--qrels", "qrels.txt"]
    answer = irtoolkit("retrieve", "-o", "own.run", *more, *index)
    assert (answer.status, answer.out) == (0, "")
    assert answer.err.startswith(
        "candidates: the corpus, 3 documents\nown.run: 2 queries, 3 rows; bm25"
    )
    assert irtoolkit("retrieve", "docs.jsonl", "bm25", "-o", "of.run", *more).status == 0
    assert Path("own.run").read_bytes() == Path("of.run").read_bytes()


@pytest.mark.parametrize("there", [False, True])
def test_what_fails_before_a_document_leaves_nothing(irtoolkit: Command, there: bool) -> None:
    if there:
        Path("new/ix").mkdir(parents=True)
    answer = irtoolkit("index", "docs.jsonl", "dense", "--model", "./nothing", "-o", "new/ix")
    assert answer.status == 2
    failing = irtoolkit(
        "index", "docs.jsonl", "plaid", "--model", "ms-marco-MiniLM-L-12", "-o", "new/ix"
    )
    assert failing.status == 2
    assert (list(Path("new/ix").iterdir()) == []) if there else not Path("new").exists()


def test_info_and_the_line_of_a_run_name_what_was_given(irtoolkit: Command) -> None:
    Path("t.tsv").write_text("q1\twhale\n")
    told = irtoolkit("index", "docs.jsonl", "-o", "ix", "--k1", "2.0").out
    assert "k1=2.0" in told
    assert irtoolkit("index", "ix", "--info").out == told
    run = irtoolkit(
        "retrieve", "docs.jsonl", "bm25", "--b", "0.4", "--topics", "t.tsv", "-o", "x.run"
    )
    assert "b=0.4" in run.err
    index = ir.index("docs.jsonl")
    with pytest.raises(InputError, match="path="):
        index.delete(["a"])
    with pytest.raises(InputError, match="path="):
        index.add({"d": "a boat"})


def test_an_interrupted_index_says_that_it_continues(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("irtoolkit.commands.index.execute", interrupt)
    answer = irtoolkit("index", "docs.jsonl")
    assert (answer.status, "the same command continues" in answer.err) == (130, True)


def test_search_builds_what_is_not_there(irtoolkit: Command) -> None:
    for _ in range(2):
        answer = irtoolkit("search", "docs.jsonl", "whale", "-k", "1")
        assert (answer.status, answer.err) == (0, "")
        assert answer.out.splitlines()[1] == "     a whale swims at sea"
    assert len(os.listdir("cache/indexes")) == 1


@pytest.mark.parametrize("system", ["best --models none", "random --seed 1"])
def test_a_system_that_keeps_no_index_searches_in_memory_as_in_python(
    system: str, irtoolkit: Command
) -> None:
    name, setting, value = system.replace("--", "").split()
    answer = irtoolkit(*f"search docs.jsonl whale --format json --system {system}".split())
    index = ir.index("docs.jsonl", name, **{setting: value})
    assert [hit["id"] for hit in json.loads(answer.out)["hits"]] == index.search("whale").doc_ids
    refused = irtoolkit(*f"index docs.jsonl {system} -o kept".split())
    assert (refused.status, Path("kept").exists()) == (2, False)
    assert f"{name} keeps no index (irtoolkit search DATASET TEXT" in refused.err


def test_marks_take_no_width_and_words_stay_whole(irtoolkit: Command) -> None:
    words = [f"{'whale' if n % 3 else 'boatswain'} sailor{n:03}" for n in range(300)]
    text = " ".join(words)
    Path("long.jsonl").write_text(json.dumps({"id": "x", "text": "harbour " * 99 + text}) + "\n")
    lines = irtoolkit("search", "long.jsonl", "whale boatswain").out.splitlines()[1:]
    assert all(line.startswith("     ") for line in lines)
    shown = " ".join(line.strip() for line in lines)
    assert shown[0] == shown[-1] == "\u2026"
    assert set(shown.strip("\u2026").split()) <= {"harbour", *text.split()}
    for line, following in pairwise(lines):
        assert len(line) + 1 + len(following.split()[0]) > 100


@pytest.mark.parametrize(
    ("text", "why"),
    [("the", ": all its words are stop words"), ("\u2026!?", ": it has no words"), ("zebra", "")],
)
def test_why_nothing_matches_is_said(irtoolkit: Command, text: str, why: str) -> None:
    said = f"no document matches {text!r}{why}"
    assert irtoolkit("search", "docs.jsonl", text).out == said + "\n"
    for index in (ir.index("docs.jsonl"), ir.index({"a": "a whale"})):
        found = index.search(text)
        assert repr(found) == said
        assert found._repr_html_() == f"<p>{escape(said)}</p>"


@pytest.mark.parametrize("form", ["text", "json"])
def test_queries_from_standard_input(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "irtoolkit", "search", "docs.jsonl", "--format", form, "-k", "1"],
        input="whale\n\nboat\nzebra\n", capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.stderr == "note: 1 empty line of the input without a result, the first is line 2\n"
    if form == "json":
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["query"] for row in rows] == ["whale", "boat", "zebra"]
        assert [[hit["id"] for hit in row["hits"]] for row in rows] == [["a"], ["b"], []]
        return
    parts = done.stdout.split("\n\n")
    assert [part.splitlines()[0] for part in parts if part] == ["whale", "boat", "zebra"]
    assert parts[2] == "zebra\nno document matches 'zebra'"


@pytest.mark.parametrize(("no_color", "bold"), [("", True), ("1", False)])
def test_matches_are_bold_on_a_terminal_only(
    no_color: str, bold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    text = "\ufff9a \x1b[31mwhale\ufffb"
    at = text.index("whale")
    found = SearchResult("whale", ["\x1b[2Jd"], [1.0], lambda _: [(text, ((at, at + 5),))])
    terminal, pipe = Terminal(), io.StringIO()
    for out in (terminal, pipe):
        monkeypatch.setattr(sys, "stdout", out)
        search._print(found)
    marked = "\x1b[1mwhale\x1b[0m" if bold else "whale"
    assert terminal.getvalue().split() == ["1", "1.0000", r"\x1b[2Jd", "a", "[31m" + marked]
    assert "\x1b" not in pipe.getvalue()


def test_queries_without_a_term_of_the_documents_are_named(irtoolkit: Command) -> None:
    Path("one.tsv").write_text("q1\tthe\nq2\twhale\n")
    Path("many.tsv").write_text("".join(f"q{n}\tthe\n" for n in range(5)) + "q5\tboat\n")
    one = irtoolkit("retrieve", "docs.jsonl", "bm25", "--topics", "one.tsv", "-o", "one.run")
    assert one.err.splitlines()[-1] == "warning: query q1 matches no document and has no rows"
    assert "q1" not in Path("one.run").read_text()
    fill = ["--fill", "true", "-o", "filled.run"]
    filled = irtoolkit("retrieve", "docs.jsonl", "bm25", "--topics", "one.tsv", *fill)
    order = "in descending order of document ids"
    assert filled.err.splitlines()[-1] == (
        f"warning: query q1 matches no document; its rows are {order}"
    )
    rows = Path("filled.run").read_text().splitlines()
    assert [line.split()[2] for line in rows[:3]] == [*"cba"]
    many = irtoolkit("retrieve", "docs.jsonl", "ql", "--topics", "many.tsv", "-o", "many.run")
    assert many.err.splitlines()[-1] == (
        "warning: 5 queries match no document (q0, q1, q2, ...) and have no rows"
    )
    for system in ("bm25", "ql"):
        Path("none.tsv").write_text("q2\twhale\n")
        told = irtoolkit("retrieve", "docs.jsonl", system, "--topics", "none.tsv", "-o", "x.run")
        assert "warning" not in told.err


def test_a_header_of_a_tsv_file_is_noticed(
    irtoolkit: Command, caplog: pytest.LogCaptureFixture
) -> None:
    Path("plain.tsv").write_text("a\ta whale\n")
    Path("headed.tsv").write_text("docid\ttext\na\ta whale\n")
    assert "  1 document" in irtoolkit("index", "plain.tsv", "-o", "plain").out
    assert caplog.messages == []
    assert "  1 document" in irtoolkit("index", "headed.tsv", "-o", "headed").out
    assert caplog.messages == ["headed.tsv:1: ['docid', 'text'] is the header, and not a row"]


def test_a_file_that_has_changed_is_not_offered_to_add(irtoolkit: Command) -> None:
    assert irtoolkit("index", "docs.jsonl", "-o", "ix").status == 0
    with Path("docs.jsonl").open("a") as out:
        out.write('{"id": "e", "text": "an eel"}\n')
    answer = irtoolkit("index", "docs.jsonl", "-o", "ix")
    assert (answer.status, answer.out) == (2, "")
    assert "documents of docs.jsonl have changed" in answer.err
    assert "(--replace builds it again)" in answer.err
    assert "--add" not in answer.err
    assert "  4 documents" in irtoolkit("index", "docs.jsonl", "-o", "ix", "--replace").out
