"""JSON read member by member, and text read in pieces, held against json and plain decoding.

The pieces that files are read in are made tiny, so that everything is cut somewhere: a number
before its fraction, a string inside an escape, a character between its bytes.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks
from irtoolkit.datasets import strictjson
from irtoolkit.datasets.strictjson import read_members

Write = Callable[..., Path]
REMEDY = "the release file is damaged: fetch it again"
SIZES = (1, 7, 1 << 20)


@pytest.fixture(params=SIZES, ids=str)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Pieces of so many bytes."""
    monkeypatch.setattr(strictjson, "read_chunks", partial(read_chunks, size=request.param))
    return int(request.param)


def members(path: Path, size: int) -> tuple[list[tuple[int, str, Any]], InputError | None]:
    """What is read before there is an error, and the error."""
    found: list[tuple[int, str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strictjson, "read_chunks", partial(read_chunks, size=size))
        rows = read_members(path, "an object of things")
        while True:
            try:
                found.append(next(rows))
            except StopIteration:
                return found, None
            except InputError as error:
                return found, error


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_members(path, "an object of things"))
    assert caught.value.file == str(path)
    return caught.value


# ---- damage --------------------------------------------------------------------------------------

WHOLE = """{
 "ä\\u00e9": [
  1,
  -2.5e-3,
  "tw\\"o \\ud83d\\ude00 猫"
 ],
 "b": {"c": null, "d": true,
  "e": {}
 }
}
"""


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 20])
def test_cut_off_anywhere(tmp_path: Path, size: int) -> None:
    """In the last line with anything in it, or in the last of all."""
    data = WHOLE.rstrip().encode()
    path = tmp_path / "x.json"
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        error = members(path, size)[1]
        assert error is not None
        assert (error.file, "not JSON" in error.found or "not UTF-8" in error.found) == (str(path), True)  # fmt: skip
        text = data[:cut].decode(errors="ignore")
        assert error.line in (text.count("\n") + 1, max(1, text.rstrip().count("\n") + 1)), cut


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 1, "the file ends where an object of things is expected"),
        ("\n\n", 3, "the file ends where an object of things is expected"),
        ("\ufeff", 1, "the file ends"),
        ("{", 1, "the file ends where a key is expected"),
        ("{\n", 2, "the file ends where a key is expected"),
        ('{"a"', 1, "the file ends where a colon is expected"),
        ('{"a":\n', 2, "not JSON: Expecting value"),
        ('{"a": 1\n', 2, "the file ends where a comma or closing brace is expected"),
        ('{"a": 1,\n', 2, "the file ends where a key is expected"),
        ('{"a": 1,\n}', 2, "not a key"),
        ('{,\n"a": 1}', 1, "not a key"),
        ('{"a": 1\n"b": 2}', 2, "not a comma or closing brace"),
        ('{"a" 1}', 1, "not a colon"),
        ('{"a"\n= 1}', 2, "not a colon"),
        ("{\na: 1}", 2, "not a key"),
        ("{'a': 1}", 1, "not a key"),
        ("{1: 1}", 1, "not a key"),
        ('{"a":\n nul}', 2, "not JSON: Expecting value"),
        ('{"a":\n 01}', 2, "not a comma or closing brace"),
        ('{"a":\n 1.}', 2, "not a comma or closing brace"),
        ('{"a":\n +1}', 2, "not JSON: Expecting value"),
        ('{"a":\n}', 2, "not JSON: Expecting value"),
        # Python 3.13 names the comma, and not what follows it.
        ('{"a": [1,\n2,\n]}', 3 if sys.version_info < (3, 13) else 2, "not JSON"),
        ('{"a": [1,\n2 3]}', 2, "not JSON: Expecting ',' delimiter"),
        ('{"a": {"b":\n1,\n\n2: 3}}', 4, "not JSON"),
        ('{"a": "x\ny"}', 1, "not JSON: Invalid control character"),
        ('{"a": 1,\n"b": "x\ty"}', 2, "not JSON: Invalid control character"),
        ('{"a":\n"\\x"}', 2, "not JSON: Invalid \\escape"),
        ('{"a":\n"\\u12"}', 2, "not JSON: Invalid \\uXXXX escape"),
        ('{"a":\n"b}', 2, "not JSON: Unterminated string"),
        ('{"a": 1}\n{}', 2, "not the end of the file"),
        ('{"a": 1}\n\n,', 3, "not the end of the file"),
        ('{} "', 1, "not the end of the file"),
        ("{}\n\x00", 2, "not the end of the file"),
        ('{"a": 1, "a": 2}', 1, "the key 'a' appears twice in one object"),
        ('{"a": 1,\n\n"a": 2}', 3, "the key 'a' appears twice in one object"),
        ('{"\\u0061": 1,\n"a": 2}', 2, "the key 'a' appears twice in one object"),
        ('{"b": 1,\n"a": {"c": 1,\n"c": 1}}', 3, "the key 'c' appears twice"),
        ('{"a": [{"c": 1},\n{"c": {},\n"c" : []}]}', 3, "the key 'c' appears twice"),
        ('{"a": {"b": "\\"b\\": {[",\n"c": "b",\n"b": 1}}', 3, "the key 'b' appears twice"),
        # The decoder meets the inner pair first; the outer one stands before it.
        ('{"a": {"x": 1,\n"x": 2,\n"y": {"z": 1,\n"z": 2}}}', 2, "the key 'x' appears twice"),
        ("[]", 1, "not an object of things"),
        ("\n[{}]", 2, "not an object of things"),
        ("null", 1, "not an object of things"),
        ("3.5", 1, "not an object of things"),
        ('"{}"', 1, "not an object of things"),
        ("}", 1, "not an object of things"),
        ('{"a": 1,\n"b": "\\ud800"}', 2, "half a surrogate pair, \\ud800"),
        ('{"a": 1,\n"b": "\\uDC00\\uD800"}', 2, "half a surrogate pair, \\udc00"),
        ('{"a": 1,\n"\\udfff": 2}', 2, "half a surrogate pair, \\udfff"),
        ('{"a":\n["\\ud83d\\ude00",\n{"b": "\\\\ud800", "c":\n"\\ud83d \\ude00"}]}', 4, "half a surrogate pair"),
        ('{"a":\n{"\\ud83d": 1}}', 2, "half a surrogate pair"),
    ],
)  # fmt: skip
def test_damage_and_its_line(write: Write, size: int, text: str, line: int, found: str) -> None:
    error = refusal(write("x.json", text))
    assert found in error.found
    assert (error.line, error.remedy) == (line, REMEDY)


