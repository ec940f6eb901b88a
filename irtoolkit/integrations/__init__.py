"""irtoolkit inside other libraries."""
