"""CSFCube through ir_datasets: the invented sample always, the real release where there is one.

What is expected is read from the release's files again, here, with nothing but json and csv; or it
is what the paper prints.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import ir_datasets
import pytest

import irtoolkit.datasets.csfcube_release as records
import irtoolkit.measures  # noqa: F401  registers the measures of the protocol

SAMPLE = Path(records.__file__).parent / "samples" / "csfcube"
FACETS = ("background", "method", "result")
PARTS = ("", "/background", "/method", "/result")
# The paper, §3: "objective and background are merged into one facet called background".
MEANT = {
    "background": ("background_label", "objective_label"),
    "method": ("method_label",),
    "result": ("result_label",),
}


@dataclass(frozen=True)
class Files:
    """A release's files read plainly, and the id under which irtoolkit offers them."""

    name: str
    folder: Path
    papers: list[dict[str, Any]]
    listed: list[dict[str, str]]
    grades: dict[str, dict[str, Any]]
    pools: dict[str, dict[str, Any]]
    splits: dict[str, dict[str, list[str]]]

    def rows(self, part: str = "") -> list[dict[str, str]]:
        """The rows of the query list that belong to a dataset id's last part."""
        return [row for row in self.listed if part in ("", f"/{row['facet']}")]

    def ids(self, part: str = "") -> list[str]:
        return [f"{row['pid']}_{row['facet']}" for row in self.rows(part)]

    def graded(self, query_id: str) -> dict[str, int]:
        record = self.grades[query_id]
        return dict(zip(record["cands"], record["relevance_adju"], strict=True))

    def paper(self, paper_id: str) -> dict[str, Any]:
        return next(paper for paper in self.papers if paper["paper_id"] == paper_id)


def read(name: str, folder: Path) -> Files:
    def whole(file: str) -> Any:
        return json.loads((folder / file).read_text(encoding="utf-8"))

    with (folder / "queries-release.csv").open(encoding="utf-8", newline="") as lines:
        listed = list(csv.DictReader(lines))
    abstracts = (folder / "abstracts-csfcube-preds.jsonl").read_text(encoding="utf-8")
    return Files(
        name,
        folder,
        [json.loads(line) for line in abstracts.split("\n") if line],
        listed,
        {
            f"{paper}_{facet}": pool
            for facet in FACETS
            for paper, pool in whole(f"test-pid2anns-csfcube-{facet}.json").items()
        },
        whole("test-pid2pool-csfcube.json"),
        whole("evaluation_splits.json"),
    )


@pytest.fixture(scope="module", params=["csfcube/sample", "csfcube"])
def files(request: pytest.FixtureRequest) -> Files:
    if request.param == "csfcube/sample":
        return read(request.param, SAMPLE)
    return read(request.param, request.getfixturevalue("real_csfcube"))


@pytest.fixture(scope="module")
def sample() -> Files:
    return read("csfcube/sample", SAMPLE)


@pytest.fixture(scope="module")
def real(real_csfcube: Path) -> Files:
    return read("csfcube", real_csfcube)


# ---- documents -----------------------------------------------------------------------------------


# ---- queries -------------------------------------------------------------------------------------


def test_facet_sentences_are_those_labelled(files: Files) -> None:
    seen = set()
    for query in ir_datasets.load(files.name).queries_iter():
        paper = files.paper(query.doc_id)
        expected = [
            sentence
            for sentence, label in zip(paper["abstract"], paper["pred_labels"], strict=True)
            if label in MEANT[query.facet]
        ]
        assert expected
        assert list(query.facet_sentences) == expected
        assert query.default_text() == " ".join(expected)
        seen.update(set(query.labels) & {label[: -len("_label")] for label in MEANT[query.facet]})
    assert seen == {"background", "objective", "method", "result"}


# ---- judgments and pools -------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_qrels_are_the_adjudicated_grades(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    expected = {query_id: files.graded(query_id) for query_id in files.ids(part)}
    assert dataset.qrels_dict() == expected
    assert sum(1 for _ in dataset.qrels_iter()) == sum(map(len, expected.values()))
    assert len(dataset.qrels) == sum(map(len, expected.values()))


