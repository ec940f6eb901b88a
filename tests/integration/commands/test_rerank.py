"""Ranking the best of a run again, and finding the system that is to do it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest
import torch
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from sentence_transformers import CrossEncoder as Theirs
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.models.presets import presets
from irtoolkit.papers import catalogue
from irtoolkit.papers.reproduce import reproduce
from irtoolkit.papers.tables import Table
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System, find_reranker, find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.base import scores_of
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.random import Random
from irtoolkit.retrievers.task import QueryGroup, Task, load_task
from irtoolkit.runs import Run
from irtoolkit.runs.parts import followed_by
from tests.conftest import Answer
from tests.tiny import save, save_colbert

Command = Callable[..., Answer]
Rankings = dict[str, list[str]]
SAMPLE = "csfcube/sample"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model of each kind, as transformers and as sentence-transformers save it."""
    root = tmp_path_factory.mktemp("models")
    texts = [doc.default_text() for doc in ir_datasets.load(SAMPLE).docs_iter()]
    kinds = {
        "cross": "BertForSequenceClassification",
        "sparse": "BertForMaskedLM",
        "plain": "BertModel",
    }
    found = {
        name: str(save(root / name, kind, texts, longest=96, num_labels=1))
        for name, kind in kinds.items()
    }
    found["late"] = str(save_colbert(root / "late"))
    classes = {
        "cross": Theirs, "sparse": SparseEncoder, "plain": SentenceTransformer,
        "late": MultiVectorEncoder,
    }  # fmt: skip
    for name, made in classes.items():
        found[f"saved-{name}"] = str(root / f"saved-{name}")
        made(found[name], device="cpu").save(found[f"saved-{name}"])
    return found


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in a folder of its own, which keeps what its models make."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.delenv("IRTOOLKIT_DOWNLOAD", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A run of BM25 on the sample."""
    path = tmp_path / "bm25.run"
    produce(SAMPLE, find_system("bm25", {}), path, progress=False)
    return path


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def rankings(path: Path) -> Rankings:
    """The documents of each query in the order of the file's lines."""
    found: Rankings = {}
    for line in path.read_text("utf-8").splitlines():
        fields = line.split(" ")
        found.setdefault(fields[0], []).append(fields[2])
        assert int(fields[3]) == len(found[fields[0]])
    return found


@cache
def logits(folder: str) -> dict[tuple[str, str], float]:
    """What sentence-transformers gives every pair of the sample."""
    dataset = ir_datasets.load(SAMPLE)
    texts = {doc.doc_id: doc.default_text() for doc in dataset.docs_iter()}
    asked = {query.query_id: query.default_text() for query in dataset.queries_iter()}
    pairs = [(row.query_id, row.doc_id) for row in dataset.scoreddocs_iter()]
    found = Theirs(folder, device="cpu").predict(
        [(asked[q], texts[d]) for q, d in pairs],
        activation_fn=torch.nn.Identity(), show_progress_bar=False,
    )  # fmt: skip
    return dict(zip(pairs, map(float, found), strict=True))


def by(scores: dict[tuple[str, str], float], query: str, docs: list[str]) -> list[str]:
    return sorted(sorted(docs, reverse=True), key=lambda doc: -scores[query, doc])


