"""Sets of training rows, each a query and a document that is relevant to it.

Texts are written to disk once and mapped into memory from then on. The folder is named by a hash of
everything that is read and of how, so that neither edited data nor other settings meet old rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, id_array
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.cache import CacheWriter, Tables, cache_home, parsed
from irtoolkit.retrievers.cross import score_pairs
from irtoolkit.training.negatives import Bars, Documents, Ragged, mine, too_few
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources import SOURCES, Links, Source

# Raised by hand when the same data and settings make other rows.
FORMAT = 1
# Under the cache.
FOLDER = "training"
_SCHEMAS = {
    "queries": {"id": pa.string(), "text": pa.string()},
    "docs": {"id": pa.string(), "text": pa.string()},
    # Each of `_ARRAYS` in one row, so that it can be mapped as it is.
    "arrays": {"values": pa.large_list(pa.int64())},
    "made": {"fingerprint": pa.string(), "width": pa.int64(), "kinds": pa.int64()},
}
_ARRAYS = (
    "asked", "golds", "groups", "pool_of", "pool_offsets", "pool_values", "kinds", "key_offsets",
    "key_values", "docs", "negatives",
)  # fmt: skip


class Column(Sequence[str]):
    """A column of mapped texts, each read when it is asked for."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> Chosen: ...
    def __getitem__(self, key: int | slice) -> str | Chosen:
        if isinstance(key, slice):
            return Chosen(self, np.arange(len(self))[key])
        text: str = self._column[key].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        for chunk in self._column.chunks:
            yield from chunk.to_pylist()


class Chosen(Sequence[str]):
    """Some texts of a sequence, in any order and any number of times."""

    def __init__(self, texts: Sequence[str], places: Ints) -> None:
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice | Ints) -> Chosen: ...
    def __getitem__(self, key: int | slice | Ints) -> str | Chosen:
        if isinstance(key, slice | np.ndarray):
            return Chosen(self._texts, self._places[key])
        return self._texts[int(self._places[key])]

    def __iter__(self) -> Iterator[str]:
        return (self._texts[place] for place in self._places.tolist())


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to train on: n of them, with q distinct queries and m documents.

    Attributes:
        queries: (n,) text of each row's query.
        golds: (n,) number of each row's document.
        groups: (n,) number of the group (the book) each row belongs to.
        docs: (m,) texts.
        asked: (n,) number of each row's query, from 0 to q.
        query_names, doc_names: (n,), (m,) ids, mapped as texts are.
        bars: what each of q queries bars from being its negative.
        pool_of: (q,) number of each query's pool.
        pools: documents of each pool, ascending.
        fingerprint: a hash of all of it.
        what: where it comes from, for messages.
        negatives: (n, count) mined documents.
        scores: (n, 1 + count) a teacher's scores of gold and negatives.
    """

    queries: Sequence[str]
    golds: Ints
    groups: Ints
    docs: Sequence[str]
    asked: Ints
    query_names: Sequence[str]
    doc_names: Sequence[str]
    bars: Bars
    pool_of: Ints
    pools: Ragged
    fingerprint: str
    what: str
    negatives: Ints | None = None
    scores: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.golds)

    @cached_property
    def query_ids(self) -> Ids:
        """(n,) id of each row's query; made when they are first asked for."""
        return id_array(list(self.query_names))

    @cached_property
    def doc_ids(self) -> Ids:
        """(m,) ids of the documents; made when they are first asked for."""
        return id_array(list(self.doc_names))

    def barred(self, row: int) -> Ints:
        """Documents that may not be negatives of a row, ascending.

        Every gold of its query, their near duplicates, and passages that share a sentence with one.
        """
        return self.bars.docs(int(self.asked[row]))

    def pool(self, row: int) -> Ints:
        """Documents that a row's random negatives are drawn from, ascending.

        The candidates of its query, as far as they are in the set.
        """
        return self.pools[int(self.pool_of[self.asked[row]])]

    def name(self, row: int) -> str:
        """A row for messages."""
        doc = self.doc_names[int(self.golds[row])]
        return f"query {self.query_names[row]} with document {doc}"

    def select(self, rows: Ints) -> TrainingSet:
        """Some of the rows, in the order given; the documents stay."""
        digest = hashlib.sha256(self.fingerprint.encode() + np.asarray(rows, np.int64).tobytes())
        return replace(
            self,
            queries=Chosen(self.queries, rows),
            query_names=Chosen(self.query_names, rows),
            golds=self.golds[rows],
            groups=self.groups[rows],
            asked=self.asked[rows],
            fingerprint=digest.hexdigest(),
            negatives=None if self.negatives is None else self.negatives[rows],
            scores=None if self.scores is None else self.scores[rows],
        )


