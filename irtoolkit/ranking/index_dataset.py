"""The documents that an index stores, as a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import ir_datasets
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.retrievers.stored_index import StoredIndex


def index_dataset(folder: StrPath) -> Dataset:
    """Returns the documents of an index, which has neither queries nor judgments.

    Raises:
        InputError: there is no index, it is damaged, or stores no texts.
    """
    index = StoredIndex(folder)
    if any(shard.documents.texts is None for shard in index.open_shards):
        raise InputError(
            "this index stores no texts",
            file=folder,
            remedy="name the dataset that it was built of",
        )
    docs: Any = DocsHandler(cache(lambda: index_texts(index)), GenericDoc, index.name, None)
    return Dataset(index.name, ir_datasets.Dataset(docs), in_memory=True)


def index_texts(index: StoredIndex) -> Mapping[str, GenericDoc]:
    """Returns the documents of an index by id, without deleted ones."""
    documents: dict[str, GenericDoc] = {}
    for shard in index.open_shards:
        ids, texts = shard.documents.ids, shard.documents.texts
        if texts is None:
            continue
        for position in shard.live.nonzero()[0].tolist():
            documents[ids[position]] = GenericDoc(ids[position], texts[position])
    return documents
