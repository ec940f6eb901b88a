"""Natural Questions: tokens as prose, in both published forms."""

from __future__ import annotations

import pytest

from irtoolkit.building.egret.natural import long_answer, prose
from irtoolkit.building.egret.passages import Passage
from tests import explainer


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("Some fish ( e.g. , cods ) swim .", "Some fish (e.g., cods) swim."),
        ("It is n't `` so '' , he 's told .", "It isn't “so”, he's told."),
        ('He said " yes " and " no " .', "He said “yes” and “no”."),
        ("It costs $ 5 ; or 1,000 % !", "It costs $5; or 1,000%!"),
        ("The dogs ' [ old ] bed : ’s", "The dogs' [old] bed:’s"),
        ("", ""),
        (", first", ", first"),
    ],
)
def test_tokens_become_prose(tokens: str, text: str) -> None:
    assert prose(tokens.split()) == text


def test_both_forms_are_the_same() -> None:
    text = explainer.explained(3).text
    one, other = (long_answer(explainer.nq_record(3, text, full=full), 9) for full in (False, True))
    assert isinstance(one, Passage)
    assert one == other
    assert (one.key, one.question, one.line) == ("5655493461695504404.1", "what is it about number 3", 9)  # fmt: skip
    assert explainer.solid(one.text) == explainer.solid(text)
    assert "<P>" not in one.text
