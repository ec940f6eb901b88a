"""Datasets in the hub's layouts, from local Parquet: what is read, and what is refused."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.hub.named import hub_dataset
from irtoolkit.runs import Run
from tests.unit.datasets.hub.folders import (
    BEIR,
    BRIGHT,
    DOCS,
    LANGUAGES,
    MTEB,
    POOLS,
    QRELS,
    QUERIES,
    written,
)  # fmt: skip

pytest.importorskip("datasets", reason="datasets is not installed")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    hub_dataset.cache_clear()


@pytest.mark.parametrize("card", [True, False])
def test_beirs_layout(tmp_path: Path, card: bool) -> None:
    data = ir.load(f"hf:{written(tmp_path / 'one', BEIR, card)}")
    assert [doc.default_text() for doc in data.docs_iter()] == [
        "Coats a red coat", "a blue hat and a coat", "Hats a straw hat", "two green gloves",
    ]  # fmt: skip
    assert data.query_ids() == ["q1", "q2"]  # q3 has no judgments
    assert data.qrels.as_dict() == {"q1": {"d1": 2, "d2": 1}, "q2": {"d2": 0, "d3": 1}}
    assert not data.has("scoreddocs")
    assert ir.evaluate(data, ir.retrieve(data, "bm25")).figures()["bm25"]["nDCG@10"] == 1.0


def test_a_split_is_named_after_the_dataset(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", BEIR)
    assert ir.load(f"hf:{folder}/train").qrels.as_dict()["q1"] == {"d1": 0, "d2": 1}
    with pytest.raises(
        InputError, match=r"has no split 'trian' \(did you mean train\?.*test, train"
    ):
        ir.load(f"hf:{folder}/trian")


def test_mtebs_layout_with_pools_and_instructions(tmp_path: Path) -> None:
    data = ir.load(f"hf:{written(tmp_path / 'one', MTEB)}")
    assert data.pools() == {"q1": ["d2", "d4", "d1"], "q2": ["d3", "d2", "d4"]}
    assert [query.instruction for query in data.queries] == ["only red ones", "of straw"]
    assert data.queries[0].default_text() == "red coat"
    run = ir.retrieve(data, "bm25")
    assert {q: set(docs) for q, docs in run.as_dict().items()} == {
        "q1": {"d1", "d2", "d4"}, "q2": {"d2", "d3", "d4"},
    }  # fmt: skip


def test_brights_layout_excludes_documents_before_ranking_and_scoring(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", BRIGHT)
    data = ir.load(f"hf:{folder}/birds")
    assert data.excluded_docs == {"1": {"d2"}}
    assert data.qrels.as_dict() == {"1": {"d1": 1}, "2": {"d3": 1}}
    run = ir.retrieve(data, "bm25", depth=2)
    assert list(run.as_dict()["1"]) == ["d1", "d3"]
    assert list(run.as_dict()["2"]) == ["d3", "d2"]
    # A run of other software that lists the excluded document first.
    other = Run.of({"1": {"d2": 3.0, "d1": 2.0}, "2": {"d3": 1.0}})
    scores = ir.evaluate(data, {"other": other}, measures=["nDCG@10"])
    assert scores.figures()["other"]["nDCG@10"] == 1.0
    again = ir.rerank(data, other, "bm25")
    assert list(again.as_dict()["1"]) == ["d1"]


def test_brights_long_documents_and_its_domains(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", BRIGHT)
    assert ir.load(f"hf:{folder}/birds/long").qrels.as_dict() == {"1": {"p1": 1}, "2": {"p1": 1}}
    with pytest.raises(InputError, match=r"has several domains: birds, maps \(name one"):
        ir.load(f"hf:{folder}")


def test_subsets_of_several_languages(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", LANGUAGES)
    german, french = ir.load(f"hf:{folder}/de"), ir.load(f"hf:{folder}/fr/test")
    assert german.lang == "de"
    assert [query.text for query in german.queries] == ["Mantel"]
    assert french.qrels.as_dict() == {"1": {"2": 1}}
    with pytest.raises(InputError, match=r"has several subsets: de, fr"):
        ir.load(f"hf:{folder}")


def test_other_names_of_columns_and_numbers_as_ids(tmp_path: Path) -> None:
    configs = {
        "corpus": {"corpus": {"id": [7, 8], "text": ["a", None]}},
        "queries": {"queries": {"id": [1], "text": ["a"]}},
        "qrels": {"test": {"query_id": [1], "doc_id": [7], "relevance": [0.5]}},
    }
    data = ir.load(f"hf:{written(tmp_path / 'one', configs)}")
    assert [tuple(doc) for doc in data.docs_iter()] == [("7", "a"), ("8", "")]
    assert data.qrels.as_dict() == {"1": {"7": 0.5}}


def test_the_record_of_a_run_pins_the_revision(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", BEIR)
    ir.retrieve(f"hf:{folder}", "bm25", output=tmp_path / "x.run")
    record = (tmp_path / "x.run.ir-metadata.yml").read_text()
    about = ir.load(f"hf:{folder}").about
    assert about is not None
    assert about.revision
    assert f"revision: {about.revision}" in record


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"corpus": {"test": {**DOCS, "_id": ["d1", "d1", "d3", "d4"]}}}, "document d1 occurs twice"),
        ({"default": {"test": {**QRELS, "corpus-id": ["d1", "d1", "d2", "d3"]}}}, "judged twice"),
        ({"top_ranked": {"test": {**POOLS, "corpus-ids": [["d9"], ["d1"]]}}}, "candidate d9 of query q2"),
        ({"queries": {"test": {**QUERIES, "_id": ["x", "y", "z"]}}}, "no queries with judgments"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, change: Any, found: str) -> None:
    folder = written(tmp_path / "one", {**MTEB, **change})
    with pytest.raises(InputError, match=found) as caught:
        ir.retrieve(f"hf:{folder}", "bm25")
    assert "\n" not in str(caught.value)


def test_a_layout_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", {"train": {"train": {"a": ["b"]}}})
    with pytest.raises(
        InputError, match=r"no layout of a retrieval dataset: its configurations are train"
    ):
        ir.load(f"hf:{folder}")


@pytest.mark.parametrize("name", ["hf:", "hf:one", "hf:/no/such/folder", "hf:../x/y"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"write hf:OWNER/NAME|hub"):
        ir.load(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("DatasetNotFoundError", "the hub has no dataset a/b, or it is private"),
        ("GatedRepoError", "is gated: its terms have to be accepted"),
        ("HfHubHTTPError", "cannot read the dataset a/b: 500 from the server"),
    ],
)
def test_a_private_or_gated_dataset(monkeypatch: pytest.MonkeyPatch, name: str, found: str) -> None:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise type(name, (OSError,), {"response": None})("500 from the server")

    monkeypatch.setattr("irtoolkit.datasets.hub.repository.Repository._silence", None)
    monkeypatch.setattr("datasets.get_dataset_config_names", refused)
    with pytest.raises(InputError, match=found):
        ir.load("hf:a/b")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that may be asked, and does not answer."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for module in ("huggingface_hub.constants", "datasets.config"):
        monkeypatch.setattr(f"{module}.HF_HUB_OFFLINE", False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{closed}")


@pytest.mark.usefixtures("no_network")
def test_a_hub_that_does_not_answer_is_asked_once(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    said = r"^the hub cannot be reached, and a/b is not in its cache: .*refused \(check the network"
    with pytest.raises(InputError, match=said) as caught:
        ir.load("hf:a/b")
    assert "OFFLINE" not in str(caught.value)
    assert caplog.text == ""
    assert capfd.readouterr().err == ""


COMMIT = "5" * 40


def primed(home: Path, monkeypatch: pytest.MonkeyPatch, configs: Any) -> Path:
    """A cache of the hub's library, in which a/b was downloaded; returns the folder of its files."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(home))
    repository = home / "datasets--a--b"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return written(repository / "snapshots" / COMMIT, configs)


