"""Datasets from other packages: registered beside irtoolkit's own, and never in their way."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import ir_datasets
import pytest

import irtoolkit.datasets
from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.local.registering import register_collection

GOOD = """
from ir_datasets import Dataset
from ir_datasets.formats import GenericDoc
from irtoolkit.datasets.handlers import DocsHandler

def register(add):
    docs = {"d1": GenericDoc("d1", "a text")}
    add("brings/good", Dataset(DocsHandler(lambda: docs, GenericDoc, "brings", "en")))
"""
# The id is taken, so ir_datasets refuses it.
TWICE = GOOD.replace("brings/good", "csfcube")
BROKEN = "def register(add): raise ValueError('no\\nluck')"

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package on the path whose one module registers datasets."""
    before = dataset_ids()

    def put(package: str, code: str) -> None:
        home, module = tmp_path / package, package.replace("-", "_")
        info = home / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[{plugins.DATASETS}]\n{package} = {module}:register\n"
        )
        (home / f"{module}.py").write_text(code)
        monkeypatch.syspath_prepend(str(home))
        plugins.of_group.cache_clear()

    yield put
    for name in set(dataset_ids()) - set(before):
        irtoolkit.datasets._registered.remove(name)
        ir_datasets.registry._registered.pop(name)
    for name in [name for name in sys.modules if name.startswith("brings_")]:
        del sys.modules[name]
    plugins.of_group.cache_clear()


def test_the_ids_of_other_packages_are_taken(install: Install, tmp_path: Path) -> None:
    install("brings-good", GOOD)
    irtoolkit.datasets._register_plugins()
    with pytest.raises(InputError, match="the id brings/good is another package's"):
        register_collection("brings/good", tmp_path)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (BROKEN, "cannot be registered: ValueError: no luck"),
        (TWICE, "cannot be registered: RuntimeError: "),
        ("import nothing_of_this_name", "cannot be imported: ModuleNotFoundError: "),
        ("register = 3", "cannot be registered: TypeError: "),
    ],
)
def test_a_broken_package_warns_in_one_line_and_breaks_no_other(
    install: Install, caplog: pytest.LogCaptureFixture, code: str, reason: str
) -> None:
    install("brings-bad", code)
    install("brings-good", GOOD)
    before = ir_datasets.load("csfcube")
    with caplog.at_level(logging.WARNING):
        irtoolkit.datasets._register_plugins()
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith(f"the dataset 'brings-bad' of the package brings-bad {reason}")
    assert message.endswith("(upgrade or uninstall brings-bad)")
    assert "\n" not in message
    assert "brings/good" in dataset_ids()
    assert ir_datasets.load("csfcube") is before
