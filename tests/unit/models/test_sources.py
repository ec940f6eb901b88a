"""The table of weights in packages, and what pip, uv and npm are configured with."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models import registry_settings as configured
from irtoolkit.models.presets import find_preset, missing_weights, presets, source_of
from irtoolkit.models.sources import sources
from irtoolkit.training.word_files import fetched_vectors, word_source

SHA = re.compile(r"[0-9a-f]{64}")


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PIP_", "UV_", "NPM_", "npm_", "XDG_", "REQUESTS_", "SSL_")
    for name in [each for each in os.environ if each.startswith(names)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", sorted(sources()))
def test_a_source_is_whole(name: str) -> None:
    source = sources()[name]
    if source.kind == "words":
        assert source.licence
        assert source.source
    else:
        assert presets()[name].licence != "not stated"
    for held in (*source.packages, *source.files.values()):
        assert SHA.fullmatch(held.sha256)
        assert held.bytes > 0
    for place in (*source.files, *(source.written or {})):
        assert not Path(place).is_absolute()
        assert ".." not in Path(place).parts
    assert bool(source.joined) == all(package.part for package in source.packages)


def test_the_weights_of_mpnet_are_those_of_the_hub() -> None:
    file = sources()["all-mpnet-base-v2"].files["model.safetensors"]
    assert file.sha256 == "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def test_a_preset_without_its_weights_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = str(missing_weights(find_preset("gte-small")))
    assert "run `irtoolkit models --fetch gte-small` (161 MB)" in said
    assert source_of(find_preset("gte-small")) is not None
    assert source_of(find_preset("gte-small", "other/weights")) is None


def test_indexes_of_pip_and_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert configured.pypi_indexes()[0] == configured.PYPI or Path("/etc/pip.conf").exists()
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://one/simple/\nextra-index-url = https://two https://three\n"
        "cert = /certs.pem\n"
    )
    (tmp_path / ".config" / "uv").mkdir(parents=True)
    (tmp_path / ".config" / "uv" / "uv.toml").write_text('[[index]]\nurl = "https://uv"\n')
    found = configured.pypi_indexes()
    assert found[:4] == ["https://one/simple", "https://two", "https://three", "https://uv"]
    assert configured.certificates() == "/certs.pem"
    monkeypatch.setenv("UV_INDEX", "named=https://four https://five")
    assert configured.pypi_indexes()[1:3] == ["https://four", "https://five"]
    monkeypatch.setenv("PIP_INDEX_URL", "https://first/")
    assert configured.pypi_indexes()[0] == "https://first"


def test_the_registry_of_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert configured.npm_registry("left") == configured.NPM
    monkeypatch.setenv("TOKEN", "abc")
    (tmp_path / ".npmrc").write_text(
        "; mine\nregistry=https://mirror/npm/\n@own:registry = https://own\n"
        "//mirror/npm/:_authToken=${TOKEN}\n"
    )
    assert configured.npm_registry("left") == "https://mirror/npm"
    assert configured.npm_registry("@own/left") == "https://own"
    assert configured.npm_token("https://mirror/npm/left") == "abc"
    assert configured.npm_token("https://own/left") is None
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://named")
    assert configured.npm_registry("left") == "https://named"


def test_word_vectors_by_name(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert word_source(str(tmp_path / "glove.txt")) is None
    with pytest.raises(InputError, match="irtoolkit models --fetch GloVe-6B-50d"):
        word_source("GloVe-6B-50d")
    folder = sources()["GloVe-6B-50d"].folder
    folder.mkdir(parents=True)
    table = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(4, 3))
    np.save(folder / "vectors.npy", table)
    pq.write_table(pa.table({"index": ["sea", "the", "whale", "sea"]}), folder / "words.parquet")
    source = word_source("GloVe-6B-50d")
    assert source is not None
    found = fetched_vectors(source, {"whale", "sea", "ship"})
    assert {word: list(vector) for word, vector in found.items()} == {
        "sea": [0, 1, 2], "whale": [6, 7, 8],
    }  # fmt: skip
    with pytest.raises(InputError, match="has none of the 1 words"):
        fetched_vectors(source, {"ship"})
