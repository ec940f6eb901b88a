"""TF-IDF vectors, compared by their cosine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.cache import content_hash
from irtoolkit.indexes.form import KeptForm
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._file_statistics import FileStatistics
from irtoolkit.retrievers._matching import Matcher
from irtoolkit.retrievers._terms import TermScores, Vocabulary
from irtoolkit.retrievers.lexical import Lexical, Statistics
from irtoolkit.retrievers.task import Task


@dataclass(frozen=True)
class TFIDF(Lexical):
    """Cosine of TF-IDF vectors, as scikit-learn weights them: tf · (ln((1+N)/(1+n)) + 1).

    Unit vectors order alike by cosine, by dot product and by L2 distance.

    Attributes:
        statistics: whose frequencies weigh the terms: each query's "candidates", the whole
            "corpus", or a file of other texts, one in a line or as JSON lines; a term that none
            of these texts has weighs nothing.
        smooth: whether N and n are each one higher.
    """

    name: ClassVar[str] = "tfidf"

    statistics: str = "corpus"  # type: ignore[assignment]
    smooth: bool = True

    def missing(self) -> str | None:
        if self._file is not None and not self._file.is_file():
            return (
                f"the file of statistics {self._file} is not there (or give corpus or candidates)"
            )
        return super().missing()

    def fingerprint(self) -> str | None:
        return None if self._file is None or self.missing() else content_hash(self._file)

    @property
    def _file(self) -> Path | None:
        return None if self.statistics in get_args(Statistics) else Path(self.statistics)

    def outside(self, task: Task, vocabulary: Vocabulary) -> FileStatistics | None:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        if self._file is None:
            return None
        return FileStatistics(self._file, self.analysis(task.lang), vocabulary)

    def kept(self) -> KeptForm | None:
        from irtoolkit.retrievers.kept_scans import CosineIndex

        # The statistics of an index are those of its documents.
        return CosineIndex(self) if self._file is None and self.scores_as(TFIDF) else None

    def matcher(self, counts: Any, collection: Collection) -> Matcher:
        extra = int(self.smooth)
        idf = np.log((collection.size + extra) / np.maximum(collection.found + extra, 1)) + 1
        idf[collection.found == 0] = 0.0

        def vectors(matrix: Any) -> Any:
            weighted = matrix.copy()
            weighted.data = matrix.data * idf[matrix.indices]
            return _unit_rows(weighted)

        match = TermScores(vectors(counts))
        return lambda queries: match(vectors(queries))


def _unit_rows(matrix: Any) -> Any:
    """A CSR matrix with its rows scaled to length 1, which is changed; empty rows stay empty.

    The squares of a row are summed in its order, so that the lengths are scikit-learn's to the bit.
    """
    squares = matrix.copy()
    squares.data = matrix.data * matrix.data
    lengths = np.sqrt(squares @ np.ones(matrix.shape[1]))
    lengths[lengths == 0] = 1.0
    matrix.data = matrix.data / np.repeat(lengths, np.diff(matrix.indptr))
    return matrix
