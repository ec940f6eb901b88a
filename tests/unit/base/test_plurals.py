"""Numbers with the word for one or for several."""

from __future__ import annotations

from irtoolkit.base.plurals import number_of


def test_one_and_several() -> None:
    assert number_of(1, "queries") == "1 query"
    assert number_of(1, "rows") == "1 row"
    assert number_of(1, "matches") == "1 match"
    assert number_of(0, "rows") == "0 rows"
    assert number_of(2000, "judgments", ",") == "2,000 judgments"
