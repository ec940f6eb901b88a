"""Language models that rank what a first stage has found: one passage, two, or a list at a time."""

from irtoolkit.retrievers.llm.listwise import Listwise
from irtoolkit.retrievers.llm.pairwise import Pairwise
from irtoolkit.retrievers.llm.pointwise import Pointwise

__all__ = ["Listwise", "Pairwise", "Pointwise"]
