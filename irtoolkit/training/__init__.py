"""Training: the papers' models by their own recipes, on sentence-transformers' trainers."""
