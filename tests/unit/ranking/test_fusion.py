"""Fusion of runs, against the definitions in plain Python and against ranx."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.ids import id_array
from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_files import fuse_files
from irtoolkit.ranking.fusion_methods import (
    CombMNZ,
    CombSUM,
    ReciprocalRank,
    Weighted,
)
from irtoolkit.ranking.normalisation import normalised
from irtoolkit.runs import Run, provenance

Command = Callable[..., Any]
NORMALISATIONS = ["minmax", "zscore", "sum", "none"]

# ---------------------------------------------------------------------------------------------
# The definitions, a document at a time
# ---------------------------------------------------------------------------------------------
# By hand
# ---------------------------------------------------------------------------------------------

ONE = Run.from_rows([("q1", "a", 9), ("q1", "b", 5), ("q1", "c", 1), ("q2", "a", 1)], "one")
TWO = Run.from_rows([("q1", "c", 0.3), ("q1", "d", 0.1), ("q3", "a", -2)], "two")


def figures(run: Run, query: str) -> dict[str, float]:
    return {row.doc_id: row.score for row in run.ranking(query)}


def test_reciprocal_ranks() -> None:
    fused = fuse([ONE, TWO])
    assert fused.query_ids.tolist() == ["q1", "q2", "q3"]
    expected = {"c": 1 / 63 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "b": 1 / 62}
    assert figures(fused, "q1") == pytest.approx(expected, rel=1e-7)
    assert list(figures(fused, "q1")) == ["c", "a", "d", "b"]
    assert figures(fused, "q3") == pytest.approx({"a": 1 / 61}, rel=1e-7)
    assert fused.tag == "rrf"


def test_a_weighted_sum() -> None:
    assert figures(fuse([ONE, TWO], "weighted", weights=[0.5, 2]), "q1") == {
        "c": 2,
        "a": 0.5,
        "b": 0.25,
        "d": 0,
    }
    raw = fuse([ONE, TWO], "weighted", weights=[1, 10], normalise="none")
    assert figures(raw, "q1") == {"a": 9, "b": 5, "c": 4, "d": 1}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("minmax", [1, 0.5, 0]),
        ("zscore", [1.5**0.5, 0, -(1.5**0.5)]),
        ("sum", [2 / 3, 1 / 3, 0]),
        ("none", [9, 5, 1]),
    ],
)
def test_normalisations(how: Any, expected: list[float]) -> None:
    alone = [1.0] if how == "none" else [0.0]
    assert normalised(ONE, how).tolist() == pytest.approx(expected + alone, abs=1e-15)


def test_queries_without_rows_are_kept() -> None:
    ids, docs = id_array(["q1", "none", "q2"]), id_array(["a"])
    run = Run.from_columns(ids, np.array([0, 2]), docs, np.array([0, 0]), [1, 2])
    fused = fuse([run, run], CombSUM("sum"))
    assert fused.query_ids.tolist() == ["q1", "none", "q2"]
    assert fused.offsets.tolist() == [0, 1, 1, 2]


def test_the_order_is_that_of_double_precision() -> None:
    """1 and 1 + 1e-9 are one float32, and a reader would put the later id first."""
    one = Run.from_rows([("q", "a", 1), ("q", "z", 1)])
    two = Run.from_rows([("q", "a", 1)])
    fused = fuse([one, two], "weighted", weights=[1, 1e-9], normalise="none")
    below = float(np.nextafter(np.float32(1), np.float32(0)))
    assert list(fused) == [("q", "a", 1.0), ("q", "z", below)]


# ---------------------------------------------------------------------------------------------
# ranx
# ---------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["csfcube/sample", ".", "folder"])
def test_files_that_are_fused_are_runs(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("a.run").write_text("q1 Q0 d1 1 1.0 a\n")
    with pytest.raises(InputError, match=f"^{other}: not a run, and fuse takes runs only"):
        fuse_files(["a.run", other], "f.run")


@pytest.mark.parametrize("weights", [(1e30, 1.0), (1e300, 1.0), (1e300, -1e300)])
def test_a_score_that_is_not_finite_is_refused(weights: tuple[float, float]) -> None:
    one = Run.from_rows([("q0", "a", 0.0), ("q1", "c", 0.0), ("q1", "b", 1e30)])
    two = Run.from_rows([("q1", "b", 1e30), ("q1", "c", 0.0)])
    with pytest.raises(InputError, match="of document b for query q1 is not a finite") as caught:
        fuse([one, two], "weighted", weights=weights, normalise="none")
    assert caught.value.remedy is not None


@pytest.mark.parametrize("k", [0, 1, 2, 100])
def test_the_product_of_ranks(k: int) -> None:
    """Held against counting: each run's ranks, of which those beyond k and missing ones are k + 1."""
    ranks = [
        {query: {row[1]: i for i, row in enumerate((r for r in run if r[0] == query), 1)}
         for query in run.query_ids}
        for run in (ONE, TWO)
    ]  # fmt: skip
    found = fuse([ONE, TWO], "rankproduct", k=k)
    assert len(found) == len({(row[0], row[1]) for run in (ONE, TWO) for row in run})
    for query in found.query_ids:
        rows = [row for row in found if row[0] == query]
        products = [
            np.prod([min(k + 1, each.get(query, {}).get(row[1], k + 1)) for each in ranks])
            for row in rows
        ]
        assert products == sorted(products)
        # Documents with the same product are in the order of all ties.
        pairs = list(zip(products, (row[1] for row in rows), strict=True))
        assert pairs == sorted(sorted(pairs, key=lambda pair: pair[1], reverse=True), key=lambda pair: pair[0])  # fmt: skip


