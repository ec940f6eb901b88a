"""The reason that a library's error gives, in one line."""

from __future__ import annotations

import re

# PyTorch's errors begin with the advice to load a file so that its code runs.
_UNSAFE = re.compile(r"weights_only|weights only", re.IGNORECASE)
_CLASS = re.compile(r"GLOBAL (?P<name>[\w.]+\w)")


def reason_of(error: BaseException) -> str:
    """Returns the first line of an error's message, or its type if it says nothing.

    For a file that is not a plain checkpoint, the reason names its content; a library's advice to
    read it with `weights_only=False`, which runs its code, is not passed on.
    """
    text = str(error).strip()
    if _UNSAFE.search(text):
        match = _CLASS.search(text)
        return (
            f"it holds {match['name']}, which is no tensor"
            if match
            else "it holds more than tensors"
        )
    line = text.splitlines()[0] if text else ""
    kind = type(error).__name__
    return line if re.search(r"[^\W\d]{3}", line) else f"{kind} {line}".strip()
