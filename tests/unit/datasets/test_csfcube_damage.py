"""Every way a CSFCube release can be damaged: refused, with its place, and never half-loaded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

import irtoolkit.datasets.csfcube_release as records
from irtoolkit.base.errors import InputError

SAMPLE = Path(records.__file__).parent / "samples" / "csfcube"
ABSTRACTS = "abstracts-csfcube-preds.jsonl"
QUERIES = "queries-release.csv"
SPLITS = "evaluation_splits.json"
POOLS = "test-pid2pool-csfcube.json"
BACKGROUND = "test-pid2anns-csfcube-background.json"
METHOD = "test-pid2anns-csfcube-method.json"
RESULT = "test-pid2anns-csfcube-result.json"
JSON_FILES = (SPLITS, POOLS, BACKGROUND, METHOD, RESULT)
FILES = (ABSTRACTS, QUERIES, *JSON_FILES)

# A query paper of the sample that has a background query, its place among the abstracts, and a
# method query's paper.
PAPER = "910000057"
ROW = 2  # the line of PAPER_background in the query list

Change = Callable[[Any], None]


def use() -> None:
    """Reads the collection as a user does."""
    list(ir_datasets.load("csfcube").queries_iter())


def refused(release: Path) -> InputError:
    """The error that reading gives; it names the folder or one of its files."""
    with pytest.raises(InputError) as caught:
        use()
    assert caught.value.file in {str(path) for path in (release, *map(release.joinpath, FILES))}
    return caught.value


def assert_refused(release: Path, file: str, line: int | None, *found: str) -> None:
    """Refused with this file and line and these words, and with what to do about it."""
    error = refused(release)
    assert error.file == str(release / file)
    assert error.line == line
    for text in found:
        assert text in error.found
    assert error.remedy
    place = str(release / file) + ("" if line is None else f":{line}")
    assert str(error).startswith(f"{place}: ")


def edit(path: Path, change: Change, indent: int | None = None) -> Any:
    """Changes the value of a JSON file in place."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    return value


def edit_paper(release: Path, line: int, change: Change) -> dict[str, Any]:
    """Changes the record in a line of the abstracts file."""
    path = release / ABSTRACTS
    lines = path.read_text(encoding="utf-8").splitlines()
    record: dict[str, Any] = json.loads(lines[line - 1])
    change(record)
    lines[line - 1] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return record


def edit_rows(release: Path, change: Callable[[list[list[str]]], None]) -> None:
    """Changes the rows of the query list, of which the first is its header."""
    path = release / QUERIES
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    change(rows)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")


def line_of_paper(release: Path, paper: str) -> int:
    for number, line in enumerate((release / ABSTRACTS).read_text().splitlines(), 1):
        if json.loads(line)["paper_id"] == paper:
            return number
    raise LookupError(paper)


# ---- undamaged -----------------------------------------------------------------------------------


# ---- files that are missing, cut or mis-encoded --------------------------------------------------


@pytest.mark.parametrize("file", [ABSTRACTS, *JSON_FILES])
def test_every_truncation_is_refused(release: Path, file: str) -> None:
    """Cut anywhere before its end, a file is refused, in its own name or as lacking something."""
    whole = (release / file).read_bytes().rstrip()
    # Abstracts that are lacking show in the first file that counts on them.
    blamed = [file, BACKGROUND, METHOD, RESULT] if file == ABSTRACTS else [file]
    for cut in sorted({round(k * (len(whole) - 1) / 30) for k in range(31)}):
        (release / file).write_bytes(whole[:cut])
        error = refused(release)
        assert error.file in [str(release / name) for name in blamed], cut
        assert error.line is not None or (cut == 0 and file == ABSTRACTS), cut
    (release / file).write_bytes(whole)
    use()


@pytest.mark.parametrize("file", JSON_FILES)
@pytest.mark.parametrize("value", ["[]", "[{}]", "3", '"text"', "null", '{"all": []}', '{"a": 1}'])
def test_json_that_is_no_object_of_objects(release: Path, file: str, value: str) -> None:
    (release / file).write_text(value)
    assert_refused(release, file, 1, "not an object of objects")


# ---- abstracts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda r: r["pred_labels"].pop(), "labels"),
        (lambda r: r["abstract"].append("One more."), "labels"),
        (lambda r: r.update(abstract=[], pred_labels=[]), "has no sentences"),
        (lambda r: r.pop("abstract"), "abstract and pred_labels"),
        (lambda r: r.pop("pred_labels"), "abstract and pred_labels"),
        (lambda r: r.update(abstract="One text."), "lists of strings"),
        (lambda r: r["abstract"].__setitem__(0, 5), "lists of strings"),
        (lambda r: r["pred_labels"].__setitem__(-1, None), "lists of strings"),
        (lambda r: r["pred_labels"].__setitem__(0, "metod_label"), "metod"),
        (lambda r: r.pop("title"), "has no title"),
        (lambda r: r.update(title=None), "has no title"),
        (lambda r: r.update(title=["A"]), "has no title"),
        (lambda r: r.update(metadata=[2019]), "metadata"),
        (lambda r: r["metadata"].update(year="2019"), "year"),
    ],
    ids=[
        "a label less", "a sentence more", "none of either", "no abstract", "no labels",
        "abstract a text", "a number as sentence", "null as label", "unknown label", "no title",
        "title null", "title a list", "metadata a list", "year a text",
    ],
)  # fmt: skip
def test_a_paper_that_is_none(release: Path, change: Change, found: str) -> None:
    paper = edit_paper(release, 12, change)
    assert_refused(release, ABSTRACTS, 12, paper["paper_id"], found)


