"""Late interaction with tiny random models, against sentence-transformers' own scores."""

from __future__ import annotations

import string
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes import comparison
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.models import adapters as applied
from irtoolkit.models import presets
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.presets import Preset
from irtoolkit.models.shards import Encodings, key_of, write_shard
from irtoolkit.models.store import Store
from irtoolkit.retrievers import compared, late
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.late import Late, TokensOnGpu, maxsim_on_gpu, tokens
from irtoolkit.retrievers.task import load_task
from tests.datasets import ASKED, DOCS, POOLS, Scores, paired, register, table
from tests.tiny import LONGEST, save, save_colbert

DIMENSIONS, QUERY_TOKENS = 16, 12


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """ColBERTs as their authors publish them and as sentence-transformers saves them, and others."""
    root = tmp_path_factory.mktemp("models")
    made = {
        "colbert": str(save_colbert(root / "colbert")),
        "other": str(save_colbert(
            root / "other", seed=1, attend_to_mask_tokens=True, mask_punctuation=False,
            query_token_id="[unused1]", doc_token_id="[unused0]", query_maxlen=9,
        )),
        "bert": str(save(root / "bert")),
        "masked": str(save(root / "masked", "BertForMaskedLM")),
    }  # fmt: skip
    model = theirs(made["colbert"])
    for name, change in {
        "saved": lambda: None,
        "unexpanded": lambda: _unexpanded(model),
        "mean": lambda: setattr(model, "similarity_fn_name", "meanmaxsim"),
    }.items():
        change()
        made[name] = str(root / name)
        model.save(made[name])
    made["sentence"] = str(root / "sentence")
    SentenceTransformer(made["bert"], device="cpu").save(made["sentence"])
    return made


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def theirs(folder: str) -> Any:
    return MultiVectorEncoder(folder, device="cpu")


def _unexpanded(model: Any) -> None:
    model[0].query_length = model[0].query_expansion["length"]
    model[0].query_expansion = None


def _without_skiplist(model: Any) -> None:
    for module in model:
        if hasattr(module, "skiplist_words"):
            module.skiplist_words = []
            module.resolve_with_tokenizer(model.tokenizer)


def expected(model: Any, pools: dict[str, list[str]] | None = None) -> Scores:
    sides = model.encode_query([*ASKED.values()]), model.encode_document([*DOCS.values()])
    return paired(model.similarity(*sides), pools)


def found(folder: str, pools: dict[str, list[str]] | None = None, **options: Any) -> Scores:
    own = {"stored": "fp32", "device": "cpu", **options}
    return table(register(pools=pools), Late(folder, **own))


def gap(one: Scores, other: Scores) -> float:
    assert one.keys() == other.keys()
    return max(abs(one[pair] - other[pair]) for pair in one)


# -- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["colbert", "other", "saved", "unexpanded", "mean"])
def test_scores_are_sentence_transformers(folders: dict[str, str], name: str) -> None:
    pools = POOLS if name == "colbert" else None
    assert found(folders[name], pools) == pytest.approx(
        expected(theirs(folders[name]), pools), abs=1e-5
    )


OPTIONS: dict[str, tuple[dict[str, Any], Callable[[Any], None]]] = {
    "expansion": ({"expansion": False}, _unexpanded),
    "skiplist": ({"skiplist": False}, _without_skiplist),
    "both": (
        {"expansion": False, "skiplist": False},
        lambda model: (_unexpanded(model), _without_skiplist(model)),  # type: ignore[arg-type,return-value]
    ),
}


@pytest.mark.parametrize(
    ("case", "name"), [("both", "colbert"), ("expansion", "saved"), ("skiplist", "saved")]
)
def test_options_switch_off_what_colbert_does(
    folders: dict[str, str], name: str, case: str
) -> None:
    options, change = OPTIONS[case]
    model = theirs(folders[name])
    plain = expected(model)
    change(model)
    assert found(folders[name], **options) == pytest.approx(expected(model), abs=1e-5)
    assert gap(plain, expected(model)) > 1e-3, "it does something"


def test_lengths_are_those_given(folders: dict[str, str]) -> None:
    model = theirs(folders["colbert"])
    model[0].query_expansion = {**model[0].query_expansion, "length": 7}
    model[0].document_length = 9
    # Others' settings are not to be seen: the three share weights.
    plain = found(folders["colbert"])
    cut = found(folders["colbert"], query_length=7, doc_length=9)
    assert cut == pytest.approx(expected(model), abs=1e-5)
    assert found(folders["colbert"]) == plain
    assert gap(cut, plain) > 1e-3


