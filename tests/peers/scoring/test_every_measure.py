"""Every measure that ir_measures registers: its value where it has one, and an error where not."""

from __future__ import annotations

import random

import ir_measures
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

# What follows a name where every parameter has to be said.
PARAMETERS = {"IPrec": ("@0.3", "@1.0"), "RBP": ("(rel=1)", "(p=0.8)")}
# What irtoolkit computes where ir_measures needs a package that is not installed, or has nothing.
OWN = {"NumRel(rel=2)", "RBP(rel=1)"}
# Of a query of which the run lists nothing relevant, this has no value there and 0 here.
UNSAID = {"Accuracy"}


def registered() -> list[tuple[str, ir_measures.measures.Measure]]:
    """The measures of ir_measures itself, each once."""
    return [
        (name, measure)
        for name, measure in sorted(ir_measures.measures.registry.items())
        if name == measure.NAME and type(measure).__module__.startswith("ir_measures.")
    ]


def spellings(name: str, measure: ir_measures.measures.Measure) -> list[str]:
    if name in PARAMETERS:
        return [name + rest for rest in PARAMETERS[name]]
    takes = measure.SUPPORTED_PARAMS
    whole = f"{name}(max_rel=3)" if "max_rel" in takes else name
    if "cutoff" not in takes:
        return [whole, *([f"{name}(rel=2)"] if "rel" in takes else [])]
    graded = [f"{name}(rel=2)@10"] if "rel" in takes else []
    return [*([] if takes["cutoff"].required else [whole]), f"{whole}@10", *graded]


def untied() -> tuple[Run, Qrels]:
    """Rankings without ties, as providers order these differently; ids are numbers for gdeval."""
    chance = random.Random(5)
    docs = [str(number) for number in range(200)]
    run, qrels = {}, {}
    for query in map(str, range(1, 9)):
        listed = chance.sample(docs, 100)
        run[query] = {doc: float(len(docs) - place) for place, doc in enumerate(listed)}
        qrels[query] = {doc: chance.choice([0, 0, 0, 1, 2, 3]) for doc in chance.sample(docs, 90)}
    return Run.of(run), Qrels.of(qrels)


def by_ir_measures(
    measure: ir_measures.measures.Measure, run: Run, qrels: Qrels
) -> dict[str, float] | None:
    """Its values, or None where no installed provider computes it."""
    try:
        rows = list(ir_measures.iter_calc([measure], qrels.as_dict(), run.as_dict()))
    except Exception:  # unsupported, or a provider without its program: then we have none either
        return None
    return {row.query_id: row.value for row in rows}


CASES = [(name, spelling) for name, one in registered() for spelling in spellings(name, one)]


@pytest.mark.parametrize(("name", "spelling"), CASES)
def test_a_measure_of_ir_measures_has_its_value_or_is_refused(name: str, spelling: str) -> None:
    run, qrels = untied()
    measures = parse_measures([spelling])
    expected = by_ir_measures(measures[spelling], run, qrels)
    if expected is None and spelling not in OWN:
        with pytest.raises(InputError, match="ir_measures cannot compute"):
            evaluate(run, qrels, measures)
        return
    found = evaluate(run, qrels, measures)
    values = dict(zip(found.query_ids, found.per_query(spelling).tolist(), strict=True))
    if expected is None:
        assert values == pytest.approx(own(spelling, run, qrels), abs=1e-12)
        return
    if name in UNSAID:
        expected = dict.fromkeys(values, 0.0) | expected
    assert values == pytest.approx(expected, abs=1e-12)


def own(spelling: str, run: Run, qrels: Qrels) -> dict[str, float]:
    """What ir_measures does not compute without other packages, restated."""
    judged = qrels.as_dict()
    if spelling == "NumRel(rel=2)":
        return {query: sum(grade >= 2 for grade in docs.values()) for query, docs in judged.items()}
    weights = [0.8**place for place in range(1000)]
    return {
        query: sum(
            weight
            for weight, row in zip(weights, run.ranking(query), strict=False)
            if docs.get(row.doc_id, 0) > 0
        )
        / sum(weights)
        for query, docs in judged.items()
    }


def test_most_measures_have_values() -> None:
    """Else all of the above could be refusals."""
    run, qrels = untied()
    valued = set()
    for name, spelling in CASES:
        if name not in valued and by_ir_measures(parse_measures([spelling])[spelling], run, qrels):
            valued.add(name)
    assert valued >= {
        "AP", "Accuracy", "Bpref", "Compat", "IPrec", "Judged", "NumQ", "NumRel", "NumRet", "P", "R",
        "RR", "Rprec", "SetAP", "SetF", "SetP", "SetR", "Success", "infAP", "nDCG",
    }  # fmt: skip
