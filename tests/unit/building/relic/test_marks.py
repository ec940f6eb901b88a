"""Parts of a text that are set as quotations."""

from __future__ import annotations

import pytest

from irtoolkit.building.relic.marks import Document, Settings, marked, quoted_parts
from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.words import Words


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("He says “a b c” and 'd e'.", ["a b c", "d e"]),
        ("Er sagt „a b“ und »c d«", ["a b", "c d"]),
        ("Il dit «a b»", ["a b"]),
        ("“one ‘two’ three”", ["one ‘two’ three", "two"]),
        ("‘I don’t know’, he said", ["I don’t know"]),
        ('He says "a b” and “c d" here', ["a b", "c d"]),
        ("Il dit « a b », «\u00a0c d\u00a0», «\u202fe f\u202f».", ["a b", "c d", "e f"]),
        ("Mówi „a b” już", ["a b"]),
        ("Hän sanoi »a b» ja ”c d”.", ["a b", "c d"]),
        ("Il dit « a « b » c", ["a « b"]),
        ("他說「甲『乙』丙」。", ["甲『乙』丙", "乙"]),
        ("彼は「甲」と言った", ["甲"]),
        ("He says ``a b'' of it", ["a b"]),
        ("an end of one.” “A b” and then.”", ["A b"]),
    ],
)
def test_marks(text: str, parts: list[str]) -> None:
    assert sorted(text[a:b] for a, b in marked(text)) == sorted(parts)


def test_the_narrowest_part_that_has_most_of_some_words() -> None:
    text = "before it “one two ‘three four’ five six” after"
    document = Document.of([Paragraph(text), Paragraph("seven eight nine", set_off=True)])
    words = Words.of(document.text)
    settings = Settings(words, quoted_parts(document))
    shown = {
        span: None if (part := settings.of(*span)) is None else words.between(part.first, part.last)
        for span in ((0, 2), (2, 8), (4, 6), (3, 5), (9, 11))
    }
    assert shown == {
        (0, 2): None,
        (2, 8): "one two three four five six",
        (4, 6): "three four",
        (3, 5): "one two three four five six",
        (9, 11): "seven eight nine",
    }