def build(stage: Stage, join: str = " ") -> TrainingSet:
    """The rows of a stage, one for each query and document relevant to it.

    What was built before from the same data is mapped from the cache.

    Args:
        stage: says where rows come from, and which negatives they have.
        join: stands between the segments of a text, see `irtoolkit.models.presets.Preset`.

    Raises:
        InputError: there are no rows, or too few documents that may be negatives; a gold is not
            among the candidates; a run, or a line of a file, is not of the data; the teacher is not
            here.
    """
    _check(stage)
    source = SOURCES[stage.source](stage, join)
    name = f"{stage.source}-{_key(stage, source, join)}"
    lock = cache_home() / FOLDER / f"{name}.lock"
    # Of several processes that train together one reads, and the others wait for what it keeps.
    with locked(lock, remove=True):
        tables = parsed(f"{FOLDER}/{name}", [], _SCHEMAS, partial(_write, stage, source))
    rows = _opened(tables, source.what)
    _see_to_negatives(rows, stage)
    return rows if stage.teacher is None else _scored(rows, stage.teacher)


def _check(stage: Stage) -> None:
    if (stage.negatives == "none") != (stage.count == 0) or stage.count < 0:
        raise InputError(
            f"negatives={stage.negatives} with count={stage.count}",
            remedy="count is how many negatives a row has: 1 or more, or 0 with negatives=none",
        )
    if stage.teacher is not None and stage.negatives == "random":
        raise InputError(
            f"a teacher with negatives={stage.negatives}, which are drawn anew in each epoch",
            remedy="a teacher scores mined negatives: negatives=mined and run=FILE",
        )


def _key(stage: Stage, source: Source, join: str) -> str:
    """A hash of all that decides the rows."""
    settings = [
        stage.query, stage.doc, stage.around, stage.length, stage.near, stage.negatives,
        stage.count, stage.needs_all_documents, join,
    ]  # fmt: skip
    described = json.dumps([stage.source, settings, source.key(), FORMAT])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


class _Sink:
    """Writes texts, and notes what decides which documents are alike."""

    def __init__(self, out: CacheWriter, near: float, bar: Any) -> None:
        self.documents = Documents(near)
        self.digest, self.queries = hashlib.sha256(), 0
        self._out, self._bar = out, bar

    def query(self, query_id: str, text: str) -> None:
        self.queries += 1
        self._add("queries", query_id, text)

    def doc(self, doc_id: str, text: str) -> None:
        self.documents.add(doc_id, text)
        self._add("docs", doc_id, text)

    def _add(self, table: str, name: str, text: str) -> None:
        self._out.add(table, name, text)
        self.digest.update(f"{table} {len(name)} {len(text)} {name}{text}".encode())
        self._bar.update()


def _write(stage: Stage, source: Source, out: CacheWriter) -> None:
    with tqdm(desc=f"reading {source.what}", unit="text", disable=None) as bar:
        sink = _Sink(out, stage.near, bar)
        links = source.read(sink)
    bars = sink.documents.bars(links.asked, links.golds, sink.queries)
    negatives = links.negatives
    if negatives is not None:
        _refuse_barred(stage, links, bars.hold(links.asked, negatives[:, 0]))
    if links.ranked is not None:
        negatives = mine(links.ranked, bars, stage.count)[links.asked]
    docs = np.arange(len(sink.documents))
    if links.ranked is not None and negatives is not None and not stage.needs_all_documents:
        # The others in the run are not trained on.
        docs = np.union1d(links.golds, negatives[negatives >= 0])
        bars, links, negatives = _narrowed(bars, links, negatives, docs)
    width = 0 if negatives is None else negatives.shape[1]
    flat = np.empty(0, np.int64) if negatives is None else negatives.ravel()
    arrays = (
        links.asked, links.golds, links.groups, links.pool_of, links.pools.offsets,
        links.pools.values, bars.kinds, bars.keys.offsets, bars.keys.values, docs, flat,
    )  # fmt: skip
    for array in arrays:
        sink.digest.update(f"{len(array)}".encode() + np.ascontiguousarray(array).tobytes())
        out.add("arrays", array)
    out.add("made", sink.digest.hexdigest(), width, bars.count)


