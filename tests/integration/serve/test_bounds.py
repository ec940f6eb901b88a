"""What the server takes and keeps has bounds, also where disks are full and files are damaged."""

from __future__ import annotations

import gzip
import io
import signal
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.serve.judgments import Judgments
from irtoolkit.serve.limits import TooLargeError, unpacked

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def zipped(text: str, method: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("a.txt", text)
    return data.getvalue()


def test_only_methods_that_unpack_within_bounds_are_read() -> None:
    for method in METHODS[:2]:
        assert unpacked(zipped("Hello there. ", method), 100) == b"Hello there. "
    for method in METHODS[2:]:
        with pytest.raises(InputError, match="packed in a way"):
            unpacked(zipped("Hello there. ", method), 100)


@pytest.mark.parametrize("method", METHODS)
def test_every_damage_of_an_archive_is_one_refusal(method: int) -> None:
    data = zipped("Hello there. " * 20, method)
    for place in range(4, len(data)):
        for flip in (1, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= flip
            # An error of another kind would be the server's.
            with suppress(InputError):
                unpacked(bytes(damaged), 1000)


def test_gzip_of_several_members_is_read_to_its_end() -> None:
    one, two = gzip.compress(b"One lamp. "), gzip.compress(b"Two lamps. ")
    assert unpacked(one + two + b"\0" * 9, 100) == b"One lamp. Two lamps. "
    with pytest.raises(TooLargeError):
        unpacked(one + two, 15)
    for damaged in (one + two[:-9], one + b"more"):
        with pytest.raises(InputError, match="gzip"):
            unpacked(damaged, 100)


FULL = """
import resource, signal, sys
from pathlib import Path
from irtoolkit.base.errors import InputError
from irtoolkit.serve.judgments import Judgment, Judgments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
kept = Judgments(folder, 100)
kept.add(Judgment("b", "first", "b:0+3", 1))
size = (folder / "judgments.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 60, resource.RLIM_INFINITY))
try:
    kept.add(Judgment("b", "second", "b:1+3", 1))
    raise SystemExit("taken")
except InputError:
    assert (folder / "judgments.jsonl").stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.add(Judgment("b", "third", "b:2+3", 1))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="sizes of files cannot be limited here")
def test_a_full_disk_keeps_what_was_confirmed_and_nothing_else(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one.query for one in Judgments(tmp_path, 100).of()] == ["first", "third"]
