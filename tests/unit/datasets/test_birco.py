"""BIRCO: one content in three forms, pools with zeros, fractional grades, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.birco_release import SPLITS, TASKS, files_of, read_birco
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run

DATA: dict[str, Any] = {
    "query": {"q1": "a red coat", "q2": "a hat"},
    "corpus": {"d1": "red", "d2": "blue hat", "d3": ""},
    "qrel": {"q1": {"d2": 0.0, "d1": 0.75}, "q2": {"d3": 0.0, "d2": 1.0}},
}


def as_pickle(folder: Path, data: dict[str, Any]) -> list[Path]:
    path = folder / "relic" / "test_set.pickle"
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(data, 4))
    return [path]


def as_lines(folder: Path, data: dict[str, Any]) -> None:
    place = folder / "relic" / "test"
    place.mkdir(parents=True)
    for name, part in (("corpus", "corpus"), ("queries", "query")):
        lines = (json.dumps({"_id": i, "title": "", "text": t}) for i, t in data[part].items())
        (place / f"{name}.jsonl").write_text("\n".join(lines))
    rows = (f"{q}\t{d}\t{g}\n" for q, pool in data["qrel"].items() for d, g in pool.items())
    (place / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))


def as_parquet(folder: Path, data: dict[str, Any]) -> None:
    def write(part: str, columns: dict[str, list[Any]]) -> None:
        path = folder / "BIRCO-Relic-Test" / part / "test-00000-of-00001.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), path)

    for part, name in (("corpus", "corpus"), ("queries", "query")):
        write(part, {"_id": list(data[name]), "text": list(data[name].values())})
    rows = [(q, d, g) for q, pool in data["qrel"].items() for d, g in pool.items()]
    columns = zip(("query-id", "corpus-id", "score"), zip(*rows, strict=True), strict=True)
    write("data", {name: list(values) for name, values in columns})


@pytest.mark.parametrize("write", [as_pickle, as_lines, as_parquet])
def test_the_three_forms_have_one_content(tmp_path: Path, write: Any) -> None:
    write(tmp_path, DATA)
    files = files_of(tmp_path, "relic", "test")
    assert files is not None
    release = read_birco(files)
    assert {doc.doc_id: doc.text for doc in release.docs.values()} == DATA["corpus"]
    assert {query.query_id: query.text for query in release.queries} == DATA["query"]
    assert release.pools() == {"q1": ["d2", "d1"], "q2": ["d3", "d2"]}
    assert [tuple(row) for row in release.judgments()] == [
        ("q1", "d2", 0), ("q1", "d1", 0.75), ("q2", "d3", 0), ("q2", "d2", 1),
    ]  # fmt: skip
    assert files_of(tmp_path, "relic", "dev") is None
    assert files_of(tmp_path, "wtb", "test") is None


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"qrel": {"q1": {"d1": 1}}}, "query q2 has no pool"),
        ({"qrel": {"q1": {"d9": 1}, "q2": {"d1": 1}}}, "document d9 in the pool of query q1"),
        ({"qrel": {"q1": {"d1": -1}, "q2": {"d1": 1}}}, "grade -1 of document d1"),
        ({"qrel": ["q1"]}, "not a split of BIRCO"),
        ({"corpus": None}, "it has no corpus"),
        ({"corpus": {"d1": None, "d2": "", "d3": ""}}, "the text of document d1 is None"),
    ],
)  # fmt: skip
def test_a_pickle_of_another_form_is_refused(tmp_path: Path, change: Any, found: str) -> None:
    with pytest.raises(InputError, match=found) as caught:
        read_birco(as_pickle(tmp_path, {**DATA, **change}))
    assert caught.value.file is not None


# -- the datasets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("split", SPLITS)
def test_each_split_of_the_sample_has_queries_pools_and_judgments(task: str, split: str) -> None:
    data = ir.load(f"birco/sample/{task}/{split}")
    pools = data.pools()
    assert list(pools) == data.query_ids()
    assert {q: set(pool) for q, pool in pools.items()} == {
        q: set(docs) for q, docs in data.qrels.as_dict().items()
    }
    assert data.qrels.fractional == (task == "doris-mae")
    run = ir.retrieve(data, "bm25")
    assert ir.evaluate(data, run).figures()["bm25"]["nDCG@10"] > 0.3


def test_ndcg_takes_fractions_as_gains() -> None:
    from math import log2

    data = ir.load("birco/sample/doris-mae/dev")
    query = data.query_ids()[0]
    grades = data.qrels.as_dict()[query]
    order = sorted(grades)
    run = [(query, doc, -float(rank)) for rank, doc in enumerate(order)]
    gain = [grades[doc] / log2(rank + 2) for rank, doc in enumerate(order[:10])]
    best = [g / log2(rank + 2) for rank, g in enumerate(sorted(grades.values())[::-1][:10])]
    found = ir.evaluate(data, Run.of(run), measures=["nDCG@10"])
    assert found.values(found.systems[0], "nDCG@10")[0] == pytest.approx(
        sum(gain) / sum(best), abs=1e-12
    )


def test_other_programs_get_no_fractions() -> None:
    data = ir.load("birco/sample/doris-mae")
    with pytest.raises(InputError, match="which take no grades that are fractions"):
        ir.evaluate(data, ir.retrieve(data, "bm25"), measures=["ERR@10"])


# The README of the published runs states nDCG@10 of these.
PUBLISHED = {
    ("relic", "GPT-4_score_O"): 0.5406, ("relic", "Tart_O"): 0.1417, ("relic", "Monot5"): 0.1392,
    ("relic", "simcse"): 0.1312, ("relic", "e5"): 0.1125, ("wtb", "GPT-4_score_O"): 0.8332,
    ("wtb", "Monot5"): 0.5087, ("wtb", "e5"): 0.3680, ("wtb", "simcse"): 0.3159,
    ("wtb", "splade++"): 0.0955,
}  # fmt: skip


@pytest.mark.parametrize(("task", "system"), PUBLISHED)
def test_published_runs_have_their_figures(real_data: Path, task: str, system: str) -> None:
    folder = real_data / "birco" / task / "published"
    if not folder.is_dir():
        pytest.skip(f"{real_data} has no published runs of BIRCO")
    scores = ir.evaluate(f"birco/{task}", folder / f"{system}.run", measures=["nDCG@10"])
    figures = next(iter(scores.figures().values()))
    assert round(figures["nDCG@10"], 4) == PUBLISHED[task, system]


def test_fractions_are_exported_where_they_fit(tmp_path: Path, irtoolkit: Any) -> None:
    for what in (["qrels"], ["pyserini", tmp_path / "p"]):
        refused = irtoolkit("export", "birco/sample/doris-mae", *what)
        assert refused.status == 2
        assert "which TREC qrels cannot hold (export it as beir, mteb or hf)" in refused.err
    out = ir.export("birco/sample/doris-mae", "mteb", tmp_path / "out")
    table = pq.read_table(out / "qrels" / "test.parquet")
    assert table["score"].type == pa.float64()
    exported = ir.export("birco/sample/doris-mae", "beir", tmp_path / "beir") / "qrels/test.tsv"
    again = Dataset.of(exported).qrels.as_dict()
    assert again == ir.load("birco/sample/doris-mae").qrels.as_dict()
