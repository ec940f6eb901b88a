"""Pages of measured and reported figures, from what `reproduce --format json` printed.

A page is Markdown with tables in HTML: MkDocs and GitHub show it as it is. It depends on the JSON
alone, so that pages can be made anew, and checked, wherever the JSON is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.jsons import load_json
from irtoolkit.base.markup import markdown_table
from irtoolkit.papers.page_rows import NO_FIGURE, html_rows, inline, shown

STYLES = Path(__file__).with_name("reproduction.css")
# Of a page that lists all others.
INDEX = "index.md"
# What is not in every JSON that reproduce has printed in the past.
_KEYS = ("experiment", "benchmark", "made", "data", "columns", "rows")

_STATES = {
    "release": "the published release",
    "unverified": "not checked against the published data",
    "other": "other data in the release's form",
    "sample": "the invented sample: the figures check software and mean nothing else",
    "none": "not measured",
}


def read_result(path: Path) -> dict[str, Any]:
    """Reads the results of one table from a file.

    Raises:
        InputError: it is not the output of `reproduce --format json`.
    """
    remedy = "irtoolkit reproduce EXPERIMENT --format json > FILE makes one"
    try:
        content = load_json(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=path, remedy=remedy) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=path, remedy=remedy) from None
    if not isinstance(content, dict) or any(key not in content for key in _KEYS):
        raise InputError("not a result of reproduce --format json", file=path, remedy=remedy)
    return content


def pages(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns file name to Markdown: a page for each benchmark, and an index.

    Args:
        results: what `reproduce --format json` printed, of each table once.

    Raises:
        InputError: two results of one table.
    """
    names = [result["experiment"] for result in results]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two results of the table {name}", remedy="give one")
    by_benchmark: dict[str, list[Mapping[str, Any]]] = {}
    for result in sorted(results, key=_order):
        by_benchmark.setdefault(result["benchmark"]["name"], []).append(result)
    page_texts = {f"{name}.md": _page(group) for name, group in by_benchmark.items()}
    return {INDEX: _index(by_benchmark), **page_texts}


