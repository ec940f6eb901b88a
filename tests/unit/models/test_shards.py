"""What models make of texts on disk: read as it was written, shared, interrupted and damaged."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.models import encoder as encoding
from irtoolkit.models import shards
from irtoolkit.models.encoder import Encoder, How
from irtoolkit.models.shards import KEY_BYTES, Output, Rows, Store, key_of, write_shard

SMALL = 4
TEXTS = [f"text {'x ' * (i % 7)}number {i}" for i in range(23)]


# -- rows against plain lists -----------------------------------------------------------------


def numbers(*shape: int) -> Any:
    size = int(np.prod(shape))
    return st.lists(st.floats(-9, 9, width=32), min_size=size, max_size=size).map(
        lambda values: np.array(values, np.float32).reshape(shape)
    )


@st.composite
def made(draw: Any) -> tuple[list[str], list[int], list[Output], list[int]]:
    """Texts, their tokens, what a model made of each, and where one shard ends and one begins."""
    texts = draw(st.lists(st.text(max_size=5), min_size=1, max_size=12, unique=True))
    width = draw(st.integers(1, 3))
    form = draw(st.sampled_from(["one vector", "a vector a token", "terms"]))
    outputs: list[Output] = []
    for _ in texts:
        count = draw(st.integers(0, 3))
        if form == "one vector":
            outputs.append((draw(numbers(width)),))
        elif form == "a vector a token":
            outputs.append((draw(numbers(count, width)), draw(numbers(count))))
        else:
            outputs.append((np.arange(count, dtype=np.int32), draw(numbers(count))))
    lengths = draw(st.lists(st.integers(0, 99), min_size=len(texts), max_size=len(texts)))
    cuts = draw(st.sets(st.integers(1, len(texts)), max_size=3))
    return texts, lengths, outputs, sorted({0, len(texts), *cuts})


def stored(folder: Path, texts: list[str], lengths: list[int], outputs: list[Output], cuts: list[int]) -> Store:  # fmt: skip
    keys = [key_of(text) for text in texts]
    for a, b in pairwise(cuts):
        write_shard(folder, keys[a:b], np.array(lengths[a:b]), outputs[a:b])
    return Store(folder)


@settings(max_examples=60)
@given(made(), st.data())
def test_rows_are_what_was_written(given: Any, data: Any) -> None:
    texts, lengths, outputs, _ = given
    asked = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=20))
    with tempfile.TemporaryDirectory() as folder:
        store = stored(Path(folder) / "vectors", *given)
        keys = [key_of(texts[i]) for i in asked]
        assert store.has(keys) == [True] * len(asked)
        assert store.has([key_of("elsewhere" * 9), *keys])[0] is False
        rows = store.rows(keys)
        assert len(rows) == len(asked)
        check(rows, asked, lengths, outputs)
        chosen = data.draw(st.lists(st.integers(0, len(asked) - 1), max_size=9) if asked else st.just([]))  # fmt: skip
        check(rows[np.array(chosen, int)], [asked[i] for i in chosen], lengths, outputs)
        distinct, which = rows.distinct()
        first = list(dict.fromkeys(asked))
        check(distinct, first, lengths, outputs)
        assert [first[i] for i in which] == asked


def check(rows: Rows, asked: list[int], lengths: list[int], outputs: list[Output]) -> None:
    assert rows.lengths.tolist() == [lengths[i] for i in asked]
    assert rows.counts.tolist() == [outputs[i][0].shape[0] for i in asked]
    if outputs[0][0].ndim == 1 and len(outputs[0]) == 1:
        vectors = rows.vectors()
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [outputs[i][0].tolist() for i in asked]
    for number in range(len(outputs[0])):
        flat, begins = rows.ragged(number)
        assert len(begins) == len(asked) + 1
        assert begins[0] == 0
        for at, i in enumerate(asked):
            part = flat[begins[at] : begins[at + 1]]
            assert part.dtype == outputs[i][number].dtype
            assert part.tolist() == outputs[i][number].tolist()
        assert begins[-1] == len(flat)


@settings(max_examples=30)
@given(made(), st.randoms())
def test_a_digest_is_of_texts_in_order_whatever_shard_they_are_in(given: Any, random: Any) -> None:
    texts, lengths, outputs, cuts = given
    keys = [key_of(text) for text in texts]
    with tempfile.TemporaryDirectory() as home:
        one = stored(Path(home) / "a" / "same", texts, lengths, outputs, cuts).rows(keys)
        order = random.sample(range(len(texts)), len(texts))
        mixed = [[part[i] for i in order] for part in (texts, lengths, outputs)]
        two = stored(Path(home) / "b" / "same", *mixed, [0, len(texts)]).rows(keys)
        assert one.digest() == two.digest()
        other = stored(Path(home) / "another", texts, lengths, outputs, cuts).rows(keys)
        assert other.digest() != one.digest()
        assert one[np.arange(len(texts) - 1)].digest() != one.digest()
        if len(texts) > 1:
            assert one[np.arange(len(texts))[::-1]].digest() != one.digest()


def test_a_key_is_of_the_text_alone() -> None:
    texts = ["", " ", "a", "A", "a ", "ä", "a\u0308", "\x00", "日本"]
    assert len({key_of(text) for text in texts}) == len(texts)
    assert {len(key_of(text)) for text in texts} == {KEY_BYTES}
    assert key_of("ä") == hashlib.blake2b("ä".encode(), digest_size=KEY_BYTES).digest()


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


def test_a_shard_cut_anywhere_is_not_used(shard: tuple[Path, list[bytes]]) -> None:
    path, keys = shard
    sound = path.read_bytes()
    for size in range(0, len(sound), 3):
        path.write_bytes(sound[:size])
        assert not any(Store(path.parent).has(keys))
        assert not path.exists()


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

    def apply(*args: Any, limit: int | None = None, **how: Any) -> Counting:
        loaded.append(Counting(limit))
        return loaded[-1]

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoding, "apply", apply)
    monkeypatch.setattr(encoding, "SHARD", SMALL)
    return loaded


@pytest.fixture
def how(tmp_path: Path, models: list[Counting]) -> How:
    return How(str(tmp_path / "model"), "dense", "document")


def vectors_of(texts: Sequence[str]) -> list[list[float]]:
    return [vector(text).tolist() for text in texts]


def files(tmp_path: Path) -> dict[str, bytes]:
    """Everything below the cache, by its place."""
    home = tmp_path / "cache"
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def test_a_second_call_encodes_nothing(models: list[Counting], how: How, tmp_path: Path) -> None:
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


def test_a_text_is_encoded_once_however_often_it_occurs(models: list[Counting], how: How) -> None:
    twice = [*TEXTS[:9], *TEXTS[:9][::-1], TEXTS[3], TEXTS[3]]
    rows = Encoder(how).encode(iter(twice))
    assert models[0].seen == Counter(TEXTS[:9])
    assert rows.vectors().tolist() == vectors_of(twice)
    distinct, which = rows.distinct()
    assert len(distinct) == 9
    assert [TEXTS[i] for i in which] == twice


def test_the_order_of_texts_is_no_part_of_what_they_are(models: list[Counting], how: How) -> None:
    Encoder(how).encode(TEXTS)
    mixed = random.Random(5).sample(TEXTS, len(TEXTS))
    again = Encoder(how)
    assert again.encode(mixed).vectors().tolist() == vectors_of(mixed)
    assert again.encode(TEXTS[::3]).vectors().tolist() == vectors_of(TEXTS[::3])
    assert not models[1].seen


def test_new_texts_alone_are_encoded(models: list[Counting], how: How) -> None:
    Encoder(how).encode(TEXTS[:10])
    found = Encoder(how).encode(TEXTS)
    assert models[1].seen == Counter(TEXTS[10:])
    assert found.vectors().tolist() == vectors_of(TEXTS)


def test_no_texts_are_no_vectors(models: list[Counting], how: How) -> None:
    rows = Encoder(how).encode([])
    assert (len(rows), rows.vectors().size, rows.lengths.size) == (0, 0, 0)
    assert rows.digest() == Encoder(how).encode([]).digest()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "cross"}, {"side": "query"}, {"pooling": "cls"}, {"length": 5},
        {"prompt": "query: "}, {"prompt": ""}, {"precision": "bf16"}, {"stored": "fp16"},
        {"stored": "int8"}, {"options": (("skiplist", False),)},
    ],
)  # fmt: skip
def test_other_parameters_are_other_vectors(models: list[Counting], how: How, change: Any, tmp_path: Path) -> None:  # fmt: skip
    Encoder(how).encode(TEXTS)
    Encoder(replace(how, **change)).encode(TEXTS)
    assert models[1].seen == Counter(TEXTS)
    assert len({Path(name).parent for name in files(tmp_path)}) == 2


@pytest.mark.parametrize("change", [{"device": "cpu"}, {"batch_tokens": 3}, {"precision": "fp32"}])
def test_what_moves_no_vector_shares_them(models: list[Counting], how: How, change: Any) -> None:
    Encoder(how).encode(TEXTS)
    Encoder(replace(how, **change)).encode(TEXTS)
    assert not models[1].seen


def test_other_weights_are_other_vectors(models: list[Counting], how: How) -> None:
    Encoder(how).encode(TEXTS)
    Path(how.model, "config.json").write_text("{ }")
    Encoder(how).encode(TEXTS)
    assert models[1].seen == Counter(TEXTS)


def test_a_pair_is_not_another_pair_of_the_same_letters(models: list[Counting], how: How) -> None:
    pairs = [("a", "b c"), ("a b", "c"), ("a", "b\x1fc"), ("a\x1fb", "c"), ("1 a", ""), ("", "1 a")]
    rows = Encoder(replace(how, kind="cross")).encode(pairs)
    assert rows.vectors().tolist() == vectors_of([str(pair) for pair in pairs])
    assert len(rows.distinct()[0]) == len(pairs)


def test_half_precision_on_disk(models: list[Counting], how: How, tmp_path: Path) -> None:
    Encoder(how).encode(TEXTS)
    whole = sum(map(len, files(tmp_path).values()))
    found = Encoder(replace(how, stored="fp16")).encode(TEXTS).vectors()
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(vectors_of(TEXTS)), rel=1e-3)
    assert sum(map(len, files(tmp_path).values())) - whole < whole


def test_token_vectors_in_eight_bits(
    models: list[Counting], how: How, monkeypatch: pytest.MonkeyPatch
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
    models: list[Counting], how: How, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
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
    models: list[Counting], how: How, tmp_path: Path, damage: Callable[[Path], None], which: int
) -> None:
    Encoder(how).encode(TEXTS)
    before = files(tmp_path)
    damage(tmp_path / "cache" / sorted(before)[which])
    again = Encoder(how).encode(TEXTS)
    assert again.vectors().tolist() == vectors_of(TEXTS)
    assert 0 < models[1].seen.total() <= SMALL
    assert files(tmp_path) == before


# -- processes --------------------------------------------------------------------------------

PROCESS = """
import hashlib, json, os, signal, sys, time
from pathlib import Path
import numpy as np
from irtoolkit.models import encoder as encoding, shards
from irtoolkit.models.encoder import Encoder, How

