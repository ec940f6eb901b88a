"""A model that knows what each document is worth, as a reply of the stub, and what it is asked about."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

import numpy as np

from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import Task, load_task
from irtoolkit.runs import Run
from tests.datasets import register
from tests.llm_server import Handler

# The worth of a document is in its text; of the second query the least is the best.
QUERIES = {"q1": "the most precious", "q2": "the cheapest"}


def texts_worth(count: int, seed: int = 7) -> dict[str, str]:
    """Documents whose worth, 0 to count - 1, has nothing to do with their ids."""
    worth = random.Random(seed).sample(range(count), count)
    return {f"d{i:03}": f"a thing of worth {value} indeed" for i, value in enumerate(worth)}


def worth(text: str) -> int:
    found = re.search(r"worth (\d+)", text)
    assert found, text
    return int(found[1])


def best_order(docs: dict[str, str], query: str) -> list[str]:
    """The ids in the order of the model that knows."""
    sign = 1 if query == "q2" else -1
    return sorted(docs, key=lambda doc: sign * worth(docs[doc]))


def first_stage(
    docs: dict[str, str], queries: Iterable[str] = QUERIES, depth: int | None = None
) -> Task:
    """A task whose candidates stand in the order of their ids, as a first stage has ranked them."""
    rows = [(q, d, -float(i)) for q in queries for i, d in enumerate(sorted(docs))]
    own = {query: QUERIES[query] for query in queries}
    return load_task(register(docs, own)).among(Run.from_rows(rows), depth)


def ranking(task: Task, retriever: Retriever) -> dict[str, list[str]]:
    """Query id to the ids of its documents, best first."""
    run = rank(task, retriever, progress=False)
    return {query: list(row) for query, row in run.as_dict().items()}


def shown(prompt: str) -> list[str]:
    """The passages of a listwise prompt, in their order."""
    found = re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE)
    assert [int(number) for number, _ in found] == list(range(1, len(found) + 1))
    return [text for _, text in found]


def permutation(prompt: str) -> str:
    """What the model that knows writes for a listwise prompt."""
    sign = 1 if "cheapest" in prompt else -1
    values = np.array([sign * worth(text) for text in shown(prompt)])
    return " > ".join(f"[{place + 1}]" for place in np.argsort(values))


def choice(prompt: str) -> str:
    """What the model that knows writes for a pairwise prompt."""
    a, b = (
        worth(prompt.partition(f"Passage {name}: ")[2].partition("\n")[0]) for name in ("A", "B")
    )
    return "Passage A" if (a < b) == ("cheapest" in prompt) else "Passage B"


def oracle(handler: Handler) -> None:
    """Answers either kind of prompt."""
    prompt = handler.prompt
    handler.write_out(choice(prompt) if "Passage A:" in prompt else permutation(prompt))


def asked_twice(prompts: Sequence[str]) -> set[str]:
    return {prompt for prompt in prompts if prompts.count(prompt) > 1}
