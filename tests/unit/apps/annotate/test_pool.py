"""Pools: the union of runs or the candidates, the queries drawn, and an order of each annotator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.apps.annotate.grades import Grades
from irtoolkit.apps.annotate.pool import Pool, Source, pooled
from irtoolkit.base.errors import InputError

Write = Callable[[str, str], Path]
DOCS = {f"d{i}": f"text {i}" for i in range(30)}
QUERIES = {f"q{i}": f"query {i}" for i in range(6)}


def of(source: Source, **more: object) -> Pool:
    """The pool of a small dataset."""
    data = ir.load(DOCS, queries=QUERIES, **more)  # type: ignore[arg-type]
    return pooled(data, source, Grades(), lambda line: None)


def run(write: Write, name: str, **ranked: str) -> Path:
    """A run: query to documents, the best first."""
    lines = [
        f"{query} Q0 {doc} {rank} {-rank} t\n"
        for query, docs in ranked.items()
        for rank, doc in enumerate(docs.split(), 1)
    ]
    return write(name, "".join(lines))


def test_the_pool_is_the_union_of_the_runs_to_their_depth(write: Write) -> None:
    one = run(write, "one.run", q1="d3 d1 d2", q2="d5")
    two = run(write, "two.run", q1="d9 d3 d8")
    said: list[str] = []
    data = ir.load(DOCS, queries=QUERIES)
    pool = pooled(data, Source((one, two), depth=2), Grades(), said.append)
    assert pool.documents == {"q1": ("d1", "d3", "d9"), "q2": ("d5",)}
    assert len(pool) == 4
    assert said == ["4 queries of 6 are in no run, and left out; the first is q0"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("qx Q0 d1 1 1 t\n", "topic qx is not one of"),
        ("q1 Q0 dx 1 1 t\n", "document dx is not one of"),
        ("q1 Q0 d1 1\n", "4 fields instead of 6"),
    ],
)
def test_a_run_of_another_dataset_is_refused_with_its_line(
    write: Write, lines: str, said: str
) -> None:
    path = write("x.run", lines)
    with pytest.raises(InputError, match=said) as error:
        of(Source((path,)))
    assert error.value.line == 1


def test_what_cannot_be_judged_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="has no candidate pools"):
        of(Source())
    pools = {query: ["d1"] for query in QUERIES}
    with pytest.raises(InputError, match="--queries 7, and texts has 6"):
        of(Source(queries=7), candidates=pools)
    data = ir.load(DOCS, queries=QUERIES, candidates={q: list(DOCS) for q in QUERIES})
    monkeypatch.setattr("irtoolkit.apps.annotate.pool.MOST", 100)
    with pytest.raises(InputError, match="180 pairs"):
        pooled(data, Source(), Grades(), lambda line: None)


def test_each_annotator_has_an_order_which_is_not_that_of_a_run_and_stays(write: Write) -> None:
    ranked = " ".join(DOCS)
    pool = of(Source((run(write, "one.run", q1=ranked, q2=ranked),), depth=30))
    again = of(Source((run(write, "two.run", q1=" ".join(reversed(DOCS)), q2=ranked),), depth=30))
    orders = [pool.order(query, name) for query in ("q1", "q2") for name in ("ann", "ben")]
    assert len({tuple(order) for order in orders}) == 4
    assert all(sorted(order) == sorted(DOCS) for order in orders)
    assert list(DOCS) not in orders
    # Nothing of a ranking is left in it.
    assert again.order("q1", "ann") == pool.order("q1", "ann")


def test_a_folder_holds_one_pool(tmp_path: Path) -> None:
    pools = {query: ["d2", "d1"] for query in QUERIES}
    pool = of(Source(queries=2, seed=3), candidates=pools)
    pool.keep(tmp_path)
    before = (tmp_path / "pool.json").read_bytes()
    pool.keep(tmp_path)
    other = of(Source(queries=3, seed=3), candidates=pools)
    with pytest.raises(InputError, match="another pool: 2 queries and 4 pairs") as error:
        other.keep(tmp_path)
    assert "--queries 2 --seed 3" in str(error.value)
    grades = Pool(pool.dataset, Grades(0, 1), pool.seed, pool.documents)
    with pytest.raises(InputError, match="with grades 0-3, not 0-1"):
        grades.keep(tmp_path)
    named = Pool("relic/val", Grades(), pool.seed, pool.documents)
    with pytest.raises(InputError, match="of texts, not of relic/val"):
        named.keep(tmp_path)
    assert (tmp_path / "pool.json").read_bytes() == before
    (tmp_path / "pool.json").write_text("{}")
    with pytest.raises(InputError, match="not a pool"):
        pool.keep(tmp_path)


@pytest.mark.parametrize("text", ["3", "3-0", "0-0", "0-10", "a-b", "-1-2", ""])
def test_grades_are_two_digits(text: str) -> None:
    with pytest.raises(InputError, match="not two digits"):
        Grades.parse(text)
    assert list(Grades.parse("1-3").values()) == [1, 2, 3]
    assert Grades.parse("0-1").named({0: "no", 1: "yes"}).labels == {0: "no", 1: "yes"}
    assert Grades.parse("0-2").named({0: "no", 1: "yes"}).labels == {}
