"""What is skipped because an extra is not installed, and what is a failure all the same."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError, needs_extra
from tests.optional import lacking

pytest_plugins = ("pytester",)


def test_missing_extras_are_reasons_and_nothing_else_is() -> None:
    missing = ModuleNotFoundError("no", name="nothing_of_this_name.sub")
    assert lacking(missing) == "nothing_of_this_name.sub is not installed"
    needed = needs_extra("no-such-package>=6.2", "neural")
    assert lacking(needed) == "no-such-package is not installed"
    assert lacking(AssertionError(f"assert 2 == 0 where err='irtoolkit: {needed}'")) is not None
    caused = RuntimeError("a")
    caused.__cause__ = missing
    assert lacking(caused) is not None
    for error in (
        None, AssertionError("pip install x"), needs_extra("pytest", "dev"), InputError("no such file"), ImportError("cannot import"),
        ModuleNotFoundError("no", name="irtoolkit.nothing"), ModuleNotFoundError("no", name="json.nothing"),
    ):  # fmt: skip
        assert lacking(error) is None


def test_other_failures_stay_failures(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport")  # fmt: skip
    pytester.makepyfile(
        test_a="def test_needs():\n    import nothing_of_this_name\ndef test_fails():\n    assert 0\n",
        test_b="import nothing_of_this_name\n",
    )
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="
    )
    result.assert_outcomes(failed=1, skipped=2)
