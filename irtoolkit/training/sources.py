"""Where rows of training come from. A new source is a class in `SOURCES`."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, encode, translate
from irtoolkit.base.progress import tqdm
from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import Passage
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.quoter import QuoteQuery as Context
from irtoolkit.datasets.strictjson import TRUNCATED, read_jsonl
from irtoolkit.models.shards import key_of
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.texts import BLOCK_DOCS, view
from irtoolkit.runs import Run
from irtoolkit.training.negatives import Ragged, words_of
from irtoolkit.training.recipes import Stage

# A passage of fewer words says too little to be looked for by what surrounds it.
FEWEST_WORDS = 5


class Sink(Protocol):
    """Takes texts as they are read; the first query or document it is given is number 0."""

    def query(self, query_id: str, text: str) -> None: ...
    def doc(self, doc_id: str, text: str) -> None: ...


@dataclass(frozen=True, eq=False)
class Links:
    """What belongs together in a source, by the numbers of its queries and documents.

    Attributes:
        asked, golds: (n,) query and document of each row.
        groups: (n,) group of each row.
        pool_of: (q,) number of the pool of each query.
        pools: documents of each pool, ascending.
        ranked: documents of each query in a run, best first, where negatives are mined.
        negatives: (n, 1) where the source gives them.
        lines: (n,) where a row stands in the source's file.
    """

    asked: Ints
    golds: Ints
    groups: Ints
    pool_of: Ints
    pools: Ragged
    ranked: Ragged | None = None
    negatives: Ints | None = None
    lines: Ints | None = None

    def parts(self) -> Iterator[Ints]:
        """Everything that decides what is trained on."""
        yield from (self.asked, self.golds, self.groups, self.pool_of)
        yield from (self.pools.offsets, self.pools.values)
        if self.ranked is not None:
            yield from (self.ranked.offsets, self.ranked.values)
        if self.negatives is not None:
            yield self.negatives


class Source(ABC):
    """Rows from one place.

    Attributes:
        what: the place, for messages.
    """

    what: str = ""

    def __init__(self, stage: Stage, join: str) -> None:
        """`join` stands between the segments of a text."""
        self.stage, self._join = stage, join

    @abstractmethod
    def read(self, out: Sink) -> Links:
        """Hands over every text, and says what belongs together. May be called again.

        Raises:
            InputError: there are no rows, or something is wrong with them.
        """

    def key(self) -> str:
        """A hash of everything that is read."""
        with tqdm(desc=f"looking at {self.what}", unit="text", disable=None, leave=False) as bar:
            hashing = _Hashing(bar)
            links = self.read(hashing)
        for part in links.parts():
            hashing.digest.update(f"{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        return hashing.digest.hexdigest()

    def _text(self, record: Any, name: str) -> str:
        return self._join.join(view(record, name))

    def _query(self, record: Any) -> str:
        return self._text(record, self.stage.query)

    def _doc(self, record: Any) -> str:
        return self._text(record, self.stage.doc)

    def _refuse_mining(self) -> None:
        if self.stage.negatives == "mined":
            raise InputError(
                f"negatives=mined of source={self.stage.source}, of which there are no runs",
                remedy="negatives are mined for the queries of a dataset: source=dataset",
            )


class _Hashing:
    """A sink that keeps nothing but a hash."""

    def __init__(self, bar: Any) -> None:
        self.digest, self._bar = hashlib.sha256(), bar

    def query(self, query_id: str, text: str) -> None:
        self._add("query", query_id, text)

    def doc(self, doc_id: str, text: str) -> None:
        self._add("doc", doc_id, text)

    def _add(self, kind: str, name: str, text: str) -> None:
        self.digest.update(f"{kind} {len(name)} {len(text)} {name}{text}".encode())
        self._bar.update()


# -- judged queries ---------------------------------------------------------------------------


class Judged(Source):
    """A row for each relevant document of each judged query of a dataset."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self.what = _named(stage, "dataset")
        if (stage.run is None) == (stage.negatives == "mined"):
            raise InputError(
                "negatives=mined without a run"
                if stage.run is None
                else f"run={stage.run} without negatives=mined",
                remedy="negatives=mined takes the highest documents of run=FILE",
            )

    @cached_property
    def _chosen(self) -> _Chosen:
        task = load_task(self.what, query=self.stage.query, doc=self.stage.doc)
        qrels = Dataset.load(self.what).qrels
        relevant = qrels.grades > 0
        if not relevant.any():
            raise InputError(
                f"{self.what} has no judged query with a relevant document to train on",
                remedy="name another split",
            )
        judged = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))[relevant]
        asked = translate(qrels.query_ids, task.query_ids)[judged]
        if (asked < 0).any():
            raise InputError(
                f"the qrels of {self.what} judge query"
                f" {qrels.query_ids[judged[np.argmax(asked < 0)]]}, which it does not have",
            )
        order = np.argsort(asked, kind="stable")
        asked, docs = asked[order], qrels.docs[relevant][order]
        golds = translate(qrels.doc_ids, task.doc_ids)[docs]
        queries, numbers = np.unique(asked, return_inverse=True)
        pool_of, pools = np.full(len(task.query_ids), -1), list[Ints]()
        for group in task.groups:
            members = group.queries[np.isin(group.queries, queries)]
            if not len(members):
                continue
            pool_of[members] = len(pools)
            pools.append(group.docs)
            rows = np.flatnonzero(pool_of[asked] == len(pools) - 1)
            strange = rows[~np.isin(golds[rows], group.docs)]
            if len(strange):
                raise InputError(
                    f"document {qrels.doc_ids[docs[strange[0]]]} is relevant to query"
                    f" {task.query_ids[asked[strange[0]]]} of {self.what} and not among its"
                    " candidates",
                    remedy="a gold that cannot be found cannot be learned: mend the qrels or pools",
                )
        ranked = self._ranked(task, queries)
        return _Chosen(task, queries, numbers, golds, pool_of[queries], pools, ranked)

    def _ranked(self, task: Any, queries: Ints) -> list[Ints] | None:
        """The documents of each query in the run, best first."""
        if self.stage.run is None:
            return None
        try:
            narrowed = task.among(Run.read(self.stage.run), self.stage.depth)
        except InputError as error:
            file = error.file or self.stage.run
            raise InputError(error.found, file=file, line=error.line, remedy=error.remedy) from None
        known = translate(narrowed.doc_ids, task.doc_ids)
        found = [np.empty(0, np.int64)] * len(task.query_ids)
        for group in narrowed.groups:
            for query in group.queries:
                found[query] = known[group.docs]
        return [found[query] for query in queries]

    def read(self, out: Sink) -> Links:
        chosen = self._chosen
        task, wanted = chosen.task, np.zeros(len(chosen.task.query_ids), bool)
        wanted[chosen.queries] = True
        records = Dataset.load(self.what).queries_iter()
        for record, mine in zip(records, wanted, strict=True):
            if mine:
                out.query(record.query_id, self._query(record))
        parts = chosen.pools if self.stage.needs_all_documents else [chosen.golds]
        docs = np.unique(np.concatenate([*parts, *(chosen.ranked or ())]))
        texts = task.docs if len(docs) == len(task.doc_ids) else task.docs[docs]
        for doc_id, segments in zip(task.doc_ids[docs], texts, strict=True):
            out.doc(doc_id, self._join.join(segments))
        number = np.full(len(task.doc_ids), -1)
        number[docs] = np.arange(len(docs))
        pools = [np.sort(number[pool]) for pool in chosen.pools]
        return Links(
            chosen.asked,
            number[chosen.golds],
            self._books(task.doc_ids[chosen.golds]),
            chosen.pool_of,
            Ragged.of([pool[pool >= 0] for pool in pools]),
            None if chosen.ranked is None else Ragged.of([number[row] for row in chosen.ranked]),
        )

    def _books(self, doc_ids: Ids) -> Ints:
        """The number of the book that each document is from; 0 where documents have none."""
        dataset = Dataset.load(self.what)
        if "book" not in getattr(dataset.docs_cls(), "_fields", ()):
            return np.zeros(len(doc_ids), np.int64)
        store, distinct = dataset.docs_store(), list(dict.fromkeys(doc_ids))
        blocks = (distinct[i : i + BLOCK_DOCS] for i in range(0, len(distinct), BLOCK_DOCS))
        books = {doc.doc_id: doc.book for block in blocks for doc in store.get_many_iter(block)}
        return encode(books[doc_id] for doc_id in doc_ids)[1]


