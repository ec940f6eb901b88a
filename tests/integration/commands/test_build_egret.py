"""irtoolkit build egret: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.egret.build import Recipe, build_egret
from irtoolkit.cli import main
from irtoolkit.datasets import egret
from irtoolkit.datasets.dataset import Dataset
from tests import explainer
from tests.inputs.builders import COMMANDS, lay

BUILD, NQ = [*COMMANDS["egret"]], [*COMMANDS["egret nq"]]


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return lay("egret", tmp_path)


def record(number: int, text: str) -> str:
    return json.dumps(explainer.nq_record(number, text)) + "\n"


def units(split: str, place: str = "mine") -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in Path(place, f"{split}.jsonl").read_text("utf-8").splitlines()
    ]


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
            with pytest.raises(InputError, match="no example in 1 file"):
                build_egret("nq", [path], "five", replace=True)


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
        both = {query.query_id: query for query in theirs.queries}
        kept = [query for query in both.values() if query.left or query.right]
        assert kept == ours.queries
    docs = {doc.doc_id: " ".join(doc.text.split()) for doc in theirs.docs_iter()}
    assert all(docs[doc.doc_id] == doc.text for doc in ours.docs_iter())


def test_a_damaged_folder_is_one_line(texts: Path) -> None:
    assert main(BUILD) == 0
    lines = Path("mine/train.jsonl").read_text("utf-8").splitlines()
    for number, line in enumerate(["{}", lines[0], lines[1][:40]], 2):
        Path("mine/train.jsonl").write_text("\n".join([lines[0], *lines[2:number], line]), "utf-8")
        with pytest.raises(InputError) as raised:
            _ = Dataset.load("mine/dev").queries
        assert (raised.value.line, raised.value.file) == (number, str(texts / "mine/train.jsonl"))
    Path("mine/train.jsonl").unlink()
    with pytest.raises(InputError, match=r"release file train\.jsonl is missing"):
        _ = Dataset.load("mine/dev").queries
