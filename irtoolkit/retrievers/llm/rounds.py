"""Rankings that ask in several rounds, where the next prompts depend on the last answers.

Each is a generator that yields prompts and is sent their completions. Those of several queries are
stepped together, so that a round has prompts enough to keep an endpoint busy.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias, TypeVar

from irtoolkit.models.llm.generator import Completion

T = TypeVar("T")
# Yields prompts, is sent a completion for each, and returns what it makes of them.
Steps: TypeAlias = Generator[list[str], Sequence[Completion], T]


def together(jobs: Iterable[Steps[T]], most: int | None = None) -> Steps[list[T]]:
    """Steps several jobs at once; their prompts are one round.

    Args:
        jobs: begun in order, one after another as there is room.
        most: a job begins only while a round has fewer prompts; None begins all.

    Returns:
        What each job returns, in their order.
    """
    waiting = enumerate(jobs)
    results: dict[int, T] = {}
    running: list[tuple[int, Steps[T], list[str]]] = []
    while True:
        size = sum(len(prompts) for _, _, prompts in running)
        while most is None or size < most:
            number, job = next(waiting, (-1, None))
            if job is None:
                break
            prompts = _step(job, None, results, number)
            if prompts is not None:
                running.append((number, job, prompts))
                size += len(prompts)
        if not running:
            return [results[number] for number in range(len(results))]
        answers = yield [prompt for _, _, prompts in running for prompt in prompts]
        begin, after = 0, []
        for number, job, job_prompts in running:
            replies = answers[begin : begin + len(job_prompts)]
            begin += len(job_prompts)
            prompts = _step(job, replies, results, number)
            if prompts is not None:
                after.append((number, job, prompts))
        running = after


def _step(
    job: Steps[T], answers: Sequence[Completion] | None, results: dict[int, T], number: int
) -> list[str] | None:
    """The next prompts of a job; None where it has ended, and its result is kept."""
    try:
        return next(job) if answers is None else job.send(answers)
    except StopIteration as end:
        results[number] = end.value
        return None
