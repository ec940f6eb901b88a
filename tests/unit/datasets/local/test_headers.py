"""Headers of tab-separated text, and the forms of TREC's topics."""

from __future__ import annotations

from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.local.topics import TOPIC_FORMATS
from irtoolkit.datasets.replaced import with_topics


def topics(path: Path, text: str) -> dict[str, str]:
    path.write_text(text)
    asked = with_topics(ir.load({"d1": "a"}), path)
    return {query.query_id: query.text for query in asked.queries_iter()}


def test_a_first_line_that_may_be_either_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="may be a header or a row"):
        topics(tmp_path / "t.tsv", "qid\tankle brace\n44\tx\n")


XML = '<?xml version="1.0"?>\n<topics task="2022 x">\n{}\n</topics>\n'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('<topic number="201">\n A 40-year-old & <5 days.\n</topic>', ("201", "A 40-year-old & <5 days.", "", "")),
        ("<topic><number>1</number><query>ankle</query><description>Does it?</description></topic>",
         ("1", "ankle", "Does it?", "")),
        ('<topic number="1"><query>a</query><question>b</question><narrative>c</narrative></topic>',
         ("1", "a", "b", "c")),
        ('<topic number="1" type="faceted"><query>a</query><subtopic number="1">b</subtopic><subtopic'
         ' number="2">c</subtopic></topic>', ("1", "a", "", "")),
        ("<topic id='x1'><title>a &amp; b</title></topic>", ("x1", "a & b", "", "")),
        ("<topic><identifier>C041</identifier><title>a</title><desc>b</desc></topic>", ("C041", "a", "b", "")),
        ("<top><num> Number: 7 <title> a <desc> Description: b </top>", ("7", "a", "b", "")),
    ],
)  # fmt: skip
def test_topics_of_trec_in_xml_are_read(tmp_path: Path, text: str, wanted: tuple[str, ...]) -> None:
    path = tmp_path / "t.xml"
    path.write_text(XML.format(text))
    assert [topic[1:] for topic in TOPIC_FORMATS["trec"](path)] == [wanted]


def test_a_topic_of_other_fields_names_them(tmp_path: Path) -> None:
    text = '<topic number="1"><disease>x</disease><gene>y</gene></topic>'
    with pytest.raises(
        InputError, match="topic 1 has no title, query or description, but disease, gene"
    ):
        topics(tmp_path / "t.xml", XML.format(text))
