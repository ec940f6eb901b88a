"""Building of training sets.

Texts are written to disk once and memory-mapped from then on. The folder is named by a hash of all
data that are read and of all settings that matter, so that rows of edited data or of other settings
are never mixed up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.cache import CacheWriter, Tables, cache_home, parsed
from irtoolkit.retrievers.cross import score_pairs
from irtoolkit.training.duplicates import DuplicateFinder
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.negatives import check_negatives, mine_negatives
from irtoolkit.training.ragged import Bools, Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources import SOURCES
from irtoolkit.training.sources.base import Links, RowSource
from irtoolkit.training.training_set import MappedTexts, SelectedTexts, TrainingSet

# Raised by hand when the same data and settings make other rows.
FORMAT = 1
# Folder of training sets in the cache.
FOLDER = "training"
_SCHEMAS = {
    "queries": {"id": pa.string(), "text": pa.string()},
    "docs": {"id": pa.string(), "text": pa.string()},
    # One row for each of _ARRAYS, so that it can be mapped as it is.
    "arrays": {"values": pa.large_list(pa.int64())},
    "made": {"fingerprint": pa.string(), "width": pa.int64(), "kinds": pa.int64()},
}
_ARRAYS = (
    "query_of",
    "golds",
    "groups",
    "pool_of",
    "pool_offsets",
    "pool_values",
    "word_sets",
    "key_offsets",
    "key_values",
    "docs",
    "negatives",
)


def build_training_set(stage: Stage, join: str = " ", trusted: bool = False) -> TrainingSet:
    """Returns the rows of a stage: pairs of a query and a document relevant to it.

    A set that was built before from the same data is mapped from the cache.

    Args:
        stage: the source of the rows, and their negatives.
        join: separator of the segments of a text, see `irtoolkit.models.presets.Preset`.
        trusted: whether code that comes with the teacher may run.

    Raises:
        InputError: there are no rows; a relevant document is not a candidate; too few documents may
            be negatives; a run, or a line of a file, does not fit the data; the teacher is missing.
    """
    _check(stage)
    source = SOURCES[stage.source](stage, join)
    name = f"{stage.source}-{_key(stage, source, join)}"
    lock = cache_home() / FOLDER / f"{name}.lock"
    # Of several processes that train together one builds the set, and the others wait for it.
    with locked(lock, remove=True):
        tables = parsed(f"{FOLDER}/{name}", [], _SCHEMAS, partial(_write, stage, source))
    rows = _opened(tables, source.what)
    check_negatives(rows, stage)
    return rows if stage.teacher is None else _scored(rows, stage.teacher, trusted)


def _check(stage: Stage) -> None:
    if (stage.negatives == "none") != (stage.count == 0) or stage.count < 0:
        raise InputError(
            f"negatives={stage.negatives} with count={stage.count}",
            remedy="count is the number of negatives of a row: 0 with negatives=none, else 1 or"
            " more",
        )
    for key in ("extra", "without"):
        if getattr(stage, key) is not None and stage.source != "dataset":
            raise InputError(
                f"{key}={getattr(stage, key)} with source={stage.source}: it is for the judged queries"
                " of a dataset",
                remedy=f"leave {key} out, or source=dataset",
            )
    if stage.teacher is not None and stage.negatives == "random":
        raise InputError(
            f"a teacher with negatives={stage.negatives}, which are drawn anew in each epoch",
            remedy="a teacher scores mined negatives: negatives=mined and run=FILE",
        )


def _key(stage: Stage, source: RowSource, join: str) -> str:
    """Returns a hash of everything that decides the rows."""
    settings = [
        stage.query,
        stage.doc,
        stage.around,
        stage.length,
        stage.near,
        stage.pairs,
        stage.negatives,
        stage.count,
        stage.needs_all_documents,
        join,
    ]
    described = json.dumps([stage.source, settings, source.key(), FORMAT])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


class _WritingSink:
    """A sink that writes the texts to the cache and finds near duplicates."""

    def __init__(self, out: CacheWriter, near: float | None, bar: Any) -> None:
        self.finder = DuplicateFinder(near)
        self.digest, self.queries = hashlib.sha256(), 0
        self._out, self._bar = out, bar

    def query(self, query_id: str, text: str) -> None:
        self.queries += 1
        self._add("queries", query_id, text)

    def doc(self, doc_id: str, text: str) -> None:
        self.finder.add(doc_id, text)
        self._add("docs", doc_id, text)

    def _add(self, table: str, name: str, text: str) -> None:
        self._out.add(table, name, text)
        self.digest.update(f"{table} {len(name)} {len(text)} {name}{text}".encode())
        self._bar.update()


def _write(stage: Stage, source: RowSource, out: CacheWriter) -> None:
    with tqdm(desc=f"reading {source.what}", unit="text", disable=None) as bar:
        sink = _WritingSink(out, stage.near, bar)
        links = source.read(sink)
    exclusions = sink.finder.exclusions(*links.judged, sink.queries)
    negatives = links.negatives
    if negatives is not None:
        _check_not_excluded(stage, links, exclusions.contain(links.query_of, negatives[:, 0]))
    if links.ranked is not None:
        negatives = mine_negatives(links.ranked, exclusions, stage.count)[links.query_of]
    docs = np.arange(len(sink.finder))
    if links.ranked is not None and negatives is not None and not stage.needs_all_documents:
        # The other documents of the run are not needed for training.
        docs = np.union1d(links.golds, negatives[negatives >= 0])
        links, negatives = _renumbered(links, negatives, docs, len(exclusions.word_sets))
        exclusions = exclusions.restrict(docs)
    width = 0 if negatives is None else negatives.shape[1]
    flat = np.empty(0, np.int64) if negatives is None else negatives.ravel()
    arrays = (
        links.query_of,
        links.golds,
        links.groups,
        links.pool_of,
        links.pools.offsets,
        links.pools.values,
        exclusions.word_sets,
        exclusions.keys.offsets,
        exclusions.keys.values,
        docs,
        flat,
    )
    for array in arrays:
        sink.digest.update(f"{len(array)}".encode() + np.ascontiguousarray(array).tobytes())
        out.add("arrays", array)
    out.add("made", sink.digest.hexdigest(), width, exclusions.word_set_count)


def _check_not_excluded(stage: Stage, links: Links, excluded: Bools) -> None:
    """Raises InputError for negatives in a file that their queries exclude."""
    if links.lines is not None and excluded.any():
        more = int(excluded.sum()) - 1
        raise InputError(
            "the negative is relevant to its query, on this or another line"
            + (", or a near duplicate of a relevant document" if stage.near else "")
            + f"; the same on {more} more line{'s' * (more != 1)}",
            file=stage.file,
            line=int(links.lines[np.argmax(excluded)]),
            remedy="remove such lines"
            + ("; near=... is the similarity of near duplicates" if stage.near else ""),
        )


def _renumbered(links: Links, negatives: Ints, docs: Ints, total: int) -> tuple[Links, Ints]:
    """Returns rows and negatives with new numbers for some of `total` documents, ascending."""
    number = np.full(total + 1, -1)  # the last item stays -1, for no document
    number[docs] = np.arange(len(docs))
    owners, values = links.pools.owners, links.pools.values
    present = number[values] >= 0
    pools = Ragged.grouped(owners[present], number[values[present]], len(links.pools))
    return replace(links, golds=number[links.golds], pools=pools, ranked=None), number[negatives]


def _opened(tables: Tables, description: str) -> TrainingSet:
    values = tables["arrays"]["values"]
    arrays: dict[str, Ints] = {
        name: np.asarray(np.from_dlpack(values[number].values), np.int64)
        for number, name in enumerate(_ARRAYS)
    }
    origin = tables["made"].to_pylist()[0]
    queries, docs = tables["queries"], tables["docs"]
    query_of, used = arrays["query_of"], arrays["docs"]
    keys = Ragged(arrays["key_offsets"], arrays["key_values"])
    return TrainingSet(
        queries=SelectedTexts(MappedTexts(queries["text"]), query_of),
        golds=arrays["golds"],
        groups=arrays["groups"],
        docs=_selected(MappedTexts(docs["text"]), used),
        query_of=query_of,
        query_names=SelectedTexts(MappedTexts(queries["id"]), query_of),
        doc_names=_selected(MappedTexts(docs["id"]), used),
        exclusions=Exclusions(arrays["word_sets"], origin["kinds"], keys),
        pool_of=arrays["pool_of"],
        pools=Ragged(arrays["pool_offsets"], arrays["pool_values"]),
        fingerprint=origin["fingerprint"],
        what=description,
        negatives=arrays["negatives"].reshape(-1, origin["width"]) if origin["width"] else None,
    )


def _selected(texts: MappedTexts, places: Ints) -> Sequence[str]:
    return texts if len(places) == len(texts) else SelectedTexts(texts, places)


def _scored(rows: TrainingSet, teacher: str, trusted: bool) -> TrainingSet:
    """Returns a training set with a teacher's scores: its logit, or the log-odds of its two."""
    from irtoolkit.models.encoder import Encoder, EncoderSettings

    if rows.negatives is None:
        raise InputError(
            f"the teacher {teacher} has no negatives to score",
            remedy="give negatives=mined and run=FILE",
        )
    encoder = Encoder(EncoderSettings(teacher, "cross", "document", trusted=trusted))
    listed = np.column_stack([rows.golds, rows.negatives])

    def pairs() -> Iterator[tuple[str, str]]:
        for query, docs in zip(rows.queries, listed.tolist(), strict=True):
            for doc in docs:
                yield query, rows.docs[doc]

    scores = score_pairs(encoder, pairs, listed.size, f"the teacher {teacher}")
    digest = hashlib.sha256(rows.fingerprint.encode() + scores.tobytes()).hexdigest()
    return replace(rows, scores=scores.reshape(listed.shape), fingerprint=digest)
