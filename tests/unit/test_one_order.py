"""Only `runs/order.py` and the kernels that belong to it sort or compare by score."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.conftest import ROOT

PACKAGE = ROOT / "irtoolkit"
LISTS, ARRAYS = {"sort", "sorted", "nlargest", "nsmallest"}, {"argsort", "lexsort", "argpartition"}
ORDER = {"runs/order.py", "runs/top_k.py", "runs/_order_kernels.py", "runs/_select_kernels.py"}
# Other files that sort arrays in descending order, or by a score, and what they sort.
OTHERS = {
    "papers/analyses/_rouge.py": "sentences by a bound of their ROUGE",
    "indexes/documents.py": "ids by their length",
    "measures/gain.py": "gains",
    "measures/judged.py": "grades",
    "measures/ndcgp.py": "grades",
    "measures/nrodcg.py": "gains",
    "models/batches.py": "texts by their length",
    "models/llm/local.py": "likely tokens",
    "models/sparta.py": "weights of terms",
    "retrievers/gpu_pass.py": "numbers on a card that hold a score and its place in a TieOrder",
    "retrievers/llm/permutation.py": "scores that a language model writes, to see whether they fall",
    "retrievers/plaid.py": "centroids by their nearness",
    "runs/trec.py": "rows by rank, to see whether scores contradict",
    "scoring/check_file.py": "rows by rank, to see whether a rank has two scores",
}
# Other files that number ids in their byte order, and why.
RANKING_IDS = {
    "ranking/session.py": "documents are found by their ids",
    "integrations/ranx.py": "queries are in the order of their ids",
}


@cache
def trees() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths
    }


def sorting(tree: ast.AST) -> Iterator[str]:
    """What sorts by a score, or an array in descending order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _sorts(node):
            yield ast.unparse(node)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "::-1":
            inner = node.value
            if isinstance(inner, ast.Call) and _name(inner) in ARRAYS:
                yield ast.unparse(node)


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _sorts(call: ast.Call) -> bool:
    if _name(call) == "partition":  # of an array, and not of a text
        texts = [getattr(value, "value", None) for value in call.args]
        return not any(isinstance(one, ast.JoinedStr) for one in call.args) and not any(
            isinstance(text, str | bytes) for text in texts
        )
    falls = any(
        isinstance(one, ast.UnaryOp)
        and isinstance(one.op, ast.USub)
        and not isinstance(one.operand, ast.Constant)
        for one in ast.walk(call)
    )
    words = re.search("score|descending=True", ast.unparse(call)) is not None
    if _name(call) in ARRAYS:
        return falls or words
    return _name(call) == "topk" or (_name(call) in LISTS and words)


def test_no_other_file_sorts_by_score() -> None:
    found = {name: list(sorting(tree)) for name, tree in trees().items() if name not in ORDER}
    found = {name: lines for name, lines in found.items() if lines}
    unknown = {name: lines for name, lines in found.items() if name not in OTHERS}
    assert not unknown, "order scores by irtoolkit.runs.order; list here what sorts something else"
    assert found.keys() >= OTHERS.keys(), "these sort nothing any more"


def test_no_other_file_ranks_ids() -> None:
    calls = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node) == "rank_ids"
    }
    assert calls - ORDER == RANKING_IDS.keys(), "keys of documents come from irtoolkit.runs.order"


def test_sorts_are_seen() -> None:
    lines = """
if scores != sorted(scores): pass
order = np.lexsort((-names, query))
best = np.argsort(values)[::-1]
text.partition(":")
near = np.partition(values, 3)
"""
    assert len(list(sorting(ast.parse(lines)))) == 4
