"""Training: recipes, training sets, batches, losses and models, on sentence-transformers' trainers."""