def test_fewer_bits_move_a_product_by_their_rounding(folders: dict[str, str]) -> None:
    """A component of 11 bits is off by 2^-11 of itself; a step of 8 is the greatest one over 127."""
    exact = found(folders["colbert"])
    for stored, bound in (("fp16", 2**-11), ("int8", np.sqrt(DIMENSIONS) / 254)):
        assert 0 < gap(found(folders["colbert"], stored=stored), exact) <= QUERY_TOKENS * bound


def test_equal_documents_tie(folders: dict[str, str]) -> None:
    scores = found(folders["colbert"], POOLS, stored="int8")
    assert DOCS["d1"] == DOCS["d6"]
    assert scores["q2", "d1"] == scores["q2", "d6"]
    assert len({scores["q2", doc] for doc in DOCS}) == len(DOCS) - 1


def test_another_model_is_refused(folders: dict[str, str]) -> None:
    with pytest.raises(InputError, match="a vector of each token") as caught:
        found(folders["masked"])
    assert folders["masked"] in str(caught.value)


# -- dense models -----------------------------------------------------------------------------


def token_vectors(folder: str, text: str, skips: bool = False) -> Any:
    """The scaled vectors of a text's tokens, without special ones unless there are no others."""
    words, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    coded = words(text, return_tensors="pt", truncation=True, max_length=LONGEST)
    with torch.inference_mode():
        states = model(**coded).last_hidden_state[0].numpy()
    names = words.convert_ids_to_tokens(coded["input_ids"][0])
    left = {"[CLS]", "[SEP]", *(string.punctuation if skips else ())}
    kept = [state for state, name in zip(states, names, strict=True) if name not in left]
    kept = kept or list(states)
    return [state / np.linalg.norm(state) for state in kept]


@pytest.mark.parametrize("skips", [False, True])
def test_a_dense_model_is_compared_by_its_tokens(folders: dict[str, str], skips: bool) -> None:
    scores = found(folders["sentence"], POOLS, skiplist=skips or None)
    docs = {doc: token_vectors(folders["bert"], text, skips) for doc, text in DOCS.items()}
    for query, text in ASKED.items():
        asked = token_vectors(folders["bert"], text)
        for doc in POOLS[query]:
            total = 0.0
            for one in asked:
                total += max(float(one @ other) for other in docs[doc])
            assert scores[query, doc] == pytest.approx(total, abs=1e-4)
    assert scores["q2", "d1"] == scores["q2", "d6"]


