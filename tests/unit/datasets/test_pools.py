"""Candidates of a dataset from a run or from top_ranked, as an object, a file, and in a registered folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.local.registering import register_collection, remove_collection
from irtoolkit.datasets.pools import pools_of
from irtoolkit.runs import Run

DOCS = {"d1": "a red coat", "d2": "a blue hat", "d3": "a red hat"}
QUERIES = {"q1": "red coat", "q2": "hat"}
POOLS = {"q1": ["d3", "d2"], "q2": ["d1", "d2"]}
RUN = "q1 Q0 d3 1 2.0 x\nq1 Q0 d2 2 1.0 x\nq2 Q0 d1 1 2.0 x\nq2 Q0 d2 2 1.0 x\n"


def as_jsonl(path: Path, pools: Any = POOLS) -> Path:
    lines = (json.dumps({"query-id": q, "corpus-ids": docs}) for q, docs in pools.items())
    path.write_text("\n".join(lines) + "\n")
    return path


def as_parquet(path: Path) -> Path:
    table = pa.table({"query-id": list(POOLS), "corpus-ids": list(POOLS.values())})
    pq.write_table(table, path)
    return path


def as_run(path: Path) -> Path:
    path.write_text(RUN)
    return path


@pytest.mark.parametrize("write", [as_jsonl, as_parquet, as_run])
def test_files_of_candidates(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path / "candidates")
    assert pools_of(path)[0] == POOLS
    data = ir.load(DOCS, queries=QUERIES, candidates=path)
    assert data.pools() == POOLS
    other = ir.retrieve(ir.load(DOCS, queries=QUERIES), "bm25", candidates=path)
    assert other == ir.retrieve(data, "bm25")
    assert {q: set(docs) for q, docs in other.as_dict().items()} == {
        q: set(docs) for q, docs in POOLS.items()
    }


def test_objects_with_candidates(tmp_path: Path) -> None:
    run = Run.read(as_run(tmp_path / "x.run"))
    data = ir.load(DOCS, queries=QUERIES)
    for given in (run, POOLS, run.as_dict()):
        assert set(ir.retrieve(data, "bm25", candidates=given).as_dict()["q1"]) == {"d2", "d3"}


@pytest.mark.parametrize(
    ("pools", "found"),
    [
        ({"q1": ["d1"]}, "query q2 of texts has no candidates"),
        ({"q1": ["d1"], "q2": ["d9"]}, "candidate d9 is no document of texts"),
        ({"q1": ["d1", "d1"], "q2": ["d1"]}, "document d1 is listed twice for query q1"),
        ({"q1": [], "q2": ["d1"]}, "query q1 has no list of candidates"),
        ({"x": ["d1"]}, "candidates of no query of texts"),
    ],
)
def test_candidates_that_do_not_fit_are_refused(tmp_path: Path, pools: Any, found: str) -> None:
    path = as_jsonl(tmp_path / "top_ranked.jsonl", pools)
    for given in (path, pools):
        with pytest.raises(InputError, match=found):
            ir.retrieve(ir.load(DOCS, queries=QUERIES), "bm25", candidates=given)


@pytest.mark.parametrize("write", [as_jsonl, as_parquet, as_run])
def test_a_registered_folder_has_candidates(tmp_path: Path, write: Any) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "docs.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in DOCS.items()))
    (folder / "topics.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in QUERIES.items()))
    suffix = {as_jsonl: ".jsonl", as_parquet: ".parquet", as_run: ".run"}[write]
    write(folder / f"top_ranked{suffix}")
    given: Any = {"pools": [f"top_ranked{suffix}"]} if suffix == ".run" else None
    try:
        register_collection("mine/pools", folder, given)
        data = ir.load("mine/pools")
        assert data.pools() == POOLS
        again = ir.export(data, "beir", tmp_path / "out")
        register_collection("mine/again", again, {"qrels": ["none"]})
        assert ir.load("mine/again").pools() == POOLS
    finally:
        for name in ("mine/pools", "mine/again"):
            remove_collection(name)


def test_candidates_of_a_folder_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("d1\ta\n")
    (tmp_path / "topics.tsv").write_text("q1\ta\n")
    as_jsonl(tmp_path / "top_ranked.jsonl", {"q1": ["d2"]})
    with pytest.raises(InputError, match="candidate d2 is not in the collection"):
        register_collection("mine/wrong", tmp_path)
