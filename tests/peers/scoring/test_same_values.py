"""Any file that we write has the same values in every tool: irtoolkit, ir_measures, pytrec_eval, ranx.

trec_eval itself is built into pytrec_eval. The others read the plain file with readers of their own.
"""

from __future__ import annotations

import random
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

Values = dict[str, dict[str, float]]

# ir_measures' name: trec_eval's measure, and its name for the value.
TREC_EVAL = {
    "AP": "map",
    "AP(rel=2)": "map",
    "AP@10": "map_cut_10",
    "Bpref": "bpref",
    "IPrec@0.3": "iprec_at_recall_0.30",
    "NumRet": "num_ret",
    "NumRet(rel=1)": "num_rel_ret",
    "P@5": "P_5",
    "P(rel=2)@10": "P_10",
    "R@10": "recall_10",
    "RR": "recip_rank",
    "RR(rel=2)": "recip_rank",
    "Rprec": "Rprec",
    "SetAP": "set_map",
    "SetF": "set_F",
    "SetP": "set_P",
    "SetR": "set_recall",
    "Success@1": "success_1",
    "infAP": "infAP",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
}
# Of other providers, or our own. Compat is no measure of ranks: ir_measures takes a document that a
# run does not list for one of score 0, so a run's values change when its scores are all lowered.
OTHERS = (
    "RR@10", "RR(rel=2)@5", "Judged@10", "Judged", "NumQ", "NumRel",
    "nDCGp(p=20)", "nDCGp(p=100)", "RPlast(rel=2)", "Rank",
)  # fmt: skip
RANX = {
    "AP": "map",
    "AP(rel=2)": "map-l2",
    "AP@10": "map@10",
    "P@5": "precision@5",
    "P(rel=2)@10": "precision@10-l2",
    "R@10": "recall@10",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "RR(rel=2)@5": "mrr@5-l2",
    "Rprec": "r-precision",
    "SetR": "recall",
    "SetF": "f1",
    "Success@1": "hit_rate@1",
    "NumRet(rel=1)": "hits",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg_burges@10",
}
EVERY = list(dict.fromkeys([*TREC_EVAL, *OTHERS, *RANX]))


def ours(path: Path, qrels: Qrels, names: list[str]) -> Values:
    found = evaluate(Run.read(path), qrels, parse_measures(names))
    return {
        name: dict(zip(found.query_ids, found.per_query(name).tolist(), strict=True))
        for name in names
    }


def by_ir_measures(path: Path, judged: Path, names: list[str]) -> Values:
    measures = {ir_measures.parse_measure(name): name for name in names}
    values: Values = {name: {} for name in names}
    rows = ir_measures.iter_calc(
        list(measures),
        list(ir_measures.read_trec_qrels(str(judged))),
        list(ir_measures.read_trec_run(str(path))),
    )
    listed, relevant = set(Run.read(path).query_ids), Qrels.read(judged)
    for row in rows:
        values[measures[row.measure]][row.query_id] = row.value
    # Of a query that the run lacks ir_measures counts nothing, and trec_eval -c what is judged.
    for query in set(relevant.query_ids) - listed:
        for name, counted in (("NumQ", 1.0), ("NumRel", _number_relevant(relevant, query))):
            if name in values:
                assert values[name][query] == 0
                values[name][query] = counted
    return values


def _number_relevant(qrels: Qrels, query_id: str) -> float:
    return float(sum(row.relevance > 0 for row in qrels if row.query_id == query_id))


