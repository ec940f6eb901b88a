"""What models have said, kept on disk: asked once, resumed, shared, never half."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.cache import Answers

PARAMETERS: dict[str, Any] = {"weights": "m1", "depth": 3}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "answers"


class Model:
    """Answers with the text turned round, and remembers what it was asked."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.batches: list[list[str]] = []
        self.fails_at = fails_at

    def __call__(self, texts: list[str]) -> list[Any]:
        if self.fails_at == len(self.batches):
            raise KeyboardInterrupt
        self.batches.append(texts)
        return [[text[::-1], len(text)] for text in texts]

    @property
    def asked(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def filled(texts: list[str], model: Any = None, batch_size: int = 2, **parameters: Any) -> Answers:
    answers = Answers("kind", {**PARAMETERS, **parameters})
    answers.fill(texts, model or Model(), batch_size, progress=False)
    return answers


TEXTS = ["one", "three", "seven", "eleven", "a", "", "漢字 \n\u2028 and \ud7ff", "one more"]


@given(st.lists(st.text(max_size=6), max_size=9), st.integers(1, 5))
def test_each_text_is_asked_about_once_in_batches(texts: list[str], size: int) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    model = Model()
    answers = Answers("kind", {"texts": texts, "size": size, "n": time.monotonic_ns()})
    answers.fill(texts, model, size, progress=False)
    assert sorted(model.asked) == sorted(set(texts))
    assert all(len(batch) == size for batch in model.batches[:-1])
    assert all(1 <= len(batch) <= size for batch in model.batches)
    assert [answers[text] for text in texts] == [[text[::-1], len(text)] for text in texts]


def test_what_is_there_is_not_asked_again() -> None:
    filled(TEXTS)
    again = Model()
    answers = filled([*TEXTS, "new"], again)
    assert again.asked == ["new"]
    assert answers["one"] == ["eno", 3]
    third = Model()
    filled(["new", "one"], third)
    assert third.batches == []


# -- interruptions ----------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(4))
def test_what_was_answered_before_an_interruption_is_kept(at: int) -> None:
    first = Model(fails_at=at)
    with pytest.raises(KeyboardInterrupt):
        filled(TEXTS, first)
    assert len(first.asked) == 2 * at
    second = Model()
    answers = filled(TEXTS, second)
    assert sorted([*first.asked, *second.asked]) == sorted(TEXTS)
    assert answers["one"] == ["eno", 3]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_cut_off_is_asked_about_again(cut: int) -> None:
    path = filled(TEXTS, batch_size=1).path
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    whole = data[:-cut].count(b"\n")
    again = Model()
    answers = filled(TEXTS, again)
    missing = len(TEXTS) - whole
    assert len(again.asked) == missing or (cut == 1 and len(again.asked) == 0)
    assert [answers[text] for text in TEXTS] == [[text[::-1], len(text)] for text in TEXTS]
    third = Model()
    filled(TEXTS, third)
    assert third.batches == []
    for line in path.read_text("utf-8").split("\n")[:-1]:
        key, answer = json.loads(line)
        assert len(key) == 32
        assert len(answer) == 2


@pytest.mark.parametrize("junk", [b"\x00\x00\x00", b"\xff\xfe", b"{", b"[[1], 2]", b'["key", 2]', b"[" * 100_000])  # fmt: skip
def test_a_damaged_line_costs_no_other_answer(
    junk: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = filled(TEXTS).path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], junk + b"\n", *lines[2:]]))
    filled(TEXTS, again := Model())
    assert len(again.asked) == 1
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(lines)
    assert "a line is damaged" in caplog.text


# -- answers as they come -----------------------------------------------------------------------


def test_portions_that_came_before_a_failure_are_kept() -> None:
    asked: list[list[str]] = []

    def failing(texts: list[str]) -> Iterator[list[tuple[str, Any]]]:
        asked.append(texts)
        yield [(texts[4], 4)]
        yield [(texts[1], 1), (texts[6], 6)]
        raise InputError("the model has gone")

    for _ in range(2):
        with pytest.raises(InputError, match="has gone"):
            Answers("kind", {"n": 1}).gather([*TEXTS, "t", "u", "v"], failing, progress=False)
    first, second = asked
    assert second == [text for i, text in enumerate(first) if i not in (1, 4, 6)]


# -- keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"weights": "m2"}, {"depth": 4}, {"depth": None}, {"more": 1}, {"depth": "3"}]
)
def test_other_parameters_have_other_answers(change: dict[str, Any]) -> None:
    filled(TEXTS)
    again = Model()
    filled(TEXTS, again, **change)
    assert len(again.asked) == len(TEXTS)


# -- the folder -------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot write"):
            filled(TEXTS)
    finally:
        cache.chmod(0o700)
