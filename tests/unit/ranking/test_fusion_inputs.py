"""Runs that do not belong together are refused or noted before they are fused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.fusion import check_together, datasets_named
from irtoolkit.runs import Run
from irtoolkit.runs.provenance import read_metadata, record, write_metadata
from tests.conftest import Answer


def run(queries: Iterable[int], docs: str = "d", each: int = 3) -> Run:
    return Run.from_rows([(f"q{q}", f"{docs}{d}", float(-d)) for q in queries for d in range(each)])


def test_the_front_door_refuses_strangers() -> None:
    one, other = run(range(3)).named("one"), run(range(5, 8)).named("other")
    with pytest.raises(InputError, match="one: it shares no query with the other runs"):
        ir.fuse(one, other)
    assert len(ir.fuse(one, one.named("two"))) == len(one)


def test_documents_of_another_collection_are_counted() -> None:
    (note,) = check_together([run(range(4)), run(range(4), "e")], ["a", "b"])
    assert note.startswith("only 0 of 24 documents of the queries that runs share")


def test_records_may_name_several_datasets() -> None:
    assert datasets_named({"a": "x", "b": None, "c": "x"}) is None
    assert datasets_named({"a": "x", "b": "y", "c": "x"}) == (
        "the runs are of different datasets: a of x, b of y"
    )


def made(path: Path, dataset: str, content: Run) -> Path:
    """Writes a run with a record that says what it is of."""
    from irtoolkit.base.files import sha256

    content.write(path)
    about = {"system": "s", "retriever": "r", "settings": {}, "dataset": dataset}
    write_metadata(path, record({**about, "sha256": sha256(path)}, 1.0))
    return path


def test_the_command_says_so(
    tmp_path: Path, irtoolkit: Callable[..., Answer], write: Callable[..., Path]
) -> None:
    one = made(tmp_path / "one.run", "x", run(range(4)))
    two = made(tmp_path / "two.run", "y", run(range(4), "e"))
    out = tmp_path / "out.run"
    done = irtoolkit("fuse", one, two, "-o", out)
    assert done.status == 0
    notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2
    assert notes[1] == f"note: the runs are of different datasets: {one} of x, {two} of y"
    found = read_metadata(out)
    assert found is not None
    assert found["irtoolkit"]["dataset"] is None
    other = made(tmp_path / "three.run", "z", run(range(8, 9)))
    refused = irtoolkit("fuse", one, other, "-o", tmp_path / "none.run")
    assert refused.status == 2
    assert refused.err.startswith(f"irtoolkit: {one}: it shares no query with the other runs")
    assert not (tmp_path / "none.run").exists()
