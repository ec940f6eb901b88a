"""The rooms of the package import downwards only, and no modules import each other in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT
from tests.each import each

PACKAGE = ROOT / "irtoolkit"
# A room may import those of earlier lines, and itself. See ARCHITECTURE.md.
LEVELS = (
    ("base",),
    ("engines",),
    ("runs",),
    ("datasets", "measures"),
    ("indexes", "models"),
    ("retrievers",),
    ("ranking", "scoring"),
    ("training", "reports", "integrations"),
    ("building", "fusing"),
    ("papers", "apps"),
    ("commands",),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


@cache
def modules() -> dict[str, Path]:
    """Dotted name to file of every module of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(name: str) -> list[str]:
    """The modules of the package that a module imports: for types and within functions, too."""
    known = modules()
    tree = ast.parse(known[name].read_text("utf-8"))
    return list(imported(tree, known))


def imported(tree: ast.Module, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in known:
                    yield full
                elif node.module in known:
                    yield node.module


def room(name: str) -> str:
    """The room of a module; the front door and the command line are above all."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LEVEL else ""


@each("name", sorted(modules()))
def test_a_module_imports_only_rooms_below_its_own(name: str) -> None:
    here = room(name)
    if not here:
        return
    strange = [
        other
        for other in imports(name)
        if room(other) not in ("", here) and LEVEL[room(other)] >= LEVEL[here]
    ]
    assert not strange, f"{name} imports {strange}"


def test_no_modules_import_each_other() -> None:
    known = modules()
    below = {name: {other for other in imports(name) if other != name} for name in known}
    # Packages that only gather names are left out: importing a member runs them anyway.
    for name, path in known.items():
        if path.name == "__init__.py":
            below[name] = set()
    while True:
        free = {name for name, others in below.items() if not others & below.keys()}
        if not free:
            break
        below = {name: others for name, others in below.items() if name not in free}
    assert not below, f"in circles: {sorted(below)}"


@each("name", sorted(modules()))
def test_the_version_is_imported_from_its_own_module(name: str) -> None:
    """The package itself is above all rooms."""
    tree = ast.parse(modules()[name].read_text("utf-8"))
    strange = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "irtoolkit"
        and any(alias.name == "__version__" for alias in node.names)
    ]  # fmt: skip
    assert not strange or not room(name)


def test_other_rooms_take_ir_datasets_from_the_room_that_sees_to_its_home() -> None:
    """ir_datasets makes folders in its home when it is imported, where that cannot be written it fails."""
    for name, path in modules().items():
        if not name.startswith("irtoolkit.datasets"):
            body = ast.parse(path.read_text("utf-8")).body
            assert not {"ir_datasets", "ir_datasets.formats"} & top_level(body), name


def top_level(body: list[ast.stmt]) -> set[str | None]:
    plain = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in body if isinstance(node, ast.ImportFrom)}
