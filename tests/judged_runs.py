"""Generated runs and judgments, with ties, odd ids, negative grades and queries that are lacking."""

from __future__ import annotations

from hypothesis import strategies as st

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]

RELS = (1, 2, 3)
QUERIES = ("q1", "q2", "q10", "Ω")
DOCS = (*"abcdefghijkl", "é", "ｚ", "😀")

# Few scores, so that many tie; the last two tie in single precision only.
score_values = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.0 + 1e-9]) | st.floats(-1e6, 1e6, width=32)
grade_values = st.sampled_from([0, 0, 0, 1, 1, 2, 3, -1, -2, -7, 12])
runs = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCS), score_values, max_size=15)
)
pools = st.dictionaries(st.sampled_from(DOCS), grade_values, min_size=1, max_size=15)
any_judgments = st.dictionaries(st.sampled_from(QUERIES), pools, min_size=1)
judgments = st.dictionaries(
    st.sampled_from(QUERIES), pools.filter(lambda docs: max(docs.values()) >= 0), min_size=1
)

TIED: tuple[RunDict, QrelsDict] = (
    {"q1": dict.fromkeys(DOCS, 1.0)},
    {"q1": {"a": 1, "é": 2, "😀": 0, "c": -1, "x": 3}},
)
MISSING: tuple[RunDict, QrelsDict] = (
    {"q1": {"a": 1.0}},
    {"q1": {"b": 1}, "q2": {"a": 1}, "Ω": {"a": 0}},
)
