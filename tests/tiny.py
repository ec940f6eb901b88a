"""Models of a few thousand random weights, saved as published ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

DIMENSIONS, LONGEST = 32, 24
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "the",
    "a",
    "and",
    "on",
    "in",
    "with",
    "cat",
    "dog",
    "rat",
    "sat",
    "ran",
    "mat",
    "sea",
    "sun",
    "cats",
    "dogs",
    "mats",
    "query",
    "passage",
]


def tokenizer(words: list[str] = WORDS, longest: int = LONGEST, **how: Any) -> Any:
    """BERT's, of some words and every spelling of others."""
    pieces = {p + c for c in "abcdefghijklmnopqrstuvwxyz" for p in ("", "##")} | set(".,:")
    known = [*SPECIAL, *sorted(pieces | set(words))]
    made = Tokenizer(models.WordPiece({w: i for i, w in enumerate(known)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    names = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return transformers.BertTokenizerFast(
        tokenizer_object=made, model_max_length=longest,
        **{f"{name}_token": token for name, token in names.items()}, **how,
    )  # fmt: skip


def config(words: Any, make: Any = transformers.BertConfig, **how: Any) -> Any:
    """Two layers. The range is large, so that texts differ clearly."""
    shape = {
        "vocab_size": len(words), "hidden_size": DIMENSIONS, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": LONGEST,
        "initializer_range": 0.5, "pad_token_id": 0,
    }  # fmt: skip
    return make(**{**shape, **how})


def save(folder: Path, make: Any = transformers.BertModel, seed: int = 0, **how: Any) -> Path:
    """A model of random weights with its tokenizer."""
    words = tokenizer()
    torch.manual_seed(seed)
    make(config(words, make.config_class, **how)).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def sentence_model(folder: Path, *modules: Any, **how: Any) -> Path:
    """Modules of sentence-transformers as one model."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(modules=list(modules), device="cpu", **how).save(str(folder))
    return folder
