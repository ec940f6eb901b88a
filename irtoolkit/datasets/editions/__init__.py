"""Editions of books and criticism, as published or scanned: their text without the rest."""

from __future__ import annotations


def words(listed: str) -> tuple[str, ...]:
    """Returns the words of a list that is written as one text."""
    return tuple(listed.split())
