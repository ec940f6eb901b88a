"""The model in training and the saved one, which differ if weights are sharded or adapted."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from irtoolkit.models.loading import chosen_precision
from irtoolkit.models.packed import pack
from irtoolkit.training import adapters, sharding
from irtoolkit.training.base_model import freeze_documents
from irtoolkit.training.processes import is_first_process, world_size
from irtoolkit.training.recipes import Recipe

# Trained weights of a checkpoint whose model has adapters.
_ADAPTED = "trained.safetensors"


class TrainedForm:
    """The model of a recipe in training, and its conversion into the model that is saved.

    Without adapters and shards the two are the same.

    Args:
        model: the model that the stage starts from, which is changed in place.
        recipe: says whether there are adapters, 4-bit weights and shards.
        device: of this process.
        frozen: whether its document encoder is not trained.

    Attributes:
        model: the model in training.
        sharded: whether each process holds a part of it.
        adapted: whether it has adapters.
    """

    def __init__(self, model: Any, recipe: Recipe, device: str, frozen: bool = False) -> None:
        self.model = model
        self.adapted = recipe.lora is not None
        self.sharded = bool(recipe.fsdp) and world_size() > 1
        self._device = device
        self._whole: Any = None
        if self.adapted:
            adapters.add_adapters(model, recipe)
            model.to(device)
        if (self.adapted or self.sharded) and is_first_process():
            self._whole = copy.deepcopy(model).cpu()
        if recipe.quantize is not None:
            adapters.quantize_base(model, device)
            if self._whole is not None:
                adapters.take_quantized(self._whole, model)
        if frozen:
            freeze_documents(model)
        if self.sharded:
            sharding.shard(model)

    def pack(self, recipe: Recipe) -> None:
        """Makes BERT's layers train without padding, in bf16 on a GPU; does nothing otherwise."""
        import torch

        special = self.sharded or self.adapted or recipe.checkpointing or recipe.kind == "late"
        precision = chosen_precision(recipe.precision, self._device)
        if not special and self._device.startswith("cuda") and precision == "bf16":
            pack(self.model, torch.bfloat16)

    def saved(self) -> Any:
        """Returns the model as it is evaluated and saved; every process must ask for it.

        Returns:
            A model without shards and adapters. Other processes than the first may get None.
        """
        if not (self.adapted or self.sharded):
            return self.model
        state = self._trained()
        if self._whole is None:
            return None
        self._whole.load_state_dict(state, strict=False)
        copied = copy.deepcopy(self._whole)
        return (adapters.merge_adapters(copied) if self.adapted else copied).to(self._device)

    def measured(self, saved: Any) -> Any:
        """Returns the model to evaluate, given the saved one."""
        return saved

    def save(self, folder: str) -> None:
        """Saves the trained weights of a model with adapters that is not sharded."""
        from safetensors.torch import save_file

        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self._trained(), Path(folder) / _ADAPTED)

    def load(self, folder: str) -> None:
        """Takes the weights of a checkpoint of a model with adapters or shards."""
        if self.sharded:
            sharding.load_weights(folder, self.model)
            return
        from safetensors.torch import load_file

        self.model.load_state_dict(load_file(Path(folder) / _ADAPTED), strict=False)

    def _trained(self) -> dict[str, Any]:
        """Returns the trained weights on the CPU, in the first process; {} in all others."""
        settings = {}
        for name, weights in self.model.named_parameters():
            if weights.requires_grad:
                value = sharding.whole(weights.detach())
                if is_first_process():
                    settings[name] = value.cpu().contiguous()
        return settings
