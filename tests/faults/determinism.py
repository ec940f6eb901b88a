"""Whether results depend on threads, hash seed, locale, time zone, order of documents, shards or engine.

python -m tests.faults.determinism     some 10 minutes on two cores; keeps a table
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from irtoolkit.runs import Run
from tests.faults import cases
from tests.faults.harness import contents, digest
from tests.faults.zygote import ROOT

# What a process does: each line of standard input is a command, all in one process.
_ALL = """
import json, sys
from irtoolkit.cli import main
for line in sys.stdin:
    words = json.loads(line)
    if main(words):
        sys.exit(f"failed: {words}")
"""
LEXICAL = ("bm25", "ql", "tfidf", "rm3", "random")
DOCUMENTS = 600


@dataclass(frozen=True)
class Variation:
    """Something that must not change a result.

    Attributes:
        about: what differs from the plain way.
        env: environment variables.
        shuffled: whether the documents come in another order.
        shards: number of shards of the index.
        words: flags of ranking and building.
    """

    about: str
    env: Mapping[str, str] = field(default_factory=dict)
    shuffled: bool = False
    shards: int = 1
    words: tuple[str, ...] = ()


VARIATIONS: dict[str, Variation] = {
    "again": Variation("nothing"),
    "threads-2": Variation("OMP_NUM_THREADS=2", {"OMP_NUM_THREADS": "2"}),
    "threads-5": Variation("OMP_NUM_THREADS=5", {"OMP_NUM_THREADS": "5"}),
    "seed-1": Variation("PYTHONHASHSEED=1", {"PYTHONHASHSEED": "1"}),
    "seed-77": Variation("PYTHONHASHSEED=77", {"PYTHONHASHSEED": "77"}),
    "locale": Variation("LC_ALL=C", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "zone": Variation("TZ=Pacific/Kiritimati", {"TZ": "Pacific/Kiritimati"}),
    "order": Variation("documents in another order", shuffled=True),
    "shards": Variation("index of 4 shards in place of 1", shards=4),
    "processes": Variation("--workers 2", words=("--workers", "2")),
    "ray": Variation("--engine ray", words=("--engine", "ray", "--workers", "2")),
}


def commands(variation: Variation, neural: bool) -> list[list[str]]:
    """Commands to run in a folder, one after the other."""
    more = list(variation.words)
    made: list[list[str]] = [["register", "own", "collection"]]
    made += [["retrieve", "own", name, "-o", f"{name}.run", *more] for name in LEXICAL]
    parts = [f"part{number}.jsonl" for number in range(variation.shards)]
    for number, part in enumerate(parts):
        made.append(["index", part, "bm25", "-o", "idx", *(["--add"] if number else []), *more])
    made.append(["retrieve", "--index", "idx", "--topics", "topics.tsv", "-o", "index.run", *more])
    made.append(["eval", "own", "bm25.run", "ql.run", "--per-query", "values.tsv", "-m", "AP"])
    made.append([*cases.QUOTER, *more])
    if neural:
        made += [
            ["retrieve", "own", "./tiny", "-o", "dense.run", *more],
            ["train", "mine.toml", "-o", "model"],
            ["retrieve", "own", "./model", "-o", "trained.run", *more],
        ]  # fmt: skip
    return made


def write(folder: Path, variation: Variation) -> None:
    """Writes what the commands read."""
    lines = cases.documents(0, DOCUMENTS).splitlines()
    if variation.shuffled:
        random.Random(5).shuffle(lines)
    (folder / "collection").mkdir(parents=True)
    topics = "q1\twhale ship\nq2\tletter\nq3\tstorm lamp coat\n"
    qrels = [f"q{number % 3 + 1} 0 d{number * 7} {number % 2 + 1}" for number in range(60)]
    for name, text in (("docs.jsonl", lines), ("qrels.txt", qrels)):
        (folder / "collection" / name).write_text("\n".join(text) + "\n")
    for path in (folder / "topics.tsv", folder / "collection" / "topics.tsv"):
        path.write_text(topics)
    size = -(-len(lines) // variation.shards)
    for number in range(variation.shards):
        part = lines[number * size : (number + 1) * size]
        (folder / f"part{number}.jsonl").write_text("\n".join(part) + "\n")
    cases.corpus(folder)
    cases.recipe(folder)


def results(folder: Path) -> dict[str, Path]:
    """Name of a result to its file or folder."""
    found = {path.stem: path for path in sorted(folder.glob("*.run"))}
    found |= {"values": folder / "values.tsv", "benchmark": folder / "mine"}
    weights = folder / "model" / "model.safetensors"
    return found | ({"weights": weights} if weights.exists() else {})


def measure(variation: Variation, folder: Path, neural: bool = True) -> dict[str, Path]:
    """Runs everything in one way; the results."""
    write(folder, variation)
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "IRTOOLKIT_CACHE": str(folder / "cache"),
        "IR_DATASETS_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false",
        **variation.env,
    }  # fmt: skip
    orders = "".join(json.dumps(each) + "\n" for each in commands(variation, neural))
    done = subprocess.run(
        [sys.executable, "-c", _ALL], cwd=folder, env=env, input=orders, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-2000:]
    return results(folder)


def compared(one: Path, other: Path) -> dict[str, float | bool]:
    """How much a result differs from another: runs in scores and in order, weights in numbers."""
    if one.is_dir():
        return {"same": contents(one) == contents(other)}
    if digest(one) == digest(other):
        return {"same": True}
    if one.suffix == ".safetensors":
        return {"same": False, "weight": _weights_apart(one, other)}
    if one.suffix != ".run":
        return {"same": False}
    return {"same": False, **differences(_scores(one), _scores(other))}


def _weights_apart(one: Path, other: Path) -> float:
    """The largest difference of a weight, relative to the largest weight of the model.

    Not relative to each tensor: a key's bias has no gradient but rounding, which Adam makes as large as
    any other, and scores do not depend on it.
    """
    from safetensors.numpy import load_file

    mine, theirs = load_file(one), load_file(other)
    assert mine.keys() == theirs.keys()
    size = max(float(np.abs(value).max()) for value in mine.values())
    return max(float(np.abs(mine[name] - theirs[name]).max()) for name in mine) / size


def _scores(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in Run.read(path):
        found.setdefault(row.query_id, {})[row.doc_id] = row.score
    return found


def differences(
    one: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """How far two runs are from each other, their documents in the order of each.

    Returns:
        score: the largest difference of a score, relative to the largest score of its query.
        moved: documents at another rank.
        gap: of the pairs in another order, the largest difference of their scores in the first run,
            relative likewise.
        other: documents that only one of them has.
    """
    score = gap = 0.0
    moved = strange = 0
    for query, mine in one.items():
        theirs = other.get(query, {})
        shared = [doc for doc in mine if doc in theirs]
        strange += len(mine.keys() ^ theirs.keys())
        if not shared:
            continue
        a = np.array([mine[doc] for doc in shared])
        b = np.array([theirs[doc] for doc in shared])
        size = float(np.abs(a).max()) or 1.0
        score = max(score, float(np.abs(a - b).max()) / size)
        order = np.argsort(-b, kind="stable")
        moved += int((order != np.arange(len(shared))).sum())
        # A document that is behind another one of a lower score: how much lower, at most.
        gap = max(gap, float((np.maximum.accumulate(-a[order]) + a[order]).max()) / size)
    return {"score": score, "moved": moved, "gap": gap, "other": strange}


def rows(names: Sequence[str], neural: bool = True) -> list[dict[str, object]]:
    """A row for each variation: what it does to each result."""
    place = Path(tempfile.mkdtemp(prefix="determinism-"))
    made: list[dict[str, object]] = []
    try:
        plain = measure(VARIATIONS["again"], place / "plain", neural)
        for name in names:
            found = measure(VARIATIONS[name], place / name, neural)
            assert found.keys() == plain.keys()
            about = {each: compared(plain[each], found[each]) for each in plain}
            made.append({"variation": name, "about": VARIATIONS[name].about, "results": about})
            print(json.dumps(made[-1]), flush=True)
            shutil.rmtree(place / name)
    finally:
        shutil.rmtree(place)
    return made


def main() -> int:
    """What this script does."""
    from tests.faults.__main__ import keep

    parser = argparse.ArgumentParser(prog="python -m tests.faults.determinism", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="VARIATION", help=", ".join(VARIATIONS))
    args = parser.parse_args()
    made = rows(args.names or list(VARIATIONS))
    if not args.names:
        keep("determinism", made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
