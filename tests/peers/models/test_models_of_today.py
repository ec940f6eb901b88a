"""Presets of today's models, from tiny checkpoints in their published layouts, against sentence-transformers.

The prompts here are those of the models' cards, written out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder as TheirCross
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense as Layer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.cross_encoder.modules import Transformer as CrossTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.conversion import convert
from irtoolkit.models.presets import Preset
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.late import Late, tokens
from irtoolkit.retrievers.llm.reranker import Reranker
from irtoolkit.retrievers.sentence_match import SentenceMatch
from irtoolkit.retrievers.sparse import Sparse
from tests.datasets import register, table
from tests.tiny import DIMENSIONS, SPECIAL, WORDS, save, save_colbert, sentence_model

QUERIES = {"q1": "a dog, the sea", "q2": "the cat sat on the mat."}
DOCS = {"d1": "the cat sat on the mat. a dog ran.", "d2": "rat", "d3": "the sun ran on the sea"}
WEB = "Given a web search query, retrieve relevant passages that answer the query"
LONG = 160
# Words of the prompts, so that they differ to a tiny model.
TEXTS = (
    *WORDS,
    WEB,
    "Instruct Query passage search_query search_document title none text task result",
)
# What the classes of tokenizers of language models add to a vocabulary that lacks it.
ENDS = (*SPECIAL, "<|endoftext|>", "<s>", "</s>", "<unk>")
DECODER = {"num_key_value_heads": 2, "head_dim": 16}


class Layout(NamedTuple):
    """How a model is published.

    Attributes:
        make: class of its transformer.
        pooling: of its token vectors.
        normalized: whether a layer scales them to length 1.
        prompts: that are saved with it.
        settings: more of its configuration.
        own: the file with its code, if it comes with some.
    """

    make: str = "BertModel"
    pooling: Any = "mean"
    normalized: bool = True
    prompts: dict[str, str] = {}  # noqa: RUF012 is not changed
    settings: dict[str, Any] = {}  # noqa: RUF012
    own: str | None = None


E5 = Layout()
XLM = Layout("XLMRobertaModel")
QWEN3 = Layout(
    "Qwen3Model", "lasttoken", prompts={"query": f"Instruct: {WEB}\nQuery:", "document": ""}, settings=DECODER,
)  # fmt: skip
QWEN2 = Layout(
    "Qwen2Model", "lasttoken", prompts={"query": f"Instruct: {WEB}\nQuery: "},
    settings={"num_key_value_heads": 2}, own="modeling_qwen.py",
)  # fmt: skip
ARCTIC = Layout("XLMRobertaModel", "cls", prompts={"query": "query: "})
NOMIC = Layout(own="modeling_hf_nomic_bert.py")
BGE = Layout(pooling="cls")
LAYOUTS = {
    **dict.fromkeys(("E5-small", "E5-base", "E5-large", "multilingual-E5-small"), E5),
    **dict.fromkeys(("multilingual-E5-base", "multilingual-E5-large", "multilingual-E5-instruct"), XLM),
    "E5-mistral": Layout(
        "MistralModel", "lasttoken", settings=DECODER,
        prompts={"web_search_query": f"Instruct: {WEB}\nQuery: "},
    ),
    "bge-base-en": BGE, "bge-large-en": BGE,
    "bge-m3": Layout("XLMRobertaModel", "cls"),
    "GTE-ModernBERT": Layout("ModernBertModel", "cls", normalized=False, settings={
        "eos_token_id": 3, "bos_token_id": 2, "cls_token_id": 2, "sep_token_id": 3,
    }),
    "GTE-Qwen2-1.5B": QWEN2, "GTE-Qwen2-7B": QWEN2,
    **dict.fromkeys(("Qwen3-Embedding-0.6B", "Qwen3-Embedding-4B", "Qwen3-Embedding-8B"), QWEN3),
    "Arctic-Embed-2-medium": ARCTIC._replace(make="BertModel", own="modeling_hf_alibaba_nlp_gte.py"),
    "Arctic-Embed-2-large": ARCTIC,
    "nomic-embed-1.5": NOMIC, "nomic-embed-2": NOMIC,
    "ReasonIR-8B": Layout(
        "LlamaModel", normalized=False, settings={"num_key_value_heads": 2}, own="modeling_reasonir_8b.py"
    ),
}  # fmt: skip
INSTRUCT = f"Instruct: {WEB}\nQuery: "
# What the cards put before a query and a document.
PROMPTS = {
    **dict.fromkeys([name for name, layout in LAYOUTS.items() if layout in (E5, XLM)], ("query: ", "passage: ")),
    **dict.fromkeys(("multilingual-E5-instruct", "E5-mistral", "GTE-Qwen2-1.5B", "GTE-Qwen2-7B"), (INSTRUCT, "")),
    **dict.fromkeys([name for name, layout in LAYOUTS.items() if layout is QWEN3], (INSTRUCT[:-1], "")),
    **dict.fromkeys(("bge-base-en", "bge-large-en"),
                    ("Represent this sentence for searching relevant passages: ", "")),
    **dict.fromkeys(("bge-m3", "GTE-ModernBERT"), ("", "")),
    **dict.fromkeys(("Arctic-Embed-2-medium", "Arctic-Embed-2-large"), ("query: ", "")),
    **dict.fromkeys(("nomic-embed-1.5", "nomic-embed-2"), ("search_query: ", "search_document: ")),
    "ReasonIR-8B": ("<|embed|>\n", "<|embed|>\n"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "code"))


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], Preset]:
    """Puts a tiny checkpoint in the place of a preset's."""

    def put(name: str, folder: Path) -> Preset:
        known = replace(presets.presets()[name], id=str(folder))
        monkeypatch.setattr(presets, "presets", lambda: {name: known})
        return known

    return put


