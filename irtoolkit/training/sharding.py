"""Sharded training: each process holds a part of the weights, gradients and optimizer (FSDP2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irtoolkit.models.loading import transformers_in
from irtoolkit.training.processes import world_size


def shard(model: Any) -> None:
    """Shards the weights of a model over all processes, in place.

    The layers of its transformers are gathered one at a time, and released after their computation;
    weights outside them are gathered for the whole step.

    Args:
        model: the same in all processes, on the device that trains it.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(model.device.type, (world_size(),))
    for inner, _ in list(transformers_in(model)):
        layers = set(getattr(inner, "_no_split_modules", None) or ())
        for module in list(inner.modules()):
            if type(module).__name__ in layers:
                fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def whole(weights: Any) -> Any:
    """Returns a whole tensor that is sharded over all processes; each of them must call this."""
    from torch.distributed.tensor import DTensor

    return weights.full_tensor() if isinstance(weights, DTensor) else weights


def save_shards(folder: str, model: Any, optimizer: Any) -> None:
    """Saves every process's part of a model and its optimizer; all of them call it."""
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.checkpoint.state_dict_saver import save

    weights, moments = get_state_dict(model, optimizer)
    _place(folder).mkdir(parents=True, exist_ok=True)
    save({"model": weights, "optimizer": moments}, checkpoint_id=_place(folder))


def load_weights(folder: str, model: Any) -> None:
    """Takes the weights of a model from a checkpoint."""
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    from torch.distributed.checkpoint.state_dict_loader import load

    weights = get_model_state_dict(model)
    load({"model": weights}, checkpoint_id=_place(folder))
    set_model_state_dict(model, weights)


def load_moments(folder: str, model: Any, optimizer: Any) -> None:
    """Takes the state of an optimizer from a checkpoint."""
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
    from torch.distributed.checkpoint.state_dict import (
        get_optimizer_state_dict,
        set_optimizer_state_dict,
    )
    from torch.distributed.checkpoint.state_dict_loader import load

    moments = get_optimizer_state_dict(model, optimizer)
    # Weights that no text passes through, as those of a pooler, have no state.
    planner = DefaultLoadPlanner(allow_partial_load=True)
    load({"optimizer": moments}, checkpoint_id=_place(folder), planner=planner)
    set_optimizer_state_dict(model, optimizer, moments)


def _place(folder: str) -> Path:
    return Path(folder) / "shards"
