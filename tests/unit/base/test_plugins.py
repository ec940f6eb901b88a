"""Plugins: found by their entry points, imported when asked for, never breaking one another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package with entry points and one module on the path."""

    def put(package: str, entries: dict[str, str], code: str = "", group: str = "") -> None:
        home = tmp_path / package
        info = home / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text(
            "\n".join([f"[{group or plugins.RETRIEVERS}]", *lines, ""])
        )
        (home / f"{package.replace('-', '_')}.py").write_text(code)
        monkeypatch.syspath_prepend(str(home))
        plugins.of_group.cache_clear()

    yield put
    for name in [name for name in sys.modules if name.startswith("brings_")]:
        del sys.modules[name]
    plugins.of_group.cache_clear()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('no\\nluck')", "ValueError: no luck"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named"),
        ("other = 1", "AttributeError: module 'brings_bad' has no attribute 'value'"),
    ],
)
def test_a_plugin_that_cannot_be_imported_names_its_package(
    install: Install, code: str, reason: str
) -> None:
    install("brings-bad", {"bad": "brings_bad:value"}, code)
    with pytest.raises(InputError) as caught:
        plugins.of_group(plugins.RETRIEVERS)["bad"].load()
    assert caught.value.found.startswith(
        f"the retriever 'bad' of the package brings-bad cannot be imported: {reason}"
    )
    assert caught.value.remedy == "upgrade or uninstall brings-bad"


def test_a_name_that_two_packages_declare_is_refused(install: Install) -> None:
    install("brings-one", {"same": "brings_one:value"}, "value = 1")
    install("brings-two", {"same": "brings_two:value"}, "value = 2")
    with pytest.raises(InputError) as caught:
        plugins.of_group(plugins.RETRIEVERS)["same"].load()
    assert "the retriever 'same' is declared by brings-" in caught.value.found
    assert " and brings-" in caught.value.found
