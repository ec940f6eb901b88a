"""irtoolkit build egret: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.egret import pieces
from irtoolkit.building.egret.build import Recipe, build_egret
from irtoolkit.cli import main
from irtoolkit.datasets import egret
from irtoolkit.datasets.dataset import Dataset
from tests import explainer

BUILD = ["build", "egret", "--books", "books/", "-o", "mine"]
ANSWERS = ["build", "egret", "--answers", "answers.jsonl", "-o", "mine"]
NQ = ["build", "egret", "--nq", "nq/", "-o", "mine"]


def record(number: int, text: str) -> str:
    return json.dumps(explainer.nq_record(number, text)) + "\n"


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with books/, nq/ and answers.jsonl."""
    made = [explainer.explained(seed).text for seed in range(20)]
    for folder in ("books", "nq"):
        (tmp_path / folder).mkdir()
    for number in range(4):
        text = explainer.book_text(f"Book {number}", made[4 * number : 4 * number + 4])
        (tmp_path / "books" / f"book{number}.txt").write_text(text, "utf-8")
    (tmp_path / "answers.jsonl").write_text(explainer.answer_lines(made), "utf-8")
    lines = [record(number, text) for number, text in enumerate(made)]
    (tmp_path / "nq" / "train.jsonl").write_text("".join(lines[:15]), "utf-8")
    (tmp_path / "nq" / "dev.jsonl.gz").write_bytes(gzip.compress("".join(lines[15:]).encode()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def units(split: str, place: str = "mine") -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in Path(place, f"{split}.jsonl").read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize("command", [BUILD, ANSWERS, NQ], ids=["books", "answers", "nq"])
def test_the_whole_path(
    command: list[str], texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    said = capsys.readouterr()
    assert "examples for training" in said.out
    assert "mine/train, mine/dev" in said.err
    for run in ("bm25", "random"):
        assert main(["retrieve", "mine/dev", run, "-o", f"{run}.run"]) == 0
    assert main(["eval", "mine/dev", "bm25.run", "random.run"]) == 0
    assert "Rank" in capsys.readouterr().out
    assert main(["compare", "mine/dev", "bm25.run", "random.run"]) == 0
    assert main(["report", "mine/dev", "bm25.run", "random.run", "-o", "report.html"]) == 0
    assert "EgRet" in Path("report.html").read_text("utf-8")
    assert main(["retrieve", "mine/dev/left", "bm25", "-o", "left.run"]) == 0
    assert main(["datasets", "mine/dev"]) == 0
    assert "SOURCES.txt" in capsys.readouterr().out
    left = Dataset.load("mine/dev/left").queries()[0]
    whole = Dataset.load("mine/dev").queries()[0]
    assert (left.left, left.right) == (whole.left, "")
    assert len(list(Dataset.load("mine/train").docs_iter())) == len([*units("train"), *units("dev")])  # fmt: skip


def test_the_dataset_has_what_was_written(texts: Path) -> None:
    assert main(BUILD) == 0
    written = units("dev")
    dataset = Dataset.load("mine/dev")
    assert [query.query_id for query in dataset.queries()] == [unit["id"] for unit in written]
    assert dataset.relevant() == {unit["id"]: [unit["id"]] for unit in written}
    docs = {doc.doc_id: doc.text for doc in dataset.docs_iter()}
    assert docs == {unit["id"]: unit["text"] for unit in [*units("train"), *written]}


# Workers write pieces of both in the same way.
@pytest.mark.nightly
@pytest.mark.parametrize(
    "command", [BUILD, pytest.param(NQ, marks=pytest.mark.nightly)], ids=["books", "nq"]
)
def test_processes_give_the_same_bytes(command: list[str], texts: Path) -> None:
    assert main(command) == 0
    here = contents(texts / "mine")
    shutil.rmtree("mine")
    assert main([*command, "--workers", "2"]) == 0
    assert contents(texts / "mine") == here


def test_a_build_that_was_killed_continues_in_the_middle_of_a_file(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LINES", 4)
    whole, _ = build_egret("answers", ["answers.jsonl"], "whole")
    assert (whole.continued, whole.pieces) == (0, 6)
    made: list[int] = []
    write = pieces.Finder._write

    def twice(self: Any, source: Any, number: int, *rest: Any) -> None:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(number)
        write(self, source, number, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(pieces.Finder, "_write", twice)
        with pytest.raises(KeyboardInterrupt):
            build_egret("answers", ["answers.jsonl"], "mine")
    assert not Path("mine/benchmark.json").exists()
    with pytest.raises(InputError, match="no dataset 'mine/dev'"):
        Dataset.load("mine/dev")
    again, _ = build_egret("answers", ["answers.jsonl"], "mine")
    assert (again.continued, again.pieces) == (2, 6)
    assert contents(texts / "mine") == contents(texts / "whole")
    assert build_egret("answers", ["answers.jsonl"], "mine")[0].continued == 6


def test_a_damaged_piece_is_made_again(texts: Path) -> None:
    assert main(BUILD) == 0
    here = contents(texts / "mine")
    Path("mine/pieces/book1.00000.jsonl").write_text('{"key"', "utf-8")
    assert main(BUILD) == 0
    assert contents(texts / "mine") == here


def test_an_edited_file_is_read_again(texts: Path) -> None:
    assert main(BUILD) == 0
    path = texts / "books" / "book2.txt"
    path.write_text(path.read_text("utf-8") + "\nOne more, for example this.\n", "utf-8")
    assert main(BUILD) == 2
    assert main([*BUILD, "--replace"]) == 0
    assert any("One more" in unit["text"] for unit in [*units("train"), *units("dev")])


def test_other_settings_need_replace(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    assert main([*BUILD, "--tokens", "9"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert contents(texts / "mine") == before
    assert main([*BUILD, "--tokens", "9", "--replace"]) == 0
    assert max(len(unit["left"].split()) for unit in units("train")) == 9


def test_no_piece_of_other_files_stays(texts: Path) -> None:
    assert main(BUILD) == 0
    whole = contents(texts / "mine")
    assert main([*NQ, "--replace"]) == 0
    assert main([*BUILD, "--replace"]) == 0
    assert contents(texts / "mine") == whole


def test_files_and_books_of_dev(texts: Path) -> None:
    assert main([*BUILD, "--dev", "book1", "books/book3.txt"]) == 0
    assert {unit["source"] for unit in units("dev")} == {"book1", "book3"}
    assert {unit["source"] for unit in units("train")} == {"book0", "book2"}
    assert main([*NQ, "--dev", "dev.jsonl.gz", "--replace"]) == 0
    assert {unit["source"] for unit in units("dev")} == {"dev"}


def test_a_question_of_dev_is_not_in_train(texts: Path) -> None:
    """Nor is one whose paragraph a question of dev has."""
    text = explainer.explained(77).text
    with (texts / "nq" / "train.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(explainer.nq_record(50, text, question_text="What is  ASKED")) + "\n")
        out.write(record(51, explainer.explained(78).text))
    shared = [explainer.nq_record(60, explainer.explained(79).text, question_text="what is asked"),
              explainer.nq_record(61, explainer.explained(78).text)]  # fmt: skip
    lines = "".join(json.dumps(one) + "\n" for one in shared)
    (texts / "nq" / "more.jsonl").write_text(lines, "utf-8")
    made, _ = build_egret("nq", ["nq"], "mine", Recipe(dev=("more.jsonl",)))
    assert made.left_out["its question or passage is in dev"] > 0
    questions = [{unit["question"].lower() for unit in units(split)} for split in ("train", "dev")]
    assert not questions[0] & questions[1]
    assert "what is asked" in questions[1]
    build_egret("nq", ["nq"], "any", Recipe(share=0.4))
    splits = {unit["id"].split(".")[0]: split for split in ("train", "dev")
              for unit in units(split, "any")}  # fmt: skip
    asked = [splits[str(5655493461695504401 + number)] for number in (50, 60)]
    assert asked[0] == asked[1]


def test_one_book_is_dev(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "egret", "--books", "books/book0.txt", "-o", "mine"]) == 0
    assert "there is dev, and no train" in capsys.readouterr().err
    assert not Path("mine/train.jsonl").exists()
    assert main(["retrieve", "mine/dev", "bm25", "-o", "x.run"]) == 0
    assert main(["retrieve", "mine/train", "bm25", "-o", "x.run"]) == 2
    assert "mine/dev" in capsys.readouterr().err


def test_what_is_left_out_is_counted(texts: Path) -> None:
    text = explainer.explained(77).text
    short = {"start_token": 9, "end_token": 10}
    annotation = explainer.nq_record(0, text)["annotations"][0]
    table = explainer.nq_record(71, text)
    table["document_text"] = table["document_text"].replace("</P> <P>", "</P> <Table>")
    odd = [
        explainer.nq_record(70, text, annotations=[{**annotation, "short_answers": [short]}]),
        table,
        explainer.nq_record(72, text, annotations=[{**annotation, "yes_no_answer": "YES"}]),
        explainer.nq_record(
            73, text,
            annotations=[{**annotation, "long_answer": {"start_token": -1, "end_token": -1}}],
        ),
        explainer.nq_record(74, "Only, for example, this."),
        explainer.nq_record(75, text),
        explainer.nq_record(76, text),
    ]  # fmt: skip
    path = texts / "nq" / "odd.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in odd), "utf-8")
    made, report = build_egret("nq", ["nq"], "mine")
    assert made.left_out == {
        "questions with a short answer, or yes or no": 2,
        "questions whose long answer is no paragraph": 1,
        "questions without a long answer": 1,
        "an example with nothing before or after it": 1,
        "an example that is there already": 12,
    }
    assert report.tables["left out"] == dict(made.left_out.most_common())


def test_two_of_five_annotators_decide(texts: Path) -> None:
    text = explainer.explained(77).text
    (one,) = explainer.nq_record(0, text)["annotations"]
    none = {**one, "long_answer": {"start_token": -1, "end_token": -1}}
    short = {**one, "short_answers": [{"start_token": 9, "end_token": 10}]}
    for number, given in enumerate([[one, one, none, none, none], [one, none, none, none, none],
                                    [one, one, short, none, none], [short, short, one, one, one]]):  # fmt: skip
        path = texts / "five.jsonl"
        path.write_text(json.dumps(explainer.nq_record(0, text, annotations=given)) + "\n", "utf-8")
        if number in (0, 2):
            build_egret("nq", [path], "five", replace=True)
            assert len(units("dev", "five")) == 12
        else:
            with pytest.raises(InputError, match="no example in 1 files"):
                build_egret("nq", [path], "five", replace=True)


def broken(texts: Path) -> None:
    path = texts / "answers.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:6], lines[6][:50], *lines[7:]]), "utf-8")


def latin(texts: Path) -> None:
    path = texts / "answers.jsonl"
    path.write_bytes(path.read_bytes() + b'{"question": "caf\xe9", "answer": ""}\n')


def no_answer(texts: Path) -> None:
    (texts / "answers.jsonl").write_text('{"question": "what"}\n', "utf-8")


def no_question(texts: Path) -> None:
    (texts / "answers.jsonl").write_text('{"answer": "e.g. this"}\n', "utf-8")


def nq_as_answers(texts: Path) -> None:
    shutil.copy(texts / "nq" / "train.jsonl", texts / "answers.jsonl")


def empty(texts: Path) -> None:
    (texts / "answers.jsonl").write_text("\n", "utf-8")


def question_twice(texts: Path) -> None:
    path = texts / "answers.jsonl"
    path.write_text(path.read_text("utf-8") + path.read_text("utf-8"), "utf-8")


def id_of_two_words(texts: Path) -> None:
    line = {"id": "a b", "question": "what", "answer": "e.g. this"}
    (texts / "answers.jsonl").write_text(json.dumps(line), "utf-8")


def without_examples(texts: Path) -> None:
    line = {"id": "a", "question": "what", "answer": "such as this"}
    (texts / "answers.jsonl").write_text(json.dumps(line), "utf-8")


def not_ours(texts: Path) -> None:
    (texts / "mine").mkdir()
    (texts / "mine" / "thesis.tex").write_text("mine", "utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (broken, "answers.jsonl:7: not JSON"),
        (latin, "answers.jsonl:21: not UTF-8: byte 0xe9"),
        (no_answer, "answers.jsonl:1: no field answer, answers or output"),
        (no_question, "answers.jsonl:1: no field question"),
        (nq_as_answers, "answers.jsonl:1: a record of Natural Questions, which go to --nq"),
        (empty, "answers.jsonl: no record in it"),
        (question_twice, "answers.jsonl:21: question q0 is there already: answers.jsonl:1"),
        (id_of_two_words, "answers.jsonl:1: question id 'a b' is not one word"),
        (without_examples, "no example in 1 files"),
        (not_ours, "mine: the folder is not empty"),
    ],
)
def test_bad_answers(
    damage: Callable[[Path], None], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(texts)
    assert main(ANSWERS) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert not Path("mine/benchmark.json").exists()


def copied(texts: Path) -> None:
    shutil.copy(texts / "books" / "book1.txt", texts / "books" / "other.md")


def edition(texts: Path) -> None:
    text = (texts / "books" / "book1.txt").read_text("utf-8")
    (texts / "books" / "other.txt").write_text(f"A new preface.\n\n{text}", "utf-8")


def empty_book(texts: Path) -> None:
    (texts / "books" / "blank.txt").write_text("", "utf-8")


def no_text(texts: Path) -> None:
    (texts / "books" / "blank.txt").write_text("* * *\n", "utf-8")


def damaged(texts: Path) -> None:
    (texts / "books" / "book1.txt").write_bytes("é ü ñ ".encode() * 9 + b"\xe9 and so on")


def a_pdf(texts: Path) -> None:
    (texts / "books" / "book1.txt").write_bytes(b"%PDF-1.4 for example")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (copied, "books/other.md: the same book as books/book1.txt, byte for byte"),
        (edition, "books/other.txt: the same book as books/book1.txt: 48 of 48 examples"),
        (empty_book, "books/blank.txt: an empty file"),
        (no_text, "books/blank.txt: there is no text in it"),
        (damaged, "books/book1.txt:1: UTF-8 but for byte 0xe9 at offset 81"),
        (a_pdf, "books/book1.txt: not a text but a PDF"),
    ],
)
def test_bad_books(
    damage: Callable[[Path], None], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(texts)
    assert main(BUILD) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert not Path("mine/benchmark.json").exists()


NO_SPAN = {"annotations": [{"long_answer": {"start_token": 8}}]}
FAR = {"annotations": [{"long_answer": {"start_token": 8, "end_token": 99_999}}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"annotations": None}, "no annotations, which say where the answers are"),
        (NO_SPAN, "an annotation without start_token and end_token"),
        (FAR, "the long answer [8, 99999) is not in its"),
        ({"question_text": None}, "no question_text"),
        ({"example_id": "1 2"}, "example_id '1 2' is not one word"),
        ({"document_text": 7}, "neither document_text nor document_tokens"),
    ],
)
def test_bad_records_of_natural_questions(
    changes: dict[str, Any], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = json.dumps(explainer.nq_record(80, "E.g. this.", **changes))
    (texts / "nq" / "bad.jsonl").write_text(f"\n{bad}\n", "utf-8")
    assert main(NQ) == 2
    assert f"bad.jsonl:2: {said}" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--share", "1.5"], "a share of 1.5 for dev is not between 0 and 1"),
        (["--dev", "boook1"], "--dev boook1 is none of the files"),
        (["--dev", "book0", "book1", "book2", "book3"], ""),
    ],
)
def test_bad_arguments(
    words: list[str], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BUILD, *words]) == (2 if said else 0)
    assert said in capsys.readouterr().err


def test_kinds_of_files_are_not_mixed_up(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "egret", "--books", "answers.jsonl", "-o", "mine"]) == 2
    assert "not a book by its name" in capsys.readouterr().err
    assert main(["build", "egret", "--nq", "answers.jsonl", "-o", "mine"]) == 2
    assert "answers.jsonl:1: not a record of Natural Questions" in capsys.readouterr().err
    assert main(["build", "egret", "--nq", "books", "-o", "mine"]) == 2
    assert "no file in it ends in .jsonl" in capsys.readouterr().err


def test_forms_of_answers(texts: Path) -> None:
    """Of KILT, of ELI5, and with plain fields."""
    text = "Fish. For example, cods. Birds."
    lines = [
        {"id": "k", "input": "What?", "output": [{"answer": text}, {"provenance": []}]},
        {
            "q_id": "e",
            "title": "And?",
            "answers": {"text": [f"One. {text}", "No."], "score": [1, 2]},
        },
        {"question": "Or?", "answer": f"Two. {text}"},
        {"id": 7, "question": "So?", "answers": [f"Three. {text}"]},
    ]
    path = texts / "forms.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    build_egret("answers", [path], "mine", Recipe(share=0.3))
    ids = sorted(unit["id"] for unit in [*units("train"), *units("dev")])
    assert ids == ["7.1.1", "e.1.1", "forms-3.1.1", "k.1.1"]


def test_answers_of_kilt_are_those_of_the_release(texts: Path) -> None:
    """The sample of the release, built anew, is the same benchmark."""
    sample = Path(egret.__file__).parent / "samples" / "egret"
    build_egret("answers", [sample], "mine", Recipe(dev=("eli5-dev-kilt.jsonl",)))
    for split in ("train", "dev"):
        theirs, ours = Dataset.load(f"egret/sample/{split}"), Dataset.load(f"mine/{split}")
        both = {query.query_id: query for query in theirs.queries()}
        kept = [query for query in both.values() if query.left or query.right]
        assert kept == ours.queries()
    docs = {doc.doc_id: " ".join(doc.text.split()) for doc in theirs.docs_iter()}
    assert all(docs[doc.doc_id] == doc.text for doc in ours.docs_iter())


def test_other_encodings_are_said(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = texts / "books" / "book0.txt"
    path.write_bytes((path.read_text("utf-8") + "\n\nCaf\xe9.\n").encode("cp1252", "replace"))
    assert main(BUILD) == 0
    assert "books/book0.txt: not UTF-8, read as windows-1252" in capsys.readouterr().err


def test_a_damaged_folder_is_one_line(texts: Path) -> None:
    assert main(BUILD) == 0
    lines = Path("mine/train.jsonl").read_text("utf-8").splitlines()
    for number, line in enumerate(["{}", lines[0], lines[1][:40]], 2):
        Path("mine/train.jsonl").write_text("\n".join([lines[0], *lines[2:number], line]), "utf-8")
        with pytest.raises(InputError) as raised:
            Dataset.load("mine/dev").queries()
        assert (raised.value.line, raised.value.file) == (number, str(texts / "mine/train.jsonl"))
    Path("mine/train.jsonl").unlink()
    with pytest.raises(InputError, match=r"release file train\.jsonl is missing"):
        Dataset.load("mine/dev").queries()