@dataclass(frozen=True, eq=False)
class _Chosen:
    """What of a task is trained on: its numbers are the task's, but `asked` numbers `queries`."""

    task: Any
    queries: Ints
    asked: Ints
    golds: Ints
    pool_of: Ints
    pools: list[Ints]
    ranked: list[Ints] | None


# -- mined examples ---------------------------------------------------------------------------


class Examples(Source):
    """A row for each line of `irtoolkit extract examples`: the context, and the example."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self._refuse_mining()
        self.file = Path(_named(stage, "file"))
        self.what = self.file.name

    def key(self) -> str:
        return _hash_of(self.file)

    def read(self, out: Sink) -> Links:
        count = 0
        for line, record in _records(self.file, "`irtoolkit extract examples` writes such files"):
            for name in ("id", "text", "left", "right"):
                if not isinstance(record.get(name), str):
                    raise _bad_line(self.file, line, f"no text in the field {name!r}", _EXAMPLE)
            if not record["text"].strip():
                raise _bad_line(self.file, line, "an example without text", _EXAMPLE)
            name = record["id"]
            out.query(name, self._query(Context(name, record["left"], record["right"])))
            out.doc(name, self._doc(GenericDoc(name, record["text"])))
            count += 1
        if not count:
            raise _empty(self.file)
        each, nothing = np.arange(count), np.zeros(count, np.int64)
        return Links(each, each, nothing, nothing, Ragged.of([each]))


_EXAMPLE = 'a line is an object with the texts "id", "text", "left" and "right"'
_TRIPLE = 'a line is an object with "query", "positive" and "negative"'


# -- triples ----------------------------------------------------------------------------------


class Triples(Source):
    """A row for each line that has a query, a relevant document, and one that is not."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self.file = Path(_named(stage, "file"))
        self.what = self.file.name
        if stage.negatives == "random" or stage.count not in (0, 1) or stage.run is not None:
            raise InputError(
                "the rows of source=triples have one negative each, their own",
                remedy="leave out run, and give negatives=mined and count=1, or neither",
            )

    def key(self) -> str:
        return _hash_of(self.file) if not self.stage.dataset else super().key()

    def read(self, out: Sink) -> Links:
        lines, rows = array("q"), array("q")
        queries, docs = self._takers(out)
        for line, record in _records(self.file, _TRIPLE):
            if record.keys() < _ROLES:
                lacking = sorted(_ROLES - record.keys())[0]
                raise _bad_line(self.file, line, f"no {lacking!r}", _TRIPLE)
            lines.append(line)
            for role in ("query", "positive", "negative"):
                taker = queries if role == "query" else docs
                rows.append(taker.number(line, role, record[role]))
        if not lines:
            raise _empty(self.file)
        queries.finish()
        docs.finish()
        asked, golds, others = np.array(rows, np.int64).reshape(-1, 3).T
        pool = np.zeros(int(asked.max()) + 1, np.int64)
        every = np.arange(max(int(golds.max()), int(others.max())) + 1)
        return Links(
            asked, golds, np.zeros(len(asked), np.int64), pool, Ragged.of([every]),
            negatives=others[:, None], lines=np.array(lines, np.int64),
        )  # fmt: skip

    def _takers(self, out: Sink) -> tuple[_Taker, _Taker]:
        if self.stage.dataset:
            store = Dataset.load(self.stage.dataset).docs_store()
            return (
                _ById(self.file, self._query, out.query, store),
                _ById(self.file, self._doc, out.doc, store),
            )
        return _ByText(self.file, self._query, out.query), _ByText(self.file, self._doc, out.doc)


