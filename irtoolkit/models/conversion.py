"""Conversion of published checkpoints that transformers does not load into folders that it does.

Each layout has a function from the published files to a folder of transformers or
sentence-transformers. Weights are copied unchanged; a missing tokenizer or configuration is that of
the model from which training started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.converted import (
    Projection,
    Side,
    base_parts,
    check_shapes,
    new_folder,
    only_file,
    save_folder,
    save_projected,
    save_two_encoders,
    state_of,
    write_record,
)
from irtoolkit.models.ernie import write_ernie
from irtoolkit.models.foreign import read_tensorflow, read_torch
from irtoolkit.models.lora import write_lora

BASE = "bert-base-uncased"


def convert(layout: str, source: Path, output: Path, base: str = BASE) -> None:
    """Writes the folder of a published checkpoint.

    Args:
        layout: a key of LAYOUTS.
        source: the file or folder, as its authors publish it.
        output: the folder, which must not exist yet.
        base: folder or hub id of the model that supplies the tokenizer and configuration.

    Raises:
        InputError: the output exists; a file is missing or damaged, or of another model.
    """
    with new_folder(output) as folder:
        if not source.exists():
            raise InputError("no such file or folder", file=source)
        LAYOUTS[layout].write(source, folder, base)
        write_record(folder, layout)


# -- ColBERT ------------------------------------------------------------------------------------


def _colbert(source: Path, folder: Path, base: str) -> None:
    """Converts ColBERT v1 (Khattab and Zaharia 2020) to the format of its authors' later models."""
    path = only_file(source, "*.dnn")
    content = read_torch(path)
    state = content.get("model_state_dict") if isinstance(content, dict) else None
    content_state = state if isinstance(state, dict) else {}
    weights = {name.removeprefix("module."): value for name, value in content_state.items()}
    if "linear.weight" not in weights:
        raise InputError("no ColBERT: it has no linear.weight", file=path)
    config, tokenizer = base_parts(base)
    renamed = {
        name: value.contiguous()
        for name, value in weights.items()
        if name.startswith("bert.") or name == "linear.weight"
    }
    config.architectures = ["HF_ColBERT"]
    save_folder(folder, config, tokenizer, renamed)
    arguments = _options(content.get("arguments"))
    settings = {
        "query_maxlen": arguments.get("query_maxlen") or 32,
        "doc_maxlen": arguments.get("doc_maxlen") or 180,
        "mask_punctuation": True,
        "attend_to_mask_tokens": False,
        "similarity": "cosine",
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "dim": int(renamed["linear.weight"].shape[0]),
    }
    (folder / "artifact.metadata").write_text(json.dumps(settings, indent=2))


def _options(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, Mapping):
        return arguments
    return vars(arguments) if hasattr(arguments, "__dict__") else {}


# -- c-REALM ------------------------------------------------------------------------------------


def _crealm(source: Path, folder: Path, base: str) -> None:
    """Converts c-REALM (Krishna et al. 2021): BERT's pooled output, projected and normalised."""
    import torch

    index = only_file(source, "variables.index")
    variables = read_tensorflow(index.with_suffix(""))
    config, tokenizer = base_parts(base)
    weights, ends, scopes = {}, {}, set()
    for name, array in variables.items():
        scope, mark, inner = name.rpartition("bert/")
        if mark:
            key = _bert_key(inner)
            if key is not None:
                scopes.add(scope)
                array = array.T if key.endswith("weight") and inner.endswith("kernel") else array
                weights[f"bert.{key}"] = torch.tensor(array.copy()).float()
        elif not mark and "/predictions/" not in f"/{name}":
            ends["/".join(name.split("/")[-2:]).lower()] = torch.tensor(array.copy()).float()
    if len(scopes) > 1:
        raise InputError(f"{len(scopes)} encoders: {', '.join(sorted(scopes))}", file=index)
    norm = "layernorm" if "layernorm/gamma" in ends else "layer_normalization"
    names = ("dense/kernel", "dense/bias", f"{norm}/gamma", f"{norm}/beta")
    absent = [name for name in names if name not in ends]
    if weights and "bert.pooler.dense.weight" not in weights:
        absent.append("bert/pooler/dense/kernel")
    if absent or not weights:
        raise InputError(
            f"no c-REALM: it has no variable {(absent or ['bert/...'])[0]}",
            file=index,
            remedy="unpack https://storage.googleapis.com/rt-checkpoint/retriever.zip again",
        )
    kernel, bias, gamma, beta = (ends[name] for name in names)
    body = save_folder(folder / "body", config, tokenizer, weights)
    pooler = Projection(
        weights["bert.pooler.dense.weight"], weights["bert.pooler.dense.bias"], torch.nn.Tanh()
    )
    projections = [pooler, Projection(kernel.T, bias, torch.nn.Identity())]
    # RELiC's and the authors' code read 288 tokens.
    save_projected(folder, Side(body, 288), projections, (gamma, beta))


