"""Conversion of ERNIE-Search (Lu et al. 2022), as published by PaddleNLP, for transformers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.converted import base_parts, check_shapes, only_file, save_folder
from irtoolkit.models.foreign import read_paddle

_ERNIE = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def write_ernie(source: Path, folder: Path, base: str) -> None:
    """Converts ERNIE-Search (Lu et al. 2022) from PaddleNLP: a dual encoder or a cross-encoder.

    PaddleNLP gives the dual encoder a text as the second of two, of which the first is empty.
    """
    import torch
    import transformers

    path = only_file(source, "*.pdparams")
    weights = {}
    for name, array in read_paddle(path).items():
        key = _ernie_key(name)
        if key is not None:
            turned = array.ndim == 2 and "embeddings." not in key
            weights[key] = torch.tensor((array.T if turned else array).copy()).float()
    if "ernie.embeddings.word_embeddings.weight" not in weights:
        raise InputError("no ERNIE: it has no word embeddings", file=path)
    config = _ernie_config(path.parent, weights)
    cross = "classifier.weight" in weights
    if cross:
        config.num_labels = int(weights["classifier.weight"].shape[0])
    vocabulary = path.parent / "vocab.txt"
    tokenizer = (
        transformers.BertTokenizerFast.from_pretrained(str(path.parent))
        if vocabulary.is_file()
        else base_parts(base)[1]
    )
    kind = "ErnieForSequenceClassification" if cross else "ErnieModel"
    if not cross:
        tokenizer = _second_of_two(tokenizer)
        weights = {name.removeprefix("ernie."): value for name, value in weights.items()}
    config.architectures = [kind]
    check_shapes(kind, config, weights, path)
    save_folder(folder, config, tokenizer, weights)


def _ernie_key(name: str) -> str | None:
    """Returns transformers' name of a parameter of PaddleNLP's ERNIE, or None."""
    name = re.sub(r"^(ernie\.)+", "", name)
    if name.startswith("classifier."):
        return name
    if not name.startswith(("embeddings.", "encoder.layers.", "pooler.dense.")):
        return None
    name = name.replace("embeddings.layer_norm.", "embeddings.LayerNorm.")
    name = name.replace("encoder.layers.", "encoder.layer.")
    for theirs, ours in _ERNIE.items():
        name = re.sub(rf"(layer\.\d+\.){re.escape(theirs)}\.", rf"\g<1>{ours}.", name)
    return f"ernie.{name}"


def _ernie_config(folder: Path, weights: Mapping[str, Any]) -> Any:
    """Returns the configuration beside the weights; missing values follow from their shapes."""
    import transformers

    config = presets.read_model_json(str(folder), "config.json")
    words, width = weights["ernie.embeddings.word_embeddings.weight"].shape
    depths = {int(m[1]) for name in weights if (m := re.search(r"layer\.(\d+)\.", name))}
    shape = {
        "vocab_size": words,
        "hidden_size": width,
        "num_hidden_layers": len(depths),
        "num_attention_heads": max(1, width // 64),
        "intermediate_size": weights["ernie.encoder.layer.0.intermediate.dense.weight"].shape[0],
        "max_position_embeddings": weights["ernie.embeddings.position_embeddings.weight"].shape[0],
        "type_vocab_size": weights["ernie.embeddings.token_type_embeddings.weight"].shape[0],
        "use_task_id": "ernie.embeddings.task_type_embeddings.weight" in weights,
    }
    names = (
        "num_attention_heads",
        "hidden_act",
        "layer_norm_eps",
        "pad_token_id",
        "task_type_vocab_size",
    )
    return transformers.ErnieConfig(**shape | {key: config[key] for key in names if key in config})


def _second_of_two(tokenizer: Any) -> Any:
    """Returns a tokenizer like PaddleNLP's: [CLS] [SEP] text [SEP], in segments 0 0 1 1."""
    import transformers
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    words = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    words.post_processor = TemplateProcessing(
        single="[CLS]:0 [SEP]:0 $A:1 [SEP]:1",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, words.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    # BERT's own class would write BERT's template over it.
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
