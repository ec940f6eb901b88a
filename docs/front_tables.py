"""The tables of README.md and index.md: the best systems on published data, and the list of all pages."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import quality_tables
import yaml
from birco_tables import NEARBY, RESULTS
from docstrings import table

ROOT = Path(__file__).resolve().parent.parent
MEASURE = "nDCG@10"
# The published rankings that no language model made, and what the release calls its tasks.
ENCODERS = ("E5", "MonoT5")
TASKS = {"relic": "RELiC in BIRCO", "wtb": "WhatsThatBook in BIRCO"}
HEADS = ["published data", "measure", "BM25", "published encoder or reranker", "published language model", "highest here, no language model"]  # fmt: skip


def published(docs: str) -> str:
    """The best system on each benchmark whose published data are at hand, beside published figures.

    Args:
        docs: the folder of the pages, as the links of the table name it.
    """
    birco = json.loads(RESULTS.read_text("utf-8"))
    rows = [_csfcube(docs), *(_birco(task, birco, docs) for task in TASKS)]
    return table(HEADS, rows)


def _csfcube(docs: str) -> list[str]:
    found = json.loads(quality_tables.RESULTS.read_text("utf-8"))["benchmarks"]["csfcube"]
    remark = tomllib.loads(quality_tables.ROWS.read_text("utf-8"))["csfcube"]["remark"]
    reported = re.search(r"of ([\d.]+) by (otAspire)", remark)
    assert reported is not None, "benchmarks/quality.toml: csfcube has no figure of otAspire"
    rows, main = found["rows"], found["main"]
    low, high = (100 * bound for bound in rows["best of all"]["interval"])
    best, first = (100 * rows[name]["figures"][main] for name in ("best of all", "BM25"))
    return [
        f"[CSFCube]({docs}results/quality-tables.md#{quality_tables._anchor(found['title'])})",
        "nDCGp(p=20)", f"{first:.1f}", f"{reported[1]} ({reported[2]})", "",
        f"**{best:.1f}** ({low:.1f} to {high:.1f}), chosen on the other fold",
    ]  # fmt: skip


def _birco(task: str, birco: dict[str, Any], docs: str) -> list[str]:
    rows, models = birco["tasks"][task]["rows"], birco["published"]
    nearby = json.loads(NEARBY.read_text("utf-8"))["reported"]["rows"] if task == "relic" else {}
    ours = {name: row for name, row in {**rows, **nearby}.items() if name not in ENCODERS}
    name, best = max(ours.items(), key=lambda item: item[1]["figures"][MEASURE])
    remark = (
        "; BIRCO was seen while it was made"
        if name in nearby
        else f"; the highest of {len(ours)} systems on these queries"
    )
    low, high = (100 * bound for bound in best["interval"])
    encoder = max(ENCODERS, key=lambda system: rows[system]["figures"][MEASURE])
    model = max((m for m in models if task in models[m]), key=lambda m: models[m][task][MEASURE])
    shown = [
        f"{100 * value:.1f}"
        for value in (
            rows["BM25"]["figures"][MEASURE],
            rows[encoder]["figures"][MEASURE],
            models[model][task][MEASURE],
            best["figures"][MEASURE],
        )
    ]
    return [
        f"[{TASKS[task]}]({docs}results/birco.md)", MEASURE, shown[0], f"{shown[1]} ({encoder})",
        f"{shown[2]} ({model.partition('_')[0]})", f"**{shown[3]}** ({low:.1f} to {high:.1f}), {name}{remark}",
    ]  # fmt: skip


def all_pages() -> str:
    """A list of every page, in the order of the navigation."""
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    parts = []
    for entry in yaml.safe_load(text)["nav"]:
        ((title, pages),) = entry.items()
        if isinstance(pages, list):
            links = [f"- [{name}]({path})" for page in pages for name, path in page.items()]
            parts.append(f"## {title}\n\n" + "\n".join(links) + "\n")
    return "\n".join(parts)
