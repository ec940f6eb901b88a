"""The functions behind the page, the API and the MCP tools, without HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.apps.serve import quality
from irtoolkit.apps.serve.asking import BusyError, Desk, PreparingError, Question
from irtoolkit.apps.serve.collection import Answer, Collection, SystemName, load_search
from irtoolkit.apps.serve.entries import Entry
from irtoolkit.apps.serve.judgments import (
    Judgment,
    Judgments,
    judgment_for,
    query_id,
)
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.serve.meaning import Meaning
from irtoolkit.apps.serve.models import (
    BookModel,
    CollectionModel,
    JudgmentAnswer,
    JudgmentModel,
    JudgmentRequest,
    NearAnswer,
    NearRequest,
    PassageModel,
    ProgressModel,
    SearchAnswer,
    SearchRequest,
    SystemAnswer,
)
from irtoolkit.apps.serve.shelf import Shelf
from irtoolkit.apps.serve.showing import (
    asked,
    chapters,
    located,
    nearest_words,
    passage,
    system_answer,
)
from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.ranking.book_search import told_share

if TYPE_CHECKING:
    from irtoolkit.ranking.book_words import BookWords

# Indexes that are built or wait for it.
_BUILDING = 8


class Library:
    """A shelf, a desk that answers, and the readers' judgments.

    Args:
        folder: where books and judgments are kept.
        model: compares meaning; None for words alone.
        limits: sizes and times.
        writes: whether this is the only process that uses the folder; if not, nothing is written.
    """

    def __init__(
        self, folder: Path, model: str | None, limits: Limits | None = None, *, writes: bool = True
    ) -> None:
        self.folder, self.limits = folder, limits or Limits()
        self.meaning = None if model is None else Meaning(model)
        self.shelf = Shelf(folder, self.meaning, self.limits)
        self.judgments = Judgments(folder, self.limits.judgments)
        self.measured = quality.load(folder)
        self.desk: Desk | None = None
        self.writes, self.ending = writes, False
        self.shows_judgments = True
        self._builder = ThreadPoolExecutor(1, "index")
        self._building: dict[str, asyncio.Future[BookWords]] = {}

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """From beginning to prepare and to answer until the end."""
        await self.open()
        try:
            yield
        finally:
            await self.close()

    async def open(self) -> None:
        """Begins to prepare and to answer; returns when searches can be answered."""
        self.desk = Desk(self.limits.waiting, self.limits.seconds)
        self.desk.open()
        await asyncio.to_thread(load_search)
        self.shelf.start(self.writes)

    def end(self) -> None:
        """Has preparation and streams of progress stop soon; answers go on until `close`."""
        self.ending = True
        self.shelf.preparing.end()

    async def close(self) -> None:
        """Ends; nothing that was confirmed is lost."""
        self.end()
        if self.desk is not None:
            await self.desk.close()
        self._builder.shutdown(wait=True, cancel_futures=True)
        await asyncio.to_thread(self.shelf.preparing.stop)

    def described(self, entry: Entry) -> CollectionModel:
        """A collection as the API gives it."""
        collection = entry.collection
        model = self.meaning.model if self.meaning and not self.meaning.why_not else None
        return CollectionModel(
            id=collection.name,
            title=collection.title,
            file=entry.file,
            source=entry.source,
            removable=entry.source == "book",
            lang=collection.lang,
            systems=[] if entry.damaged else list(collection.systems()),
            best=collection.best(),
            model=model,
            progress=ProgressModel(**asdict(entry.progress)),
            books=[
                BookModel(
                    name=novel.name,
                    title=novel.title,
                    author=novel.author,
                    sentences=len(novel.sentences),
                    words=novel.words,
                    lang=novel.lang,
                    encoding=novel.encoding,
                    chapters=chapters(collection, number),
                )
                for number, novel in enumerate(collection.novels)
            ],
            quality=quality.shown(self.measured, collection, model),
        )

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """The passages that some systems find.

        Raises:
            KeyError: no such collection.
            InputError: a query without a word, or a system that is not ready.
            BusyError, LateError: see `Desk.ask`.
            PreparingError: the book is being indexed.
        """
        assert self.desk is not None
        started = time.perf_counter()
        collection = self._readable(request.collection)
        text = asked(request.query)
        systems = list(dict.fromkeys(request.systems or [collection.best()]))
        judgments = (
            self.judgments.of(collection.name, request.query) if self.shows_judgments else []
        )
        await self._indexed(collection)

        def question(name: SystemName) -> Question:
            def show(answer: Answer) -> SystemAnswer:
                return system_answer(collection, name, text, answer, judgments, request.context)

            return Question(collection, name, text, request.length, request.depth, show)

        with self._first():
            answers = await self.desk.ask([question(name) for name in systems])
        return SearchAnswer(
            collection=collection.name,
            query=request.query,
            query_id=query_id(request.query),
            length=request.length,
            seconds=round(time.perf_counter() - started, 4),
            found={n: share for n in systems if (share := told_share(n, request.length))},
            answers=answers,
        )

    def _readable(self, name: str) -> Collection:
        entry = self.shelf.get(name)
        if entry.damaged:
            raise InputError(f"{name} cannot be read", remedy="remove it and add it again")
        return entry.collection

    def _first(self) -> AbstractContextManager[None]:
        """While a search is under way, books wait."""
        return nullcontext() if self.meaning is None else self.meaning.turns.search()

    async def _indexed(self, collection: Collection) -> None:
        """Waits a little for an index, which is built outside the threads that answer."""
        if collection.has_words:
            return
        key = collection.name
        if key not in self._building:
            if len(self._building) >= _BUILDING:
                raise BusyError
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._builder, lambda: collection.words)
            future.add_done_callback(lambda _: self._building.pop(key, None))
            self._building[key] = future
        building = self._building[key]
        done, _ = await asyncio.wait([building], timeout=self.limits.index_seconds)
        if not done:
            raise PreparingError
        building.result()

    async def near(self, request: NearRequest) -> NearAnswer:
        """The words of passages that are nearest in meaning to a query."""
        assert self.desk is not None
        collection = self._readable(request.collection)
        text = asked(request.query)
        with self._first():
            words = await self.desk.run(lambda: nearest_words(collection, text, request.passages))
        return NearAnswer(passages=words)

    async def read(self, name: str, passage_id: str, before: int, after: int) -> PassageModel:
        """`passage`, in a thread."""
        assert self.desk is not None
        return await self.desk.run(lambda: self.passage(name, passage_id, before, after))

    def passage(self, name: str, passage_id: str, before: int, after: int) -> PassageModel:
        """Returns a passage with the requested number of sentences around it, up to the limit."""
        collection = self.shelf.get(name).collection
        book, start, length = located(collection, passage_id)
        most = self.limits.context
        return passage(
            collection, book, start, length, before=min(before, most), after=min(after, most)
        )

    def check_collection(self, name: str | None) -> None:
        """Raises InputError for a collection that is not on the shelf, and of which no judgments are kept either.

        Raises:
            NoCollectionError: there is none.
        """
        # Judgments outlive the books that readers remove.
        if name is not None and not self.judgments.of(name):
            self.shelf.get(name)

    def judge(self, request: JudgmentRequest) -> JudgmentAnswer:
        """Keeps a judgment, or withdraws what counts for a passage.

        Raises:
            KeyError: no such collection.
            InputError: no such passage; or see `Judgments.add`.
        """
        collection = self.shelf.get(request.collection).collection
        for passage_id in (request.passage, *request.shown):
            located(collection, passage_id)
        judgment = Judgment(
            collection.name,
            request.query,
            request.passage,
            request.grade,
            request.system or "",
            request.rank,
        )
        recorded = self.judgments.add(judgment, request.seen)
        present = self.judgments.of(collection.name, request.query)
        counting = {name: judgment_for(present, Span.parse(name)) for name in request.shown}
        return JudgmentAnswer(
            **judged(recorded).model_dump(),
            grades={name: one.grade if one else None for name, one in counting.items()},
        )


def judged(judgment: Judgment) -> JudgmentModel:
    """Returns a judgment in the form of the API."""
    return JudgmentModel(
        collection=judgment.collection,
        query=judgment.query,
        query_id=judgment.query_id,
        passage=judgment.passage,
        grade=judgment.grade,
        time=judgment.time,
    )


def system_label(name: SystemName) -> str:
    """The name of a system for readers."""
    return {"words": "By words", "meaning": "By meaning", "both": "Both together"}[name]
