"""Common parts of the analyses of QuoteR."""

from __future__ import annotations

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.quoter_release import QuoteQuery
from irtoolkit.papers.analyses.base import records

# In place of the quote in a context that is shown.
MASK = "[Quote]"


def contexts_of(dataset: Dataset) -> dict[str, QuoteQuery]:
    """Returns query id to context, of a dataset in QuoteR's form.

    Raises:
        InputError: its queries are not contexts of quotes.
    """
    queries = records(dataset, lambda record: isinstance(record, QuoteQuery), "contexts of quotes")
    return {query.query_id: query for query in queries}


def golds_of(dataset: Dataset) -> dict[str, str]:
    """Returns query id to the id of the quote that was in the context."""
    return {query: docs[0] for query, docs in dataset.relevant().items()}


def at_least_one(**settings: int) -> None:
    """Raises InputError for settings that are not positive numbers.

    Raises:
        InputError: one is less than 1.
    """
    for name, value in settings.items():
        if value < 1:
            raise InputError(f"{name} is {value}, not at least 1")
