"""Natural Questions: paragraphs that answer a question without a short answer (§2.1, note 3).

Both published formats are read: the simplified one, whose `document_text` has tokens between single
spaces, and the original one, whose `document_tokens` are objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from irtoolkit.building.egret.passages import Passage

# Raised when the same records give other passages.
FORMAT = 1
NO_LONG = "questions without a long answer"
SHORT = "questions with a short answer, or yes or no"
NO_PARAGRAPH = "questions whose long answer is no paragraph"
_TAG = re.compile(r"</?[A-Za-z][^>]*>")
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m", "n't")
_LEFTWARD = frozenset(
    [
        *",.;:!?%)]}\u201d\u2019\u2026",
        "...",
        "'",
        *_CLITICS,
        *(clitic.replace("'", "\u2019") for clitic in _CLITICS),
    ]
)
_RIGHTWARD = frozenset("([{\u201c\u2018$\u00a3\u20ac#")


def long_answer(record: Any, line: int) -> Passage | str:
    """Returns the paragraph that answers a question, or why there is none.

    If several people have annotated a question, two of them decide, as in Natural Questions.

    Args:
        record: the parsed line.
        line: its line in the file.

    Raises:
        ValueError: it has another format; says how.
    """
    _check_record(record)
    annotations = record["annotations"]
    enough = 1 if len(annotations) == 1 else 2
    spans = Counter(span for marked in annotations if (span := _span(marked)) is not None)
    if spans.total() < enough:
        return NO_LONG
    if sum(map(_is_short, annotations)) >= enough:
        return SHORT
    start, stop = spans.most_common(1)[0][0]
    tokens = _tokens(record)
    if not start < stop <= len(tokens):
        raise ValueError(f"the long answer [{start}, {stop}) is not in its {len(tokens)} tokens")
    if tokens[start].upper() != "<P>":
        return NO_PARAGRAPH
    text = prose([token for token in tokens[start:stop] if not _TAG.fullmatch(token)])
    question = record["question_text"]
    return Passage(f"{record['example_id']}.1", question, text, line, (question, text))


def _check_record(record: Any) -> None:
    if not isinstance(record, dict) or not (
        "document_text" in record or "document_tokens" in record
    ):
        raise ValueError("not a record of Natural Questions: no document_text")
    if not isinstance(record.get("question_text"), str):
        raise ValueError("no question_text")
    if not isinstance(record.get("example_id"), int | str):
        raise ValueError("no example_id")
    if len(str(record["example_id"]).split()) != 1:
        raise ValueError(f"example_id {record['example_id']!r} is not one word")
    annotations = record.get("annotations")
    if not isinstance(annotations, list) or not all(
        isinstance(annotation, dict) for annotation in annotations
    ):
        raise ValueError("no annotations, which say where the answers are")


def _span(annotation: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns the tokens of the long answer; None if there is none."""
    answer = annotation.get("long_answer")
    answer = answer if isinstance(answer, dict) else {}
    start, stop = answer.get("start_token"), answer.get("end_token")
    if not isinstance(start, int) or not isinstance(stop, int):
        raise ValueError("an annotation without start_token and end_token of its long answer")
    return (start, stop) if start >= 0 else None


def _is_short(annotation: Mapping[str, Any]) -> bool:
    """Returns whether an annotation has a short answer, or yes or no."""
    return bool(annotation.get("short_answers")) or (
        str(annotation.get("yes_no_answer", "NONE")).upper() in ("YES", "NO")
    )


def _tokens(record: Mapping[str, Any]) -> list[str]:
    text = record.get("document_text")
    if isinstance(text, str):
        return text.split(" ")  # not at other white space, which tokens may hold
    tokens = record.get("document_tokens")
    if not isinstance(tokens, list) or not all(
        isinstance(token, dict) and isinstance(token.get("token"), str) for token in tokens
    ):
        raise ValueError("neither document_text nor document_tokens is a text in tokens")
    return [token["token"] for token in tokens]


def prose(tokens: Sequence[str]) -> str:
    """Returns tokens as running text, with spaces as in prose."""
    text: list[str] = []
    quoting, joined = False, True
    for token in tokens:
        if token in ("``", "''", '"'):
            closes = token == "''" or (token == '"' and quoting)
            token, quoting = ("\u201d", False) if closes else ("\u201c", True)
        if not (joined or token.lower() in _LEFTWARD):
            text.append(" ")
        text.append(token)
        joined = token in _RIGHTWARD
    return "".join(text)
