"""The pages results/quality.md and quality-tables.md: the strongest systems, from benchmarks/results/quality.json."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import goal_tables
import numpy as np
import unseen_tables
from docstrings import table

_FOLDER = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
RESULTS, FAILURES = _FOLDER / "quality.json", _FOLDER / "failures.json"
POOLING = _FOLDER / "csfcube_pooling.json"
TRAINED, GPU = _FOLDER / "minilm.json", _FOLDER / "trained.json"
# The table with the rows that a GPU has trained.
ON_GPU = "egret-forms"
# The table of the data whose queries are facets of papers.
FACETS = "csfcube"
# What is said of a table beside its figures.
ROWS = _FOLDER.parent / "quality.toml"
INTRO = """# The strongest systems

What installs from a package index and runs on a laptop, beside BM25 and MiniLM. Only CSFCube and [BIRCO](birco.md) are published
data; all others are data in the form of a release, whose figures cannot be held against published ones.

A row was chosen by its figure on one set of data, and is reported on another. *Unseen* are data that took no part in any
choice: books and sites that were left out in turn, and hidden queries that others scored once. Intervals are of 95 %, by
bootstrap over queries; p is of a paired t-test against BM25, Holm-corrected over all rows of the table behind it; *ms* is what a
query takes on two cores. [Every table](quality-tables.md) has all measures, all rows that were tried, and their commands.
"""
SURVEY = """
So fusions of BM25 and encoders carry over to data that chose nothing, and so do surroundings on most books; on RELiC's two hidden
books they did not, though they stay above BM25 ({hidden_bm25}). Where a figure is above its unseen one, few books or sites were chosen on.
EgRet's trained encoders were trained on a GPU, those of other tables on two cores, in minutes each.

## For a collection of your own

