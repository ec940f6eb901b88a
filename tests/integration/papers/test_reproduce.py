"""Experiment tables, named systems, and measuring a paper's table again."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import shlex
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ir_datasets
import pytest
import yaml

from irtoolkit.cli import main
from irtoolkit.commands.reproduce import EXAMPLES
from irtoolkit.papers.catalogue import find_table
from irtoolkit.papers.tables import Table
from irtoolkit.ranking.decided import fingerprint
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Run, provenance
from tests.conftest import Answer
from tests.datasets import Candidates, Docs, Queries
from tests.each import each

Command = Callable[..., Answer]

# Table 4 of the paper, as facts known beforehand: RP, P@20, R@20, NDCG%100, NDCG%20.
COLUMNS = ("RP", "P@20", "R@20", "nDCGp(p=100)", "nDCGp(p=20)")
BM25 = {
    "background": (20.12, 27.81, 49.85, 79.02, 59.39),
    "method": (9.37, 11.63, 38.29, 60.68, 34.59),
    "result": (11.31, 20.00, 40.40, 67.87, 45.07),
    "all": (13.50, 19.69, 42.73, 68.97, 46.06),
}
FACETS = ("background", "method", "result")
# Printed figures that contradict the aggregate printed beside them, and what that asks for.
CONTRADICTIONS = {
    ("SentBERT-NLI", "method", "R@20"): 28.98,
    ("SuSimCSE-BERT", "background", "R@20"): 35.8,
}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in a folder of its own, with no real release and no network."""

    def refuse(url: str, path: Path) -> None:
        raise OSError("the tests have no network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.delenv("IRTOOLKIT_DOWNLOAD", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("irtoolkit.datasets.downloads.fetch", refuse)
    # Nobody's trained models are found.
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")


@pytest.fixture(scope="module")
def real_release(real_csfcube: Path) -> Path:
    """The real release by a path that holds in any folder."""
    return real_csfcube.resolve()


@pytest.fixture(scope="module")
def csfcube() -> Table:
    return find_table("csfcube")


# -- tables --------------------------------------------------------------------------------------


def cells(table: Table) -> Iterator[tuple[str, str, dict[str, float]]]:
    """(system, column, group to printed figure) of every row with figures."""
    for row in table.rows:
        for i, column in enumerate(COLUMNS):
            if row.reported:
                yield row.system, column, {g: figures[i] for g, figures in row.reported.items()}


def gap(printed: dict[str, float]) -> tuple[float, float, float]:
    """How far the printed aggregate is from the mean of the facets, and its least and greatest.

    Fold 1 tests 8 background, 9 method and 9 result queries, fold 2 tests 8 of each. With b1 the
    mean of background over fold 1, and so on, the aggregate is half of
    (8·b1 + 9·m1 + 9·r1)/26 + (b2 + m2 + r2)/3, and a facet's figure B is (b1 + b2)/2. So
    aggregate - (B + M + R)/3 = (m1 + r1 - 2·b1)/156, in which nothing is known of b1 but that b1
    and b2 = 2B - b1 lie in 0..100, and likewise of m1 and r1. Each printed figure is rounded to
    0.01: the aggregate's half of that and the mean's half of that add up.
    """
    b, m, r = (printed[facet] for facet in FACETS)
    low, high = ([bound(x) for x in (b, m, r)] for bound in (
        lambda x: max(0.0, 2 * x - 100 - 0.01), lambda x: min(100.0, 2 * x + 0.01)))  # fmt: skip
    least = (low[1] + low[2] - 2 * high[0]) / 156 - 0.01
    greatest = (high[1] + high[2] - 2 * low[0]) / 156 + 0.01
    return printed["all"] - (b + m + r) / 3, least, greatest


def test_the_fold_sizes_are_those_of_the_release(real_release: Path) -> None:
    splits = json.loads((real_release / "evaluation_splits.json").read_text("utf-8"))
    for fold, sizes in (("fold1_test", (8, 9, 9)), ("fold2_test", (8, 8, 8))):
        assert tuple(len(splits[facet][fold]) for facet in FACETS) == sizes
        assert set(splits["all"][fold]) == {q for facet in FACETS for q in splits[facet][fold]}


def test_printed_aggregates_agree_with_printed_facets(csfcube: Table) -> None:
    broken = {key[::2] for key in CONTRADICTIONS}
    seen = 0
    for system, column, printed in cells(csfcube):
        found, least, greatest = gap(printed)
        seen += 1
        assert (least <= found <= greatest) == ((system, column) not in broken), (system, column)
        # The bound is tight enough to find a slip of one and a half points in any facet.
        assert greatest - least < 1.5 * 2
    assert seen == 50


def test_the_contradictions_are_marked_and_no_others(csfcube: Table) -> None:
    marked = {(row.system, *cell.split(".")) for row in csfcube.rows for cell in row.doubtful}
    assert marked == set(CONTRADICTIONS)


@pytest.mark.parametrize("key", CONTRADICTIONS)
def test_the_figure_that_the_note_asks_for_would_agree(
    csfcube: Table, key: tuple[str, str, str]
) -> None:
    system, group, column = key
    (printed,) = (p for name, at, p in cells(csfcube) if (name, at) == (system, column))
    (row,) = (row for row in csfcube.rows if row.system == system)
    assert f"{printed[group]:.2f}" in (row.note or "")
    assert str(CONTRADICTIONS[key]) in (row.note or "")
    found, least, greatest = gap(printed | {group: CONTRADICTIONS[key]})
    assert least <= found <= greatest


# -- produce -------------------------------------------------------------------------------------


def record_of(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(provenance.metadata_path(path).read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def reused(path: Path, dataset: str = "csfcube/sample", **changed: Any) -> bool:
    """Whether producing a run again takes the one that is there; it must be right either way."""
    settings = {"statistics": "corpus", **changed.pop("settings", {})}
    system = find_system(changed.pop("system", "tfidf"), settings)
    run, taken = produce(dataset, system, path, reuse=True, progress=False, **changed)
    fresh, _ = produce(dataset, system, path.with_name("fresh.run"), progress=False, **changed)
    assert run == Run.read(path) == fresh
    made = record_of(path)["irtoolkit"]
    assert (made["system"], made["settings"]) == (system.name, system.on("en").settings())
    return taken


def test_an_unchanged_run_is_reused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "x.run.gz"
    assert not reused(path)
    files = (path, provenance.metadata_path(path))
    before = [(file.stat().st_mtime_ns, file.stat().st_ino) for file in files]
    assert reused(path)
    assert [(file.stat().st_mtime_ns, file.stat().st_ino) for file in files] == before


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"smooth": "false"}},
        {"depth": 5},
        {"dataset": "csfcube/sample/method"},
    ],
    ids=str,
)
def test_a_run_made_otherwise_is_not_reused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "x.run"
    assert not reused(path)
    assert not reused(path, **change)
    assert reused(path, **change)
    assert not reused(path)


