"""The reasons of errors, in one line."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.reasons import reason_of


class Command:
    def __reduce__(self) -> Any:
        return (os.system, ("true",))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("one line\nand another"), "one line"),
        (EOFError(), "EOFError"),
        (KeyError("101"), "KeyError '101'"),
        (ValueError("weights_only: do this"), "it holds more than tensors"),
    ],
)
def test_the_reason_of_an_error(error: Exception, expected: str) -> None:
    assert reason_of(error) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (Command, "it holds posix.system, which is no tensor"),
        (datetime.datetime.now, "it holds datetime.datetime, which is no tensor"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_the_advice_to_run_code_is_not_passed_on(
    content: Callable[[], Any], expected: str, zipped: bool, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "x.bin"
    torch.save({"a": content()}, file, _use_new_zipfile_serialization=zipped)
    with pytest.raises(Exception, match="weights_only") as caught:
        torch.load(file, weights_only=True)
    assert reason_of(caught.value) == expected
