"""Execution of work on shards: in this process, in several, or on a Ray cluster."""
