"""Prompts and instructions in every kind of model, against sentence-transformers' own encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as TheirCross
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.presets import Preset
from irtoolkit.ranking.produce import rank_dataset
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.dense import Dense, SentenceMax
from irtoolkit.retrievers.late import Late
from irtoolkit.retrievers.sparse import Sparse
from tests.datasets import DOCS, Scores, register, table
from tests.tiny import DIMENSIONS, save, save_colbert, sentence_model

QUERIES = {"q1": "a dog, the sea", "q2": "the cat sat on the mat.", "q4": "rat"}
SHOWN = {doc: text for doc, text in DOCS.items() if text}
# Prompts that settings give, and what they put before a query and a document.
E5 = {"query_prompt": "cat: ", "document_prompt": "the mat: "}
TASK = {"query_prompt": r"sea: {instruction}\ndog: ", "instruction": "the sun sat"}
PROMPTS: list[tuple[dict[str, str], str, str]] = [
    ({}, "", ""),
    (E5, "cat: ", "the mat: "),
    (TASK, "sea: the sun sat\ndog: ", ""),
    ({**E5, "query_prompt": ""}, "", "the mat: "),
]


class Asked(NamedTuple):
    """A query with an instruction of its own."""

    query_id: str
    text: str
    instruction: str

    def default_text(self) -> str:
        return self.text


INSTRUCTED = [Asked("q1", "a dog, the sea", "the sun"), Asked("q2", "rat", "a mat and a cat")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model of each kind, without prompts; and dense ones with some."""
    root = tmp_path_factory.mktemp("models")
    plain = save(root / "plain")

    def modules(**pooling: Any) -> list[Any]:
        return [Transformer(str(plain)), Pooling(DIMENSIONS, "mean", **pooling), Normalize()]

    saved = {"query": "Instruct: the sea\nQuery:", "document": ""}
    return {
        "plain": str(plain),
        "dense": str(sentence_model(root / "dense", *modules())),
        "instructed": str(sentence_model(root / "instructed", *modules(), prompts=saved)),
        "apart": str(sentence_model(root / "apart", *modules(include_prompt=False))),
        "late": str(save_colbert(root / "late")),
        "sparse": str(save(root / "sparse", "BertForMaskedLM")),
        "cross": str(save(root / "cross", "BertForSequenceClassification", num_labels=1)),
    }


def near(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-6)


def paired(matrix: Any, queries: Sequence[str] = tuple(QUERIES)) -> Scores:
    return {
        (query, doc): float(matrix[row][column])
        for row, query in enumerate(queries)
        for column, doc in enumerate(SHOWN)
    }


def cosines(folder: str, queries: Sequence[str], query: str, document: str) -> Any:
    model = SentenceTransformer(folder, device="cpu")
    asked = model.encode(list(queries), prompt=query)
    shown = model.encode(list(SHOWN.values()), prompt=document)
    return asked.astype(np.float64) @ shown.astype(np.float64).T


@pytest.mark.parametrize(("settings", "query", "document"), PROMPTS)
def test_dense(settings: Any, query: str, document: str, folders: dict[str, str]) -> None:
    found = table(register(SHOWN, QUERIES), Dense(folders["dense"], device="cpu", **settings))
    assert found == near(paired(cosines(folders["dense"], [*QUERIES.values()], query, document)))


@pytest.mark.parametrize(("settings", "query", "document"), PROMPTS[::3])
def test_late(settings: Any, query: str, document: str, folders: dict[str, str]) -> None:
    """sentence-transformers puts ColBERT's own markers before queries and documents as prompts."""
    model = MultiVectorEncoder(folders["late"], device="cpu")
    retriever = Late(folders["late"], device="cpu", stored="fp32", **settings)
    own = (model.prompts["query"], model.prompts["document"])
    asked = model.encode_query(
        [*QUERIES.values()], prompt=query if "query_prompt" in settings else own[0]
    )
    shown = model.encode_document(
        [*SHOWN.values()], prompt=document if "document_prompt" in settings else own[1]
    )
    expected = np.array([[float((q @ d.T).amax(1).sum()) for d in shown] for q in asked])
    # A sum over twelve tokens.
    assert table(register(SHOWN, QUERIES), retriever) == pytest.approx(paired(expected), abs=1e-5)


