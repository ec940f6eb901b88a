"""Retrievers, a measure, a dataset, a table and a command for irtoolkit, one file each."""
