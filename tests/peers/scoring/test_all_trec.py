"""`trec_eval -m all_trec`, value by value: ours, pytrec_eval's, ir_measures' and a plain definition.

The runs and judgments have the shapes of NIST's own test files, and those that such files lack.
With IRTOOLKIT_TREC_EVAL set to a checkout of https://github.com/usnistgov/trec_eval and a C
compiler, NIST's program is built and asked too, also about its own files.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval

from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.measure_names import not_computed, trec_measures
from irtoolkit.scoring.score import score
from irtoolkit.scoring.trec_eval import trec_eval_lines
from tests.conftest import Answer
from tests.plain_measures import as_trec_eval, in_order, values

Command = Callable[..., Answer]
RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]
# By measure and query.
Values = dict[tuple[str, str], float]

MEASURES = trec_measures("all_trec") or {}
# What irtoolkit has added to ir_measures.
ADDED = (
    "11pt_avg", "G", "Rndcg", "Rprec_mult", "binG", "gm_bpref", "gm_map", "ndcg_rel",
    "num_nonrel_judged_ret", "relative_P", "utility",
)  # fmt: skip
# A string of grades, no number.
LACKING = {"relstring"}
# What version 10 rounds, and irtoolkit does not, as version 9.
ROUNDED = ("iprec_at_recall", "11pt_avg")

# -- shapes of runs and judgments -----------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What a case's queries look like.

    Attributes:
        listed: number of documents that the run lists for a query.
        judged: number of documents that are judged for it.
        grades: grades of the judged documents, drawn evenly.
        scores: number of distinct scores.
        overlap: share of the judged documents that come from the listed ones.
        relevant: number of judged documents with the grade 1, all others 0; by default `grades`.
        rel: the lowest relevant grade.
        missing: number of judged queries that the run lacks.
    """

    listed: int
    judged: int
    grades: tuple[int, ...] = (0, 0, 0, 0, 1)
    scores: int = 1000
    overlap: float = 0.5
    relevant: int | None = None
    rel: int = 1
    missing: int = 0


SHAPES = {
    "quicktest": Shape(500, 1200, (0,) * 14 + (1,), scores=300, overlap=0.2),
    "truncated": Shape(195, 1200, (0,) * 14 + (1,), overlap=0.1, missing=1),
    "graded": Shape(120, 90, (0, 0, 1, 2, 3), missing=1),
    "graded-from-2": Shape(120, 90, (0, 0, 1, 2, 4), rel=2, missing=1),
    "negative": Shape(150, 120, (-1, -1, -2, 0, 0, 1, 2), scores=20, missing=1),
    "one-relevant": Shape(60, 40, relevant=1),
    "none-relevant": Shape(60, 40, relevant=0, missing=1),
    "all-relevant": Shape(30, 45, (1, 2)),
    "none-judged": Shape(60, 40, overlap=0),
    "only-judged": Shape(40, 40, (0, 1, 2), overlap=1),
    "all-tied": Shape(80, 60, (0, 1, 2), scores=1),
    "few-scores": Shape(300, 200, (0, 0, 1, 3), scores=4),
    "long": Shape(2500, 1500, (0, 0, 0, 1, 2)),
    "short": Shape(3, 30, (0, 1), missing=2),
    "single": Shape(1, 2, (0, 1)),
}


def made(name: str) -> tuple[RunDict, QrelsDict]:
    """A run and judgments of a shape; the run also has a query that nobody judged."""
    shape, chance = SHAPES[name], random.Random(name)
    run: RunDict = {"999": {"x": 1.0}}
    qrels: QrelsDict = {}
    for query in map(str, range(301, 307)):
        docs = [f"FT{number:06}" for number in chance.sample(range(900_000), shape.listed)]
        known = chance.sample(docs, min(int(shape.overlap * shape.judged), len(docs)))
        others = [f"LA{number:06}" for number in range(shape.judged - len(known))]
        pool = [*known, *others]
        chance.shuffle(pool)
        if shape.relevant is None:
            drawn = [chance.choice(shape.grades) for _ in pool]
            drawn[0] = max(drawn[0], 0)  # trec_eval reads foreign memory if all are negative
        else:
            drawn = [int(place < shape.relevant) for place in range(len(pool))]
        qrels[query] = dict(zip(pool, drawn, strict=True))
        if len(qrels) > shape.missing:
            run[query] = {doc: chance.randrange(shape.scores) / 7 for doc in docs}
    return run, qrels


