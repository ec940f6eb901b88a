"""LoRA adapters (Hu et al. 2022), which PEFT adds to the weights of their base model."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.models import presets
from irtoolkit.models.loading import load_model
from irtoolkit.models.own_code import check_own_code

# What an adapter is for, by PEFT's names, and the class of transformers that has it.
_MAKERS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "CAUSAL_LM": "AutoModelForCausalLM",
    "FEATURE_EXTRACTION": "AutoModel",
}
_HEAD = re.compile(r"(.*\.)?(score|classifier)\.weight")


def write_lora(source: Path, folder: Path, base: str | None = None) -> None:
    """Writes the folder of a model with an adapter added to its weights.

    Args:
        source: the adapter's folder, as PEFT saves it.
        folder: the folder to write.
        base: folder or hub id of the base model; by default the adapter's.

    Raises:
        InputError: PEFT is not installed; there is no LoRA adapter, or it is of another model; or the
            base model is not on this machine.
    """
    about = presets.read_model_json(str(source), "adapter_config.json")
    if about.get("peft_type") != "LORA" or about.get("task_type") not in _MAKERS:
        raise InputError(
            "no LoRA adapter of PEFT: it has no adapter_config.json of one",
            file=source,
            remedy="the folder that PEFT's save_pretrained writes",
        )
    check_installed("peft", "lora")
    place = presets.model_folder(presets.Preset(base or str(about["base_model_name_or_path"])))
    check_own_code(place, setting=False)

    def make() -> Any:
        import transformers

        how = {"num_labels": _labels(source)} if about["task_type"] == "SEQ_CLS" else {}
        model = getattr(transformers, _MAKERS[about["task_type"]]).from_pretrained(
            place, dtype="auto", trust_remote_code=False, **how
        )
        merged = _merged(model, source)
        words = str(source) if (source / "tokenizer_config.json").is_file() else place
        merged.tokenizer = transformers.AutoTokenizer.from_pretrained(
            words, trust_remote_code=False
        )
        return merged

    head = about["task_type"] == "SEQ_CLS"
    model = load_model(f"{source} upon {place}", make, "published", "cpu", new_head=head)
    model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def _merged(model: Any, source: Path) -> Any:
    """Returns a model with the adapter in a folder added to its weights, all of it."""
    import peft

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Found missing adapter keys")
        adapted = peft.PeftModel.from_pretrained(model, str(source))
    # PEFT passes over weights of layers that the model lacks, and tells only who loads them so.
    unused = adapted.load_adapter(str(source), adapted.active_adapter).unexpected_keys
    if unused:
        raise InputError(
            f"the base model has no place for {unused[0]}",
            file=source,
            remedy="name the model that the adapter was trained on with --base",
        )
    return adapted.merge_and_unload()


def _labels(source: Path) -> int:
    """Returns the number of scores that the adapter's head makes."""
    import peft

    weights = peft.load_peft_weights(str(source), device="cpu")
    heads = [value for name, value in weights.items() if _HEAD.fullmatch(name)]
    if len(heads) != 1:
        raise InputError(
            "the adapter has no head that scores", file=source, remedy="merge it with PEFT"
        )
    return len(heads[0])
