"""The section of results/quality-tables.md on books that took no part in a choice, from benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docstrings import table

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "unseen_books.json"
ENCODERS = RESULTS.with_name("unseen_encoders.json")
SITES = RESULTS.with_name("unseen_sites.json")
HIDDEN = RESULTS.with_name("hidden.json")
TITLES = {"relic": "RELiC", "plotretrieval": "PlotRetrieval"}
INTRO = """## Books that took no part in the choice

The tables below choose on training queries and report on other books, but one split of few books says little: books
differ more than systems do. So the queries of both splits were taken together, and for each book `bm25-surroundings`
was ranked with the settings that are best on all *other* books. That is the figure to expect of a book of your own, with
the interval that a bootstrap over books gives. The best of all settings was chosen by the queries that it is reported on,
and so was, in part, the setting of the tables below: their lead is the optimism of such a choice. On the books of the
hidden test splits, which were scored elsewhere and once, these settings had {relic} on RELiC (BM25 {relic_bm25}; {relic_queries}),
below the interval, and {plots} on PlotRetrieval (BM25 {plots_bm25}; {plots_queries}). `irtoolkit tune` holds out whole books in the same way,
and `benchmarks/unseen_books.py`, run from end to end, made all figures of this section but those of the encoders and of the hidden
test splits.
"""
# Rows of the table of encoders by the name of their results.
MODELS = {
    "untrained 0": "each sentence read by itself",
    "untrained 64": "read in windows of 64 tokens",
    "untrained 128": "of 128",
    "untrained 256": "of 256",
    "untrained 512": "of 512",
    "judged 1": "of 256, trained on judged queries",
    "nearby and judged 1": "of 256, trained on these and on sentences nearby",
}
ENCODED = """### Encoders that read a passage in its surroundings

Late chunking: a window of the book goes through the encoder once, and a passage has the mean of its tokens' vectors.
Measured once on one H100, on RELiC's {queries} queries with four sentences of context on either side, by `R@10`: each query was
ranked by a model that was trained on other books (three folds of whole books, the judged queries of RELiC and PlotRetrieval,
MiniLM, 100 steps of batches that share their negatives; the first of three seeds). *With windows* interpolates the passage
with windows around it as `dense-surroundings` does, with a weight of 0.75. *Fused* adds standardised scores to those of
`bm25-surroundings` ({surroundings} in this comparison) among its first 300.