def _refuse_barred(stage: Stage, links: Links, barred: NDArray[np.bool_]) -> None:
    """Refuses negatives of the source's own that their queries bar."""
    if links.lines is not None and barred.any():
        more = int(barred.sum()) - 1
        raise InputError(
            "the negative is relevant to its query, here or on another line, or nearly the same as"
            f" what is; and so on {more} more line{'s' * (more != 1)}",
            file=stage.file,
            line=int(links.lines[np.argmax(barred)]),
            remedy="leave such lines out; near=... says what is nearly the same",
        )


def _narrowed(bars: Bars, links: Links, negatives: Ints, docs: Ints) -> tuple[Bars, Links, Ints]:
    """The same for some of the documents, which are numbered anew."""
    number = np.full(len(bars.kinds) + 1, -1)  # the last stays -1, for what is none
    number[docs] = np.arange(len(docs))
    owners, found = links.pools.take(np.arange(len(links.pools)))
    here = number[found] >= 0
    pools = Ragged.grouped(owners[here], number[found[here]], len(links.pools))
    links = replace(links, golds=number[links.golds], pools=pools, ranked=None)
    return bars.among(docs), links, number[negatives]


def _opened(tables: Tables, what: str) -> TrainingSet:
    values = tables["arrays"]["values"]
    found: dict[str, Ints] = {
        name: np.asarray(np.from_dlpack(values[place].values), np.int64)
        for place, name in enumerate(_ARRAYS)
    }
    made = tables["made"].to_pylist()[0]
    queries, docs = tables["queries"], tables["docs"]
    asked, used = found["asked"], found["docs"]
    return TrainingSet(
        queries=Chosen(Column(queries["text"]), asked),
        golds=found["golds"],
        groups=found["groups"],
        docs=_those(Column(docs["text"]), used),
        asked=asked,
        query_names=Chosen(Column(queries["id"]), asked),
        doc_names=_those(Column(docs["id"]), used),
        bars=Bars(found["kinds"], made["kinds"], Ragged(found["key_offsets"], found["key_values"])),
        pool_of=found["pool_of"],
        pools=Ragged(found["pool_offsets"], found["pool_values"]),
        fingerprint=made["fingerprint"],
        what=what,
        negatives=found["negatives"].reshape(-1, made["width"]) if made["width"] else None,
    )


def _those(column: Column, places: Ints) -> Sequence[str]:
    return column if len(places) == len(column) else Chosen(column, places)


def _see_to_negatives(rows: TrainingSet, stage: Stage) -> None:
    """Raises InputError where a row has too few negatives."""
    if rows.negatives is not None:
        found = (rows.negatives >= 0).sum(1)
        if (short := np.flatnonzero(found < stage.count)).size:
            row = int(short[0])
            raise InputError(
                f"of the first {stage.depth} documents of query {rows.query_names[row]}"
                f" {found[row]} may be its negatives, and {stage.count} are asked for",
                file=stage.run,
                remedy="lower count, or give a deeper run and raise depth",
            )
    if stage.negatives != "random":
        return
    bars = rows.bars
    owners, kinds = np.repeat(np.arange(len(bars.keys)), bars.keys.sizes), bars.keys.values
    many = np.where(kinds < bars.count, bars.members.sizes[np.minimum(kinds, bars.count - 1)], 1)
    # No more than so many are barred, and hardly ever is it close.
    most = np.bincount(owners, many, len(bars.keys))
    close = rows.pools.sizes[rows.pool_of] - most < stage.count
    for row in np.flatnonzero(close[rows.asked]).tolist():
        left = len(np.setdiff1d(rows.pool(row), rows.barred(row), assume_unique=True))
        if left < stage.count:
            raise too_few(rows.name(row), rows.what, left, stage.count)


def _scored(rows: TrainingSet, teacher: str) -> TrainingSet:
    """The same rows with a teacher's scores: logits, or of two classes the second's log-odds."""
    from irtoolkit.models.encoder import Encoder, How

    if rows.negatives is None:
        raise InputError(
            f"the teacher {teacher} has no negatives to score",
            remedy="give negatives=mined and run=FILE",
        )
    encoder = Encoder(How(teacher, "cross", "document"))
    listed = np.column_stack([rows.golds, rows.negatives])

    def pairs() -> Iterator[tuple[str, str]]:
        for query, docs in zip(rows.queries, listed.tolist(), strict=True):
            for doc in docs:
                yield query, rows.docs[doc]

    scores = score_pairs(encoder, pairs, listed.size, f"the teacher {teacher}")
    digest = hashlib.sha256(rows.fingerprint.encode() + scores.tobytes()).hexdigest()
    return replace(rows, scores=scores.reshape(listed.shape), fingerprint=digest)
