"""TF-IDF vectors, compared by their cosine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.cache import content_hash
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.retrievers._file_statistics import FileStatistics
from irtoolkit.retrievers.lexical import Lexical, StatisticsSource
from irtoolkit.retrievers.task import Task

if TYPE_CHECKING:
    from irtoolkit.retrievers.postings_index import PostingsIndex


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
        return None if self.statistics in get_args(StatisticsSource) else Path(self.statistics)

    def outside(self, task: Task) -> Any:
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        return None if self._file is None else FileStatistics(self._file, self.analysis(task.lang))

    def postings_format(self) -> PostingsIndex:
        from irtoolkit.retrievers.cosine_postings import CosineIndex

        return CosineIndex(self)

    def index_format(self) -> IndexFormat | None:
        # The statistics of an index are those of its documents.
        return super().index_format() if self._file is None else None
