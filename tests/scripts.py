"""Scripts of benchmarks as the command line calls them, in this process, which may have imported what they use."""

from __future__ import annotations

import importlib
import sys

import pytest

from tests.conftest import ROOT


def run_benchmark(name: str, *words: object) -> None:
    """Calls main of a script of benchmarks with some arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        patch.setattr(sys, "argv", [f"{name}.py", *map(str, words)])
        importlib.import_module(name).main()
