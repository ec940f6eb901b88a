"""Natural Questions: tokens as prose, in both published forms."""

from __future__ import annotations

import pytest

from irtoolkit.building.egret.natural import prose


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