[`best`](../reference/retrievers.md#best) is what to rank with where there are no judgments to choose by. It adds up 1 / (60 + rank)
over BM25, MiniLM, gte-small and mpnet; passages of books it ranks by their words and those of their surroundings. It needs the
weights of the three encoders, 600 MB that are downloaded once, and for books none. Nothing of it was tuned: it has usual settings,
and was fixed before CACM and Vaswani were ranked, where this fusion has {cacm} and {vaswani} AP (BM25 {cacm_bm25} and {vaswani_bm25}).

```sh
irtoolkit register mine FOLDER  # needs: your documents and topics in FOLDER
irtoolkit retrieve mine best -o best.run  # needs: a collection of your own
```

"""
REST = """## What was tried and left

- **Training that reads a passage in its surroundings** was measured [on a GPU](quality-tables.md#encoders-that-read-a-passage-in-its-surroundings),
  where three seeds differ by as much as it gains. On two cores it was not tried again: an earlier try showed no gain over the untrained
  encoder, and three seeds do not fit into minutes.
- **WhatsThatBook by sentences and tokens** of gte-small, read in their text: of 62 ways, the 57 queries of `birco/wtb/dev` chose to
  compare tokens in both directions, which has an nDCG@10 of 45.8 on the test queries, in half precision (44.1 in one direction); no way
  has more than 46.0. This was measured once, in a trial that no script repeats; a cross-encoder's windows were not.
- **Facets of CSFCube** in a paper's vector, and sentences matched by transport on gte-small and mpnet, are
  [in its tables](quality-tables.md#csfcube-abstracts-that-are-similar-in-a-facet): neither reaches the goal. Training on the
  abstracts themselves was not tried.
- **QuoteR with known contexts of several trained encoders** was not measured: each training takes five to ten minutes on two cores.
- **HyDE, rewritten queries and rerankers by language models**, and a critic's claims weighed apart, were not measured: no language
  model was at hand but one of 135 million weights.
- **Trained weights of others** (ASPIRE, SPECTER2) are not in package indexes; with a network they are
  [models](../reference/models.md) like others.
"""
TABLES = """# The strongest systems: every table

Behind [the short page](quality.md). Rows were measured by `benchmarks/quality.py`.

**How a row was chosen.** Rows that begin with *best* were chosen by the first measure of their table
on data that the table does not report: training queries, the validation split, or CSFCube's other
fold. All others were measured and chosen by nobody; settings in their names were written down by hand,
some after single systems had been seen. Every row that was tried is listed below its table. EgRet's dev and
RELiC's val queries are reported in two tables each: the second was made once the first had been seen, with
systems that the first lacks, so its figures are those of a second look.
The [last tables](#cacm-abstracts-of-the-communications-of-the-acm) are of judged collections on which
nothing was chosen: they check that what is best on the five benchmarks was not fitted to them.

Files in int8 (bge-small-en and the cross-encoder ms-marco-MiniLM-L-12) give other scores on other CPUs: EgRet's,
QuoteR's and CSFCube's rows were measured twice, and with VNNI bge-small-en had an `R@1` of 21.6 on EgRet, without it
23.2, which is shown. No row in single precision changed.

Intervals are of 95 %, by bootstrap over queries. p is of a paired t-test over queries,
Holm-corrected over its column of the table. *ms* is what a query takes on two cores once documents are
prepared; tables were measured on different days, and machines differ. To repeat everything, fetch the weights and run the script:

```sh
python benchmarks/weights.py  # needs: a network, and a clone of the repository
IRTOOLKIT_DATA=DATA python benchmarks/quality.py  # needs: the releases in DATA, and a clone of the repository
python benchmarks/quality.py vaswani cacm  # needs: a network or DATA, and a clone of the repository
```

The last line downloads two collections, checks their SHA-256, and registers them as `outside/vaswani`
and `outside/cacm`, so that the commands below their tables work.
"""
# Trained before the judgments had the neighbours of chunks that a plot passage only touches.
OLDER = """These rows were measured before the judgments had the neighbours of every relevant chunk: the ideal of
N-RODCG was lower then, and the figures are higher in the last places than those above. """
# Tables whose lexical runs rank a whole corpus, and when these runs began to list matches alone.
CORPORA = ("egret/dev", "outside/cacm", "outside/vaswani")
ENDS_WHERE_NO_TERM_IS_SHARED = "2026-11-27T07:04"
EARLIER = """This table was measured before lexical runs ended where a document shares no term with the query; its fusions
with lexical systems may differ a little when they are measured again."""
# The row that the results call so: the first of its table here.
BEST = "best of all"
# The row of the collections on which nothing was chosen that is `best`.
FUSED = "BM25 + MiniLM + gte-small + mpnet, rrf"
# The runs of rows in a command.
_NAMED = re.compile(r"\{([^{}]+)\}")
# What a table says of itself where no row was chosen.
NOWHERE, HELD_OUT = "nowhere", "held out"
FIXED = """Nothing was chosen here. Systems have their usual settings, and fusions the forms that the tables
above had before this collection was ranked for the first time."""
TUNED = """Rows that are *tuned* are fusions by [`irtoolkit tune`](../how-to/rerank-fuse.md#tune-a-fusion): the weights for the
queries of a book are those that are best on the other books. All others have usual settings, or those
that other tables chose."""


def page() -> str:
    """The short page."""
    kept = json.loads(RESULTS.read_text("utf-8"))["benchmarks"]
    survey = SURVEY.format(
        cacm=_outside(kept, "cacm", FUSED),
        vaswani=_outside(kept, "vaswani", FUSED),
        cacm_bm25=_outside(kept, "cacm", "BM25"),
        vaswani_bm25=_outside(kept, "vaswani", "BM25"),
        hidden_bm25=unseen_tables.hidden_figure("relic", "BM25"),
    )
    return "\n".join([INTRO, _summary(kept), survey + goal_tables.section(), REST])


def tables_page() -> str:
    """The page of all tables."""
    kept = json.loads(RESULTS.read_text("utf-8"))["benchmarks"]
    missed = json.loads(FAILURES.read_text("utf-8"))
    rows = tomllib.loads(ROWS.read_text("utf-8"))
    sections = [
        _section(found, rows[name].get("remark", ""))
        + _trained(name)
        + (_on_gpu() + unseen_tables.sites() if name == ON_GPU else "")
        + (_pooling() if name == FACETS else "")
        + (_failures(missed[name]) if name in missed else "")
        for name, found in kept.items()
    ]
    return "\n".join([TABLES, unseen_tables.section(), *sections])


def _outside(kept: dict[str, Any], name: str, row: str) -> str:
    """A figure of a collection on which nothing was chosen."""
    return _shown("AP", kept[name]["rows"][row]["figures"]["AP"])


def _summary(kept: dict[str, Any]) -> str:
    """The chosen row of each table in one line."""
    unseen = unseen_tables.told()
    lines = []
    for name, found in kept.items():
        if BEST not in found["rows"]:
            continue
        main, row = found["main"], found["rows"][BEST]
        chosen = list(dict.fromkeys(found["about"][BEST]["chosen"]))
        ms = found.get("ms a query", {}).get(BEST)
        lines.append([
            f"[{found['title']}](quality-tables.md#{_anchor(found['title'])})",
            " and ".join(chosen), f"`{main}`",
            _where_chosen(found, chosen[0]),
            f"**{_shown(main, row['figures'][main])}** ({_interval(main, row)})",
            unseen.get(name, "none"),
            f"{_shown(main, found['rows'][found['baselines'][0]]['figures'][main])}",
            _p(row["p"].get(found["baselines"][0])), "" if ms is None else f"{ms:.0f}",
        ])  # fmt: skip
    heads = [
        "benchmark", "chosen", "measure", "where it was chosen", "reported", "unseen",
        "BM25, or surroundings", "p", "ms",
    ]  # fmt: skip
    return f"{table(heads, lines)}\n"


def _where_chosen(found: dict[str, Any], row: str) -> str:
    """The data that chose a row, and its figure there."""
    if "figure" not in found["tried"][row]:
        return "the other fold"
    return f"{_shown(found['main'], found['tried'][row]['figure'])} (`{found['choose']}`)"


def _interval(main: str, row: dict[str, Any]) -> str:
    return " to ".join(_shown(main, end) for end in row["interval"])


def _anchor(title: str) -> str:
    """The anchor that MkDocs and GitHub give a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def _section(found: dict[str, Any], remark: str) -> str:
    parts = [f"## {found['title']}", _queries(found), remark]
    parts += [
        _figures(found),
        _beside(found),
        _earlier(found),
        _goals(found),
        _chosen(found),
        _commands(found),
        _tried(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _queries(found: dict[str, Any]) -> str:
    """What is reported on, and what choices were made on."""
    queries, choose = found["queries"], found["choose"]
    told = f"Reported on `{found['report']}`, {queries['report']} queries"
    if choose == NOWHERE:
        return f"{told}. {FIXED}"
    if choose == HELD_OUT:
        return f"{told}. {TUNED}"
    if choose == "the other fold":
        return f"{told}; chosen on the other fold."
    return f"{told}; chosen on `{choose}`, {queries['choose']} queries."


def _figures(found: dict[str, Any]) -> str:
    costs = found.get("ms a query", {})
    heads = ["system", *(f"`{name}`" for name in found["measures"]), "95 %"]
    heads += [f"p, {base}" for base in found["baselines"]] + (["ms"] if costs else [])
    lines = []
    # The strongest first.
    for name, row in sorted(found["rows"].items(), key=lambda item: item[0] != BEST):
        low, high = row["interval"]
        line = [name, *(_shown(measure, row["figures"][measure]) for measure in found["measures"])]
        line.append(f"{_shown(found['main'], low)} to {_shown(found['main'], high)}")
        line += [_p(row["p"].get(base)) for base in found["baselines"]]
        lines.append(line + ([f"{costs[name]:.0f}" if name in costs else ""] if costs else []))
    return table(heads, lines)


def _beside(found: dict[str, Any]) -> str:
    """The figures that are told beside the table."""
    if "beside" not in found:
        return ""
    beside = found["beside"]
    lines = [
        [name, *(_shown(beside["measure"], value) for value in values)]
        for name, values in beside["rows"].items()
    ]
    return "\n\n".join([
        f"By `{beside['measure']}`, measured with `benchmarks/quality.py --beside`:",
        table(["system", *beside["columns"]], lines),
    ])  # fmt: skip


def _earlier(found: dict[str, Any]) -> str:
    """What is said of fusions that were measured before lexical runs ended where no term is shared."""
    if found["report"] not in CORPORA or found["made"]["date"] >= ENDS_WHERE_NO_TERM_IS_SHARED:
        return ""
    if "again" not in found:
        return EARLIER
    again, main = found["again"], found["main"]
    row = found["about"][f"best {again['group']}"]["chosen"][0]
    before = found["rows"][f"best {again['group']}"]["figures"][main]
    figures = [again["tried"][again["chosen"]], again["figures"][main], before]
    chosen, reported, earlier = (_shown(main, figure) for figure in figures)
    same = "as before" if again["chosen"] == row else f"and was {row}"
    return f"""{EARLIER} Those that need no training were ranked again since: of
{len(again["tried"])}, the chosen one is {again["chosen"]} {same}, with {chosen} on the data where it is chosen and {reported} here
({earlier} in the table)."""


def _shown(measure: str, value: float | None) -> str:
    if value is None:  # the rank of a document that a run does not list
        return "–"
    return f"{value:.1f}" if "Rank" in measure else f"{100 * value:.1f}"


def _p(value: float | None) -> str:
    return "" if value is None else "<.001" if value < 0.001 else f"{value:.3f}"


def _goals(found: dict[str, Any]) -> str:
    lines = []
    for measure, goal in found["goals"].items():
        figures = {name: row["figures"][measure] for name, row in found["rows"].items()}
        honest, highest = figures[BEST], max(figures.values())
        met = "reached" if honest >= goal else "not reached"
        best = next(name for name, figure in figures.items() if figure == highest)
        more = f"; the highest of the table is {best} ({_shown(measure, highest)})"
        lines.append(
            f"Goal: `{measure}` of {_shown(measure, goal)}, **{met}** by the chosen row"
            f" ({_shown(measure, honest)}){more if highest > honest else ', the highest of the table'}."
        )
    return "\n\n".join(lines)


def _chosen(found: dict[str, Any]) -> str:
    lines = []
    for name, about in found["about"].items():
        if "chosen" in about:
            rows = list(dict.fromkeys(about["chosen"]))
            how = f"{' and '.join(rows)}, of {len(about['of'])} rows"
            lines.append(f"- **{name}**: {how}")
    return "\n".join(lines)


def _commands(found: dict[str, Any]) -> str:
    lines = []
    for name, about in {**found["about"], **_parts(found)}.items():
        lines.append(f"# {name}" + (f": {about['note']}" if about.get("note") else ""))
        lines += [command.replace("{data}", found["report"]) for command in about["commands"]]
    body = "\n".join(lines)
    told = "`{out}` is the run that a command writes, `{NAME}` the run of a row."
    if "{learned}" in body:
        told += f" `tune` reads the runs of rows on `{found['choose']}`, and writes `{{learned}}`."
    if "{model}" in body:
        told += " `{model}` is a folder for the row's model."
    return (
        f"<details markdown><summary>Commands</summary>\n\n{told}\n\n```text\n{body}\n```"
        "\n\n</details>"
    )


def _parts(found: dict[str, Any]) -> dict[str, Any]:
    """The rows that are tried only, but that the commands of others read."""
    parts: dict[str, Any] = {}
    to_read = list(found["about"].values())
    while to_read:
        for name in _NAMED.findall(" ".join(to_read.pop()["commands"])):
            if name in found["tried"] and name not in found["about"] and name not in parts:
                parts[name] = found["tried"][name]
                to_read.append(parts[name])
    return parts


def _tried(found: dict[str, Any]) -> str:
    if found["choose"] in (NOWHERE, HELD_OUT):
        return ""
    folds = found["choose"] == "the other fold"
    lines = []
    for name, about in found["tried"].items():
        values = about["folds"] if folds else [about["figure"]]
        lines.append([name, about["group"], *(_shown(found["main"], value) for value in values)])
    count = max(len(line) for line in lines) - 2
    heads = [f"fold {n + 1}" for n in range(count)] if folds else [f"`{found['choose']}`"]
    body = table(["row", "group", *heads], lines)
    return f"<details markdown><summary>Everything that was tried, by `{found['main']}`</summary>\n\n{body}\n\n</details>"


def trained_tables() -> dict[str, str]:
    """The tables that benchmarks/minilm.py has measured, by benchmark."""
    minilm = runpy.run_path(str(_FOLDER.parent / "minilm.py"), run_name="minilm")
    made = {}
    for name, found in json.loads(TRAINED.read_text("utf-8"))["benchmarks"].items():
        shown = minilm["table"](name, found)
        made[name] = table([f"`{found['dataset']}`", *shown.headers[1:]], shown.rows)
    return made


def _trained(name: str) -> str:
    """What training a small encoder adds; empty where that was not measured."""
    body = trained_tables().get(name)
    if body is None:
        return ""
    rows = json.loads(TRAINED.read_text("utf-8"))["benchmarks"][name]["rows"]
    lines = []
    for row, about in rows.items():
        if "recipe" in about:
            settings = "".join(
                f" {key}={value}" if " " not in str(value) else f" {key}=FILE"
                for key, value in about["settings"].items()
            )
            seeds = ", ".join(map(str, about["seeds"]))
            lines.append(
                f"- **{row}**: `irtoolkit train {about['recipe']} --set{settings} seed=N`, N of {seeds}"
            )
    listed = "\n".join(lines)
    older = OLDER if name == "plotretrieval" else ""
    return f"""
### What training adds

MiniLM trained on the training split: the mean of three seeds with its standard deviation, beside the
untrained encoder. p is Holm-corrected over this table. {older}`benchmarks/minilm.py` repeats it;
[training](../reference/training.md#results-on-small-data) says more.

{body.rstrip()}

{listed}
"""


def _on_gpu() -> str:
    """The encoders that a GPU has trained, which are rows of the table before it."""
    found = json.loads(GPU.read_text("utf-8"))["encoders"]
    tried = json.loads(RESULTS.read_text("utf-8"))["benchmarks"][ON_GPU]["tried"]
    untrained = ", ".join(
        f"{_shown('R@1', tried[f'{name}, cue, 128']['figure'])} ({name})" for name in found
    )
    measures = ["R@1", "R@3", "R@10", "RR", "Rank"]
    lines = []
    for name, about in found.items():
        chosen = about["chosen"]
        folds = about["tried out of fold"]
        (best,) = (one for one in folds if chosen.items() <= one.items())
        line = [name, chosen["rate"], chosen["epochs"], _shown("R@1", best["R@1"])]
        line.append(
            f"{_shown('R@1', min(one['R@1'] for one in folds))} to {_shown('R@1', best['R@1'])}"
        )
        for m in measures:
            values = [one[m] for one in about["seeds"].values()]
            sd = _shown(m, float(np.std(values, ddof=1)))
            line.append(f"{_shown(m, float(np.mean(values)))} ±{sd}")
        lines.append(line)
    heads = [
        "encoder",
        "rate",
        "epochs",
        "`R@1`, train",
        "of all tried",
        *(f"`{m}`" for m in measures),
    ]
    return f"""
### Encoders trained on a GPU

On an H100, from weights in half precision: the mean of three seeds on `egret/dev` with its standard deviation. The rate and the
epochs were chosen by the `R@1` of the training queries, each ranked by a model that has not seen it. The table above has the
first seed of each; its *ms* are of models of the same shape, since the trained ones stayed on that machine. Without training the
same form of the query has an `R@1` on the training queries of {untrained}.
`benchmarks/trained.py` repeats it; its runs become rows with `benchmarks/quality.py egret-forms --take FOLDER/quality`.

{table(heads, lines).rstrip()}
"""


def _pooling() -> str:
    """What it is worth that the sentences of a facet weigh more in a paper's vector."""
    found = json.loads(POOLING.read_text("utf-8"))
    plain, figure, best = (
        _shown(found["measure"], found[name]) for name in ("plain", "held out", "best of all")
    )
    return f"""
### Sentences of the facet weigh more

MiniLM reads title and abstract as one text, a sentence has the mean of its tokens' vectors, and a paper has a weighted mean of its
sentences' vectors: sentences outside the query's facet weigh less, by two weights ({len(found["tried"])} pairs) that are learned on
the other fold. `{found["measure"]}` is {figure}, and {plain} where all sentences weigh the same: a gain of
{100 * found["gain"]:.1f} with a standard error of {100 * found["standard error"]:.1f} over queries, which is too small to tell from
none. The best pair of all has {best}. `benchmarks/csfcube_pooling.py` repeats it.
"""


def _failures(found: dict[str, Any]) -> str:
    """What BM25 misses, why, and what finds it."""
    tables = {one["name"]: one["rows"] for one in found["tables"]}
    counts = [
        [
            row["system"],
            *("" if value is None else str(value) for value in row["measured"].values()),
        ]
        for row in tables["found"]
    ]
    reasons = [
        [row["reason"], *map(str, row["measured"].values())]
        for row in sorted(tables["reasons"], key=lambda row: -row["measured"]["queries"])
        if row["measured"]["queries"]
    ]
    number = sum(row["measured"]["queries"] for row in tables["reasons"])
    return f"""
### What BM25 misses

{table(["system", *tables["found"][0]["measured"]], counts)}

{number} of the queries that BM25 misses, drawn at random, were read; one reason was given to each
([what they mean](../how-to/analyse.md#why-relevant-documents-are-missed)). Counted are those that
each other system finds among its first 10. `benchmarks/failures.py` repeats it; the readings are in
`benchmarks/results`.

{table(["reason", *tables["reasons"][0]["measured"]], reasons)}
"""
