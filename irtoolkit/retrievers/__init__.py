"""Retrievers, which score the candidates of queries: a `Retriever` subclass in a module here."""

from irtoolkit.retrievers.registry import create_retriever, retrievers

__all__ = ["create_retriever", "retrievers"]
