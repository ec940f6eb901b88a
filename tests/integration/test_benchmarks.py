"""The scripts that measure know the library; what they found is in benchmarks/results."""

from __future__ import annotations

import importlib
import os
import sys
from unittest.mock import patch

import pytest

from tests.conftest import ROOT
from tests.each import each

FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


@each("name", SCRIPTS)
def test_a_script_can_be_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    try:
        with patch.dict(os.environ):  # a script may set its own environment
            importlib.import_module(name)
    finally:
        for script in SCRIPTS:
            sys.modules.pop(script, None)
