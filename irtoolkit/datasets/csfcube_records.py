"""The records of CSFCube: papers, queries and judgments, and the facets they speak of."""

from typing import NamedTuple, Optional, Tuple  # noqa: UP035 ir_datasets compares these

FACETS = ("background", "method", "result")
# The predicted labels that make up each facet; the paper calls the first one background/objective
# (§3).
LABELS_OF = {
    "background": {"background", "objective"},
    "method": {"method"},
    "result": {"result"},
}
GRADES = {
    0: "Unrelated",
    1: "Related: similar in parts, or at a high level only",
    2: "Similar: the same kind of thing, with comparable details",
    3: "Near identical: the same kind of thing, with similar details",
}


class CSFCubeDoc(NamedTuple):
    """A paper: its abstract in sentences, each with the facet predicted for it.

    Labels are background, objective, method, result and other.
    """

    doc_id: str
    title: str
    sentences: Tuple[str, ...]  # noqa: UP006
    labels: Tuple[str, ...]  # noqa: UP006
    year: Optional[int]  # noqa: UP045

    @property
    def abstract(self) -> str:
        """The sentences, joined by a space."""
        return " ".join(self.sentences)

    def default_text(self) -> str:
        """Returns title and abstract."""
        return f"{self.title} {self.abstract}"


class CSFCubeQuery(NamedTuple):
    """A query paper and one of its facets.

    `sentences`, `labels` and `facet` together are the query of the paper's Definition 1 (retrieval
    by predefined facets); `facet_sentences` alone is that of its Definition 2 (retrieval by
    sentences). The release has the year of every query paper; users' own data may lack it.
    """

    query_id: str
    doc_id: str
    facet: str
    title: str
    sentences: Tuple[str, ...]  # noqa: UP006
    labels: Tuple[str, ...]  # noqa: UP006
    facet_sentences: Tuple[str, ...]  # noqa: UP006
    year: Optional[int]  # noqa: UP045
    paper_type: str

    @property
    def abstract(self) -> str:
        """Returns all sentences, joined by a space."""
        return " ".join(self.sentences)

    def default_text(self) -> str:
        """Returns the sentences of the facet."""
        return " ".join(self.facet_sentences)


class CSFCubeQrel(NamedTuple):
    """An adjudicated grade, with the two annotators' own grades (-1 for a missing one).

    `sources` names the methods that put the paper into the pool, and "cited".
    """

    query_id: str
    doc_id: str
    relevance: int
    ratings: Tuple[int, ...]  # noqa: UP006
    sources: Tuple[str, ...]  # noqa: UP006


# Table 2 of the paper: facet and stage to ρ, α, κ and the percentage of equal grades.
BEFORE, AFTER = "before", "after"
AGREEMENT: dict[tuple[str, ...], tuple[float, ...]] = {
    ("background", BEFORE): (0.45, 0.43, 0.28, 57.07),
    ("method", BEFORE): (0.31, 0.26, 0.20, 69.60),
    ("result", BEFORE): (0.42, 0.35, 0.26, 67.46),
    ("background", AFTER): (0.73, 0.72, 0.62, 77.68),
    ("method", AFTER): (0.63, 0.61, 0.54, 84.47),
    ("result", AFTER): (0.70, 0.67, 0.59, 83.53),
}
