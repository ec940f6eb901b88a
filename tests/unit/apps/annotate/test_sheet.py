"""An annotator's file: whole at any time, and nothing in it is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Thread

import pytest

from irtoolkit.apps.annotate.grades import Grades
from irtoolkit.apps.annotate.pool import Pool
from irtoolkit.apps.annotate.sheet import ConflictError, Sheet, UnknownPairError
from irtoolkit.base.errors import InputError
from irtoolkit.runs import Qrels

POOL = Pool("x", Grades(), 0, {"q2": ("a", "b"), "q1": tuple(f"d{i:02}" for i in range(40))})


def test_it_is_a_qrels_file_in_the_order_of_the_pool(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    assert not sheet.path.exists()
    sheet.judge("q1", "d03", 2, None)
    sheet.judge("q1", "d01", 0, None)
    sheet.judge("q2", "b", 3, None)
    assert sheet.path.read_text() == "q2 0 b 3\nq1 0 d01 0\nq1 0 d03 2\n"
    sheet.judge("q1", "d03", 1, 2)
    sheet.judge("q2", "b", None, 3)
    assert Qrels.read(sheet.path).as_dict() == {"q1": {"d01": 0, "d03": 1}}
    again = Sheet(tmp_path, "ann", POOL)
    assert (len(again), again.grade("q1", "d03"), again.judged("q1")) == (2, 1, 2)
    for doc in ("d01", "d03"):
        again.judge("q1", doc, None, again.grade("q1", doc))
    # Qrels without a row are no qrels.
    assert not again.path.exists()


def test_another_window_loses_nothing(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    sheet.judge("q2", "a", 1, None)
    with pytest.raises(ConflictError, match="judged 1 in another window"):
        sheet.judge("q2", "a", 3, None)
    sheet.judge("q2", "a", 1, None)  # the same grade twice is no conflict
    sheet.judge("q2", "a", None, 1)
    with pytest.raises(ConflictError, match="withdrawn"):
        sheet.judge("q2", "a", 2, 1)
    assert sheet.grade("q2", "a") is None


def test_judgments_at_once_are_all_kept(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    docs = POOL.documents["q1"]
    threads = [
        Thread(target=lambda part=docs[i::4]: [sheet.judge("q1", d, 1, None) for d in part])
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Sheet(tmp_path, "ann", POOL)) == len(docs)


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_disk_that_refuses_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    sheet.judge("q2", "a", 1, None)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(InputError, match="No space left"):
            sheet.judge("q2", "b", 1, None)
    assert sheet.grade("q2", "b") is None
    assert sheet.path.read_text() == "q2 0 a 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ann.qrels"]
    sheet.judge("q2", "b", 1, None)


def test_a_file_that_somebody_else_changes_is_not_written_over(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    sheet.judge("q2", "a", 1, None)
    sheet.path.write_text("q2 0 a 1\nq2 0 b 2\n")
    with pytest.raises(InputError, match="changed by something else"):
        sheet.judge("q1", "d00", 1, None)
    assert sheet.path.read_text() == "q2 0 a 1\nq2 0 b 2\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q2 0 a 4", "grade 4 is none of 0-3"),
        ("q2 0 x 1", "document x of query q2 is not in the pool"),
        ("qx 0 a 1", "document a of query qx is not in the pool"),
        ("q2 0 a", "3 fields instead of 4"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(
    tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "ann.qrels").write_text(f"q2 0 b 1\n{line}\n")
    with pytest.raises(InputError, match=said) as error:
        Sheet(tmp_path, "ann", POOL)
    assert error.value.line == 2


def test_only_pairs_and_grades_of_the_pool_are_taken(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    with pytest.raises(UnknownPairError):
        sheet.judge("q2", "d01", 1, None)
    with pytest.raises(InputError, match="grade 4"):
        sheet.judge("q2", "a", 4, None)
    for name in ("", "../ann", "a b", ".ann", "a/b"):
        with pytest.raises(InputError, match="cannot name an annotator"):
            Sheet(tmp_path, name, POOL)


def test_notes_are_kept_on_one_line(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path, "ann", POOL)
    sheet.set_note("q2", "b", " about\ttwo\nthings ")
    sheet.set_note("q1", "d00", "书")
    assert sheet.notes_path.read_text("utf-8") == "q2\tb\tabout two things\nq1\td00\t书\n"
    assert Sheet(tmp_path, "ann", POOL).note("q2", "b") == "about two things"
    sheet.set_note("q2", "b", "")
    sheet.set_note("q1", "d00", "")
    assert not sheet.notes_path.exists()
    sheet.notes_path.write_text("no tabs\n")
    with pytest.raises(InputError, match="not a query, a document and a note"):
        Sheet(tmp_path, "ann", POOL)
