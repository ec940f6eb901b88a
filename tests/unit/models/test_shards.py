"""What models make of texts on disk: read as it was written, shared, interrupted and damaged."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models import encoder as encoding
from irtoolkit.models import shards
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.models.shards import Output, key_of, write_shard
from irtoolkit.models.store import Store

SMALL = 4
TEXTS = [f"text {'x ' * (i % 7)}number {i}" for i in range(23)]


# -- rows against plain lists -----------------------------------------------------------------


def stored(folder: Path, texts: list[str], lengths: list[int], outputs: list[Output], cuts: list[int]) -> Store:  # fmt: skip
    keys = [key_of(text) for text in texts]
    for a, b in pairwise(cuts):
        write_shard(folder, keys[a:b], np.array(lengths[a:b]), outputs[a:b])
    return Store(folder)


@pytest.mark.parametrize("text", ["a \ud800 b", "a \udfff"])
def test_half_a_surrogate_pair_is_no_text(text: str) -> None:
    with pytest.raises(InputError, match="half a surrogate pair at character 3 of the text 'a "):
        key_of(text)


# -- damage -----------------------------------------------------------------------------------


@pytest.fixture
def shard(tmp_path: Path) -> tuple[Path, list[bytes]]:
    keys = [key_of(str(i)) for i in range(3)]
    outputs = [(np.full((i, 2), i, np.float32), np.arange(i)) for i in range(3)]
    return write_shard(tmp_path / "store", keys, np.arange(3), outputs).path, keys


@pytest.mark.parametrize("bit", [1, 128])
def test_a_shard_with_any_byte_changed_is_not_used(shard: tuple[Path, list[bytes]], bit: int) -> None:  # fmt: skip
    """Arrow would follow some of them out of the file."""
    path, keys = shard
    sound = path.read_bytes()
    for at in range(0, len(sound), 1 if bit == 1 else 5):
        damaged = bytearray(sound)
        damaged[at] ^= bit
        path.write_bytes(damaged)
        assert not any(Store(path.parent).has(keys)), at
        assert not path.exists() or path.unlink() is None
    path.write_bytes(sound)
    assert all(Store(path.parent).has(keys))


def test_what_another_shard_holds_survives(shard: tuple[Path, list[bytes]]) -> None:
    path, keys = shard
    more = write_shard(path.parent, [key_of("more")], np.array([1]), [(np.ones((1, 2), np.float32), np.ones(1))])  # fmt: skip
    data = path.read_bytes()
    path.write_bytes(data[:-200] + bytes(200))
    store = Store(path.parent)
    assert store.has([*keys, key_of("more")]) == [False, False, False, True]
    assert list(path.parent.iterdir()) == [more.path]


def test_a_sound_shard_that_cannot_be_read_stays(
    shard: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many open files, say."""
    path, _ = shard

    def fails(*args: Any) -> Any:
        raise OSError("too many open files")

    monkeypatch.setattr(pa, "memory_map", fails)
    with pytest.raises(OSError, match="too many open files"):
        Store(path.parent)
    assert path.exists()


def test_two_chunks_that_lack_the_same_texts_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes the same texts between this one's writing and its renaming."""
    keys = [key_of("a"), key_of("b")]
    outputs = [(np.ones(2, np.float32),), (np.zeros(2, np.float32),)]

    def write(chunk: list[bytes]) -> Path:
        return write_shard(tmp_path, keys, np.array([1, 1]), outputs, chunk).path

    original, others = shards.sha256, []

    def between(path: Any) -> str:
        if not others:
            others.append(None)
            others[0] = write([*keys, key_of("c")])
        return original(path)

    monkeypatch.setattr(shards, "sha256", between)
    assert write([key_of("d"), *keys]) == others[0]
    assert list(tmp_path.iterdir()) == others
    assert all(Store(tmp_path).has(keys))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write") as caught:
        write_shard(tmp_path / "file", [key_of("a")], np.array([1]), [(np.ones(2, np.float32),)])
    assert caught.value.file == str(tmp_path / "file")


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shards, "sha256", full)
    with pytest.raises(InputError, match="cannot write: No space left on device"):
        write_shard(tmp_path, [key_of("a")], np.array([1]), [(np.ones(2, np.float32),)])
    assert not list(tmp_path.iterdir())


# -- an encoder over shards, with a model that counts -----------------------------------------


def vector(text: str) -> Any:
    digest = hashlib.sha256(text.encode()).digest()[:12]
    return np.frombuffer(digest, np.uint8).astype(np.float32) - 128


class Counting:
    """Stands for a loaded model; the encoder, its batches and its files are real."""

    device, similarity, separator = "cpu", "dot", None

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.seen: Counter[Any] = Counter()

    def lengths(self, items: Sequence[Any]) -> Any:
        return np.array([len(str(item).split()) for item in items])

    def __call__(self, items: Sequence[Any]) -> list[Output]:
        self.seen.update(items)
        return [(vector(str(item)),) for item in items]


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


def vectors_of(texts: Sequence[str]) -> list[list[float]]:
    return [vector(text).tolist() for text in texts]


