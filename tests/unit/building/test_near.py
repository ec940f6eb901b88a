"""Queries of different splits that say much the same."""

from __future__ import annotations

import random
from itertools import combinations

from irtoolkit.building.near import near_duplicates


def test_pairs_are_in_the_order_of_the_texts() -> None:
    parts = {f"old{n}": [f"word{n}x{m}" for m in range(12)] for n in range(9)}
    whole = [word for part in parts.values() for word in part]
    split_of = {**dict.fromkeys(parts, "train"), "new": "test"}
    assert near_duplicates({**parts, "new": whole}, split_of) == [[name, "new"] for name in parts]


def test_beside_a_plain_one() -> None:
    draw = random.Random(4)
    texts = {f"q{n}": [draw.choice("ab") for _ in range(draw.randrange(30))] for n in range(60)}
    split_of = {name: draw.choice(["train", "val"]) for name in texts}
    runs = {q: {tuple(t[at : at + 5]) for at in range(len(t) - 4)} for q, t in texts.items()}
    plain = [
        [one, other]
        for other, one in sorted(
            ((b, a) for a, b in combinations(texts, 2)), key=lambda pair: [int(q[1:]) for q in pair]
        )
        if split_of[one] != split_of[other]
        and len(runs[one] & runs[other]) > 0.5 * min(len(runs[one]), len(runs[other]))
    ]
    assert len(plain) > 50
    assert near_duplicates(texts.items(), split_of) == plain
