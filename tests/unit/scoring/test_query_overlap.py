"""Word overlap of queries with their relevant documents: Eq. 5 and Table 2 of PlotRetrieval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.word_overlap import word_overlap, word_sets
from irtoolkit.scoring import query_overlap as module
from irtoolkit.scoring.query_overlap import query_overlap
from tests.datasets import register

Command = Callable[..., Any]
PLAIN = word_sets("sklearn")


@pytest.mark.parametrize(
    ("query", "passage", "share_found"),
    [
        # old, man, mends, nets; of which the passage has old and nets.
        ("The old man mends nets, OLD nets", "An old sailor and his NETS.", 0.5),
        ("a lonely harbour", "harbour of the lonely", 1.0),
        ("a lonely harbour", "crowded streets", 0.0),
        ("harbour", "", 0.0),
        ("", "harbour", 0.0),
        ("the of and", "the of and", 0.0),
        ("harbour harbour lighthouse gull", "gull gull", 1 / 3),
    ],
)
def test_overlap_is_the_share_of_the_querys_distinct_words(
    query: str, passage: str, share_found: float
) -> None:
    assert word_overlap(PLAIN(query), PLAIN(passage)) == pytest.approx(share_found)


DOCS = {
    f"d{i}": text for i, text in enumerate(["red boat", "red sail", "", "blue boat sail", "gull"])
}
QUERIES = {"q1": "red boat", "q2": "sail", "q3": "gull nest", "q4": "boat"}
QRELS = [
    ("q1", "d0", 2), ("q1", "d3", 1), ("q1", "d4", 0), ("q2", "d1", 1), ("q2", "d2", 1),
    ("q2", "d3", 3), ("q3", "d4", 2), ("q4", "d4", 0),
]  # fmt: skip


@pytest.mark.parametrize("block", [1, 2, 3, 100])
@pytest.mark.parametrize("rel", [1, 2])
def test_means_are_over_pairs_and_over_queries(
    monkeypatch: pytest.MonkeyPatch, block: int, rel: int
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    found = query_overlap(Dataset.load(register(DOCS, QUERIES, qrels=QRELS)), PLAIN, rel=rel)
    shares: dict[str, list[float]] = {}
    for query, doc, grade in QRELS:
        if grade >= rel:
            asked = set(QUERIES[query].split())
            share = len(asked & set(DOCS[doc].split())) / len(asked)
            shares.setdefault(query, []).append(share)
    every = [share for own in shares.values() for share in own]
    means = [sum(own) / len(own) for own in shares.values()]
    assert (found.queries, found.pairs) == (len(shares), len(every))
    assert found.by_pair == pytest.approx(sum(every) / len(every))
    assert found.by_query == pytest.approx(sum(means) / len(means))


def test_what_a_dataset_lacks_is_named() -> None:
    with pytest.raises(InputError, match="has no qrels"):
        query_overlap(Dataset.load(register(DOCS, QUERIES)), PLAIN)
    judged = register(DOCS, QUERIES, qrels=QRELS)
    with pytest.raises(InputError, match="no document of grade 4 or higher"):
        query_overlap(Dataset.load(judged), PLAIN, rel=4)
    strange = register(DOCS, QUERIES, qrels=[("q9", "d0", 1)])
    with pytest.raises(InputError, match="judged query q9 has no text"):
        query_overlap(Dataset.load(strange), PLAIN)
    gone = register(DOCS, QUERIES, qrels=[("q1", "d77", 1)])
    with pytest.raises(InputError, match="d77 has no text"):
        query_overlap(Dataset.load(gone), PLAIN)


def test_the_command_prints_a_table(irtoolkit: Command) -> None:
    line = ["overlap", "egret/sample/dev", "plotretrieval/sample/val", "--words", "sklearn"]
    text = irtoolkit(*line).out
    assert text.splitlines()[0].split() == ["dataset", "queries", "pairs", "overlap", "by", "query"]
    found = json.loads(irtoolkit(*line, "--format", "json").out)["egret/sample/dev"]
    own = query_overlap(Dataset.load("egret/sample/dev"), PLAIN)
    assert (found["pairs"], found["by_pair"], found["paper"]) == (own.pairs, own.by_pair, None)
    assert f"{100 * own.by_pair:.2f}" in text


# -- with NLTK --------------------------------------------------------------------------------

# Reads NLTK's data where NLTK_DATA says, which is read once in a process.
ASK = """
import json, sys
from irtoolkit.datasets.word_overlap import word_sets
print(json.dumps([sorted(word_sets("nltk", fold_case=fold)(text)) for fold in (False, True)
                  for text in json.loads(sys.argv[1])]))
"""
TEXTS = ["The Baron didn't see Dr. Gray. A baron slept; he'd come at 5.", "of THE and, --", ""]
KEPT = ["5", "Baron", "Dr.", "Gray", "baron", "come", "n't", "see", "slept", "'d"]


@pytest.fixture
def nltk_data(tmp_path: Path) -> Path:
    """Data in NLTK's layout, of our own making: one abbreviation and six stop words."""
    pytest.importorskip("nltk")
    punkt = tmp_path / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name, text in {
        "abbrev_types.txt": "dr\n", "collocations.tab": "", "ortho_context.tab": "",
        "sent_starters.txt": "",
    }.items():  # fmt: skip
        (punkt / name).write_text(text)
    (tmp_path / "corpora" / "stopwords").mkdir(parents=True)
    (tmp_path / "corpora" / "stopwords" / "english").write_text("the\na\nof\nand\nhe\ndid\nat\n")
    return tmp_path


def test_words_are_nltks_tokens_without_its_stop_words(nltk_data: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(TEXTS)], capture_output=True, text=True, check=True,
        env={**os.environ, "NLTK_DATA": str(nltk_data)}, timeout=120,
    )  # fmt: skip
    kept, *others = json.loads(done.stdout)
    assert set(kept) == set(KEPT)
    assert others[:2] == [[], []]
    assert set(others[2]) == {word.lower() for word in KEPT}


def test_other_datasets_are_shown_where_one_is_missing(irtoolkit: Command) -> None:
    answer = irtoolkit("overlap", "no-such/one", "egret/sample/dev", "no/two", "--words", "sklearn")
    assert answer.status == 2
    assert "egret/sample/dev" in answer.out
    assert "no-such/one" in answer.err
    assert "no/two" in answer.err
