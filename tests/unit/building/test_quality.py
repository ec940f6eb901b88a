"""What a report of quality is made of."""

from __future__ import annotations

from irtoolkit.building.quality import near_duplicates


def test_near_duplicates_are_in_the_order_of_the_texts() -> None:
    """Whatever order a set has in this process."""
    parts = {f"old{n}": [f"word{n}x{m}" for m in range(12)] for n in range(9)}
    whole = [word for part in parts.values() for word in part]
    split_of = {**dict.fromkeys(parts, "train"), "new": "test"}
    assert near_duplicates({**parts, "new": whole}, split_of) == [[name, "new"] for name in parts]
