"""Holding a run against the dataset it is for: the shipped sample, and datasets of others."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ir_datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.runs import Run
from irtoolkit.scoring import check
from irtoolkit.scoring.check import read_run, shallow_queries
from tests.conftest import SAMPLE
from tests.datasets import Docs, Queries, register_parts

Write = Callable[..., Path]

ALL = "csfcube/sample"
METHOD = "csfcube/sample/method"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No release of anything is on the machine, and there is no network to fetch one from."""

    def unplugged(*_: object, **__: object) -> None:
        raise OSError("the sample needs no network")

    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home-of-ir-datasets"))
    monkeypatch.setattr(urllib.request, "urlopen", unplugged)


def pools() -> dict[str, list[str]]:
    """The sample's pools, read from its files: the graded candidates of each query."""
    found = {}
    for facet in ("background", "method", "result"):
        path = SAMPLE / f"test-pid2anns-csfcube-{facet}.json"
        for paper, judged in json.loads(path.read_text("utf-8")).items():
            found[f"{paper}_{facet}"] = judged["cands"]
    return found


POOLS = pools()
# The order of queries-release.csv decides nothing here: any order of topics is a run.
TOPICS = list(POOLS)
Q1, Q2 = "910000057_method", "910000291_method"
D1, D2, D3, D4 = POOLS[Q1][:4]
# In the sample, but a candidate of Q2 only.
OUTSIDE = next(doc for doc in POOLS[Q2] if doc not in POOLS[Q1])
# In the pool file and nowhere else: it has no text, and no grade.
GHOST = "910000503"


def check_run(*args: Any, **options: Any) -> list[InputError]:
    """Returns the problems of a run file."""
    return check.check_run(*args, **options).problems


def text(rows: Iterable[tuple[str, str]], tag: str = "t") -> str:
    """A run of (topic, document) rows in the order given, ranks and scores to match."""
    lines, rank = [], dict[str, int]()
    for topic, doc in rows:
        rank[topic] = rank.get(topic, 0) + 1
        lines.append(f"{topic} Q0 {doc} {rank[topic]} {100 - rank[topic]} {tag}\n")
    return "".join(lines)


def whole(topics: Iterable[str] = TOPICS) -> str:
    """A run that ranks every candidate of every topic."""
    return text((topic, doc) for topic in topics for doc in POOLS[topic])


def only(problems: list[InputError], path: Path, line: int | None) -> InputError:
    """The one problem there is, which names its file and the line asked for."""
    assert [str(problem) for problem in problems[1:]] == []
    assert problems[0].file == str(path)
    assert problems[0].line == line
    return problems[0]


def refused(path: Path, dataset: str | None, line: int | None) -> InputError:
    with pytest.raises(InputError) as caught:
        read_run(path, dataset)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    return caught.value


# -- what is right -------------------------------------------------------------------------------


def test_a_run_of_the_whole_serves_for_a_part(write: Write) -> None:
    """One run of csfcube is scored on each of its facets: the other topics are no strangers."""
    path = write("x.run", whole())
    assert check_run(path, METHOD) == []
    assert set(read_run(path, METHOD).query_ids) == set(TOPICS)


# -- what does not fit the dataset ---------------------------------------------------------------


def test_a_part_judges_the_pools_of_its_own_topics(write: Write) -> None:
    """Of another facet's topic the part has no pool."""
    other = "910000466_result"
    outside = next(doc for doc in POOLS[Q2] if doc not in POOLS[other])
    path = write("x.run", whole([Q1, Q2]) + text([(other, outside)]))
    assert check_run(path, METHOD) == []
    assert "outside the pool" in refused(path, ALL, len(POOLS[Q1]) + len(POOLS[Q2]) + 1).found


# -- what is wrong with the file itself ----------------------------------------------------------


def test_many_problems_at_once_are_each_found(write: Write) -> None:
    count = sum(map(len, POOLS.values()))
    path = write(
        "x.run",
        whole()
        + f"{Q1} Q0 {OUTSIDE} 90 9 t\n"  # +1
        + f"{Q1} Q0 {D1} 91 8 t\n"  # +2: twice
        + f"{Q1} Q0 {D2} 92\n"  # +3: four fields
        + f"{Q1} Q0 nothing 93 7 t\n"  # +4: unknown document
        + f"{Q1} Q0 {D3} 94 x t\n"  # +5: no score
        + f"{Q2} Q0 {OUTSIDE[::-1]} 95 6 u\n"  # +6: second tag, unknown document
        + f"{Q2} Q7 {GHOST} 96 99.5 t\n",  # +7: second field, contradiction, unknown document
    )
    problems = check_run(path, ALL)
    first = 1 + sum(len(POOLS[topic]) for topic in TOPICS[: TOPICS.index(Q1)])
    expected = {
        (count + 1, f"document {OUTSIDE} is outside the pool of query {Q1}"),
        (count + 2, f"document {D1} is listed twice for query {Q1}, first at line {first}"),
        (count + 3, "4 fields instead of 6"),
        (count + 4, "document nothing is not one of csfcube/sample"),
        (count + 5, "score 'x' is not a finite single-precision number"),
        (count + 6, "a second tag 'u' after 't'"),
        (count + 6, f"document {OUTSIDE[::-1]} is not one of csfcube/sample"),
        (count + 7, "the second field is 'Q7'"),
        (count + 7, f"rank 96 has a higher score than rank 95 in query {Q2}"),
        (count + 7, f"document {GHOST} is not one of csfcube/sample"),
    }
    assert {(problem.line, problem.found) for problem in problems} == expected
    assert len(problems) == len(expected)
    assert {problem.file for problem in problems} == {str(path)}


