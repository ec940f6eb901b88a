"""Queries of many readers: a bounded queue, answered in batches by a few threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar

from irtoolkit.apps.serve.collection import Answer, Collection, SystemName
from irtoolkit.apps.serve.models import SystemAnswer
from irtoolkit.base.errors import InputError

_T = TypeVar("_T")
# Queries that are answered together, and threads that answer.
_BATCH, _THREADS = 32, 2
# Seconds to wait for more queries while a batch is answered: a model takes five times as long for a
# query alone as for one of a batch. A single reader never waits.
_GATHER = 0.02


class BusyError(Exception):
    """More waits than the server takes."""


class PreparingError(Exception):
    """The error for a query whose books are still being prepared."""


class LateError(Exception):
    """A query was not answered in time."""


class Question(NamedTuple):
    """A query to one system of a collection.

    Attributes:
        collection, system, text: what is asked of what.
        length: sentences of a passage.
        depth: passages at most.
        show: makes of the answer what a reader gets.
    """

    collection: Collection
    system: SystemName
    text: str
    length: int
    depth: int
    show: Callable[[Answer], SystemAnswer]


_Waiting = tuple[Question, "asyncio.Future[SystemAnswer]"]


class Desk:
    """Takes questions and answers them; questions of one kind that wait are answered at once.

    Args:
        waiting: questions that wait at most.
        seconds: that an answer may take.
    """

    def __init__(self, waiting: int, seconds: float) -> None:
        self._most, self._seconds = waiting, seconds
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(waiting)
        self._pool = ThreadPoolExecutor(_THREADS, "answer")
        self._clerks: list[asyncio.Task[None]] = []
        self._works = self._batches = 0
        # For tests and /health: the largest batch so far, and answers given.
        self.largest, self.answered = 0, 0

    @property
    def waiting(self) -> int:
        """Questions that wait now, and other work that waits or is done."""
        return self._queue.qsize() + self._works

    def open(self) -> None:
        """Begins to answer."""
        self._clerks = [asyncio.create_task(self._serve()) for _ in range(_THREADS)]

    async def close(self) -> None:
        """Ends; questions that wait are not answered."""
        for clerk in self._clerks:
            clerk.cancel()
        await asyncio.gather(*self._clerks, return_exceptions=True)
        while not self._queue.empty():
            self._queue.get_nowait()[1].cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def ask(self, questions: Sequence[Question]) -> list[SystemAnswer]:
        """The answers to some questions of one reader.

        Raises:
            BusyError: too many wait; none of these is answered then.
            LateError: they took too long.
            InputError: see `Collection.answer`.
        """
        if self.waiting + len(questions) > self._most:
            raise BusyError
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in questions]
        for question, future in zip(questions, futures, strict=True):
            self._queue.put_nowait((question, future))
        try:
            async with asyncio.timeout(self._seconds):
                return [await future for future in futures]
        except TimeoutError:
            raise LateError from None
        finally:
            for future in futures:
                if not future.cancel() and not future.cancelled():
                    future.exception()  # that of another than the first is not told

    async def run(self, work: Callable[[], _T]) -> _T:
        """Does some other work in one of the threads.

        Raises:
            BusyError, LateError: see `ask`.
        """
        if self.waiting >= self._most:
            raise BusyError
        loop = asyncio.get_running_loop()
        self._works += 1
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._pool, work), self._seconds)
        except TimeoutError:
            raise LateError from None
        finally:
            self._works -= 1

    async def _serve(self) -> None:
        while True:
            waiting = [await self._queue.get()]
            if self._batches:
                try:
                    await asyncio.sleep(_GATHER)
                except asyncio.CancelledError:
                    waiting[0][1].cancel()
                    raise
            with suppress(asyncio.QueueEmpty):
                while len(waiting) < _BATCH:
                    waiting.append(self._queue.get_nowait())
            # Who went away is not answered.
            waiting = [request for request in waiting if not request[1].done()]
            groups: dict[tuple[Collection, SystemName, int], list[_Waiting]] = {}
            for request in waiting:
                question = request[0]
                kind = (question.collection, question.system, question.length)
                groups.setdefault(kind, []).append(request)
            for members in groups.values():
                await self._answer(members)

    async def _answer(self, members: Sequence[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        self.largest = max(self.largest, len(members))
        questions = [question for question, _ in members]
        self._batches += 1
        try:
            answers = await loop.run_in_executor(self._pool, _answers, questions)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            for _, future in members:
                if not future.done():
                    future.set_exception(
                        error if isinstance(error, InputError) else RuntimeError(str(error))
                    )
            return
        finally:
            self._batches -= 1
        for (_, future), answer in zip(members, answers, strict=True):
            self.answered += 1
            if not future.done():
                future.set_result(answer)


def _answers(questions: Sequence[Question]) -> list[SystemAnswer]:
    """Returns the answers to questions of one collection, system and length."""
    first = questions[0]
    texts = [one.text for one in questions]
    depth = max(one.depth for one in questions)
    answers = first.collection.answer(first.system, texts, first.length, depth)
    return [
        one.show(Answer(answer.found[: one.depth], answer.curve))
        for one, answer in zip(questions, answers, strict=True)
    ]
