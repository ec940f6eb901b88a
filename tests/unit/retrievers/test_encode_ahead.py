"""What workers encode before an index is built is all that building it asks for, byte for byte."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.engines.engine import using
from irtoolkit.models import encoder as encoding
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import neural
from tests import tiny
from tests.unit.models.test_spread import TEXTS, Pickling, shards

# Documents of one or two sentences; some sentences are in several.
DOCS = [(text, TEXTS[(3 * n) % len(TEXTS)])[: 1 + n % 2] for n, text in enumerate(TEXTS)]
BLOCKS = [DOCS[:20], DOCS[20:33], [*DOCS[:5], *DOCS[33:]]]
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("dense", {"stored": "int8"}), "sentence-max": ("dense", {}), "late": ("late", {}),
    "sparse": ("sparse", {}), "faiss": ("dense", {}), "plaid": ("late", {"centroids": 8}),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    return {
        "dense": str(tiny.save(root / "dense")),
        "late": str(tiny.save_colbert(root / "late")),
        "sparse": str(tiny.save(root / "sparse", "BertForMaskedLM")),
    }


@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_index_finds_what_was_encoded_ahead(
    family: str, models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "cache"
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(home))
    monkeypatch.setattr(encoding, "SHARD", 8)
    kind, settings = FAMILIES[family]
    pooled = {"pooling": "mean"} if kind == "dense" else {}
    retriever = find_system(family, {"model": models[kind], **pooled, **settings}).retriever

    def built(name: str) -> dict[str, bytes]:
        neural.encoder_of.cache_clear()  # its store is that of the cache before
        form = retriever.index_format()
        assert form is not None
        maker = form.maker(1 << 30)
        (tmp_path / name).mkdir()
        maker.begin(tmp_path / name)
        for block in BLOCKS:
            maker.add(block)
        maker.end()
        return shards(home)

    expected = built("alone")
    shutil.rmtree(home)
    neural.encoder_of.cache_clear()
    neural.encode_ahead(retriever, BLOCKS)
    assert not shards(home)  # one process encodes while it builds
    with using(Pickling()):
        neural.encode_ahead(retriever, iter(BLOCKS))
    assert shards(home) == expected
    assert built("after") == expected
