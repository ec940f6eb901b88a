"""Language models that rerank the hits of a first stage, or write the quotation to search for."""

from irtoolkit.retrievers.llm.listwise import ListwiseReranker
from irtoolkit.retrievers.llm.pairwise import PairwiseReranker
from irtoolkit.retrievers.llm.pointwise import PointwiseReranker
from irtoolkit.retrievers.llm.quotation import Quotation

__all__ = ["ListwiseReranker", "PairwiseReranker", "PointwiseReranker", "Quotation"]
