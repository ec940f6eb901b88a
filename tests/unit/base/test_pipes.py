"""Pipes: what can be read only once is read once, and may be opened again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local, read_lines
from irtoolkit.base.pipes import is_pipe
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.replaced import with_topics
from irtoolkit.runs import Run

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
QRELS = "".join(f"{number} 0 d1 1\n" for number in range(2000))
RUN = "".join(f"{number} Q0 d1 1 1 t\n" for number in range(2000))


@pytest.fixture
def named(tmp_path: Path) -> Callable[[str, str], Path]:
    """A function that makes a named pipe, and writes to it as often as it is called."""

    def write(name: str, text: str) -> Path:
        pipe = tmp_path / name
        if not pipe.exists():
            os.mkfifo(pipe)
        threading.Thread(target=pipe.write_text, args=(text,), daemon=True).start()
        return pipe

    return write


@contextmanager
def opened(text: str) -> Iterator[str]:
    """The name of an open pipe, as a shell's <(...) is."""
    out, into = os.pipe()

    def write() -> None:
        with open(into, "w") as stream:
            stream.write(text)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield f"/dev/fd/{out}"
    writer.join()
    os.close(out)


def test_a_pipe_is_copied_once(named: Callable[[str, str], Path]) -> None:
    pipe = named("x.run", RUN)
    copy = local(pipe)
    assert not is_pipe(copy)
    assert copy.read_text() == copy.read_text() == RUN
    assert local(copy) == copy
    # A message names what was given.
    assert str(InputError("wrong", file=copy)).startswith(str(pipe))


def test_a_named_pipe_may_be_written_again(named: Callable[[str, str], Path]) -> None:
    assert [line for _, line in read_lines(named("x", "one\n"))] == ["one"]
    assert [line for _, line in read_lines(named("x", "two\n"))] == ["two"]


def test_an_open_pipe_gives_all_its_readers_the_same() -> None:
    with opened(QRELS) as name:
        assert len(read_qrels(name)) == len(read_qrels(name)) == 2000
        assert len(Dataset.of(name).qrels) == 2000


def test_every_role_reads_all_of_a_pipe(named: Callable[[str, str], Path]) -> None:
    data = ir.load({"d1": "a whale"})
    topics = "".join(f"{number}\twhale\n" for number in range(2000))
    asked = with_topics(data, named("topics", topics))
    assert len(list(asked.queries_iter())) == 2000
    assert len(Run.read(named("a.run", RUN)).query_ids) == 2000
    assert len(read_qrels(named("a.qrels", QRELS))) == 2000
    docs = "".join(f"d{number}\ta whale\n" for number in range(2000))
    assert len(list(ir.load(named("docs.tsv", docs)).docs_iter())) == 2000
    figures = ir.evaluate(named("b.qrels", QRELS), named("b.run", RUN), measures="NumQ").figures()
    assert [*figures.values()] == [{"NumQ": 2000.0}]


@pytest.mark.parametrize(
    ("text", "ending"),
    [('{"id": 1}\n', ".jsonl"), ("\n<DOC>\n", ".trec"), ("1\ta\n", ".tsv"), ("A book.\n", ".txt")],
)
def test_a_copy_is_called_as_its_content_is(text: str, ending: str) -> None:
    with opened(text) as name:
        assert local(name).suffix == ending


def test_a_closed_stream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from irtoolkit.base import pipes

    monkeypatch.setattr(pipes, "CLOSED", {0})
    monkeypatch.setattr(pipes, "_copies", {})
    if not is_pipe("/dev/stdin"):
        pytest.skip("no standard input")
    with pytest.raises(InputError, match="/dev/stdin: cannot read"):
        local("/dev/stdin")