def _order(result: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Returns the sort key of a table: by benchmark, first the table of the benchmark's name."""
    benchmark, name = result["benchmark"]["name"], result["experiment"]
    return benchmark, name != benchmark, name


# -- the list ----------------------------------------------------------------------------------------


def _index(by_benchmark: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    headers = (
        "benchmark",
        "table",
        "rows measured",
        "best measured",
        "best reported",
        "figures equal",
    )
    rows = [_index_row(name, each) for name, results in by_benchmark.items() for each in results]
    return "\n".join(
        [
            "# Results\n",
            "The papers' tables, measured again: a page for each benchmark, with the commands that give each",
            "row. **Measured** figures are from `irtoolkit reproduce`; **reported** ones are printed in the",
            "papers. They are compared only where the data are the paper's: elsewhere, measured and reported",
            "figures are of different data.\n",
            *markdown_table(headers, rows),
            "",
            "The best rows are those by the column that is named; the group of queries is in parentheses.",
            "*Figures equal* counts the reported figures that are measured again to the last printed digit.\n",
        ]
    )


def _index_row(name: str, result: Mapping[str, Any]) -> list[str]:
    ran = sum(bool(row["measured"]) for row in result["rows"])
    gaps = [
        gap
        for row in result["rows"]
        for by_column in row["differences"].values()
        for gap in by_column.values()
        if gap is not None
    ]
    title = result["benchmark"]["title"] or name
    return [
        f"[{title}]({name}.md)",
        f"[{result['experiment']}]({name}.md#{result['experiment']})",
        f"{ran} of {len(result['rows'])}",
        _best(result, "measured"),
        _best(result, "reported"),
        f"{gaps.count(0)} of {len(gaps)}" if gaps else "other data" if ran else NO_FIGURE,
    ]


def _best(result: Mapping[str, Any], kind: str) -> str:
    """Returns the best row of the first group that has figures, by the column that is tested."""
    column = result["test"]["column"]
    for group in result["groups"]:
        figures = {
            row["system"]: row[kind][group][column]
            for row in result["rows"]
            if row[kind].get(group, {}).get(column) is not None
        }
        if figures:
            pick = min if result["columns"][column]["lower_is_better"] else max
            best = pick(figures, key=lambda system: figures[system])
            figure = shown(figures[best], result["places"])
            return f"{_cell(best)}: {figure} {_cell(column)} ({_cell(group)})"
    return NO_FIGURE


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


# -- the page of a benchmark -------------------------------------------------------------------------


def _page(results: Sequence[Mapping[str, Any]]) -> str:
    benchmark = results[0]["benchmark"]
    citation = f" ({benchmark['citation']})" if benchmark["citation"] else ""
    parts = [
        f"# {benchmark['title'] or benchmark['name']}: results\n",
        f"Figures of {benchmark['title'] or benchmark['name']}{citation} as `irtoolkit reproduce` measures them, beside",
        "those that the paper **reports**. Below each system, *commands* opens to the commands that give its",
        "row. All benchmarks: [Results](index.md).\n",
        _LEGEND,
    ]
    return "\n".join([*parts, *(_section(result) for result in results)])


_LEGEND = """\
- **exact**: every figure that the paper prints is measured again to the last printed digit.
- **within rounding**: none differs by more than 1 in the last printed digit.
- **within ±**: none differs by more than the standard deviation that the paper prints.
- **k of n exact, up to x**: x is the largest difference.
- **other data**: measured on data that are not the paper's, so that figures have no difference.
- A reported figure with `?` contradicts the paper's other figures, and is not counted.
"""


def _section(result: Mapping[str, Any]) -> str:
    origin = result["made"]
    parts = [
        f"## {result['experiment']}\n",
        f"{inline(result['title'])}. Measured {origin['date']} with irtoolkit {origin['irtoolkit']} on"
        f" {origin['device']}.\n",
    ]
    if result.get("about_data"):
        parts.append(f"{inline(result['about_data'])}\n")
    parts += [_data_table(result), _measures(result)]
    parts += [_group(result, group) for group in result["groups"]]
    return "\n".join(parts)


def _data_table(result: Mapping[str, Any]) -> str:
    rows = []
    for group, data in result["data"].items():
        queries = "" if data["queries"] is None else f"{data['queries']:,} queries, "
        parts = [f"{queries}{_STATES[data['state']]}"]
        parts += [data["differs"]] if data["differs"] else []
        parts += [data["absent"].replace("|", "\\|")] if data["absent"] else []
        source = ", ".join(
            filter(None, [result["sources"].get(group), result["editions"].get(group)])
        )
        has = any(group in row["reported"] for row in result["rows"])
        reported = _cell(source) or ("yes" if has else NO_FIGURE)
        rows.append([_cell(group), f"`{data['dataset']}`", "; ".join(map(inline, parts)), reported])
    return "\n".join([*markdown_table(("group", "dataset", "data", "reported figures"), rows), ""])


def _measures(result: Mapping[str, Any]) -> str:
    """Returns the measure of each column, and how `eval` prints it."""
    columns = result["columns"]
    named = ", ".join(
        f"{_cell(column)} is `{spec['measure']}`"
        for column, spec in columns.items()
        if column != spec["measure"]
    )
    scaled = [column for column, spec in columns.items() if spec["scale"] == 100]
    scaled_note = "" if len(scaled) == len(columns) else f" ({', '.join(map(_cell, scaled))})"
    percent = f"Percent{scaled_note}: `eval` prints them from 0 to 1." if scaled else ""
    text = " ".join(filter(None, [f"{named[:1].upper()}{named[1:]}." if named else "", percent]))
    return f"{text}\n" if text else ""


def _group(result: Mapping[str, Any], group: str) -> str:
    rows = [row for row in result["rows"] if _has_content(row, group)]
    heading = f"### {result['experiment']}: {group}\n"
    if not rows:
        return f"{heading}\nNeither measured nor reported.\n"
    head = "".join(f'<th scope="col">{inline(column)}</th>' for column in result["columns"])
    label = f"{result['experiment']}, {group}: measured and reported figures"
    return "\n".join(
        [
            heading,
            f'<div class="reproduction" role="region" tabindex="0" aria-label="{inline(label)}">',
            '<table class="figures">',
            f'<thead><tr><th scope="col">system</th>{head}</tr></thead>',
            *(html_rows(result, row, group) for row in rows),
            "</table>",
            "</div>\n",
        ]
    )


def _has_content(row: Mapping[str, Any], group: str) -> bool:
    """Returns whether a row has figures, or a command that makes its run."""
    if group in row["measured"] or group in row["reported"]:
        return True
    return row["state"] != "reported" and bool(row["commands"].get(group, {}).get("retrieve"))
