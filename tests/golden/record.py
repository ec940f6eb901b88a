"""What is kept of golden runs: hashes of their bytes and exact ranks, and the first rows in clear."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.runs import Run
from tests.golden.cases import CASES, RELEASES, SAMPLES, Case
from tests.golden.ways import Ways

HERE = Path(__file__).parent
_ROWS = 3
WORKERS = 2
# What decides the last bits of vectors.
_LIBRARIES = ("numpy", "torch", "transformers", "gensim", "faiss-cpu", "POT")


def file_of(dataset_id: str) -> Path:
    """The file of a dataset's golden runs."""
    return HERE / "runs" / f"{dataset_id.replace('/', '-')}.json"


def datasets(*, releases: bool) -> tuple[str, ...]:
    """The datasets that have golden runs."""
    return SAMPLES + RELEASES if releases else SAMPLES


def golden(dataset_id: str, cases: Iterable[Case] = CASES) -> dict[str, Any]:
    """Case to way to what is kept of its run."""
    rows = dataset_id in SAMPLES
    with tempfile.TemporaryDirectory() as home, _empty_cache(home), _silence():
        ways = Ways(dataset_id, Path(home))
        ranked = [case for case in cases if case.ranks(dataset_id)]
        found = {
            case.name: {name: _kept(way, home, rows) for name, way in ways.of(case).items()}
            for case in ranked
        }
        # Its workers take longer to start than all of the rankings.
        with ir.engine("processes", workers=WORKERS):
            for case in ranked:
                if not case.settings:  # of a family, any settings are sent in the same way
                    found[case.name]["processes"] = _kept(ways.first(case), home, rows)
    return found


@contextlib.contextmanager
def _empty_cache(home: str) -> Iterator[None]:
    """No index that other code has built is found."""
    before = os.environ.get("IRTOOLKIT_CACHE")
    os.environ["IRTOOLKIT_CACHE"] = f"{home}/cache"
    try:
        yield
    finally:
        del os.environ["IRTOOLKIT_CACHE"]
        if before is not None:
            os.environ["IRTOOLKIT_CACHE"] = before


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _kept(way: Callable[[], Run], home: str, rows: bool) -> dict[str, Any]:
    """What is kept of a way's run, or the error that it ends in."""
    try:
        return summary(way(), rows)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".replace(home, "~")}


def summary(run: Run, rows: bool) -> dict[str, Any]:
    """The hashes of a run's rows and exact ranks, and of samples the first rows of the first query."""
    text = "".join(f"{row.query_id} {row.doc_id} {row.score!r}\n" for row in run)
    ranks = json.dumps(run.exact_ranks, sort_keys=True) if run.exact_ranks else None
    kept: dict[str, Any] = {"run": _hash(text), "ranks": ranks and _hash(ranks), "rows": len(run)}
    if rows:
        kept["first"] = text.splitlines()[:_ROWS]
    return kept


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def machine() -> dict[str, str]:
    """What decides the last bits of vectors: the processor's instructions and the libraries."""
    import torch

    found = {name: metadata.version(name) for name in _LIBRARIES}
    capability = torch.backends.cpu.get_cpu_capability()
    return {"processor": f"{platform.machine()} {capability}", **found}
