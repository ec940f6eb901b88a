"""Runs, relevance judgments, their TREC files, exact ranks, and records of how runs were made."""

from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import DEFAULT_TAG, Run

__all__ = ["DEFAULT_TAG", "Qrels", "Run"]
