"""Conflicts between training rows: rows that must not be in the same batch."""

from __future__ import annotations

import numpy as np

from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.training.ragged import Ragged, distinct
from irtoolkit.training.training_set import TrainingSet


class Conflicts:
    """The documents that each row brings into its batch, and those that its query excludes.

    Two rows conflict if one brings a document that the other's query excludes, because it would
    serve that query as a negative. Documents are given by keys, see `Exclusions`.

    Attributes:
        golds: (n,) word set of each row's relevant document.
        brought: the keys of each row's relevant document and mined negatives.
        excluded: the keys that each row's query excludes.
    """

    def __init__(self, rows: TrainingSet) -> None:
        exclusions, docs = rows.exclusions, rows.golds[:, None]
        count = exclusions.word_set_count
        self.golds = exclusions.word_sets[rows.golds]
        if rows.negatives is not None:
            docs = np.column_stack([docs, rows.negatives])
        keys = exclusions.word_sets[docs]
        if (exclusions.keys.values >= count).any():  # single documents are excluded too
            keys = np.column_stack([keys, count + docs])
        self.brought = Ragged(np.arange(len(rows) + 1) * keys.shape[1], keys.ravel())
        owners, excluded = exclusions.keys.take(rows.query_of)
        self.excluded = Ragged(offsets_of(owners, len(rows)), excluded)
        self._width = count + len(exclusions.word_sets)

    def clusters(self, groups: Ints) -> Ints:
        """Returns each row's cluster number; conflicting rows of a group share a cluster."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        bringing, excluding, brought, excluded, total = self._within(groups)
        # A key matters only if one row brings it and another one excludes it.
        brings = np.bincount(brought, minlength=total)
        excludes = np.bincount(excluded, minlength=total)
        first, second = np.zeros(total, np.int64), np.zeros(total, np.int64)
        first[brought], second[excluded] = bringing, excluding
        active = (brings > 0) & (excludes > 0) & ((brings + excludes > 2) | (first != second))
        on_brought, on_excluded = active[brought], active[excluded]
        owners = np.concatenate([bringing[on_brought], excluding[on_excluded]])
        keys = np.concatenate([brought[on_brought], excluded[on_excluded]])
        count = len(groups) + total
        edges = coo_array(
            (np.ones(len(owners), np.bool_), (owners, len(groups) + keys)), (count, count)
        )
        labels = connected_components(edges, directed=False)[1]
        return np.asarray(labels[: len(groups)], np.int64)

    def _within(self, groups: Ints) -> tuple[Ints, Ints, Ints, Ints, int]:
        """Makes the keys distinct for each group.

        Returns:
            The rows that bring and that exclude keys, the keys that they bring and exclude, and
            the number of keys.
        """
        bringing, excluding = self.brought.owners, self.excluded.owners
        brought, excluded = self.brought.values, self.excluded.values
        if not len(groups) or (groups == groups[0]).all():
            return bringing, excluding, brought, excluded, self._width
        brought = brought + groups[bringing] * self._width
        excluded = excluded + groups[excluding] * self._width
        keys = distinct(excluded)
        total, excluded = len(keys), np.searchsorted(keys, excluded)
        index = np.minimum(np.searchsorted(keys, brought), total - 1)
        same = keys[index] == brought
        return bringing[same], excluding, index[same], excluded, total
