"""The page results/robustness.md: what was tried against irtoolkit, from benchmarks/results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from docstrings import table

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = _ROOT / "benchmarks" / "results"
_ENDS = ("refused well", "accepted rightly", "refused badly", "silent wrong", "traceback", "hang")
INTRO = """# Under attack

What is fed to a command is answered rightly or refused in one line, what is killed continues, and the same
command gives the same bytes, but for weights and scores of models where threads or the order of documents
[differ](#surroundings-of-a-command). This page has what was tried, and what came of it. The scripts make everything
again; they need a clone of the repository.
"""
INPUTS = """## Bad and odd inputs

`python benchmarks/inputs.py` tries each over the commands, the API and Python. *Refused well* is one line that
names what is wrong, with nothing written; *accepted rightly* is an odd input with the right result.
"""
FAULTS = """## Commands that are disturbed

`make faults` disturbs each command at moments that are spread over its work, a moment being a change of the
disk: it is killed or interrupted, the disk is full, fails or cannot be written to, memory or the size of a file is
limited, or a write is torn. Then it is run again without a disturbance. *Identical* are the moments after
which its result is that of a command that was never disturbed, to the byte. *Files left* counts moments after
which a hidden temporary file or a lock is still there; *locks*, those that kept a command from removing its own
lock: the empty file stays until a command needs that lock again. *Otherwise* are the moments at which the
command ended in another way than is asked of it, with more than one line for example. A library that finds no
memory may end a command itself, with status -6 or 127, as no program can prevent. Processes that a killed command had
started end by themselves: with `--engine ray` within two minutes, the last of them two agents of Ray.
"""
TOGETHER = """## Processes at once

`python -m tests.faults --together` starts processes that share something, six at a time. A process that finds the
index taken for longer than it waits says so, ends with status 2, and changes nothing.
"""
FUZZ = """## Fuzzing

`make fuzz` changes valid inputs, and those that reach new lines further. An input is refused with
an `InputError`, or read as another reader reads it; anything else is a failure. *Failed* are the inputs
that did so before the parser was mended, many for one cause; examples of each are in `tests/fuzz/found/`, and tried by
each run of the tests. *Open* are causes that the last run of a parser met.
"""
ALIKE = """## Surroundings of a command

`python -m tests.faults.determinism` changes one thing after the other, and compares results with those of one
thread: runs of five lexical retrievers, of an index, of a dense model and of one that was trained, values of
queries, a benchmark that was built, and weights. Differences of scores are relative to the largest score
of a query, those of weights to the largest weight. *Moved* are documents at another rank.
"""
TESTS = """## The tests themselves

`python benchmarks/suite.py` runs all tests, with `--busy` beside other processes and with `--seed` in a random
order of files and of the tests of each. *Load* is the mean of the machine's, *worker MB* the most memory that a
process of pytest had.
"""


def page() -> str:
    """The page."""
    faults = _kept("faults")
    sections = (
        INTRO, INPUTS, _inputs(_kept("inputs")["kinds"]), FAULTS, _faults(faults["faults"]),
        TOGETHER, _together(faults["together"]), FUZZ, _fuzz(_kept("fuzz")["targets"]),
        ALIKE, _alike(faults["determinism"]), *_tests(),
    )  # fmt: skip
    return "\n".join(sections)


def _kept(name: str) -> Any:
    return json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))


def _summed(headers: list[str], rows: list[list[Any]], sums: int = 1) -> str:
    """A table of numbers with their sums below; `sums` is the first column that has one."""
    last = ["all", *[""] * (sums - 1), *(sum(row[i] for row in rows) for i in range(sums, len(headers)))]  # fmt: skip
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in [*rows, last]]  # fmt: skip
    return table(headers, shown)


def _inputs(kinds: dict[str, dict[str, int]]) -> str:
    rows = [[kind, sum(ends.values()), *(ends[end] for end in _ENDS)] for kind, ends in kinds.items()]  # fmt: skip
    return _summed(["kind", "inputs", *_ENDS], rows)


def _faults(found: list[dict[str, Any]]) -> str:
    keys = ("points", "identical", "tracebacks", "left", "locks", "other")
    commands = dict.fromkeys(row["command"] for row in found)
    rows = [
        [name, *(sum(row.get(key, 0) for row in found if row["command"] == name) for key in keys)]
        for name in commands
    ]
    return _summed(["command", "moments", "identical", "tracebacks", "files left", "locks", "otherwise"], rows)  # fmt: skip


def _together(found: list[dict[str, Any]]) -> str:
    rows = [
        [one["shared"], one["processes"], one["identical"], _without_numbers(one["problems"])]
        for one in found
    ]
    return table(["shared", "processes", "the result of one alone", "else"], [[str(cell) for cell in row] for row in rows])  # fmt: skip


def _without_numbers(problems: list[str]) -> str:
    """What processes said, each once, with how many said it."""
    said = [problem.partition(": ")[2] for problem in problems]
    return "; ".join(f"{said.count(one)} times {one}" for one in dict.fromkeys(said))


def _fuzz(targets: list[dict[str, Any]]) -> str:
    rows = [
        [t["target"], t["executions"], round(t["seconds"]), t["refused"], t["accepted"], _failed(t), len(t["failures"])]
        for t in targets
    ]  # fmt: skip
    return _summed(["parser", "inputs", "seconds", "refused", "accepted", "failed", "open"], rows)


def _failed(target: dict[str, Any]) -> int:
    return int(target["executions"] - target["refused"] - target["accepted"])


def _alike(found: list[dict[str, Any]]) -> str:
    rows = []
    for one in found:
        other = {name: r for name, r in one["results"].items() if not r["same"]}
        same = len(one["results"]) - len(other)
        said = "; ".join(f"{name}: {_apart(r)}" for name, r in other.items())
        rows.append([f"`{one['about']}`" if "=" in one["about"] else one["about"], f"{same} of {len(one['results'])}", said])  # fmt: skip
    return table(["changed", "same bytes", "differences"], rows)


def _apart(result: dict[str, Any]) -> str:
    if "weight" in result:
        return f"{result['weight']:.0e}"
    if "score" in result:
        return f"scores {result['score']:.0e}, {result['moved']} moved"
    return "other bytes"


def _tests() -> list[str]:
    """Nothing before the tests have been measured."""
    if not (_FOLDER / "suite.json").exists():
        return []
    found = _kept("suite")
    heads = [
        "commit", "order", "beside it", "load", "passed", "skipped", "failed", "minutes", "worker MB",
    ]  # fmt: skip
    rows = [
        [one["commit"], one["order"], one["beside"], str(one["load"]), f"{one['passed']:,}",
         str(one["skipped"]), str(len(one["failed"])), str(one["minutes"]),
         f"{one['worker MB']:,}" if "worker MB" in one else ""]
        for one in found
    ]  # fmt: skip
    return [
        TESTS,
        table(heads, rows),
        *_failures(found),
        *_slowest(found[0]),
        *(_slowest(found[-1]) if found[1:] else []),
    ]


def _failures(found: list[dict[str, Any]]) -> list[str]:
    """What failed in each record, by file; a fixture that fails counts for each of its tests."""
    lines = []
    for one in found:
        files = Counter(name.split("::")[0].replace(".", "/") for name in one["failed"])
        if files:
            counted = ", ".join(f"{count} of {_file(name)}" for name, count in files.items())
            lines.append(f"- {one['commit']}, {one['order']}: {counted}")
    told = "Files are where they are today, and tests below have the names that they had then"
    return [f"\nWhat failed ({told}):\n\n" + "\n".join(lines)] if lines else []


def _file(name: str) -> str:
    """Returns where a file of tests is today; its name alone if it is gone."""
    path = Path(f"{name}.py")
    if not (_ROOT / path).is_file():
        moved = [p.relative_to(_ROOT) for p in (_ROOT / "tests").rglob(path.name)]
        if len(moved) != 1:
            return f"{path.name}, which is gone"
        (path,) = moved
    return f"`{path.as_posix()}`"


def _slowest(one: dict[str, Any]) -> list[str]:
    """The slowest tests of a record."""
    rows = [[f"`{name}`", str(seconds)] for name, seconds in one["slowest"].items()]
    told = (
        f"\nThe slowest of {one['commit']}, at load {one['load']}, with what their fixtures take:\n"
    )
    return [told, table(["test", "seconds"], rows)]
