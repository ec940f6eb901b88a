"""The command line: its contract of names, formats, exit statuses and one-line errors."""

from __future__ import annotations

import argparse
import csv
import glob
import gzip
import io
import itertools
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest
import yaml

from irtoolkit import commands
from irtoolkit.base.discovery import modules
from irtoolkit.base.ending import Ended
from irtoolkit.cli import main
from irtoolkit.datasets import dataset_ids
from irtoolkit.retrievers.tfidf import TFIDF
from tests.conftest import ROOT, SAMPLE, Answer
from tests.datasets import Candidates, Docs, Grades, Queries
from tests.each import each
from tests.lucene import with_java

Command = Callable[..., Answer]
Write = Callable[..., Path]
COMMANDS = {module.__name__.rpartition(".")[2]: module for module in modules(commands)}
SAMPLE_IDS = (
    "csfcube/sample",
    *(f"csfcube/sample/{f}" for f in ("background", "method", "result")),
)
REAL_IDS = tuple(name.replace("/sample", "") for name in SAMPLE_IDS)
DEFAULTS = ["RPlast(rel=2)", "P(rel=2)@20", "RListed(rel=2)@20", "nDCGp(p=100)", "nDCGp(p=20)"]


@pytest.fixture(autouse=True)
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every test runs in a folder of its own, with no real release and no network.

    Returns the addresses that something tried to fetch.
    """
    tried: list[str] = []

    def refuse(url: str, path: Path) -> None:
        tried.append(url)
        raise OSError("the tests have no network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("irtoolkit.datasets.downloads.fetch", refuse)
    return tried


@pytest.fixture(scope="module")
def real_release(real_csfcube: Path) -> Path:
    """The real release by a path that holds in any folder."""
    return real_csfcube.resolve()


@pytest.fixture
def runs(irtoolkit: Command) -> list[str]:
    """Three runs of the sample, by the names they have in the current folder."""
    names = {"fabs_bm25": "bm25.run", "tfidf": "tfidf.run", "random": "random.run"}
    for system, name in names.items():
        assert irtoolkit("retrieve", "csfcube/sample", system, "-o", name).status == 0
    return list(names.values())


def refused(answer: Answer, *parts: object) -> None:
    """The command ended with status 2, one line on stderr that holds every part, and no output."""
    assert answer.status == 2, answer
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1, answer.err
    for part in parts:
        assert str(part) in answer.err


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, hidden files too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def shell(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python -m irtoolkit` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "irtoolkit", *args],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def sample_pools() -> dict[str, dict[str, int]]:
    """Query id to {candidate: grade}, read from the sample's own files, in their order."""
    pools = {}
    for facet in ("background", "method", "result"):
        text = (SAMPLE / f"test-pid2anns-csfcube-{facet}.json").read_text("utf-8")
        for paper, pool in json.loads(text).items():
            grades = zip(pool["cands"], pool["relevance_adju"], strict=True)
            pools[f"{paper}_{facet}"] = dict(grades)
    return pools


def sample_papers() -> dict[str, dict[str, Any]]:
    """Paper id to its record, read from the sample's own file."""
    lines = (SAMPLE / "abstracts-csfcube-preds.jsonl").read_text("utf-8").splitlines()
    return {record["paper_id"]: record for record in map(json.loads, lines)}


def rows_of(path: str | Path) -> list[list[str]]:
    """The fields of a TREC file, plain or .gz."""
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode("utf-8")
    return [line.split() for line in text.splitlines()]


def csv_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


# -- help, versions, bad arguments ---------------------------------------------------------------


def test_help_lists_every_command_with_its_line(irtoolkit: Command) -> None:
    out = irtoolkit("--help").out
    for name, module in COMMANDS.items():
        assert re.search(rf"^ +{name}\s+{re.escape(module.HELP)}", out, re.MULTILINE), name


