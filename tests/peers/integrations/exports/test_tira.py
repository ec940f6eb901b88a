"""TIRA takes an exported folder as a dataset, and loads it as one of ir_datasets."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

import irtoolkit as ir

pytest.importorskip("tira", reason="tira is not installed")
pytest.importorskip("docker", reason="tira's docker is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TIRA, and Hugging Face datasets for it, keep what they load."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("TIRA_CACHE_DIR", str(tmp_path / "tira"))


@pytest.mark.parametrize("dataset", ["csfcube/sample", "relic/sample/val"])
def test_the_dataset_is_one_that_tira_takes(tmp_path: Path, dataset: str) -> None:
    """A dry run: the card, inputs and truths are checked, and nothing is sent."""
    from tira.rest_api_client import Client

    folder = ir.export(dataset, "tira", tmp_path / "out")
    made = Client().submit_dataset(folder, "task", "test", dry_run=True, skip_baseline=True)
    assert made is not None
    names = {path.name for path in Path(made["inputs_dir"]).iterdir()}
    assert names == {"corpus.jsonl.gz", "queries.jsonl", "queries.xml", "metadata.json"}
    assert (Path(made["truths_dir"]) / "qrels.txt").is_file()


def test_texts_are_those_of_the_dataset(tmp_path: Path) -> None:
    from tira.ir_datasets_util import load_ir_dataset_from_local_file

    data = ir.load("csfcube/sample")
    folder = ir.export(data, "tira", tmp_path / "out")
    read = load_ir_dataset_from_local_file(folder / "inputs", "exported")
    assert {unquote(doc.doc_id): doc.default_text() for doc in read.docs_iter()} == {
        doc.doc_id: doc.default_text() for doc in data.docs_iter()
    }
    assert {unquote(query.query_id): query.default_text() for query in read.queries_iter()} == {
        query.query_id: query.default_text() for query in data.queries
    }
