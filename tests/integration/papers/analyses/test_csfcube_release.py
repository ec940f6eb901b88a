"""CSFCube's analyses of the real release, beside the paper's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.csfcube_agreement import BEFORE, CSFCubeAgreement, judged
from irtoolkit.papers.analyses.csfcube_citations import CSFCubeCitations
from irtoolkit.papers.analyses.csfcube_facets import CSFCubeFacets
from irtoolkit.papers.analyses.result import AnalysisResult


def differing(result: AnalysisResult) -> tuple[list[tuple[object, ...]], int]:
    """Names and column of each figure that is not the paper's, and how many were compared."""
    found, count = [], 0
    for table in result.findings.tables:
        for row in table.rows:
            for column, value, printed in zip(table.columns, row.values, row.reported, strict=True):
                if printed is None:
                    continue
                count += 1
                assert isinstance(value, float)
                if not column.same(value, printed):
                    found.append((*row.names, column.name))
    return found, count


def test_all_figures_of_table_2_but_one_come_out(real_csfcube: Path) -> None:
    found, count = differing(analyse(CSFCubeAgreement()))
    assert count == 24
    assert found == [("background", BEFORE, "ρ")]


def test_the_other_figure_is_the_lower_of_the_middle_two(real_csfcube: Path) -> None:
    """As the analysis remarks; the row's percentage needs the mean of both."""
    data, analysis = Dataset.load("csfcube/background"), CSFCubeAgreement()
    grades = judged(data)
    own = {
        query: [row for row in rows if row.doc_id != query.partition("_")[0]]
        for query, rows in grades.items()
    }
    printed = CSFCubeAgreement.reported["agreement"]["background", BEFORE]
    for rows in (grades, own):
        found = np.array([analysis.of_query(one, BEFORE) for one in rows.values()])
        low, high = np.sort(found, axis=0)[len(found) // 2 - 1 : len(found) // 2 + 1]
        assert f"{low[0]:.2f}" == f"{printed[0]:.2f}" != f"{(low[0] + high[0]) / 2:.2f}"
        assert f"{(low[3] + high[3]) / 2:.2f}" == f"{printed[3]:.2f}" != f"{low[3]:.2f}"
    # Without one query the median is another, and so are the other figures.
    whole = [f"{figure:.2f}" for figure in printed if figure is not None]
    for place in range(len(grades)):
        kept = np.array([analysis.of_query(one, BEFORE) for one in grades.values()])
        rest = np.median(np.delete(kept, place, axis=0), axis=0)
        assert [f"{figure:.2f}" for figure in rest] != whole


def test_the_figures_of_appendix_d_come_out(real_csfcube: Path) -> None:
    assert differing(analyse(CSFCubeCitations())) == ([], 3)


def test_every_candidate_of_a_paper_in_two_facets_is_counted(real_csfcube: Path) -> None:
    (table,) = analyse(CSFCubeFacets()).findings.tables
    pools = Dataset.load("csfcube").pools()
    papers = [query.partition("_")[0] for query in pools]
    twice = {paper for paper in papers if papers.count(paper) == 2}
    candidates = sum(len(pools[query]) for query in pools if query.partition("_")[0] in twice) / 2
    assert sum(int(str(n)) for row in table.rows for n in row.values) == candidates
    assert len(twice) == 16
