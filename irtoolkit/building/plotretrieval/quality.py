"""The quality report of a benchmark in PlotRetrieval's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from irtoolkit.building.pipeline import encoding_notes
from irtoolkit.building.plotretrieval.alignment import DECISIONS
from irtoolkit.building.plotretrieval.filters import length_of, overlap
from irtoolkit.building.plotretrieval.release import Pair
from irtoolkit.building.quality import Quality, Sample, histogram, mean, near_duplicates, sampled
from irtoolkit.building.relic.books import ReadBook
from irtoolkit.building.relic.words import Words
from irtoolkit.datasets.plotretrieval_release import CHUNK
from irtoolkit.datasets.word_overlap import WordSource

# Tables 1 and 2, and §4.2, steps 1 to 3.
_PAPER = {
    "comments": 52924 + 1005480,
    "pairs for training": 400000,
    "pairs for validation": 37609,
    "pairs for testing": 4572,
    "books": 33 + 105,
    "plot chunks of the test books": 136195,
    "words of a query, mean": 29.1,
    "words of a chunk of the test books, mean": 58.1,
}
_OVERLAP = {"word overlap of query and passage, percent": 19.6}


@dataclass
class Gathered:
    """The pairs of a benchmark with their sources.

    Attributes:
        books: all books, with pairs or not.
        words: the source of the words for the word overlap.
        comments: their number.
        candidates: pairs that a reader may confirm, including those of the benchmark.
        pairs: those of the benchmark.
        left_out: comments that make no pair, by the reason.
        splits: the books of each split.
        test_words: words of each book of the test split.
        classifier: figures of the classifier on held-out texts.
        continued: pieces that an earlier build had done.
        pieces: all pieces.
    """

    books: list[ReadBook]
    words: WordSource
    comments: int = 0
    candidates: list[Pair] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    splits: dict[str, list[str]] = field(default_factory=dict)
    test_words: dict[str, int] = field(default_factory=dict)
    classifier: dict[str, float] = field(default_factory=dict)
    continued: int = 0
    pieces: int = 0

    def of_split(self, split: str) -> list[Pair]:
        """Returns the pairs of a split."""
        names = self.splits.get(split, ())
        return [pair for pair in self.pairs if pair.book in names]

    @property
    def checked(self) -> bool:
        """Whether readers have given verdicts."""
        return any(pair.verdict for pair in self.candidates)

    def notes(self) -> Iterator[str]:
        """Yields notes for the user: other encodings than UTF-8, and the source of words."""
        yield from encoding_notes((book.path, book.encoding) for book in self.books)
        if self.words != "nltk":
            yield "word overlap without NLTK's data: scikit-learn's words, not those of the paper"


def quality(gathered: Gathered) -> Quality:
    """Returns the figures of a benchmark."""
    pairs = gathered.pairs
    langs = {book.name: book.lang for book in gathered.books}
    shared = [
        100 * overlap(pair.query, pair.passage, langs[pair.book], gathered.words) for pair in pairs
    ]
    split_of = {book: split for split, books in gathered.splits.items() for book in books}
    tables = {
        "books": dict(Counter(pair.book for pair in pairs).most_common()),
        "comments left out": dict(gathered.left_out.most_common()),
        "decided without a reader": _decisions(gathered.candidates),
        **({"verdicts of readers": _verdicts(gathered.candidates)} if gathered.checked else {}),
        "sentences of a passage": histogram([p.span[1] - p.span[0] for p in pairs], 1),
        "words of a query": histogram([length_of(pair.query) for pair in pairs], 10),
        "percent of the query's words in its passage": histogram(shared, 10, most=100),
    }
    return Quality(
        counts={
            **_counts(gathered),
            "word overlap of query and passage, percent": mean(shared),
            **gathered.classifier,
        },
        paper=_PAPER | (_OVERLAP if gathered.words == "nltk" else {}),
        tables=tables,
        findings={
            "queries that a reader has shortened or rewritten": sum(
                pair.query != pair.comment.text for pair in pairs
            ),
            "near duplicates across splits": near_duplicates(
                {pair.comment.id: Words.of(pair.query).line.split() for pair in pairs},
                {pair.comment.id: split_of[pair.book] for pair in pairs},
            ),
        },
        sample=[_shown(pair) for pair in sampled(pairs)],
    )


def _counts(gathered: Gathered) -> dict[str, float]:
    tested = [book for book in gathered.books if book.name in gathered.test_words]
    chunks = sum(-(-book.count // CHUNK) for book in tested)
    words = sum(gathered.test_words.values())
    return {
        "comments": gathered.comments,
        "pairs for training": len(gathered.of_split("train")),
        "pairs for validation": len(gathered.of_split("val")),
        "pairs for testing": len(gathered.of_split("test")),
        "books": len(gathered.books),
        "books with a pair": len({pair.book for pair in gathered.pairs}),
        "plot chunks of the test books": chunks,
        "words of a query, mean": mean([length_of(pair.query) for pair in gathered.pairs]),
        "words of a chunk of the test books, mean": round(words / max(1, chunks), 1),
    }


def _decisions(pairs: Sequence[Pair]) -> dict[str, int]:
    counts = Counter(str(pair.record["decision"]) for pair in pairs)
    return {decision: counts[decision] for decision in DECISIONS if counts[decision]}


def _verdicts(pairs: Sequence[Pair]) -> dict[str, int]:
    """Returns how the decisions without a reader agree with the readers."""
    counts = Counter(f"{pair.record['decision']}: {pair.verdict or 'no verdict'}" for pair in pairs)
    return dict(sorted(counts.items()))


def _shown(pair: Pair) -> Sample:
    details = {
        "passage": pair.gold,
        "decision": pair.record["decision"],
        "score": pair.record["score"],
    }
    return Sample(pair.comment.id, details, f"{pair.query} =>", pair.passage)
