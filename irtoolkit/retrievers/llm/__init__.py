"""Language models that rank what a first stage has found, or write what is looked for."""

from irtoolkit.retrievers.llm.listwise import Listwise
from irtoolkit.retrievers.llm.pairwise import Pairwise
from irtoolkit.retrievers.llm.pointwise import Pointwise
from irtoolkit.retrievers.llm.quotation import Quotation

__all__ = ["Listwise", "Pairwise", "Pointwise", "Quotation"]
