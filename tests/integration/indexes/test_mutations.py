"""Indexes whose columns were changed and sealed anew: refused, or they still find documents with texts."""

from __future__ import annotations

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
from tests.integration.indexes.test_kinds import DOCS, QUERIES, models

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