# -- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "rest"), [(1, "keep"), (5, "drop")])
def test_a_cross_encoder_ranks_the_best_again(
    irtoolkit: Command, folders: dict[str, str], first: Path, depth: int, rest: str
) -> None:
    answer = irtoolkit(
        "rerank", SAMPLE, first, folders["cross"], "-o", "ce.run", "--depth", depth,
        "--rest", rest, "--set", "device=cpu",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    scores = logits(folders["cross"])
    listed = rankings(first)
    found = rankings(Path("ce.run"))
    assert found == {
        query: by(scores, query, docs[:depth]) + (docs[depth:] if rest == "keep" else [])
        for query, docs in listed.items()
    }
    run = Run.read("ce.run")
    assert run.tag == "cross"
    for query, docs in listed.items():
        rows = run.ranking(query)
        assert [row.doc_id for row in rows] == found[query]
        assert all(
            row.score == pytest.approx(scores[query, row.doc_id], abs=1e-5) for row in rows[:depth]
        )
        below = [row.score for row in rows[len(docs[:depth]) - 1 :]]
        assert all(a > b for a, b in pairwise(below))
        assert below[0] - below[-1] < 1e-4
    moved = any(found[query][:depth] != docs[:depth] for query, docs in listed.items())
    assert moved == (depth > 1)


def test_the_record_says_what_was_ranked_again(
    irtoolkit: Command, folders: dict[str, str], first: Path
) -> None:
    made = ("-o", "ce.run", "--depth", 3, "--rest", "keep")
    assert irtoolkit("rerank", SAMPLE, first, folders["cross"], *made).status == 0
    record = yaml.safe_load(Path("ce.run.ir-metadata.yml").read_text())
    assert record["tag"] == "cross"
    about = record["irtoolkit"]
    assert about["among"] == {"tag": "bm25", "sha256": digest(first), "depth": 3, "rest": True}
    assert about["retriever"] == "cross-encoder"
    assert about["settings"]["model"] == folders["cross"]
    assert about["sha256"] == digest(Path("ce.run"))
    assert about["inputs"], "the weights decide too"


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("fabs_bm25", []),
        ("dense", ["model={saved-plain}", "device=cpu"]),
        ("sparse", ["model={sparse}", "device=cpu"]),
    ],
)
def test_any_system_ranks_again(
    irtoolkit: Command, folders: dict[str, str], first: Path, system: str, options: list[str]
) -> None:
    given = [option.format(**folders) for option in options]
    answer = irtoolkit(
        "rerank", SAMPLE, first, system.format(**folders), "-o", "again.run", "--depth", 4,
        *(["--set", *given] if given else []),
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = rankings(Path("again.run"))
    assert {query: sorted(docs) for query, docs in found.items()} == {
        query: sorted(docs[:4]) for query, docs in rankings(first).items()
    }


def test_ties_may_keep_the_order_of_the_run(irtoolkit: Command, tmp_path: Path) -> None:
    """Under ties=pool equals stay as the run has them."""
    query, docs = next(iter(rankings(_random(tmp_path)).items()))
    Run.from_rows((query, doc, -i) for i, doc in enumerate(docs)).write("few.run")
    found = {}
    for ties in ("pool", "trec"):
        # The facet's name, which few texts have.
        given = ("-o", f"{ties}.run", "--set", "query=facet", f"ties={ties}")
        assert irtoolkit("rerank", SAMPLE, "few.run", "bm25", *given).status == 0
        found[ties] = rankings(Path(f"{ties}.run"))[query]
    task = load_task(SAMPLE, query="facet").among(Run.read("few.run"))
    group = next(group for group in task.groups if task.query_ids[group.queries[0]] == query)
    block = scores_of(BM25().scorer(task)(group.docs)(group.queries))
    scores = dict(zip(task.doc_ids[group.docs], block[0].tolist(), strict=True))
    assert len(set(scores.values())) < len(docs) - 2
    assert found["pool"] == sorted(docs, key=lambda doc: -scores[doc])
    assert found["trec"] == sorted(sorted(docs, reverse=True), key=lambda doc: -scores[doc])
    assert found["pool"] != found["trec"]


def _random(folder: Path) -> Path:
    path = folder / "random.run"
    produce(SAMPLE, find_system("random", {}), path, progress=False)
    return path


def _alter(path: Path, row: int, query: str | None = None, doc: str | None = None) -> Path:
    lines = [line.split(" ") for line in path.read_text().splitlines()]
    lines[row][0] = query or lines[row][0]
    lines[row][2] = doc or lines[row][2]
    altered = path.with_name("altered.run")
    altered.write_text("".join(" ".join(line) + "\n" for line in lines))
    return altered


@pytest.mark.parametrize(
    ("change", "row", "rest"),
    [
        ("query", 0, "drop"),
        ("document", 19, "keep"),
        ("candidate", 19, "keep"),
    ],
)
def test_a_run_on_something_else_is_refused(
    irtoolkit: Command, first: Path, rest: str, row: int, change: str
) -> None:
    """Wherever it stands: below the depth as well, because what is kept is written too."""
    pools: dict[str, set[str]] = {}
    for pair in ir_datasets.load(SAMPLE).scoreddocs_iter():
        pools.setdefault(pair.query_id, set()).add(pair.doc_id)
    query = next(iter(rankings(first)))
    others = sorted(set().union(*pools.values()) - pools[query])
    altered, said = {
        "query": lambda: (_alter(first, row, query="nobodys"), "query nobodys of the run bm25"),
        "document": lambda: (_alter(first, row, doc="ghost"), "document ghost of the run bm25"),
        "candidate": lambda: (
            _alter(first, row, doc=others[0]),
            f"document {others[0]} of the run bm25 is no candidate of query {query}",
        ),
    }[change]()
    answer = irtoolkit(
        "rerank", SAMPLE, altered, "bm25", "-o", "out.run", "--depth", 5, "--rest", rest
    )
    assert answer.status == 2
    assert answer.out == ""
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list(Path.cwd().glob("out*"))


def test_what_cannot_be_run_leaves_what_was_there(
    irtoolkit: Command, first: Path, folders: dict[str, str]
) -> None:
    assert irtoolkit("rerank", SAMPLE, first, "random", "-o", "out.run").status == 0
    before = {path: path.read_bytes() for path in Path.cwd().glob("out*")}
    assert len(before) == 2
    Path("empty.run").write_text("")
    # The last is taken for a cross-encoder, which it is not.
    for run, system, options, said in (
        ("empty.run", "random", (), "empty.run"),
        (first, "random", ("--depth", 0), "depth 0 is not at least 1"),
        (first, folders["plain"], (), folders["plain"]),
    ):
        answer = irtoolkit("rerank", SAMPLE, run, system, "-o", "out.run", *options)
        assert answer.status == 2, said
        assert said in answer.err
        errors = [line for line in answer.err.splitlines() if not line.startswith("candidates: ")]
        assert len(errors) == 1
        assert "Error" not in answer.err
    assert {path: path.read_bytes() for path in Path.cwd().glob("out*")} == before


# -- candidates of another run ----------------------------------------------------------------

DOCS = st.lists(st.integers(0, 9), unique=True, max_size=8)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Task, Run, dict[str, list[str]]]:
    """A task of ten documents, some shared by queries; and a run on it."""
    ids = draw(st.permutations("abcdefghij"))
    pools = draw(st.lists(DOCS | st.just(list(range(10))), min_size=1, max_size=4))
    groups: dict[tuple[int, ...], list[int]] = {}
    for query, pool in enumerate(pools):
        groups.setdefault(tuple(pool), []).append(query)
    task = Task(
        "some/dataset",
        id_array([f"q{i}" for i in range(len(pools))]),
        id_array(ids),
        tuple(
            QueryGroup(np.array(asked), np.array(pool, np.int64)) for pool, asked in groups.items()
        ),
    )
    listed = {
        f"q{query}": draw(st.permutations([ids[doc] for doc in pool]).map(lambda x: x[:5]))
        for query, pool in enumerate(pools)
        if draw(st.booleans())
    }
    # Out of order, as any tool may write it.
    rows = [(query, doc, -float(i)) for query, docs in listed.items() for i, doc in enumerate(docs)]
    return task, Run.from_rows(draw(st.permutations(rows))), listed