@pytest.mark.parametrize("unset", [True, False])
def test_the_cache_is_read_where_the_hub_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, unset: bool
) -> None:
    """With HF_HUB_OFFLINE=1, as the tests run, or without a network."""
    if unset:
        request.getfixturevalue("no_network")
    primed(tmp_path / "hub", monkeypatch, MTEB)
    data = ir.load("hf:a/b")
    assert data.pools() == {"q1": ["d2", "d4", "d1"], "q2": ["d3", "d2", "d4"]}
    assert data.about is not None
    assert (data.about.revision, data.about.licence) == (COMMIT, "cc0-1.0")
    assert ir.retrieve(data, "bm25").query_ids.tolist() == ["q1", "q2"]
    assert ir.load("hf:a/b@main/test").query_ids() == ["q1", "q2"]
    with pytest.raises(InputError, match="a/b is not in its cache"):
        ir.load("hf:a/b@v2")


def test_a_language_is_read_from_the_cache_without_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = primed(tmp_path / "hub", monkeypatch, LANGUAGES)
    for name in LANGUAGES:
        if name.startswith("de-"):
            shutil.rmtree(folder / name)
    assert ir.load("hf:a/b/fr").lang == "fr"
    with pytest.raises(InputError, match="de-corpus of a/b is not in its cache"):
        ir.load("hf:a/b/de")


