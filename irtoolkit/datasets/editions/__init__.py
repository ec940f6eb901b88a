"""Editions of books and criticism, as published or scanned: their text without the rest."""
