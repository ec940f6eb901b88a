"""Many cheap cases in one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As pytest.mark.parametrize, in one test: every case is tried, and those that fail are named."""
    words = [name.strip() for name in names.split(",")]
    cases = [value if len(words) > 1 else (value,) for value in values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            failures = []
            for case in cases:
                try:
                    test(**dict(zip(words, case, strict=True)), **fixtures)
                except Exception as failure:
                    failure.add_note(f"case: {case!r}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases", failures)

        signature = inspect.signature(test)
        rest = [p for p in signature.parameters.values() if p.name not in words]
        tried.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return tried

    return decorate
