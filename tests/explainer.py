"""Invented answers, articles and books with examples in known places, and records of Natural Questions."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests import critic

# How an example is written, with {0} for invented words; what is planted is between the braces [[ ]].
FORMS = {
    "start": "[[For example, {0}.]]",
    "middle": "[[The {0}, for example, {1}.]]",
    "end": "[[Some {0}, for\nexample.]]",
    "e.g.": "[[Some {0}, e.g. {1}.]]",
    "e. g.": "[[Some {0}, e. g., {1}.]]",
    "clause": "Some {0} [[(e.g., {1})]] are {2}.",
    "clause of words": "Some {0} [[(for example, {1})]] are {2}.",
    "question": "[[And what, for example, of {0}?]]",
    "abbreviations": "[[For example, Mr. Brandle, Dr. Coulm, etc., {0}.]]",
    "citation": '[[Of this, e.g., "{0}" (Gen. 31:11), and {1} (ibid. 20).]]',
    "quotation": '[["For example, {0}," they say.]]',
    "colon": "[[We have many: {0}; for example, {1}; and {2}.]]",
}
# What has no marker, though it looks like one.
DECOYS = (
    "Fish such as {0} swim.",
    "For instance, {0}.",
    "See www.e.g.org for {0}.",
    "For examples we have {0}.",
    "An example of {0} is {1}.",
    "The N.E.G. of {0} met (see p. 4).",
)


@dataclass
class Explained:
    """A text and its examples.

    Attributes:
        text: paragraphs with blank lines between them.
        planted: (form, example) in order.
    """

    text: str = ""
    planted: list[tuple[str, str]] = field(default_factory=list)


def explained(seed: int, examples: int = 12, paragraph: int = 5) -> Explained:
    """A text with every form of example, in turn, among other sentences."""
    draw = random.Random(seed)
    words = [w for sentence in critic.book(seed, 40) for w in re.findall(r"[a-z]{5,}", sentence)]

    def phrase() -> str:
        return " ".join(draw.choices(words, k=draw.randint(2, 6)))

    def filled(form: str) -> str:
        return form.format(phrase(), phrase(), phrase())

    made, sentences = Explained(), list[str]()
    forms = list(FORMS)
    for number in range(examples):
        sentences += [critic.sentence(draw, words, 6, 12) for _ in range(draw.randint(1, 3))]
        sentences.append(filled(draw.choice(DECOYS)))
        form = forms[(number + seed) % len(forms)]
        sentences.append(filled(FORMS[form]))
        made.planted.append((form, re.findall(r"\[\[(.*?)\]\]", sentences[-1], re.S)[0]))
    sentences.append(critic.sentence(draw, words))
    bare = [re.sub(r"\[\[|\]\]", "", sentence) for sentence in sentences]
    parts = [" ".join(bare[at : at + paragraph]) for at in range(0, len(bare), paragraph)]
    made.text = "\n\n".join(parts)
    return made


def solid(text: str) -> str:
    """A text without white space, with straight quotation marks."""
    return re.sub(r"\s", "", re.sub("[\u201c\u201d]|``|''", '"', text))


def answer_lines(texts: Sequence[str]) -> str:
    """Answers as JSON lines, one a question."""
    return "".join(
        json.dumps({"id": f"q{n}", "question": f"What of {n}?", "answer": text}) + "\n"
        for n, text in enumerate(texts)
    )


def book_text(title: str, texts: Sequence[str]) -> str:
    """A book, wrapped, with a chapter for each text."""
    lines = [f"Title: {title}", "Author: Nobody", "Language: English", ""]
    for number, text in enumerate(texts, 1):
        lines += ["", f"CHAPTER {number}", ""]
        for paragraph in text.split("\n\n"):
            lines += [*_wrapped(paragraph), ""]
    return "\n".join(lines)


def _wrapped(text: str, width: int = 68) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def tokens_of(text: str) -> list[str]:
    """Tokens as Natural Questions has them: punctuation apart, and quotation marks doubled."""
    found = re.findall(r"(?:e\.\s?g\.|[A-Z][a-z]{1,4}\.(?=\s)|[\w:.]*\w|[^\w\s])", text)
    opened = False
    for at, token in enumerate(found):
        if token == '"':
            found[at] = "''" if opened else "``"
            opened = not opened
    return [part for token in found for part in token.split()]


def nq_record(number: int, text: str, *, full: bool = False, **changes: Any) -> dict[str, Any]:
    """A record of Natural Questions whose long answer is a text; simplified, or as first published."""
    answer = ["<P>", *tokens_of(text), "</P>"]
    tokens = ["<H1>", "Title", "</H1>", "<P>", "Nothing", "here", ".", "</P>", *answer]
    start, stop = 8, 8 + len(answer)
    annotation = {
        "yes_no_answer": "NONE", "short_answers": [], "annotation_id": 593 + number,
        "long_answer": {"start_token": start, "end_token": stop, "candidate_index": 1},
    }  # fmt: skip
    record: dict[str, Any] = {
        "example_id": 5655493461695504401 + number,
        "question_text": f"what is it about number {number}",
        "document_url": f"https://en.wikipedia.org//w/index.php?title=Number_{number}&amp;oldid=1",
        "long_answer_candidates": [{"start_token": 3, "end_token": 8, "top_level": True},
                                   {"start_token": start, "end_token": stop, "top_level": True}],
        "annotations": [annotation],
    }  # fmt: skip
    if full:
        record["document_tokens"] = [
            {"token": t, "html_token": t.startswith("<"), "start_byte": 0, "end_byte": 0}
            for t in tokens
        ]
        record["question_tokens"] = record["question_text"].split()
        record["document_title"], record["document_html"] = f"Number {number}", "<html></html>"
    else:
        record["document_text"] = " ".join(tokens)
    return record | changes
