"""Learned sparse retrieval with tiny random models, against sentence-transformers and SPARTA's definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.models.sparta import Sparta
from irtoolkit.retrievers.sparse import Sparse
from tests.datasets import ASKED, DOCS, POOLS, Known, Scores, paired, register, table
from tests.tiny import save, tokenizer

WORDS = len(tokenizer())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """SPLADE as its authors publish it and as sentence-transformers saves it, and others."""
    root = tmp_path_factory.mktemp("models")
    found = {name: str(root / name) for name in ("splade", "few", "summed", "cosine", "static")}
    found["masked"] = str(save(root / "masked", "BertForMaskedLM"))
    found["bert"] = str(save(root / "bert"))
    # Wide enough for the random autoencoder that sentence-transformers would put on it.
    found["wide"] = str(save(root / "wide", hidden_size=64))
    found["sentence"] = str(root / "sentence")
    dense = SentenceTransformer(found["wide"], device="cpu", similarity_fn_name="dot")
    dense.save(found["sentence"])
    theirs(found["masked"]).save(found["splade"])
    theirs(found["masked"], max_active_dims=9).save(found["few"])
    theirs(found["masked"], similarity_fn_name="cosine").save(found["cosine"])

    def body() -> Any:
        return Transformer(found["masked"], transformer_task="fill-mask")

    summed = [body(), SpladePooling("sum", activation_function="log1p_relu")]
    prompts = {"query": "cat ", "document": "dog "}
    SparseEncoder(modules=summed, device="cpu", prompts=prompts).save(found["summed"])
    # Inference-free: a query is its tokens' weights.
    torch.manual_seed(0)
    router = Router.for_query_document(
        query_modules=[SparseStaticEmbedding(tokenizer(), torch.rand(WORDS))],
        document_modules=[body(), SpladePooling("max")],
    )
    SparseEncoder(modules=[router], device="cpu").save(found["static"])
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def theirs(folder: str, **options: Any) -> Any:
    return SparseEncoder(folder, device="cpu", **options)


def found(folder: str, pools: dict[str, list[str]] | None = None, **options: Any) -> Scores:
    return table(register(pools=pools), Sparse(folder, device="cpu", **options))


# -- SPLADE and its like ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["masked", "splade", "few", "summed", "static"])
def test_scores_are_sentence_transformers(folders: dict[str, str], name: str) -> None:
    pools = POOLS if name == "splade" else None
    model = theirs(folders[name])
    sides = model.encode_query([*ASKED.values()]), model.encode_document([*DOCS.values()])
    expected = paired(model.similarity(*sides), pools)
    assert found(folders[name], pools) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert len({round(score, 4) for score in expected.values()}) > len(expected) / 2


def test_no_model_reads_a_query_that_is_free_of_inference(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found(folders["static"])
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(Path(folders["static"]).parent / "fresh"))
    read: list[int] = []
    forward = transformers.BertForMaskedLM.forward

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        read.append(len(options["input_ids"]))
        return forward(self, *args, **options)

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", counted)
    assert found(folders["static"]) == expected
    assert sum(read) == len(set(DOCS.values()))


def test_lengths_are_those_given(folders: dict[str, str]) -> None:
    plain = found(folders["splade"])
    model = theirs(folders["splade"])
    model.max_seq_length = 5
    sides = model.encode_query([*ASKED.values()]), model.encode_document([*DOCS.values()])
    cut = found(folders["splade"], query_length=5, doc_length=5)
    assert cut == pytest.approx(paired(model.similarity(*sides)), rel=1e-5)
    assert found(folders["splade"]) == plain != cut


@pytest.mark.parametrize("name", ["wide", "sentence", "bert"])
def test_a_model_without_term_weights_is_refused(folders: dict[str, str], name: str) -> None:
    """Its terms would be those of a random autoencoder."""
    with pytest.raises(InputError) as caught:
        found(folders[name])
    assert folders[name] in str(caught.value)
    assert "\n" not in str(caught.value)


# -- SPARTA -----------------------------------------------------------------------------------


def sparta(folder: str, kept: int = 2000, longest: int = 48) -> Scores:
    """BEIR's definition, one text at a time: the best dot product of each term's input embedding
    with an output, log(1 + relu) of it, the best terms kept; a query is a bag of token ids."""
    words = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    terms = model.get_input_embeddings().weight.detach().clone()
    terms[words.all_special_ids] = 0
    documents = []
    for text in DOCS.values():
        tokens = words(text, return_tensors="pt", truncation=True, max_length=longest)
        with torch.no_grad():
            states = model(**tokens).last_hidden_state[0]
        weights = torch.log(torch.relu((terms @ states.T).max(dim=1).values) + 1)
        lightest = weights.sort(descending=True).values[min(kept, len(weights)) - 1]
        documents.append(torch.where(weights >= lightest, weights, 0).double())
    bags = [words(text, add_special_tokens=False)["input_ids"] for text in ASKED.values()]
    return paired([[sum(float(doc[i]) for i in bag) for doc in documents] for bag in bags])


def test_sparta_is_beirs(folders: dict[str, str]) -> None:
    expected = sparta(folders["bert"])
    assert found(folders["bert"], pooling="sparta") == pytest.approx(expected, abs=1e-5)
    assert expected["q1", "d1"] > 0


def test_a_term_counts_as_often_as_a_query_has_it(folders: dict[str, str]) -> None:
    dataset = register(queries={"one": "cat", "two": "cat the cat", "three": "the"})
    scores = table(dataset, Sparse(folders["bert"], device="cpu", pooling="sparta"))
    for doc in DOCS:
        one, two, three = (scores[query, doc] for query in ("one", "two", "three"))
        assert two == pytest.approx(2 * one + three, abs=1e-6)


def test_the_heaviest_terms_are_kept(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sparta(folders["bert"], kept=20)
    original = Sparta.__init__

    def fewer(self: Any, *settings: Any) -> None:
        original(self, *settings, kept=20)

    monkeypatch.setattr(Sparta, "__init__", fewer)
    assert found(folders["bert"], pooling="sparta") == pytest.approx(expected, abs=1e-5)
    assert expected != sparta(folders["bert"])


# -- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "docs", "many"),
    [
        ([{0: 1.0, 5: 2.0}, {}], [{0: 3.0}, {}, {5: 1.0, 7: 9.0}], 50),
        ([{}], [{}, {}], 1),
        ([{900: 1.0}], [{1: 2.0}, {}], 1),
    ],
)
def test_texts_without_terms_or_with_terms_of_their_own_score_nothing(
    queries: list[dict[int, float]], docs: list[dict[int, float]], many: int,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # The document that is asked for is a copy among others, so that a row is not its number.
    asked = {f"q{i}": f"query {i}" for i in range(len(queries))}
    shown = {f"d{i}": f"doc {i % len(docs)}" for i in range(len(docs) * many)}
    weights = {f"query {i}": row for i, row in enumerate(queries)}
    weights |= {f"doc {i}": row for i, row in enumerate(docs)}
    made = {
        text: (np.array([*row], np.int32), np.array([*row.values()], np.float32))
        for text, row in weights.items()
    }
    encoder = Known(tmp_path / "weights", made, "dot")
    monkeypatch.setattr(Sparse, "encoder", lambda self, side: encoder)
    assert table(register(shown, asked), Sparse()) == {
        (query, doc): sum(
            value * weights[shown[doc]].get(term, 0)
            for term, value in weights[asked[query]].items()
        )
        for query in asked
        for doc in shown
    }


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_corpus_run_lists_documents_that_share_a_weighted_term(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fill: bool, kept: bool
) -> None:
    """Also one whose weight of the term is below 0, so that it scores less than documents without it."""
    rows = {
        "cat": {1: 2.0},
        "both": {1: 1.0, 2: 3.0},
        "less": {1: -0.5},
        "other": {2: 1.0},
        "none": {},
    }
    made = {
        text: (np.array([*row], np.int32), np.array([*row.values()], np.float32))
        for text, row in {"query": {1: 1.0}, **rows}.items()
    }
    encoder = Known(tmp_path / "weights", made, "dot")
    monkeypatch.setattr(Sparse, "encoder", lambda self, side: encoder)
    monkeypatch.setattr(Sparse, "missing", lambda self: None)
    data = ir.load({name: name for name in rows}, queries={"q": "query"})
    if kept:
        index = ir.index(data, "sparse", tmp_path / "index", progress=False)
        run = index.run(np.array(["q"]), [("query",)], 10, fill=fill)
    else:
        run = ir.retrieve(data, "sparse", fill=fill, progress=False)
    docs = [row.doc_id for row in run.ranking("q")]
    assert docs == (["cat", "both", "other", "none", "less"] if fill else ["cat", "both", "less"])
