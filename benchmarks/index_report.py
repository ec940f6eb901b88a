"""What `index.py` has measured: ratios, tables, and the goals that were met or missed."""

from __future__ import annotations

from typing import Any

from index_measure import SINGLE, TOGETHER
from index_systems import SYSTEMS
from index_texts import SHORT

from irtoolkit.base.tables import TableCell, TextTable

OURS = "irtoolkit"
# How many times longer than together a query may take alone.
ALONE = 3.0
Row = dict[str, Any]


def compare(rows: list[Row]) -> None:
    """Puts ratios to irtoolkit, and how far the best passages agree, into the rows."""
    for row in rows:
        ours = next(
            (r for r in rows if r["system"] == OURS and r["passages"] == row["passages"]), None
        )
        if ours is None:
            continue
        names = ("build s", "build cpu s", "build peak MB", "disk MB", "open ms", "first result s")
        row["ratios"] = {name: row[name] / ours[name] for name in names}
        for cell, own in zip(row["cells"], ours["cells"], strict=True):
            cell["ratio"] = cell["queries/s"] / own["queries/s"]
            if "top" in cell:
                shared = [len({*a} & {*b}) for a, b in zip(cell["top"], own["top"], strict=True)]
                cell["agree"] = sum(shared) / max(1, sum(map(len, own["top"])))
    for row in rows:
        for cell in row["cells"]:
            cell.pop("top", None)


def goals(rows: list[Row]) -> list[tuple[str, str, bool]]:
    """Each goal that was measured: what it says, the figure, and whether it is met."""
    by = {(row["passages"], row["system"]): row for row in rows}
    found: list[tuple[str, str, bool]] = []

    def say(goal: str, figure: float, unit: str, met: bool) -> None:
        found.append((goal, f"{figure:.2f}{unit}", met))

    def times(goal: str, ratio: float, least: float) -> None:
        say(goal, ratio, "x", ratio >= least)

    for size in sorted({row["passages"] for row in rows}):
        ours, bm25s, lucene, pisa = (
            by.get((size, name)) for name in (OURS, "bm25s", "lucene", "pisa")
        )
        if ours is None:
            continue
        if size == 1_000_000:
            for other, name, least in ((bm25s, "bm25s", 4), (lucene, "lucene", 1)):
                if other:
                    ratio = other["ratios"]["build s"]
                    say(
                        f"{size:,}: build {least} times as fast as {name}",
                        ratio,
                        "x",
                        ratio >= least,
                    )
        if size == 10_000_000:
            most = ours["build peak MB"]
            say(f"{size:,}: build under 4,000 MB", most, " MB", most < 4000)
        say(f"{size:,}: open under 50 ms", ours["open ms"], " ms", ours["open ms"] < 50)
        new = ours["first result s"]
        say(f"{size:,}: first result under 1 s", new, " s", new < 1)
        for other, name, least in ((bm25s, "bm25s", 1.5), (pisa, "pisa", 1.0)):
            for cell in other["cells"] if other else ():
                if name == "pisa" and cell["words"] > SHORT:
                    continue
                what = f"{size:,}: {named(cell)}: {least} times {name}'s speed"
                times(what, 1 / cell["ratio"], least)
        together = {(c["words"], c["k"]): c for c in ours["cells"] if c["mode"] == TOGETHER}
        for cell in ours["cells"]:
            if cell["mode"] == SINGLE:
                rate = together[cell["words"], cell["k"]]["queries/s"] / cell["queries/s"]
                goal = f"{size:,}: {named(cell)}: {ALONE} times as long as together, at most"
                say(goal, rate, "x", rate <= ALONE)
    return found


def named(cell: Row) -> str:
    return f"{cell['words']} words, k={cell['k']}, {cell['mode']}"


def tables(rows: list[Row]) -> list[TextTable]:
    """Figures, throughput and goals."""
    names = ("build s", "build cpu s", "build peak MB", "disk MB", "open ms", "first result s")
    figures: list[list[TableCell]] = [
        [f"{row['passages']:,}", row["system"], *(row[name] for name in names)] for row in rows
    ]
    speed: list[list[TableCell]] = [
        [f"{row['passages']:,}", cell["words"], cell["k"], cell["mode"], row["system"], cell["queries/s"],
         cell.get("ratio"), cell.get("agree")]
        for row in rows for cell in row["cells"]
    ]  # fmt: skip
    speed.sort(key=lambda line: (int(str(line[0]).replace(",", "")), line[1], line[2], line[3]))
    notes = [f"{name}: {system.differs}" for name, system in SYSTEMS.items() if system.differs]
    reached: list[list[TableCell]] = [
        [goal, figure, "goal met" if met else "missed"] for goal, figure, met in goals(rows)
    ]
    return [
        TextTable(["passages", "system", *names], figures, "indexes", notes=notes, places=2),
        TextTable(
            ["passages", "words", "k", "queries", "system", "queries/s", "ratio", "agree"], speed,
            "queries a second, and as a multiple of irtoolkit's", places=2,
        ),
        TextTable(["goal", "figure", ""], reached, "goals"),
    ]  # fmt: skip
