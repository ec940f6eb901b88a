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


def test_every_text_has_its_answer() -> None:
    answers = filled(TEXTS)
    assert [answers[text] for text in TEXTS] == [[text[::-1], len(text)] for text in TEXTS]
    with pytest.raises(KeyError):
        answers["unasked"]


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


def test_long_texts_come_first() -> None:
    model = Model()
    filled(TEXTS, model)
    lengths = [len(text) for text in model.asked]
    assert lengths == sorted(lengths, reverse=True)


def test_the_order_of_the_texts_does_not_matter() -> None:
    """Nor do twins: the batches are the same, and so is what a model draws for each."""
    models = [Model(), Model(), Model()]
    filled(TEXTS, models[0], n=1)
    filled(TEXTS[::-1], models[1], n=2)
    filled([*TEXTS[3:], *TEXTS, *TEXTS[:2]], models[2], n=3)
    assert models[0].batches == models[1].batches == models[2].batches


def test_what_is_there_is_not_asked_again() -> None:
    filled(TEXTS)
    again = Model()
    answers = filled([*TEXTS, "new"], again)
    assert again.asked == ["new"]
    assert answers["one"] == ["eno", 3]
    third = Model()
    filled(["new", "one"], third)
    assert third.batches == []


def test_an_object_may_be_filled_twice() -> None:
    model = Model()
    answers = filled(TEXTS[:2], model)
    answers.fill(TEXTS, model, 3, progress=False)
    assert sorted(model.asked) == sorted(TEXTS)
    assert answers["a"] == ["a", 1]


def test_nothing_asked_is_nothing_done(cache: Path) -> None:
    model = Model()
    filled([], model)
    assert model.batches == []


def test_answers_may_be_anything_that_json_holds() -> None:
    values = [None, 0, 0.1, "ü\n", [], [["a", 1]], {"k": [True]}]
    texts = [f"t{i}" for i in range(len(values))]
    given_ = dict(zip(texts, values, strict=True))
    filled(texts, lambda batch: [given_[text] for text in batch])
    again = filled(texts, Model())
    assert {text: again[text] for text in texts} == given_


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


def test_batches_after_an_interruption_are_those_of_an_uninterrupted_run() -> None:
    """What is drawn depends on the batch, so that a resumed index is the same."""
    whole, first, second = Model(), Model(fails_at=2), Model()
    filled(TEXTS, whole, n=1)
    with pytest.raises(KeyboardInterrupt):
        filled(TEXTS, first, n=2)
    filled(TEXTS, second, n=2)
    assert [*first.batches, *second.batches] == whole.batches


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


def test_a_last_line_that_lacks_only_its_end_of_line_is_not_glued_to_the_next() -> None:
    path = filled(TEXTS[:3]).path
    path.write_bytes(path.read_bytes()[:-1])
    filled(TEXTS, Model())
    third = Model()
    filled(TEXTS, third)
    assert third.batches == []
    assert path.read_bytes().count(b"\n") == len(TEXTS)


@pytest.mark.parametrize("junk", [b"\x00\x00\x00", b"\xff\xfe", b"{\n", b"[1]\n", b"[1, 2, 3]\n", b"null\n", b"7\n"])  # fmt: skip
def test_junk_at_the_end_is_dropped(junk: bytes) -> None:
    path = filled(TEXTS).path
    good = path.read_bytes()
    path.write_bytes(good + junk)
    answers = filled([*TEXTS, "new"], again := Model())
    assert again.asked == ["new"]
    assert answers["new"] == ["wen", 3]
    assert path.read_bytes().startswith(good)
    assert len(path.read_bytes().splitlines()) == len(TEXTS) + 1


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


def test_a_model_that_gives_too_few_answers_is_no_model() -> None:
    with pytest.raises(ValueError, match="shorter"):
        filled(TEXTS, lambda texts: [["x", 0]] * (len(texts) - 1))


# -- answers as they come -----------------------------------------------------------------------


def test_portions_may_come_in_any_order_and_size() -> None:
    def ask(texts: list[str]) -> Iterator[list[tuple[str, Any]]]:
        backwards = [(text, text[::-1]) for text in reversed(texts)]
        yield backwards[:3]
        yield []
        yield from ([pair] for pair in backwards[3:])

    answers = Answers("kind", {"n": 1})
    answers.gather(TEXTS, ask, progress=False)
    assert [answers[text] for text in TEXTS] == [text[::-1] for text in TEXTS]


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


def test_nobody_is_asked_when_all_is_there() -> None:
    answers = filled(TEXTS)

    def ask(texts: list[str]) -> Iterator[list[tuple[str, Any]]]:
        raise AssertionError(texts)

    answers.gather(TEXTS, ask, progress=False)


# -- keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"weights": "m2"}, {"depth": 4}, {"depth": None}, {"more": 1}, {"depth": "3"}]
)
def test_other_parameters_have_other_answers(change: dict[str, Any]) -> None:
    filled(TEXTS)
    again = Model()
    filled(TEXTS, again, **change)
    assert len(again.asked) == len(TEXTS)


def test_another_kind_has_other_answers(cache: Path) -> None:
    paths = {Answers(kind, PARAMETERS).path for kind in ("deepct", "doct5query")}
    assert len(paths) == 2
    assert {path.parent for path in paths} == {cache}
    assert sorted(path.name.split("-")[0] for path in paths) == ["deepct", "doct5query"]


def test_the_order_of_parameters_does_not_matter() -> None:
    turned = dict(reversed(PARAMETERS.items()))
    assert Answers("kind", turned).path == Answers("kind", PARAMETERS).path


def test_texts_that_look_alike_are_told_apart() -> None:
    texts = ["a", "a ", " a", "A", "a\n", "á", "a\u0301"]
    answers = filled(texts)
    assert len({json.dumps(answers[text]) for text in texts}) == len(texts)


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


@pytest.mark.parametrize("where", ["cache", "cache/answers"])
def test_a_file_where_the_folder_should_be(tmp_path: Path, where: str) -> None:
    (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / where).write_text("in the way")
    model = Model()
    with pytest.raises(InputError, match="cannot write") as refused:
        filled(TEXTS, model)
    assert "cache/answers" in str(refused.value)
    assert model.batches == [], "nothing is asked that cannot be kept"


def test_a_failure_of_the_model_is_its_own() -> None:
    """An OSError of a model, a file of its own that it cannot read say, is none of the cache's."""

    def broken(texts: list[str]) -> list[Any]:
        raise FileNotFoundError(2, "No such file or directory", "weights.bin")

    with pytest.raises(OSError, match=r"weights\.bin"):
        filled(TEXTS, broken)