def published(folder: Path, layout: Layout) -> Path:
    """Saves a model of a few thousand random weights as a repository has it."""
    settings = {"initializer_range": 0.5, **layout.settings}
    body = save(folder / "body", layout.make, TEXTS, longest=LONG, special=ENDS, **settings)
    last = [Normalize()] if layout.normalized else []
    model = [Transformer(str(body)), Pooling(DIMENSIONS, layout.pooling), *last]
    made = sentence_model(folder / "model", *model, prompts=layout.prompts)
    if layout.own is not None:
        with_code(made, layout.make, layout.own)
    return made


def with_code(folder: Path, make: str, file: str) -> None:
    """Adds code of the model's own: the class of transformers under another name."""
    code = f"from transformers import {make}\n\n\nclass Own({make}):\n    pass\n"
    (folder / file).write_text(code)
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": f"{file.removesuffix('.py')}.Own"}
    (folder / "config.json").write_text(json.dumps(config))


def near(expected: Any) -> Any:
    return pytest.approx(np.asarray(expected, np.float64), abs=1e-6)


def vectors(retriever: Dense, texts: Sequence[str], side: Any) -> Any:
    return retriever.encoder(side).encode(texts).vectors()


def theirs(folder: Path, texts: Sequence[str], prompt: str, **how: Any) -> Any:
    model = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    made = model.encode(list(texts), prompt=prompt, **how)
    # Models that are compared by the cosine need no length of 1.
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def ours(retriever: Dense, texts: Sequence[str], side: Any) -> Any:
    made = vectors(retriever, texts, side)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


# -- dense ------------------------------------------------------------------------------------


# One of each layout with its own prompts.
DENSE = {(id(layout), PROMPTS[name]): name for name, layout in LAYOUTS.items()}.values()


@pytest.mark.parametrize("name", DENSE)
def test_dense(name: str, publish: Any, tmp_path: Path) -> None:
    layout, texts = LAYOUTS[name], [*QUERIES.values()]
    folder = published(tmp_path, layout)
    known = publish(name, folder)
    own: dict[str, Any] = {"trust_remote_code": True} if layout.own else {}
    on = Dense(name, device="cpu", **own)
    off = Dense(name, device="cpu", query_prompt="", document_prompt="", **own)
    query, document = PROMPTS[name]
    assert ours(on, texts, "query") == near(theirs(folder, texts, query))
    assert ours(on, texts, "document") == near(theirs(folder, texts, document))
    for side in ("query", "document"):
        assert ours(off, texts, side) == near(theirs(folder, texts, ""))
    assert on.encoder("query").similarity == known.similarity == "cosine"
    if query:
        assert np.abs(ours(on, texts, "query") - ours(off, texts, "query")).max() > 1e-3


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("E5-mistral", "Instruct: find cats\nQuery: "),
        ("Qwen3-Embedding-0.6B", "Instruct: find cats\nQuery:"),
        ("ReasonIR-8B", "<|user|>\nfind cats\n<|embed|>\n"),
    ],
)
def test_instructions(name: str, prompt: str, publish: Any, tmp_path: Path) -> None:
    folder, texts = published(tmp_path, LAYOUTS[name]), [*QUERIES.values()]
    publish(name, folder)
    own: dict[str, Any] = {"trust_remote_code": True} if LAYOUTS[name].own else {}
    retriever = Dense(name, device="cpu", instruction="find cats", **own)
    assert retriever.missing() is None
    assert ours(retriever, texts, "query") == near(theirs(folder, texts, prompt))


