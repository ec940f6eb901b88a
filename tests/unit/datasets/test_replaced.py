"""Datasets with other queries, judgments or candidates than their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ir_datasets
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.replaced import with_candidates, with_parts, with_qrels, with_topics
from irtoolkit.ranking.candidates import CORPUS_DEPTH, candidates_line, usual_depth
from irtoolkit.ranking.systems import find_system
from tests.datasets import Candidates, Docs, Queries

Write = Callable[..., Path]
SAMPLE = "csfcube/sample"


def sample() -> Dataset:
    return Dataset.load(SAMPLE)


def test_the_corpus_in_place_of_pools() -> None:
    corpus = with_candidates(sample(), "corpus")
    assert not corpus.has("scoreddocs")
    assert corpus.replaced == {"candidates": "corpus"}
    assert sample().has("scoreddocs")
    ((queries, docs),) = corpus.candidates()
    assert (len(queries), len(docs)) == (6, 48)
    # What the dataset says of itself remains.
    assert corpus.protocol == sample().protocol
    assert corpus.breakdown("facet") == sample().breakdown("facet")
    assert corpus.qrels.as_dict() == sample().qrels.as_dict()
    assert corpus.judgments_are_here


def test_the_usual_candidates_change_nothing() -> None:
    data = sample()
    assert with_candidates(data, None) is data
    assert with_candidates(data, "pool") is data
    plain = ir.load(["a", "b"], queries=["a"])
    assert with_candidates(plain, "corpus") is plain
    with pytest.raises(InputError, match="has no candidate pools"):
        with_candidates(plain, "pool")
    with pytest.raises(InputError, match="no candidates 'pools'"):
        with_candidates(data, "pools")


def test_topics_rank_the_corpus_or_the_pools_of_their_ids(write: Write) -> None:
    name = sample().query_ids()[0]
    path = write("topics.jsonl", f'{{"_id": "{name}", "text": "parsing"}}\n')
    corpus = with_topics(sample(), path)
    assert [(q.query_id, q.default_text()) for q in corpus.queries] == [(name, "parsing")]
    assert len(corpus.pools()[name]) == 48
    assert not corpus.has("qrels")
    assert corpus.about is None
    pooled = with_topics(sample(), path, pools=True)
    assert pooled.pools()[name] == sample().pools()[name]


def test_queries_without_text_are_refused() -> None:
    for queries in ({"q1": "a", "q2": " "}, [("q2", "")]):
        with pytest.raises(InputError, match="query q2 has no text"):
            with_parts(sample(), queries=queries)


def test_other_judgments_keep_folds_that_they_cover(write: Write) -> None:
    rows = [f"{q.query_id} 0 {q.doc_id} {q.relevance}" for q in sample().qrels_iter()]
    whole = with_qrels(sample(), write("all.qrels", "\n".join(rows) + "\n"))
    assert whole.protocol == sample().protocol
    few = with_qrels(sample(), write("few.qrels", rows[0] + "\n"))
    assert few.protocol.folds == ()
    assert few.protocol.measures == sample().protocol.measures
    assert few.relevant().keys() <= {rows[0].split()[0]}
    new = with_qrels(sample(), write("new.qrels", "other 0 910000001 1\n"))
    assert "other" in new.known_queries()


# -- what is said, and how deep ------------------------------------------------------------------


def line(data: Dataset, depth: int | None = None) -> str:
    system = find_system("bm25", {})
    return candidates_line(data, system.load(data), system, depth)


def test_the_list_of_a_first_stage_is_named() -> None:
    docs = {f"d{i}": "text" for i in range(5)}
    source = ir_datasets.Dataset(
        Docs(docs), Queries({"q": "text"}), Candidates({"q": ["d1", "d2", "d3"]})
    )
    # As a dataset of another package under an id, such as msmarco-passage/trec-dl-2019.
    data = Dataset("other/trec-dl-2019", source)
    assert line(data) == (
        "candidates: the list of documents that comes with other/trec-dl-2019, 3 per query, which is"
        " ranked again; --candidates corpus ranks all documents"
    )
    assert line(with_candidates(data, "corpus")) == "candidates: the corpus, 5 documents"


def test_a_corpus_has_a_usual_depth_and_pools_none() -> None:
    assert usual_depth(sample(), None) is None
    assert usual_depth(with_candidates(sample(), "corpus"), None) == CORPUS_DEPTH == 1000
    assert usual_depth(sample(), 7) == 7
    with pytest.raises(InputError, match="depth 0 is not at least 1"):
        usual_depth(sample(), 0)


@pytest.mark.parametrize(
    "text",
    [
        "q1\ta captain\n",
        "query_id,query\nq1,a captain\n",
        '{"_id": "q1", "text": "a captain"}\n',
        "<top><num> Number: q1 <title> a captain </top>\n",
    ],
)
@pytest.mark.parametrize("name", ["topics.txt", "topics.csv", "topics", "topics.jsonl"])
def test_the_first_line_of_queries_shows_their_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    docs = ir.load({"d1": "a captain"})
    for data in (ir.load({"d1": "a"}, queries=name), ir.load(docs, queries=Path(name))):
        assert {query.query_id: query.text for query in data.queries} == {"q1": "a captain"}
