"""How many known quotations a system finds among its first passages, measured and kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.apps.serve.collection import SYSTEMS, Answer, Collection, SystemName
from irtoolkit.apps.serve.models import MeasuredModel, QualityModel
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import load_json
from irtoolkit.base.locks import locked
from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset

FILE = "quality.json"
# The passages that the page shows where nobody says otherwise.
DEPTH = 20
_QUERIES = 64


def measure(
    collection: Collection, dataset: Dataset, tell: Callable[[int, int], object] = lambda a, b: None
) -> dict[str, Any]:
    """Asks for every judged passage of a dataset as the page does, with passages of its length.

    A quotation is found where one of the first passages shares a sentence with it. All books of the
    collection are searched.

    Args:
        collection: the dataset's books.
        dataset: with queries and judgments of passages of books.
        tell: called with how many queries are done, and how many there are.

    Returns:
        The record of `load`.

    Raises:
        InputError: the dataset has no judged passages.
    """
    texts, golds = _quotations(dataset)
    by_length: dict[int, list[str]] = {}
    for query, spans in golds.items():
        by_length.setdefault(spans[0].length, []).append(query)
    hits: Counter[SystemName] = Counter()
    done = 0
    for length, queries in sorted(by_length.items()):
        for start in range(0, len(queries), _QUERIES):
            part = queries[start : start + _QUERIES]
            for system in collection.systems():
                answers = collection.answer(system, [texts[q] for q in part], length, DEPTH)
                hits[system] += sum(
                    _is_found(collection, answer, golds[query])
                    for query, answer in zip(part, answers, strict=True)
                )
            done += len(part)
            tell(done, len(golds))
    return {
        "dataset": dataset.id,
        "books": len(collection.novels),
        "depth": DEPTH,
        "of": len(golds),
        "found": {name: hits[name] for name in SYSTEMS if name in collection.systems()},
        "model": collection.meaning.model
        if collection.meaning and collection.has_vectors
        else None,
        "measured": time.strftime("%Y-%m-%d", time.gmtime()),
        "key": _key(collection),
    }


def _quotations(dataset: Dataset) -> tuple[dict[str, str], dict[str, list[Span]]]:
    """The text of each query, and the passages that were quoted for it."""
    if not (dataset.has("queries") and dataset.judgments_are_here):
        raise InputError(
            f"{dataset.id} has no judged queries", remedy="name one that has, such as relic/val"
        )
    texts = {query.query_id: query.default_text() for query in dataset.queries}
    golds = {
        query: [Span.parse(doc) for doc in docs]
        for query, docs in dataset.relevant().items()
        if docs and query in texts
    }
    return texts, golds


def _is_found(collection: Collection, answer: Answer, golds: Sequence[Span]) -> bool:
    return any(
        _meets(collection.novels[hit.book].name, hit.start, hit.length, gold)
        for hit in answer.found
        for gold in golds
    )


def _key(collection: Collection) -> str:
    """Tells the books of a collection from others, all of them."""
    return hashlib.sha256(collection.key.encode()).hexdigest()


def _meets(book: str, start: int, length: int, gold: Span) -> bool:
    return book == gold.book and start < gold.stop and gold.start < start + length


def keep(folder: Path, record: dict[str, Any]) -> Path:
    """Writes a record beside those of other datasets; returns the file."""
    path = folder / FILE
    # Of two measurements that end at once none is lost.
    with locked(path.with_name(f".{FILE}.lock")):
        by_kind = {_kind(entry): entry for entry in [*load(folder), record]}
        with atomic_text(path) as out:
            json.dump(list(by_kind.values()), out, indent=1, ensure_ascii=False)
    return path


def _kind(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["dataset"], record["model"], record["key"]


def load(folder: Path) -> list[dict[str, Any]]:
    """The records of a folder.

    Raises:
        InputError: the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        content = load_json(path.read_text("utf-8"))
        return [dict(entry) for entry in content]
    except (ValueError, TypeError) as error:
        raise InputError(
            f"not a record of measurements: {error}",
            file=path,
            remedy="move it away, and measure again with --measure",
        ) from None


def shown(
    records: Sequence[dict[str, Any]], collection: Collection, model: str | None
) -> list[MeasuredModel]:
    """The measurements to show with a collection: its own, else all that were made with its model."""
    # Figures of another model say nothing of this one.
    of_model = [record for record in records if record["model"] == model]
    of_collection = [record for record in of_model if record["key"] == _key(collection)]
    return [
        MeasuredModel(
            dataset=record["dataset"],
            books=record["books"],
            model=record["model"],
            measured=record["measured"],
            here=bool(of_collection),
            command=f"irtoolkit serve {record['dataset']} --measure --model {record['model'] or 'none'}",
            systems=[
                QualityModel(system=name, found=count, of=record["of"], depth=record["depth"])
                for name, count in record["found"].items()
            ],
        )
        for record in of_collection or of_model
    ]