def test_embeddinggemma(publish: Any, tmp_path: Path) -> None:
    body = save(
        tmp_path / "body",
        "Gemma3TextModel",
        TEXTS,
        longest=LONG,
        num_key_value_heads=1,
        head_dim=16,
    )
    torch.manual_seed(0)
    layers = [Layer(DIMENSIONS, 48, bias=False), Layer(48, DIMENSIONS, bias=False)]
    folder = sentence_model(
        tmp_path / "model", Transformer(str(body)), Pooling(DIMENSIONS), *layers, Normalize()
    )
    publish("EmbeddingGemma", folder)
    texts = [*QUERIES.values()]
    for settings, side, prompt in (
        ({}, "query", "task: search result | query: "),
        ({"instruction": "fact checking"}, "query", "task: fact checking | query: "),
        ({}, "document", "title: none | text: "),
        ({"query_prompt": ""}, "query", ""),
    ):
        retriever = Dense("EmbeddingGemma", device="cpu", **settings)
        assert vectors(retriever, texts, side) == near(theirs(folder, texts, prompt))


# Jina's: a module of sentence-transformers in the repository itself, with an adapter for each task.
CUSTOM = """
import torch
from sentence_transformers.models import Transformer as Base


class Transformer(Base):
    def forward(self, features, task=None, **kwargs):
        features = super().forward(features, **kwargs)
        scale = {"retrieval.query": 2.0, "retrieval.passage": -1.0}[task]
        places = torch.arange(features["token_embeddings"].shape[-1]) % 3
        features["token_embeddings"] = features["token_embeddings"] * (places * scale + 1)
        return features
"""


def test_jina(publish: Any, tmp_path: Path) -> None:
    folder = published(tmp_path, XLM)
    (folder / "custom_st.py").write_text(CUSTOM)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0] |= {"type": "custom_st.Transformer", "kwargs": ["task"]}
    (folder / "modules.json").write_text(json.dumps(modules))
    publish("jina-embeddings-3", folder)
    texts = [*QUERIES.values()]
    with pytest.raises(InputError, match="trust_remote_code=true"):
        vectors(Dense("jina-embeddings-3", device="cpu"), texts, "query")
    asked, shown = "Represent the query for retrieving evidence documents: ", "Represent the document for retrieval: "  # fmt: skip
    retriever = Dense("jina-embeddings-3", device="cpu", trust_remote_code=True)
    for side, task, prompt in (
        ("query", "retrieval.query", asked), ("document", "retrieval.passage", shown)
    ):  # fmt: skip
        assert vectors(retriever, texts, side) == near(theirs(folder, texts, prompt, task=task))


# -- late, sparse -----------------------------------------------------------------------------


