"""Indexes on disk: shards of memory-mapped arrays, how they are written, and how they are searched."""
