"""The page on what finds passages of novels, from the results of benchmarks/book_search.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docstrings import table

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "book_search.json"
_KINDS = {
    "words": "words", "meaning": "meaning", "both": "both", "any": "whichever is best",
}  # fmt: skip
_MEASURES = ("reciprocal rank", "first 5", "first 20", "sharing, first 20")
_HEAD = [
    "mean reciprocal rank", "near one of the first 5, %", "near one of the first 20, %",
    "shares a sentence with one of 20, %",
]  # fmt: skip


def page() -> str:
    """The whole page."""
    found = json.loads(RESULTS.read_text("utf-8"))
    books = found["books"]
    queries = sum(books.values())
    novels = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in books.items())
    return f"""# What finds passages of novels

How `irtoolkit search`, the page of `irtoolkit serve`, its API and `ir.index` rank passages of a book was chosen on {queries} known
passages in {len(books)} novels ({novels}): those that
critics quote, with the sentences beside them (RELiC's form) or before them (PlotRetrieval's), on data in the form of these
releases. The published data may give other figures. Each system ranks all passages of the book; a passage is *near* if it is at
most 8 sentences away. `benchmarks/book_search.py` repeats it.

**Which novels.** These are {len(books)} of the 14 novels with 20 known passages or more. The five others (the pickwick papers, little
dorrit, our mutual friend, nicholas nickleby, bleak house) were not measured, nor those with fewer passages. Why these {len(books)} were taken was
not recorded, so the figures may differ on other novels. `--books all` measures all but the four whose scenes are described below.

**The choice.** {len(found["tried"])} systems were tried. For each novel the best by mean reciprocal rank was chosen on all other
novels, and the figures are what those choices find in the novel that was left out. Intervals are of 95 %, by bootstrap over novels.

{_kinds(found)}

**Before and beside.** Systems that nobody chose, on the same passages; `rrf, 3 sentences` was the default until this measurement.

{_beside(found)}

**Descriptions of scenes.** `benchmarks/book_search_scenes.tsv` has descriptions of famous scenes of four novels that take no part
above, written before any system was run on them. A scene is found if a phrase of it is near one of the first 5.

{_scenes(found)}

<details markdown><summary>Everything that was tried, by mean reciprocal rank</summary>

Without leaving novels out. *Around* are windows of so many sentences on either side and their share, *nearest* is the share of the
nearest sentence in the score by meaning, *meaning* its share in both.

{_tried(found)}

</details>
"""


def _cells(figures: dict[str, Any]) -> list[str]:
    return [_cell(figures[name], 1 if name == _MEASURES[0] else 100) for name in _MEASURES]


def _cell(figure: dict[str, Any], scale: int) -> str:
    low, high = (f"{scale * value:.{3 if scale == 1 else 0}f}" for value in figure["interval"])
    return f"{scale * figure['mean']:.{3 if scale == 1 else 0}f} ({low} to {high})"


def _kinds(found: dict[str, Any]) -> str:
    rows = []
    for name, shown in _KINDS.items():
        one = found["kinds"][name]
        same = sum(choice == one["chosen on all books"] for choice in one["left out"].values())
        share = f"{same} of {len(one['left out'])}"
        rows.append([shown, one["chosen on all books"], share, *_cells(one)])
    return table(
        ["best by", "chosen on all novels", "novels whose choice is the same", *_HEAD], rows
    )


def _beside(found: dict[str, Any]) -> str:
    names = [name for name in found["scenes"] if name.startswith("rrf") or name.count(",") == 1]
    names = [name for name in names if not name.startswith(("meaning", "both"))]
    return table(["system", *_HEAD], [[name, *_cells(found["tried"][name])] for name in names])


def _scenes(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{one['first 5']} of {one['of']}", f"{one['first 20']} of {one['of']}"]
        for name, one in found["scenes"].items()
    ]
    return table(["system", "among the first 5", "among the first 20"], rows)


def _tried(found: dict[str, Any]) -> str:
    ordered = sorted(found["tried"].items(), key=lambda one: -one[1]["reciprocal rank"]["mean"])
    return table(["system", *_HEAD], [[name, *_cells(one)] for name, one in ordered])
