"""Answers of language models in the forms that they have, and those that say nothing for certain."""

from __future__ import annotations

import pytest

from irtoolkit.models.llm.generator import LENGTH, Completion
from irtoolkit.retrievers.llm.choice import read_choice
from irtoolkit.retrievers.llm.grade import read_grade
from irtoolkit.retrievers.llm.permutation import read_order


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[3] > [1] > [2]\n\nExplanation: [1] talks of cats in [2020].", 312),
        ("[1] < [3]", None),
        ("Doc: 3, Relevance: 9\nDoc: 1, Relevance: 7\nDoc: 2, Relevance: 2", 312),
        ("1. Passage 3\n2. Passage 1\n3. Passage 2", 312),
        ("\u30103\u3011 > \u30101\u3011 > \u30102\u3011", 312),
        ("[3] &gt; [1] &gt; [2]", 312),
        ("doc3 > doc1 > doc2", 312),
        ("[[3]] > [[1]] > [[2]]", 312),
        ("Here is the ranking of 3 passages: [3] > [1] > [2]", 312),
        ("The order is not [1] > [2] > [3]", None),
        ("[1] > [2] > [3] is wrong; the right order is [3] > [1] > [2]", 312),
        ("Irrelevant: [1], [2]", None),
        ("From least to most relevant: [2] > [1] > [3]", None),
        ("From most to least relevant: [3] > [1] > [2]", 312),
        ("Passage 3 is better than [1] > [2]", None),
        ("Ranking:\n3\n1\n2", 312),
        ("[1]: 3\n[2]: 1\n[3]: 2", None),
        ("[1] is about cats.\n[2] is off topic.\n[3] is best", None),
        ('```json\n{"ranking": ["[3]", "[1]", "[2]"]}\n```', 312),
        ('[{"passage": 3, "rank": 1}, {"passage": 1, "rank": 2}, {"passage": 2, "rank": 3}]', 312),
        ('{"1": 2, "2": 3, "3": 1}', None),
        ("<answer>[3] > [1] > [2]</answer>", 312),
        ("[3] > [1] > [2]<|im_end|>", 312),
        ("[1] > [3] < [2]", None),
        ("since 3 > 2 I cannot tell", None),
        ("3->1->2", 312),
        ("[3] = [2] > [1]", None),
        ("- [3]\n- [1]\n- [2]", 312),
        ("The most relevant is [3].", None),
        ("[3] > [1] > [2]\n[3] > [1] > [2]", 312),
        ("[3] > [1] > [2]\n[1] > [3] > [2]", None),
        ("2. [3]\n1. [1]", None),
        ("[3] > [1] > [2]?", None),
        ("**Ranking:** [3] > [1] > [2]", 312),
        ("[3] (cats) > [1] > [2]", None),
        ("3, 1, 2.", 312),
        ("[3; 1; 2]", 312),
        ("I think [1] > [2] at first, but [3] > [1] > [2]", None),
        ("1", None),
        ("{}", None),
        ("[[3, 1, 2]]", 312),
        ("{'order': [3, 1, 2]}", 312),
        ("order: [3] > [1] > [2] (not [1] > [2])", 312),
        ("[2020] > [3] > [1] > [2]", 312),
        ("[2] > [0] > [1]", None),
        ("The order is [3], [1], [2].", 312),
        ('[{"id": 1, "score": 2}, {"id": 2, "score": 9}, {"id": 3, "score": 5}]', None),
        ("```json\n[3, 1, 2]\n```", 312),
        ("Original order: [1] > [2] > [3]\nNew order: [3] > [1] > [2]", 312),
        ("[2] > [3] = [1]", 213),
        ('{"order": "[3] > [1] > [2]", "reason": "[1] > [3]"}', 312),
        ("[2] > [1] > [3] (least relevant first)", None),
        ('{"ranking":[{"id":3,"score":9},{"id":1},{"id":2}]}', 312),
        ("* [3]\n* [1]\n* [2]", 312),
        ("[3]", 312),
        ("[3] \u2265 [1] \u2265 [2]", 312),
        ("reverse: [2] > [1] > [3]", None),
        ("Doc: 1, Relevance: 2\nDoc: 2, Relevance: 9", None),
        ("[]", None),
        ("Sure! Here is the list:\n\n1. [3] - about cats\n2. [1] - also, see [2]\n3. [2]: no", 312),
    ],
)
def test_orders_of_three_passages(text: str, expected: int | None) -> None:
    """The expected order is a number, such as 312; an unreadable answer leaves it as it was."""
    order = read_order(text, 3)
    assert (order.reading == "none") == (expected is None)
    assert "".join(str(place + 1) for place in order.places) == str(expected or 123)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A: irrelevant. B: relevant", None),
        ("A is more general, but Passage B answers", None),
        ("Not A", None),
        ("A: not relevant", None),
        ("I would say Passage B.", "B"),
        ("Passage A is more relevant, but Passage B is better overall", None),
        ("A, B", None),
        ('{"choice": "Passage B", "reason": "A is bad"}', "B"),
        ("Based on the query, Passage B is more relevant.", "B"),
        ("Final answer: **B**", "B"),
        ("The less relevant passage is A", None),
        ("\u7b54\u6848\uff1aB", "B"),
        ("<answer>B</answer>", "B"),
        ("A. No, B.", None),
        ("A = B", None),
        ("Passage A is relevant.", None),
        ("B - it answers the question", "B"),
        ("[B]", "B"),
        ("Passage A, not Passage B", "A"),
        ('{"A": 0.1, "B": 0.9}', None),
        ('{"relevant": ["A","B"]}', None),
        ("A\n\nPassage A is more relevant because it says so. Passage B is off topic.", "A"),
        ("vitamin b", None),
        ("Both A and B are relevant", None),
        ("A?", None),
        ("Passage A and Passage B are equal. I choose A", "A"),
        ("#B", "B"),
        ("B is not relevant", None),
        ("A is better.\nB is worse.", "A"),
        ("Passage B\n\nExplanation: Passage A is a list.", "B"),
        ("A (less relevant)", None),
        ("\\boxed{\\text{Passage B}}", "B"),
        ("B is clearly the best", "B"),
        ("Option B: it", "B"),
        ("If it is about cats, A is more relevant; otherwise B", None),
        ("It is B", "B"),
        ("I prefer B over A", "B"),
        ("\u7b54\u6848\u662fB", "B"),
        ("Passage B (more relevant)", "B"),
        ("A > B", "A"),
    ],
)
def test_choices_between_two_passages(text: str, expected: str | None) -> None:
    assert read_choice(Completion(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Grade (0-4): 3", 3),
        ("0-4: 3", 3),
        ("Relevance: 2, Quality: 4", None),
        ("4/5", None),
        ("3 / 4", 3),
        ("2 to 3", None),
        ("3\n2", None),
        ("Matches: 2. Grade: 3", None),
        ("Grade (1-4): 3", None),
        ("Score: [3]", 3),
        ('{"grade": 3, "reason": "x 2"}', 3),
        ('{"score": 3, "confidence": 0.9}', 3),
        ('{"relevant": true}', None),
        ("about 3", None),
        ("3+", None),
        ("3, maybe 4", None),
        ("2. Actually, 3.", None),
        ("0: irrelevant\n4: perfect\nGrade: 3", None),
        ("I give it a score of 3 out of 4", 3),
        ("3: Highly relevant", 3),
        ("Number of matching words: 2", None),
        ("3 stars", None),
        ("Grade: not 3", None),
        ("- 3", None),
        ("Grade: 3?", None),
        ("On a scale from 0, not at all, to 4, perfectly: 3", 3),
        ("$3$", 3),
        ("Relevance score: 3.0", 3),
        ("<answer>3</answer>", 3),
        ("Answer: 0", 0),
        ("\u5206\u6570\uff1a3", 3),
        ("3,", 3),
        ("4 out of 4", 4),
        ("The highest score is 4", None),
        ("1 (of 4)", 1),
        ("Grade: 1e1", None),
        ("0-4", None),
        ("2.", 2),
        ("Grade: 03", 3),
        ('{"score": 5}', None),
        ('{"scores": [3]}', 3),
        ("Confidence: 4\nGrade: 3", None),
        ("M: 2\nT: 1\n##final score: 3", 3),
        ("Grade: 2/4\nReason: It has 3 of 4 terms", 2),
        ("on a scale from 0 to 4, I would give this a 3", 3),
        ('{"score": "3/4"}', 3),
        ("The relevance is 3.", 3),
        ("Rating: 3 - highly relevant", 3),
        ("3,5", None),
        ("3 because it has 2 of the words", 3),
        ("Grade 3", 3),
        ("not relevant: 0", None),
        ("The maximum grade is 4. Grade: 2", 2),
        ("3 (or 4)", None),
        ("On a scale of 0-4, 3", 3),
    ],
)
def test_grades_up_to_four(text: str, expected: float | None) -> None:
    assert read_grade(Completion(text), 4) == expected


def test_a_number_that_is_cut_off_may_be_another() -> None:
    assert read_grade(Completion("1", LENGTH), 10) is None
    assert read_grade(Completion("1"), 10) == 1
    assert read_grade(Completion("3", LENGTH), 4) == 3


@pytest.mark.parametrize("filler", [" ", "(", "[", "passage ", "0", "d", "A ", ">", "{", "1 > "])
def test_long_answers_do_not_backtrack_without_end(filler: str) -> None:
    text = filler * 500
    read_order(filler * 100_000, 3)
    read_order(text, 3)
    read_choice(Completion(text))
    read_grade(Completion(text), 4)
