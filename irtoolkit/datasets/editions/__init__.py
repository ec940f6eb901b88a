"""Editions of books and criticism as publishers and scanners give them: what is text, and what is not."""
