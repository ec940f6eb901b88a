"""LoRA adapters of PEFT, added to the weights of their base model (Hu et al. 2022, equation 3)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.foreign import read_torch
from irtoolkit.models.loading import load_model
from irtoolkit.models.own_code import check_own_code

# What an adapter is for, by PEFT's names, and the class of transformers that has it.
_MAKERS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "CAUSAL_LM": "AutoModelForCausalLM",
    "FEATURE_EXTRACTION": "AutoModel",
}
_FACTOR = re.compile(r"(.+)\.lora_([AB])(?:\.default)?\.weight")
# Settings of PEFT that change what is added.
_UNKNOWN = ("use_dora", "fan_in_fan_out", "rank_pattern", "alpha_pattern", "layer_replication")
_REMEDY = "merge it with PEFT (merge_and_unload), and give that folder as weights=PATH"


def write_lora(source: Path, folder: Path, base: str | None = None) -> None:
    """Writes the folder of a model with an adapter added to its weights.

    Args:
        source: the adapter's folder, as PEFT saves it.
        folder: the folder to write.
        base: folder or hub id of the base model; by default the adapter's.

    Raises:
        InputError: there is no LoRA adapter, it is of another model or has an unknown format, or the
            base model is not on this machine.
    """
    about = _checked(source)
    weights = _weights(source)
    model = _base_model(base or str(about["base_model_name_or_path"]), about, weights, source)
    state = model.state_dict()
    scale = about["lora_alpha"] / (about["r"] ** 0.5 if about.get("use_rslora") else about["r"])
    for name, added in _added(weights, scale).items():
        if name not in state or state[name].shape != added.shape:
            raise InputError(f"the base model has no {name} of that shape", file=source)
        state[name] += added.to(state[name].dtype)
    for name, value in weights.items():
        if _FACTOR.fullmatch(name) is None:
            state[name].copy_(value)
    model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def _checked(source: Path) -> dict[str, Any]:
    """Returns an adapter's settings; raises InputError if one is not supported."""
    about = presets.read_model_json(str(source), "adapter_config.json")
    if about.get("peft_type") != "LORA" or about.get("task_type") not in _MAKERS:
        raise InputError(
            "no LoRA adapter of PEFT: it has no adapter_config.json of one",
            file=source,
            remedy="the folder that PEFT's save_pretrained writes",
        )
    unknown = next((name for name in _UNKNOWN if about.get(name)), None)
    if unknown is not None:
        raise InputError(f"an adapter with {unknown}", file=source, remedy=_REMEDY)
    return about


def _weights(source: Path) -> dict[str, Any]:
    """Returns an adapter's tensors by the names that the base model has for their modules."""
    from safetensors.torch import load_file

    file = source / "adapter_model.safetensors"
    given = load_file(file) if file.is_file() else read_torch(source / "adapter_model.bin")
    names = {name: name.removeprefix("base_model.model.") for name in given}
    return {
        re.sub(r"\.(modules_to_save|original_module)(\.default)?(?=\.)", "", short): given[name]
        for name, short in names.items()
    }


def _added(weights: dict[str, Any], scale: float) -> dict[str, Any]:
    """Returns the update of each weight: the scaled product of its two factors."""
    factors: dict[str, dict[str, Any]] = {}
    for name, value in weights.items():
        found = _FACTOR.fullmatch(name)
        if found is not None:
            factors.setdefault(f"{found[1]}.weight", {})[found[2]] = value.float()
    return {name: scale * (pair["B"] @ pair["A"]) for name, pair in factors.items()}


def _base_model(base: str, about: dict[str, Any], weights: dict[str, Any], source: Path) -> Any:
    """Returns the base model, with a head as large as the adapter's if it has one."""
    import transformers

    place = presets.model_folder(presets.Preset(base))
    check_own_code(place, setting=False)
    classifies = about["task_type"] == "SEQ_CLS"
    heads = [
        value
        for name, value in weights.items()
        if re.fullmatch(r"(score|classifier)\.weight", name)
    ]
    if classifies and len(heads) != 1:
        raise InputError("the adapter has no head that scores", file=source, remedy=_REMEDY)
    how = {"num_labels": len(heads[0])} if classifies else {}
    words = str(source) if (source / "tokenizer_config.json").is_file() else place

    def make() -> Any:
        model = getattr(transformers, _MAKERS[about["task_type"]]).from_pretrained(
            place, dtype="auto", trust_remote_code=False, **how
        )
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(words, trust_remote_code=False)
        return model

    return load_model(place, make, "published", "cpu", new_head=classifies)
