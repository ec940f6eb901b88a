"""Any JSON, cut anywhere, is read as the json module reads it."""

from __future__ import annotations

import codecs
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks, read_lines
from irtoolkit.datasets import strictjson
from tests.conftest import ALL
from tests.unit.datasets.test_strictjson import SIZES, members

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([0, -1, 1.5, -2.5e-7, 1e300, 12345678901234567890, 0.1])
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(
        ["", "\\", '"', "\n", "é", "猫", "😀", "a\tb", "\u2028", "{", "]", '": ', "\\u"]
    )
)


VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


OBJECTS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), VALUES, max_size=6)


@pytest.fixture(params=SIZES, ids=str)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Pieces of so many bytes."""
    monkeypatch.setattr(strictjson, "read_chunks", partial(read_chunks, size=request.param))
    return int(request.param)


def plain(text: str) -> dict[str, Any] | None:
    """What json makes of a text, or None when it is to be refused."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=distinct)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@given(
    OBJECTS,
    st.sampled_from([None, 0, 1, 3, "\t"]),
    st.booleans(),
    st.sampled_from([b"", codecs.BOM_UTF8]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["x.json", "x.json.gz"]),
    st.sampled_from(SIZES),
)
@settings(max_examples=300 if ALL else 100)
def test_members_are_what_json_loads(
    value: dict[str, Any],
    indent: int | str | None,
    ascii: bool,
    mark: bytes,
    end: str,
    name: str,
    size: int,
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii).replace("\n", end)
    data = mark + text.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        found, error = members(path, size)
    assert error is None
    assert [(key, repr(item)) for _, key, item in found] == [
        (key, repr(item)) for key, item in json.loads(text).items()
    ]
    if indent is None:
        assert {line for line, _, _ in found} <= {1}
    elif indent == 1:  # only the keys of the outermost object are indented so
        lines = text.split("\n")
        assert [line for line, _, _ in found] == [
            number for number, line in enumerate(lines, 1) if line.startswith(' "')
        ]


def read_by(read: Callable[[], Iterator[str]]) -> str | InputError:
    try:
        return "".join(read())
    except InputError as error:
        return error


BYTES = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r\n", b"\r", "é".encode(), "猫".encode(), "😀".encode(), codecs.BOM_UTF8,
         b"\xff", b"\xe4", b"\x80", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc0"]
    ),
    max_size=20,
).map(b"".join)  # fmt: skip


@given(BYTES | st.binary(max_size=30) | st.text(max_size=20).map(lambda t: t.encode(errors="replace")), st.integers(1, 9), st.booleans())  # fmt: skip
@settings(max_examples=300 if ALL else 100)
def test_pieces_are_the_text(data: bytes, size: int, packed: bool) -> None:
    """Joined they are what decoding gives; where that fails, it is said as read_lines says it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.gz" if packed else "x")
        path.write_bytes(gzip.compress(data) if packed else data)
        pieces = read_by(lambda: read_chunks(path, size))
        lines = read_by(lambda: (line for _, line in read_lines(path)))
    if isinstance(lines, InputError):
        assert isinstance(pieces, InputError)
        assert str(pieces) == str(lines)
    else:
        assert pieces == data.removeprefix(codecs.BOM_UTF8).decode()


@given(st.text(max_size=40), st.integers(1, 9))
def test_no_piece_is_long_or_empty(text: str, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(text.encode(errors="replace"))
        for piece in read_chunks(path, size):
            assert 1 <= len(piece.encode()) <= size + 6
