"""Making a benchmark from what is here: choices among a few candidates."""
