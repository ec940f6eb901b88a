"""Encoding by the workers of an engine: the shards are those of one process, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import Engine, using
from irtoolkit.models import encoder as encoding
from irtoolkit.models import parts
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.presets import Kind
from irtoolkit.models.spread import Chunk, Spread, Workers, chunked
from irtoolkit.models.store import Store
from tests.tiny import WORDS, save, save_colbert

DRAW = np.random.default_rng(3)
TEXTS = [" ".join(DRAW.choice(WORDS, size)) for size in DRAW.integers(1, 40, 45)] + [
    "",
    " ",
    "日本",
]
PAIRS = [(TEXTS[i], TEXTS[(7 * i) % len(TEXTS)]) for i in range(40)]
SIZE = 8


class Pickling(Engine):
    """Does all work in this process, on copies as another process would get them; an `Engine`.

    Args:
        last: number of the piece that fails, if any.
    """

    name = "pickling"

    def __init__(self, last: int = -1) -> None:
        self.given = 0
        self._last = last

    @property
    def workers(self) -> int:
        return 2

    def map(
        self,
        work: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[Any]:
        for item in items:
            if self.given == self._last:
                raise InputError("the worker is gone")
            self.given += 1
            done = cloudpickle.loads(cloudpickle.dumps(work))(
                cloudpickle.loads(cloudpickle.dumps(item))
            )
            yield cloudpickle.loads(cloudpickle.dumps(done))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoding, "SHARD", SIZE)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Path]:
    root = tmp_path_factory.mktemp("models")
    return {
        "dense": save(root / "dense"),
        "late": save_colbert(root / "late"),
        "sparse": save(root / "sparse", "BertForMaskedLM"),
        "cross": save(root / "cross", "BertForSequenceClassification", num_labels=1),
    }


def encoder(models: dict[Kind, Path], kind: Kind = "dense", **more: Any) -> Encoder:
    if kind == "dense":
        more = {"pooling": "mean", **more}
    return Encoder(EncoderSettings(str(models[kind]), kind, "document", device="cpu", **more))


def shards(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.rglob("*.arrow")}


@pytest.mark.parametrize(
    ("kind", "more"),
    [("dense", {}), ("dense", {"stored": "int8"}), ("late", {"stored": "fp16"}), ("sparse", {}), ("cross", {})],
)  # fmt: skip
def test_workers_make_the_bytes_of_one_process(
    models: dict[Kind, Path], home: Path, kind: Kind, more: dict[str, Any]
) -> None:
    items: Sequence[Any] = PAIRS if kind == "cross" else TEXTS
    first = encoder(models, kind, **more).encode(items)
    expected, digest = shards(home), first.digest()
    shutil.rmtree(home)
    with using(Pickling()) as engine:
        again = encoder(models, kind, **more).encode(items)
    assert engine.given == -(-len(items) // SIZE)  # type: ignore[attr-defined]
    assert shards(home) == expected
    assert again.digest() == digest
    assert not list(home.rglob("*.lock"))
    assert not list(home.rglob("*.parts"))


def test_blocks_are_encoded_ahead_as_one_by_one(models: dict[Kind, Path], home: Path) -> None:
    """Blocks have texts in common, which only the first of them encodes."""
    blocks = [TEXTS[:20], TEXTS[10:31], [TEXTS[40], *TEXTS[:3], TEXTS[40]], TEXTS[30:]]
    alone = encoder(models)
    for block in blocks:
        alone.encode(block)
    expected = shards(home)
    shutil.rmtree(home)
    with using(Pickling()):
        ahead = encoder(models)
        ahead.prepare(iter(blocks), what="texts", count=None)
        assert shards(home) == expected
        ahead.encode(TEXTS)
    assert shards(home) == expected


def test_what_is_complete_is_kept_when_a_worker_fails(models: dict[Kind, Path], home: Path) -> None:
    encoder(models).encode(TEXTS)
    expected = shards(home)
    shutil.rmtree(home)
    with using(Pickling(last=3)), pytest.raises(InputError, match="gone"):
        encoder(models).encode(TEXTS)
    kept = shards(home)
    assert len(kept) == 3
    assert kept.items() <= expected.items()
    assert not list(home.rglob("*.lock"))
    with using(Pickling()) as engine:
        encoder(models).encode(TEXTS)
    assert engine.given == len(expected) - 3  # type: ignore[attr-defined]
    assert shards(home) == expected


def test_a_chunk_that_another_process_is_at_is_put_off(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    every = list(chunked(TEXTS, SIZE, lambda _: None))
    made: list[Chunk] = []
    workers = Workers(Pickling(), refuse, lambda chunk, locked: made.append(chunk), 0.0)
    with store.locked(every[1].keys, wait=False) as mine:
        assert mine
        assert Spread(store, workers, lambda _: None)(every[:2]) == [every[1]]
    assert made == [every[0]]
    assert not list(store.folder.glob("*.lock"))


def refuse() -> Callable[[bytes], bytes]:
    raise AssertionError("a worker starts")


def test_a_worker_with_other_weights_is_refused(models: dict[Kind, Path]) -> None:
    how = EncoderSettings(str(models["dense"]), "dense", "document", pooling="mean")
    with pytest.raises(InputError, match="others here than where the command was started"):
        encoding._WorkerEncoding(how, "another store")(b"")


@pytest.mark.parametrize(("kind", "ends"), [("dense", 2), ("late", 3), ("sparse", 2)])
def test_an_interrupted_chunk_continues_with_the_same_bytes(
    models: dict[Kind, Path], home: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, ends: int
) -> None:
    monkeypatch.setattr(encoding, "SHARD", len(TEXTS))
    encoder(models, kind, batch_tokens=100).encode(TEXTS)
    expected = shards(home)
    shutil.rmtree(home)
    monkeypatch.setattr(parts, "_SECONDS", 0.0)
    interrupted = encoder(models, kind, batch_tokens=100)
    applied: list[str] = []
    watched(monkeypatch, interrupted, applied, ends)
    with pytest.raises(KeyboardInterrupt):
        interrupted.encode(TEXTS)
    before = list(applied)
    (folder,) = home.rglob("*.parts")
    assert len(list(folder.iterdir())) >= ends
    damaged = min(folder.iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")  # its texts are encoded again
    again = encoder(models, kind, batch_tokens=100)
    watched(monkeypatch, again, applied, 1000)
    again.encode(TEXTS)
    assert shards(home) == expected
    assert not list(home.rglob("*.parts"))
    assert len(before) < len(applied) < len(before) + len(set(TEXTS))


def watched(
    monkeypatch: pytest.MonkeyPatch, encoder: Encoder, applied: list[str], ends: int
) -> Any:
    """Takes note of what an encoder's model is applied to; Ctrl-C comes after so many batches."""
    batches = encoder._batches
    bear, count = batches._bear, iter(range(1000))

    def noted(items: Any, longest: int) -> Any:
        if next(count) >= ends:
            raise KeyboardInterrupt
        applied.extend(items)
        return bear(items, longest)

    monkeypatch.setattr(batches, "_bear", noted)
    return encoder._model