@pytest.mark.parametrize(("settings", "query", "document"), PROMPTS[1:3])
def test_sparse(settings: Any, query: str, document: str, folders: dict[str, str]) -> None:
    model = SparseEncoder(folders["sparse"], device="cpu")
    asked = model.encode_query([*QUERIES.values()], prompt=query).to_dense().double()
    shown = model.encode_document([*SHOWN.values()], prompt=document).to_dense().double()
    found = table(register(SHOWN, QUERIES), Sparse(folders["sparse"], device="cpu", **settings))
    assert found == pytest.approx(paired(asked @ shown.T), rel=1e-6)


@pytest.mark.parametrize(("settings", "query", "document"), PROMPTS[1:3])
def test_cross(settings: Any, query: str, document: str, folders: dict[str, str]) -> None:
    model = TheirCross(folders["cross"], device="cpu", activation_fn=torch.nn.Identity())
    pairs = [(text, document + doc) for text in QUERIES.values() for doc in SHOWN.values()]
    expected = model.predict(pairs, prompt=query).reshape(len(QUERIES), -1)
    found = table(
        register(SHOWN, QUERIES), CrossEncoder(folders["cross"], device="cpu", **settings)
    )
    assert found == near(paired(expected))


# -- instructions -----------------------------------------------------------------------------


def ranked(retriever: Retriever, dataset_id: str) -> tuple[System, Scores]:
    """The scores that a system gives on a dataset."""
    run = rank_dataset(dataset_id, System("tiny", retriever), progress=False)
    rows = (
        (query, doc, score) for query, row in run.as_dict().items() for doc, score in row.items()
    )
    return {(query, doc): score for query, doc, score in rows}  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_each_query_has_its_own_instruction(kind: str, folders: dict[str, str]) -> None:
    dataset = register(SHOWN, INSTRUCTED)
    prompt = "sea: {instruction} dog: "
    made: Callable[..., Retriever] = {"dense": Dense, "cross": CrossEncoder}[kind]
    found = ranked(made(folders[kind], device="cpu", query_prompt=prompt), dataset)
    for asked in INSTRUCTED:
        own = {asked.query_id: asked.text}
        alone = made(
            folders[kind], device="cpu", query_prompt=prompt, instruction=asked.instruction
        )
        expected = table(register(SHOWN, own), alone)
        assert {key: found[key] for key in expected} == near(expected)


def test_a_models_own_instruction_is_replaced(folders: dict[str, str]) -> None:
    folder, texts = folders["instructed"], [*QUERIES.values()]
    for settings, prompt in (
        ({}, "Instruct: the sea\nQuery:"),
        ({"instruction": "a {{dog}}"}, "Instruct: a {dog}\nQuery:"),
        ({"query_prompt": ""}, ""),
    ):
        found = table(register(SHOWN, QUERIES), Dense(folder, device="cpu", **settings))
        assert found == near(paired(cosines(folder, texts, prompt, ""))), settings


def test_a_presets_instruction(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    known = Preset(
        folders["dense"], similarity="cosine", query_prompt="sea: {instruction} dog: ",
        instruction="the mat", bare_prompt="cat: ",
    )  # fmt: skip
    monkeypatch.setattr(presets, "presets", lambda: {"tiny": known})
    texts = [*QUERIES.values()]
    for settings, prompt in (
        ({}, "sea: the mat dog: "),
        ({"instruction": "the sun"}, "sea: the sun dog: "),
        ({"instruction": ""}, "cat: "),
    ):
        found = table(register(SHOWN, QUERIES), Dense("tiny", device="cpu", **settings))
        assert found == near(paired(cosines(folders["dense"], texts, prompt, ""))), settings


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("dense", {"instruction": "x"}, "takes none: it has no query prompt"),
        ("dense", {"instruction": "x", "query_prompt": "query: "}, "its query prompt is 'query: '"),
        ("dense", {"query_prompt": "{instruction}: "}, "there is no instruction"),
        ("dense", {"query_prompt": "{: "}, "cannot be read"),
        ("dense", {"document_prompt": "{title}: "}, "document prompt has {title}"),
        ("apart", {"query_prompt": "{title}: "}, "has to know its prompt"),
    ],
)
def test_prompts_that_cannot_be(
    kind: str, settings: Any, said: str, folders: dict[str, str]
) -> None:
    with pytest.raises(InputError) as error:
        ranked(Dense(folders[kind], device="cpu", **settings), register(SHOWN, QUERIES))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_parts_of_queries_have_no_fields(folders: dict[str, str]) -> None:
    with pytest.raises(InputError, match="compares parts of a query"):
        ranked(SentenceMax(folders["dense"], device="cpu", query_prompt="{title}"), register())
