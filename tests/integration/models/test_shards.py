"""Processes that encode the same texts: work is shared, and a killed process loses no shard."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from irtoolkit.models import encoder as encoding
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.models.shards import key_of
from tests import sharing
from tests.unit.models.test_shards import SMALL, TEXTS, Counting, files, vectors_of
from tests.waiting import PATIENCE


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Counting]:
    """Every model that has been loaded; shards are small, and the cache is this test's own."""
    loaded: list[Counting] = []

    def apply(location: str, kind: Kind, side: Side, settings: AdapterSettings) -> Counting:
        loaded.append(Counting(settings.limit))
        return loaded[-1]

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoding, "load_adapter", apply)
    monkeypatch.setattr(encoding, "SHARD", SMALL)
    return loaded


@pytest.fixture
def how(tmp_path: Path, models: list[Counting]) -> EncoderSettings:
    return EncoderSettings(str(tmp_path / "model"), "dense", "document")


@dataclass(frozen=True)
class Started:
    """A process that encodes, and the file that says what it has done."""

    process: BaseProcess
    done: Path

    def exit_code(self) -> int | None:
        self.process.join(PATIENCE)
        return self.process.exitcode


@pytest.fixture
def start(how: EncoderSettings, tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts a process that encodes texts as this one would, once so many others do.

    All are forks of one process that has imported what they need.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.sharing"])
    running: list[BaseProcess] = []
    (tmp_path / "here").mkdir()

    def begin(texts: list[str], many: int = 1, die: tuple[int, str] = (-1, "")) -> Started:
        asked = {
            "texts": texts, "model": how.model, "shard": SMALL, "many": many, "die": die,
            "here": str(tmp_path / "here"), "done": str(tmp_path / f"done-{len(running)}"),
            "environment": dict(os.environ),
        }  # fmt: skip
        process = context.Process(target=sharing.encode, args=(asked,), daemon=True)
        process.start()
        running.append(process)
        return Started(process, Path(str(asked["done"])))

    yield begin
    for process in running:
        process.kill()
        process.join()


def said(started: Started) -> dict[str, Any]:
    assert started.exit_code() == 0
    found: dict[str, Any] = json.loads(started.done.read_text())
    return found


def keys_in(tmp_path: Path) -> list[bytes]:
    """The key of every row of every shard."""
    found = []
    for path in (tmp_path / "cache").rglob("*.arrow"):
        with pa.memory_map(str(path)) as source:
            found += pa.ipc.open_file(source).read_all()["key"].to_pylist()
    return found


@pytest.mark.parametrize("when", ["writing", "written"])
def test_who_is_killed_goes_on(
    models: list[Counting], how: EncoderSettings, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:  # fmt: skip
    """Not a shard is lost, and the files are those of a run that nobody killed."""
    die = random.Random(when).randrange(1, len(TEXTS) // SMALL)
    assert start(TEXTS, die=(die, when)).exit_code() == -signal.SIGKILL
    left = files(tmp_path)
    assert sum(name.endswith(".arrow") for name in left) == die
    assert sum(name.endswith(".tmp") for name in left) == (when == "writing")
    assert any(name.endswith(".lock") for name in left)
    rows = Encoder(how).encode(TEXTS)
    assert rows.vectors().tolist() == vectors_of(TEXTS)
    assert models[0].seen == Counter(TEXTS[die * SMALL :])
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "unbroken" / "cache"))
    Encoder(how).encode(TEXTS)
    found, unbroken = files(tmp_path), files(tmp_path / "unbroken")
    # Who is killed when all is done but for letting the lock go leaves the lock, which is empty.
    assert [data for name, data in found.items() if name not in unbroken] == [b""] * (when == "written")  # fmt: skip
    assert {name: found[name] for name in unbroken} == unbroken


def test_two_processes_share_the_work(models: list[Counting], how: EncoderSettings, start: Any, tmp_path: Path) -> None:  # fmt: skip
    """Each text is encoded by one of them, and both have all."""
    many = [f"{text} {i}" for text in TEXTS for i in range(5)]
    one, two = (said(process) for process in [start(many, 2), start(many, 2)])
    assert Counter(one["encoded"] + two["encoded"]) == Counter(many)
    assert one["encoded"]
    assert two["encoded"]
    assert one["vectors"] == two["vectors"] == vectors_of(many)
    assert one["lengths"] == two["lengths"]
    assert one["digest"] == two["digest"] == Encoder(how).encode(many).digest()
    assert not models[0].seen
    assert {Path(name).suffix for name in files(tmp_path)} <= {".arrow", ".keys"}
    assert Counter(keys_in(tmp_path)) == Counter(map(key_of, many))


def test_three_processes_with_lists_that_overlap(models: list[Counting], how: EncoderSettings, start: Any, tmp_path: Path) -> None:  # fmt: skip
    """A text may be encoded by two at once; each has what it asked for, and nothing is left over."""
    draw = random.Random(11)
    lists = [draw.sample(TEXTS, 15) for _ in range(3)]
    for asked, found in zip(lists, map(said, [start(part, 3) for part in lists]), strict=True):
        assert found["vectors"] == vectors_of(asked)
        assert set(found["encoded"]) <= set(asked)
        assert len(set(found["encoded"])) == len(found["encoded"])
    union = sorted({text for part in lists for text in part})
    assert Encoder(how).encode(union).vectors().tolist() == vectors_of(union)
    assert not models[0].seen
    assert {Path(name).suffix for name in files(tmp_path)} <= {".arrow", ".keys"}
