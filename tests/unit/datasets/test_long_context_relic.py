"""Long-context RELiC: the release's two files, its subsets, accuracy, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets import long_context_relic
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.long_context_relic_release import EXAMPLES
from irtoolkit.datasets.registration import Registered
from irtoolkit.papers.analyses.relic_generation import is_right

BOOKS: dict[str, Any] = {
    "the_inn": ["It rained. ", "Nobody came, at first.", "The lamp went out."],
    "A Long Walk": ["She walked.", "He did not."],
}
ROW = {
    "book_title": "the_inn",
    "prefix": "Nothing happens:",
    "suffix": "And yet, \n\nall of it.",
    "answer_quote_text": "Nobody came, at first.",
    "answer_quote_idx": "1",
    "num_sents": "1",
    "close_reading_example": "TRUE",
    "human_eval_set": "",
}
ROWS = [
    ROW,
    {**ROW, "answer_quote_idx": "1.0", "num_sents": "2.0", "human_eval_set": "True"},
    {**ROW, "book_title": "A Long Walk", "prefix": "", "close_reading_example": "FALSE"},
]


def write(folder: Path, rows: list[dict[str, str]] = ROWS, books: Any = BOOKS) -> None:
    folder.mkdir(parents=True)
    with open(folder / "long_context_relic_acl.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else list(ROW))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "relic_book_sentences_acl.json").write_text(json.dumps(books))


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    # Handlers keep what they have read, and each test has a release of its own.
    made: dict[str, Any] = {}
    long_context_relic.register(lambda name, data: made.update({name: Registered(name, data)}))
    load = ir_datasets.load
    monkeypatch.setattr("ir_datasets.load", lambda name: made.get(name) or load(name))
    return tmp_path / "long-context-relic"


@pytest.mark.parametrize("under", ["", "data"])
def test_examples_are_windows_of_relic(release: Path, under: str) -> None:
    write(release / under if under else release)
    dataset = Dataset.load("long-context-relic")
    assert [(q.query_id, q.book, q.length, q.left, q.right) for q in dataset.queries] == [
        ("1", "the_inn", 1, ("Nothing happens:",), ("And yet, \n\nall of it.",)),
        ("2", "the_inn", 2, ("Nothing happens:",), ("And yet, \n\nall of it.",)),
        ("3", "A_Long_Walk", 1, (), ("And yet, \n\nall of it.",)),
    ]
    assert {row.query_id: row.doc_id for row in dataset.qrels if row.relevance} == {
        "1": "the_inn:1+1",
        "2": "the_inn:1+2",
        "3": "A_Long_Walk:1+1",
    }
    pools = dataset.pools()
    assert list(pools["1"]) == ["the_inn:0+1", "the_inn:1+1", "the_inn:2+1"]
    assert list(pools["2"]) == ["the_inn:0+2", "the_inn:1+2"]
    assert len(pools["3"]) == 2


def test_subsets(release: Path) -> None:
    write(release)
    ids = {
        name: [query.query_id for query in Dataset.load(f"long-context-relic/{name}").queries]
        for name in ("human", "close-reading")
    }
    assert ids == {"human": ["2"], "close-reading": ["1", "2"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"book_title": "the_in"}, "csv:2: the book the_in is not in relic_book_sentences"),
        ({"answer_quote_idx": "3"}, "csv:2: sentences 3 to 3 of the_inn, which has 3 sentences"),
        ({"num_sents": "0"}, "csv:2: num_sents is 0"),
        ({"answer_quote_idx": "-1"}, "csv:2: answer_quote_idx '-1' is not a whole number"),
        ({"answer_quote_text": " "}, "csv:2: answer_quote_text is empty"),
        ({"human_eval_set": "yes"}, "csv:2: human_eval_set is 'yes', not TRUE or FALSE"),
    ],
)
def test_a_damaged_example_is_refused(release: Path, change: dict[str, str], message: str) -> None:
    write(release, [{**ROW, **change}, ROW])
    with pytest.raises(InputError) as error:
        _ = Dataset.load("long-context-relic").queries
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("rows", "books", "message"),
    [
        ([], BOOKS, "there are no examples"),
        ([{k: v for k, v in ROW.items() if k != "suffix"}], BOOKS, "csv:1: there is no column suffix"),
        (ROWS, {"the_inn": "text"}, "json:1: the book 'the_inn' is not a list of sentences"),
        (ROWS, {"a b": [], "a_b": []}, "json:1: the title 'a_b' appears twice"),
        (ROWS, {" ": []}, "json:1: the title ' ' is empty"),
        (ROWS, [], "json:1: not an object of books"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(
    release: Path, rows: list[dict[str, str]], books: Any, message: str
) -> None:
    write(release, rows, books)
    with pytest.raises(InputError) as error:
        _ = Dataset.load("long-context-relic").queries
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("prefix,suffix", "prefix,prefix,suffix", 1), "two columns are named 'prefix'"),
        (lambda text: text + "a,b\r\n", "csv:5: 2 fields, and 8 columns"),
        (lambda text: text + '"a,b\r\n\r\n', "csv:5: not CSV: unexpected end of data (the release"),
    ],
)  # fmt: skip
def test_damage_between_fields_is_refused(
    release: Path, change: Callable[[str], str], message: str
) -> None:
    """As it would be where another file was read before: the longest field is the reader's own."""
    write(release, [ROW])
    path = release / EXAMPLES
    path.write_bytes(change(path.read_bytes().decode()).encode())
    usual = csv.field_size_limit()
    with pytest.raises(InputError) as error:
        _ = Dataset.load("long-context-relic").queries
    assert message in str(error.value)
    assert csv.field_size_limit() == usual