The form of the query and both weights of *fused* are those that are best on the other books; how the encoder was trained was
not chosen within the folds: both ways are below. The figures are those of `benchmarks/unseen_encoders.py`, which cuts windows
by tokens, while the setting `context` of [dense-surroundings](../reference/retrievers.md#dense-surroundings) cuts them at
sentences: close, and not the same. Seeds 2 and 3 ran on the books of the validation splits alone.
"""
READING = """
The same fusion on RELiC's four books of the validation split, where surroundings have {surroundings}: trained on judged queries
{judged} with three seeds; on these and sentences nearby {nearby}; not trained {untrained_256} (256 tokens) and {untrained_0} (by
itself). The weights of seeds 2 and 3 are the best on the other three of these books. On `plotretrieval/val`, whose three books
are among these, N-RODCG@10 is {plot_0} with each sentence read by itself, {plot_256} with 256 tokens (BM25 {plot_bm25}), and
{plot_judged} with training on judged queries; fused with surroundings ({plot_surroundings}) by a weight of 0.3 that was not
tuned, {plot_0_fused}, {plot_256_fused}, and {plot_judged_fused}. So reading in surroundings pays where an encoder ranks alone
or is trained, and not by itself in a fusion; making up pairs of a passage and sentences nearby did not pay, nor did halfway
between the trained and the untrained weights ({judged_half} and {nearby_half}). On [BIRCO's RELiC](birco.md), whose pools were
no part of this, the trained encoder (the mean of the three folds' scores) has an nDCG@10 of {birco_judged}, the untrained one of
{birco_untrained}, and BM25 of {birco_bm25}: it does not carry over to pools that an encoder has made hard. There the
[evidence of passages nearby](birco.md#passages-nearby) does, whose settings RELiC's queries chose. The surroundings' own
settings were chosen on the 278 queries of the training split.

The goal of 25 on RELiC's validation books, with choices on other books, is reached by surroundings fused with an encoder
({untrained_0} untrained, {judged_1} trained) and not by surroundings alone. On the hidden books neither 15 (RELiC) nor 26
(PlotRetrieval) is: surroundings alone were ranked there. Training that reads windows is no recipe: it was measured on a GPU, not
on two cores, and on PlotRetrieval its three seeds differ by as much as it gains.
"""
# Rows of the table of sites by the name of their results.
SYSTEMS = {
    "BM25": "`bm25`",
    "ql": "`ql`, smoothing=jm, lam=0.9",
    "MiniLM": "MiniLM",
    "gte-small": "gte-small",
    "mpnet": "mpnet",
    "best": "BM25 and the three encoders, rrf",
    "tuned": "`ql` and the three encoders, weights of the other sites",
}
ON_SITES = """
### A site that took no part in the choice

The questions of both splits are of three sites of Stack Exchange: {queries}. For each site, the weights
of a fusion of `ql` and the three encoders, of {tried} in steps of 0.1, are those that are best on the two other sites, by `R@1`:
the figure to expect on a site of your own. Settings of the single systems are those of the table above; encoders read the 128
tokens around the example, with the words For example in its place. `benchmarks/unseen_sites.py` repeats it. Chosen were, with the
number of sites: {chosen}.
So a fusion carries over: it is above `ql` on each of the sites, and little above the reciprocal rank fusion that needs no choice. On
the answers of a fourth site, which were scored elsewhere and once, `ql` had {hidden}, BM25 {hidden_bm25}; no fusion was ranked there, so whether one
reaches the goal of 40 is not known.

"""


def told() -> dict[str, str]:
    """What each benchmark's systems have on data that took no part in any choice, for the short page."""
    books = json.loads(RESULTS.read_text("utf-8"))
    sites = json.loads(SITES.read_text("utf-8"))["rows"]["tuned"]["figure"]
    fused = json.loads(ENCODERS.read_text("utf-8"))["relic"]["rows"]["untrained 0"]["fused"]["mean"]
    left_out = {
        name: f"{_percent(found['rows']['chosen on the other books']['mean'])} (books left out)"
        for name, found in books.items()
    }
    return {
        "quoter": f"{hidden_figure('quoter', 'an earlier fusion')} (hidden, an earlier fusion)",
        "egret-forms": f"{_percent(sites)} (sites left out, not trained), "
        f"{hidden_figure('egret', 'ql')} (hidden site, `ql` alone)",
        "relic": f"{left_out['relic']}, {hidden_figure('relic', 'surroundings')} (hidden books)",
        "relic-encoders": f"{_percent(fused)} (all books, each left out; MiniLM at every passage)",
        "plotretrieval": f"{left_out['plotretrieval']}, "
        f"{hidden_figure('plotretrieval', 'surroundings')} (hidden books)",
    }


def hidden_figure(data: str, system: str) -> str:
    """What the keepers of hidden data answered, in percent."""
    return _percent(_hidden()[data]["rows"][system])


def section() -> str:
    """The section."""
    kept = json.loads(RESULTS.read_text("utf-8"))
    hidden = _hidden()
    intro = INTRO.format(
        relic=hidden_figure("relic", "surroundings"),
        relic_bm25=hidden_figure("relic", "BM25"),
        relic_queries=hidden["relic"]["queries"],
        plots=hidden_figure("plotretrieval", "surroundings"),
        plots_bm25=hidden_figure("plotretrieval", "BM25"),
        plots_queries=hidden["plotretrieval"]["queries"],
    )
    lines = [intro, _figures(kept)]
    for name, found in kept.items():
        lines += ["", _choices(name, found)]
    lines += ["", *(_books(name, found) for name, found in kept.items())]
    return "\n".join([*lines, *_encoders(json.loads(ENCODERS.read_text("utf-8")))])


def _encoders(found: dict[str, Any]) -> list[str]:
    relic = found["relic"]
    rows = []
    for name, title in MODELS.items():
        row = relic["rows"][name]
        ends = [_interval(row[column]["interval"]) for column in ("fused", "more")]
        figures = [row["alone"], row["windows"], row["fused"]["mean"], row["more"]["mean"]]
        alone, windows, fused, more = map(_percent, figures)
        rows.append([title, alone, windows, fused, ends[0], more, ends[1]])
    heads = ["MiniLM", "alone", "with windows", "fused", "95 %, over books", "fused, less surroundings", "95 %"]  # fmt: skip
    intro = ENCODED.format(
        queries=relic["queries"], surroundings=_percent(relic["surroundings"]["mean"])
    )
    return [intro, table(heads, rows) + _reading(found)]


def _reading(found: dict[str, Any]) -> str:
    val = {name: _percent(row["val"]) for name, row in found["relic"]["rows"].items()}
    plots = {name: _percent(figure) for name, figure in found["plotretrieval"]["rows"].items()}
    birco = {name: f"{figure:.3f}" for name, figure in found["birco"]["rows"].items()}

    def seeds(figures: dict[str, str], mix: str, end: str = "") -> str:
        one, two, three = (figures[f"{mix} {seed}{end}"] for seed in (1, 2, 3))
        return f"{one}, {two} and {three}"

    return READING.format(
        surroundings=_percent(found["relic"]["surroundings"]["val"]),
        judged=seeds(val, "judged"),
        judged_1=val["judged 1"],
        nearby=seeds(val, "nearby and judged"),
        untrained_0=val["untrained 0"],
        untrained_256=val["untrained 256"],
        judged_half=val["judged half 1"],
        nearby_half=val["nearby and judged half 1"],
        plot_bm25=plots["BM25"],
        plot_surroundings=plots["surroundings"],
        plot_0=plots["untrained 0"],
        plot_256=plots["untrained 256"],
        plot_judged=seeds(plots, "judged"),
        plot_0_fused=plots["untrained 0, fused"],
        plot_256_fused=plots["untrained 256, fused"],
        plot_judged_fused=seeds(plots, "judged", ", fused"),
        birco_judged=birco["judged 1"],
        birco_untrained=birco["untrained 0"],
        birco_bm25=birco["BM25"],
    )


def sites() -> str:
    """What a fusion is worth on a site of EgRet that took no part in its choice."""
    found = json.loads(SITES.read_text("utf-8"))
    rows = [
        [
            title, _percent(row["figure"]), _interval(row["interval"]),
            *map(_percent, row["sites"].values()), "" if name == "ql" else _interval(row["less ql"]),
        ]
        for name, title in SYSTEMS.items() for row in [found["rows"][name]]
    ]  # fmt: skip
    chosen = " and ".join(f"{weights} ({count})" for weights, count in found["chosen"].items())
    queries = ", ".join(f"{count} of {site}" for site, count in found["queries"].items())
    intro = ON_SITES.format(
        queries=queries,
        tried=found["tried"],
        chosen=chosen,
        hidden=hidden_figure("egret", "ql"),
        hidden_bm25=hidden_figure("egret", "BM25"),
    )
    return intro + table(["system", "`R@1`", "95 %", *found["queries"], "less `ql`, 95 %"], rows)


def _hidden() -> dict[str, Any]:
    """What the keepers of hidden data answered."""
    found: dict[str, Any] = json.loads(HIDDEN.read_text("utf-8"))
    return found


def _percent(figure: float) -> str:
    return f"{100 * figure:.1f}"


def _interval(ends: list[float]) -> str:
    return " to ".join(map(_percent, ends))


def _figures(kept: dict[str, Any]) -> str:
    rows = [
        [
            f"{TITLES[name]}, `{found['measure']}`", row, _percent(one["mean"]),
            _interval(one["interval"]),
        ]
        for name, found in kept.items()
        for row, one in found["rows"].items()
    ]  # fmt: skip
    return table(["data", "settings", "figure", "95 %, over books"], rows)


def _choices(name: str, found: dict[str, Any]) -> str:
    choices = ", ".join(f"{settings} ({count})" for settings, count in found["choices"].items())
    return (
        f"- **{TITLES[name]}**: {found['queries']} queries about {found['books']} books, {found['tried']} settings."
        f" Chosen, with the number of books: {choices}. Best of all: {found['best']}."
    )


def _books(name: str, found: dict[str, Any]) -> str:
    rows = [
        [book.replace("_", " "), str(count), *map(_percent, figures)]
        for book, (count, *figures) in found["by_book"].items()
    ]
    shown = table(["book", "queries", *found["rows"]], rows)
    summary = f"<summary>{TITLES[name]}, every book, by <code>{found['measure']}</code></summary>"
    return f"<details markdown>{summary}\n\n{shown}\n\n</details>\n"
