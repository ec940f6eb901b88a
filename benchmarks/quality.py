"""The strongest system on each benchmark that installs from a package index, and how it was chosen.

    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py
    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py egret quoter
    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py --cost
    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py quoter cacm --beside
    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py egret-forms --take FOLDER
    IRTOOLKIT_DATA=../shared/data python benchmarks/quality.py egret-forms --again fusion
    python benchmarks/quality.py --table

Weights come from `python benchmarks/weights.py`. quality.toml lists the rows of each table as the
commands that make their runs. Each row is run on the data where choices are made and on the data that
is reported on. Of each group whose rows are alternatives the best on the first is shown, and so is the
best row of all. Where the data have folds, the choice for the queries of a fold is made on the other
folds. So nothing is chosen on what it is reported on, and every row that was tried is in the results
with its figure there. Of vaswani and cacm nothing is chosen: their rows were fixed before, and check
that the others fit more than their benchmarks. Both are downloaded if $IRTOOLKIT_DATA lacks them.

An interval is of 95 % by bootstrap over queries. p is of a paired t-test over queries against a
baseline, Holm-corrected over the rows of the table; a choice that is another row is tested once.

--cost measures what a query takes on this machine once its documents are prepared: its encoding and
the scoring of its candidates, one query at a time, the median over some queries. What a row fuses or
reranks counts with it. Run it on a machine that does nothing else.

--beside measures again what is told beside a table (quality_beside.py): QuoteR's test queries apart by
whether training has their quotation, and CACM by the judgments as they are distributed. Without an
option it is measured with the table.

--again measures one group of alternatives where the others cannot be made, such as without a GPU, and
keeps what it finds beside the table.

--take copies runs that were made elsewhere, such as on a GPU by trained.py: FOLDER/DATASET/NAME.run.

Runs are kept in the cache: an interrupted benchmark continues, and rows whose commands changed are
run again. The results are merged into benchmarks/results/quality.json, benchmark by benchmark.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

from quality_beside import BESIDE, again
from quality_choice import best_of, evaluated, groups_of, twins
from quality_collections import register
from quality_cost import costs
from quality_rows import NAMED, Row, Table, read_tables, runs_of, take

from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.runs import provenance
from irtoolkit.scoring.compare import Comparison, compare
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.score import Scores, score

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "quality.json"


def measured(table: Table) -> dict[str, Any]:
    """Everything that is reported of a benchmark."""
    runs = runs_of(table, table.report, table.rows)
    found = score(table.report, runs, table.measures)
    held_out = where_chosen(table, found)
    choices = [] if held_out is None else [
        best_of(name, rows, held_out, table) for name, rows in groups_of(table.rows).items()
    ]  # fmt: skip
    fixed = [row for row in table.rows if not (row.alternative and table.chooses)]
    final = {row.name: found[row.name] for row in fixed}
    for choice in choices:
        final[choice.title] = evaluated(choice, found, table)
    same = twins([row.name for row in fixed], choices)
    apart = {name: values for name, values in final.items() if name not in same}
    tests = {
        base: compare(apart, table.main, baseline=base, test="student") for base in table.baselines
    }
    return {
        "title": table.title,
        "report": table.report,
        "choose": "the other fold" if table.by_folds else table.choose,
        "queries": {
            "report": len(found.query_ids),
            "choose": 0 if held_out is None else len(held_out.query_ids),
        },
        "measures": list(found.measures),
        "main": table.main,
        "baselines": list(table.baselines),
        "goals": table.goals,
        "rows": {name: of_row(same.get(name, name), final, tests) for name in final},
        "about": {row.name: of_fixed(row, table) for row in fixed} | {c.title: c.record() for c in choices},
        "tried": {} if held_out is None else tried_rows(table, held_out),
    }  # fmt: skip


def where_chosen(table: Table, found: Scores) -> Scores | None:
    """The scores that choices go by; None where nothing is chosen."""
    if table.by_folds:
        return found
    if not table.chooses:
        return None
    tried = [row for row in table.rows if row.tried]
    return score(table.choose, runs_of(table, table.choose, tried), table.measures)


def of_row(name: str, final: dict[str, Evaluation], tests: dict[str, Comparison]) -> dict[str, Any]:
    """Figures of a row, the interval of the main one, and p against each baseline."""
    rows = {base: next(r for r in test.rows if r.system == name) for base, test in tests.items()}
    any_row = next(iter(rows.values()))
    return {
        # A median rank is infinite where a run does not list the document: null, as in strict JSON.
        "figures": {
            measure: value if math.isfinite(value) else None
            for measure, value in final[name].figures().items()
        },
        "interval": [any_row.low, any_row.high],
        "p": {base: row.corrected for base, row in rows.items() if row.corrected is not None},
    }


def of_fixed(row: Row, table: Table) -> dict[str, Any]:
    """What makes a row that nobody chose among others."""
    return {"group": row.group, "commands": row.told(table.choose), "note": row.note}


def tried_rows(table: Table, held_out: Scores) -> dict[str, Any]:
    """Every row with its figure where choices are made, for each fold where there are several."""
    told = {}
    for row in table.rows:
        if row.tried and row.name in held_out.systems:
            values = held_out[row.name]
            about: dict[str, Any] = {"group": row.group, "commands": row.told(table.choose)}
            if table.by_folds:
                about["folds"] = [
                    values.over([held_out.query_ids[i] for i in fold])[table.main]
                    for fold in values.folds
                ]
            else:
                about["figure"] = values.figures()[table.main]
            told[row.name] = about
    return told


def known_costs(found: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The costs of rows that, with what they read, are what they were when these were measured."""
    costs = {
        name: told for name, told in known["ms a query"].items()
        if name in found["about"] and _lines(name, found) == _lines(name, known)
    }  # fmt: skip
    return {"ms a query": costs, "cost": known["cost"]}


