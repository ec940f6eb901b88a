"""Retrievers are found by name, one module at a time, and in other packages too."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers import create_retriever, retrievers
from irtoolkit.retrievers.random import Random

CODE = """
from dataclasses import dataclass
from typing import ClassVar
from irtoolkit.retrievers.random import Random

@dataclass(frozen=True)
class Shiny(Random):
    name: ClassVar[str] = "shiny"
    shine: int = 3
"""
Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a module on the path, with the entry point `name = brings_it:value`."""

    def put(entry: str, code: str) -> None:
        name, _, value = entry.partition("=")
        info = tmp_path / "brings_it-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brings-it\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[{plugins.RETRIEVERS}]\n{name} = brings_it:{value}\n"
        )
        (tmp_path / "brings_it.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "brings_it", raising=False)
        plugins.of_group.cache_clear()

    return put


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Forgets the plugins of a test."""
    yield
    plugins.of_group.cache_clear()


def test_looking_one_up_imports_its_module_only() -> None:
    code = (
        "import json, sys; from irtoolkit.retrievers import retrievers;"
        "retrievers()['bm25'], 'dense-of-nobody' in retrievers();"
        "print(json.dumps([name for name in sys.modules]))"
    )
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    )
    mine = {name for name in loaded if name.startswith("irtoolkit.retrievers.")}
    assert "irtoolkit.retrievers.lexical" in mine
    assert not mine & {
        f"irtoolkit.retrievers.{name}" for name in ("dense", "late", "crm", "lucene", "faiss")
    }
    assert not {"torch", "pandas", "sklearn", "nltk", "numba"} & set(loaded)


def test_a_plugin_is_a_retriever(install: Install) -> None:
    install("shiny=Shiny", CODE)
    assert "shiny" in retrievers()
    assert "brings_it" not in sys.modules
    made = create_retriever("shiny", {"shine": "5"})
    assert made.settings() == {"seed": 0, "shine": 5}
    assert "shiny" in list(retrievers())


@pytest.mark.parametrize(
    ("entry", "code", "problem"),
    [
        ("shiny=Shiny", "1 / 0", "cannot be imported: ZeroDivisionError"),
        ("shiny=Shiny", "def Shiny(): pass", "is <function Shiny"),
        ("shiny=Shiny", "class Shiny: pass", "is <class 'brings_it.Shiny'>, which is not a"),
        ("other=Shiny", CODE, "calls itself 'shiny'"),
    ],
)
def test_a_plugin_that_is_broken_breaks_nothing_else(
    install: Install, caplog: pytest.LogCaptureFixture, entry: str, code: str, problem: str
) -> None:
    install(entry, code)
    name = entry.partition("=")[0]
    with pytest.raises(InputError) as caught:
        create_retriever(name, {})
    said = f"the retriever {name!r} of the package brings-it {problem}"
    assert caught.value.found.startswith(said)
    assert isinstance(create_retriever("random", {}), Random)
    with caplog.at_level(logging.WARNING):
        assert name not in list(retrievers())
    assert said in caplog.text


def test_what_scores_otherwise_than_its_base_does_not_take_its_index() -> None:
    # A query that is generated, say, is not the text that a search of the index would encode.
    assert all(
        create_retriever(name, {}).index_format() is None
        for name in ("crm", "generated-query", "llm-listwise")
    )
    assert all(
        create_retriever(name, {}).index_format() for name in ("bm25", "ql", "tfidf", "deepct")
    )
    assert all(create_retriever(name, {}).index_format() for name in ("rm3", "rm3-ql", "rocchio"))
    assert create_retriever("tfidf", {"statistics": "texts.txt"}).index_format() is None


def test_a_plugin_does_not_replace_ours(install: Install) -> None:
    install("random=Shiny", CODE)
    assert retrievers()["random"] is Random
    assert list(retrievers()).count("random") == 1
