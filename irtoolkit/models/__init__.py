"""Pretrained models: their facts, their weights, and the encoding of texts."""
