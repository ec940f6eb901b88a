"""What an annotator sees: texts, and nothing that gives an answer away."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, NamedTuple

import pytest

import irtoolkit as ir
from irtoolkit.apps.annotate.showing import parts


class Topic(NamedTuple):
    """A topic of TREC."""

    query_id: str
    title: str
    description: str
    narrative: str


class Strange(NamedTuple):
    """A record whose fields nobody knows."""

    doc_id: str
    content: str

    def default_text(self) -> str:
        return self.content


def texts(record: Any) -> list[tuple[str, str]]:
    return [(part.name, "".join(piece.text for piece in part.pieces)) for part in parts(record)]


def test_fields_are_shown_in_the_order_they_are_read() -> None:
    topic = Topic("1", "lamps", "Which lamps?", "Only lamps of ships.")
    assert texts(topic) == [
        ("title", "lamps"), ("description", "Which lamps?"), ("narrative", "Only lamps of ships."),
    ]  # fmt: skip
    assert texts(Strange("d", "words")) == [("text", "words")]


def test_a_facet_is_named_and_its_sentences_are_strong() -> None:
    query = next(iter(ir.load("csfcube/sample").queries_iter()))
    shown = parts(query)
    assert [part.name for part in shown] == ["facet", "title", "abstract"]
    strong = [piece.text.strip() for piece in shown[2].pieces if piece.mark == "strong"]
    assert tuple(strong) == query.facet_sentences


@pytest.mark.parametrize("name", ["relic/sample/val", "egret/sample/dev", "quoter/sample/en/test"])
def test_a_masked_text_has_its_gap(name: str) -> None:
    shown = parts(next(iter(ir.load(name).queries_iter())))
    marks = [piece.mark for part in shown for piece in part.pieces]
    assert marks.count("gap") == 1


def test_answers_ids_and_metadata_are_not_shown() -> None:
    query = next(iter(ir.load("plotretrieval/sample/val").queries_iter()))
    said = json.dumps([asdict(part) for part in parts(query)])
    assert query.text in said
    assert not [span for span in query.spans if span in said]
    paper = next(iter(ir.load("csfcube/sample").docs_iter()))
    said = json.dumps([asdict(part) for part in parts(paper)])
    assert paper.doc_id not in said
    assert str(paper.year) not in said
