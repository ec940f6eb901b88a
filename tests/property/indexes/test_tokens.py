"""The compiled tokenizer beside the analyzers that it stands for."""

from __future__ import annotations

from collections import Counter as Counts

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.analysis import Tokenizer, analyzer
from irtoolkit.indexes.tokens import Counter

# What the compiled loops split themselves, and what they leave to Python.
PLAIN = "abzAZ019_ .:,;'\n\t-()\x1c\x00"
QUOTES = "\u2013\u2014\u2018\u2019\u201c\u201d\u2026"
BEYOND = "\u00e9\u00df\u0130\u03a3\u200d\u2044\u4e2d\u6587\u30ab\u00b2\uff21\U0001f600"
TEXTS = st.one_of(
    st.text(PLAIN, max_size=40),
    st.text(PLAIN + QUOTES, max_size=40),
    st.text(PLAIN + QUOTES + BEYOND, max_size=40),
    st.text(max_size=20),
    st.sampled_from(["a" * 300, "ab.cd" * 80, "1,2.3;4'5", "don\u2019t o'clock's U.S.A. 3.14 a_b"]),
)


def counted(tokenizer: Tokenizer, texts: list[str], stem: str = "none") -> list[dict[str, int]]:
    analyze = analyzer(tokenizer, "lucene", stem)  # type: ignore[arg-type]
    counter = Counter(tokenizer, analyze, threads=1)
    found = counter.count(texts).result()
    counter.close()
    terms, start, rows = counter.terms.by_number(), 0, []
    for end, length in zip(found.ends.tolist(), found.lengths.tolist(), strict=True):
        row = {
            terms[term]: count
            for term, count in zip(
                found.terms[start:end].tolist(), found.counts[start:end].tolist(), strict=True
            )
        }
        assert sum(row.values()) == length
        rows.append(row)
        start = end
    return rows


@pytest.mark.parametrize("tokenizer", ["word", "standard", "whitespace", "cjk"])
@settings(max_examples=400, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_terms_are_the_analyzers(tokenizer: Tokenizer, texts: list[str]) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    analyze = analyzer(tokenizer, "lucene", "porter")
    assert counted(tokenizer, texts, "porter") == [dict(Counts(analyze(text))) for text in texts]


def test_a_table_that_is_full_grows() -> None:
    # More distinct tokens than a table has at first.
    words = [f"w{number}" for number in range(300_000)]
    texts = [" ".join(words[i : i + 1000]) for i in range(0, len(words), 1000)]
    rows = counted("standard", texts)
    assert [sorted(row) for row in rows] == [sorted(text.split()) for text in texts]