def files(tmp_path: Path) -> dict[str, bytes]:
    """Everything below the cache, by its place."""
    home = tmp_path / "cache"
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def test_a_second_call_encodes_nothing(
    models: list[Counting], how: EncoderSettings, tmp_path: Path
) -> None:
    first = Encoder(how)
    assert first.encode(TEXTS).vectors().tolist() == vectors_of(TEXTS)
    assert models[0].seen == Counter(TEXTS)
    before = files(tmp_path)
    assert len(before) == -(-len(TEXTS) // SMALL)
    assert {Path(name).suffix for name in before} == {".arrow"}
    assert first.encode(TEXTS).digest() == Encoder(how).encode(TEXTS).digest()
    assert models[0].seen == Counter(TEXTS)
    assert not models[1].seen
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "cross"}, {"side": "query"}, {"pooling": "cls"}, {"length": 5},
        {"prompt": "query: "}, {"prompt": ""}, {"precision": "bf16"}, {"stored": "fp16"},
        {"stored": "int8"}, {"options": (("skiplist", False),)},
    ],
)  # fmt: skip
def test_other_parameters_are_other_vectors(models: list[Counting], how: EncoderSettings, change: Any, tmp_path: Path) -> None:  # fmt: skip
    Encoder(how).encode(TEXTS)
    Encoder(replace(how, **change)).encode(TEXTS)
    assert models[1].seen == Counter(TEXTS)
    assert len({Path(name).parent for name in files(tmp_path)}) == 2


def test_token_vectors_in_eight_bits(
    models: list[Counting], how: EncoderSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    tokens = {text: draw.normal(size=(i % 4, 8)).astype(np.float32) for i, text in enumerate(TEXTS)}
    tokens[TEXTS[5]][0] = 0
    monkeypatch.setattr(Counting, "__call__", lambda self, items: [(tokens[i],) for i in items])
    rows = Encoder(replace(how, kind="late", stored="int8")).encode(TEXTS)
    codes, begins = rows.ragged(0)
    scales, same = rows.ragged(1)
    assert (codes.dtype, scales.dtype) == (np.int8, np.float32)
    assert begins.tolist() == same.tolist() == np.cumsum([0, *map(len, tokens.values())]).tolist()
    exact = np.concatenate(list(tokens.values()))
    assert (np.abs(codes * scales[:, None] - exact) <= scales[:, None] / 2 + 1e-7).all()
    assert scales == pytest.approx(np.abs(exact).max(axis=1) / 127)


@pytest.mark.parametrize(
    ("stored", "bad"), [("fp32", np.nan), ("fp32", np.inf), ("fp16", 1e5), ("int8", np.nan)]
)
def test_numbers_that_are_not_finite_are_refused(
    models: list[Counting], how: EncoderSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    stored: Any, bad: float,
) -> None:  # fmt: skip
    """fp16 ends at 65,504. What was encoded before stays, and nothing else."""

    def broken(self: Any, items: Sequence[str]) -> list[Output]:
        worst = [bad if item == TEXTS[6] else 1 for item in items]
        return [(np.array([[1, value]], np.float32),) for value in worst]

    monkeypatch.setattr(Counting, "__call__", broken)
    with pytest.raises(InputError, match="makes numbers that are not finite of 'text") as caught:
        Encoder(replace(how, stored=stored)).encode(TEXTS)
    assert repr(TEXTS[6]) in str(caught.value)
    assert len(files(tmp_path)) == 1
    assert all(name.endswith(".arrow") for name in files(tmp_path))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(place: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * len(data))] ^= 0x10
        path.write_bytes(data)

    return damage


@pytest.mark.parametrize("damage", [cut_short, empty, Path.unlink, *map(flip, (0, 0.3, 0.6, 0.99))])
@pytest.mark.parametrize("which", [0, -1])
def test_a_damaged_shard_is_made_again(
    models: list[Counting],
    how: EncoderSettings,
    tmp_path: Path,
    damage: Callable[[Path], None],
    which: int,
) -> None:
    Encoder(how).encode(TEXTS)
    before = files(tmp_path)
    damage(tmp_path / "cache" / sorted(before)[which])
    again = Encoder(how).encode(TEXTS)
    assert again.vectors().tolist() == vectors_of(TEXTS)
    assert 0 < models[1].seen.total() <= SMALL
    assert files(tmp_path) == before


# -- processes --------------------------------------------------------------------------------


def test_a_lock_is_let_go_when_encoding_fails(models: list[Counting], how: EncoderSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def interrupted(self: Any, items: Sequence[str]) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Counting, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Encoder(how).encode(TEXTS)
    assert not files(tmp_path)
    assert Encoder(how).encode(TEXTS).vectors().tolist() == vectors_of(TEXTS)


def test_other_weights_are_other_vectors(models: list[Counting], how: EncoderSettings) -> None:
    Encoder(how).encode(TEXTS)
    Path(how.model, "config.json").write_text("{ }")
    Encoder(how).encode(TEXTS)
    assert models[1].seen == Counter(TEXTS)


def test_a_pair_is_not_another_pair_of_the_same_letters(
    models: list[Counting], how: EncoderSettings
) -> None:
    pairs = [("a", "b c"), ("a b", "c"), ("a", "b\x1fc"), ("a\x1fb", "c"), ("1 a", ""), ("", "1 a")]
    rows = Encoder(replace(how, kind="cross")).encode(pairs)
    assert rows.vectors().tolist() == vectors_of([str(pair) for pair in pairs])
    assert len(rows.distinct()[0]) == len(pairs)
