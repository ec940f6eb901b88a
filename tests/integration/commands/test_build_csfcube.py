"""irtoolkit build csfcube: pools, sheets, adjudication, a benchmark; and what users get wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.csfcube.build import Recipe, build_csfcube
from irtoolkit.building.csfcube.pooling import Pooling
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.scoring.agreement import STATISTICS
from tests.inputs.builders import COMMANDS, contents, filled, grade, lay, rows_of

BUILD = [*COMMANDS["csfcube"]]
DOCS = Path("docs.jsonl")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return lay("csfcube", tmp_path)


def read(path: Path) -> list[dict[str, str]]:
    return rows_of(path.read_bytes())


def fill(path: Path, name: str = "") -> None:
    """Writes planted grades into a sheet, as a person does."""
    path.write_bytes(filled(path.read_bytes(), name))


def fill_sheets() -> None:
    for path in Path("mine/sheets").iterdir():
        fill(path, path.stem)


def test_the_whole_path(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    said = capsys.readouterr().err
    assert "0 of" in said
    assert "pools have 12 to 13 candidates" in said
    pools = json.loads(Path("mine/test-pid2pool-csfcube.json").read_text("utf-8"))
    assert pools["910000057"]["cand_source"][0][0] == "cited"
    assert {len(pool["cands"]) for pool in pools.values()} == {12, 13}
    assert all(paper not in pool["cands"] for paper, pool in pools.items())
    fill_sheets()
    assert main(BUILD) == 0
    said = capsys.readouterr()
    assert "paper's ρ" in said.out
    assert "mine/adjudication.tsv: 0 of" in said.err
    disputed = read(Path("mine/adjudication.tsv"))
    assert disputed
    assert all(int(row["doc_id"]) % 3 == 0 and "bob" in row["ratings"] for row in disputed)
    fill(Path("mine/adjudication.tsv"))
    assert main(BUILD) == 0
    said = capsys.readouterr()
    assert "Query-candidate pairs" in said.out
    assert "mine, mine/background, mine/method, mine/result" in said.err
    data = Dataset.load("mine")
    for row in data.qrels_iter():
        assert row.relevance == grade(row.query_id, row.doc_id)
    assert sum(1 for _ in data.qrels_iter()) == sum(
        len(pools[query.doc_id]["cands"]) for query in data.queries_iter()
    )
    for run in ("fabs_bm25", "random"):
        assert main(["retrieve", "mine", run, "-o", f"{run}.run"]) == 0
        assert main(["retrieve", "mine/method", run, "-o", f"{run}-method.run"]) == 0
    assert main(["eval", "mine", "fabs_bm25.run", "random.run"]) == 0
    assert main(["compare", "mine", "fabs_bm25.run", "random.run"]) == 0
    assert main(["report", "mine/method", "fabs_bm25-method.run", "-o", "report.html"]) == 0
    assert main(["datasets", "mine"]) == 0
    assert main(["analyse", "csfcube-agreement", "mine"]) == 0
    with pytest.raises(InputError, match="no dataset"):
        Dataset.load("mine/aim")


def done(here: Path, build: list[str] = BUILD) -> Path:
    """A folder with a whole benchmark."""
    assert main(build) == 0
    fill_sheets()
    assert main(build) == 0
    if Path("mine/adjudication.tsv").exists():  # somebody differs
        fill(Path("mine/adjudication.tsv"))
        assert main(build) == 0
    return here / "mine"


def test_the_published_form(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads the release reads the folder in its place."""
    shutil.copytree(done(here), here / "data" / "csfcube")
    monkeypatch.setenv("IRTOOLKIT_DATA", str(here / "data"))
    theirs, ours = Dataset.load("csfcube"), Dataset.load("mine")
    assert theirs.queries == ours.queries
    assert list(theirs.qrels_iter()) == list(ours.qrels_iter())
    assert theirs.protocol.folds == ours.protocol.folds
    assert len(ours.protocol.folds) == 2


def test_the_same_again_and_elsewhere(here: Path) -> None:
    place = done(here)
    before = contents(place)
    assert main(BUILD) == 0
    assert contents(place) == before
    shutil.move("mine", "first")
    assert main([*BUILD, "--workers", "2"]) == 0
    for path in Path("mine").rglob("*.run"):
        assert path.read_bytes() == before[str(path.relative_to("mine"))]
    assert (
        Path("mine/test-pid2pool-csfcube.json").read_bytes() == before["test-pid2pool-csfcube.json"]
    )


def test_labels_of_a_browser(here: Path) -> None:
    """TREC qrels of annotators in place of the sheets: the same benchmark, but for their names."""
    place = done(here)
    sheets = sorted(place.glob("sheets/*.tsv"))
    for path in [*sheets, place / "adjudication.tsv"]:
        rows = [f"{row['query_id']} 0 {row['doc_id']} {row['grade']}\n" for row in read(path)]
        Path(f"{path.stem}.qrels").write_text("".join(rows), "utf-8")
    more = ["--labels", *(f"{path.stem}.qrels" for path in sheets)]
    build = [*BUILD[:-4], *more, "--adjudicated", "adjudication.qrels"]
    build[build.index("mine")] = "other"
    assert main(build) == 0
    assert not Path("other/sheets").exists()
    for name in ("test-pid2anns-csfcube-method.json", "evaluation_splits.json", "ratings.tsv"):
        assert (place / name).read_bytes() == Path("other", name).read_bytes()


