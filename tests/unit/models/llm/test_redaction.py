"""API keys in messages."""

from __future__ import annotations

import pytest

from irtoolkit.models.llm.redaction import without_key

KEY = "sk-Jw4Y-Zq83hTn20Lw7RkVe"


@pytest.mark.parametrize(
    "part",
    [KEY, "sk-Jw4Y-********RkVe", "sk-J...kVe", "sk-Jw4Y-Zq83h", "****RkVe", "sk-Jw…", "n20Lw7RkVe", "skXXXXVe"],
)  # fmt: skip
def test_nothing_of_a_key_is_shown(part: str) -> None:
    for text in (
        f"Incorrect API key provided: {part}.",
        f'{{"key": "{part}"}}',
        f"key={part}, sorry",
    ):
        said = without_key(text, KEY)
        assert "[API key]" in said
        assert not any(KEY[i : i + 3] in said for i in range(len(KEY) - 2))


@pytest.mark.parametrize(
    "text", ["You exceeded your quota ... see the page.", "**Error** in `model`", "skates and risk", ""]
)  # fmt: skip
def test_other_words_stay(text: str) -> None:
    assert without_key(text, KEY) == text
    assert without_key(text, None) == text
