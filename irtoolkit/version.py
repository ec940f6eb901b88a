"""The version of irtoolkit: here, and nowhere else."""

__version__ = "0.1.0"
