"""Requests and responses of the API.

An answer has hundreds of sentences, so its parts are dataclasses, which are not validated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from irtoolkit.apps.serve.collection import SystemName
from irtoolkit.apps.serve.entries import Stage
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.web.pages import Whole
from irtoolkit.datasets.novels import LONGEST
from irtoolkit.ranking.book_system import BOOKS

_MOST = Limits()
CollectionId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
PassageId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S+$")]
QueryText = Annotated[str, StringConstraints(min_length=1, max_length=_MOST.query)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProgressModel(BaseModel):
    """How far a collection is prepared."""

    stage: Stage
    done: int = Field(description="sentences that are prepared")
    total: int = Field(description="sentences in all")
    message: str = Field(description="why it failed, or why meaning is not compared; else empty")


class ChapterModel(BaseModel):
    """A chapter and where it begins."""

    title: str
    start: int = Field(description="its first sentence, from 0")
    share: float = Field(description="the share of the book before it, from 0 to 1")


class BookModel(BaseModel):
    """A book of a collection."""

    name: str = Field(description="what ids of its passages begin with")
    title: str
    author: str
    sentences: int
    words: int
    lang: str | None
    encoding: str
    chapters: list[ChapterModel]


class QualityModel(BaseModel):
    """The measured share of known quotations that a system finds among its first passages."""

    system: SystemName
    found: int = Field(
        description="quotations with a passage among the first that shares a sentence"
    )
    of: int = Field(description="quotations that were asked for")
    depth: int


class MeasuredModel(BaseModel):
    """A measurement by `irtoolkit serve DATASET --measure`."""

    dataset: str
    books: int
    systems: list[QualityModel]
    model: str | None
    measured: str = Field(description="the day, as YYYY-MM-DD")
    command: str
    here: bool = Field(description="whether it was measured on the books of this collection")


class CollectionModel(BaseModel):
    """A collection on the shelf."""

    id: str
    title: str
    file: str = Field(description="the name of the book's file; empty for a dataset")
    source: Literal["book", "file", "dataset"]
    removable: bool
    lang: str | None
    systems: list[SystemName] = Field(description="systems that can answer now")
    best: SystemName = Field(description="the system that answers unless another is named")
    model: str | None = Field(description="the model that compares meaning, if any")
    progress: ProgressModel
    books: list[BookModel]
    quality: list[MeasuredModel]


class SearchRequest(_Strict):
    """A search of one collection."""

    collection: CollectionId
    query: QueryText = Field(
        description="a sentence or more; `[quote]` may mark the place of the quotation that is sought"
    )
    systems: list[SystemName] | None = Field(
        default=None,
        min_length=1,
        max_length=3,
        description="by default the best that can answer now",
    )
    length: Whole = Field(
        default=BOOKS.length, ge=1, le=LONGEST, description="sentences of a passage"
    )
    depth: Whole = Field(default=20, ge=1, le=_MOST.depth, description="passages of each system")
    context: Whole = Field(default=2, ge=0, le=10, description="sentences before and after each")
    format: Literal["json", "csv", "trec"] = "json"


@dataclass(slots=True)
class SentenceModel:
    """A sentence; its pieces joined are its text."""

    number: Annotated[int, Field(description="in the book, from 0")]
    pieces: Annotated[
        list[str], Field(description="plain and shared with the query in turn, plain first")
    ]
    paragraph: Annotated[bool, Field(description="whether a paragraph begins here")]
    similarity: Annotated[float | None, Field(description="cosine with the query")] = None


@dataclass(slots=True)
class PlaceModel:
    """Where a passage is."""

    chapter: str
    number: Annotated[int, Field(description="of the chapter, from 1; 0 before the first")]
    sentence: Annotated[int, Field(description="its first sentence in the chapter, from 1")]
    share: Annotated[float, Field(description="the share of the book before it, from 0 to 1")]


@dataclass(slots=True)
class PassageModel:
    """A passage in its surroundings."""

    id: str
    collection: str
    book: str
    title: str
    author: str
    place: PlaceModel
    before: list[SentenceModel]
    sentences: list[SentenceModel]
    after: list[SentenceModel]


@dataclass(slots=True)
class HitModel(PassageModel):
    """A passage that was found."""

    rank: int
    score: float
    explanation: Annotated[str, Field(description="the score in words")]
    shared: Annotated[list[str], Field(description="words shared with the query, the rarest first")]
    grade: Annotated[int | None, Field(description="1 this is it, 0 not this, null not judged")]
    judged: Annotated[
        str | None,
        Field(description="the passage whose judgment counts: this one, or one that overlaps it"),
    ]


@dataclass(slots=True)
class SystemAnswer:
    """The passages that one system found."""

    system: SystemName
    hits: list[HitModel]
    curve: Annotated[
        list[list[float]],
        Field(description="for each book, the greatest similarity in equal parts; empty by words"),
    ]
    note: Annotated[
        str, Field(description="why nothing was found, or what to beware of; else empty")
    ]


class SearchAnswer(BaseModel):
    """The answer to a search."""

    collection: str
    query: str
    query_id: str = Field(description="the query's id in exported runs and judgments")
    length: int
    seconds: float
    found: dict[SystemName, str] = Field(
        description="what each system finds of known passages of other books, in words; only for"
        " the length of passages on which it was measured"
    )
    answers: list[SystemAnswer]


class JudgmentRequest(_Strict):
    """A reader's judgment of a passage."""

    collection: CollectionId
    query: QueryText
    passage: PassageId
    grade: Annotated[Whole, Field(ge=0, le=1)] | None = Field(
        description="1 this is it, 0 not this; null withdraws what counts for the passage"
    )
    seen: Annotated[Whole, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="with null as the grade: the grade that is withdrawn; another one stays",
    )
    system: SystemName | None = None
    rank: Whole = Field(default=0, ge=0, le=_MOST.depth)
    shown: list[PassageId] = Field(
        default=[],
        max_length=len(get_args(SystemName)) * _MOST.depth,
        description="passages of which the answer gives the grades that count now",
    )


class JudgmentModel(BaseModel):
    """A judgment that counts."""

    collection: str
    query: str
    query_id: str
    passage: str
    grade: int | None
    time: float


class JudgmentAnswer(JudgmentModel):
    """A judgment that was recorded."""

    grades: dict[str, int | None] = Field(
        description="for each passage of `shown`, the grade that counts now"
    )


class NearRequest(_Strict):
    """Which words of some passages are nearest to a query in meaning."""

    collection: CollectionId
    query: QueryText
    passages: list[PassageId] = Field(min_length=1, max_length=20)


class NearWord(BaseModel):
    """A word and its cosine with the query."""

    word: str
    similarity: float


class NearAnswer(BaseModel):
    """For each passage, its nearest words."""

    passages: dict[str, list[NearWord]]


class HealthModel(BaseModel):
    """Whether the server answers."""

    status: Literal["ok"]
    version: str
    collections: int
    waiting: int = Field(description="queries that wait now")
    preparing: int = Field(description="collections that are being prepared")
    public: bool = Field(description="whether nothing can be added or judged")
    limits: dict[str, int | float]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
