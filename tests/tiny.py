"""Models of a few thousand random weights, saved as published ones are."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.datasets import TEXTS

DIMENSIONS, LONGEST = 32, 48
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
WORDS = tuple(dict.fromkeys(re.findall(r"\w+", " ".join(TEXTS).lower())))


def tokenizer(
    texts: Iterable[str] = WORDS, longest: int = LONGEST, special: Sequence[str] = SPECIAL,
    **settings: Any,
) -> Any:  # fmt: skip
    """A BERT tokenizer of the words of some texts, single letters, digits and punctuation."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = re.findall(r"\w+", " ".join(texts).lower())
    letters = string.ascii_lowercase + string.digits
    pieces = [*letters, *(f"##{letter}" for letter in letters), *string.punctuation, *words]
    vocabulary = list(dict.fromkeys([*special, *sorted(pieces)]))
    made = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, special.index(token)) for token in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    return transformers.BertTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=longest, **settings,
    )  # fmt: skip


def config(words: Any, make: Any = None, **settings: Any) -> Any:
    """The configuration of a model of two layers, BERT's unless another class is given.

    The range of its first weights is large, so that the vectors of two texts differ clearly.
    """
    import transformers

    shape = {
        "vocab_size": len(words), "hidden_size": DIMENSIONS, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": LONGEST,
        "initializer_range": 0.5, "pad_token_id": 0,
    }  # fmt: skip
    return (make or transformers.BertConfig)(**{**shape, **settings})


def save(
    folder: Path, make: str = "BertModel", texts: Iterable[str] = WORDS, *, seed: int = 0,
    longest: int = LONGEST, special: Sequence[str] = SPECIAL, **settings: Any,
) -> Path:  # fmt: skip
    """Saves a model of random weights with its tokenizer; returns its folder.

    Args:
        folder: where the model is saved.
        make: name of the model's class in transformers, as "BertForMaskedLM".
        texts: texts whose words are the tokenizer's vocabulary.
        seed: seed of the weights.
        longest: number of tokens that the model has positions for.
        special: tokens of the vocabulary that no text has, as `SPECIAL`.
        settings: more of its configuration, as num_labels.
    """
    import torch
    import transformers

    words = tokenizer(texts, longest, special)
    model = getattr(transformers, make)
    settings = {"max_position_embeddings": longest, **settings}
    torch.manual_seed(seed)
    model(config(words, model.config_class, **settings)).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def sentence_model(folder: Path, *modules: Any, **settings: Any) -> Path:
    """Saves modules of sentence-transformers as one model; returns its folder."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(modules=list(modules), device="cpu", **settings).save(str(folder))
    return folder


def save_colbert(folder: Path, *, dimensions: int = 16, seed: int = 0, **metadata: Any) -> Path:
    """Saves a random ColBERT as its authors publish theirs: its projection is among BERT's weights."""
    import torch
    import transformers
    from safetensors.torch import save_file

    words = tokenizer()
    torch.manual_seed(seed)
    settings = config(words, architectures=["HF_ColBERT"])
    bert = transformers.BertModel(settings).state_dict()
    weights = {f"bert.{name}": weight for name, weight in bert.items()}
    weights["linear.weight"] = torch.randn(dimensions, DIMENSIONS)
    folder.mkdir(parents=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(settings.to_dict()))
    words.save_pretrained(folder)
    about = {
        "query_maxlen": 12, "doc_maxlen": 24, "mask_punctuation": True,
        "attend_to_mask_tokens": False, "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]", "dim": dimensions, "similarity": "cosine",
    }  # fmt: skip
    (folder / "artifact.metadata").write_text(json.dumps({**about, **metadata}))
    return folder


def save_t5(folder: Path) -> Path:
    """A T5 that writes words of the tests' texts."""
    import torch
    import transformers

    words = tokenizer(eos_token="[SEP]", model_input_names=["input_ids", "attention_mask"])
    ends = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": words.sep_token_id}
    torch.manual_seed(1)
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=len(words), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
            initializer_factor=3.0, **ends,
        )
    )  # fmt: skip
    model.eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
