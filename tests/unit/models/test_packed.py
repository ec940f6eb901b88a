"""Encoders without padding compute what transformers computes with it, and the same gradients."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
import transformers

from irtoolkit.models import _packed_plain, packed

LENGTHS = [9, 3, 1, 7, 5]
SHAPE: dict[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip


def model(kind: str, **more: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**{**SHAPE, **more})
    return getattr(transformers, f"{kind}Model")(config).eval()


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "Electra"])
@pytest.mark.parametrize("whole", [False, True])
def test_vectors_and_gradients_are_those_of_transformers(kind: str, whole: bool) -> None:
    made = model(kind)
    ids = torch.randint(5, 100, (len(LENGTHS), max(LENGTHS)))
    mask = torch.tensor([[1] * n + [0] * (max(LENGTHS) - n) for n in LENGTHS])
    mask = torch.ones_like(mask) if whole else mask
    weights = torch.randn(*ids.shape, SHAPE["hidden_size"]) * mask[..., None]

    def computed(given: Any) -> tuple[Any, dict[str, Any]]:
        made.zero_grad()
        found = made(input_ids=ids, attention_mask=given).last_hidden_state
        (found * weights).sum().backward()
        grads = {name: p.grad.clone() for name, p in made.named_parameters() if p.grad is not None}
        return (found * mask[..., None]).detach(), grads

    expected, gradients = computed(mask)
    assert packed.pack(made) == 1
    for given in (mask, packed.with_layout(mask.clone(), mask.numpy())):
        found, own = computed(given)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
        assert own.keys() == gradients.keys()
        for name, each in own.items():
            torch.testing.assert_close(each, gradients[name], atol=1e-3, rtol=1e-3)
    with torch.inference_mode():
        again = made(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(again, found, atol=1e-5, rtol=1e-4)
    with torch.no_grad():  # what is trained is not computed with old weights
        made.encoder.layer[0].output.dense.weight.mul_(2)
        other = made(input_ids=ids, attention_mask=mask).last_hidden_state
        packed.unpack(made)
        plain = made(input_ids=ids, attention_mask=mask).last_hidden_state * mask[..., None]
    torch.testing.assert_close(other, plain, atol=1e-5, rtol=1e-4)


def test_batches_may_be_computed_before_any_gradient_and_parameters_may_be_frozen() -> None:
    made = model("Bert")
    made.encoder.layer[0].requires_grad_(False)
    batches = [torch.randint(5, 100, (2, length)) for length in (4, 7)]

    def gradients() -> list[Any]:
        made.zero_grad()
        found = [
            made(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            for ids in batches
        ]
        (found[0].sin().sum() * found[1].cos().sum()).backward()
        return [p.grad.clone() for p in made.parameters() if p.grad is not None]

    expected = gradients()
    packed.pack(made)
    torch.testing.assert_close(gradients(), expected, atol=1e-3, rtol=1e-3)


def test_gradients_of_gradients_are_refused() -> None:
    """What a layer keeps is no part of torch's graph, so that they would be wrong."""
    made = model("Bert")
    packed.pack(made)
    ids = torch.randint(5, 100, (2, 4))
    found = made(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    weights = made.embeddings.word_embeddings.weight
    (first,) = torch.autograd.grad(found.sin().sum(), weights, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize("shape", [(7, 48), (600, 32)])
@pytest.mark.parametrize("dropped", [0.0, 0.3])
def test_kernels_are_what_plain_torch_computes(
    shape: tuple[int, int], dropped: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernels = importlib.import_module("irtoolkit.models._packed_kernels")
    torch.manual_seed(0)
    a, b, grad = torch.randn(*shape), torch.randn(*shape), torch.randn(*shape)
    weight, bias = torch.randn(shape[1]), torch.randn(shape[1])
    seeds = torch.tensor([5, 6], dtype=torch.int32)
    norm = (weight, bias, 1e-5)
    made, normed, scales = kernels.add_norm(a, b, norm, dropped, seeds, 1, True, torch.float32)
    to_a, to_b, sums = kernels.add_norm_back(grad, normed, scales, weight, dropped, seeds, 1)
    # Both ways drop the same.
    kept = (to_a != 0) / (1 - dropped)
    exact = _packed_plain.add_norm(a * kept, b, norm, 0.0, seeds, 1, True, torch.float32)
    torch.testing.assert_close((made, normed, scales), exact)
    _, before, plain = _packed_plain.add_norm_back(grad, normed, scales, weight, 0.0, seeds, 1)
    torch.testing.assert_close(to_b, before, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(to_a, before * kept, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(sums[:2], plain[:2], atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(sums[2], to_a.sum(0), atol=1e-3, rtol=1e-4)
    assert abs((to_a == 0).float().mean() - dropped) < 0.1
