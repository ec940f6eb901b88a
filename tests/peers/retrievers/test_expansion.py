"""docT5query and DeepCT with tiny random models, against transformers itself and plain BM25."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import expansion
from irtoolkit.retrievers.expansion import DeepCT, DocT5Query
from irtoolkit.retrievers.lexical import BM25
from tests.datasets import register, scores_of

Texts = dict[str, str]
SPECIAL = ["<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
PROSE = "the cat sat on mat a dog ran and sea sun rat with while nobody saw them go home"
WORDS = PROSE.split()
DOCS = {
    "d1": "the cat sat on the mat",
    "d2": "a dog ran and ran",
    "d3": "nobody saw the rat",
    "d4": "",
    "d5": "the sun and the sea while a cat ran home",
    "d6": "the cat sat on the mat",
    "d7": "cat unwordly dog",
}
ASKED = {"q1": "cat mat", "q2": "dog ran home", "q3": "sea sun rat nobody", "q4": "unheard"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    expansion._load.cache_clear()
    return tmp_path / "cache" / "answers"


# -- models -----------------------------------------------------------------------------------


def tokenizer(kind: str, pieces: bool) -> Any:
    """Words of the texts above; with pieces, words may be spelled letter by letter."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    spelled = [*letters, *(f"##{c}" for c in letters)] if pieces else []
    words = [*SPECIAL, *dict.fromkeys([*WORDS, *spelled])]
    made = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = {"t5": ("$A </s>", "$A </s> $B </s>"), "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")}[kind]  # fmt: skip
    made.post_processor = processors.TemplateProcessing(
        single=ends[0], pair=ends[1],
        special_tokens=[(name, SPECIAL.index(name)) for name in ("</s>", "[CLS]", "[SEP]")],
    )  # fmt: skip
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=512,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A T5, a token classifier and a cross-encoder."""
    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(3)
    words = tokenizer("t5", False)
    t5 = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=len(words), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, initializer_factor=3.0,
        )
    )  # fmt: skip
    shape: dict[str, Any] = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_labels": 1,
        "intermediate_size": 32, "max_position_embeddings": 512, "initializer_range": 0.8,
        "pad_token_id": 0,
    }  # fmt: skip
    spelled = tokenizer("bert", True)
    config = transformers.BertConfig(vocab_size=len(spelled), **shape)
    classifier = transformers.BertForTokenClassification(config)
    pair = transformers.BertForSequenceClassification(config)
    found = {}
    for name, model, own in (
        ("t5", t5, words), ("deepct", classifier, spelled), ("judge", pair, spelled),
    ):  # fmt: skip
        found[name] = root / name
        model.eval().save_pretrained(found[name])
        own.save_pretrained(found[name])
    return found


@pytest.fixture
def t5(folders: dict[str, Path]) -> DocT5Query:
    return DocT5Query(model=str(folders["t5"]), queries=4, max_length=9, device="cpu")


@pytest.fixture
def deepct(folders: dict[str, Path]) -> DeepCT:
    return DeepCT(model=str(folders["deepct"]), device="cpu")


def generated(folder: Path, text: str, **how: Any) -> list[str]:
    """What transformers itself writes for one text."""
    words = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        ids = model.generate(**words([text], return_tensors="pt"), do_sample=False, **how)
    return words.batch_decode(ids, skip_special_tokens=True)  # type: ignore[no-any-return]


def kept(cache: Path) -> list[Any]:
    [path] = cache.glob("*.jsonl")
    return [json.loads(line)[1] for line in path.read_text("utf-8").splitlines()]


def rewritten(retriever: Any, docs: Texts = DOCS) -> dict[str, tuple[str, ...]]:
    texts = ((text,) for text in docs.values())
    return dict(zip(docs, retriever.rewritten(texts), strict=True))


# -- docT5query -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "how"), [(1, {}), (3, {"num_beams": 3, "num_return_sequences": 3})]
)
def test_queries_are_transformers_own(t5: DocT5Query, queries: int, how: dict[str, int]) -> None:
    """One by greedy search, several by beams."""
    found = rewritten(replace(t5, sampling="greedy", queries=queries))
    for doc, text in DOCS.items():
        assert found[doc] == (text, *generated(Path(t5.model), text, max_length=9, **how))
    assert any("".join(texts[1:]) for texts in found.values())


def test_sampling_is_the_same_again(
    t5: DocT5Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rewritten(t5)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "elsewhere"))
    torch.manual_seed(99)
    again = rewritten(t5, dict(reversed(DOCS.items())))
    assert {doc: again[doc] for doc in DOCS} == first
    other = rewritten(replace(t5, seed=1))
    assert other != first
    assert all(len(texts) == 5 for texts in first.values())
    assert len({texts[1:] for texts in first.values()}) > 1


def test_sampling_leaves_the_random_state_alone(t5: DocT5Query) -> None:
    """A word2vec that is trained in the same process draws what it would have drawn."""
    torch.manual_seed(5)
    expected = torch.rand(1).item()
    torch.manual_seed(5)
    rewritten(t5)
    assert torch.rand(1).item() == expected


def test_the_index_is_bm25_over_texts_with_their_queries(t5: DocT5Query) -> None:
    retriever = replace(t5, form="okapi", statistics="candidates", stop="none")
    expanded = {doc: " ".join(parts) for doc, parts in rewritten(retriever).items()}
    plain = BM25(form="okapi", statistics="candidates", stop="none")
    expected = scores_of(register(expanded, ASKED), plain)
    dataset_id = register(DOCS, ASKED)
    found = scores_of(dataset_id, retriever)
    for query, row in found.items():
        assert row == pytest.approx(expected[query], abs=1e-12)
    assert found != scores_of(dataset_id, plain)


def no_model(*args: Any) -> Any:
    raise AssertionError("the model is loaded")


def test_what_was_written_is_not_written_again(
    t5: DocT5Query, deepct: DeepCT, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset_id = register(DOCS, ASKED)
    for retriever in (t5, deepct):
        with pytest.MonkeyPatch.context() as patch:
            before = scores_of(dataset_id, retriever)
            patch.setattr(expansion, "_load", no_model)
            assert scores_of(dataset_id, retriever) == before
            # BM25's own settings ask nothing of the model.
            scores_of(dataset_id, replace(retriever, k1=2.0, b=0.1, stop="none", form="okapi"))
            with pytest.raises(AssertionError, match="is loaded"):
                scores_of(register({"x": "a dog sat"}, ASKED), retriever)


def test_other_settings_are_other_queries(t5: DocT5Query, cache: Path) -> None:
    changes: list[Any] = [{}, {"queries": 3}, {"top_k": 5}, {"max_length": 5}, {"seed": 7}]
    for change in changes:
        rewritten(replace(t5, **change), {"d1": DOCS["d1"]})
    assert len(list(cache.glob("doct5query-*.jsonl"))) == len(changes)


def test_a_changed_model_is_another(t5: DocT5Query, cache: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(t5.model, tmp_path / "copy"))
    for changed, files in ((t5.model, 1), (copy, 1), (copy, 2)):
        if files == 2:
            (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
        rewritten(replace(t5, model=str(changed)), {"d1": DOCS["d1"]})
        assert len(list(cache.glob("doct5query-*.jsonl"))) == files


@pytest.mark.parametrize("keep", [0.5, 0.01])
def test_only_the_queries_that_a_judge_finds_best_are_kept(
    t5: DocT5Query, folders: dict[str, Path], keep: float
) -> None:
    all_of_them = rewritten(t5)
    found = rewritten(replace(t5, keep=keep, judge=str(folders["judge"])))
    judge = CrossEncoder(str(folders["judge"]), device="cpu")
    wanted = max(1, round(keep * 4))
    for doc, (text, *queries) in all_of_them.items():
        assert found[doc][0] == text
        mine = list(found[doc][1:])
        assert len(mine) == wanted
        scores = judge.predict([(query, text) for query in queries], show_progress_bar=False)
        least = np.sort(scores)[-wanted]
        places = iter(queries)
        assert all(query in places for query in mine), "in the order in which they were written"
        own = judge.predict([(query, text) for query in mine], show_progress_bar=False)
        assert min(own) >= least - 1e-5


@pytest.mark.parametrize(("name", "folder"), [("docT5query", "t5"), ("DeepCT", "deepct")])
def test_a_folder_takes_the_place_of_the_presets_weights(
    folders: dict[str, Path], name: str, folder: str
) -> None:
    found = find_system(name, {"weights": str(folders[folder]), "device": "cpu"}).retriever
    own = find_system(found.name, {"model": str(folders[folder]), "device": "cpu"}).retriever
    assert (found.missing(), found.fingerprint()) == (None, own.fingerprint())
    text = (("a captain pays a debt",),)
    assert list(found.rewritten(text)) == list(own.rewritten(text))


# -- DeepCT -----------------------------------------------------------------------------------


def weights(folder: Path, text: str, most: int = 512) -> list[tuple[str, float]]:
    """The pieces of a text and the model's output for each, one part after the other."""
    own = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    pieces = own.tokenize(text)
    found: list[tuple[str, float]] = []
    for start in range(0, len(pieces), most - 2):
        part = pieces[start : start + most - 2]
        ids = torch.tensor([own.convert_tokens_to_ids(["[CLS]", *part, "[SEP]"])])
        with torch.inference_mode():
            found += zip(part, model(ids).logits[0, 1:-1, 0].tolist(), strict=True)
    return found