_ROLES = {"query", "positive", "negative"}


class _Taker(ABC):
    """Gives each text of one side a number, and hands it over once."""

    def __init__(
        self, file: Path, text: Callable[[Any], str], give: Callable[[str, str], None]
    ) -> None:
        """`text` gives a record's text under the view of its side."""
        self.file, self.text, self.give = file, text, give

    @abstractmethod
    def number(self, line: int, role: str, value: Any) -> int:
        """The number of what a line has in a role."""

    @abstractmethod
    def finish(self) -> None:
        """Hands over what has not been."""


class _ByText(_Taker):
    """Texts, or objects whose fields the view names, each where it is first met."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._numbers: dict[bytes, int] = {}

    def number(self, line: int, role: str, value: Any) -> int:
        if isinstance(value, dict):
            try:
                text = self.text(_Fields(value))
            except InputError as error:
                raise _bad_line(self.file, line, f"{role}: {error.found}", error.remedy) from None
        elif isinstance(value, str):
            text = value
        else:
            raise _bad_line(
                self.file, line, f"{role} is {value!r:.40}", "it is a text or an object"
            )
        if not text.strip():
            raise _bad_line(self.file, line, f"{role} has no text", _TRIPLE)
        count = len(self._numbers)
        number = self._numbers.setdefault(key_of(text), count)
        if number == count:
            self.give(f"{line}.{role}", text)
        return number

    def finish(self) -> None:
        pass


class _ById(_Taker):
    """Ids of documents of a dataset, whose texts are read in the end."""

    def __init__(
        self, file: Path, text: Callable[[Any], str], give: Callable[[str, str], None], store: Any
    ) -> None:
        super().__init__(file, text, give)
        self._store, self._numbers, self._lines = store, dict[str, int](), array("q")

    def number(self, line: int, role: str, value: Any) -> int:
        if not isinstance(value, str):
            raise _bad_line(self.file, line, f"{role} is {value!r:.40}", "it is a document's id")
        number = self._numbers.setdefault(value, len(self._lines))
        if number == len(self._lines):
            self._lines.append(line)
        return number

    def finish(self) -> None:
        ids = list(self._numbers)
        for start in range(0, len(ids), BLOCK_DOCS):
            block = ids[start : start + BLOCK_DOCS]
            records = {doc.doc_id: doc for doc in self._store.get_many_iter(block)}
            for place, doc_id in enumerate(block, start):
                if doc_id not in records:
                    raise _bad_line(
                        self.file, self._lines[place], f"no document {doc_id} in the dataset",
                        "without dataset=ID the values are texts",
                    )  # fmt: skip
                self.give(doc_id, self.text(records[doc_id]))


class _Fields:
    """A JSON object as a record."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._fields = tuple(values)

    def default_text(self) -> str:
        raise InputError(
            "an object, whose text is in its fields",
            remedy=f"name them in the views query and doc, as {'+'.join(self._fields)}",
        )


