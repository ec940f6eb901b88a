"""N-way tasks: what is picked, what is kept, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building import nway as picking
from irtoolkit.datasets import nway
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import ranks_path

BASE = "relic/sample/val"
PROXY = f"{BASE}/proxy"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def bm25() -> Run:
    return rank(load_task(BASE), BM25(), depth=20, progress=False)


@pytest.fixture
def run_file(bm25: Run, tmp_path: Path) -> Path:
    bm25.write(tmp_path / "bm25.run")
    return tmp_path / "bm25.run"


def golds(dataset_id: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in ir_datasets.load(dataset_id).qrels_iter():
        if row.relevance > 0:
            found.setdefault(row.query_id, set()).add(row.doc_id)
    return found


@pytest.mark.parametrize(
    ("name", "base", "ways"),
    [
        ("relic/val/proxy", "relic/val", 3),
        ("relic/val/4-1/proxy", "relic/val/4-1", 3),
        ("plotretrieval/val/20-way", "plotretrieval/val", 20),
        ("a/2-way", "a", 2),
        ("a/100-way", "a", 100),
        ("relic/val/proxy-errors", "relic/val", 3),
        ("relic/val/1-1/20-way-b2", "relic/val/1-1", 20),
    ],
)
def test_what_an_id_says(name: str, base: str, ways: int) -> None:
    assert nway.parse_nway_id(name) == (base, ways)


@pytest.mark.parametrize("name", ["relic/val", "relic/val/1-way", "relic/val/0-way", "3-way", "relic/val/03-way", "relic/val/proxy-", "relic/val/proxy-2"])  # fmt: skip
def test_what_is_no_choice(name: str) -> None:
    with pytest.raises(InputError, match="is not the id of an N-way dataset"):
        nway.parse_nway_id(name)


def test_golds_below_a_rank_are_kept(bm25: Run, run_file: Path, tmp_path: Path) -> None:
    whole = rank(load_task(BASE), BM25(), progress=False)
    places = {
        query_id: [row.doc_id for row in whole.ranking(query_id)].index(*gold) + 1
        for query_id, gold in golds(BASE).items()
    }
    expected = [query_id for query_id, place in places.items() if place > 5]
    assert 0 < len(expected) < len(places)
    picked = picking.hardest_candidates(PROXY, run_file, below=5)  # 20 are listed
    assert [choice.query_id for choice in picked] == expected
    cut = tmp_path / "cut.run"
    produce(BASE, find_system("bm25", {}), cut, depth=3, progress=False)
    # The exact ranks beside a run say what its three documents do not.
    assert [c.query_id for c in picking.hardest_candidates(PROXY, cut, below=5)] == expected
    with pytest.raises(InputError, match=r"no gold document .* has a rank below 10000"):
        picking.hardest_candidates(PROXY, cut, below=10000)
    ranks_path(cut).unlink()
    with pytest.raises(InputError, match="it may be above rank 5 or below it"):
        picking.hardest_candidates(PROXY, cut, below=5)
    with pytest.raises(InputError, match="rank 0 is not at least 1"):
        picking.hardest_candidates(PROXY, run_file, below=0)


def test_queries_of_one_part_are_kept() -> None:
    whole = picking.random_candidates(f"{BASE}/3-way", 0)
    parts = Dataset.of(BASE).breakdown("book")
    for book, members in parts.items():
        kept = picking.queries_of(whole, f"{BASE}/3-way", f"book={book}")
        assert [choice.query_id for choice in kept] == [
            choice.query_id for choice in whole if choice.query_id in members
        ]
    for only, found in (
        ("book", "is not BREAKDOWN=PART"),
        ("book=Nobody", "has no book 'Nobody'"),
        ("colour=red", "has no breakdown by 'colour'"),
    ):
        with pytest.raises(InputError, match=found):
            picking.queries_of(whole, f"{BASE}/3-way", only)


def test_filters_of_the_command(home: Path, run_file: Path, irtoolkit: Callable[..., Any]) -> None:
    book, members = next(iter(Dataset.of(BASE).breakdown("book").items()))
    asked = ("--only", f"book={book}", "--below", 5, "--queries", 1)
    assert irtoolkit("nway", f"{PROXY}-errors", run_file, *asked).status == 0
    [choice] = nway.read_nway(f"{PROXY}-errors")
    assert choice.query_id in members
    with pytest.raises(InputError, match=f"{PROXY} have not been picked"):
        nway.read_nway(PROXY)
    answer = irtoolkit("nway", PROXY, "--below", 5)
    assert (answer.status, "--below without RUN" in answer.err) == (2, True)


def test_a_view_has_the_candidates_of_the_whole(
    home: Path, run_file: Path, tmp_path: Path, irtoolkit: Callable[..., Any]
) -> None:
    """RELiC's proxy task has the same three candidates for a system that sees less context."""
    view = f"{BASE}/1-1/proxy"
    with pytest.raises(InputError, match=f"irtoolkit nway {PROXY} RUN"):
        nway.read_nway(view)
    assert irtoolkit("nway", PROXY, run_file).status == 0
    assert nway.read_nway(view) == nway.read_nway(PROXY)
    assert golds(view) == golds(PROXY)
    contexts = [{q.query_id: q.context for q in ir_datasets.load(name).queries_iter()} for name in (view, f"{BASE}/1-1")]  # fmt: skip
    assert contexts[0] == contexts[1]
    answer = irtoolkit("retrieve", PROXY, "BM25-1-1", "-o", tmp_path / "x.run")
    assert answer.status == 2
    assert f"the dataset for it is {view}" in answer.err
    assert irtoolkit("retrieve", view, "BM25-1-1", "-o", tmp_path / "x.run").status == 0
    assert "accuracy" in irtoolkit("eval", view, tmp_path / "x.run").out
    assert "accuracy" in irtoolkit("eval", PROXY, tmp_path / "x.run").out
    # Candidates of its own take their place.
    assert irtoolkit("nway", view, "--seed", 1).status == 0
    assert nway.read_nway(view) != nway.read_nway(PROXY)


