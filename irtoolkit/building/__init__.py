"""Making a benchmark from raw text."""