def late_folder(name: str, folder: Path) -> Path:
    """answerai-colbert as its authors of ColBERT save theirs, GTE-ModernColBERT as PyLate does."""
    if name == "answerai-colbert":
        return save_colbert(folder, dimensions=16, query_maxlen=16)
    body = save(
        folder / "body", "ModernBertModel", longest=LONG, eos_token_id=3, bos_token_id=2,
        cls_token_id=2, sep_token_id=3,
    )  # fmt: skip
    torch.manual_seed(0)
    layer = Layer(DIMENSIONS, 16, bias=False, activation_function=torch.nn.Identity())
    model = sentence_model(folder / "model", Transformer(str(body)), Pooling(DIMENSIONS), layer)
    modules = json.loads((model / "modules.json").read_text())
    modules = [
        modules[0],
        {**modules[2], "idx": 1, "name": "1", "type": "pylate.models.Dense.Dense"},
    ]
    (model / "modules.json").write_text(json.dumps(modules))
    layout = {"in_features": DIMENSIONS, "out_features": 16, "bias": False}
    layout["activation_function"] = "torch.nn.modules.linear.Identity"
    (model / "2_Dense" / "config.json").write_text(json.dumps(layout))
    about = {
        "model_type": "ColBERT", "query_prefix": "[unused0] ", "document_prefix": "[unused1] ",
        "query_length": 12, "document_length": 24, "attend_to_expansion_tokens": False,
        "skiplist_words": [".", ","], "similarity_fn_name": "MaxSim",
    }  # fmt: skip
    (model / "config_sentence_transformers.json").write_text(json.dumps(about))
    return model


@pytest.mark.parametrize("name", ["answerai-colbert", "GTE-ModernColBERT"])
def test_late(name: str, publish: Any, tmp_path: Path) -> None:
    folder = late_folder(name, tmp_path / "late")
    publish(name, folder)
    model = MultiVectorEncoder(str(folder), device="cpu")
    retriever = Late(name, device="cpu", stored="fp32")
    for side, encode in (("query", model.encode_query), ("document", model.encode_document)):
        texts = list((QUERIES if side == "query" else DOCS).values())
        made, starts = tokens(retriever.encoder(side).encode(texts))  # type: ignore[arg-type]
        for text, first, last in zip(encode(texts), starts[:-1], starts[1:], strict=True):
            assert made[first:last] == near(text.cpu())


def test_splade(publish: Any, tmp_path: Path) -> None:
    folder = save(tmp_path / "splade", "BertForMaskedLM")
    publish("SPLADE-v3", folder)
    model = SparseEncoder(str(folder), device="cpu")
    asked, shown = model.encode_query([*QUERIES.values()]), model.encode_document([*DOCS.values()])
    expected = (asked.to_dense().double() @ shown.to_dense().double().T).numpy()
    found = table(register(DOCS, QUERIES), Sparse("SPLADE-v3", device="cpu"))
    assert [*found.values()] == pytest.approx([*expected.ravel()], rel=1e-6)


# -- cross-encoders ---------------------------------------------------------------------------

# A chat template in which the query, the document and perhaps an instruction stand.
CHAT = (
    "{% set system = messages | selectattr('role', 'eq', 'system') | map(attribute='content') | list %}"
    "the sun: {{ system[0] if system else 'none' }} the sea:"
    " {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }} the mat:"
    " {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}"
)


def writer(folder: Path, make: str, answers: tuple[str, str], **prompts: Any) -> Path:
    """A language model that scores a pair by the logits of two words, as sentence-transformers saves it."""
    settings = DECODER if make.startswith("Qwen3") else {"num_key_value_heads": 2}
    body = save(folder / "body", make, [*TEXTS, *answers], longest=LONG, special=ENDS, **settings)
    reader = CrossTransformer(
        str(body), transformer_task="text-generation", processor_kwargs={"chat_template": CHAT}
    )
    true, false = (reader.tokenizer.convert_tokens_to_ids(word) for word in answers)
    model = TheirCross(modules=[reader, LogitScore(true, false)], device="cpu", **prompts)
    model.save_pretrained(str(folder / "model"))
    return folder / "model"


def close(expected: Any) -> Any:
    """Padding before a text, as language models have it, moves the last digits of logits."""
    return pytest.approx(expected, abs=1e-5)


def scores(retriever: Retriever) -> list[float]:
    return [*table(register(DOCS, QUERIES), retriever).values()]


def predicted(folder: Path, **how: Any) -> list[float]:
    model = TheirCross(str(folder), device="cpu")
    pairs = [(query, doc) for query in QUERIES.values() for doc in DOCS.values()]
    return model.predict(pairs, activation_fn=torch.nn.Identity(), **how).tolist()  # type: ignore[no-any-return]


