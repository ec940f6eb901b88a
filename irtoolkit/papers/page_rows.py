"""The rows of a page of measured and reported figures; see `reproduction`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from irtoolkit.papers.listing import MEANINGS

# In the place of a figure that is not there.
NO_FIGURE = "–"
_STATES = {
    "measured": "not measured here",
    "weights": "needs weights",
    "converter": "needs converted weights",
    "recipe": "needs training",
    "service": "needs a service",
    "reported": "reported only",
    "human": "people",
    "ranking": "published ranking",
    "unpublished": "weights not published",
    "unavailable": "cannot be run",
}


def html_rows(result: Mapping[str, Any], row: Mapping[str, Any], group: str) -> str:
    """Returns the rows of one system as a tbody: figures, then a fold with the commands."""
    name, columns, places = row["system"], list(result["columns"]), result["places"]
    measured, reported = row["measured"].get(group), row["reported"].get(group)
    lines = []
    if measured:
        lines.append(_line(name, "", "measured", [shown(measured[c], places) for c in columns]))
    if reported:
        doubt = [f"{group}.{column}" in row["doubtful"] for column in columns]
        cells = [
            shown(reported[column], places) + ("?" if doubtful else "")
            for column, doubtful in zip(columns, doubt, strict=True)
        ]
        lines.append(_line(name, "reported" if measured else "", "reported", cells))
    if group in row["spread"]:
        cells = [shown(row["spread"][group][column], places) for column in columns]
        lines.append(_line(name, "±", "reported", cells))
    gaps = row["differences"].get(group)
    if gaps:
        cells = [NO_FIGURE if gaps[c] is None else f"{gaps[c]:+.{places}f}" for c in columns]
        lines.append(_line(name, "difference", "difference", cells))
    if not lines:
        lines.append(_line(name, "", "absent", [NO_FIGURE] * len(columns)))
    fold = _fold(result, row, group)
    return "\n".join(
        [
            "<tbody>",
            *lines,
            f'<tr class="fold"><td colspan="{len(columns) + 1}">{fold}</td></tr>',
            "</tbody>",
        ]
    )


def _line(system: str, kind: str, style: str, cells: list[str]) -> str:
    """Returns a row of figures; `kind` is empty in a system's first row, which names the system."""
    # What a table shows by its place, a header says to a screen reader.
    if kind:
        head = f'<span class="unseen">{escape(system)}, </span>{escape(kind)}'
    elif style == "reported":
        head = f"{escape(system)} <small>reported</small>"
    else:
        head = f'{escape(system)}<span class="unseen">, {style}</span>'
    figures = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{style}"><th scope="row">{head}</th>{figures}</tr>'


def shown(figure: float | None, places: int) -> str:
    """Returns a figure as the table prints it."""
    return NO_FIGURE if figure is None else f"{figure:.{places}f}"


# -- what came of a row ------------------------------------------------------------------------------


def agreement(result: Mapping[str, Any], row: Mapping[str, Any], group: str) -> str:
    """Returns in a few words whether measured figures are the paper's, or why there are none."""
    if group not in row["measured"]:
        return _STATES[row["state"]]
    if group not in row["reported"]:
        return "not in the paper" if not row["reported"] else "no reported figures"
    gaps = {
        column: abs(gap)
        for column, gap in row["differences"].get(group, {}).items()
        if gap is not None and f"{group}.{column}" not in row["doubtful"]
    }
    if not gaps:
        return "other data"
    places, spread = result["places"], row["spread"].get(group, {})
    unit = 10.0**-places
    if not any(gaps.values()):
        return "exact"
    if all(gap < 1.5 * unit for gap in gaps.values()):
        return "within rounding"
    if spread and all(gap <= spread[column] for column, gap in gaps.items()):
        return "within ±"
    equal = sum(not gap for gap in gaps.values())
    return f"{equal} of {len(gaps)} exact, up to {max(gaps.values()):.{places}f}"


def _fold(result: Mapping[str, Any], row: Mapping[str, Any], group: str) -> str:
    verdict = agreement(result, row, group)
    style = verdict.split()[0] if verdict == "exact" or verdict.startswith("within") else "plain"
    has_commands = any(row["commands"].get(group, {}).values())
    return (
        f"<details><summary>{'commands' if has_commands else 'about this row'}"
        f'<span class="unseen"> of {escape(row["system"])}</span>'
        f' <span class="verdict {style}">{escape(verdict)}</span></summary>'
        f'<div class="inside">{"".join(_inside(result, row, group))}</div></details>'
    )


def _inside(result: Mapping[str, Any], row: Mapping[str, Any], group: str) -> list[str]:
    """Returns the notes, needs and commands of a row, for its folded part."""
    parts = [f"<p>{inline(row['note'])}</p>"] if row["note"] else []
    if row["state"] in ("human", "ranking", "unavailable", "unpublished"):
        meaning = MEANINGS[row["state"]]
        meaning = f"{meaning[:1].upper()}{meaning[1:]}:"
        parts.append(f"<p>{inline(meaning)} {inline(_ended(row['with']))}</p>")
    reason = row["absent"].get(group) or (row["reason"] if row["status"] == "failed" else None)
    remedy = row["lacking"].get(group) if group not in row["measured"] else None
    reasons = [inline(_ended(why)) for why in (remedy, reason) if why]
    parts += [f"<p>Not measured here: {why}</p>" for why in reasons]
    parts += _blocks(row, group)
    if group in row["p"]:
        p = row["p"][group]
        parts.append(
            f"<p>Against {escape(result['baseline'])} on {escape(result['test']['column'])}:"
            f" {'p &lt; .001' if p < 0.001 else f'p = {p:.3f}'} (paired t-test, Holm-corrected).</p>"
        )
    return parts


def _blocks(row: Mapping[str, Any], group: str) -> list[str]:
    commands = row["commands"].get(group, {})
    parts = []
    if commands.get("prepare"):
        parts += ["<p>Once, what the row needs:</p>", _block(commands["prepare"])]
    steps = [commands.get("retrieve", ""), commands.get("eval", "")]
    if any(steps):
        heading = "The run, and its figures:" if all(steps) else "What measures the figures:"
        parts += [f"<p>{heading}</p>", _block([step for step in steps if step])]
    if row["reproduce"] and all(steps):
        parts += [
            "<p>The same for every group, beside the paper's figures:</p>",
            _block([row["reproduce"]]),
        ]
    return parts


def _block(lines: list[str]) -> str:
    # MkDocs' theme adds a button that copies it.
    return f"<pre><code>{escape(chr(10).join(lines), quote=False)}\n</code></pre>"


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def inline(text: str) -> str:
    """Returns a text as HTML, with code for what is between backticks, and links for addresses."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(
        f"<code>{escape(part)}</code>" if i % 2 else _linked(part) for i, part in enumerate(parts)
    )


def _linked(text: str) -> str:
    pieces = re.split(r"(https?://[^\s,;)]*[^\s,;).])", text)
    return "".join(
        f'<a href="{escape(piece)}">{escape(piece)}</a>' if i % 2 else escape(piece)
        for i, piece in enumerate(pieces)
    )
