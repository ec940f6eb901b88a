"""The steps of a build, one by one: names, rule, classifier, alignment, decision, queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.plotretrieval.alignment import (
    ASK,
    DROP,
    KEEP,
    BookScores,
    Passage,
    Reach,
    Thresholds,
    decide,
    passage_of,
    score_of,
    window_of,
)
from irtoolkit.building.plotretrieval.comments import Comment
from irtoolkit.building.plotretrieval.filters import Filter, overlap
from irtoolkit.building.plotretrieval.plots import (
    NOT,
    PLOT,
    Labelled,
    Trained,
    names_of,
    read_labelled,
)
from irtoolkit.building.plotretrieval.release import Pair, _queries
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.retrievers.lexical import BM25

BOOK = ["Then, said Pip, old Joe came."] * 6 + [
    "The Rose is red, and Rose blooms.",
    "A rose, a rose.",
]


def test_names_are_capitals_within_sentences() -> None:
    assert names_of(BOOK) == {"Pip", "Joe"}
    assert names_of(BOOK[:4]) == set()  # too seldom
    # A word that is also there in small letters is no name.
    assert names_of(["It is, Lamp says, so."] * 5 + ["the lamp"]) == set()


def test_a_classifier_learns_what_the_rule_cannot_see() -> None:
    told = [f"the {a} {b} of the {c}" for a in ("burning", "sinking") for b in ("ship", "house")
            for c in ("king", "widow", "thief", "priest", "child")]  # fmt: skip
    felt = [f"{a} {b} {c}" for a in ("what a", "such a") for b in ("nice", "dull")
            for c in ("one", "thing", "piece", "joy", "bore")]  # fmt: skip
    labelled = Labelled((*told, *felt), (PLOT,) * 20 + (NOT,) * 20)
    judge = Trained(labelled)
    assert judge.report["held-out accuracy, percent"] >= 95
    assert judge.report["share of the commoner label, percent"] == 50
    sure = judge(["the sinking ship of the widow", "such a dull bore"], frozenset())
    assert sure[0] > 0.8
    assert sure[1] < 0.2
    # Labels that say nothing are seen to say nothing: the report is of held-out texts.
    mixed = Labelled(labelled.texts, (PLOT, NOT) * 20)
    assert Trained(mixed).report["held-out accuracy, percent"] < 75
    assert Trained(mixed).key != judge.key


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\tplot\n" * 9 + "b\tnot\n" * 20, "9 texts with the label plot (give 10 or more"),
        ("a\tplot\nb\n", ":2: label ''"),
        ("\tplot\n", ":1: no text"),
    ],
)
def test_labels_that_are_none(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text(content, "utf-8")
    with pytest.raises(InputError) as caught:
        read_labelled(tmp_path / "labels.tsv")
    assert said in str(caught.value)


def test_labels_as_json_lines(tmp_path: Path) -> None:
    lines = ['{"text": "a\\nb", "label": "plot"}', '{"text": "c", "label": "not"}'] * 10
    (tmp_path / "labels.jsonl").write_text("\n".join(lines), "utf-8")
    assert read_labelled(tmp_path / "labels.jsonl") == Labelled(("a b", "c") * 10, (PLOT, NOT) * 10)


def test_a_passage_takes_its_neighbours_in() -> None:
    scores = np.full(40, 0.1)
    scores[[10, 11, 12]] = 0.5, 0.6, 0.45
    scores[30] = 0.4
    assert passage_of(scores, (0, 40), Reach()) == Passage(10, 13, 0.6, 0.2)
    assert passage_of(scores, (0, 40), Reach(longest=2)) == Passage(10, 12, 0.6, 0.2)
    # Not beyond where it is looked for, and not where the next sentence says little.
    near = passage_of(scores, (12, 40), Reach())
    assert (near.start, near.stop, near.margin) == (12, 13, 0.05)
    alone = passage_of(scores, (20, 40), Reach())
    assert (alone.start, alone.stop) == (30, 31)
    assert score_of(scores, 30, 32) == Passage(30, 32, 0.4, -0.2)


@pytest.mark.parametrize(
    ("near", "share", "within"),
    [
        (None, None, (0, 3000)),
        (50, None, (40, 61)),
        (3, None, (0, 14)),
        (None, 0.5, (1470, 1531)),
        (None, 1.0, (2969, 3000)),
    ],
)
def test_where_a_passage_is_looked_for(
    near: int | None, share: float | None, within: tuple[int, int]
) -> None:
    assert window_of(near, share, 3000, Reach(near=10)) == within


def test_bm25_is_a_share_of_its_bound() -> None:
    sentences = ["the lamp burns", "the river and the lamp", "nothing here"] * 4
    scores = BookScores(BM25(), sentences, "en").of(["lamp", "lamp river", "zebra", "lamp zebra"])
    assert scores.shape == (4, 12)
    assert (scores >= 0).all()
    assert (scores <= 1).all()
    assert scores[0, 0] > 0.4
    assert scores[1].argmax() == 1
    assert (scores[2] == 0).all()
    # Words that the book does not have count against it.
    assert scores[3, 0] < scores[0, 0]


BOUNDS = Thresholds(keep=0.5, ask=0.3)


@pytest.mark.parametrize(
    ("score", "margin", "plot", "exact", "decision"),
    [
        (0.6, 0.1, 0.9, False, KEEP),
        (0.6, 0.0, 0.9, False, ASK),
        (0.6, 0.1, 0.4, False, ASK),
        (0.4, 0.1, 0.9, False, ASK),
        (0.2, 0.1, 0.9, False, DROP),
        (0.6, 0.1, 0.2, False, DROP),
        (0.0, -0.5, 0.9, True, KEEP),
        (0.0, -0.5, 0.4, True, ASK),
        (0.9, 0.5, 0.2, True, DROP),
    ],
)
def test_decisions(score: float, margin: float, plot: float, exact: bool, decision: str) -> None:
    assert decide(Passage(3, 5, score, margin), plot, exact, BOUNDS) == decision


def test_equation_5() -> None:
    """|C ∩ T| / |C| without stop words, whatever the case."""
    assert overlap("The Lamp of the widow", "A lamp, a boat and a house", "en", "sklearn") == 0.5
    assert overlap("the of", "the of", "en", "sklearn") == 0
    assert overlap("油灯", "油灯亮了", "zh", "sklearn") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("One night, in their study den,", ""),  # "den" is also German
        ("油灯在他的家里", "in another language than the book"),
        ("Sie hat es ihm nicht gesagt, und er ist mit der Lampe nicht zu ihr gegangen.",
         "in another language than the book"),
        ("She cries.", "shorter than 4 words"),
        ("She cries. " * 80, "longer than 150 words"),
        ("So it is said: the widow carried nine brass lamps down to the frozen harbour, he says",
         "quotes the book"),
    ],
)  # fmt: skip
def test_the_filter(text: str, reason: str, tmp_path: Path) -> None:
    sentences = ["The widow carried nine brass lamps down to the frozen harbour.", "It was dark."]
    book = ShelvedBook.put(tmp_path / "book", "book", sentences)
    assert Filter().before(text, book, "en") == reason


def test_runs_of_the_passage_are_seen() -> None:
    passage = ["The widow carried nine brass lamps down to the frozen harbour."]
    reason, shared = Filter().after(
        "How brave of her, once the ship is lost, that the widow carried nine brass things", passage,
        "en",
    )  # fmt: skip
    assert reason == "repeats a run of words of the passage"
    assert 0 < shared < 0.5


def test_one_comment_on_two_passages_is_one_query() -> None:
    def pair(text: str, start: int) -> Pair:
        comment = Comment("book", text, "a.jsonl", start, span=(start, start + 2))
        return Pair(comment, text, "", {"start": start, "stop": start + 2})

    pairs = [pair("She goes.", 3), pair("He stays.", 5), pair("She goes.", 9), pair("She goes.", 3)]
    assert [(q["query_id"], q["query"], q["spans"]) for q in _queries(pairs)] == [
        (pairs[0].comment.id, "She goes.", [[3, 5], [9, 11]]),
        (pairs[1].comment.id, "He stays.", [[5, 7]]),
    ]