def test_a_folder_without_the_files_is_none(release: Path, monkeypatch: Any) -> None:
    def offline(url: str, path: Path) -> None:
        raise OSError("no network")

    monkeypatch.setattr("irtoolkit.datasets.downloads.fetch", offline)
    release.mkdir()
    with pytest.raises(InputError, match="not on this machine and could not be downloaded: no net"):
        _ = Dataset.load("long-context-relic").queries


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Nobody came, at first.", True),
        ("nobody came at first", True),
        ("It rained. Nobody came, at first. The lamp went out.", True),
        ("Nobody", True),  # the published rule: a part of the answer matches it wholly
        ("Somebody left, at last.", False),
        ("", False),
        ("   ", False),
    ],
)
def test_the_rule_of_the_release(text: str, right: bool) -> None:
    assert is_right(text, "Nobody came, at first.") == right


def test_published_responses_are_scored(release: Path) -> None:
    names = ("response_big", "response_big_ERROR", "response_human", "response_human_ERROR")
    answer = ROW["answer_quote_text"]
    values = [
        (answer, "", "", ""),
        (answer, "too long a prompt", answer, ""),
        ("He did not.", "", "", ""),
    ]
    write(release, [{**row, **dict(zip(names, v, strict=True))} for row, v in zip(ROWS, values, strict=True)])  # fmt: skip
    [table] = ir.analyse("relic-generation", "long-context-relic").findings.tables
    figures = {row.names[0]: row.values for row in table.rows}
    assert figures["big"][:4] == (pytest.approx(100 / 3), 1, 3, 0.0)
    # People answered the subset alone.
    assert figures["human"][:4] == (100.0, 1, 1, 100.0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"query_id": "1"}', r"t.jsonl:1: no query_id and text"),
        ('{"query_id": 1, "text": "a"}', r"t.jsonl:1: no query_id and text"),
        ('{"query_id": "1", "text": "a"}\n' * 2, r"t.jsonl:2: query 1 appears twice"),
        ('{"query_id": "99", "text": "a"}', "no text is of a query"),
        ("[1", "t.jsonl:1"),
    ],
)
def test_a_bad_file_of_texts_is_refused(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text(lines)
    with pytest.raises(InputError, match=message):
        ir.analyse("relic-generation", "long-context-relic/sample", texts=str(tmp_path / "t.jsonl"))