def test_a_paper_twice(release: Path) -> None:
    path = release / ABSTRACTS
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:10], lines[3], *lines[10:]]) + "\n")
    assert_refused(release, ABSTRACTS, 11, json.loads(lines[3])["paper_id"], "twice")


# ---- grades --------------------------------------------------------------------------------------

LISTS = ("cands", "relevance_adju", "relevance_ann1")


@pytest.mark.parametrize("grade", [4, "1", {}])
def test_a_grade_that_is_none_of_the_four(release: Path, grade: Any) -> None:
    value = edit(release / BACKGROUND, lambda v: v[PAPER]["relevance_adju"].__setitem__(3, grade))
    doc = value[PAPER]["cands"][3]
    found = f"candidate {doc} of {PAPER} (background) has the grade {grade!r}"
    assert_refused(release, BACKGROUND, 1, found)


@pytest.mark.parametrize("rating", [-2, "0", [0]])
def test_a_rating_out_of_range(release: Path, rating: Any) -> None:
    value = edit(release / BACKGROUND, lambda v: v[PAPER]["relevance_ann1"].__setitem__(0, rating))
    found = (f"candidate {value[PAPER]['cands'][0]} of {PAPER}", f"{rating!r}", "ratings")
    assert_refused(release, BACKGROUND, 1, *found)


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize("how", ["short", "long", "empty", "no list"])
def test_lists_of_different_lengths(release: Path, key: str, how: str) -> None:
    def change(value: Any) -> None:
        old = value[PAPER][key]
        new = {"short": old[:-1], "long": [*old, old[0]], "empty": [], "no list": len(old)}
        value[PAPER][key] = new[how]

    edit(release / BACKGROUND, change)
    assert_refused(release, BACKGROUND, 1, f"the lists of {PAPER} differ in length", key)


def test_a_candidate_twice(release: Path) -> None:
    value = edit(
        release / BACKGROUND,
        lambda v: v[PAPER]["cands"].__setitem__(-1, v[PAPER]["cands"][0]),
    )
    doc = value[PAPER]["cands"][0]
    assert_refused(release, BACKGROUND, 1, f"candidate {doc} of {PAPER}", "appears twice")


def test_a_candidate_twice_in_the_pool_file(release: Path) -> None:
    """Its methods would be those of one of the two, silently."""

    def change(value: Any) -> None:
        value[PAPER]["cands"].append(value[PAPER]["cands"][0])
        value[PAPER]["cand_source"].append(["cited"])

    value = edit(release / POOLS, change)
    assert_refused(release, POOLS, 1, value[PAPER]["cands"][0], "twice")


# ---- the pool file -------------------------------------------------------------------------------


def test_a_candidate_outside_the_pool_file(release: Path) -> None:
    judged = json.loads((release / BACKGROUND).read_text())[PAPER]["cands"]

    def change(value: Any) -> None:
        at = value[PAPER]["cands"].index(judged[4])
        del value[PAPER]["cands"][at], value[PAPER]["cand_source"][at]

    edit(release / POOLS, change)
    found = f"candidate {judged[4]} of {PAPER} (background) is not in the pool of {POOLS}"
    assert_refused(release, BACKGROUND, 1, found)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda pool: pool["cands"].pop(), "differ in length: cands 20, cand_source 21"),
        (lambda pool: pool["cand_source"].pop(), "differ in length: cands 21, cand_source 20"),
        (lambda pool: pool.pop("cand_source"), "cand_source None"),
        (lambda pool: pool.update(cands="all"), "cands None"),
        (lambda pool: pool["cands"].__setitem__(0, 910000449), "ids beside lists of methods"),
        (lambda pool: pool["cand_source"].__setitem__(0, "cited"), "ids beside lists of methods"),
    ],
)
def test_pools_that_do_not_fit(release: Path, change: Change, found: str) -> None:
    pool = json.loads((SAMPLE / POOLS).read_text())[PAPER]
    assert len(pool["cands"]) == len(pool["cand_source"]) == 21
    edit(release / POOLS, lambda value: change(value[PAPER]))
    assert_refused(release, POOLS, 1, PAPER, found)


# ---- the query list ------------------------------------------------------------------------------


def test_a_query_paper_without_a_text(release: Path) -> None:
    edit_rows(release, lambda rows: rows[1].__setitem__(0, "910000503"))
    assert_refused(release, QUERIES, ROW, "query paper 910000503 has no text")


