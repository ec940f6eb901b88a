"""The protocol of retrievers, and how settings given as text become their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeGuard,
    TypeVar,
)

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.nearest import BestDocuments
from irtoolkit.retrievers.settings import parse_settings
from irtoolkit.runs.order import Ties
from irtoolkit.runs.top_k import TieOrder

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.retrievers.task import Task

ScoreMatrix = NDArray[np.floating[Any]]


# The greatest whole number that libraries take.
MOST = (1 << 31) - 1

# What preparing stores: vectors of a model or an index on a server, which a URL can share; or what a
# language model writes, in the cache folder, which no URL shares.
Stores = Literal["nothing", "vectors", "answers"]


@dataclass(frozen=True, eq=False)
class Hits:
    """The few candidates of each query that an approximate search has scored.

    Attributes:
        places: (q, k) places among the candidates; -1 where the search found fewer.
        scores: (q, k) finite where there is a place; higher is better.
    """

    places: Ints
    scores: ScoreMatrix


@dataclass(frozen=True, eq=False)
class Matches:
    """The scores of all candidates by a retriever that matches terms.

    Attributes:
        scores: (q, c) finite; higher is better. A match may score 0 or less.
        shared: gives (q, c) whether each candidate shares a term with each query.
    """

    scores: ScoreMatrix
    shared: Callable[[], NDArray[np.bool_]]


class SearchedBlock(Protocol):
    """Queries whose best documents are searched for, without the scores of all candidates.

    See `irtoolkit.retrievers.term_index`, `irtoolkit.indexes.nearest` and
    `irtoolkit.retrievers.gpu_search`.

    Attributes:
        ties: the orders of ties under which it can search.
    """

    @property
    def ties(self) -> Sequence[Ties]: ...

    def every(self) -> ScoreMatrix | Matches:
        """Returns the scores of all candidates."""
        ...

    def best(
        self, tied: TieOrder, depth: int, rows: Ints, places: Ints, fill: bool = True
    ) -> BestDocuments:
        """Returns the best documents of each query, and the ranks of wanted ones.

        Args:
            tied: order of equally scored documents.
            depth: how many of each query; no more than there are.
            rows, places: (w,) query, ascending, and place of each wanted document.
            fill: whether documents that share no term with the query are listed, too.
        """
        ...


def is_searched(block: Any) -> TypeGuard[SearchedBlock]:
    """Returns whether a block searches for the best candidates; no score is computed for that."""
    return hasattr(type(block), "best")


def scores_of(block: Any) -> Any:
    """Returns the scores or hits of a block without its matches."""
    scored = block.every() if is_searched(block) else block
    return scored.scores if isinstance(scored, Matches) else scored


# (q, c) finite scores, higher is better, perhaps with the matches among them; the hits of an
# approximate search; or what searches for the best.
Scored: TypeAlias = "ScoreMatrix | Matches | Hits | SearchedBlock"
# Scores a block of queries against prepared candidates: called with (q,) indices into the task's
# queries.
Block = Callable[[Ints], Scored]
# Prepares a candidate set: called with (c,) indices into the task's documents, the whole candidate
# set of the queries that its block is then asked for.
Scorer = Callable[[Ints], Block]

# Takes a task with other queries over the documents that were prepared.
Ask: TypeAlias = "Callable[[Task], Scorer]"
T = TypeVar("T")


def keep_last(make: Callable[[Ints], T]) -> Callable[[Ints], T]:
    """A function of a candidate set that remembers what it made of the last one.

    A corpus that all queries rank is the only set there is, whenever queries come.
    """
    last: tuple[Ints, T] | None = None

    def kept(docs: Ints) -> T:
        nonlocal last
        if last is None or not np.array_equal(last[0], docs):
            last = docs, make(docs)
        return last[1]

    return kept


@dataclass(frozen=True)
class Retriever:
    """A way of scoring candidates: a frozen dataclass whose fields are its parameters.

    Subclasses set `name`, the name on the command line, and implement `scorer`; or `prepare`, if
    documents can be prepared once for queries that come later.
    """

    name: ClassVar[str] = ""
    # Raised by hand when the same texts and settings give other scores, so that runs are made again.
    format: ClassVar[int] = 1
    # Setting to the conditions of which one must hold for it to be read: "form=okapi", or "keep" for
    # a setting that is not empty. What a base class declares holds too; no conditions take that back.
    read_with: ClassVar[Mapping[str, Sequence[str]]] = {}
    # Setting to the least and greatest value it may have, unless it is None.
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    # What preparing a task stores, so that other processes find it.
    stores: ClassVar[Stores] = "nothing"

    def __post_init__(self) -> None:
        for name, (least, most) in self.ranges.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                bounds = f"{least:.10g} and {most:.10g}"
                raise InputError(f"setting {name}={value} is not between {bounds}")

    def scorer(self, task: Task) -> Scorer:
        """Prepares the task (index, encode, train) and returns what scores its candidate sets.

        Raises:
            InputError: something it needs is not here; see `missing`.
        """
        if type(self).prepare is Retriever.prepare:
            raise NotImplementedError(f"{type(self).__name__} has neither scorer nor prepare")
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        """Prepares the task's documents once, for queries that come later.

        By default everything is prepared again for each set of queries.
        """
        return self.scorer

    def index_format(self) -> IndexFormat | None:
        """How its prepared documents are kept on disk, or None where they are not."""
        return None

    def needed_format(self) -> IndexFormat:
        """Returns the `index_format`.

        Raises:
            InputError: it is None.
        """
        index_format = self.index_format()
        if index_format is None:
            raise InputError(
                f"the retriever {self.name} keeps no index",
                remedy=f"irtoolkit search DATASET TEXT --system {self.name} searches without one; an index"
                " is for bm25, the default, or a model such as all-MiniLM-L6-v2",
            )
        return index_format

    def scores_as(self, base: type[Retriever]) -> bool:
        """Whether it scores as a class that it is derived from does, so that its index serves it."""
        names = ("scorer", "prepare", "asked", "compared", "read", "comparison")
        return all(getattr(type(self), n, None) is getattr(base, n, None) for n in names)

    def missing(self) -> str | None:
        """The one thing this retriever lacks to run here, or None. Looks, and fetches nothing."""
        return None

    def asks_others(self) -> bool:
        """Whether it sends texts to a service on another machine, which may charge for it."""
        return False

    def stays_here(self) -> bool:
        """Whether it ranks in the process that was started, as where that alone may open a folder."""
        return False

    def computed(self) -> dict[str, Any]:
        """Returns what decides the scores and is known only where they are computed: device and precision."""
        return {}

    def on(self, lang: str | None) -> Self:
        """The retriever with the settings that it takes by default for texts in a language."""
        return self

    def fitted(self, dataset: Dataset) -> Self:
        """Returns the retriever with the settings that it takes by default for a dataset of its language."""
        return self

    def for_queries(self, view: str) -> Self:
        """The retriever with the settings that it takes by default for a view of the queries."""
        return self

    def most(self) -> int | None:
        """How many documents of a query it ranks at most; None where it ranks them all."""
        return None

    def searches(self, candidates: int) -> bool:
        """Whether so many candidates are searched, so that their scores need no memory."""
        return False

    def reads_corpus(self) -> bool:
        """Whether documents that are nobody's candidates take part in the scores."""
        return False

    def also_reads(self, task: Task) -> Iterable[str]:
        """Returns what decides the scores and is neither in the task nor a setting, for example training data."""
        return ()

    def server(self, task: Task) -> dict[str, Any]:
        """The server that answers, and its index, for the record of a run; empty without one."""
        return {}

    def fingerprint(self) -> str | None:
        """A hash of files outside the dataset that decide the scores, or None without any."""
        return None

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Builds the retriever from settings, whose values may be text.

        Raises:
            InputError: an unknown setting, or a value that is not of its kind.
        """
        return cls(**parse_settings(cls, settings, f"retriever {cls.name}"))

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value."""
        return asdict(self)

    def given(self) -> dict[str, Any]:
        """Returns the settings that are not its defaults."""
        settings = self.settings()
        return {
            item.name: settings[item.name]
            for item in fields(self)
            if item.name in settings and getattr(self, item.name) != item.default
        }
