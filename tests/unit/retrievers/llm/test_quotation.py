"""Retrieval by generation: the book in the prompt, the quotation in the book, and what it costs."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.long_context_relic import examples
from tests.llm_server import Handler, Reply, Stub

SAMPLE = "long-context-relic/sample"
ROWS = {row.query_id: row for row in examples(Dataset.load(SAMPLE))}


def reader(answers: dict[str, str], otherwise: str | None = None) -> Reply:
    """A model that writes what is given for a query, else the right quotation."""

    def reply(handler: Handler) -> None:
        _, _, excerpt = handler.prompt.partition("An excerpt of literary analysis")
        [row] = [r for r in ROWS.values() if (r.prefix or r.suffix) in excerpt]
        handler.write_out(answers.get(row.query_id, otherwise or row.answer))

    return reply


def golds() -> dict[str, str]:
    return {row.query_id: f"{row.book}:{row.start}+{row.length}" for row in ROWS.values()}


def first(run: ir.Run) -> dict[str, str]:
    return {query: next(iter(docs)) for query, docs in run.as_dict().items()}


def settings(stub: Stub) -> dict[str, str]:
    return {"llm": "gpt-test", "endpoint": stub.url}


def test_right_quotations_come_first(stub: Stub) -> None:
    stub.always = reader({})
    run = ir.retrieve(SAMPLE, "llm-quotation", **settings(stub))
    assert first(run) == golds()
    assert len(stub.prompts) == len(ROWS)
    book = " ".join(s.strip() for s in json.loads(books().read_text())[ROWS["1"].book])
    assert sum(book in prompt for prompt in stub.prompts) == len(
        [row for row in ROWS.values() if row.book == ROWS["1"].book]
    )
    assert all("[MASK]" in prompt for prompt in stub.prompts)


def books() -> Path:
    folder = Dataset.load(SAMPLE).source.irtoolkit().where()
    return Path(folder) / "relic_book_sentences_acl.json"


def test_an_unread_answer_keeps_the_first_stage(stub: Stub) -> None:
    stub.always = reader({"1": "...", "2": "<think>so long"})
    bm25 = ir.retrieve(SAMPLE, "bm25", depth=5)
    run = ir.rerank(SAMPLE, bm25, "llm-quotation", depth=5, **settings(stub))
    for query in ("1", "2"):
        assert list(run.as_dict()[query]) == list(bm25.as_dict()[query])


def test_no_answer_at_all_is_an_error(stub: Stub) -> None:
    stub.always = reader({}, otherwise="!")
    with pytest.raises(InputError, match="none of 17 answers of gpt-test can be read"):
        ir.retrieve(SAMPLE, "llm-quotation", **settings(stub))


def test_the_cost_is_counted_before_anything_is_sent(
    stub: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    stub.always = reader({})
    with pytest.raises(
        InputError, match=r"17 prompts of about [\d,]+ tokens.*budget=1000"
    ) as error:
        ir.retrieve(SAMPLE, "llm-quotation", budget=1000, **settings(stub))
    assert not stub.prompts
    needed = int(str(error.value.remedy).split()[0].removeprefix("budget="))
    with caplog.at_level(logging.WARNING):
        ir.retrieve(SAMPLE, "llm-quotation", budget=needed, **settings(stub))
    assert len(stub.prompts) == 17
    assert "17 prompts of about" in caplog.text
    # What was answered costs nothing any more.
    ir.retrieve(SAMPLE, "llm-quotation", budget=0, **settings(stub))
    assert len(stub.prompts) == 17


def test_quotations_of_no_book_are_counted(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    stub.always = reader({"1": "Call me Ishmael, some years ago, never mind how long precisely."})
    with caplog.at_level(logging.WARNING):
        ir.retrieve(SAMPLE, "llm-quotation", **settings(stub))
    assert "1 of 17 quotations not in the book" in caplog.text


def test_what_is_written_is_scored_by_the_release_s_rule(stub: Stub, tmp_path: Path) -> None:
    wrong = dict.fromkeys(("1", "2", "3"), "It was a dark and stormy night in Soho.")
    stub.always = reader(wrong)
    file = tmp_path / "texts.jsonl"
    ir.retrieve(SAMPLE, "llm-quotation", texts=str(file), **settings(stub))
    assert [json.loads(line)["query_id"] for line in file.read_text().splitlines()] == list(ROWS)
    rows = ir.analyse("relic-generation", SAMPLE, texts=str(file)).findings.tables[0].rows
    values = {row.names[0]: row.values for row in rows}
    assert values["texts.jsonl"][1:3] == (14, 17)
    assert set(values) == {"texts.jsonl", "invented-large", "invented-small"}


@pytest.mark.parametrize(
    ("dataset", "values", "message"),
    [
        ("quoter/sample/en/val", {}, "not passages of books"),
        ("plotretrieval/sample/val", {}, "the prompt has {masked}"),
        (SAMPLE, {"prompt": "{masked}"}, "the prompt has no {book_text}"),
        (SAMPLE, {"prompt": "{book_text}"}, "the prompt is the same for every query"),
        (SAMPLE, {"budget": -1}, "budget=-1 is not 0 or more"),
        (SAMPLE, {"endpoint": None, "budget": 5}, "budget"),
    ],
)
def test_bad_settings_are_refused(
    dataset: str, values: dict[str, object], message: str, stub: Stub
) -> None:
    with pytest.raises(InputError, match=message.replace("{", r"\{")):
        ir.retrieve(dataset, "llm-quotation", **{**settings(stub), **values})
    assert not stub.prompts


def test_equal_prompts_count_once(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    stub.always = lambda handler: handler.write_out("It was a dark night.")
    books = len({row.book for row in ROWS.values()})
    with caplog.at_level(logging.WARNING):
        ir.retrieve(SAMPLE, "llm-quotation", prompt="{book}: {book_text}", **settings(stub))
    assert len(stub.prompts) == books < len(ROWS)
    assert f"{books} prompts of about" in caplog.text
