"""The analyzer that a term-matching retriever takes by default, and what replaces parts of it."""

from __future__ import annotations

from typing import Any

import pytest

from irtoolkit.base.analysis import ANALYZERS, Analysis, AnalyzerName
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import create_retriever
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.tfidf import TFIDF


@pytest.mark.parametrize(
    ("lang", "name"),
    [
        ("en", "lucene-en"),
        (None, "lucene-en"),
        ("zh", "cjk"),
        ("lzh", "cjk"),
        ("ja", "cjk"),
        ("de", "standard"),
    ],
)
def test_the_language_of_the_documents_decides(lang: str | None, name: AnalyzerName) -> None:
    assert BM25().analysis(lang) == ANALYZERS[name]
    assert BM25().on(lang) == BM25(analyzer=name)
    assert BM25(analyzer="words").analysis(lang) == ANALYZERS["words"]


def test_a_part_replaces_that_of_the_analyzer() -> None:
    made = create_retriever("tfidf", {"stop": "none"})
    assert isinstance(made, TFIDF)
    assert made.analysis("en") == Analysis("standard", "none", "porter")
    assert made.analysis("zh") == ANALYZERS["cjk"]
    assert made.on("en") == TFIDF(tokenizer="standard", stop="none", stem="porter")
    assert made.on("en").on("zh") == made.on("en")
    with pytest.raises(InputError, match="analyzer=english"):
        create_retriever("tfidf", {"analyzer": "english"})


@pytest.mark.parametrize("settings", [{}, {"k1": "1.2"}, {"analyzer": "words"}])
def test_anserinis_bm25_says_all_its_settings(settings: dict[str, Any]) -> None:
    made = find_system("bm25-anserini", settings)
    usual = {"form": "lucene", "k1": 0.9, "b": 0.4, "analyzer": "lucene-en", "lengths": "lucene"}
    assert made.name == "bm25-anserini"
    assert made.retriever == create_retriever("bm25", {**usual, **settings})
    # In any language, as Anserini does.
    assert made.on("zh").settings()["analyzer"] == settings.get("analyzer", "lucene-en")
