"""Telling comments that describe a plot from those that express a reader's feelings (§4.2, step 2).

The paper asks ChatGPT. Here a classifier is trained from labelled texts, or a rule decides: names of the
book and pronouns of the third person count for a plot, words of reading and of the first person against.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.languages import EAST
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.strictjson import read_jsonl

# Raised when the same texts are judged otherwise.
FORMAT = 1
PLOT, NOT = LABELS = ("plot", "not")
# Labelled texts of each kind, at least; and parts that are held out in turn.
LEAST, FOLDS = 10, 5
# A word is a name of a book that has it so often within sentences, and hardly ever in small letters.
_OFTEN = 5
_WITHIN = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
_WORD = re.compile(r"[^\W\d_]+")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_STORY = _words("he she they him her his hers their them himself herself themselves")
_READING = _words(
    "i me my mine we us our you your this book novel author chapter story read reading reader reads"
    " translation translator writer page pages quote sentence passage paragraph style edition"
)


class Judge(Protocol):
    """A judge of the probability that texts describe a plot.

    Attributes:
        key: a hash of all that decides.
        report: its quality on held-out texts, by name; empty of a rule.
    """

    @property
    def key(self) -> str: ...

    @property
    def report(self) -> dict[str, float]: ...

    def __call__(self, texts: Sequence[str], names: Set[str]) -> list[float]:
        """Returns the probability of each text, from 0 to 1; `names` are those of the book."""
        ...


@dataclass(frozen=True)
class Rule:
    """The share of names and pronouns among the words that speak for a plot or against it."""

    @property
    def key(self) -> str:
        return f"rule {FORMAT}"

    @property
    def report(self) -> dict[str, float]:
        return {}

    def __call__(self, texts: Sequence[str], names: Set[str]) -> list[float]:
        return [self._share(text, names) for text in texts]

    def _share(self, text: str, names: Set[str]) -> float:
        if EAST.search(text):
            return 1.0  # such scripts have no capital letters, so there are no names to see
        words = _WORD.findall(text)
        story_words = sum(word in names or word.lower() in _STORY for word in words)
        spoken = sum(word.lower() in _READING for word in words if word not in names)
        return round(story_words / (story_words + spoken), 4) if story_words else 0.0


@dataclass(frozen=True)
class Labelled:
    """Texts with labels.

    Attributes:
        texts: at least `LEAST` of each label.
        labels: (n,) `PLOT` or `NOT`.
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Trained:
    """A logistic regression on TF-IDF of words and pairs of words; names are one word to it."""

    labelled: Labelled

    @cached_property
    def key(self) -> str:
        return digest(f"tf-idf {FORMAT}", *self.labelled.texts, *self.labelled.labels)

    @cached_property
    def report(self) -> dict[str, float]:
        """Accuracy and F1 of "plot" on texts that are held out in turn, in percent."""
        from sklearn.metrics import accuracy_score, f1_score
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        labels = np.array(self.labelled.labels)
        parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        predicted = cross_val_predict(_pipeline(), list(self.labelled.texts), labels, cv=parts)
        most = Counter(self.labelled.labels).most_common(1)[0][1]
        return {
            "labelled texts": len(labels),
            "held-out accuracy, percent": round(100 * float(accuracy_score(labels, predicted)), 1),
            "held-out F1 of plot, percent": round(
                100 * float(f1_score(labels, predicted, pos_label=PLOT)), 1
            ),
            "share of the commoner label, percent": round(100 * most / len(labels), 1),
        }

    @cached_property
    def _model(self) -> Any:
        return _pipeline().fit(list(self.labelled.texts), list(self.labelled.labels))

    def __call__(self, texts: Sequence[str], names: Set[str]) -> list[float]:
        if not texts:
            return []
        column = list(self._model.classes_).index(PLOT)
        probabilities = self._model.predict_proba([masked(text, names) for text in texts])[
            :, column
        ]
        return [round(float(value), 4) for value in probabilities]


def _pipeline() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(
        preprocessor=_prepared, token_pattern=r"(?u)\w+|[!?]", ngram_range=(1, 2), sublinear_tf=True
    )
    return make_pipeline(words, LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000))


def _prepared(text: str) -> str:
    # Another book has other names, and characters of scripts without spaces are words.
    return EAST.sub(r" \g<0> ", _WITHIN.sub("someone", text)).lower()


def masked(text: str, names: Set[str]) -> str:
    """Returns a text with the names of the book as one word."""
    return _WORD.sub(lambda match: "someone" if match[0] in names else match[0], text)


def names_of(sentences: Sequence[str]) -> frozenset[str]:
    """Returns the names in a book: words that are capitalised within sentences, almost always."""
    within = Counter(word for s in sentences for word in _WITHIN.findall(s))
    small = Counter(word for s in sentences for word in _WORD.findall(s) if word.islower())
    return frozenset(
        word
        for word, count in within.items()
        if count >= _OFTEN and small[word.lower()] * 10 <= count and word.lower() not in _READING
    )


def read_labelled(path: Path) -> Labelled:
    """Reads labelled texts: JSON lines with `text` and `label`, or lines of a text, a tab and a label.

    Raises:
        InputError: a line is neither, or has another label; or there are too few texts.
    """
    texts, labels = [], []
    for line, text, label in _rows(path):
        if not isinstance(text, str) or not text.strip() or label not in LABELS:
            problem = f"label {label!r}" if isinstance(text, str) and text.strip() else "no text"
            raise InputError(
                problem, file=path, line=line, remedy=f"a label is {' or '.join(LABELS)}"
            )
        texts.append(" ".join(text.split()))
        labels.append(label)
    counts = Counter(labels)
    for label in LABELS:
        if counts[label] < LEAST:
            raise InputError(
                f"{counts[label]} texts with the label {label}",
                file=path,
                remedy=f"give {LEAST} or more of each label",
            )
    return Labelled(tuple(texts), tuple(labels))


def _rows(path: Path) -> Any:
    if path.suffix.lower() == ".jsonl":
        for line, record in read_jsonl(path, by_user=True):
            fields = record if isinstance(record, dict) else {}
            yield line, fields.get("text"), fields.get("label")
        return
    for line, row in read_lines(path):
        if row.strip():
            text, tab, label = row.rpartition("\t")
            yield line, text if tab else row, label.strip() if tab else ""