def test_a_query_whose_judgments_are_left_out(release: Path) -> None:
    edit(release / BACKGROUND, lambda value: value.pop(PAPER))
    assert_refused(release, QUERIES, ROW, f"query {PAPER}_background has no judgments")


def test_a_query_twice(release: Path) -> None:
    edit_rows(release, lambda rows: rows.append(rows[1]))
    assert_refused(release, QUERIES, 8, f"query {PAPER}_background appears twice")


def test_a_paper_whose_id_is_not_one_word(release: Path) -> None:
    edit_paper(release, 2, lambda record: record.update(paper_id="two words"))
    assert_refused(release, ABSTRACTS, 2, "the paper_id 'two words' is not one word")


def test_a_facet_that_makes_the_id_of_another_query(release: Path) -> None:
    """Paper a and facet b_method have the id of paper a_b and facet method."""

    def add(value: dict[str, Any]) -> None:
        value[f"{PAPER}_x"] = value[PAPER]

    edit(release / POOLS, add)
    edit(release / METHOD, add)
    edit_rows(release, lambda rows: rows[1].__setitem__(1, "x_method"))
    assert_refused(release, QUERIES, ROW, "the facet 'x_method' is none of background, method")


@pytest.mark.parametrize(
    ("facet", "labels"),
    [
        ("background", {"background_label", "objective_label"}),
        ("method", {"method_label"}),
    ],
)
def test_a_query_paper_without_a_sentence_of_its_facet(
    release: Path, facet: str, labels: set[str]
) -> None:
    def change(record: dict[str, Any]) -> None:
        old = record["pred_labels"]
        record["pred_labels"] = ["other_label" if label in labels else label for label in old]

    line = line_of_paper(release, PAPER)
    edit_paper(release, line, change)
    found = f"query paper {PAPER} has no sentence labelled {facet}"
    assert_refused(release, ABSTRACTS, line, found)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.replace(b"Overdue", b"Over\rdue"),
        lambda data: data.replace(b"Overdue", b"O" * 200_000),
        lambda data: data.replace(b"Overdue", b'"Overdue'),
    ],
    ids=["carriage returns alone", "one inside a row", "an endless field", "an open quote"],
)
def test_a_query_list_that_is_no_csv(release: Path, change: Callable[[bytes], bytes]) -> None:
    path = release / QUERIES
    path.write_bytes(change(path.read_bytes()))
    assert refused(release).file == str(path)


# ---- folds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("facet", ["background", "method", "result", "all"])
@pytest.mark.parametrize(
    "change",
    [
        lambda folds: folds["fold1_test"].pop(),
        lambda folds: folds["fold1_test"].append(folds["fold2_test"][0]),
        lambda folds: folds["fold2_test"].append(folds["fold2_test"][0]),
        lambda folds: folds["fold1_test"].__setitem__(0, folds["fold2_test"][0]),
        lambda folds: folds["fold2_test"].__setitem__(0, "910000999_result"),
        lambda folds: folds.update(fold1_test=[], fold2_test=[*folds["fold1_test"], *folds["fold2_test"]]),
        lambda folds: folds.pop("fold2_test"),
        lambda folds: folds.update(fold1_test=None),
        lambda folds: folds.update(fold1_test=folds["fold1_test"][0]),
        lambda folds: folds.update(fold1_test=[folds["fold1_test"]]),
        lambda folds: folds.clear(),
    ],
    ids=[
        "one missing", "one in both", "one twice", "one in place of another", "one unknown",
        "all in one fold", "fold left out", "null", "a text", "a list too deep", "empty",
    ],
)  # fmt: skip
def test_folds_that_do_not_split_the_queries(release: Path, facet: str, change: Change) -> None:
    edit(release / SPLITS, lambda value: change(value[facet]), indent=1)
    lines = (release / SPLITS).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if f'"{facet}"' in text)
    count = 6 if facet == "all" else 2
    found = f"fold1_test and fold2_test of {facet} do not split its {count} queries in two"
    assert_refused(release, SPLITS, line, found)


# ---- nothing half-loaded -------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["", "/background", "/method", "/result"])
@pytest.mark.parametrize(
    "kind",
    ["docs_iter", "docs_store", "docs_count", "queries_iter", "queries_count", "qrels_iter",
     "qrels_dict", "scoreddocs_iter"],
)  # fmt: skip
def test_no_part_is_given_out_of_a_damaged_release(release: Path, part: str, kind: str) -> None:
    """Though this damage is in one file and one facet only."""
    edit(release / RESULT, lambda v: next(iter(v.values()))["relevance_adju"].__setitem__(0, 7))
    dataset = ir_datasets.load(f"csfcube{part}")
    with pytest.raises(InputError, match="has the grade 7"):
        list(getattr(dataset, kind)())
    with pytest.raises(InputError, match="has the grade 7"):
        dataset.irtoolkit().protocol_of()
    with pytest.raises(InputError, match="has the grade 7"):
        dataset.irtoolkit().statistics_of()