def damage_run(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]), "utf-8")


def damage_record(path: Path, change: Callable[[str], str]) -> None:
    record = provenance.metadata_path(path)
    text = record.read_text("utf-8")
    record.write_text(change(text), "utf-8")
    assert record.read_text("utf-8") != text


@pytest.mark.parametrize(
    "damage",
    [
        damage_run,
        lambda path: provenance.metadata_path(path).unlink(),
        lambda path: damage_record(path, lambda text: "tag: [unclosed"),
        lambda path: damage_record(path, lambda text: text.replace("data: ", "data: 0")),
    ],
    ids=["a row lost", "no record", "not YAML", "other data"],
)
def test_a_damaged_run_or_record_leads_to_making_it_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "x.run"
    assert not reused(path)
    whole = path.read_bytes()
    damage(path)
    assert not reused(path)
    assert path.read_bytes() == whole
    assert reused(path)


def test_no_run_stands_beside_the_record_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.run"
    produce("csfcube/sample", find_system("bm25", {}), path, progress=False)

    def stop(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(provenance, "write_metadata", stop)
    with pytest.raises(KeyboardInterrupt):
        produce("csfcube/sample", find_system("random", {}), path, progress=False)
    assert not provenance.metadata_path(path).exists()
    monkeypatch.undo()
    assert not reused(path, system="bm25")


@pytest.mark.parametrize("candidate", [True, False])
def test_a_changed_text_leads_to_making_the_run_again(
    tmp_path: Path, release: Path, candidate: bool
) -> None:
    """Also that of a paper in no pool: with statistics=corpus it has its part in every score."""
    name = "abstracts-csfcube-preds.jsonl"
    records = [json.loads(line) for line in (release / name).read_text("utf-8").splitlines()]
    records.append({**records[0], "paper_id": "1", "abstract": list(records[0]["abstract"])})

    def write() -> None:
        (release / name).write_text("\n".join(map(json.dumps, records)) + "\n", "utf-8")

    def pooled(paper: str) -> bool:
        files = (f"test-pid2anns-csfcube-{facet}.json" for facet in FACETS)
        return any(f'"{paper}"' in (release / file).read_text("utf-8") for file in files)

    write()
    path = tmp_path / "x.run"
    assert not reused(path, "csfcube")
    assert reused(path, "csfcube")
    before = path.read_bytes()
    changed = next(record for record in records if pooled(record["paper_id"]) == candidate)
    # Words of the queries, so that their idf is another one.
    queries = produce("csfcube", find_system("bm25", {}), path.with_name("q.run"))[0].query_ids
    papers = {record["paper_id"]: record for record in records}
    changed["abstract"][0] = " ".join(papers[q.partition("_")[0]]["title"] for q in queries)
    write()
    # In another folder, because a process reads the release of a folder once.
    moved = release.parent.rename(tmp_path / "moved")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_DATA", str(moved))
        assert not reused(path, "csfcube")
        assert path.read_bytes() != before
        assert reused(path, "csfcube")


# -- fingerprint ---------------------------------------------------------------------------------


@pytest.fixture
def print_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The fingerprint of a small dataset, of which some part may be given otherwise."""

    def make(
        queries: dict[str, str] | None = None,
        docs: dict[str, str] | None = None,
        pools: dict[str, list[str]] | None = None,
    ) -> str:
        dataset = ir_datasets.Dataset(
            Docs(docs or {"a": "one", "b": "two", "c": "three"}),
            Queries(queries or {"q1": "first", "q2": "second"}),
            Candidates(pools or {"q1": ["a", "b"], "q2": ["c"]}),
        )
        monkeypatch.setitem(ir_datasets.registry._registered, "irtk-print", dataset)
        return fingerprint(find_system("bm25", {}).load("irtk-print"))

    return make


@each(
    "change",
    [
        {"queries": {"q1": "first", "q2": "second!"}},
        {"queries": {"q2": "second", "q1": "first"}},
        {"queries": {"q1": "first", "q3": "second"}, "pools": {"q1": ["a", "b"], "q3": ["c"]}},
        {"docs": {"a": "one", "b": "two", "c": "Three"}},
        {"docs": {"a": "one", "b": "two", "d": "three"}, "pools": {"q1": ["a", "b"], "q2": ["d"]}},
        {"pools": {"q1": ["a", "b"], "q2": ["c", "a"]}},
        {"pools": {"q1": ["a"], "q2": ["b", "c"]}},
        {"pools": {"q1": ["b", "a"], "q2": ["c"]}},
        {"pools": {"q1": ["a", "b"], "q2": []}},
    ],
)
def test_the_fingerprint_changes_with_any_text_id_or_candidate(
    print_of: Callable[..., str], change: dict[str, Any]
) -> None:
    assert print_of(**change) != print_of()


# -- reproduce on the sample ---------------------------------------------------------------------

SYSTEMS = ("random", "fabs_bm25", "fabs_tfidf")
REPRODUCE = ("reproduce", "csfcube", "--sample", "--systems", *SYSTEMS)
WHOLE = "irtoolkit reproduce csfcube --sample"
GROUPS = {"all": "csfcube/sample", **{f: f"csfcube/sample/{f}" for f in FACETS}}


def rows_of(answer: Answer) -> dict[str, dict[str, Any]]:
    assert answer.status == 0, answer.err
    return {row["system"]: row for row in json.loads(answer.out)["rows"]}


def test_json_of_reproduce_keeps_its_contract(irtoolkit: Command) -> None:
    rows = rows_of(irtoolkit(*REPRODUCE, "--format", "json"))
    assert set(rows) == set(SYSTEMS)
    for row in rows.values():
        assert (row["status"], row["reason"]) == ("measured", None)
        assert list(row["measured"]) == ["all", *FACETS]
        for figures in row["measured"].values():
            assert tuple(figures) == COLUMNS
            assert all(0 <= figure <= 100 for figure in figures.values())
    reported = rows["fabs_bm25"]["reported"]
    assert reported == {g: dict(zip(COLUMNS, v, strict=True)) for g, v in BM25.items()}
    assert rows["random"]["reported"] == {}
    assert rows["fabs_bm25"]["settings"]["form"] == "okapi"


def test_figures_of_reproduce_are_those_of_eval_in_percent(irtoolkit: Command) -> None:
    rows = rows_of(irtoolkit(*REPRODUCE, "--out", "out", "--format", "json"))
    assert {path.name for path in Path("out").glob("*.run")} == {
        f"csfcube-sample.{system}.run" for system in SYSTEMS
    }
    for system, (group, dataset) in itertools.product(SYSTEMS, GROUPS.items()):
        args = (dataset, f"out/csfcube-sample.{system}.run", "--format", "json")
        (figures,) = json.loads(irtoolkit("eval", *args).out).values()
        measured = list(rows[system]["measured"][group].values())
        assert measured == pytest.approx([100 * v for v in figures.values()], abs=1e-9)


def test_p_values_of_reproduce_are_those_of_compare(irtoolkit: Command) -> None:
    rows = rows_of(irtoolkit(*REPRODUCE, "--format", "json"))
    assert rows["fabs_bm25"]["p"] == {}
    runs = {f"runs/csfcube-sample.{system}.run": system for system in SYSTEMS}
    base = "runs/csfcube-sample.fabs_bm25.run"
    for group, dataset in GROUPS.items():
        args = ("--measure", "nDCGp(p=20)", "--baseline", base, "--format", "json")
        compared = json.loads(irtoolkit("compare", dataset, *runs, *args).out)["systems"]
        for row in compared:
            assert rows[runs[row["system"]]]["p"].get(group) == row["corrected"]


def test_reproduce_goes_on_where_it_was(irtoolkit: Command) -> None:
    first = irtoolkit(*REPRODUCE, "--format", "json")
    files = sorted(Path("runs").iterdir())
    before = {file: file.stat().st_mtime_ns for file in files}
    second = irtoolkit(*REPRODUCE, "--format", "json")
    assert second.out == first.out
    assert {file: file.stat().st_mtime_ns for file in sorted(Path("runs").iterdir())} == before
    assert "unchanged" not in first.err
    assert second.err.count("unchanged") == len(SYSTEMS)
    damage_run(Path("runs/csfcube-sample.random.run"))
    third = irtoolkit(*REPRODUCE, "--format", "json")
    assert third.out == first.out
    assert third.err.count("unchanged") == len(SYSTEMS) - 1
    assert "random: unchanged" not in third.err


def test_rows_that_cannot_run_say_what_is_missing(irtoolkit: Command) -> None:
    chosen = ("SPECTER-ID", "SPECTER", "random")
    args = ("reproduce", "csfcube", "--sample", "--systems", *chosen)
    rows = rows_of(irtoolkit(*args, "--format", "json"))
    assert rows["random"]["status"] == "measured"
    for system, found in (
        ("SPECTER-ID", "not trained here: run `irtoolkit train specter-id"),
        ("SPECTER", "allenai/specter"),
    ):
        assert rows[system]["status"] == "missing"
        assert found in rows[system]["reason"]
        assert rows[system]["measured"] == {}
        assert set(rows[system]["reported"]) == set(GROUPS)
        assert not Path(f"runs/csfcube-sample.{system}.run").exists()
    shown = " ".join(irtoolkit(*args, "--all").out.split())  # folded for a terminal
    for system in ("SPECTER-ID", "SPECTER"):
        assert f"missing {system}: {rows[system]['reason']}" in shown


@pytest.fixture
def measured(irtoolkit: Command) -> dict[str, dict[str, Any]]:
    return rows_of(irtoolkit(*REPRODUCE, "--format", "json"))


def test_the_whole_table_on_the_sample(irtoolkit: Command, csfcube: Table) -> None:
    """Every row of the table is measured or says what is missing, those of encoders too."""
    assert WHOLE in EXAMPLES
    rows = rows_of(irtoolkit(*WHOLE.split()[1:], "--format", "json"))
    assert list(rows) == [row.system for row in csfcube.rows]
    for row in rows.values():
        assert (row["status"], row["reason"] is None) in (("measured", True), ("missing", False))
    for system in SYSTEMS:
        assert rows[system]["status"] == "measured"


# -- reproduce on the real collection ------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `reproduce` printed of three rows in table.json, and its runs."""
    folder = tmp_path_factory.mktemp("real")
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("IRTOOLKIT_DATA", str(real_release.parent))
        systems = ["--systems", "random", "fabs_tfidf", "fabs_bm25"]
        assert (
            main(["reproduce", "csfcube", *systems, "--out", str(folder), "--format", "json"]) == 0
        )
    (folder / "table.json").write_text(out.getvalue(), "utf-8")
    return folder


def real_rows(folder: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((folder / "table.json").read_text("utf-8"))
    return {row["system"]: row for row in content["rows"]}


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line != WHOLE])
def test_the_other_examples_of_reproduce_run_as_printed(
    irtoolkit: Command, real_release: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("IRTOOLKIT_DATA", str(real_release.parent))
    answer = irtoolkit(*shlex.split(line)[1:])
    assert answer.status == 0, answer.err
    assert answer.out
    runs_nothing = "--missing" in line or "--list" in line
    assert bool(list(Path("runs").glob("csfcube.*.run"))) != runs_nothing


@pytest.mark.parametrize("group", BM25)
def test_the_papers_bm25_row_is_reproduced_exactly(real: Path, group: str) -> None:
    row = real_rows(real)["fabs_bm25"]
    for column, printed in zip(COLUMNS, BM25[group], strict=True):
        measured = row["measured"][group][column]
        assert row["reported"][group][column] == printed
        assert abs(measured - printed) <= 0.005 + 1e-9, column
        assert f"{measured:.2f}" == f"{printed:.2f}", column


def test_the_papers_tfidf_row_is_as_near_as_its_statistics_allow(real: Path) -> None:
    row = real_rows(real)["fabs_tfidf"]
    distances = [
        abs(row["measured"][group][column] - row["reported"][group][column])
        for group in BM25
        for column in COLUMNS
    ]
    assert len(distances) == 20
    assert statistics.mean(distances) <= 0.90


def test_random_is_the_floor(real: Path) -> None:
    rows = real_rows(real)
    for group, column in itertools.product(BM25, ("nDCGp(p=100)", "nDCGp(p=20)")):
        figures = (rows[system]["measured"][group][column] for system in ("random", "fabs_bm25"))
        assert next(figures) < next(figures)
    assert all(p < 0.001 for p in rows["random"]["p"].values())
    assert set(rows["random"]["p"]) == set(BM25)