@given(case=cases(), depth=st.none() | st.integers(1, 7))
def test_candidates_are_the_best_of_a_run_in_its_order(
    case: tuple[Task, Run, dict[str, list[str]]], depth: int | None
) -> None:
    task, run, listed = case
    picked = task.among(run, depth)
    assert picked.picked
    assert list(picked.query_ids) == list(task.query_ids)
    assert sorted(query for group in picked.groups for query in group.queries) == [
        *range(len(task.query_ids))
    ]
    for group in picked.groups:
        for query in group.queries:
            expected = listed.get(f"q{query}", [])[:depth]
            assert list(picked.doc_ids[group.docs]) == expected
    # Nothing is read, or indexed, that is nobody's candidate.
    assert set(picked.doc_ids) == {doc for docs in listed.values() for doc in docs[:depth]}


# -- what is left of the run ------------------------------------------------------------------


def run_of(rows: dict[str, list[tuple[str, float]]], queries: list[str] | None = None) -> Run:
    listed = [(query, doc, score) for query, docs in rows.items() for doc, score in docs]
    made = Run.from_rows(listed)
    if queries is None:
        return made
    index = {query: i for i, query in enumerate(queries)}
    asked = np.array([index[query] for query, _, _ in listed], np.int64)
    docs = np.array([list(made.doc_ids).index(doc) for _, doc, _ in listed], np.int64)
    scores = [score for _, _, score in listed]
    return Run.from_columns(id_array(queries), asked, made.doc_ids, docs, scores, "again")


SCORES = st.sampled_from([0.0, -0.0, 1.0, 1e-45, -1e-45, 1e-38, -7.25, 1e30, -1e30]) | st.floats(
    -(2.0**99), 2.0**99, width=32
)


