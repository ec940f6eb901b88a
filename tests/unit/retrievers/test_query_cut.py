"""What is cut off a query that is too long, by its view and by the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.cuts import Cut
from irtoolkit.ranking.from_index import rank_corpus
from irtoolkit.ranking.produce import rank_dataset
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.texts import mask_of, view
from tests import tiny

CHOICES: list[tuple[dict[str, Any], Cut | None]] = [
    ({}, None),
    ({"query": "left+right"}, None),
    ({"query": "masked"}, Cut("sides", "[MASK]")),
    ({"query": "masked-left:<mask>"}, Cut("sides", "<mask>")),
    ({"query": "masked:<mask>"}, Cut("sides", "<mask>")),
    ({"query": "masked:<mask>", "query_cut": "end"}, None),
    ({"query": "masked:<mask>", "query_cut": "start"}, Cut("start")),
    ({"query": "masked:<mask>", "around": "lamp"}, Cut("sides", "lamp")),
    ({"query_cut": "sides", "around": "lamp"}, Cut("sides", "lamp")),
    ({"query_cut": "start"}, Cut("start")),
]


@pytest.mark.parametrize(("settings", "cut"), CHOICES)
@pytest.mark.parametrize("retriever", ["dense", "late", "sparse", "sentence-max", "sentence-match"])
def test_masked_views_are_cut_on_both_sides(
    retriever: str, settings: dict[str, Any], cut: Cut | None
) -> None:
    made: Any = System.make("s", retriever, {"model": "any/model", **settings}).retriever
    assert made.how("query").cut == cut
    assert made.how("document").cut is None
    assert "cut" not in {key for key, value in made.encoding("document").items() if value}


def test_both_sides_of_what_is_refused() -> None:
    made: Any = System.make("s", "dense", {"model": "any/model", "query_cut": "sides"}).retriever
    with pytest.raises(InputError, match="nothing says what stays in the middle"):
        made.how("query")


def test_views_with_a_mask() -> None:
    assert mask_of("masked") == "[MASK]"
    assert mask_of("masked:<mask>") == "<mask>"
    assert mask_of("default") is None
    assert mask_of("left") is None


class Removed(NamedTuple):
    """A query that only knows where something was removed."""

    query_id: str
    text: str

    def with_mask(self, token: str) -> str:
        return f"{self.text} {token} after"


def test_a_query_that_does_not_know_its_sides_has_no_left_one() -> None:
    assert view(Removed("q", "before"), "masked:<m>") == ("before <m> after",)
    with pytest.raises(InputError, match="Removed has no text field 'masked-left:<m>'"):
        view(Removed("q", "before"), "masked-left:<m>")


def test_a_tokenizer_that_tells_no_places_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    import transformers

    folder = tiny.save(tmp_path / "model")
    made: Any = System.make(
        "s", "dense", {"model": str(folder), "pooling": "cls", "query": "masked"}
    ).retriever
    made.encoder("query")
    monkeypatch.setattr(transformers.BertTokenizerFast, "is_fast", False)
    with pytest.raises(InputError, match="only be cut at their end") as refused:
        made.encoder("query")
    assert "query_cut=end" in str(refused.value)


def test_kept_documents_are_asked_with_the_same_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index knows no view: what its system has been given is cut in the same way."""
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    dataset = Dataset.load("egret/sample/dev")
    folder = tiny.save(tmp_path / "model", texts=[q.context for q in dataset.queries])
    settings = {"model": str(folder), "pooling": "cls", "query": "masked", "query_length": 14}
    found = {}
    for cut in ("sides", "end"):
        system = System.make("s", "dense", {**settings, "query_cut": cut})
        found[cut] = rank_dataset(dataset, system, depth=20, progress=False)
        kept = rank_corpus(dataset, system, 20, progress=False)
        assert kept.doc_ids[kept.docs].tolist() == found[cut].doc_ids[found[cut].docs].tolist()
        assert kept.scores == pytest.approx(found[cut].scores, abs=1e-4)
    default = rank_dataset(dataset, System.make("s", "dense", settings), depth=20)
    assert default.scores.tolist() == found["sides"].scores.tolist()
    assert found["sides"].scores.tolist() != found["end"].scores.tolist()