@each("name", COMMANDS)
def test_help_of_a_command_fits_80_columns(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = irtoolkit(name, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []
    examples = re.sub(r" \\\n +", " ", answer.out.partition("examples:\n")[2])
    assert [line.strip() for line in examples.splitlines()] == list(COMMANDS[name].EXAMPLES)
    assert examples


# What ranx compiles in every process, some for half a minute; docs/how-to/ranx.md has them run.
COMPILED = {"ranx", "rbc", "bayesfuse"}


def test_what_ranx_compiles_is_run_by_its_page() -> None:
    page = (ROOT / "docs" / "how-to" / "ranx.md").read_text("utf-8").splitlines()
    lines = [line.split() for line in page if line.startswith("irtoolkit ")]
    assert all(any(word in words for words in lines) for word in COMPILED)


@pytest.fixture(scope="module")
def retrieved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of retrieve write, which other examples read."""
    folder = tmp_path_factory.mktemp("retrieved")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in COMMANDS["retrieve"].EXAMPLES:
            assert main(shlex.split(line)[1:]) == 0
    return folder


def runnable() -> Iterator[str]:
    """The examples that need no real release, server or hub; some have tests of their own."""
    real = {name for name in dataset_ids() if "/sample" not in name}
    for name, module in COMMANDS.items():
        if name not in ("reproduce", "register", "nway", "convert", "results", "serve", "annotate"):
            yield from (
                line
                for line in module.EXAMPLES
                if real.isdisjoint(shlex.split(line))
                and not {"pools", "pools/*.json", "--push", "--fetch"} & set(line.split())
                and not COMPILED & set(line.split())
                and not {"plotretrieval", "quoter", "csfcube"} & set(line.split()[:3])
            )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=with_java if "lucene" in line.split() else ())
        for line in runnable()
    ],
)
def test_every_example_runs_as_it_is_printed(
    irtoolkit: Command, line: str, retrieved: Path
) -> None:
    shutil.copytree(retrieved, Path(), dirs_exist_ok=True)
    Path("book.txt").write_text("Some birds cannot fly. For example, no penguin has ever tried.")
    Path("answers.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Many can (e.g. owls)."}'))
    for novel in ("novel.txt", "emma.txt", "shirley.txt"):
        Path(novel).write_text("She refuses a proposal. They quarrel about money. It rains.")
    for number, who in enumerate(("judged/ann", "judged/ben", "judged/cho", "again/dee")):
        Path(who).parent.mkdir(exist_ok=True)
        Path(f"{who}.qrels").write_text(f"q1 0 d1 1\nq1 0 d2 {number % 2}\n")
    Path("essays").mkdir()
    Path("essays", "birds.txt").write_text(Path("book.txt").read_text())
    for folder, text in (
        ("novels", "{}"),
        ("articles", f"{'A critic says a word. ' * 9}\u201c{{}}\u201d"),
    ):
        Path(folder).mkdir()
        quoted = "She locked the wheel of the mill and gave the key to the sexton."
        Path(folder, "text.txt").write_text(text.format(quoted), "utf-8")
    words = shlex.split(line)[1:]
    if "indexes/papers" in words and ("-o" not in words or "--add" in words):
        assert irtoolkit("index", "csfcube/sample", "bm25", "-o", "indexes/papers").status == 0
    args = [name for word in words for name in (sorted(glob.glob(word)) or [word])]
    before = listing(Path())
    answer = irtoolkit(*args)
    assert answer.status == 0, answer.err
    outputs = [
        words[i + 1]
        for i, word in enumerate(words)
        if word in ("-o", "--out-of-fold", "--per-query", "--differ")
    ]
    if words[0] == "export" and "-o" not in words:
        outputs += words[3:4]
    assert answer.out or outputs
    for name in outputs:
        assert Path(name).stat().st_size
    beside = re.compile(r"\.(ir-metadata\.yml|ranks\.tsv|tried\.json)$")
    made_files = {beside.sub("", name) for name in listing(Path())}
    inside = tuple(f"{name}/" for name in outputs if Path(name).is_dir())
    made_files = {name for name in made_files if not name.startswith(inside)}
    assert made_files - set(before) <= set(outputs)


def test_debug_shows_the_traceback_before_the_same_line(irtoolkit: Command) -> None:
    plain = irtoolkit("datasets", "nothing-like-it")
    answer = irtoolkit("datasets", "nothing-like-it", "--debug")
    assert answer.status == 2
    assert answer.err.startswith("Traceback (most recent call last):")
    assert answer.err.endswith(plain.err)
    assert answer.err.count("nothing-like-it") == plain.err.count("nothing-like-it")
    assert "Traceback" not in plain.err


@pytest.mark.parametrize(
    ("interrupt", "status", "where"),
    [(KeyboardInterrupt(), 130, "cli.build_parser"), (Ended(15), 143, "commands.datasets.execute")],
)
def test_the_status_says_what_interrupted(
    interrupt: KeyboardInterrupt, status: int, where: str, irtoolkit: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def interrupted(*args: argparse.Namespace) -> None:
        raise interrupt

    monkeypatch.setattr(f"irtoolkit.{where}", interrupted)
    answer = irtoolkit("datasets")
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.count("\n") == 1
    assert "interrupted" in answer.err


def test_an_interrupted_export_leaves_the_old_file(
    irtoolkit: Command, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines(dataset: Any) -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    write("topics.tsv", "whole\n")
    files = COMMANDS["export"].LINES
    monkeypatch.setitem(files, "topics", ("queries", lines, *files["topics"][2:]))
    answer = irtoolkit("export", "csfcube/sample", "topics", "-o", "topics.tsv")
    assert answer.status == 130
    assert listing(tmp_path) == {"topics.tsv": b"whole\n"}


def test_the_module_runs_as_a_program(irtoolkit: Command) -> None:
    done = shell("datasets", "csfcube/sample", "--format", "json")
    inside = irtoolkit("datasets", "csfcube/sample", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(inside.out)


def test_a_reader_that_went_away_ends_the_command_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = shell("export", "csfcube/sample", "docs", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


# -- datasets ------------------------------------------------------------------------------------


def test_datasets_lists_every_id_with_counts_and_place(irtoolkit: Command) -> None:
    records = json.loads(irtoolkit("datasets", "--format", "json").out)
    by_id = {record["id"]: record for record in records}
    assert {*SAMPLE_IDS, *REAL_IDS} <= by_id.keys()
    pools, papers = sample_pools(), sample_papers()
    for name in SAMPLE_IDS:
        facet = name.rpartition("/")[2]
        record = by_id[name]
        assert record["queries"] == sum(q.endswith(f"_{facet}") or facet == "sample" for q in pools)
        assert record["docs"] == len(papers)
        assert record["licence"] == "Apache-2.0"
        assert Path(record["where"]).samefile(SAMPLE)
        assert record["how to get it"] is None


def test_a_download_says_where_the_files_are(irtoolkit: Command, release: Path) -> None:
    answer = irtoolkit("datasets", "csfcube", "--download")
    assert answer.status == 0
    assert answer.err == f"csfcube: files in {release}\n"
    assert answer.out == irtoolkit("datasets", "csfcube").out


def test_a_download_that_fails_is_one_line(
    irtoolkit: Command, fetched: list[str], tmp_path: Path
) -> None:
    refused(
        irtoolkit("datasets", "csfcube", "--download"),
        "could not be downloaded: the tests have no network",
        "https://github.com/iesl/CSFCube",
    )
    assert fetched
    assert listing(tmp_path) == {}


def test_datasets_finds_a_release_in_the_named_folder(irtoolkit: Command, release: Path) -> None:
    records = json.loads(irtoolkit("datasets", "--format", "json").out)
    (record,) = (record for record in records if record["id"] == "csfcube")
    assert record["where"] == str(release)
    assert (record["queries"], record["docs"]) == (len(sample_pools()), len(sample_papers()))
    assert record["licence"] == "CC BY-NC 4.0"


def test_an_incomplete_release_is_named(irtoolkit: Command, release: Path) -> None:
    missing = "queries-release.csv"
    (release / missing).unlink()
    assert irtoolkit("datasets").status == 0
    listed = irtoolkit("datasets", "--format", "csv")
    assert listed.status == 0
    (line,) = (line for line in listed.out.splitlines() if line.startswith("csfcube,"))
    assert str(release) in line
    assert missing in line
    refused(irtoolkit("datasets", "csfcube"), release, missing)


def test_one_dataset_shows_the_statistics_of_the_papers_table(irtoolkit: Command) -> None:
    shown = json.loads(irtoolkit("datasets", "csfcube/sample", "--format", "json").out)
    pools = sample_pools()
    ones = [sum(g >= 1 for g in pool.values()) for pool in pools.values()]
    high = [sum(g >= 2 for g in pool.values()) for pool in pools.values()]
    sizes = [len(pool) for pool in pools.values()]
    figures = [s["value"] for s in shown.pop("statistics")]
    assert figures == pytest.approx(
        [
            len(pools), len({q.partition("_")[0] for q in pools}),
            statistics.mean(sizes), sum(sizes),
            min(ones), max(ones), statistics.mean(ones),
            min(high), max(high), statistics.mean(high),
        ]
    )  # fmt: skip
    assert shown["id"] == "csfcube/sample"
    assert shown["licence"] == "Apache-2.0"
    assert shown["measures"].split() == DEFAULTS
    assert "fold" in shown["averaging"]


def test_only_the_real_collection_stands_beside_the_papers_figures(
    irtoolkit: Command, release: Path
) -> None:
    def reported(name: str) -> list[Any]:
        shown = json.loads(irtoolkit("datasets", name, "--format", "json").out)
        return [s["reported"] for s in shown["statistics"]]

    # Table 1 of the paper.
    assert reported("csfcube") == [50, 34, 124.9, 6244, 12, 87, 36.9, 1, 35, 9.8]
    assert set(reported("csfcube/method")) == {None}
    assert set(reported("csfcube/sample")) == {None}


def test_statistics_of_the_real_collection(
    irtoolkit: Command, real_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_DATA", str(real_release.parent))
    shown = json.loads(irtoolkit("datasets", "csfcube", "--format", "json").out)
    values = [s["value"] for s in shown["statistics"]]
    assert [round(value, 1) for value in values[:-1]] == [50, 34, 124.9, 6244, 12, 87, 36.9, 1, 35]


def test_the_same_table_in_every_format(irtoolkit: Command) -> None:
    args, first = ["datasets", "csfcube/sample"], "name"
    rows = json.loads(irtoolkit(*args, "--format", "json").out)["statistics"]
    text, latex = (irtoolkit(*args, "--format", form).out for form in ("text", "latex"))
    table = csv_rows(irtoolkit(*args, "--format", "csv").out)
    assert [row[0] for row in table[1:]] == [row[first] for row in rows]
    assert {len(row) for row in table} == {len(table[0])}
    for row in rows:
        assert row[first] in text
        assert re.search(rf"^{re.escape(row[first])} & ", latex, re.MULTILINE)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1


# -- retrieve ------------------------------------------------------------------------------------


def test_retrieve_ranks_every_pool_whole(irtoolkit: Command) -> None:
    answer = irtoolkit("retrieve", "csfcube/sample", "bm25", "-o", "new/folder/x.run")
    rows = rows_of("new/folder/x.run")
    pools = sample_pools()
    assert (answer.status, answer.out) == (0, "")
    assert f"6 queries, {len(rows)} rows" in answer.err
    assert {(row[0], row[2]) for row in rows} == {(q, d) for q in pools for d in pools[q]}
    for query, group in itertools.groupby(rows, key=lambda row: row[0]):
        listed = list(group)
        assert [int(row[3]) for row in listed] == list(range(1, len(pools[query]) + 1))
        assert sorted(listed, key=lambda row: (float(row[4]), row[2]), reverse=True) == listed
    assert {(row[1], row[5]) for row in rows} == {("Q0", "bm25")}


def test_several_systems_have_their_runs_in_a_folder(irtoolkit: Command) -> None:
    answer = irtoolkit(
        "retrieve", "csfcube/sample", "bm25", "tfidf", "csfcube:fabs_bm25", "-o", "several"
    )
    assert answer.status == 0, answer.err
    assert answer.err.count("candidates: ") == 1
    for system, name in (
        ("bm25", "bm25"),
        ("tfidf", "tfidf"),
        ("csfcube:fabs_bm25", "csfcube-fabs_bm25"),
    ):
        assert irtoolkit("retrieve", "csfcube/sample", system, "-o", "alone.run").status == 0
        assert Path(f"several/{name}.run").read_bytes() == Path("alone.run").read_bytes()
    answer = irtoolkit(
        "compare", "csfcube/sample", "several/bm25.run", "several/tfidf.run", "-m", "AP"
    )
    assert (answer.status, "p(holm)" in answer.out) == (0, True)


def test_no_system_ranks_before_all_of_them_can_run(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TFIDF, "missing", lambda self: "numbers is not installed")
    answer = irtoolkit("retrieve", "csfcube/sample", "bm25", "tfidf", "-o", "several")
    assert (answer.status, "numbers is not installed" in answer.err) == (2, True)
    assert not Path("several/bm25.run").exists()


def test_a_folder_with_the_name_of_a_dataset_is_noted(
    irtoolkit: Command, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path("csfcube/sample")
    folder.mkdir(parents=True)
    assert irtoolkit("retrieve", "csfcube/sample", "bm25", "-o", "noted.run").status == 0
    said = "note: csfcube/sample is the dataset of this name; the folder is ./csfcube/sample"
    assert caplog.messages == [said]


def test_a_system_that_nothing_can_run_says_why(irtoolkit: Command) -> None:
    answer = irtoolkit("retrieve", "quoter/sample/en/lower/test", "N-QRM", "-o", "x.run")
    refused(answer, "N-QRM", "no recipe")


def test_the_record_beside_a_run_says_how_it_was_made(irtoolkit: Command) -> None:
    irtoolkit("retrieve", "csfcube/sample", "fabs_bm25", "-o", "x.run.gz", "--set", "k1=1.2")
    record = yaml.safe_load(Path("x.run.gz.ir-metadata.yml").read_text("utf-8"))
    assert record["tag"] == "fabs_bm25"
    assert record["data"]["test collection"]["name"] == "csfcube/sample"
    made = record["irtoolkit"]
    assert (made["system"], made["retriever"], made["depth"]) == ("fabs_bm25", "bm25", None)
    settings = {"k1": 1.2, "b": 0.75, "form": "okapi", "self": "keep", "query": "facet_sentences"}
    assert settings.items() <= made["settings"].items()
    assert settings.items() <= record["method"]["retrieval"][0].items()
    assert record["resources"]["seconds"] >= 0
    versions = record["platform"]["software"]["libraries"]
    assert versions["numpy"] == metadata.version("numpy")
    assert versions["ir-measures"] == metadata.version("ir-measures")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record["date"])


# -- datasets of others --------------------------------------------------------------------------


TEXTS = [("d1", "the cat sat on the mat"), ("d2", "dog bites man"), ("d3", "cat and cat\tand dog")]
DOCS = Docs(dict(TEXTS))


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a dataset known to ir_datasets until the test is over."""

    def add(name: str, *handlers: Any) -> None:
        monkeypatch.setitem(ir_datasets.registry._registered, name, ir_datasets.Dataset(*handlers))

    return add


@pytest.fixture
def toy(register: Callable[..., None]) -> str:
    """A dataset that is not one of ours, without pools."""
    qrels = Grades([("q1", "d1", 1), ("q1", "d3", 2), ("q2", "d2", 1), ("q2", "d3", 0)])
    register("irtk-toy", DOCS, Queries({"q1": "cat", "q2": "dog\tand\nman"}), qrels)
    return "irtk-toy"


def test_scoreddocs_are_the_candidates_where_there_are_any(
    irtoolkit: Command, register: Callable[..., None]
) -> None:
    pools = Candidates([("q1", "d2"), ("q1", "d1"), ("q2", "d3"), ("elsewhere", "d1")])
    register("irtk-pooled", DOCS, Queries({"q1": "cat", "q2": "dog"}), pools)
    assert irtoolkit("retrieve", "irtk-pooled", "bm25", "-o", "x.run").status == 0
    assert {(r[0], r[2]) for r in rows_of("x.run")} == {("q1", "d1"), ("q1", "d2"), ("q2", "d3")}
    exported = irtoolkit("export", "irtk-pooled", "pools").out
    assert exported == "q1 d2\nq1 d1\nq2 d3\nelsewhere d1\n"


def test_another_dataset_is_scored_with_usual_measures_and_plain_means(
    irtoolkit: Command, toy: str, write: Write
) -> None:
    path = write("x.run", "q1 Q0 d3 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d3 1 2 t\nq2 Q0 d2 2 1 t\n")
    (figures,) = json.loads(irtoolkit("eval", toy, path, "--format", "json").out).values()
    # q1 finds one of two relevant at rank 1; q2 its only one at rank 2.
    ideal = 2 + 1 / np.log2(3)
    expected = {
        "nDCG@10": (2 / ideal + 1 / np.log2(3)) / 2,
        "AP": (1 / 2 + 1 / 2) / 2,
        "RR": (1 + 1 / 2) / 2,
        "P@10": (1 / 10 + 1 / 10) / 2,
        "R@100": (1 / 2 + 1) / 2,
    }
    assert figures == pytest.approx(expected)


def test_a_dataset_that_cannot_be_downloaded_is_one_line(
    irtoolkit: Command, register: Callable[..., None]
) -> None:
    class Far(Queries):
        def queries_iter(self) -> Iterator[Any]:
            raise RuntimeError("All download sources failed")  # as ir_datasets does

    register("irtk-far", Far({}))
    refused(irtoolkit("export", "irtk-far", "topics"), "All download sources failed")


# -- eval ----------------------------------------------------------------------------------------


def test_the_sample_does_not_know_the_topics_of_the_real_collection(
    irtoolkit: Command, release: Path, write: Write
) -> None:
    """A sample id never resolves to real data, whatever stands in IRTOOLKIT_DATA."""
    for path in release.iterdir():
        if path.suffix != ".md":
            path.write_text(path.read_text("utf-8").replace("910000057", "57"), "utf-8")
    doc = next(iter(sample_pools()["910000057_method"]))
    run = write("x.run", f"57_method Q0 {doc} 1 1 t\n")
    assert irtoolkit("eval", "csfcube", run).status == 0
    for dataset in SAMPLE_IDS:
        refused(irtoolkit("eval", dataset, run), f"{run}:1:", "topic 57_method")


def test_infinite_ranks_are_noted_where_no_exact_ranks_are_beside_the_run(
    irtoolkit: Command,
) -> None:
    data = "relic/sample/val"
    for system in ("bm25", "tfidf"):
        irtoolkit("retrieve", data, system, "-o", f"{system}.run", "--depth", 5)
    assert irtoolkit("fuse", "bm25.run", "tfidf.run", "-o", "fused.run").status == 0
    relevant: dict[str, set[str]] = {}
    for row in ir_datasets.load(data).qrels_iter():
        relevant.setdefault(row.query_id, set())
        if row.relevance > 0:
            relevant[row.query_id].add(row.doc_id)
    listed: dict[str, set[str]] = {}
    for row_of_run in Path("fused.run").read_text().splitlines():
        query_id, _, doc_id, *_ = row_of_run.split()
        listed.setdefault(query_id, set()).add(doc_id)
    without = [name for name, docs in relevant.items() if not docs & listed[name]]
    assert 0 < len(without) < len(relevant)

    answer = irtoolkit("eval", data, "fused.run", "bm25.run", "-m", "Rank", "--format", "csv")
    figures = {row[0]: float(row[-1]) for row in list(csv.reader(io.StringIO(answer.out)))[1:]}
    assert (figures["fused.run"], np.isfinite(figures["bm25.run"])) == (np.inf, True)
    (line,) = answer.err.splitlines()
    assert line.startswith(
        f"note: fused.run lists no relevant document for {len(without)} of {len(relevant)} judged"
    )
    assert f"the first {without[0]}," in line
    assert line.endswith("Rank cannot be known")
    assert irtoolkit("eval", data, "bm25.run", "-m", "Rank").err == ""
    assert irtoolkit("eval", data, "fused.run", "-m", "R@1").err == ""


# -- compare -------------------------------------------------------------------------------------


def test_the_baseline_is_the_first_run_or_the_one_that_is_named(
    irtoolkit: Command, runs: list[str]
) -> None:
    def compared(*args: str) -> dict[str, dict[str, Any]]:
        base = ("compare", "csfcube/sample", "--measure", "AP", "--format", "json")
        return {row["system"]: row for row in json.loads(irtoolkit(*base, *args).out)["systems"]}

    a, b, c = runs
    first = compared(a, b, c)
    named = compared(b, a, c, "--baseline", a)
    beside = compared(b, c, "--baseline", a)
    assert first == named == beside
    assert list(named) == [b, a, c]
    other = compared(a, b, c, "--baseline", b)
    assert other[a]["difference"] == pytest.approx(-first[b]["difference"])
    assert other[a]["p_value"] == pytest.approx(first[b]["p_value"])
    assert compared(b, "--baseline", a)[b]["p_value"] == first[b]["p_value"]


def test_json_is_json_where_the_effect_has_no_bound(irtoolkit: Command, write: Write) -> None:
    """The same gap on every query makes Cohen's d infinite; JSON has no word for that."""
    qrels = write("my.qrels", "q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    good = write("good.run", "".join(f"q{i} Q0 a 1 2 t\nq{i} Q0 b 2 1 t\n" for i in (1, 2, 3)))
    poor = write("poor.run", "".join(f"q{i} Q0 b 1 2 t\nq{i} Q0 a 2 1 t\n" for i in (1, 2, 3)))
    answer = irtoolkit("compare", qrels, poor, good, "--measure", "RR", "--format", "json")
    assert answer.status == 0

    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    parsed = json.loads(answer.out, parse_constant=refuse)
    assert parsed["systems"][1]["difference"] == 0.5


# -- export --------------------------------------------------------------------------------------


def exported(irtoolkit: Command, what: str, dataset: str = "csfcube/sample") -> list[str]:
    answer = irtoolkit("export", dataset, what)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith("\n")
    return answer.out.removesuffix("\n").split("\n")


def test_exported_docs_are_the_records(irtoolkit: Command) -> None:
    records = [json.loads(line) for line in exported(irtoolkit, "docs")]
    assert records == [
        {
            "doc_id": paper["paper_id"],
            "title": paper["title"],
            "sentences": paper["abstract"],
            "labels": [label.removesuffix("_label") for label in paper["pred_labels"]],
            "year": paper["metadata"]["year"],
        }
        for paper in sample_papers().values()
    ]


def test_a_topic_is_one_line_whatever_its_text_holds(irtoolkit: Command, toy: str) -> None:
    assert exported(irtoolkit, "topics", toy) == ["q1\tcat", "q2\tdog and man"]


def test_a_file_holds_what_is_printed_and_the_same_bytes_each_time(irtoolkit: Command) -> None:
    printed = "\n".join(exported(irtoolkit, "pools")) + "\n"
    for name in ("plain", "a.gz", "b.gz"):
        answer = irtoolkit("export", "csfcube/sample", "pools", "-o", f"new/{name}")
        assert (answer.status, answer.out) == (0, "")
    assert Path("new/plain").read_text("utf-8") == printed
    assert gzip.decompress(Path("new/a.gz").read_bytes()).decode("utf-8") == printed
    assert Path("new/a.gz").read_bytes() == Path("new/b.gz").read_bytes()
