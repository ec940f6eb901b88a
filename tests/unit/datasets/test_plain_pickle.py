"""Pickles of plain data are read; what would run code is refused before it runs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.plain_pickle import read_plain_pickle

PLAIN = {"query": {"q": "text", "ü": "é"}, "n": [1, 2.5, None, True], "t": (1, "a")}


class Runs:
    """An object whose pickle calls a function when it is loaded."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


def written(folder: Path, data: Any, protocol: int = 4) -> Path:
    path = folder / "x.pickle"
    path.write_bytes(pickle.dumps(data, protocol))
    return path


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_are_read_by_every_protocol(tmp_path: Path, protocol: int) -> None:
    assert read_plain_pickle(written(tmp_path, PLAIN, protocol)) == PLAIN


@pytest.mark.parametrize("text", ["", "q_1", "Zoë", "𝄞 clef"])
def test_numpy_texts_are_texts(tmp_path: Path, text: str) -> None:
    read = read_plain_pickle(written(tmp_path, {np.str_(text): [np.str_(text)]}))
    assert read == {text: [text]}
    assert type(next(iter(read))) is str


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (os.system, ("touch was-run",)),
        (eval, ("open('was-run', 'w')",)),
        (open, ("was-run", "w")),
        (getattr, ("a", "upper")),
        (np.dtype, ("O",)),
        (np.array, ([1],)),
    ],
)
def test_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Any, args: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, {"query": Runs(function, *args)})
    if function is np.dtype:
        assert not isinstance(read_plain_pickle(path)["query"], np.dtype)
        return
    with pytest.raises(InputError, match="it may run code, and is not read") as caught:
        read_plain_pickle(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "data", [b"", b"no pickle", b"\x80\x04", b"\x80\x04]\x94(K\x01", b"\x80\xff."]
)
def test_a_damaged_pickle_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.pickle").write_bytes(data)
    with pytest.raises(InputError, match="not a pickle, or a damaged one"):
        read_plain_pickle(tmp_path / "x.pickle")


def test_a_scalar_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a numpy scalar that is no text"):
        read_plain_pickle(written(tmp_path, {"n": np.float64(1.5)}))
