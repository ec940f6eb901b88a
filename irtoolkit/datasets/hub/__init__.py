"""Retrieval datasets of the Hugging Face hub by name: hf:OWNER/NAME, and mteb:TASK for MTEB's tasks."""