# -- four ways to the values ----------------------------------------------------------------------


def measures(rel: int) -> dict[str, ir_measures.Measure]:
    """The measures with another lowest relevant grade; nDCG's gains are the grades."""
    return {
        name: one(rel=rel) if rel > 1 and "rel" in one.params | one.SUPPORTED_PARAMS and name != "num_ret"
        else one
        for name, one in MEASURES.items()
    }  # fmt: skip


def ours(run: RunDict, qrels: QrelsDict, rel: int = 1) -> Values:
    scores = score(qrels, Run.of(run), measures(rel))
    return {
        (name, query): as_trec_eval(name, value) for _, query, name, value in scores.per_query()
    }


def by_pytrec_eval(run: RunDict, qrels: QrelsDict, rel: int = 1) -> Values:
    scorer = pytrec_eval.RelevanceEvaluator(qrels, {"all_trec"}, relevance_level=rel)
    found = scorer.evaluate(run)
    return {(name, query): value for query, row in found.items() for name, value in row.items()}


def added(name: str) -> bool:
    """Whether ir_measures has no such measure."""
    return name.startswith(tuple(f"{one}_" for one in ADDED)) or name in ADDED


def by_ir_measures(run: RunDict, qrels: QrelsDict, rel: int = 1) -> Values:
    # It has no NumRel(rel=2), and none of those that irtoolkit has added.
    names = {
        one: name
        for name, one in measures(rel).items()
        if not added(name) and (rel == 1 or name != "num_rel")
    }
    return {
        (names[row.measure], row.query_id): row.value
        for row in ir_measures.iter_calc(list(names), qrels, run)
    }


def plainly(run: RunDict, qrels: QrelsDict, rel: int = 1, rounded: bool = False) -> Values:
    return {
        (name, query): value
        for query, grades in qrels.items()
        for name, value in values(in_order(run.get(query, {})), grades, rel, rounded).items()
    }


def differences(one: Mapping[Any, float], two: Mapping[Any, float]) -> dict[Any, Any]:
    """What is in both and differs by more than rounding of the last digits."""
    return {
        key: (one[key], two[key])
        for key in one.keys() & two.keys()
        if one[key] != pytest.approx(two[key], abs=1e-12)
    }


# -- generated cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_every_measure_has_one_value(name: str) -> None:
    run, qrels = made(name)
    rel, listed = SHAPES[name].rel, [query for query in qrels if query in run]
    mine, plain = ours(run, qrels, rel), plainly(run, qrels, rel)
    assert mine.keys() == {(one, query) for one in MEASURES for query in qrels}
    assert differences(mine, plain) == {}
    theirs = by_pytrec_eval(run, qrels, rel)
    assert {(one, query) for one in MEASURES for query in listed} <= theirs.keys()
    assert differences(mine, theirs) == {}
    other = by_ir_measures(run, qrels, rel)
    assert other.keys() >= {key for key in mine if not added(key[0]) and key[0] != "num_rel"}
    # Of a query that the run lacks ir_measures counts nothing, and trec_eval -c what is judged.
    assert set(differences(mine, other)) <= {
        (one, query) for one in ("num_q", "num_rel") for query in qrels.keys() - set(listed)
    }


@pytest.mark.parametrize("name", SHAPES)
def test_every_average_is_that_of_trec_eval(name: str) -> None:
    """Of all queries, as by trec_eval -c: one that the run lacks has the values of an empty list."""
    run, qrels = made(name)
    rel = SHAPES[name].rel
    found = score(qrels, Run.of(run), measures(rel), names=["x"]).figures()["x"]
    theirs, plain = by_pytrec_eval(run, qrels, rel), plainly(run, qrels, rel)
    for measure, figure in found.items():
        rows = [theirs.get((measure, one), plain[measure, one]) for one in qrels]
        wanted = pytrec_eval.compute_aggregated_measure(measure, rows)
        assert figure == pytest.approx(wanted, abs=1e-12), measure