# -- surroundings -----------------------------------------------------------------------------


class Surroundings(Source):
    """A row for each passage of a dataset's books: what stands around it, and the passage.

    Passages follow one another without overlap.
    """

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self._refuse_mining()
        self.what = f"the books of {_named(stage, 'dataset')}"
        for name in ("around", "length"):
            if getattr(stage, name) < 1:
                raise InputError(f"{name}={getattr(stage, name)} sentences", remedy="at least one")
        fields = getattr(Dataset.load(stage.dataset).docs_cls(), "_fields", ())
        if not {*Passage._fields} <= {*fields}:
            raise InputError(
                f"the documents of {stage.dataset} are no passages of books",
                remedy="source=surroundings takes a dataset of books, as relic/train",
            )

    def read(self, out: Sink) -> Links:
        books = array("q")
        names: set[str] = set()
        docs = Dataset.load(self.stage.dataset).docs_iter()
        for name, passages in groupby(docs, attrgetter("book")):
            if name in names:
                raise InputError(
                    f"the passages of {name} do not stand together in {self.stage.dataset}"
                )
            for query, passage in self._cut(name, passages):
                out.query(query.query_id, self._query(query))
                out.doc(passage.doc_id, self._doc(passage))
                books.append(len(names))
            names.add(name)
        if not books:
            raise InputError(
                f"{self.what} have no passage of {self.stage.length} sentences with another beside"
                " it",
                remedy="lower length",
            )
        groups = np.array(books, np.int64)
        used, numbers = np.unique(groups, return_inverse=True)
        each = np.arange(len(groups))
        pools = np.split(each, np.searchsorted(groups, used)[1:])
        return Links(each, each, numbers, numbers, Ragged.of(pools))

    def _cut(self, name: str, passages: Iterable[Any]) -> Iterator[tuple[Context, Passage]]:
        """The passages of a book with what stands around each."""
        around, length = self.stage.around, self.stage.length
        for first, sentences in _stretches(passages):
            for start in range(0, len(sentences) - length + 1, length):
                stop = start + length
                left = " ".join(sentences[max(0, start - around) : start])
                right = " ".join(sentences[stop : stop + around])
                mine = tuple(sentences[start:stop])
                text = " ".join(mine)
                if len(words_of(text)) >= FEWEST_WORDS and (left or right):
                    span = str(Span(name, first + start, length))
                    yield (
                        Context(span, left, right),
                        Passage(span, text, name, first + start, length, mine),
                    )


def _stretches(passages: Iterable[Any]) -> Iterator[tuple[int, list[str]]]:
    """The sentences of a book that some passages cover, as far as they follow one another."""
    known: dict[int, str] = {}
    for passage in passages:
        known.update(enumerate(passage.sentences, passage.start))
    first, found = 0, list[str]()
    for place in chain(sorted(known), [None]):
        if found and place != first + len(found):
            yield first, found
            found = []
        if place is not None:
            first = first if found else place
            found.append(known[place])


SOURCES: dict[str, type[Source]] = {
    "dataset": Judged,
    "examples": Examples,
    "triples": Triples,
    "surroundings": Surroundings,
}


def _named(stage: Stage, name: str) -> str:
    value = getattr(stage, name)
    if not value:
        raise InputError(f"source={stage.source} without {name}", remedy=f"give {name}=...")
    return str(value)


def _hash_of(file: Path) -> str:
    if not file.is_file():
        raise InputError("no such file", file=file)
    return content_hash(file)


def _records(file: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields (line, object) of JSON lines."""
    try:
        for line, record in read_jsonl(file):
            if not isinstance(record, dict):
                raise _bad_line(file, line, "not a JSON object", remedy)
            yield line, record
    except InputError as error:
        # This is no file of a release, which could be fetched again.
        say = remedy if error.remedy == TRUNCATED else error.remedy
        raise InputError(error.found, file=file, line=error.line, remedy=say) from None


def _bad_line(file: Path, line: int, found: str, remedy: str | None) -> InputError:
    return InputError(found, file=file, line=line, remedy=remedy)


def _empty(file: Path) -> InputError:
    return InputError("no rows to train on", file=file)
