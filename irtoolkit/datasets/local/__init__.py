"""The user's own collections: folders registered under an ir_datasets id."""

from irtoolkit.datasets.local.registered import register

__all__ = ["register"]