def test_a_dense_preset_of_a_plain_transformer(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found(folders["sentence"])
    known = {"tiny": Preset(folders["bert"], pooling="cls")}
    monkeypatch.setattr(presets, "presets", lambda: known)
    assert found("tiny") == pytest.approx(expected, abs=1e-5)
    with pytest.raises(InputError, match="expansion=true: tiny is no late-interaction model"):
        found("tiny", expansion=True)


def test_prompts_of_a_dense_model_have_no_vectors(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"tiny": Preset(folders["bert"], pooling="cls", document_prompt="the sun: ")}
    monkeypatch.setattr(presets, "presets", lambda: known)
    how = Late("tiny", device="cpu").how("document")
    counts = Encoder(how).encode(["a cat", "a dog ran"]).counts
    assert counts.tolist() == [2, 3]


# -- files ------------------------------------------------------------------------------------


def test_parts_and_blocks_change_no_score(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(folders["colbert"], stored="int8")
    read: list[int] = []
    original = late.tokens

    def counted(rows: Encodings) -> Any:
        read.append(len(rows))
        return original(rows)

    monkeypatch.setattr(late, "tokens", counted)
    assert found(folders["colbert"], stored="int8") == whole
    assert sorted(read) == [len(ASKED), len(DOCS)]
    read.clear()
    monkeypatch.setattr(compared, "DOCS", 2)
    monkeypatch.setattr(compared, "_IN_MEMORY", 20)
    monkeypatch.setattr(comparison, "_CELLS", 50)
    monkeypatch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", len(DOCS))
    assert found(folders["colbert"], stored="int8") == whole
    assert max(read) < len(DOCS) - 1, "never all documents at once"
    task = load_task(register())
    retriever = Late(folders["colbert"], stored="int8", device="cpu")  # type: ignore[arg-type]
    run = rank(task, retriever, progress=False).as_dict()
    for (query, doc), score in whole.items():
        assert run[query][doc] == pytest.approx(score, abs=1e-5)


# -- MaxSim -----------------------------------------------------------------------------------


def ragged(counts: list[int], seed: int, width: int = 3) -> tuple[Any, Ints]:
    """Token vectors of some texts end to end, of few values so that there are ties."""
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-3, 4, (sum(counts), width)).astype(np.float32)
    return vectors, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def plainly(docs: Any, doc_starts: Ints, queries: Any, query_starts: Ints) -> Any:
    def texts(vectors: Any, starts: Ints) -> list[Any]:
        return [vectors[a:b] for a, b in pairwise(starts)]

    return [
        [sum(max(doc @ token, default=-1.0) for token in query) for doc in texts(docs, doc_starts)]
        for query in texts(queries, query_starts)
    ]


def here(
    docs: Any, doc_starts: Ints, queries: Any, query_starts: Ints, device: str, scores: Any
) -> None:
    how = VectorComparison("dot", total=True)
    shard = VectorShard.of([(docs, np.diff(doc_starts))])
    scores[:] = how.scores(QueryVectors.of(queries, query_starts, how), shard)


COUNTS = st.lists(st.integers(0, 7), min_size=1, max_size=12)


@settings(max_examples=80)
@given(
    docs=COUNTS,
    asked=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    seed=st.integers(0, 1000),
    cells=st.sampled_from([1, 7, 40, 1 << 17]),
)
@pytest.mark.parametrize("way", [here, maxsim_on_gpu])
def test_maxsim_is_the_sum_of_the_best(
    way: Any, docs: list[int], asked: list[int], seed: int, cells: int
) -> None:
    sides = *ragged(docs, seed), *ragged(asked, seed + 1)
    scores = np.full((len(asked), len(docs)), np.nan, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_CELLS", cells)
        patch.setattr(late, "_CELLS_ON_GPU", cells)
        # What runs on a GPU runs on torch's CPU as well.
        way(*sides, "cpu", scores)
    assert (scores == np.array(plainly(*sides))).all(), "sums of whole numbers are exact"


def on_gpu(docs: Encodings) -> TokensOnGpu:
    def read(chosen: Ints) -> Any:
        vectors, starts = tokens(docs[chosen])
        return vectors, np.diff(starts)

    how = VectorComparison("dot", total=True)
    return TokensOnGpu(read, np.arange(len(docs)), how, "cpu", half=False)


@given(
    docs=COUNTS,
    asked=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    seed=st.integers(0, 1000),
    held=st.sampled_from([1, 5, 1 << 20]),
    at_once=st.sampled_from([1, 4, 1 << 20]),
)
def test_a_candidate_set_is_compared_in_parts(
    tmp_path: Path, docs: list[int], asked: list[int], seed: int, held: int, at_once: int
) -> None:
    vectors, starts = ragged(docs, seed)
    keys = [key_of(f"{seed} {docs} {i}") for i in range(len(docs))]
    store = Store(tmp_path / "vectors")
    store.add(
        write_shard(
            store.folder,
            keys,
            np.diff(starts),
            [(part,) for part in np.split(vectors, starts[1:-1])],
        )
    )
    queries = ragged(asked, seed + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late, "DOCS", held)
        patch.setattr(late, "_ASKED", at_once)
        scores = on_gpu(store.rows(keys)).scores(queries[0], np.diff(queries[1]))
    assert (scores == np.array(plainly(vectors, starts, *queries))).all()


def test_nothing_is_compared_below_the_first_token() -> None:
    """Vectors that are not of length 1 may have a best product far below -1."""
    docs, queries = np.array([[-9.0]], np.float32), np.array([[2.0]], np.float32)
    starts = np.array([0, 1])
    for way in (here, maxsim_on_gpu):
        scores = np.zeros((1, 1), np.float32)
        way(docs, starts, queries, starts, "cpu", scores)
        assert scores.item() == -18


@pytest.mark.parametrize("counts", [[2, 0], [0]])
def test_a_query_without_a_token_is_refused(tmp_path: Path, counts: list[int]) -> None:
    store = Store(tmp_path / "vectors")
    key = key_of("doc")
    store.add(write_shard(store.folder, [key], np.array([1]), [(np.ones((1, 3), np.float32),)]))
    with pytest.raises(InputError, match="a query without a token cannot be compared"):
        on_gpu(store.rows([key])).scores(ragged(counts, 0)[0], np.array(counts, np.int64))
    how = VectorComparison("dot", total=True)
    vectors, starts = ragged(counts, 0)
    shard = VectorShard.of([(np.ones((1, 3)), np.array([1]))])
    with pytest.raises(InputError, match="a query without a token cannot be compared"):
        how.scores(QueryVectors.of(vectors, starts, how), shard)


def test_a_document_without_tokens_is_below_all_others(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = applied.SentenceModel.__call__

    def emptied(self: Any, items: list[str]) -> Any:
        made = original(self, items)
        return [
            (row[:0],) if item == "" else (row,) for item, (row,) in zip(items, made, strict=True)
        ]

    monkeypatch.setitem(ASKED, "q3", "sun")
    monkeypatch.setattr(applied.SentenceModel, "__call__", emptied)
    scores = found(folders["colbert"])
    for query in ASKED:
        assert scores[query, "d4"] == -QUERY_TOKENS
        assert min(scores, key=lambda pair: (pair[0] != query, scores[pair])) == (query, "d4")
