"""Language models that write texts, and the store of their answers."""
