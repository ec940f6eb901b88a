"""Books are searched by words, by meaning and by both, as their one definition says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.datasets.novels import Novel
from irtoolkit.ranking import book_words
from irtoolkit.ranking.book_ranking import best_passages, by_meaning, score_passages, standardised
from irtoolkit.ranking.book_search import BookSearch, told_share
from irtoolkit.ranking.book_system import BOOKS, Around, best_system
from irtoolkit.ranking.book_words import BookWords

WORDS = [
    "lamp",
    "ship",
    "whale",
    "baker",
    "storm",
    "island",
    "captain",
    "candle",
    "letter",
    "garden",
]


def novel(name: str, sentences: list[str], lang: str | None = "en") -> Novel:
    return Novel(name, name, "", lang, "utf-8", sentences, [0], [])


def some_novels() -> list[Novel]:
    rng = np.random.default_rng(3)
    made = []
    for name, size in (("long", 60), ("short", 2), ("other", 25)):
        texts = [f"The {' '.join(rng.choice(WORDS, rng.integers(1, 6)))}." for _ in range(size)]
        made.append(novel(name, texts))
    return made


def by_definition(novels: list[Novel], query: list[str], length: int, around: Around) -> Floats:
    """BM25 of each passage and of the windows around it, term by term."""
    how, total = BOOKS, None
    for size, share in around.shares():
        windows = []
        for one in novels:
            own_length = min(length, len(one.sentences))
            for start in range(len(one.sentences) - own_length + 1):
                own = one.sentences[max(0, start - size) : start + own_length + size]
                windows.append(" ".join(own).lower().replace("the ", "").replace(".", "").split())
        lengths = np.array([len(one) for one in windows], float)
        scores = np.zeros(len(windows))
        for term in query:
            counts = np.array([one.count(term) for one in windows], float)
            found = np.count_nonzero(counts)
            idf = np.log(1 + (len(windows) - found + 0.5) / (found + 0.5))
            norm = how.k1 * (1 - how.b + how.b * lengths / lengths.mean())
            scores += idf * counts / (counts + norm)
        total = share * scores + (0 if total is None else total)
    assert total is not None
    return total


@pytest.mark.parametrize("length", [1, 3, 8, 20])
def test_scores_by_words_are_those_of_the_definition(length: int) -> None:
    novels = some_novels()
    words = BookWords(novels)
    for around in (BOOKS.alone, BOOKS.fused, Around((), 0.0)):
        found, is_hit = words.scores("a lamp and the whale, the lamp", length, around)
        expected = by_definition(novels, ["lamp", "lamp", "whale"], length, around)
        assert found == pytest.approx(expected, abs=1e-9)
        own = by_definition(novels, ["lamp", "whale"], length, Around((), 0.0))
        assert is_hit.tolist() == (own > 0).tolist()
    assert len(found) == len(words.layout.starts(length)) == len(expected)


def test_the_windows_of_a_few_lengths_are_held() -> None:
    novels = some_novels()
    words = BookWords(novels)
    first, _ = words.scores("lamp", 1, BOOKS.alone)
    used = words.windows(1, BOOKS.alone)
    for length in range(2, 21):
        # One that is used again stays.
        assert words.windows(1, BOOKS.alone) is used
        words.scores("lamp", length, BOOKS.alone)
    assert list(words._windows)[-2:] == [(1, BOOKS.alone), (20, BOOKS.alone)]
    assert len(words._windows) == book_words._HELD
    for length in (1, 2):
        found, _ = words.scores("lamp", length, BOOKS.alone)
        assert found == pytest.approx(
            by_definition(novels, ["lamp"], length, BOOKS.alone), abs=1e-9
        )
    assert words.scores("lamp", 1, BOOKS.alone)[0].tolist() == first.tolist()


def test_passages_have_their_books_and_never_reach_into_another() -> None:
    novels = [novel("a", ["A whale."] * 3), novel("b", ["Nothing is here."] * 70)]
    words = BookWords(novels)
    scores, is_hit = words.scores("whale", 2, Around((1,), 0.5))
    for found in (scores, is_hit):
        assert words.layout.ids(np.flatnonzero(found), 2) == ["a:0+2", "a:1+2"]


def test_function_words_alone_find_nothing(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("She was with her friend. He said that it was upon them. Them. A whale sang.\n")
    index = ir.index(path, "words", sentences=1)
    for query in ("she said to her upon them", "the of and", "Mr. and Mrs."):
        found = index.search(query)
        assert list(found) == []
        assert "too common" in found.why_none
    found = index.search("her friend")
    assert [[hit.text[a:b] for a, b in hit.matches] for hit in found] == [["friend"]]


def test_by_meaning_is_the_mean_and_the_nearest() -> None:
    words = BookWords(
        [novel("a", [f"Sentence {n}." for n in range(5)]), novel("b", ["One.", "Two."])]
    )
    cosines = np.array([0.0, 1.0, 0.2, 0.4, -0.3, 0.6, 0.1])
    expected = [(0.4 + 1) / 2, (1.6 / 3 + 1) / 2, (0.1 + 0.4) / 2, (0.35 + 0.6) / 2]
    assert by_meaning(words, cosines, 3) == pytest.approx(expected)


def test_sentences_without_a_vector_yet_are_ranked_by_words_alone() -> None:
    words = BookWords([novel("a", [f"The {word} is here." for word in WORDS])])
    cosines = np.array([0.9] + [0.1] * 4 + [np.nan] * 5)
    meant = score_passages(words, "meaning", "lamp", 1, cosines)
    assert meant.is_hit.tolist() == [True] * 5 + [False] * 5
    both = score_passages(words, "both", "garden", 1, cosines)
    found = best_passages(words, both, 1, 10, cosines)
    assert {0, 9} <= {one.start for one in found[:2]}
    assert standardised(np.array([np.nan, 1.0, 3.0])).tolist() == [0, -1, 1]


def test_both_is_the_sum_of_standardised_scores() -> None:
    words = BookWords(some_novels())
    rng = np.random.default_rng(1)
    cosines = rng.random(len(words.layout.sentences))
    both = score_passages(words, "both", "lamp", 3, cosines)
    worded, _ = words.scores("lamp", 3, BOOKS.fused)
    parts = [standardised(worded), standardised(by_meaning(words, cosines, 3))]
    assert both.total == pytest.approx((1 - BOOKS.meaning) * parts[0] + BOOKS.meaning * parts[1])
    found = best_passages(words, both, 3, 5, cosines)
    assert found[0].score == both.total.max()


def test_the_best_that_can_run_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [best_system(lang, has_model=True) for lang in ("en", None, "zh")] == ["both", "both", "words"]  # fmt: skip
    assert best_system("en", has_model=False) == "words"
    path = tmp_path / "book.txt"
    path.write_text("A ship sails. A whale sings. Nobody hears the storm.\n")
    monkeypatch.setattr("irtoolkit.ranking.book_search.model_lacks", lambda: "no weights")
    index = ir.index(path)
    assert isinstance(index, BookSearch)
    assert (index.searched_by, index.sentences) == ("words", BOOKS.length)
    with pytest.raises(InputError, match="no weights"):
        ir.index(path, "both")


def test_many_sentences_are_not_encoded_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "book.txt"
    path.write_text("A ship sails. A whale sings. Nobody hears the storm.\n")
    monkeypatch.setattr("irtoolkit.ranking.book_search.model_lacks", lambda: None)
    assert ir.index(path).searched_by == "both"
    monkeypatch.setattr("irtoolkit.ranking.book_search.BOOKS", replace(BOOKS, encoded=2))
    assert ir.index(path).searched_by == "words"
    assert ir.index(path, "both").searched_by == "both"


def test_queries_in_a_batch_are_ranked_as_alone(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(" ".join(some_novels()[0].sentences))
    index = ir.index(path, "words", sentences=2)
    run = index.search_many({"1": "a lamp", "2": "the and", "3": "whale ship"}, k=7)
    for query, text in (("1", "a lamp"), ("3", "whale ship")):
        alone = index.search_many([text], k=7)
        assert [row.doc_id for row in run.ranking(query)] == [
            row.doc_id for row in alone.ranking("0")
        ]
    assert index.texts(run.ranking("1")[0].doc_id) != {}


def test_measured_shares_are_told_of_what_is_measured() -> None:
    for system in ("words", "both"):
        assert told_share(system, 8).startswith("finds ")
        assert " % " in told_share(system, 8)
        assert [told_share(system, length) for length in (1, 3, 5, 7, 9, 20)] == [""] * 6
    assert told_share("bm25", 8) == ""
    assert Around((), 0.0).shares() == [(0, 1.0)]
