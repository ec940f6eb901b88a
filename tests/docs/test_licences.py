"""The page of licences has every package of constraints.txt, with what those installed here declare."""

from __future__ import annotations

import importlib.util
from email.message import Message
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"License-Expression": "MIT OR Apache-2.0", "License": "see LICENSE"}, "MIT OR Apache-2.0"),
        ({"License": "Apache License 2.0"}, "Apache-2.0"),
        ({"License": "BSD", "Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "Copyright 2020\nAll rights"}, "not declared"),
        ({"License": "UNKNOWN", "Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({}, "not declared"),
        ({"Version": "2.0"}, None),
    ],
)  # fmt: skip
def test_a_licence_is_read_where_the_version_is_that_of_the_constraints(
    licences: ModuleType, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str
) -> None:
    about = Message()
    for name, value in {"Version": "1.0+cpu", **given}.items():
        about[name] = value
    monkeypatch.setattr(licences.metadata, "metadata", lambda _: about)
    assert licences.licence("some", "1.0") == expected


def test_a_package_that_is_not_installed_keeps_its_row(
    licences: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> Message:
        raise licences.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(licences.metadata, "metadata", absent)
    assert licences.outdated() == []
