"""Pretrained models: what is known of them, where they are, and how texts become their outputs."""