def test_ratings_are_the_two_annotators(files: Files) -> None:
    """One column of ratings for each annotator, whatever they are called, beside the same ids."""
    pools: dict[str, list[Any]] = {}
    for row in ir_datasets.load(files.name).qrels_iter():
        pools.setdefault(row.query_id, []).append((row.doc_id, row.ratings))
    for query_id, rows in pools.items():
        record = files.grades[query_id]
        columns = [record[key] for key in record if key.startswith("relevance_ann")]
        assert len(columns) == 2
        assert [doc_id for doc_id, _ in rows] == record["cands"]
        got = [list(column) for column in zip(*(ratings for _, ratings in rows), strict=True)]
        assert sorted(got) == sorted(columns)


def test_sources_are_the_methods_of_the_pool_file(files: Files) -> None:
    for row in ir_datasets.load(files.name).qrels_iter():
        pool = files.pools[row.query_id.split("_")[0]]
        assert row.sources == tuple(pool["cand_source"][pool["cands"].index(row.doc_id)])


def test_an_unjudged_pool_member_is_no_candidate(files: Files) -> None:
    """The pooling file ends with ids that have neither text nor grade; they are left out."""
    dataset = ir_datasets.load(files.name)
    texts = {paper["paper_id"] for paper in files.papers}
    absent = {doc for pool in files.pools.values() for doc in pool["cands"]} - texts
    assert len(absent) == (1 if files.name == "csfcube/sample" else 2)
    assert not absent & {row.doc_id for row in dataset.scoreddocs_iter()}
    assert not absent & {row.doc_id for row in dataset.qrels_iter()}
    assert dataset.docs_store().get_many(absent) == {}


# ---- protocol and description --------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_folds_are_those_of_evaluation_splits(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    plan = dataset.irtoolkit().protocol_of()
    split = files.splits[part[1:] or "all"]
    assert [list(fold) for fold in plan.folds] == [split["fold1_test"], split["fold2_test"]]
    first, second = map(set, plan.folds)
    assert first
    assert second
    assert not first & second
    assert first | second == {query.query_id for query in dataset.queries_iter()}
    assert "folds" in plan.note


@pytest.mark.parametrize("part", PARTS)
def test_statistics_are_counted_from_the_files(files: Files, part: str) -> None:
    rows = ir_datasets.load(files.name + part).irtoolkit().statistics_of()
    grades = [files.grades[query_id]["relevance_adju"] for query_id in files.ids(part)]
    related = [sum(grade >= 1 for grade in pool) for pool in grades]
    similar = [sum(grade in (2, 3) for grade in pool) for pool in grades]
    pairs = sum(len(pool) for pool in grades)
    assert [row.value for row in rows] == pytest.approx(
        [
            len(grades),
            len({row["pid"] for row in files.rows(part)}),
            pairs / len(grades),
            pairs,
            *(min(related), max(related), mean(related)),
            *(min(similar), max(similar), mean(similar)),
        ]
    )


# ---- the real release against the paper ----------------------------------------------------------


def test_table_1(real: Files) -> None:
    """Every figure of Table 1 comes out of the data as printed, but for one.

    The paper prints 9.8 candidates rated +2/+3 per query on average. Its data have 496 of them for
    50 queries, which is 9.92.
    """
    printed = {
        "Query abstract-facet pairs": "50",
        "Unique query abstracts": "34",
        "Mean candidate pool size": "124.9",
        "Query-candidate pairs": "6244",
        "Candidates rated +1 or higher per query, min": "12",
        "Candidates rated +1 or higher per query, max": "87",
        "Candidates rated +1 or higher per query, avg": "36.9",
        "Candidates rated +2/+3 per query, min": "1",
        "Candidates rated +2/+3 per query, max": "35",
    }
    rows = {row.name: row for row in ir_datasets.load("csfcube").irtoolkit().statistics_of()}
    odd = rows.pop("Candidates rated +2/+3 per query, avg")
    assert rows.keys() == printed.keys()
    for name, figure in printed.items():
        places = len(figure.partition(".")[2])
        assert f"{rows[name].value:.{places}f}" == figure
        assert rows[name].reported == float(figure)
    assert (odd.value, odd.reported) == (pytest.approx(9.92), 9.8)
    high = [row for row in ir_datasets.load("csfcube").qrels_iter() if row.relevance >= 2]
    assert len(high) == 496