# -- Parquet -------------------------------------------------------------------------------------


def parquet(path: Path, rows: list[tuple[str, str, float]]) -> Path:
    queries, docs, scores = (list(column) for column in zip(*rows, strict=True))
    pq.write_table(pa.table({"query_id": queries, "doc_id": docs, "score": scores}), path)
    return path


@pytest.mark.parametrize(
    "rows",
    [[(Q1, D1, 3.0), (Q1, D1, 2.0)], [(Q1, D1, 3.0), (Q1, D2, float("nan"))]],
    ids=["twice", "nan"],
)
def test_a_bad_parquet_run_is_a_problem(tmp_path: Path, rows: list[tuple[str, str, float]]) -> None:
    path = parquet(tmp_path / "x.parquet", rows)
    assert [problem.file for problem in check_run(path, ALL)] == [str(path)]
    with pytest.raises(InputError) as caught:
        read_run(path, ALL)
    assert caught.value.file == str(path)


# -- how deep a run is ---------------------------------------------------------------------------


def sample() -> Any:
    return ir_datasets.load(ALL)


def test_a_query_paper_may_be_left_out_of_its_own_ranking(write: Write) -> None:
    own = Q2.partition("_")[0]
    assert own in POOLS[Q2]
    rows = [(t, d) for t in TOPICS for d in POOLS[t] if (t, d) != (Q2, own)]
    assert shallow_queries(Run.read(write("x.run", text(rows))), sample()) == []


# -- datasets of others --------------------------------------------------------------------------


def texts(ids: str) -> dict[str, str]:
    return {name: f"text of {name}" for name in ids.split()}


FOREIGN = "q1 Q0 d1 1 3 t\nq1 Q0 unknown 2 2 t\nq2 Q0 d2 1 1 t\n"


def test_reading_for_a_foreign_dataset_lets_documents_be(write: Write) -> None:
    """Its documents may be millions, and looking them up may mean downloading them."""
    dataset = register_parts(Docs(texts("d1 d2")), Queries(texts("q1 q2")))
    assert len(read_run(write("x.run", FOREIGN), dataset)) == 3


def test_topics_of_a_foreign_dataset_must_be_known(write: Write) -> None:
    dataset = register_parts(Docs(texts("d1 d2 unknown")), Queries(texts("q1")))
    path = write("x.run", FOREIGN)
    assert refused(path, dataset, 3).found == f"topic q2 is not one of {dataset}"
    assert only(check_run(path, dataset), path, 3).found == f"topic q2 is not one of {dataset}"


def test_topics_of_the_dataset_that_a_foreign_one_is_part_of(write: Write) -> None:
    docs = Docs(texts("d1 d2 unknown"))
    whole = register_parts(docs, Queries(texts("q1 q2")))
    part = register_parts(docs, Queries(texts("q1")), name=f"{whole}/part")
    path = write("x.run", FOREIGN)
    assert check_run(path, part) == []
    assert len(read_run(path, part)) == 3
    stranger = write("y.run", FOREIGN + "q3 Q0 d1 1 1 t\n")
    assert refused(stranger, part, 4).found == f"topic q3 is not one of {part}"


def test_a_dataset_without_pools_has_no_shallow_queries(write: Write) -> None:
    dataset = ir_datasets.load(register_parts(Docs(texts("d1")), Queries(texts("q1 q2"))))
    assert shallow_queries(Run.read(write("x.run", "q1 Q0 d1 1 1 t\n")), dataset) == []


def test_checking_for_a_dataset_without_topics_is_an_answer(write: Write) -> None:
    """Many ids of ir_datasets hold documents only; a run made for one gets told, not thrown at."""
    dataset = register_parts(Docs(texts("d1 d2")))
    path = write("x.run", FOREIGN)
    problems = check_run(path, dataset)
    assert (2, f"document unknown is not one of {dataset}") in [(p.line, p.found) for p in problems]
    assert all(isinstance(problem, InputError) for problem in problems)


def test_checking_for_a_dataset_without_documents_is_an_answer(write: Write) -> None:
    """What has no documents cannot say which are unknown."""
    dataset = register_parts(Queries(texts("q1")))
    path = write("x.run", FOREIGN)
    assert (3, f"topic q2 is not one of {dataset}") in [
        (problem.line, problem.found) for problem in check_run(path, dataset)
    ]