def test_qwen3_reranker(publish: Any, tmp_path: Path) -> None:
    name = "Qwen3-Reranker-0.6B"
    prompts = {"prompts": {"query": WEB}, "default_prompt_name": "query"}
    folder = writer(tmp_path, "Qwen3ForCausalLM", ("yes", "no"), **prompts)
    publish(name, folder)
    assert scores(CrossEncoder(name, device="cpu")) == close(predicted(folder))
    how = {"instruction": "find cats"}
    assert scores(CrossEncoder(name, device="cpu", **how)) == near(
        predicted(folder, prompt="find cats")
    )
    off = scores(CrossEncoder(name, device="cpu", query_prompt=""))
    assert off == close(predicted(folder, prompt=""))
    assert np.ptp([off, scores(CrossEncoder(name, device="cpu"))], axis=0).max() > 1e-3


def test_mxbai(publish: Any, tmp_path: Path) -> None:
    folder = writer(tmp_path, "Qwen2ForCausalLM", ("1", "0"))
    publish("mxbai-rerank-2-base", folder)
    assert scores(CrossEncoder("mxbai-rerank-2-base", device="cpu")) == close(predicted(folder))


def test_a_writer_that_does_not_say_how_it_scores(publish: Any, tmp_path: Path) -> None:
    """As an old revision of the repository, whose chat template is for chats."""
    publish("Qwen3-Reranker-0.6B", save(tmp_path / "old", "Qwen3ForCausalLM", **DECODER))
    with pytest.raises(InputError, match="says how it scores a pair"):
        scores(CrossEncoder("Qwen3-Reranker-0.6B", device="cpu"))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bge-reranker-v2-m3", "XLMRobertaForSequenceClassification"),
        ("GTE-reranker-ModernBERT", "ModernBertForSequenceClassification"),
    ],
)
def test_classifiers(name: str, make: str, publish: Any, tmp_path: Path) -> None:
    settings = {"eos_token_id": 3, "bos_token_id": 2, "cls_token_id": 2, "sep_token_id": 3}
    folder = save(tmp_path / "model", make, num_labels=1, **settings)
    publish(name, folder)
    assert scores(CrossEncoder(name, device="cpu")) == close(predicted(folder))


# -- models with a form of their own ----------------------------------------------------------


def save_monot5(folder: Path, answers: tuple[str, str]) -> Path:
    """A T5 of random weights, whose tokens are words with the space before them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    words = [*WORDS, "Query", "Document", "Relevant", *answers]
    begin = ("<pad>", "</s>", "<unk>", "▁", ":", ".", ",")
    pieces = [*begin, *(f"▁{word}" for word in dict.fromkeys(words))]
    made = Tokenizer(
        models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=2)
    )
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_max_length=24, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    torch.manual_seed(3)
    config = transformers.T5Config(
        vocab_size=len(pieces), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        initializer_factor=3.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).eval().save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def generated(
    folder: Path, answers: tuple[str, str], query: str, doc: str, most: int = 24
) -> float:
    """The log-odds of the first word that transformers' own generate writes."""
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    ids = words(f"Query: {query} Document: {doc} Relevant:")["input_ids"]
    last = words("Relevant:")["input_ids"]
    ids = ids if len(ids) <= most else ids[: most - len(last)] + last
    made = model.generate(
        torch.tensor([ids]), max_new_tokens=1, output_logits=True, return_dict_in_generate=True
    )
    yes, no = (words.convert_tokens_to_ids(f"▁{word}") for word in answers)
    return float(made.logits[0][0, yes] - made.logits[0][0, no])


def test_aspire(publish: Any, tmp_path: Path) -> None:
    """A preset's name gives the retriever with its settings."""
    folder = save(tmp_path / "model", longest=LONG)
    publish("otAspire", folder)
    system = find_system("otAspire", {})
    plain = SentenceMatch(
        str(folder), device="cpu", pooling="mean", matching="transport", similarity="l2"
    )
    made = replace(system.retriever, device="cpu")
    assert type(made) is SentenceMatch
    assert table(register(DOCS, QUERIES), made) == table(register(DOCS, QUERIES), plain)