def test_runs_in_place_of_systems(here: Path) -> None:
    assert main(["retrieve", str(DOCS), "bm25", "--topics", "topics.tsv", "-o", "x.run"]) != 0
    rows = [f"{q} Q0 91000000{d} {d} {9 - d} x\n" for q in ("910000057", "910000348_background",
            "910000291", "910000466") for d in (1, 6)]  # fmt: skip
    Path("mine.run").write_text("".join(rows), "utf-8")
    made = build_csfcube(
        [DOCS], "runs", "queries.csv", Recipe(Pooling(runs=("mine.run",), depth=2))
    )
    assert [*made.pools["910000057"].items()] == [
        ("910000001", ("mine",)),
        ("910000006", ("mine",)),
    ]


def test_an_interrupted_build_continues(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtoolkit.building.csfcube import systems

    made: list[str] = []
    rank = systems.rank_dataset

    def once(data: Any, system: Any, **more: Any) -> Any:
        if len(made) == 1:
            made.append("interrupted")
            raise KeyboardInterrupt
        made.append(system.name)
        return rank(data, system, **more)

    with monkeypatch.context() as patched:
        patched.setattr(systems, "rank_dataset", once)
        assert main(BUILD) == 130
        assert made == ["bm25", "interrupted"]
        assert main(BUILD) == 0
        assert made == ["bm25", "interrupted", "tfidf", "fabs_tfidf"]
    here_now = contents(Path("mine"))
    shutil.rmtree("mine")
    assert main(BUILD) == 0
    assert contents(Path("mine")) == here_now


def test_grades_are_never_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    before = contents(Path("mine"))
    for more in (["--seed", "1"], ["--depth", "5"]):
        assert main([*BUILD, *more]) == 2
        assert "--replace" in capsys.readouterr().err
    assert contents(Path("mine")) == before
    assert main([*BUILD, "--depth", "5", "--replace"]) == 0
    fill_sheets()
    before = contents(Path("mine"))
    assert main([*BUILD, "--replace"]) == 2
    assert "grades of other pools" in capsys.readouterr().err
    assert main([*BUILD[:-1], "dora", "--depth", "5", "--replace"]) == 2
    assert "grades of other annotators" in capsys.readouterr().err
    assert contents(Path("mine")) == before


def test_the_release_is_built_again(real_csfcube: Path, tmp_path: Path) -> None:
    """Of the release's documents, pools and single ratings come its judgments, and its agreement."""
    labels: dict[str, list[str]] = {"adjudicated": []}
    released = {}
    for facet in ("background", "method", "result"):
        name = f"test-pid2anns-csfcube-{facet}.json"
        released[name] = json.loads((real_csfcube / name).read_text("utf-8"))
        for paper, lists in released[name].items():
            for key, grades in lists.items():
                who = {"relevance_adju": "adjudicated"}.get(key, key.removeprefix("relevance_"))
                if who.startswith(("ann", "adju")):
                    labels.setdefault(who, []).extend(
                        f"{paper}_{facet} 0 {doc} {grade}\n"
                        for doc, grade in zip(lists["cands"], grades, strict=True)
                    )
    for who, rows in labels.items():
        (tmp_path / f"{who}.qrels").write_text("".join(rows), "utf-8")
    made = build_csfcube(
        [real_csfcube / "abstracts-csfcube-preds.jsonl"], tmp_path / "again",
        real_csfcube / "queries-release.csv",
        Recipe(Pooling(pools=real_csfcube / "test-pid2pool-csfcube.json")),
        labels=[tmp_path / f"ann{n}.qrels" for n in (1, 2, 3, 4)],
        adjudicated=tmp_path / "adjudicated.qrels",
    )  # fmt: skip
    assert made.quality is not None
    assert len(made.notes) == 2  # a paper in its own pool, and two candidates without a text
    for name, papers in released.items():
        ours = json.loads((tmp_path / "again" / name).read_text("utf-8"))
        assert {p: by_candidate(lists) for p, lists in ours.items()} == {
            p: by_candidate(lists) for p, lists in papers.items()
        }
    theirs, ours = Dataset.load("csfcube"), Dataset.load(str(tmp_path / "again"))
    assert theirs.queries == ours.queries
    assert {(r.query_id, r.doc_id): r for r in theirs.qrels_iter()} == {
        (r.query_id, r.doc_id): r for r in ours.qrels_iter()
    }
    agreement = json.loads((tmp_path / "again" / "agreement.json").read_text("utf-8"))
    off = [
        (row["facet"], row["adjudication"], name)
        for row in agreement
        for name in STATISTICS
        if abs(row[name] - row["paper"][name]) > 0.005
    ]
    assert off == [("background", "before", "ρ")]


def by_candidate(lists: dict[str, list[Any]]) -> dict[str, dict[str, Any]]:
    names = [name for name in lists if name != "cands"]
    return {doc: {name: lists[name][at] for name in names} for at, doc in enumerate(lists["cands"])}
