"""Elements that several sections of a report's page have: choosers, legends, scrolling tables."""

from __future__ import annotations

from html import escape

from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.drawing import swatch


def legend(report: ReportContent) -> str:
    """The list of systems with their colours and marks."""
    items = "".join(
        f"<li>{swatch(i, system.name)} {escape(system.name)}</li>"
        for i, system in enumerate(report.systems)
    )
    return f'<ul class="legend">{items}</ul>'


def chooser(where: str, *, pair: bool) -> str:
    """Controls that choose the measure, and a pair of systems, for the whole page."""
    options = [("measure", "Measure")]
    options += [("a", "First system"), ("b", "Second system")] if pair else []
    labels = "".join(
        f'<label>{label} <select data-chooses="{name}" id="{where}-{name}"></select></label>'
        for name, label in options
    )
    return f'<div class="controls" hidden>{labels}</div>'


def scroll(table: str, label: str) -> str:
    """A table that scrolls by itself where it is too wide, by keyboard too."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'
    )