def test_the_shapes_are_what_they_are_called() -> None:
    """Else the cases above would prove less than they say."""
    drawn = {name: made(name) for name in SHAPES}

    def of(name: str) -> list[int]:
        return sorted({grade for docs in drawn[name][1].values() for grade in docs.values()})

    assert of("negative") == [-2, -1, 0, 1, 2]
    assert of("none-relevant") == [0]
    assert {sum(docs.values()) for docs in drawn["one-relevant"][1].values()} == {1}
    assert all(len(set(docs.values())) == 1 for docs in drawn["all-tied"][0].values())
    run, qrels = drawn["none-judged"]
    assert not any(run[query].keys() & docs.keys() for query, docs in qrels.items())
    assert len(drawn["short"][1].keys() - drawn["short"][0].keys()) == 2


def test_the_measures_that_are_left_out_are_these() -> None:
    assert set(not_computed("all_trec")) == LACKING
    heads = {re.sub(r"(_cut)?_[0-9.]+$", r"\1", name) for name in MEASURES}
    assert heads | LACKING | {"runid"} == set(pytrec_eval.supported_nicknames["all_trec"])


# -- NIST's own program ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TrecEval:
    """A trec_eval that was built here.

    Attributes:
        folder: where its sources and test files are.
        version: its major version.
    """

    folder: Path
    version: int

    def printed(self, *arguments: object) -> dict[tuple[str, str], str]:
        """What it prints, by measure and query; of all of all_trec unless asked otherwise."""
        asked = () if "-m" in arguments else ("-m", "all_trec")
        command = [self.folder / "trec_eval", "-q", "-c", *asked, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        return lines(done.stdout)


def lines(text: str) -> dict[tuple[str, str], str]:
    rows = [line.split("\t") for line in text.splitlines()]
    return {(name.strip(), query): value for name, query, value in rows if name.strip() != "runid"}


@pytest.fixture(scope="module")
def nist(tmp_path_factory: pytest.TempPathFactory) -> TrecEval:
    source = os.environ.get("IRTOOLKIT_TREC_EVAL")
    if not source or not (Path(source) / "m_map.c").is_file():
        pytest.skip("IRTOOLKIT_TREC_EVAL names no checkout of usnistgov/trec_eval")
    if not (shutil.which("make") and shutil.which("gcc")):
        pytest.skip("no make and gcc to build trec_eval with")
    folder = tmp_path_factory.mktemp("nist") / "trec_eval"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "trec_eval"))
    subprocess.run(["make", "trec_eval"], cwd=folder, capture_output=True, check=True)
    version = re.search(r"^VERSIONID = (\d+)", (folder / "Makefile").read_text(), re.MULTILINE)
    assert version is not None
    return TrecEval(folder, int(version[1]))


def agrees(
    nist: TrecEval, irtoolkit: Command, qrels: Path, run: Path, *arguments: str, rel: int = 1
) -> None:
    """Compares what both print; and what version 10 rounds with the plain value."""
    if rel > 1:
        mine = lines("\n".join(trec_eval_lines(score(qrels, run, measures(rel)))))
    else:
        answer = irtoolkit("eval", "-q", "-m", "all_trec", qrels, run)
        assert answer.status == 0, answer.err
        mine = lines(answer.out)
    theirs = nist.printed(*arguments, qrels, run)
    judged = Qrels.read(qrels).as_dict()
    plain = plainly(Run.read(run).as_dict(), judged, rel, nist.version >= 10)
    assert {(name, "all") for name in MEASURES} <= theirs.keys()
    for key, printed in theirs.items():
        name, query = key
        if nist.version >= 10 and name.startswith(ROUNDED):
            wanted = sum(plain[name, one] for one in judged) / len(judged)
            wanted = plain[key] if query in judged else wanted
            assert float(printed) == pytest.approx(wanted, abs=0.51e-4), key
        elif key == ("num_rel", "all") and rel > 1:
            # With -c trec_eval counts all grades above 0 here, whatever -l is.
            assert int(printed) == sum(g > 0 for docs in judged.values() for g in docs.values())
        elif name in MEASURES:
            assert mine[key] == printed, key


