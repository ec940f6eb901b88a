"""CSFCube through ir_datasets: the invented sample always, the real release where there is one.

What is expected is read from the release's files again, here, with nothing but json and csv; or it
is what the paper prints.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, NoReturn

import ir_datasets
import ir_measures
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


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No release anywhere, and no network; gives ir_datasets' empty home."""
    home = tmp_path / "home"
    home.mkdir()

    def fail(url: str) -> NoReturn:
        raise OSError("the wire is cut")

    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    monkeypatch.setattr("irtoolkit.datasets.github.fetch", fail)
    return home


# ---- documents -----------------------------------------------------------------------------------


def test_docs_are_the_abstracts_in_file_order(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    expected = [
        (
            paper["paper_id"],
            paper["title"],
            tuple(paper["abstract"]),
            tuple(label[: -len("_label")] for label in paper["pred_labels"]),
            paper["metadata"]["year"],
        )
        for paper in files.papers
    ]
    assert [tuple(doc) for doc in dataset.docs_iter()] == expected
    assert dataset.docs_count() == len(expected) == len(dataset.docs)


def test_doc_texts(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    for doc, paper in zip(dataset.docs_iter(), files.papers, strict=True):
        text = " ".join(paper["abstract"])
        assert doc.abstract == text
        assert doc.default_text() == f"{paper['title']} {text}"


def test_labels_are_the_five_of_the_paper(files: Files) -> None:
    labels = {label for doc in ir_datasets.load(files.name).docs_iter() for label in doc.labels}
    assert labels == {"background", "objective", "method", "result", "other"}


def test_docs_iter_is_indexed_and_sliced(files: Files) -> None:
    docs = ir_datasets.load(files.name).docs_iter
    ids = [paper["paper_id"] for paper in files.papers]
    assert docs()[0].doc_id == ids[0]
    assert docs()[-1].doc_id == ids[-1]
    assert [doc.doc_id for doc in docs()[3:7]] == ids[3:7]
    assert [doc.doc_id for doc in docs()[:9][2:5]] == ids[2:5]
    assert [doc.doc_id for doc in docs()[1::11]] == ids[1::11]
    assert [doc.doc_id for doc in docs()[-4:]] == ids[-4:]
    with pytest.raises(IndexError):
        docs()[len(ids)]


def test_docs_iter_starts_anew_each_time(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    first = dataset.docs_iter()
    assert next(first).doc_id == files.papers[0]["paper_id"]
    assert next(dataset.docs_iter()).doc_id == files.papers[0]["paper_id"]
    assert next(first).doc_id == files.papers[1]["paper_id"]


def test_docs_store_finds_every_paper(files: Files) -> None:
    store = ir_datasets.load(files.name).docs_store()
    for paper in files.papers:
        assert store.get(paper["paper_id"]).title == paper["title"]
    one, two = files.papers[1]["paper_id"], files.papers[-1]["paper_id"]
    found = store.get_many([two, "no such paper", one])
    assert {key: doc.doc_id for key, doc in found.items()} == {one: one, two: two}
    assert store.get(one, "title") == files.papers[1]["title"]
    assert store.get_many([two], "year") == {two: files.papers[-1]["metadata"]["year"]}
    assert [doc.doc_id for doc in store.get_many_iter([two, "nor this", one])] == [two, one]
    with pytest.raises(KeyError, match="no such paper"):
        store.get("no such paper")


@pytest.mark.parametrize("part", PARTS)
def test_parts_share_one_docs_handler(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    assert ir_datasets.docs_parent_id(files.name + part) == files.name
    assert dataset.docs_handler() is ir_datasets.load(files.name).docs_handler()
    assert dataset.docs_count() == len(files.papers)


# ---- queries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_queries_are_those_listed(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    ids = [query.query_id for query in dataset.queries_iter()]
    assert len(ids) == len(set(ids)) == dataset.queries_count() == len(files.rows(part))
    assert set(ids) == set(files.ids(part))
    # Within a facet the order is the file's.
    for facet in FACETS:
        mine = [i for i in ids if i.endswith(f"_{facet}")]
        assert mine == [i for i in files.ids(part) if i.endswith(f"_{facet}")]


def test_query_records_repeat_paper_and_list(files: Files) -> None:
    queries = ir_datasets.load(files.name).queries_dict()
    for row in files.listed:
        paper, query = files.paper(row["pid"]), queries[f"{row['pid']}_{row['facet']}"]
        assert query.query_id == f"{query.doc_id}_{query.facet}"
        assert (query.doc_id, query.facet) == (row["pid"], row["facet"])
        assert query.title == paper["title"] == row["title"]
        assert query.sentences == tuple(paper["abstract"])
        assert [f"{label}_label" for label in query.labels] == paper["pred_labels"]
        assert query.year == int(row["year"])
        assert query.paper_type == row["paper type"]
        assert query.abstract == " ".join(paper["abstract"])


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


def test_query_papers_are_documents(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    store = dataset.docs_store()
    for query in dataset.queries_iter():
        doc = store.get(query.doc_id)
        assert (doc.title, doc.sentences, doc.labels) == (
            query.title,
            query.sentences,
            query.labels,
        )


# ---- judgments and pools -------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_qrels_are_the_adjudicated_grades(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    expected = {query_id: files.graded(query_id) for query_id in files.ids(part)}
    assert dataset.qrels_dict() == expected
    assert sum(1 for _ in dataset.qrels_iter()) == sum(map(len, expected.values()))
    assert len(dataset.qrels) == sum(map(len, expected.values()))


def test_qrels_keep_the_order_of_their_file(files: Files) -> None:
    order: dict[str, list[str]] = {}
    for row in ir_datasets.load(files.name).qrels_iter():
        order.setdefault(row.query_id, []).append(row.doc_id)
    assert order == {query_id: files.grades[query_id]["cands"] for query_id in files.ids()}


def test_qrels_come_query_by_query_as_the_queries_do(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    ids = list(dict.fromkeys(row.query_id for row in dataset.qrels_iter()))
    assert ids == [query.query_id for query in dataset.queries_iter()]


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


def test_grade_distribution(files: Files) -> None:
    expected = Counter(g for i in files.ids() for g in files.grades[i]["relevance_adju"])
    got = Counter(row.relevance for row in ir_datasets.load(files.name).qrels_iter())
    assert got == expected
    assert set(got) == {0, 1, 2, 3}


@pytest.mark.parametrize("part", PARTS)
def test_pools_are_the_judged_sets(files: Files, part: str) -> None:
    dataset = ir_datasets.load(files.name + part)
    rows = list(dataset.scoreddocs_iter())
    judged = [(row.query_id, row.doc_id) for row in dataset.qrels_iter()]
    assert [(row.query_id, row.doc_id) for row in rows] == judged
    assert len(set(judged)) == len(judged)
    assert {row.score for row in rows} == {0}
    assert all(type(row.score) is float for row in rows)


def test_every_candidate_has_a_text_and_was_pooled(files: Files) -> None:
    dataset = ir_datasets.load(files.name)
    texts = {paper["paper_id"] for paper in files.papers}
    pooled = {paper: set(pool["cands"]) for paper, pool in files.pools.items()}
    rows = list(dataset.scoreddocs_iter())
    assert {row.doc_id for row in rows} <= texts
    assert all(row.doc_id in pooled[row.query_id.split("_")[0]] for row in rows)
    found = dataset.docs_store().get_many({row.doc_id for row in rows})
    assert all(found[row.doc_id].sentences for row in rows)


def test_parts_make_up_the_whole(files: Files) -> None:
    whole = ir_datasets.load(files.name)
    parts = [ir_datasets.load(f"{files.name}/{facet}") for facet in FACETS]
    for kind in ("queries_iter", "qrels_iter", "scoreddocs_iter"):
        pieces = [row for part in parts for row in getattr(part, kind)()]
        assert len(pieces) == sum(1 for _ in getattr(whole, kind)())
        assert set(pieces) == set(getattr(whole, kind)())


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
def test_protocol_measures_are_the_five_of_table_4(files: Files, part: str) -> None:
    plan = ir_datasets.load(files.name + part).irtoolkit().protocol_of()
    expected = ["RPlast(rel=2)", "P(rel=2)@20", "RListed(rel=2)@20", "nDCGp(p=100)", "nDCGp(p=20)"]
    assert [ir_measures.parse_measure(name) for name in plan.measures] == [
        ir_measures.parse_measure(name) for name in expected
    ]


@pytest.mark.parametrize("name", ["csfcube", "csfcube/sample"])
def test_records_are_of_the_classes_named(name: str, request: pytest.FixtureRequest) -> None:
    if name == "csfcube":
        request.getfixturevalue("real_csfcube")
    dataset = ir_datasets.load(name)
    for kind in ("docs", "queries", "qrels", "scoreddocs"):
        record = next(iter(getattr(dataset, f"{kind}_iter")()))
        assert type(record) is getattr(dataset, f"{kind}_cls")()


@pytest.mark.parametrize("name", ["csfcube", "csfcube/sample"])
@pytest.mark.parametrize("part", PARTS)
def test_documentation_and_bibliography(name: str, part: str) -> None:
    dataset = ir_datasets.load(name + part)
    about = dataset.irtoolkit()
    record = dataset.documentation()
    assert record["bibtex"] == about.bibtex
    assert re.match(r"@inproceedings\{\w+,\n", about.bibtex)
    assert about.bibtex.count("{") == about.bibtex.count("}")
    for word in ("Mysore", "O'Gorman", "McCallum", "Zamani", "2021", "Faceted Query by"):
        assert word in about.bibtex
    assert record["desc"]
    assert record["pretty_name"].startswith("CSFCube")
    assert about.url == "https://github.com/iesl/CSFCube"


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


def test_only_the_whole_real_collection_stands_beside_the_paper(files: Files) -> None:
    """The paper's figures are those of all 50 queries: of no part, and of no sample."""
    for part in PARTS:
        rows = ir_datasets.load(files.name + part).irtoolkit().statistics_of()
        printed = [row.reported is not None for row in rows]
        assert printed == [files.name + part == "csfcube"] * len(rows)


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


@pytest.mark.parametrize(("facet", "count"), [("background", 16), ("method", 17), ("result", 17)])
def test_queries_of_each_facet_as_in_section_3(real: Files, facet: str, count: int) -> None:
    assert ir_datasets.load(f"csfcube/{facet}").queries_count() == count


def test_query_papers_as_in_section_3(real: Files) -> None:
    """16 abstracts with two facets, 18 with one; three kinds of paper; 1995 to 2019."""
    queries = list(ir_datasets.load("csfcube").queries_iter())
    facets = Counter(Counter(query.doc_id for query in queries).values())
    assert facets == {2: 16, 1: 18}
    assert len({query.paper_type for query in queries}) == 3
    assert all(1995 <= query.year <= 2019 for query in queries)


def test_eight_pools_of_about_250_as_in_section_3(real: Files) -> None:
    sizes = Counter(row.query_id for row in ir_datasets.load("csfcube").scoreddocs_iter())
    assert sum(size > 200 for size in sizes.values()) == 8
    assert all(80 <= size <= 150 for size in sizes.values() if size <= 200)


@pytest.mark.parametrize(
    ("facet", "before", "after"),
    [("background", 57.07, 77.68), ("method", 69.60, 84.47), ("result", 67.46, 83.53)],
)
def test_agreement_of_table_2(real: Files, facet: str, before: float, after: float) -> None:
    """Ratings and grades give the paper's % agreement: medians over queries, -1 counted as 0."""
    between: dict[str, list[float]] = {}
    adjudicated: dict[str, list[float]] = {}
    for row in ir_datasets.load(f"csfcube/{facet}").qrels_iter():
        one, two = (max(rating, 0) for rating in row.ratings)
        between.setdefault(row.query_id, []).append(one == two)
        agree = ((one == row.relevance) + (two == row.relevance)) / 2
        adjudicated.setdefault(row.query_id, []).append(agree)
    assert round(100 * median(map(mean, between.values())), 2) == before
    assert round(100 * median(map(mean, adjudicated.values())), 2) == after


def test_missing_ratings_of_the_real_release(real: Files) -> None:
    ratings = [r for row in ir_datasets.load("csfcube").qrels_iter() for r in row.ratings]
    assert ratings.count(-1) == 17
    assert len(ratings) == 2 * 6244


def test_ungraded_papers_of_the_real_release(real: Files) -> None:
    ungraded = {"41022419", "5111924"}
    assert all(ungraded <= set(pool["cands"]) for pool in real.pools.values())
    dataset = ir_datasets.load("csfcube")
    assert not ungraded & {row.doc_id for row in dataset.scoreddocs_iter()}
    assert not ungraded & {doc.doc_id for doc in dataset.docs_iter()}


def test_a_paper_is_its_own_candidate(real: Files) -> None:
    own = {
        row.query_id: row.relevance
        for row in ir_datasets.load("csfcube").qrels_iter()
        if row.query_id.split("_")[0] == row.doc_id
    }
    assert own == {"8781666_background": 3, "8781666_result": 3}


# ---- a sample is never the real release, nor the other way round ---------------------------------


def _altered_copy(folder: Path) -> Path:
    """The sample's files with every title changed, where the real release is looked for."""
    shutil.copytree(SAMPLE, folder / "csfcube")
    path = folder / "csfcube" / "abstracts-csfcube-preds.jsonl"
    papers = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps(paper | {"title": f"Altered {n}"}) for n, paper in enumerate(papers)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("variable", ["IRTOOLKIT_DATA", "IR_DATASETS_HOME"])
@pytest.mark.parametrize("part", PARTS)
def test_sample_ids_read_the_sample_only(
    nothing_here: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sample: Files,
    variable: str,
    part: str,
) -> None:
    monkeypatch.setenv(variable, str(_altered_copy(tmp_path / "elsewhere")))
    titles = [doc.title for doc in ir_datasets.load(f"csfcube/sample{part}").docs_iter()]
    assert titles == [paper["title"] for paper in sample.papers]
    altered = [doc.title for doc in ir_datasets.load(f"csfcube{part}").docs_iter()]
    assert altered == [f"Altered {n}" for n in range(len(titles))]
    where = ir_datasets.load(f"csfcube{part}").irtoolkit().where()
    assert where == str(tmp_path / "elsewhere" / "csfcube")


def test_real_and_sample_have_nothing_in_common(real: Files, sample: Files) -> None:
    for key in ("paper_id", "title"):
        assert not {paper[key] for paper in real.papers} & {paper[key] for paper in sample.papers}
    sentences = {sentence for paper in real.papers for sentence in paper["abstract"]}
    assert not any(
        sentence in sentences for paper in sample.papers for sentence in paper["abstract"]
    )
    pooled = {doc for pool in sample.pools.values() for doc in pool["cands"]}
    assert not pooled & {paper["paper_id"] for paper in real.papers}
    assert not pooled & {doc for pool in real.pools.values() for doc in pool["cands"]}


# ---- the sample itself ---------------------------------------------------------------------------


def test_the_sample_has_the_quirks_of_the_release(sample: Files) -> None:
    """Two facets of one paper, a paper in its own pool, and pools that are no ranking by grade."""
    assert max(Counter(row["pid"] for row in sample.listed).values()) == 2
    own = [i for i in sample.ids() if i.split("_")[0] in sample.grades[i]["cands"]]
    assert own
    for query_id in sample.ids():
        grades = sample.grades[query_id]["relevance_adju"]
        assert grades != sorted(grades, reverse=True)
        assert grades != sorted(grades)
    both = [row["pid"] for row in sample.listed]
    for paper in {pid for pid in both if both.count(pid) == 2}:
        pools = [sample.grades[i] for i in sample.ids() if i.startswith(f"{paper}_")]
        assert set(pools[0]["cands"]) == set(pools[1]["cands"])
        assert pools[0]["cands"] != pools[1]["cands"]


def test_every_paper_of_the_sample_is_used(sample: Files) -> None:
    used = {row["pid"] for row in sample.listed}
    used |= {doc for pool in sample.grades.values() for doc in pool["cands"]}
    assert used == {paper["paper_id"] for paper in sample.papers}
