"""Retrievers that are a formula or functions of texts to vectors, and when an index is built again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.indexes.formula import Weighting
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.compared import BiEncoder
from irtoolkit.retrievers.lexical import Lexical

DOCS = {"a": "red", "b": "red hat coat", "c": "hat"}


@dataclass(frozen=True)
class Formula(Weighting):
    """1 / ln(length), or the number of shared terms."""

    by_length: bool = False
    once: bool = False

    def query_weights(self, counts: Any) -> Any:
        return np.minimum(counts, 1) if self.once else counts

    def idf(self, size: int, found: Any, all_found: Any) -> Any:
        return np.ones(len(found))

    def weights(self, counts: Any, lengths: Any, average: float) -> Any:
        with np.errstate(divide="ignore"):
            return 1 / np.log(lengths) if self.by_length else np.ones(len(counts))


@dataclass(frozen=True)
class Coordination(Lexical):
    name: ClassVar[str] = "coordination"

    by_length: bool = False
    once: bool = False

    def weighting(self) -> Weighting:
        return Formula(self.by_length, self.once)


def search(query: str, **settings: Any) -> dict[str, float]:
    data = ir.load(DOCS, queries={"q": query})
    run = ir.retrieve(data, System("coordination", Coordination(**settings)))
    return {row.doc_id: round(row.score, 4) for row in run.ranking("q")}


def test_a_term_counts_as_often_as_the_query_has_it_unless_the_formula_says_otherwise() -> None:
    assert search("red red hat") == {"b": 3.0, "a": 2.0, "c": 1.0}
    assert search("red red hat", once=True) == pytest.approx({"b": 2.0, "c": 1.0, "a": 1.0})


def test_a_formula_with_an_infinite_weight_is_refused() -> None:
    with pytest.raises(InputError, match="the formula Formula gives a term the weight inf"):
        search("red hat", by_length=True)


def test_an_index_of_another_format_of_its_retriever_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from irtoolkit.retrievers.sparse import Sparse
    from tests.golden.models import model

    ir.index(DOCS, "sparse", tmp_path / "index", model=model("sparse", tmp_path))
    ir.index(DOCS, "bm25", tmp_path / "postings")
    monkeypatch.setattr(Sparse, "format", Sparse.format + 1)
    with pytest.raises(InputError, match=r"built by format \d+ of sparse, which is now") as caught:
        ir.open_index(tmp_path / "index").search("red")
    assert "--replace" in str(caught.value)
    # Before anything is encoded.
    with pytest.raises(InputError, match="which is now"):
        ir.open_index(tmp_path / "index").add({"d": "a coat"})
    assert len(ir.open_index(tmp_path / "index")) == 3
    # Postings are counts, whatever becomes of them.
    monkeypatch.setattr("irtoolkit.retrievers.lexical.BM25.format", 9)
    assert ir.open_index(tmp_path / "postings").search("red").doc_ids[0] == "a"


@dataclass(frozen=True)
class Trigrams(BiEncoder):
    name: ClassVar[str] = "trigrams"

    def vectors(self, texts: Any, side: Any) -> Any:
        made = np.zeros((len(texts), 64), np.float32)
        for row, segments in zip(made, texts, strict=True):
            for letter in " ".join(segments):
                row[ord(letter) % 64] += 1
        return made


def test_vectors_without_a_model_have_an_index_and_are_scored_alike_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irtoolkit.retrievers.registry.retrievers", lambda: {"trigrams": Trigrams})
    docs = {f"d{number:02}": f"text {number} of {number * 7919}" for number in range(40)}
    queries = {"q": "text 7 of 12", "r": "79"}
    system = System("trigrams", Trigrams())
    run = ir.retrieve(ir.load(docs, queries=queries), system, depth=40)
    index = ir.index(dict(list(docs.items())[:15]), system, tmp_path / "index")
    index = index.add(dict(list(docs.items())[15:]))
    folder = ir.open_index(tmp_path / "index").search_many(queries, 40)
    memory = ir.index(docs, system).search_many(queries, 40)
    for query in queries:
        ranking = [(row.doc_id, row.score) for row in run.ranking(query)]
        assert len(ranking) == 40
        assert [(row.doc_id, row.score) for row in folder.ranking(query)] == ranking
        assert [(row.doc_id, row.score) for row in memory.ranking(query)] == ranking
    cosine = np.dot(*(vector / np.linalg.norm(vector) for vector in Trigrams().vectors(
        [(docs["d00"],), (queries["q"],)], "query").astype(float)))  # fmt: skip
    assert {row.doc_id: row.score for row in run.ranking("q")}["d00"] == pytest.approx(cosine, 1e-6)
