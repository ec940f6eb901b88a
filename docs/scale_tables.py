"""The tables of how-to/scale.md: what corpora of any size take, computed from the results of benchmarks.

Rates are of the machine that the results in benchmarks/results come from. What was not measured at a
size is taken in proportion to the number of passages from the largest that was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docstrings import table

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
SIZES = (10**6, 10**8, 10**9)
# Of the machines that are counted, and the hours in which they are to be ready.
CORES, HOURS = 64, 24
# Seconds in which a query is to be answered.
ANSWER = 0.1
# Operations for each token in the layers of a transformer go with layers x width squared: MiniLM has
# 6 x 384 squared, BERT-base 12 x 768 squared.
BASE = (12 * 768**2) / (6 * 384**2)
POWERS = {10**6: "10⁶", 10**8: "10⁸", 10**9: "10⁹"}


def blocks() -> dict[str, tuple[str, str]]:
    """Each table by its name."""
    known = {path.stem: json.loads(path.read_text("utf-8")) for path in RESULTS.glob("*.json")}
    made = {
        "disk": disk(known), "build": build(known), "search": search(known), "merge": merge(known),
        "spread": spread(known), "driver": driver(known), "stored": stored(known),
        "gpu": gpu(known),
        "gpu-cost": gpu_cost(known),
        "gpu-search": gpu_search(known),
    }  # fmt: skip
    return {name: (content, "") for name, content in made.items()}


def disk(known: Any) -> str:
    """Bytes of each kind."""
    large = known["index-large"]["rows"][0]
    texts = 1e6 * large["of which texts MB"] / large["passages"]
    postings = 1e6 * large["disk MB"] / large["passages"] - texts
    rows = [
        ("ids and texts", texts, None),
        ("BM25 postings", postings, None),
        *((_named(row), row["bytes"], row["cache bytes"]) for row in known["scale"]["sizes"]),
    ]
    heads = ["kept", "bytes a passage", *POWERS.values(), "encodings in the cache, bytes a passage"]
    return table(
        heads,
        [
            [
                name, f"{each:,.0f}", *(_bytes(each * size) for size in SIZES),
                "" if cache is None else f"{cache:,.0f}",
            ]
            for name, each, cache in rows
        ],
    )  # fmt: skip


def build(known: Any) -> str:
    """Core-hours to build, and machines that are ready in a day."""
    large = known["index-large"]["rows"][0]
    cpu = large["build cpu s"] / large["passages"]
    minilm = 1 / _texts_a_second(known)
    sizes = {(row["kind"], row["dimensions"]): row for row in known["scale"]["sizes"]}
    rows = [("BM25: read, analyse, write", cpu), ("encode, 384-d (MiniLM)", minilm),
            ("encode, 768-d or late (BERT-base)", BASE * minilm)]  # fmt: skip
    for kind, dimensions in (
        ("faiss hnsw", 384), ("faiss hnsw", 768), ("faiss ivfpq", 384), ("faiss ivfpq", 768),
        ("plaid", 128),
    ):  # fmt: skip
        row = sizes[kind, dimensions]
        cores = _cores(known["scale"]["device"])
        rows.append((f"{_named(row)}: arrange vectors", cores * row["arrange us"] / 1e6))
    heads = ["work", "passages a second and core", *(f"core-hours, {p}" for p in POWERS.values()),
             *(f"machines, {p}" for p in POWERS.values())]  # fmt: skip
    return table(
        heads,
        [
            [
                name, f"{1 / seconds:,.0f}",
                *(_number(seconds * size / 3600) for size in SIZES),
                *(f"{_up(seconds * size / 3600 / CORES / HOURS):,}" for size in SIZES),
            ]
            for name, seconds in rows
        ],
    )  # fmt: skip


def search(known: Any) -> str:
    """Core-seconds of a query, and machines that answer one in time."""
    large = known["index-large"]["rows"][0]
    cores = known["index-large"]["threads"]
    rows = [
        (
            f"BM25, {cell['words']} words, k={cell['k']:,}",
            cores / cell["queries/s"] / large["passages"],
        )
        for cell in large["cells"]
    ]
    exact = known["neural"]["ranking"][-1]
    cores = _cores(known["neural"]["device"])
    dense = cores * exact["ms/query"] / 1e3 / exact["candidates"]
    rows += [
        ("384-d, exact, batches of queries", dense),
        ("768-d, exact, batches of queries", 2 * dense),
    ]
    heads = ["query", *(f"core-seconds, {p}" for p in POWERS.values()),
             *(f"machines, {p}" for p in POWERS.values())]  # fmt: skip
    return table(
        heads,
        [
            [
                name, *(_number(each * size) for size in SIZES),
                *(f"{_up(each * size / ANSWER / CORES):,}" for size in SIZES),
            ]
            for name, each in rows
        ],
    )  # fmt: skip


def merge(known: Any) -> str:
    """The simulation of the merge."""
    heads = ["sets of shards", "k", "merge, ms a query", "bytes that arrive, a query", "driver, MB"]
    return table(
        heads,
        [
            [f"{row['shards']:,}", f"{row['k']:,}", f"{row['ms/query']:,.2f}",
             _bytes(1e3 * row["KB/query"]), f"{row['driver MB']:,.1f}"]
            for row in known["scale"]["merge"]
        ],
    )  # fmt: skip


def spread(known: Any) -> str:
    """What two workers gain."""
    return table(
        ["work", "efficiency of 2 processes", "efficiency of 2 on Ray", "time on Ray / processes"],
        [
            [row["part"], *(f"{value:.2f}" for value in list(row.values())[1:])]
            for row in known["scale"].get("ratios", [])
        ],
    )


def driver(known: Any) -> str:
    """The memory of the process that gives out the work."""
    return table(
        ["work", "passages", "driver, MB", "private, MB"],
        [
            [
                row["part"],
                f"{row['size']:,}",
                f"{row['driver peak MB']:,.0f}",
                f"{row['private MB']:,.0f}",
            ]
            for row in known["scale"].get("memory", [])
        ],
    )


def gpu(known: Any) -> str:
    """What a GPU does in a second, as a share of its rate of a matrix product, and beside a peer."""
    checks = {one["name"]: one for one in known["gpu"]["checks"]}
    measured = {
        "texts of mixed length encoded": checks["encode"]["mixed"],
        "texts of some 256 tokens encoded": checks["encode"]["full"],
        "pairs of texts of together some 256 tokens scored by a cross-encoder": checks[
            "cross-encoder"
        ],
        "pairs of a query and a document by MaxSim": checks["maxsim"],
    }
    rows = [
        [told, _number(one["items/s"]), f"{one['share']:.1%}", _number(one["peer items/s"]), f"{one['ratio']:.2f}"]
        for told, one in measured.items()
    ]  # fmt: skip
    if checks["training"]["result"] == "passed":
        ours, theirs = checks["training"]["rows"]
        shown = [_number(ours["rows/s"]), f"{ours['share']:.1%}", _number(theirs["rows/s"])]
        rows.insert(3, ["rows trained on", *shown, f"{ours['ratio']:.2f}"])
    return table(["what", "a second", "share", "sentence-transformers", "ratio"], rows)


# Of an H100, an hour.
_DOLLARS = 3


def gpu_cost(known: Any) -> str:
    """Seconds and dollars of a million passages or pairs on a GPU."""
    checks = {one["name"]: one for one in known["gpu"]["checks"]}
    seconds = {
        "encoding passages of mixed length": 1e6 / checks["encode"]["mixed"]["items/s"],
        "encoding passages of 256 tokens": 1e6 / checks["encode"]["full"]["items/s"],
        "scoring pairs of 256 tokens by a cross-encoder": 1e6 / checks["cross-encoder"]["items/s"],
        "MaxSim of pairs of a query and a document": 1e6 / checks["maxsim"]["items/s"],
    }
    rows = [
        [work, f"{took:.3g}", f"{took * _DOLLARS / 3600:.2g}"] for work, took in seconds.items()
    ]
    return table(["a million times", "seconds", f"dollars, at {_DOLLARS} an hour"], rows)


def gpu_search(known: Any) -> str:
    """Exact search on a GPU: seconds, and the share of its rate of a matrix product."""
    one = next(one for one in known["gpu"]["checks"] if one["name"] == "search")
    named = {
        "with ranks: no ranks": "the best 1,000", "with ranks: near": "and ranks of relevant documents",
        "with ranks: any": "and ranks of any documents, too", "torch, fp32": "torch's products and top-k, fp32",
        "torch, bf16": "torch's products and top-k, bf16",
    }  # fmt: skip
    rows = [
        [told, f"{one[name]['seconds']:.3f}", f"{one[name]['share']:.1%}"]
        for name, told in named.items()
    ]
    return table(["2,000 queries, 2 million documents", "seconds", "share"], rows)


def backend_blocks() -> dict[str, tuple[str, str]]:
    """What backends gain and lose; see how-to/models.md."""
    found = json.loads((RESULTS / "backends.json").read_text("utf-8"))
    return {"backends": (backends(found), "")}


def backends(found: Any) -> str:
    """Each way to run each model, beside torch in fp32."""
    measure = found["measure"]
    heads = ["model", "run by", "speed", measure, "largest difference of a score", "same first ten"]
    rows = [
        [
            f"`{model}`", way, f"{one['ratio']:.2f}", f"{one[measure]:.3f}",
            f"{far:.0e}" if far else "0", f"{one['same first ten']:.0%} of queries",
        ]
        for model, known in found["models"].items() for way, one in known["ways"].items()
        for far in (one["largest difference"],)
    ]  # fmt: skip
    return table(heads, rows)


def reader_blocks() -> dict[str, tuple[str, str]]:
    """What a reader of `irtoolkit serve` waits for, where it was measured."""
    path = RESULTS / "serve.json"
    return {"waits": (waits(json.loads(path.read_text("utf-8"))), "")} if path.is_file() else {}


def waits(found: Any) -> str:
    """One novel, its searches, and many readers at once."""
    many = found["crowd"]
    rows = [
        ("until a new book is searched by words", f"{found['until words']:.1f} s"),
        ("until it is searched by meaning", f"{found['until meaning']:.0f} s"),
        ("the slowest search meanwhile", f"{found['slowest search meanwhile']:.2f} s"),
        *(
            (f"a search by {one}, median", f"{found[f'search by {one}']:.3f} s")
            for one in ("words", "meaning", "both")
        ),
        (f"one of {many['searches']} searches of {many['readers']} readers at once, median",
         f"{many['median']:.2f} s"),
        ("the slowest of them", f"{many['slowest']:.2f} s"),
        ("memory of the server, at most", f"{found['memory'] / 1e6:,.0f} MB"),
    ]  # fmt: skip
    heads = [f"{found['novel']}, {found['words']:,} words", f"{found['cores']} cores"]
    return table(heads, [list(row) for row in rows])


def stored(known: Any) -> str:
    """What vectors in few bits change."""
    rows = [row for row in known["stored"]["rows"] if 0 <= row["fp32"] <= 1]
    names = dict.fromkeys(row["dataset"] for row in rows)
    return table(
        ["dataset", "measures", "greatest change, fp16", "greatest change, int8"],
        [
            [
                name, str(len(own)),
                *(f"{max(abs(row[f'{kind} - fp32']) for row in own):.4f}" for kind in ("fp16", "int8")),
            ]
            for name in names
            for own in ([row for row in rows if row["dataset"] == name],)
        ],
    )  # fmt: skip


def _named(row: Any) -> str:
    return f"{row['kind']}, {row['dimensions']}-d, {row['stored']}"


def _texts_a_second(known: Any) -> float:
    """Passages that MiniLM encodes in a second on one core."""
    for row in known["scale"].get("engines", []):
        if (row["part"], row["engine"]) == ("encode", "local"):
            return float(row["size"] / row["s"])
    (found,) = known["neural"]["encoding"]
    return float(found["texts/s"] / _cores(known["neural"]["device"]))


def _cores(device: str) -> int:
    return int(device.split(",")[1].split()[0])


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{_number(count / size)} {unit}"
    return f"{count:.0f} B"


def _number(value: float) -> str:
    """Two digits that count, or all before the point."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.2g}"


def _up(value: float) -> int:
    return max(1, -int(-value // 1))
