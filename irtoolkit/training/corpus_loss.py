"""The torch module of the loss over all documents, which are encoded in every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from irtoolkit.training.loss_modules import Features, all_pairs


class EveryDocument(nn.Module):
    """Softmax cross-entropy over all documents, which are encoded with gradients in every step.

    Args:
        model: the model that encodes queries and documents.
        texts: (m,) texts of the documents.
        scale: factor of the similarities.
        mapping: weight of the squared distance between a query's `mapped` vector and that of its
            document.
    """

    def __init__(
        self, model: Any, texts: Sequence[str], scale: float = 1.0, mapping: float = 0.0
    ) -> None:
        super().__init__()
        self.model, self.scale, self.mapping = model, scale, mapping
        self._compare = all_pairs(model.similarity_fn_name, scale)
        self._documents = model.preprocess(list(texts), task="document")

    def forward(self, sentence_features: Features, labels: Tensor) -> Tensor:
        """Returns the loss of a batch of queries.

        The labels are (n,) numbers of their documents.
        """
        from sentence_transformers.util import batch_to_device

        (features,) = sentence_features
        output = self.model(features)
        docs = self.model(batch_to_device(dict(self._documents), labels.device))
        scores = self._compare(output["sentence_embedding"], docs["sentence_embedding"])
        loss = functional.cross_entropy(scores, labels)
        if self.mapping:
            apart = output["mapped"] - docs["mapped"][labels]
            loss = loss + self.mapping * apart.square().sum(dim=1).mean()
        return loss

    def get_config_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, "mapping": self.mapping}