def test_drawn_candidates_are_candidates_and_the_seed_decides() -> None:
    first, again, other = (picking.random_candidates(f"{BASE}/20-way", seed) for seed in (0, 0, 1))
    assert first == again != other
    pools = {q: set(pool) for members, pool in Dataset.load(BASE).candidates() for q in members}
    for choice in first:
        assert len(set(choice.doc_ids)) == 20
        assert set(choice.doc_ids) <= pools[choice.query_id]
        assert len(set(choice.doc_ids) & golds(BASE)[choice.query_id]) == 1
        assert choice.doc_ids == sorted(choice.doc_ids), "the order tells nothing of the gold"


def test_a_run_that_is_too_shallow(bm25: Run, tmp_path: Path) -> None:
    bm25.head(2).write(tmp_path / "short.run")
    with pytest.raises(
        InputError, match="documents that are not relevant, and 4 are needed"
    ) as caught:
        picking.hardest_candidates(f"{BASE}/5-way", tmp_path / "short.run")
    assert "--depth 5" in str(caught.value)


def test_too_few_candidates() -> None:
    with pytest.raises(InputError, match="has only"):
        picking.random_candidates(f"{BASE}/999-way", 0)


def test_nothing_has_been_picked(home: Path) -> None:
    dataset = ir_datasets.load(PROXY)
    for way in ("queries_iter", "qrels_iter", "scoreddocs_iter"):
        with pytest.raises(InputError, match=f"irtoolkit nway {PROXY} RUN"):
            list(getattr(dataset, way)())


@pytest.mark.parametrize("name", ["nowhere/proxy", "vaswani/3-way", "relic/sample/test/proxy"])
def test_no_choice_of_what_is_not_ours_or_has_no_gold(name: str) -> None:
    with pytest.raises(KeyError):
        ir_datasets.load(name)


