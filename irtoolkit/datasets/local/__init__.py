"""Collections of the user's own: folders that are registered under an ir_datasets id."""

from irtoolkit.datasets.local.registered import register

__all__ = ["register"]
