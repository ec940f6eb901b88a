"""What benchmarks, examples and pages import of irtoolkit exists: no type checker reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

FOLDERS = ("benchmarks", "docs", "examples", "tests")


@cache
def defined(module: str) -> frozenset[str] | None:
    """Names that a module defines, a package's modules among them; None if there is no module."""
    path = ROOT / module.replace(".", "/")
    initial = path / "__init__.py"
    file = initial if initial.is_file() else path.with_suffix(".py")
    if not file.is_file():
        return None
    names = {child.stem for child in path.glob("*")}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return frozenset(names)


def missing(path: Path) -> Iterator[str]:
    """Modules and names of irtoolkit that a file imports and that do not exist."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("irtoolkit."):
            names = defined(str(node.module))
            imported = {alias.name for alias in node.names}
            if names is None or not imported <= names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"


def test_imports_of_irtoolkit_outside_the_package_exist() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert not [line for path in paths for line in missing(path)]
