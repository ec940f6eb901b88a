"""Ranks beside a run: they speak for that run's content only, and are read whole or not at all."""

from __future__ import annotations

import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.temporaries import temporary_name
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.columns import Ranks, TiedRank
from irtoolkit.runs.exact_ranks import ranks_path, read_ranks, write_ranks
from irtoolkit.runs.publish import publish

RUN = Run.from_rows([("q1", "a", 3.0), ("q1", "b", 2.0), ("q2", "c", 1.0)])
RANKS = {"q1": {"b": 2, "x": 7}, "q2": {"c": 1}, "q3": {"a": 4}}
RANKED = replace(RUN, exact_ranks=RANKS)
MADE = {"system": "s", "retriever": "s", "settings": {}, "dataset": "d"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.run"
    digest = RUN.write(path)
    assert digest == sha256(path)
    write_ranks(path, RANKS, digest)
    return path


def refusal(path: Path, run: Run = RUN) -> str:
    with pytest.raises(InputError) as caught:
        read_ranks(path, run)
    assert caught.value.file == str(ranks_path(path))
    return caught.value.found


def test_ranks_of_an_older_version_are_read(path: Path) -> None:
    old = f"# ranks over all candidates of the run with SHA-256 {sha256(path)}\nq1\tb\t2\n"
    ranks_path(path).write_text(old)
    assert read_ranks(path, RUN) == {"q1": {"b": 2}}


@pytest.mark.parametrize("kept", range(4))
def test_a_file_cut_at_the_end_of_a_line_is_refused(path: Path, kept: int) -> None:
    lines = ranks_path(path).read_text().splitlines(keepends=True)
    ranks_path(path).write_text("".join(lines[: kept + 1]))
    assert refusal(path) == "lines were lost or changed"


def test_an_empty_file_is_refused(path: Path) -> None:
    ranks_path(path).write_text("")
    assert refusal(path) == "the ranks of another run"


@pytest.mark.parametrize("kind", ["link", "loop", "folder", "pipe"])
def test_what_is_no_file_is_refused(path: Path, kind: str) -> None:
    beside = ranks_path(path)
    beside.unlink()
    if kind == "folder":
        beside.mkdir()
    elif kind == "pipe":
        os.mkfifo(beside)
    else:
        beside.symlink_to(beside.name if kind == "loop" else "nowhere")
    assert refusal(path) == "the ranks beside the run are in no file"


def test_what_lies_beside_a_run_may_be_read_by_those_who_may_read_the_run(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    publish(RANKED, path, MADE, 0.0)
    path.chmod(0o600)
    publish(RANKED, path, MADE, 0.0)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("rank", ["9" * 30, "0", "-1", "x", "1.0", "\N{ARABIC-INDIC DIGIT TWO}"])
def test_what_is_no_rank_is_refused(path: Path, rank: str) -> None:
    ranks_path(path).write_text(f"# of {sha256(path)}\nq1\tb\t{rank}\n")
    assert refusal(path) == "not query id, document id and rank"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("q1\tb\t1", "b for query q1 is not at rank 1 of the run"),
        ("q1\tb\t3", "b for query q1 is not at rank 3: the run lists it above"),
        ("q1\tx\t1", "x for query q1 is not at rank 1 of the run"),
        ("q1\tx\t3\nq1\ty\t3", "two documents of one rank for query q1"),
        ("q1\tx\t3\nq1\tx\t4", "two ranks of x for q1"),
    ],
)
def test_ranks_that_contradict_the_run_or_each_other_are_refused(
    path: Path, lines: str, found: str
) -> None:
    ranks_path(path).write_text(f"# of {sha256(path)}\n{lines}\n")
    assert refusal(path) == found


def test_equal_scores_may_share_the_best_rank(path: Path) -> None:
    ranks_path(path).write_text(f"# of {sha256(path)}\nq1\ta\t1\nq1\tb\t1\n")
    provenance.write_metadata(path, {"irtoolkit": {"settings": {"ties": "best"}}})
    ranks = read_ranks(path, RUN)  # of an older version, which kept the best rank alone
    assert ranks is not None
    assert [getattr(rank, "best", None) for rank in ranks["q1"].values()] == [1, 1]
    assert min(ranks["q1"].values()) > 1_000_000_000  # unknown


def test_the_best_rank_is_kept_beside_the_exact_one(path: Path) -> None:
    ranks: Ranks = {"q1": {"a": TiedRank(2, 1), "b": TiedRank(1, 1)}}
    write_ranks(path, ranks, sha256(path))
    assert ranks_path(path).read_text().splitlines()[1:] == ["q1\ta\t2\t1", "q1\tb\t1\t1"]
    found = read_ranks(path, RUN)
    assert found == {"q1": {"a": 2, "b": 1}}
    again = pickle.loads(pickle.dumps(found))
    for one in (found, again):
        assert one is not None
        assert [getattr(rank, "best", None) for rank in one["q1"].values()] == [1, 1]


class Overtaken(dict[str, dict[str, int]]):
    """Ranks whose run's file is replaced by another program while they are written."""

    def __init__(self, ranks: dict[str, dict[str, int]], path: Path) -> None:
        super().__init__(ranks)
        self._path = path

    def items(self) -> Any:
        Run.from_rows([("q1", "b", 9.0), ("q1", "a", 2.0)]).write(self._path)
        return super().items()


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.parquet"])
def test_ranks_and_record_speak_for_what_was_written(tmp_path: Path, name: str) -> None:
    path, alone = tmp_path / name, tmp_path / "alone" / name
    publish(RANKED, alone, MADE, 0.0)
    publish(replace(RUN, exact_ranks=Overtaken(RANKS, path)), path, MADE, 0.0)
    assert refusal(path, Run.read(path)) == "the ranks of another run"
    record = provenance.read_metadata(path)
    assert record is not None
    assert record["irtoolkit"]["sha256"] == sha256(alone) != sha256(path)
    assert ranks_path(path).read_text() == ranks_path(alone).read_text()


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.parquet"])
def test_what_killed_writers_of_a_run_have_left_is_removed(tmp_path: Path, name: str) -> None:
    path, other = tmp_path / name, tmp_path / f"other-{name}"
    kept = temporary_name(other)
    for target in (path, ranks_path(path), provenance.metadata_path(path)):
        temporary_name(target).write_text("half")
    kept.write_text("half")
    publish(RANKED, path, MADE, 0.0)
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".")] == [kept]
    assert len(list(tmp_path.iterdir())) == 4
