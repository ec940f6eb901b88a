"""What becomes of bad and odd inputs: `python benchmarks/inputs.py`.

Tries every input of tests/inputs on the commands, on Python's functions and on the server, each in an
empty folder and within a minute, and prints by kind how many are refused with the word that has to be
in the message, and how many are accepted with the answer that has to be given. Results are in
benchmarks/results/inputs.json.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "inputs.json"
sys.path.insert(0, str(ROOT))
# No release and no cache of this machine has a part in it.
HOME = tempfile.mkdtemp(prefix="irtk-inputs-")
os.environ |= {
    "IRTOOLKIT_CACHE": f"{HOME}/cache",
    "IR_DATASETS_HOME": f"{HOME}/home",
    "HF_HUB_OFFLINE": "1",
    "COLUMNS": "100",
}
os.environ.pop("IRTOOLKIT_DATA", None)

from irtoolkit.base.tables import TextTable  # noqa: E402 the environment comes first
from tests.inputs.case import OUTCOMES, tried  # noqa: E402
from tests.inputs.cases import all_cases  # noqa: E402


def measured() -> dict[str, Any]:
    """How many inputs of each kind had each outcome, and what was said of those that are wrong."""
    counts: dict[str, Counter[str]] = {}
    wrong = []
    began = time.monotonic()
    for case in all_cases():
        with tempfile.TemporaryDirectory() as folder:
            outcome, said = tried(case, Path(folder))
        counts.setdefault(case.kind, Counter())[outcome] += 1
        if outcome not in OUTCOMES[:2]:
            wrong.append({"kind": case.kind, "name": case.name, "outcome": outcome, "said": said})
    kinds = {kind: {name: found[name] for name in OUTCOMES} for kind, found in counts.items()}
    return {
        "command": "python benchmarks/inputs.py",
        "inputs": sum(sum(found.values()) for found in kinds.values()),
        "seconds": round(time.monotonic() - began, 1),
        "kinds": kinds,
        "wrong": wrong,
    }


def table(results: dict[str, Any]) -> TextTable:
    """The counts as a table, with what is wrong below it."""
    rows = [(kind, sum(found.values()), *found.values()) for kind, found in results["kinds"].items()]  # fmt: skip
    total = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    notes = [f"{one['kind']}, {one['name']}: {one['outcome']}: {one['said']}" for one in results["wrong"]]  # fmt: skip
    return TextTable(["inputs", "tried", *OUTCOMES], [*rows, ("all", *total)], notes=notes)


def main() -> int:
    results = measured()
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(table(results))
    return 1 if results["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