def _bert_key(name: str) -> str | None:
    """Returns the name that transformers has for a variable of BERT."""
    fixed = {
        "embeddings/word_embeddings": "embeddings.word_embeddings.weight",
        "embeddings/position_embeddings": "embeddings.position_embeddings.weight",
        "embeddings/token_type_embeddings": "embeddings.token_type_embeddings.weight",
    }
    if name in fixed:
        return fixed[name]
    last = {"kernel": "weight", "gamma": "weight", "bias": "bias", "beta": "bias"}
    parts = name.split("/")
    if parts[-1] not in last or parts[0] not in ("embeddings", "encoder", "pooler"):
        return None
    return re.sub(r"layer_(\d+)", r"layer.\1", ".".join([*parts[:-1], last[parts[-1]]]))


# -- DPR on MS MARCO ----------------------------------------------------------------------------


def _dpr_msmarco(source: Path, folder: Path, base: str) -> None:
    """Converts vsearch/dpr-msmarco: two BERT encoders in one file, of queries and of passages."""
    weights = state_of(source)
    settings = presets.read_model_json(str(source), "config.json")
    config, tokenizer = base_parts(base)
    sides = {}
    for side, name in (("query", "encoder_q"), ("document", "encoder_p")):
        # With a shared encoder there is one.
        own_prefix = next(
            (
                prefix
                for prefix in (name, "encoder_q")
                if f"{prefix}.bert_model.embeddings.word_embeddings.weight" in weights
            ),
            None,
        )
        if own_prefix is None:
            raise InputError(
                f"no DPR of vsearch: it has no weights of {name}.bert_model",
                file=source,
                remedy="the folder of `hf download vsearch/dpr-msmarco --local-dir FOLDER`",
            )
        mark = f"{own_prefix}.bert_model."
        selected = {k.removeprefix(mark): v for k, v in weights.items() if k.startswith(mark)}
        check_shapes("BertModel", config, selected, source)
        body = save_folder(folder / name, config, tokenizer, selected)
        sides[side] = Side(body, int((settings.get(name) or {}).get("max_len") or 256))
    save_two_encoders(folder, sides["query"], sides["document"])


# -- BERM ---------------------------------------------------------------------------------------


def _berm(source: Path, folder: Path, base: str) -> None:
    """Writes BERM (Xu et al. 2023): RoBERTa with a linear head and a layer norm on <s>."""
    import torch

    weights = state_of(source)
    names = ("embeddingHead.weight", "embeddingHead.bias", "norm.weight", "norm.bias")
    absent = [name for name in names if name not in weights]
    if absent:
        raise InputError(
            f"no BERM: it has no {absent[0]}",
            file=source,
            remedy="the folder that its authors' code (github.com/xsc1234/BERM) saves a checkpoint in",
        )
    config, tokenizer = base_parts(str(source))
    body = {name: value for name, value in weights.items() if name.startswith("roberta.")}
    head, bias, gamma, beta = (weights[name] for name in names)
    inner = save_folder(folder / "body", config, tokenizer, body)
    save_projected(
        folder, Side(inner, None), [Projection(head, bias, torch.nn.Identity())], (gamma, beta)
    )


def _lora(source: Path, folder: Path, base: str) -> None:
    """Writes a model with its LoRA adapter, which names its base model itself."""
    write_lora(source, folder, None if base == BASE else base)


@dataclass(frozen=True)
class Layout:
    """A format in which checkpoints are published.

    Attributes:
        about: its contents.
        write: writes the files of a folder, given the source, the folder and the base model.
    """

    about: str
    write: Callable[[Path, Path, str], None]


LAYOUTS = {
    "colbert": Layout("a .dnn file of ColBERT v1, such as BEIR's msmarco.psg.l2", _colbert),
    "c-realm": Layout("the TensorFlow Hub module retriever.zip, unpacked", _crealm),
    "dpr-msmarco": Layout("the folder of vsearch/dpr-msmarco", _dpr_msmarco),
    "berm": Layout("a checkpoint that BERM's code saves", _berm),
    "ernie-search": Layout("model_state.pdparams of PaddleNLP, with vocab.txt", write_ernie),
    "lora": Layout("the folder of a LoRA adapter of PEFT, such as RankLLaMA's", _lora),
}