def counted(text: str, folder: Path, scale: int = 100) -> list[tuple[str, int]]:
    """The rule of the authors' bert_term_sample_to_json.py, restated."""
    words: list[list[Any]] = []
    for piece, weight in weights(folder, text):
        if piece.startswith("##"):
            words[-1][0] += piece[2:]
        else:
            words.append([piece, round(scale * weight)])
    terms = dict.fromkeys(word for word, _ in words)
    most = [(term, max(n for word, n in words if word == term)) for term in terms]
    return [(term, n) for term, n in most if n > 0]


def near(found: list[Any], expected: list[Any]) -> bool:
    """Rounding may fall either way where logits differ in their last digits."""
    return [w for w, _ in found] == [w for w, _ in expected] and all(
        abs(a - b) <= 1 for (_, a), (_, b) in zip(found, expected, strict=True)
    )


def test_a_terms_weight_is_the_greatest_of_its_first_pieces(deepct: DeepCT) -> None:
    texts = [*DOCS.values(), " ".join([*WORDS, "unwordly", *WORDS[:5], "unwordly,", *WORDS])]
    found = deepct.ask(texts)
    assert len(found) == len(texts)
    for text, own in zip(texts, found, strict=True):
        assert near(own, counted(text, Path(deepct.model)) if text else [])
        assert len(own) == len(dict(own))
    assert any(found)
    assert any(len(own) < len(text.split()) for own, text in zip(found, texts, strict=True))


