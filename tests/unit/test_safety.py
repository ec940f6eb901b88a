"""No module of the package runs what is in a file, or lets a library do so.

The exceptions are named below: what processes of one command send each other, and a reader that
allows nothing but arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "irtoolkit"

# Functions that run code which a file or a message chooses, by module.
FORBIDDEN = {
    "pickle": {"load", "loads", "Unpickler"},
    "cloudpickle": {"load", "loads"},
    "dill": {"load", "loads", "Unpickler"},
    "marshal": {"load", "loads"},
    "joblib": {"load"},
    "shelve": {"open"},
    "pandas": {"read_pickle"},
    "pd": {"read_pickle"},
    "yaml": {"load", "load_all", "full_load", "unsafe_load"},
    "os": {"system", "popen"},
    "Word2Vec": {"load"},
    "KeyedVectors": {"load"},
    "Gensim": {"load"},
}
BUILT_IN = {"eval", "exec", "compile", "__import__"}

# (Module, function of the package) that may all the same, and why.
ALLOWED = {
    ("datasets/plain_pickle.py", "_Reader"): "a reader that refuses everything but plain data",
    ("base/yamls.py", "load_yaml"): "yaml's safe loader, which also counts what merge keys bring",
    ("engines/work.py", "unpack"): "work that a command sends its workers",
    ("engines/work.py", "_portable"): "an error, pickled in the same line to see whether it can be",
    ("engines/processes.py", "_serve"): "work that a command sends its workers, through a pipe",
    ("engines/pooled.py", "in_order"): "results of workers",
    ("engines/pooled.py", "all_at_once"): "results of workers",
    ("datasets/elsewhere.py", "unpacked"): "a dataset in memory that a command sends its workers",
    ("models/foreign.py", "_ArraysOnly"): "a reader that refuses everything but arrays",
    ("models/opening.py", "_transformer"): "with trust_remote_code=true, which a user has set",
    ("models/llm/local.py", "_load"): "with trust_remote_code=true as well",
    ("training/base_model.py", "segment_separator"): "with trust_remote_code=true as well",
    ("models/lora.py", "_merged"): "PEFT reads tensors, as torch with weights_only=True",
    ("models/ernie.py", "write_ernie"): "BertTokenizerFast is a class of transformers itself",
}


def offences(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(Function or class, what it does) of everything that is forbidden."""
    for statement in tree.body:
        place = getattr(statement, "name", "")
        for node in ast.walk(statement):
            for said in _offence(node):
                yield place, said


def _offence(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in FORBIDDEN.get(node.value.id, ()):
            yield f"{node.value.id}.{node.attr}"
    elif isinstance(node, ast.ImportFrom):
        for name in node.names:
            if name.name in FORBIDDEN.get(node.module or "", ()):
                yield f"{node.module}.{name.name}"
    elif isinstance(node, ast.Import):
        for name in node.names:
            if name.name in FORBIDDEN and name.asname not in (None, "pd"):
                yield f"{name.name} under another name"
    if not isinstance(node, ast.Call):
        return
    given = {word.arg: word.value for word in node.keywords}
    name = ast.unparse(node.func)
    if name in BUILT_IN:
        yield name
    if name == "torch.load" and not _is(given.get("weights_only"), True):
        yield "torch.load without weights_only=True"
    if "allow_pickle" in given and not _is(given["allow_pickle"], False):
        yield "allow_pickle"
    if "shell" in given:
        yield "a shell"
    if "trust_remote_code" in given and not _is(given["trust_remote_code"], False):
        yield "trust_remote_code"
    # Without it transformers asks in the terminal, and runs the code if "y" comes in.
    if name.endswith("from_pretrained") and "trust_remote_code" not in given:
        yield "from_pretrained without trust_remote_code=False"


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


@cache
def found() -> set[tuple[str, str, str]]:
    return {
        (path.relative_to(PACKAGE).as_posix(), place, said)
        for path in sorted(PACKAGE.rglob("*.py"))
        for place, said in offences(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_nothing_in_a_file_is_run() -> None:
    assert {each for each in found() if each[:2] not in ALLOWED} == set()


def test_every_exception_is_needed() -> None:
    assert {each[:2] for each in found()} == set(ALLOWED)


@pytest.mark.parametrize(
    "code",
    [
        "import pickle\npickle.loads(data)",
        "from pickle import loads",
        "import pickle as other",
        "class Reader(pickle.Unpickler): ...",
        "def f(path):\n    return torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=given)",
        "joblib.load(path)",
        "yaml.load(text, Loader)",
        "Word2Vec.load(path)",
        "eval(text)",
        "subprocess.run(text, shell=True)",
        "AutoModel.from_pretrained(place)",
        "AutoModel.from_pretrained(place, trust_remote_code=True)",
        "SentenceTransformer(place, trust_remote_code=given)",
    ],
)
def test_the_search_finds_what_it_looks_for(code: str) -> None:
    assert list(offences(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "pickle.dumps(data)",
        "torch.load(path, weights_only=True)",
        "np.load(path, mmap_mode='r')",
        "np.load(path, allow_pickle=False)",
        "yaml.safe_load(text)",
        "model.eval()",
        "AutoModel.from_pretrained(place, trust_remote_code=False)",
    ],
)
def test_the_search_finds_nothing_else(code: str) -> None:
    assert list(offences(ast.parse(code))) == []