@pytest.mark.parametrize("name", ["Rank1-7B", "RankZephyr"])
def test_rerankers_that_write(name: str, publish: Any, tmp_path: Path) -> None:
    """Their prompts are written as their authors have them, and a local model reads them."""
    make = "MistralForCausalLM" if name == "RankZephyr" else "Qwen2ForCausalLM"
    publish(name, save(tmp_path / "model", make, longest=LONG, special=ENDS, num_key_value_heads=2))
    system = find_system(name, {"max_tokens": 2})
    retriever = system.retriever
    assert isinstance(retriever, Reranker)
    assert retriever.missing() is None
    template = retriever.template()
    assert "query" in template.names
    if name != "RankZephyr":
        filled = template.filled({"query": "a cat", "document": "a dog"})
        assert filled.endswith("\nQuery: a cat\nPassage: a dog\n<think>")
        assert retriever.settings()["yes"] == "true"
        assert retriever.settings()["words"] is None
    prompt = "the cat <think>"
    [(asked, answer)] = next(retriever.generator().generate([prompt]))
    assert asked == prompt
    # Two tokens are no end of its reasoning.
    assert answer.alternatives == (None if name == "RankZephyr" else {})


def test_monot5(publish: Any, tmp_path: Path) -> None:
    answers = ("true", "false")
    folder = save_monot5(tmp_path / "t5", answers)
    publish("MonoT5", folder)
    docs = {**DOCS, "d4": " ".join(["the cat sat on the mat"] * 9)}
    dataset = register(docs, QUERIES)
    expected = {
        (query, doc): generated(folder, answers, QUERIES[query], docs[doc])
        for query in QUERIES for doc in docs
    }  # fmt: skip
    retriever = CrossEncoder("MonoT5", device="cpu", length=24)
    assert table(dataset, retriever) == pytest.approx(expected, rel=1e-5, abs=1e-5)


# -- adapters ---------------------------------------------------------------------------------


def save_adapter(folder: Path, base: Path, **how: Any) -> Any:
    """A LoRA of random weights upon a classifier, as PEFT saves it; returns PEFT's own model."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(5)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    model.config.pad_token_id = 0
    lora = LoraConfig(
        task_type="SEQ_CLS", r=4, lora_alpha=12, target_modules=["q_proj", "v_proj"],
        init_lora_weights=False, **how,
    )  # fmt: skip
    made = get_peft_model(model, lora).eval()
    made.save_pretrained(folder)
    return made


@pytest.mark.parametrize("how", [{}, {"use_rslora": True}])
def test_rankllama(how: dict[str, Any], publish: Any, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    base = save(tmp_path / "base", "LlamaModel", longest=LONG, special=ENDS, num_key_value_heads=2)
    model = save_adapter(tmp_path / "lora", base, **how)
    convert("lora", tmp_path / "lora", tmp_path / "RankLLaMA")
    publish("RankLLaMA", tmp_path / "RankLLaMA")
    words = transformers.AutoTokenizer.from_pretrained(base)
    expected = []
    for query in QUERIES.values():
        for doc in DOCS.values():
            pair = words(f"query: {query}", f"document: {doc}", return_tensors="pt")
            with torch.no_grad():
                expected.append(float(model(**pair).logits[0, 0]))
    # Sums of weights are rounded.
    assert scores(CrossEncoder("RankLLaMA", device="cpu")) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"peft_type": "IA3"}, "no LoRA adapter"),
        ({"use_dora": True}, "missing adapter keys"),
        ({"base_model_name_or_path": "no/such"}, "no/such"),
    ],
)
def test_adapters_that_cannot_be_added(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    base = save(tmp_path / "base", "LlamaModel", longest=LONG, special=ENDS, num_key_value_heads=2)
    save_adapter(tmp_path / "lora", base)
    file = tmp_path / "lora" / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError) as error:
        convert("lora", tmp_path / "lora", tmp_path / "out")
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


def test_an_adapter_of_a_deeper_model_is_not_added_in_part(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    base = save(tmp_path / "base", "LlamaModel", longest=LONG, special=ENDS, num_key_value_heads=2)
    save_adapter(tmp_path / "lora", base)
    file = tmp_path / "lora" / "adapter_model.safetensors"
    weights = load_file(file)
    deeper = {
        name.replace("layers.0.", "layers.9."): value.clone() for name, value in weights.items()
    }
    save_file({**deeper, **weights}, file)
    with pytest.raises(InputError, match=r"no place for .*layers\.9\..*--base"):
        convert("lora", tmp_path / "lora", tmp_path / "out")