asked = json.load(sys.stdin)
encoded = []

class Model:
    device, similarity, separator, limit = "cpu", "dot", None, None
    def lengths(self, items):
        return np.array([len(item.split()) for item in items])
    def __call__(self, items):
        encoded.extend(items)
        time.sleep(0.002)
        found = (hashlib.sha256(item.encode()).digest()[:12] for item in items)
        return [(np.frombuffer(digest, np.uint8).astype(np.float32) - 128,) for digest in found]

encoding.apply = lambda *args, **how: Model()
encoding.SHARD = asked["shard"]
die, when = asked["die"]
written, original = [], shards.sha256

def dying(path):
    # A shard's temporary file is written, and is not yet a shard.
    if len(written) == die and when == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
    return original(path)

def write(*args):
    made = original_write(*args)
    written.append(made)
    if len(written) == die and when == "written":
        os.kill(os.getpid(), signal.SIGKILL)
    return made

shards.sha256, original_write, encoding.write_shard = dying, encoding.write_shard, write
made = Encoder(How(asked["model"], "dense", "document", batch_tokens=8))
Path(asked["here"], str(os.getpid())).touch()
while len(list(Path(asked["here"]).iterdir())) < asked["many"]:
    time.sleep(0.01)
rows = made.encode(asked["texts"])
print(json.dumps({
    "encoded": encoded, "digest": rows.digest(), "vectors": rows.vectors().tolist(),
    "lengths": rows.lengths.tolist(),
}))
"""


@pytest.fixture
def start(how: How, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that encodes texts as this one would, once so many others do."""
    running: list[subprocess.Popen[str]] = []
    (tmp_path / "here").mkdir()

    def begin(texts: list[str], many: int = 1, die: tuple[int, str] = (-1, "")) -> subprocess.Popen[str]:  # fmt: skip
        asked = {
            "texts": texts, "model": how.model, "shard": SMALL, "many": many, "die": die,
            "here": str(tmp_path / "here"),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-c", PROCESS], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        running.append(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        process.stdin = None
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
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
    models: list[Counting], how: How, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:  # fmt: skip
    """Not a shard is lost, and the files are those of a run that nobody killed."""
    die = random.Random(when).randrange(1, len(TEXTS) // SMALL)
    process = start(TEXTS, die=(die, when))
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
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


def test_two_processes_share_the_work(models: list[Counting], how: How, start: Any, tmp_path: Path) -> None:  # fmt: skip
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
    assert {Path(name).suffix for name in files(tmp_path)} == {".arrow"}
    assert Counter(keys_in(tmp_path)) == Counter(map(key_of, many))


def test_three_processes_with_lists_that_overlap(models: list[Counting], how: How, start: Any, tmp_path: Path) -> None:  # fmt: skip
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
    assert {Path(name).suffix for name in files(tmp_path)} == {".arrow"}


def test_a_lock_is_let_go_when_encoding_fails(models: list[Counting], how: How, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def interrupted(self: Any, items: Sequence[str]) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Counting, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Encoder(how).encode(TEXTS)
    assert not files(tmp_path)
    assert Encoder(how).encode(TEXTS).vectors().tolist() == vectors_of(TEXTS)