def test_a_method_is_named_or_given(tmp_path: Path) -> None:
    settings = {"weights": [0.25, 4], "normalise": "sum"}
    named = fuse([ONE, TWO], "weighted", **settings)
    assert named == fuse([ONE, TWO], Weighted((0.25, 4.0), "sum"))
    assert fuse([ONE, TWO]).tag == "rrf"
    with pytest.raises(InputError, match="given with its parameters, and k again"):
        fuse([ONE, TWO], ReciprocalRank(), k=3)
    with pytest.raises(InputError, match="rrf takes no weights"):
        fuse([ONE, TWO], weights=[1, 2])
    with pytest.raises(InputError, match="weighted needs weights"):
        fuse([ONE, TWO], "weighted")


@pytest.mark.parametrize("one", [ONE, ONE.as_dict(), "one.run"])
def test_one_run_is_not_taken_for_several(one: Any) -> None:
    with pytest.raises(InputError, match="give a list of at least two"):
        fuse(one)


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """ONE and TWO in files."""
    paths = [tmp_path / "one.run", tmp_path / "two.run.gz"]
    ONE.write(paths[0])
    TWO.write(paths[1])
    return paths


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.parquet", "new/x.run"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", fuse([ONE, TWO])),
        ("--method rrf --k 2 --depth 1", fuse([ONE, TWO], k=2, depth=1)),
        ("--method weighted --weights 0.5 -2", fuse([ONE, TWO], "weighted", weights=[0.5, -2])),
        ("--method combsum --normalise zscore", fuse([ONE, TWO], CombSUM("zscore"))),
        ("--method combmnz --tag best", fuse([ONE, TWO], CombMNZ(), tag="best")),
    ],
)
def test_fused_files(
    irtoolkit: Command, files: list[Path], tmp_path: Path, options: str, expected: Run, name: str
) -> None:
    answer = irtoolkit("fuse", *files, "-o", tmp_path / name, *options.split())
    assert (answer.status, answer.out) == (0, ""), answer.err
    assert f"{tmp_path / name}: 3 queries, {len(expected)} rows" in answer.err
    fused = Run.read(tmp_path / name)
    assert list(fused) == list(expected.untied())
    assert fused.tag == expected.tag


def test_the_record_names_the_files(irtoolkit: Command, files: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "x.run"
    options = "--method weighted --weights 0.25 2 --normalise sum --depth 3 --tag mine"
    assert irtoolkit("fuse", *files, "-o", output, *options.split()).status == 0
    record = yaml.safe_load(provenance.metadata_path(output).read_text("utf-8"))
    assert record["tag"] == "mine"
    settings = {"weights": [0.25, 2.0], "normalise": "sum"}
    assert record["method"]["retrieval"] == [{"method": "weighted", **settings}]
    made = record["irtoolkit"]
    assert made["runs"] == [
        {"file": str(files[0]), "sha256": sha256(files[0]), "tag": "one"},
        {"file": str(files[1]), "sha256": sha256(files[1]), "tag": "two"},
    ]
    assert (made["settings"], made["depth"], made["dataset"]) == (settings, 3, None)
    assert made["sha256"] == sha256(output)


def test_no_run_stands_beside_the_record_of_another(
    irtoolkit: Command, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "x.run"
    assert irtoolkit("fuse", *files, "-o", output).status == 0

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(provenance, "write_metadata", stop)
    assert irtoolkit("fuse", *files, "-o", output, "--k", 1).status == 130
    assert list(Run.read(output)) == list(fuse([ONE, TWO], k=1).untied())
    assert not provenance.metadata_path(output).exists()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--method borda", "no fusion method 'borda'"),
        ("--method weighted", "method weighted needs weights"),
        ("--method weighted --weights 1 2 3", "3 weights for 2 runs"),
        ("--method weighted --weights 1 two", "'two'"),
        ("--k -1", "k=-1 is not a finite number of at least 0"),
        ("--depth 0", "depth 0 is not at least 1"),
        ("--tag two\u00a0words\t", "is not one word"),
    ],
)
def test_bad_options_leave_everything_as_it_was(
    irtoolkit: Command, files: list[Path], options: str, found: str
) -> None:
    folder = files[0].parent
    for name in ("x.run", "x.run.ranks.tsv", "x.run.ir-metadata.yml"):
        (folder / name).write_text("here before")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    answer = irtoolkit("fuse", *files, "-o", folder / "x.run", *options.split(" "))
    assert answer.status == 2
    assert found in answer.err
    assert len(answer.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("method", "normalise", "noted"),
    [
        ("combmnz", "zscore", True),
        ("CombMNZ", "zscore", True),
        ("combmnz", "minmax", False),
        ("combmnz", None, False),
        ("combsum", "zscore", False),
        ("weighted --weights 1 1", "zscore", False),
    ],
)
def test_z_scores_that_are_multiplied_are_noted(
    irtoolkit: Command, files: list[Path], method: str, normalise: str | None, noted: bool
) -> None:
    chosen = [] if normalise is None else ["--normalise", normalise]
    output = files[0].parent / "z.run"
    answer = irtoolkit("fuse", *files, "-o", output, "--method", *method.split(), *chosen)
    assert answer.status == 0, answer.err
    assert ("note: z-scores below the mean are negative, and combmnz" in answer.err) is noted


def test_a_device_gets_no_record(irtoolkit: Command, files: list[Path]) -> None:
    answer = irtoolkit("fuse", *files, "-o", "/dev/null")
    assert answer.status == 0, answer.err
    assert not provenance.metadata_path("/dev/null").exists()
