"""CSFCube's analyses on judgments whose figures are computed by hand."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.csfcube_records import CSFCubeQrel, CSFCubeQuery
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.csfcube_agreement import CSFCubeAgreement
from irtoolkit.papers.analyses.csfcube_citations import CSFCubeCitations
from irtoolkit.papers.analyses.csfcube_facets import CSFCubeFacets, CSFCubeQueries
from irtoolkit.runs import Run
from tests.unit.papers.analyses.planted import dataset, figures


def query(paper: str, facet: str) -> CSFCubeQuery:
    return CSFCubeQuery(
        f"{paper}_{facet}", paper, facet, f"On {paper}", ("A.",), (facet,), ("A.",), 2020, "x"
    )


def rows(query_id: str, *judged: tuple[int, int, int, bool]) -> list[CSFCubeQrel]:
    """Judgments from (first rating, second rating, grade, whether it is cited)."""
    return [
        CSFCubeQrel(query_id, f"d{i}", grade, (one, two), ("cited",) if cited else ("tfidf",))
        for i, (one, two, grade, cited) in enumerate(judged)
    ]


@pytest.fixture
def data() -> Dataset:
    """Two papers, of which the first is a query in two facets."""
    queries = [query("p", "background"), query("p", "method"), query("r", "background")]
    qrels = [
        *rows("p_background", (0, 0, 0, True), (1, 2, 2, True), (3, 3, 3, False), (-1, 1, 1, True)),
        *rows("p_method", (0, 0, 0, False), (0, 0, 0, False), (2, 1, 2, True), (1, 1, 0, True)),
        *rows(
            "r_background", (0, 1, 1, False), (1, 1, 1, False), (2, 3, 3, False), (0, 0, 0, True)
        ),
    ]
    return dataset(queries, qrels)


def test_agreement_is_the_median_over_queries(data: Dataset) -> None:
    found = figures(CSFCubeAgreement(), data, "agreement")
    # Equal ratings: 2 of 4 in p_background, whose missing one counts as 0, 2 of 4 in r_background.
    assert found["background", "before"][3] == pytest.approx(50)
    assert found["method", "before"][3] == pytest.approx(75)
    # First with grade 2 of 4 and second 4 of 4 in p; 2 of 4 and 4 of 4 in r: both mean 75.
    assert found["background", "after"][3] == pytest.approx(75)
    # κ of p_method: 3 of 4 equal; chance (2 x 2 + 1 x 2 + 1 x 0) / 16.
    assert found["method", "before"][2] == pytest.approx((0.75 - 6 / 16) / (1 - 6 / 16))


def test_missing_ratings_can_be_left_out(data: Dataset) -> None:
    found = figures(CSFCubeAgreement(missing="drop"), data, "agreement")
    assert found["background", "before"][3] == pytest.approx((200 / 3 + 50) / 2)


def test_a_run_that_lacks_queries_is_refused(data: Dataset) -> None:
    run = Run.of({"p_background": {"d1": 1.0}})
    with pytest.raises(InputError, match=r"mine lacks 2 of 3 queries, such as p_method"):
        figures(CSFCubeQueries("P@1"), data, "background-method", {"mine": run})


@pytest.mark.parametrize("kind", [CSFCubeFacets, CSFCubeQueries])
def test_a_paper_in_two_facets_is_needed(kind: type) -> None:
    data = dataset([query("p", "method")], rows("p_method", (1, 1, 1, False)))
    runs = {"r": Run.of({"p_method": {"d0": 1.0}})} if kind is CSFCubeQueries else {}
    with pytest.raises(InputError, match="no paper of planted is a query in two facets"):
        figures(kind(), data, "grades", runs)


def test_ratings_of_two_annotators_are_needed() -> None:
    alone = [CSFCubeQrel("p_method", "d0", 1, (1,), ("cited",))]
    with pytest.raises(InputError, match="no ratings of two annotators"):
        figures(CSFCubeAgreement(), dataset([query("p", "method")], alone), "agreement")


def test_data_without_citations_are_refused() -> None:
    data = dataset([query("p", "method")], rows("p_method", (1, 1, 1, False)))
    with pytest.raises(InputError, match="has the source 'cited'"):
        figures(CSFCubeCitations(), data, "grades")
