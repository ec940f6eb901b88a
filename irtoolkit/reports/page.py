"""A report as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html import escape
from importlib.resources import files

from irtoolkit import version
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.drawing import marks
from irtoolkit.reports.formatting import caution
from irtoolkit.reports.page_data import data_of, packed
from irtoolkit.reports.palette import style
from irtoolkit.reports.sections import (
    breakdowns_section,
    facts_list,
    pairs_section,
    ranks_section,
    texts_section,
)
from irtoolkit.reports.summary import summary
from irtoolkit.reports.systems_section import systems_section

SECTIONS: tuple[tuple[str, str, Callable[[ReportContent], str]], ...] = (
    ("systems", "Systems", systems_section),
    ("differences", "Two systems by query", pairs_section),
    ("first-relevant", "Ranks of the first relevant document", ranks_section),
    ("parts", "Breakdowns", breakdowns_section),
    ("texts", "Queries and documents", texts_section),
)


def render(report: ReportContent) -> str:
    """The HTML of a report's page."""
    css = style() + "\n" + _resource("page.css")
    script = _resource("page.js")
    rendered = [(id_, title, make(report)) for id_, title, make in SECTIONS]
    rendered += [(id_, escape(title), body) for id_, title, body in report.analyses]
    sections = [(id_, title, body) for id_, title, body in rendered if body]
    parts = {
        "policy": escape(
            f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)};"
            " img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "version": escape(version.__version__),
        "title": escape(f"{report.dataset_id}: {', '.join(s.name for s in report.systems)}"),
        "style": css,
        "dataset": escape(report.dataset_id),
        "summary": summary(report),
        "facts": facts_list(report),
        "notes": "".join(f'<p class="warn">{escape(line)}</p>' for line in _warnings(report)),
        "marks": marks(),
        "contents": "".join(f'<li><a href="#{id_}">{title}</a></li>' for id_, title, _ in sections),
        "sections": "\n".join(
            f'<section id="{id_}" aria-labelledby="{id_}-name">'
            f'<h2 id="{id_}-name">{title}</h2>\n{body}\n</section>'
            for id_, title, body in sections
        ),
        "data": packed(data_of(report)),
        "script": script,
    }
    # All at once, so that inserted text is never searched for names.
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], _resource("page.html"))


def _warnings(report: ReportContent) -> tuple[str, ...]:
    few = caution(report)
    return report.notes if few is None else (few, *report.notes)


def _resource(name: str) -> str:
    return files("irtoolkit.reports").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
