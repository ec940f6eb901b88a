"""Pools by the paper's rule: what is cited, then of each system as many new documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.building.csfcube.pools import CITED, draw_pool, interleaved, read_pools

RANKINGS = st.dictionaries(
    st.sampled_from("abcd"), st.permutations([str(n) for n in range(30)]), min_size=1
)


@given(RANKINGS, st.lists(st.integers(0, 29).map(str), unique=True, max_size=8), st.integers(1, 9))
def test_a_pool_has_what_is_cited_and_as_much_of_each_system(
    rankings: dict[str, list[str]], cited: list[str], depth: int
) -> None:
    pool = draw_pool("7", rankings, cited, depth=depth, listed=5, seed=3)
    first = [doc for doc in cited if doc != "7"]
    new = min(len(rankings) * depth, 29 - len(first))
    assert list(pool)[: len(first)] == first
    assert len(pool) == len(first) + new
    assert "7" not in pool
    assert all(names for names in pool.values())
    assert {doc for doc, names in pool.items() if CITED in names} == {*first}
    for system, ranked in rankings.items():
        best = {doc for doc in ranked[:5] if doc != "7"}
        assert {doc for doc in best if doc in pool} <= {d for d, n in pool.items() if system in n}


@given(RANKINGS, st.integers(1, 4))
def test_each_system_adds_a_block_of_new_documents(
    rankings: dict[str, list[str]], depth: int
) -> None:
    """In the release, each block of 33 or 12 documents after the cited ones has a system in common."""
    pool = draw_pool("none", rankings, [], depth=depth, listed=0, seed=1)
    names = list(pool.values())
    blocks = [names[at : at + depth] for at in range(0, len(names), depth)]
    assert [len(set(block)) for block in blocks] == [1] * len(rankings)
    for (system,), block in zip([block[0] for block in blocks], blocks, strict=True):
        assert len(block) == depth
        drawn = [doc for doc, of in pool.items() if of == (system,)]
        before = [doc for doc in pool if doc not in drawn]
        assert drawn == [doc for doc in rankings[system] if doc in drawn]
        assert set(rankings[system][: rankings[system].index(drawn[-1])]) <= {*drawn, *before}


def test_interleaved() -> None:
    assert interleaved([["a", "b"], ["b", "c", "d"]]) == ["a", "b", "c", "d"]
    assert interleaved([["a", "b"], ["a", "b"]]) == ["a", "b"]


BAD = {
    "has no pool": {},
    "two lists of one length": {"p": {"cands": ["a"], "cand_source": []}},
    "no string": {"p": {"cands": [1], "cand_source": [["x"]]}},
    "without a list of systems": {"p": {"cands": ["a"], "cand_source": [[]]}},
    "candidate a twice": {"p": {"cands": ["a", "a"], "cand_source": [["x"], ["y"]]}},
    "no candidate of paper p is a document": {"p": {"cands": ["z"], "cand_source": [["x"]]}},
}


@pytest.mark.parametrize("said", BAD)
def test_pools_of_others_are_checked(said: str, tmp_path: Path) -> None:
    path = tmp_path / "pools.json"
    path.write_text(json.dumps(BAD[said]), "utf-8")
    with pytest.raises(InputError, match=said):
        read_pools(path, ["p"], {"a": None, "p": None})


def test_the_released_pools_follow_the_rule(real_csfcube: Path) -> None:
    """Pools are what is cited, and 33 or 12 documents of each of seven systems; the paper prints 13."""
    released = json.loads((real_csfcube / "test-pid2pool-csfcube.json").read_text("utf-8"))
    sizes = set()
    for pool in released.values():
        sources = pool["cand_source"]
        cited = sum(CITED in names for names in sources)
        assert all(CITED in names for names in sources[:cited])
        each, rest = divmod(len(sources) - cited, 7)
        sizes.add(each)
        assert not rest
        for block in range(cited, len(sources), each):
            assert set.intersection(*map(set, sources[block : block + each]))
    assert sizes == {33, 12}