@example(listed={"q0": [*"abcd"]}, depth=2, scores=[0.0] * 8)
@example(listed={"q0": [*"dcba"], "q1": [*"ab"]}, depth=1, scores=[1e-45] * 8)
@given(
    listed=st.dictionaries(
        st.sampled_from(["q0", "q1", "q2"]), st.permutations("abcdefgh").map(lambda x: x[:6]),
        min_size=1,
    ),
    depth=st.integers(1, 7),
    scores=st.lists(SCORES, min_size=8, max_size=8),
)  # fmt: skip
def test_the_rest_follows_in_its_order_and_strictly_below(
    listed: dict[str, list[str]], depth: int, scores: list[float], tmp_path: Path
) -> None:
    source = run_of({q: [(doc, -float(i)) for i, doc in enumerate(d)] for q, d in listed.items()})
    points = dict(zip("abcdefgh", scores, strict=True))
    again = run_of(
        {query: [(doc, points[doc]) for doc in docs[:depth]] for query, docs in listed.items()},
        ["q0", "q1", "q2"],
    )
    whole = followed_by(again, source, depth)
    assert (whole.tag, whole.scores.dtype) == ("again", np.float32)
    # Read again as any tool would, so that the scores alone say it.
    whole.write(tmp_path / "x.run")
    read = Run.read(tmp_path / "x.run")
    for query, docs in listed.items():
        ours = again.ranking(query)
        rows = read.ranking(query)
        assert [row.doc_id for row in rows] == [row.doc_id for row in ours] + docs[depth:]
        assert [row.score for row in rows[: len(ours)]] == [row.score for row in ours]
        below = [row.score for row in rows[len(ours) - 1 :]]
        assert all(a > b for a, b in pairwise(below))
    assert len(read) == sum(map(len, listed.values()))


def test_what_an_approximate_search_did_not_find_does_not_come_back() -> None:
    """Its rest still follows, below nothing."""
    source = run_of({"q0": [("a", 3), ("b", 2), ("c", 1), ("d", 0)]})
    empty = run_of({"q1": [("a", 1)]}, ["q0", "q1"])
    whole = followed_by(empty, source, 2)
    assert [row.doc_id for row in whole.ranking("q0")] == ["c", "d"]
    assert 0 > whole.ranking("q0")[0].score > whole.ranking("q0")[1].score
    assert [tuple(row) for row in whole.ranking("q1")] == [("q1", "a", 1.0)]


# -- finding a system -------------------------------------------------------------------------

FOUND = {
    "cross": "cross-encoder", "saved-cross": "cross-encoder",
    "saved-sparse": "sparse", "late": "late", "saved-late": "late", "saved-plain": "dense",
}  # fmt: skip


def test_a_folder_says_what_it_is(folders: dict[str, str]) -> None:
    for folder, retriever in FOUND.items():
        for find in (find_system, find_reranker):
            found = find(folders[folder], {"device": "cpu"})
            assert (found.name, found.retriever.name) == (folder, retriever)
            assert found.settings()["model"] == folders[folder]


def test_a_plain_transformer_is_what_it_is_looked_for_as(folders: dict[str, str]) -> None:
    assert find_system(folders["plain"], {}).retriever.name == "dense"
    assert find_reranker(folders["plain"], {}).retriever.name == "cross-encoder"


def test_a_hub_id_that_is_not_here_is_taken_for_what_is_looked_for() -> None:
    for find, retriever in ((find_system, "dense"), (find_reranker, "cross-encoder")):
        found = find("some/model", {})
        assert found.retriever.name == retriever
        assert "some/model" in str(found.missing())


def test_every_preset_is_found_as_what_it_is() -> None:
    applies = {getattr(one, "applies", None): name for name, one in retrievers().items()}
    for name, preset in presets().items():
        for find in (find_system, find_reranker):
            expected = preset.retriever or applies[preset.kind]
            assert find(name, {}).retriever.name == expected, name


# -- rows of a table --------------------------------------------------------------------------


