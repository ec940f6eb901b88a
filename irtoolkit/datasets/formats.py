"""The part of ir_datasets that other rooms use, imported after `irtoolkit.datasets` has seen to its home."""

from ir_datasets import Dataset as IrDataset
from ir_datasets.formats import GenericDoc, GenericQuery

__all__ = ["GenericDoc", "GenericQuery", "IrDataset"]
