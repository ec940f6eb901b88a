"""Runs and qrels of ranx as runs and qrels of ours."""

from __future__ import annotations

import pytest

import irtoolkit  # noqa: F401  registers our datasets
from irtoolkit.integrations.ranx import to_ranx
from irtoolkit.runs import DEFAULT_TAG, Qrels, Run
from tests.unit.runs.test_objects import GRADED, RANKED, ROWS


def test_a_ranx_run_keeps_its_name_and_documents() -> None:
    pytest.importorskip("ranx")
    given_run = to_ranx(Run.from_rows(ROWS, "bm25"))
    run = Run.of(given_run)
    assert list(run) == RANKED
    assert run.tag == "bm25"
    assert Run.of(given_run, "other").tag == "other"


def test_a_ranx_run_without_a_name_has_the_default_tag() -> None:
    ranx = pytest.importorskip("ranx")
    assert Run.of(ranx.Run({"q1": {"a": 1.0}})).tag == DEFAULT_TAG


def test_ranx_qrels_are_qrels() -> None:
    pytest.importorskip("ranx")
    assert sorted(Qrels.of(to_ranx(Qrels.from_rows(GRADED)))) == sorted(GRADED)
