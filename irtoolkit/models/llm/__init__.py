"""Language models that write texts, and the store of what they wrote."""
