"""Numbers of things in messages."""

from __future__ import annotations

_ONE = {"queries": "query", "matches": "match", "analyses": "analysis"}


def number_of(many: int, things: str, form: str = "") -> str:
    """Returns a count with its noun, as 1 query or 2 rows; `form` formats the number, as in ",".

    Args:
        many: the count.
        things: the plural noun.
        form: format of the number.
    """
    singular = _ONE.get(things, things.removesuffix("s"))
    return f"{many:{form}} {singular if many == 1 else things}"


def be(many: int) -> str:
    """Returns the verb after a count: is or are."""
    return "is" if many == 1 else "are"
