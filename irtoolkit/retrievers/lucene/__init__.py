"""The real Lucene, through Anserini's classes and a Java virtual machine in this process."""

from irtoolkit.retrievers.lucene.retriever import Lucene

__all__ = ["Lucene"]