def test_long_texts_are_read_in_parts(deepct: DeepCT) -> None:
    text = " ".join([*WORDS * 30, *["unwordly"] * 200])
    [found] = deepct.ask([text])
    assert near(found, counted(text, Path(deepct.model)))


def test_the_index_is_bm25_over_repeated_words(deepct: DeepCT) -> None:
    retriever = replace(deepct, stop="none")
    repeated = {
        doc: " ".join(word for word, n in own for _ in range(n))
        for doc, own in zip(DOCS, deepct.ask(list(DOCS.values())), strict=True)
    }
    expected = scores_of(register(repeated, ASKED), BM25(stop="none"))
    found = scores_of(register(DOCS, ASKED), retriever)
    for query, row in found.items():
        assert row == pytest.approx(expected[query], rel=1e-2, abs=1e-2)
    assert any(score > 0 for row in found.values() for score in row.values())


def test_an_interruption_costs_one_batch(
    deepct: DeepCT, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = replace(deepct, batch_size=2)
    original: Callable[..., Any] = DeepCT.ask
    calls = count()

    def breaking(self: Any, texts: list[str]) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return original(self, texts)

    monkeypatch.setattr(DeepCT, "ask", breaking)
    with pytest.raises(KeyboardInterrupt):
        rewritten(retriever)
    assert len(kept(cache)) == 4
    rewritten(retriever)
    assert len(kept(cache)) == len(set(DOCS.values()))