def by_pytrec_eval(path: Path, judged: Path) -> Values:
    with open(path, encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)
    with open(judged, encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    values: Values = {}
    for name, theirs in TREC_EVAL.items():
        level = 2 if "rel=2" in name else 1
        head, _, cut = theirs.rpartition("_")
        asked = theirs if theirs in pytrec_eval.supported_measures else f"{head}.{cut}"
        found = pytrec_eval.RelevanceEvaluator(qrels, {asked}, level).evaluate(run)
        values[name] = {query: row[theirs] for query, row in found.items()}
    return values


def by_ranx(path: Path, judged: Path) -> Values:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    import numba

    threads = numba.get_num_threads()
    run = ranx.Run.from_file(str(path), kind="trec")
    qrels = ranx.Qrels.from_file(str(judged), kind="trec")
    ranx.evaluate(qrels, run, list(RANX.values()), make_comparable=True)
    numba.set_num_threads(threads)
    return {
        name: {q: float(v) for q, v in run.scores[theirs].items()} for name, theirs in RANX.items()
    }


def differences(one: Values, two: Values) -> dict[str, float]:
    """Of each measure that differs, by how much. A query that a tool passes over counts as zero."""
    found = {}
    for name, values in two.items():
        queries = one[name].keys() | values.keys()
        gap = [abs(one[name].get(q, 0.0) - values.get(q, 0.0)) for q in queries]
        # Two infinite ranks are alike.
        worst = max((g for g in gap if not np.isnan(g)), default=0.0)
        if worst > 1e-12:
            found[name] = worst
    return found


# -- runs of all kinds ---------------------------------------------------------------------------

IDS = [f"{number:09}" for number in range(910000000, 910000400)]


def coarse(tag: str, seed: int) -> Run:
    """Three hundred documents a query, of a few distinct scores; one query is missing."""
    chance = random.Random(seed)
    return Run.from_rows(
        [
            (f"q{query:02}", doc, float(chance.choice([0, 0, 0, 1, 2.5])))
            for query in range(1, 12)
            for doc in chance.sample(IDS, 300)
        ],
        tag,
    )


def coarse_qrels() -> Qrels:
    chance = random.Random(7)
    return Qrels.from_rows(
        (f"q{query:02}", doc, chance.choice([0, 0, 0, 1, 2, 3]))
        for query in range(12)
        for doc in chance.sample(IDS, 120)
    )


def tied(run: Run) -> int:
    """How many rows have the score of the row above."""
    return int(((run.scores[1:] == run.scores[:-1]) & (run.queries[1:] == run.queries[:-1])).sum())


# The first keeps ties in the pool's order.
SYSTEMS = {"fabs_bm25": {}, "tfidf": {"doc": "title"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Runs as our commands write them, each with the qrels it is for."""
    from irtoolkit.ranking.fusion_files import fuse_files

    folder = tmp_path_factory.mktemp("same")
    judged = folder / "sample.qrels"
    Dataset.of("csfcube/sample").qrels.write(judged)
    made = {}
    for name, settings in SYSTEMS.items():
        for depth in (None, 7):
            path = folder / f"{name}-{depth}.run"
            system = find_system(name, settings, "csfcube/sample")
            produce("csfcube/sample", system, path, depth=depth, progress=False)
            made[path.stem] = (path, judged)
    coarse_qrels().write(folder / "coarse.qrels")
    for seed in (1, 2):
        coarse(f"c{seed}", seed).write(folder / f"c{seed}.run")
    path = folder / "rrf.run"
    fuse_files([folder / "c1.run", folder / "c2.run"], path, "rrf", progress=False)
    return {**made, "rrf": (path, folder / "coarse.qrels")}


# Whole, cut, and fused.
@pytest.mark.parametrize("name", ["fabs_bm25-None", "tfidf-7", "rrf"])
def test_one_value_in_every_tool(files: dict[str, tuple[Path, Path]], name: str) -> None:
    path, judged = files[name]
    qrels = Qrels.read(judged)
    # Of a run cut at a depth the rest is unknown to every tool.
    mine = ours(path, qrels, EVERY)
    assert differences(mine, by_pytrec_eval(path, judged)) == {}
    others = [measure for measure in EVERY if "exp-log2" not in measure]  # gdeval's, in Perl
    assert differences(mine, by_ir_measures(path, judged, others)) == {}
    assert differences(mine, by_ranx(path, judged)) == {}


def test_no_file_of_ours_has_ties(files: dict[str, tuple[Path, Path]]) -> None:
    assert {name: tied(Run.read(path)) for name, (path, _) in files.items()} == dict.fromkeys(
        files, 0
    )


def test_the_systems_do_tie() -> None:
    """Else the files above would prove nothing."""
    from irtoolkit.retrievers.engine import rank

    system = find_system("tfidf", SYSTEMS["tfidf"], "csfcube/sample")
    run = rank(system.load("csfcube/sample"), system.retriever, progress=False)
    assert tied(run) > 10


def test_where_scores_tie_tools_disagree(tmp_path: Path) -> None:
    """What files of ours are spared: these measures, and no others, are read in other orders."""
    path, judged = tmp_path / "tied.run", tmp_path / "x.qrels"
    coarse("c", 1).write(path)
    coarse_qrels().write(judged)
    mine = ours(path, Qrels.read(judged), EVERY)
    assert differences(mine, by_pytrec_eval(path, judged)) == {}
    others = [measure for measure in EVERY if "exp-log2" not in measure]
    found = differences(mine, by_ir_measures(path, judged, others))
    assert set(found) == {"RR@10", "RR(rel=2)@5", "Judged@10"}
    assert "AP" in differences(mine, by_ranx(path, judged))