@pytest.fixture
def table(
    folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Table]:
    """A table of systems that rank the best of another again."""
    rows: list[dict[str, Any]] = [
        {"system": "floor", "retriever": "random", "set": {"seed": 5}},
        {
            "system": "ranked-again", "retriever": "cross-encoder", "first": "floor",
            "rerank_depth": 6, "set": {"model": folders["cross"], "device": "cpu"},
        },
        {"system": "and-again", "retriever": "bm25", "first": "ranked-again", "rerank_depth": 2},
        {"system": "some", "retriever": "bm25", "first": "floor", "rerank_depth": 100},
        {"system": "lost", "unavailable": "it is lost"},
        {"system": "on-lost", "retriever": "bm25", "first": "lost", "rerank_depth": 5},
    ]  # fmt: skip
    head = {
        "title": "tiny",
        "dataset": "csfcube",
        "scale": 100.0,
        "baseline": "floor",
        "tested": "RR",
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in head.items()]
    lines += ["[columns]", 'RR = "RR"', "[groups]", 'all = "csfcube"']
    for row in rows:
        lines.append("[[row]]")
        for key, value in row.items():
            names = {f"{key}.{k}": v for k, v in value.items()} if key == "set" else {key: value}
            lines += [f"{name} = {json.dumps(one)}" for name, one in names.items()]
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "csfcube.toml").write_text("\n".join(lines))
    monkeypatch.setattr(catalogue, "FOLDER", folder)
    catalogue.tables.cache_clear()
    catalogue._own.cache_clear()
    yield catalogue.find_table("csfcube")
    catalogue.tables.cache_clear()
    catalogue._own.cache_clear()


@pytest.fixture
def expected(table: Table, folders: dict[str, str]) -> dict[str, Rankings]:
    """What the table's systems give, stage by stage."""
    task = load_task(SAMPLE)
    floor = rank(task, Random(seed=5), progress=False)
    listed = {str(q): [row.doc_id for row in floor.ranking(q)] for q in floor.query_ids}
    scores = logits(folders["cross"])
    again = {query: by(scores, query, docs[:6]) for query, docs in listed.items()}
    last = rank(task, find_system("bm25", {}).retriever, progress=False).as_dict()
    bm25 = {(query, doc): score for query, row in last.items() for doc, score in row.items()}
    return {
        "floor": listed,
        "ranked-again": again,
        "and-again": {query: by(bm25, query, docs[:2]) for query, docs in again.items()},
        "some": {query: by(bm25, query, docs) for query, docs in listed.items()},
    }


def test_a_row_is_what_two_commands_give(
    irtoolkit: Command, expected: dict[str, Rankings], folders: dict[str, str]
) -> None:
    assert irtoolkit("retrieve", SAMPLE, "floor", "-o", "one.run").status == 0
    two = ("rerank", SAMPLE, "one.run", folders["cross"], "-o", "two.run", "--depth", 6)
    assert irtoolkit(*two).status == 0
    assert irtoolkit("retrieve", SAMPLE, "ranked-again", "-o", "both.run").status == 0
    assert Run.read("two.run") == Run.read("both.run")
    assert rankings(Path("two.run")) == expected["ranked-again"]


def test_a_row_on_nothing_says_so(table: Table) -> None:
    with pytest.raises(InputError, match="lost cannot be run: it is lost"):
        find_system("on-lost", {})


def test_reproduce_runs_both_systems(
    table: Table, expected: dict[str, Rankings], tmp_path: Path
) -> None:
    said: list[str] = []
    chosen = ["floor", "ranked-again"]
    result = reproduce(table, tmp_path / "out", systems=chosen, sample=True, say=said.append)
    results = result.rows
    assert [row.status for row in results] == ["measured", "measured"]
    assert results[1].settings["first"] == "floor"
    assert results[1].settings["depth"] == 6
    found = rankings(tmp_path / "out" / "csfcube-sample.ranked-again.run")
    assert found == expected["ranked-again"]
    assert results[1]["all"].figures["RR"] > 0
    said.clear()
    reproduce(table, tmp_path / "out", systems=chosen, sample=True, say=said.append)
    assert sum("unchanged" in line for line in said) == 2


def test_another_first_system_makes_the_run_again(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    system = find_system("ranked-again", {})
    other = System.make("floor", "random", {"seed": 6})
    for made, reused in (
        (system, False),
        (system, True),
        (replace(system, first=other), False),
        (replace(system, first=other), True),
        (replace(system, first=other, depth=5), False),
    ):
        assert produce(SAMPLE, made, path, reuse=True, progress=False)[1] == reused


def test_the_record_names_what_a_pipe_held(
    tmp_path: Path, irtoolkit: Callable[..., Answer]
) -> None:
    run, pipe = tmp_path / "first.run", tmp_path / "pipe"
    assert irtoolkit("retrieve", "csfcube/sample", "random", "-o", run).status == 0
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(run.read_bytes()))
    writer.start()
    again = tmp_path / "again.run"
    assert irtoolkit("rerank", "csfcube/sample", pipe, "bm25", "-o", again).status == 0
    writer.join()
    record = yaml.safe_load(Path(f"{again}.ir-metadata.yml").read_text())
    assert sha256(run.read_bytes()).hexdigest() in str(record)