def test_a_number_without_end(write: Write, size: int) -> None:
    digits = sys.get_int_max_str_digits() + 1
    path = write("x.json", f'{{"a": 1,\n"b":\n[{"7" * (digits - 1)}, {"7" * digits}]}}')
    error = refusal(path)
    assert (error.line, error.remedy) == (3, REMEDY)
    assert "not usable JSON" in error.found
    path = write("y.json", f'{{"a": {"7" * (digits - 1)}}}')
    assert [len(str(value)) for _, _, value in read_members(path, "x")] == [digits - 1]


@pytest.mark.parametrize("size", [5, 1 << 20])
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_nesting_without_end(write: Write, size: int, bracket: str) -> None:
    path = write("x.json", '{"a": 1,\n"b":\n' + bracket * 100_000)
    _, error = members(path, size)
    assert error is not None
    assert (error.file, error.line) == (str(path), 3)
    assert "not usable JSON" in error.found


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf"])  # fmt: skip
@pytest.mark.parametrize("line", [1, 3])
def test_text_that_is_not_utf8(write: Write, size: int, bad: bytes, line: int) -> None:
    """Whichever of its bytes are in the same piece; the column too is that of the whole line."""
    lines = ['{"é": "猫😀",', '"b": "猫😀",', '"c": "猫😀"}']
    data = "\n".join(lines).encode().split(b"\n")
    at = data[line - 1].index("😀".encode())
    data[line - 1] = data[line - 1][:at] + bad + data[line - 1][at:]
    error = refusal(write("x.json", b"\n".join(data)))
    assert error.line == line
    assert error.found == f"not UTF-8: byte 0x{bad[0]:02x} at column {at + 1}"
    assert "iconv" in str(error.remedy)


def test_a_damaged_gzip_file(write: Write, size: int) -> None:
    packed = gzip.compress(json.dumps({"a": list(range(1000))}, indent=1).encode())
    for data in (packed[:-20], packed[:40], packed[:-8] + b"\0" * 8):
        error = refusal(write("x.json.gz", data))
        assert "damaged gzip data" in error.found
        assert error.line is not None
    assert "not an object" in refusal(write("y.json.gz", gzip.compress(b"[]"))).found
