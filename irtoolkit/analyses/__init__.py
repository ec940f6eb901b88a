"""The analyses by their short name; see `irtoolkit.papers.analyses`."""
