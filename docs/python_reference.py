"""The page reference/python.md: the public names, with their signatures and docstrings.

The sources are read, not imported: names of optional packages are described without them.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docstrings import documented

ROOT = Path(__file__).resolve().parent.parent
INTRO = """# Python

These names are the public interface. Other modules may change between releases. `import irtoolkit as ir`
is fast: each function loads what it needs when it is called.
"""
# Lines that are longer get one argument a line.
WIDTH = 92
Node = ast.FunctionDef | ast.ClassDef


class Name(NamedTuple):
    """A public name: a function, or a class with the members that are promised."""

    path: str
    members: tuple[str, ...] = ()


def _all(module: str, *names: str) -> tuple[Name, ...]:
    return tuple(Name(f"irtoolkit.{module}.{name}") for name in names)


def _class(path: str, members: str = "") -> Name:
    return Name(f"irtoolkit.{path}", tuple(members.split()))


SECTIONS: dict[str, tuple[Name, ...]] = {
    "Functions": (
        *_all("api", "load", "index", "open_index", "retrieve", "rerank", "fuse", "tune_fusion"),
        *_all("api", "evaluate", "compare", "report", "export"),
        *_all("papers.analyses.analyse", "analyse"),
        *_all("engines.choose", "engine"),
    ),
    "Data": (
        _class(
            "datasets.dataset.Dataset",
            "load of queries query_ids qrels candidates pools protocol breakdowns breakdown",
        ),
        _class("runs.run.Run", "of read from_rows ranking as_dict head named write"),
        _class("runs.qrels.Qrels", "of read write"),
    ),
    "Results": (
        _class("retrievers.index.Index", "search search_many"),
        _class("retrievers.stored_index.StoredIndex", "add delete merge verify"),
        _class("retrievers.hits.SearchResult", "doc_ids scores texts"),
        _class("scoring.score.Scores", "figures values per_query by table to_frame"),
        _class("scoring.compare.Comparison"),
        _class("fusing.tuned.TunedFusion", "figure fuse comparison table"),
        _class("fusing.search.FusionSearch"),
        _class("base.errors.InputError"),
    ),
    "Systems": (
        _class("ranking.systems.find_system"),
        _class("ranking.systems.System", "make settings missing"),
    ),
    "Extension points": (
        _class("retrievers.base.Retriever", "scorer prepare missing fingerprint"),
        _class("retrievers.task.Task", "queries docs query_fields"),
        _class("measures.base.ColumnarMeasure", "per_query"),
        _class("measures.judged.JudgedRun", "queries ranks counts hits exact pool sum"),
        _class("measures.traits.Traits"),
        _class("datasets.benchmark.Benchmark"),
    ),
    "Other toolkits": (
        _class("integrations.pyterrier.transformers.Retriever"),
        _class("integrations.pyterrier.transformers.Reranker"),
        _class("integrations.pyterrier.indexes.Index", "retriever text_loader"),
        *_all("integrations.ranx_objects", "to_ranx", "from_ranx"),
        *_all("integrations.ranx", "compare_with_ranx"),
    ),
    "Training": _all("training.trainer", "train"),
}
BELOW = {
    "Extension points": "[Add a retriever](../how-to/add-retriever.md), [Add a measure](../how-to/add-measure.md)"
    " and\n[Add a dataset](../how-to/add-dataset.md) show how to use these base classes.\n"
}


def page() -> str:
    """The page."""
    parts = [INTRO]
    for title, names in SECTIONS.items():
        parts += [f"## {title}\n", *([BELOW[title]] if title in BELOW else [])]
        for name in names:
            parts += _described(name)
    return "\n".join(parts)


def _described(name: Name) -> Iterator[str]:
    module, _, last = name.path.rpartition(".")
    node = _find(_source(module).body, last)
    yield _entry("###", name.path, last, node)
    if isinstance(node, ast.ClassDef):
        for member in name.members:
            found = _find(node.body, member, missing_ok=True)
            if found is not None:  # fields are among the attributes of the class
                yield _entry("####", f"{name.path}.{member}", f"{last}.{member}", found)


def _entry(level: str, path: str, title: str, node: Node) -> str:
    doc = documented(ast.get_docstring(node))
    return (
        f'<a id="{path}"></a>\n\n{level} {title}\n\n```python\n{_signature(node)}\n```\n\n{doc}\n'
    )


@cache
def _source(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return ast.parse(file.read_text("utf-8"))


def _find(body: Sequence[ast.stmt], name: str, missing_ok: bool = False) -> Node | None:
    """The last definition of a name that is no overload."""
    found = [
        node
        for node in body
        if isinstance(node, Node) and node.name == name and "overload" not in _decorators(node)
    ]
    if not found and not missing_ok:
        raise LookupError(f"no definition of {name}")
    return found[-1] if found else None


def _decorators(node: Node) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def _signature(node: Node) -> str:
    """The first lines of a definition: a class with its bases, a function with its arguments."""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    kept = [f"@{name}" for name in _decorators(node) if name in ("property", "classmethod", "staticmethod")]  # fmt: skip
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = _arguments(node.args)
    line = f"{node.name}({', '.join(arguments)}){returns}"
    if len(line) > WIDTH:
        line = (
            f"{node.name}(\n{textwrap.indent(f',{chr(10)}'.join(arguments), '    ')},\n){returns}"
        )
    return "\n".join([*kept, line])


def _arguments(given: ast.arguments) -> list[str]:
    """The arguments one by one, with the marks of those that are by position or by name alone."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    shown = [_argument(arg, default) for arg, default in zip(plain, defaults, strict=True)]
    if given.posonlyargs:
        shown.insert(len(given.posonlyargs), "/")
    if given.vararg:
        shown.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        shown.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    shown += [_argument(arg, default) for arg, default in named]
    return shown + ([f"**{_argument(given.kwarg, None)}"] if given.kwarg else [])


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    said = f"{arg.arg}: {ast.unparse(arg.annotation)}" if arg.annotation else arg.arg
    return said if default is None else f"{said} = {ast.unparse(default)}"
