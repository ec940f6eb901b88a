"""PyTerrier's way in; see `irtoolkit.integrations.pyterrier`."""

from irtoolkit.integrations.pyterrier import Dataset, Provider, Reranker, Retriever, TextLoader

__all__ = ["Dataset", "Provider", "Reranker", "Retriever", "TextLoader"]
