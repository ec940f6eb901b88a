"""Queries that are too long: what stays of them, against plain restatements of the rules."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.models.cuts import Cut, CutOff, cutting_tokenizer
from tests import tiny

pytest.importorskip("transformers")

WORDS = ("harbour", "lamp", "ships,", "north", "Tuesday?", "unseen", "x", "(late)", "naïve")
words = st.lists(st.sampled_from(WORDS), max_size=30)


@cache
def bert() -> Any:
    return tiny.tokenizer(["harbour lamp ships north tuesday"], longest=512)


@cache
def roberta() -> Any:
    """A byte-level BPE with RoBERTa's special tokens; <mask> takes the space before it."""
    import transformers
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merges = [("Ġ", "h"), ("Ġh", "a"), ("l", "a"), ("Ġ", "la"), ("m", "p"), ("Ġla", "mp")]
    pieces = [*special, *letters, *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.RobertaTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True, special=True), model_max_length=512,
    )  # fmt: skip


def centred(tokens: list[int], place: int, room: int) -> list[int]:
    """`room` tokens with half of them before a place, moved to the end that they go beyond."""
    left, right = place - room // 2, place - room // 2 + room
    if left < 0:
        left, right = 0, room
    elif right > len(tokens):
        left, right = len(tokens) - room, len(tokens)
    return tokens[left:right]


def ids(tokenizer: Any, text: str, limit: int) -> list[int]:
    coded = tokenizer([text], truncation=True, max_length=limit, padding=True, return_tensors="pt")
    found: list[int] = coded["input_ids"][0].tolist()
    assert coded["attention_mask"][0].tolist() == [1] * len(found)
    return found


@pytest.mark.parametrize(("make", "mask"), [(bert, "[MASK]"), (roberta, "<mask>")])
@given(left=words, right=words, limit=st.integers(4, 64))
def test_a_mask_is_in_the_middle_of_what_stays(
    make: Any, mask: str, left: list[str], right: list[str], limit: int
) -> None:
    tokenizer = make()
    text = " ".join((*left, mask, *right))
    whole = tokenizer(text)["input_ids"]
    first, *inner, last = whole
    place = inner.index(tokenizer.mask_token_id)
    stays = inner if len(whole) <= limit else centred(inner, place, limit - 2)
    found = ids(cutting_tokenizer(tokenizer, Cut("sides", mask)), text, limit)
    assert found == [first, *stays, last]
    assert tokenizer.mask_token_id in found
    # As its authors' code has it, the special tokens are tokens like any others.
    bare = ids(cutting_tokenizer(tokenizer, Cut("sides", mask, special=True)), text, limit)
    place = whole.index(tokenizer.mask_token_id)
    assert bare == (whole if len(whole) <= limit else centred(whole, place, limit))
    assert tokenizer.mask_token_id in bare


@given(left=words, right=words, limit=st.integers(3, 64), off=st.sampled_from(["end", "start"]))
def test_one_side_is_cut_off(left: list[str], right: list[str], limit: int, off: CutOff) -> None:
    text = " ".join((*left, "[MASK]", *right))
    whole = bert()(text)["input_ids"]
    room = min(limit - 2, len(whole) - 2)
    inner = whole[1:-1][:room] if off == "end" else whole[1:-1][len(whole) - 2 - room :]
    assert ids(cutting_tokenizer(bert(), Cut(off)), text, limit) == [whole[0], *inner, whole[-1]]
    stays = whole
    if len(whole) > limit:
        stays = whole[:limit] if off == "end" else [whole[0], *whole[1 - limit :]]
    assert ids(cutting_tokenizer(bert(), Cut(off, special=True)), text, limit) == stays


@given(texts=st.lists(words.map(" ".join), min_size=1, max_size=4), limit=st.integers(3, 20))
def test_texts_without_the_mask_are_cut_as_the_tokenizer_does(texts: list[str], limit: int) -> None:
    how = {"truncation": True, "max_length": limit, "return_tensors": "pt"}
    for padding in (True, "max_length"):
        ours = cutting_tokenizer(bert(), Cut("sides", "[MASK]"))(texts, padding=padding, **how)
        theirs = bert()(texts, padding=padding, **how)
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert ours[key].tolist() == theirs[key].tolist()


@given(right=words, limit=st.integers(8, 24))
def test_a_prompt_stays(right: list[str], limit: int) -> None:
    prompt = "north: "
    text = " ".join(("lamp " * 20 + "[MASK]", *right))
    found = ids(cutting_tokenizer(bert(), Cut("sides", "[MASK]"), prompt), prompt + text, limit)
    begin, north, colon, *whole, end = bert()(prompt + text)["input_ids"]
    place = whole.index(bert().mask_token_id)
    stays = whole if len(whole) <= limit - 4 else centred(whole, place, limit - 4)
    assert found == [begin, north, colon, *stays, end]