def _lines(name: str, found: dict[str, Any]) -> list[str]:
    """The commands of a row and of all rows that it reads."""
    about = {**found["tried"], **found["about"]}
    lines = list(about.get(name, {}).get("commands", []))
    read = dict.fromkeys(part for line in lines for part in NAMED.findall(line))
    return [*lines, *(line for part in read if part in about for line in _lines(part, found))]


def text(found: dict[str, Any]) -> str:
    """The table of a benchmark, and what was chosen."""
    measures, main = found["measures"], found["main"]
    heads = ["system", *measures, "95% low", "high", *(f"p {b}" for b in found["baselines"]), "ms"]
    lines = []
    for name, row in found["rows"].items():
        told = found.get("ms a query", {}).get(name)
        lines.append(
            [
                name,
                *(
                    "" if row["figures"][m] is None else f"{row['figures'][m]:.4f}"
                    for m in measures
                ),
                *(f"{value:.4f}" for value in row["interval"]),
                *(f"{row['p'][b]:.4f}" if b in row["p"] else "" for b in found["baselines"]),
                "" if told is None else f"{told:.1f}",
            ]
        )
    title = f"{found['report']}, chosen on {found['choose']}, tested on {main}"
    chosen = [f"{name}: {about['chosen']}" for name, about in found["about"].items()
              if "chosen" in about]  # fmt: skip
    return "\n".join([TextTable(heads, lines, title).render("text"), *chosen, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help="default: all")
    parser.add_argument("--cost", action="store_true", help="measure what a query takes")
    parser.add_argument("--beside", action="store_true", help="what is told beside tables")
    parser.add_argument("--table", action="store_true", help="print what is there, measure nothing")
    parser.add_argument("--take", metavar="FOLDER", help="runs of rows that were made elsewhere")
    parser.add_argument("--again", metavar="GROUP", help="one group of rows, beside the table")
    parser.add_argument("-o", "--output", metavar="FILE", default=str(RESULTS))
    parser.add_argument("--rows", metavar="FILE", default=str(HERE / "quality.toml"))
    args = parser.parse_args()
    if args.take and (args.cost or args.table or args.beside):
        parser.error("--take is for measuring, not for --cost, --beside or --table")
    tables = read_tables(Path(args.rows))
    unknown = set(args.benchmarks) - set(tables)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(tables)}")
    path = Path(args.output)
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    for name in args.benchmarks or (BESIDE if args.beside else tables):
        known = kept.setdefault("benchmarks", {}).get(name)
        if not args.table:
            if tables[name].collection:
                register(tables[name].collection)
            started = time.monotonic()
            if args.again and known is not None:
                known["again"] = again(tables[name], args.again)
                key = "made again"
            elif args.cost and known is not None:
                known["ms a query"] = costs(tables[name], known)
                key = "cost"
            elif args.beside and known is not None:
                key = "made beside"
            else:
                if args.take:
                    print("taken:", ", ".join(take(tables[name], Path(args.take))), flush=True)
                found = measured(tables[name])
                if known is not None and "ms a query" in known:
                    found |= known_costs(found, known)
                kept["benchmarks"][name] = known = found
                key = "made"
            if not (args.cost or args.again) and name in BESIDE:
                known["beside"] = BESIDE[name](tables[name])
            known[key] = provenance.circumstances(time.monotonic() - started)
            with atomic_text(path) as file:
                json.dump(kept, file, indent=1, allow_nan=False)
                file.write("\n")
        if known is not None:
            print(text(known), flush=True)


if __name__ == "__main__":
    main()
