"""Datasets in the forms of other tools: BEIR, MTEB, Hugging Face datasets, Pyserini and TIRA."""