def test_from_run_to_accuracy(home: Path, run_file: Path, tmp_path: Path, irtoolkit: Callable[..., Any]) -> None:  # fmt: skip
    assert irtoolkit("nway", PROXY, run_file).status == 0
    dataset = ir_datasets.load(PROXY)
    assert dataset.docs_count() == ir_datasets.load(BASE).docs_count()
    assert dataset.queries_count() == 75
    assert sum(1 for _ in dataset.scoreddocs_iter()) == 3 * 75
    assert {row.relevance for row in dataset.qrels_iter()} <= {0, 1}
    for system, low, high in (("random", 0.15, 0.5), ("bm25", 0.0, 0.3)):
        path = tmp_path / f"{system}.run"
        assert irtoolkit("retrieve", PROXY, system, "-o", path).status == 0
        shown = irtoolkit("eval", PROXY, path)
        assert "accuracy" in shown.out
        # BM25's own favourites are the negatives: it can only do worse than chance.
        assert low <= float(shown.out.split()[-1]) <= high


def test_a_file_cut_at_the_end_of_a_line_is_refused(
    home: Path, irtoolkit: Callable[..., Any]
) -> None:
    assert irtoolkit("nway", PROXY).status == 0
    path = nway.nway_path(PROXY)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="lines were lost or changed"):
        nway.read_nway(PROXY)


def test_a_damaged_file_is_named(home: Path, irtoolkit: Callable[..., Any]) -> None:
    assert irtoolkit("nway", PROXY).status == 0
    path = nway.nway_path(PROXY)
    text = path.read_text().replace('"doc_ids"', '"docs"', 1)
    path.write_text(text)
    with pytest.raises(InputError, match="not a query with 3 candidates") as caught:
        nway.read_nway(PROXY)
    assert (caught.value.file, caught.value.line) == (str(path), 2)


# ---- breakdowns ----------------------------------------------------------------------------------


def test_candidates_of_other_golds_are_refused(home: Path, irtoolkit: Callable[..., Any]) -> None:
    assert irtoolkit("nway", PROXY).status == 0
    path = nway.nway_path(PROXY)
    path.write_text(path.read_text().replace('"data": "', '"data": "0', 1))
    with pytest.raises(InputError, match="were picked for other judgments") as caught:
        nway.read_nway(PROXY)
    assert (caught.value.file, caught.value.line) == (str(path), 1)


def test_the_gold_of_a_plot_is_its_span_and_no_chunk_that_overlaps_it() -> None:
    spans = {
        q.query_id: q.spans[0] for q in ir_datasets.load("plotretrieval/sample/val").queries_iter()
    }
    for choice in picking.random_candidates("plotretrieval/sample/val/9-way", 0):
        relevant = golds("plotretrieval/sample/val")[choice.query_id]
        assert set(choice.doc_ids) & relevant == {spans[choice.query_id]}


# ---- what the papers' systems are shown ----------------------------------------------------------


def test_a_run_is_not_reused_when_what_it_learned_from_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CRM's training contexts and the golds of exact ranks are parts of what makes a run."""
    from irtoolkit.ranking.produce import produce
    from irtoolkit.ranking.systems import System
    from irtoolkit.retrievers.known_contexts import CRM
    from irtoolkit.runs.exact_ranks import ranks_path

    name, path = "quoter/sample/en/test", tmp_path / "crm.run"
    system = System("crm", CRM())
    produce(name, system, path, depth=5, progress=False)
    assert produce(name, system, path, depth=5, progress=False, reuse=True)[1]
    ranks_path(path).unlink()
    assert not produce(name, system, path, depth=5, progress=False, reuse=True)[1]
    with monkeypatch.context() as patch:
        patch.setattr(CRM, "also_reads", lambda self, task: ["other contexts"])
        assert not produce(name, system, path, depth=5, progress=False, reuse=True)[1]
    with monkeypatch.context() as patch:
        patch.setattr("irtoolkit.datasets.dataset.Dataset.relevant", lambda self: {"en-1": ["x"]})
        assert not produce(name, system, path, depth=5, progress=False, reuse=True)[1]
