"""The page of licences has every package of constraints.txt, with what those installed here declare."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(licences: ModuleType) -> None:
    assert licences.outdated() == [], "run: python docs/licences.py"
    assert list(licences.rows()) == list(licences.constraints())


def test_few_packages_declare_nothing(licences: ModuleType) -> None:
    unknown = [name for (name, _), text in licences.rows().items() if text.startswith("not ")]
    assert set(unknown) <= {"pyserini", "tiktoken"}