OWN_FILES = {
    "out.test.aq": ("qrels.test", "results.test", (), 1),
    "out.test.aqc": ("qrels.test", "results.trunc", (), 1),
    "out.test.aql": ("qrels.rel_level", "results.test", ("-l2",), 2),
    "out.test.aqcM": ("qrels.test", "results.trunc", ("-M100",), 1),
}


@pytest.mark.parametrize("name", OWN_FILES)
def test_nists_files_have_nists_values(
    nist: TrecEval, irtoolkit: Command, tmp_path: Path, name: str
) -> None:
    qrels, results, arguments, rel = OWN_FILES[name]
    # Some of its lines go on after the tag, which we refuse and trec_eval ignores.
    rows = (nist.folder / "test" / results).read_text().splitlines()
    run = tmp_path / "x.run"
    run.write_text("".join(" ".join(row.split()[:6]) + "\n" for row in rows))
    if "-M100" in arguments:
        Run.read(run).head(100).write(run)
    agrees(nist, irtoolkit, nist.folder / "test" / qrels, run, *arguments, rel=rel)


@pytest.mark.parametrize("name", SHAPES)
def test_generated_files_have_nists_values(
    nist: TrecEval, irtoolkit: Command, tmp_path: Path, name: str
) -> None:
    run, qrels = made(name)
    Run.of(run).write(tmp_path / "x.run")
    Qrels.of(qrels).write(tmp_path / "x.qrels")
    rel = SHAPES[name].rel
    agrees(nist, irtoolkit, tmp_path / "x.qrels", tmp_path / "x.run", f"-l{rel}", rel=rel)


# What trec_eval is asked with -m, and by which of its versions it is computed as by us.
PARAMETERS = {
    "11pt_avg.0.2,0.5,0.8": (9,),
    "G.1=3,2=9,0=0.5": (9, 10),
    "Rndcg.1=3,2=9": (9, 10),
    "Rprec_mult.0.5,1.3,3": (9, 10),
    "ndcg_rel.1=3,2=9,0=-1": (9, 10),
    # Version 10 takes a query that the run lacks for one that lists a document.
    "utility.2,-0.5,-1.5,0": (9,),
}


@pytest.mark.parametrize("name", ["graded", "negative", "few-scores", "short"])
def test_parameters_have_nists_meaning(nist: TrecEval, tmp_path: Path, name: str) -> None:
    run, qrels = made(name)
    Run.of(run).write(tmp_path / "x.run")
    Qrels.of(qrels).write(tmp_path / "x.qrels")
    for measure, versions in PARAMETERS.items():
        scores = score(tmp_path / "x.qrels", tmp_path / "x.run", measure)
        asked = ("-m", measure, tmp_path / "x.qrels", tmp_path / "x.run")
        mine, theirs = lines("\n".join(trec_eval_lines(scores))), nist.printed(*asked)
        assert len(theirs) >= len(run)
        if nist.version in versions:
            assert {key: mine[key] for key in theirs} == theirs


def test_what_is_said_of_gains_that_differ_by_less_than_1(nist: TrecEval, tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text("q 0 a 1\nq 0 b 3\n")
    (tmp_path / "x.run").write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    for measure in ("G.1=3.5", "ndcg_rel.1=3.5"):
        asked = ("-m", measure, tmp_path / "x.qrels", tmp_path / "x.run")
        (theirs,) = {float(value) for value in nist.printed(*asked).values()}
        scores = score(tmp_path / "x.qrels", tmp_path / "x.run", measure)
        (mine,) = (value for *_, value in scores.per_query())
        assert mine == 1 < theirs
    asked = ("-m", "Rndcg.1=0,3=0", *asked[2:])
    assert {value.strip("- ") for value in nist.printed(*asked).values()} == {"nan"}
