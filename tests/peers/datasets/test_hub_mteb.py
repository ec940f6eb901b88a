"""MTEB's own evaluator gives our figures on datasets in each of the hub's layouts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.hub.named import hub_dataset
from irtoolkit.runs import Run
from tests.unit.datasets.hub.folders import BEIR, BRIGHT, LANGUAGES, MTEB, Configs, written

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mteb") is None, reason="mteb is not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


class Given:
    """A model for MTEB that has the scores of a run."""

    def __init__(self, run: Run) -> None:
        from mteb.models import ModelMeta

        facts = {"name": "irtoolkit/given", "revision": "1", "modalities": ["text"]}
        self.mteb_model_meta = ModelMeta.create_empty(facts)
        self._run = run.as_dict()

    def index(self, corpus: Any, **how: Any) -> None:
        """Needs no documents."""

    def search(self, queries: Any, **how: Any) -> dict[str, dict[str, float]]:
        """The scores of the queries."""
        return {row["id"]: self._run.get(row["id"], {}) for row in queries}


def by_mteb(run: Run, folder: Path, like: str, subset: str, split: str) -> float:
    """nDCG@10 of a run by MTEB's evaluator on the folder, read by the loader of one of its tasks."""
    import mteb

    task = mteb.get_task(like)
    metadata = task.metadata.model_copy()
    metadata.dataset = {"path": str(folder), "revision": "1"}
    metadata.eval_splits = [split]
    metadata.eval_langs = ["eng-Latn"] if subset == "default" else {subset: ["eng-Latn"]}
    own = type(task)
    made = type("Ours", (own,), {"metadata": metadata, "_top_k": 10})()
    made.hf_subsets = [subset]
    found = mteb.evaluate(Given(run), made, cache=None, show_progress_bar=False)
    return float(found.task_results[0].scores[split][0]["ndcg_at_10"])


@pytest.mark.parametrize(
    ("configs", "parts", "like", "subset", "split"),
    [
        (BEIR, "", "SciFact", "default", "test"),
        (BEIR, "/train", "SciFact", "default", "train"),
        (MTEB, "", "SciFact", "default", "test"),
        (LANGUAGES, "/de", "MIRACLRetrievalHardNegatives", "de", "test"),
        (BRIGHT, "/birds", "BrightRetrieval", "birds", "standard"),
    ],
)
def test_mteb_gives_our_figure(
    tmp_path: Path, configs: Configs, parts: str, like: str, subset: str, split: str
) -> None:
    folder = written(tmp_path / "one", configs)
    data = ir.load(f"hf:{folder}{parts}")
    for system in ("bm25", "random"):
        run = ir.retrieve(data, system)
        (ours,) = ir.evaluate(data, run, measures="nDCG@10").figures().values()
        theirs = by_mteb(run, folder, like, subset, split)
        assert theirs == pytest.approx(ours["nDCG@10"], abs=1e-5)


# -- tasks by name ------------------------------------------------------------------------------------


def test_a_task_has_mtebs_repository_revision_and_main_score() -> None:
    from irtoolkit.datasets.hub.tasks import task_named

    task = task_named("mteb:BIRCO-Relic")
    assert task.name.place == "mteb/BIRCO-Relic-Test"
    assert task.name.revision == "3d593fde907860102a282b4a6ea7fb1e1f1f83dd"
    assert (task.about.main, task.lang, task.own_excluded) == ("nDCG@10", "en", False)
    assert task.name.parts == ("test",)
    assert task_named("mteb:BrightRetrieval/biology").name.parts == ("biology",)
    assert task_named("mteb:ArguAna").own_excluded


def test_a_folder_of_the_owners_name_is_not_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from irtoolkit.datasets.hub.tasks import task_named

    written(tmp_path / "mteb", MTEB)
    monkeypatch.chdir(tmp_path)
    name = task_named("mteb:BIRCO-Relic").name
    assert (name.place, name.local, name.parts) == ("mteb/BIRCO-Relic-Test", False, ("test",))


def test_mtebs_prompt_is_the_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mteb

    from irtoolkit.datasets.hub.tasks import task_named
    from irtoolkit.retrievers.asking import instruction_of

    told = {name: task_named(f"mteb:{name}").about.instruction for name in ("BIRCO-Relic", "SciFact")}  # fmt: skip
    assert told["BIRCO-Relic"].startswith("Given a literary analysis with a missing quotation")
    assert told["SciFact"].startswith("Given a scientific claim, retrieve documents")
    assert task_named("mteb:BrightRetrieval").about.instruction == ""
    for configs, wanted in ((BEIR, "find {{it}}"), (MTEB, "{instruction}")):
        folder = written(tmp_path / str(len(configs)), configs)
        task = mteb.get_task("SciFact")
        task.metadata = task.metadata.model_copy()
        task.metadata.dataset = {"path": str(folder), "revision": "1"}
        task.metadata.prompt = {"query": "find\n {it}"}
        monkeypatch.setattr(mteb, "get_task", lambda name, task=task: task)
        hub_dataset.cache_clear()
        assert instruction_of(ir.load("mteb:SciFact")) == wanted


def test_a_task_is_read_from_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mteb

    folder = written(tmp_path / "one", MTEB)
    task = mteb.get_task("BIRCO-Relic")
    task.metadata = task.metadata.model_copy()
    task.metadata.dataset = {"path": str(folder), "revision": "1"}
    task.ignore_identical_ids = True
    monkeypatch.setattr(mteb, "get_task", lambda name: task)
    data = ir.load("mteb:BIRCO-Relic")
    assert data.protocol.main == "nDCG@10"
    assert data.excluded_docs == {"q1": {"q1"}, "q2": {"q2"}}
    assert data.pools() == {"q1": ["d2", "d4", "d1"], "q2": ["d3", "d2", "d4"]}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mteb:SciFcat", r"mteb has no task 'SciFcat' \(did you mean SciFact"),
        ("mteb:", "mteb has no task ''"),
        ("mteb:STSBenchmark", "is a task of sts, and none of retrieval"),
    ],
)
def test_what_is_no_retrieval_task_is_refused(name: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        ir.load(name)
