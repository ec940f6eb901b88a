"""Indexes whose columns were changed and sealed anew: refused, or they still find documents with texts."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.indexes.manifest import Manifest, seal
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.conftest import EXAMPLES
from tests.integration.indexes.test_kinds import DOCS, QUERIES, WORD, models

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "postings": ("bm25", {}),
    "likelihood": ("ql", {}),
    "sparse": ("sparse", {}),
    "dense": ("dense", {"stored": "int8"}),
    "hnsw": ("faiss", {"index": "hnsw", "similarity": "l2"}),
    "late": ("late", {}),
    "plaid": ("plaid", {"centroids": 8}),
}
Mutation = Callable[[Any], Any]


def _with(at: int, value: Any) -> Mutation:
    def changed(column: Any) -> Any:
        made = column.copy()
        made.reshape(-1)[at] = value
        return made

    return changed


MUTATIONS: dict[str, Mutation] = {
    "zeros": np.zeros_like,
    "reversed": lambda column: column[::-1].copy(),
    "one more each": lambda column: column + np.ones((), column.dtype),
    "last is huge": _with(-1, 100),
    "middle is huge": lambda column: _with(column.size // 2, 120)(column),
    "first is greater": _with(0, 90),
    "all alike": lambda column: np.full_like(column, column.reshape(-1)[-1]),
    "shorter": lambda column: column[:-1].copy(),
    "longer": lambda column: np.concatenate([column, column[-1:]]),
    "empty": lambda column: column[:0].copy(),
    "of floats": lambda column: column.astype(np.float64) + 0.5,
    "of text": lambda column: column.astype("U8"),
    "a column": lambda column: column.reshape(-1, 1),
    "one number": lambda column: np.array(7, column.dtype),
}  # fmt: skip
# Numbers and values that random changes put in place of others.
NUMBERS = (-1, 0, 1, 2, 7, 127, 255, 2**31 - 1, 2**40, 1e38, -1e38, 1e-45, np.nan, np.inf)
VALUES: tuple[Any, ...] = (None, -1, 0, 1, 2**40, 1.5, "", "x", "../x", [], {}, [1], True)
# Random changes of an index of each kind.
CASES = 60 * max(1, EXAMPLES // 40)
__all__ = ["models"]


@pytest.mark.parametrize("kind", KINDS)
def test_changed_columns_are_refused_or_harmless(
    kind: str, models: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    name, settings = KINDS[kind]
    whole = tmp_path / "whole"
    ir.index(ir.load(DOCS), name, whole, progress=False, **{**models.get(name, {}), **settings})
    columns = sorted((whole / "shards").glob("*/*.npy"))
    assert len(columns) > 3
    wrong = []
    for column in columns:
        for said, mutate in MUTATIONS.items():
            place = tmp_path / "changed"
            shutil.copytree(whole, place)
            file = place / column.relative_to(whole)
            np.save(file, mutate(np.load(file)))
            resealed(place)
            found = outcome(place)
            if found:
                wrong.append(f"{file.name}: {said}: {found}")
            shutil.rmtree(place)
    assert not wrong, "\n".join(wrong)


def test_changed_texts_are_refused(tmp_path: Path) -> None:
    ir.index(ir.load(DOCS), "bm25", tmp_path / "index", progress=False)
    for name in ("ids.bin", "texts.bin", "terms.bin"):
        [file] = (tmp_path / "index" / "shards").glob(f"*/{name}")
        before = file.read_bytes()
        for changed in (before[:-1], before + b"x", b""):
            file.write_bytes(changed)
            resealed(tmp_path / "index")
            with pytest.raises(InputError, match="offsets do not ascend"):
                ir.open_index(tmp_path / "index").search(QUERIES[0])
        file.write_bytes(before)


@pytest.mark.parametrize("kind", KINDS)
def test_random_changes_are_refused_or_harmless(
    kind: str, models: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of columns, bytes of any file and values of the manifest, with right checksums."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    name, settings = KINDS[kind]
    whole, changed = tmp_path / "whole", tmp_path / "changed"
    ir.index(ir.load(DOCS), name, whole, progress=False, **{**models.get(name, {}), **settings})
    files = [path for path in sorted(whole.rglob("*.*")) if path.name != "shard.json"]
    draw = random.Random(kind)
    raised = []
    for _ in range(CASES):
        shutil.copytree(whole, changed)
        file = changed / draw.choice(files).relative_to(whole)
        change = _changed(file, draw)
        try:
            if file.name != "manifest.json":
                resealed(changed)
            use(changed)
        except InputError:
            pass
        except Exception as error:  # whatever else comes of it
            raised.append(f"{file.name}: {change}: {type(error).__name__}: {error}")
        shutil.rmtree(changed)
    assert not raised, "\n".join(raised)


def _changed(file: Path, draw: random.Random) -> str:
    """Changes something in a file; returns what."""
    if file.name == "manifest.json":
        return _other_value(file, draw)
    if file.suffix == ".npy" and draw.random() < 0.8:
        column = np.load(file)
        at, number = draw.randrange(column.size), draw.choice(NUMBERS)
        with np.errstate(all="ignore"):
            column.reshape(-1)[at] = np.array(number, np.float64).astype(column.dtype)
        np.save(file, column)
        return f"number {at} is {number}"
    content = bytearray(file.read_bytes())
    at, byte = draw.randrange(len(content)), draw.choice([0, 1, 10, 255])
    content[at] = byte
    file.write_bytes(content[: draw.choice([at + 1, len(content), len(content)])])
    return f"byte {at} of {len(content)} is {byte}"


def _other_value(file: Path, draw: random.Random) -> str:
    """Puts another value into a manifest, and its checksum; returns which."""
    content = json.loads(file.read_text())
    del content["sha256"]
    owner: Any = content
    while True:
        key = draw.choice(list(owner) if isinstance(owner, dict) else list(range(len(owner))))
        if not (isinstance(owner[key], dict | list) and owner[key] and draw.random() < 0.9):
            break
        owner = owner[key]
    owner[key] = draw.choice(VALUES)
    text = json.dumps(content, sort_keys=True)
    content["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(content))
    return f"{key} is {owner[key]!r}"


def use(folder: Path) -> None:
    """Searches an index and changes it."""
    index = StoredIndex(folder)
    for hit in index.search(QUERIES[0]):
        assert isinstance(hit.text, str)
    index.search_many(QUERIES)
    changed = index.delete(["d3"]).add(ir.load({"new": WORD[0]}), progress=False).merge()
    changed.search(QUERIES[0])


def resealed(folder: Path) -> None:
    """Makes the checksums of an index anew."""
    manifest = Manifest.read(folder)
    entries = []
    for entry in manifest.shards:
        listing = seal(folder / "shards" / entry.name, entry.documents)
        entries.append(replace(entry, sha256=listing))
    replace(manifest, shards=tuple(entries)).write(folder)


def outcome(folder: Path) -> str:
    """What is wrong with what an index does; empty where it is refused or finds documents."""
    try:
        index = ir.open_index(folder)
        found = [tuple(index.search(query)) for query in QUERIES]
        run = index.search_many(QUERIES)
    except InputError:
        return ""
    except Exception as error:  # whatever else comes of it
        return f"{type(error).__name__}: {error}"
    if not len(run.docs) or not any(found):
        return "nothing is found"
    return "" if all(hit.text for hits in found for hit in hits) else "a text is empty"