def test_parts_that_are_not_in_the_cache_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = primed(tmp_path / "hub", monkeypatch, BEIR)
    whole = next((folder / "corpus").iterdir())
    whole.rename(whole.with_name(whole.name.replace("of-00001", "of-00002")))
    with pytest.raises(InputError, match="corpus of a/b is not in its cache"):
        list(ir.load("hf:a/b").docs_iter())


@pytest.mark.parametrize("path", ["corpus/**", "[corpus/*, corpus/*.parquet]", "corpus/tes*"])
def test_a_file_that_several_patterns_match_is_read_once(tmp_path: Path, path: str) -> None:
    folder = written(tmp_path / "one", BEIR)
    card = folder / "README.md"
    assert "path: corpus/test-*" in card.read_text()
    card.write_text(card.read_text().replace("path: corpus/test-*", f"path: {path}"))
    (folder / "corpus" / "._corpus.parquet").write_text("of macOS")
    assert len(list(ir.load(f"hf:{folder}").docs_iter())) == 4


def test_a_folder_that_has_changed_has_another_key(tmp_path: Path) -> None:
    """Prepared indexes are stored under the key of the documents."""
    folder = written(tmp_path / "one", BEIR, card=False)
    keys = [ir.load(f"hf:{folder}").docs_key]
    written(
        folder, {**BEIR, "corpus": {"test": {**DOCS, "text": ["a", "b", "c", "d"]}}}, card=False
    )
    hub_dataset.cache_clear()
    assert ir.load(f"hf:{folder}").docs_key not in keys


def test_the_command_says_what_a_name_needs(
    tmp_path: Path, irtoolkit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "one", MTEB)
    shown = irtoolkit("datasets", f"hf:{folder}")
    assert shown.status == 0
    assert "licence: cc0-1.0" in shown.out
    assert "Candidates of a query on average" in shown.out
    monkeypatch.setattr("irtoolkit.datasets.hub.repository.Repository.is_here", lambda *_: False)
    absent = irtoolkit("datasets", f"hf:{folder}")
    assert "downloaded when first used: a download, licence cc0-1.0" in absent.out
    assert "Candidates" not in absent.out


def test_candidates_that_are_not_in_the_cache_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = primed(tmp_path / "hub", monkeypatch, MTEB)
    shutil.rmtree(folder / "top_ranked")
    data = ir.load("hf:a/b")
    with pytest.raises(
        InputError, match=r"top_ranked of a/b is not in its cache: HF_HUB_OFFLINE is set"
    ):
        ir.retrieve(data, "bm25")


def test_brights_judgments_in_ir_datasets_exclude_too() -> None:
    """ir_datasets' BRIGHT has documents of grade -100, defined as excluded."""
    from ir_datasets.formats import GenericDoc, GenericQuery

    from irtoolkit.base.records import Qrel
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler

    docs = {"a": GenericDoc("a", "red coat"), "b": GenericDoc("b", "red")}
    rows = [Qrel("q", "a", -100), Qrel("q", "b", 1)]
    source = ir_datasets.Dataset(
        DocsHandler(lambda: docs, GenericDoc, "x", "en"),
        QueriesHandler(lambda: [GenericQuery("q", "red coat")], GenericQuery, "x", "en"),
        QrelsHandler(lambda: rows, Qrel, {1: "relevant", -100: "Excluded from evaluation"}),
    )
    data = Dataset("x", source, in_memory=True)
    assert list(ir.retrieve(data, "bm25").as_dict()["q"]) == ["b"]
