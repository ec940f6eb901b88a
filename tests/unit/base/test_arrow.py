"""Arrow arrays made here are those that pyarrow makes, and need no pandas."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base import arrow

TEXT = st.text(st.characters(codec="utf-8"), max_size=4)
SMALL = st.integers(-(2**31), 2**31 - 1)
CASES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXT),
    (pa.int32(), SMALL),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.list_(pa.int32()), st.lists(SMALL | st.none(), max_size=3)),
    (pa.list_(pa.string()), st.lists(TEXT, max_size=3)),
    (pa.large_list(pa.int32()), st.lists(SMALL, max_size=3)),
    (pa.struct([("a", pa.int32())]), st.fixed_dictionaries({"a": SMALL})),
    (pa.bool_(), st.booleans()),
    (pa.list_(pa.list_(pa.int32(), 2)), st.lists(st.tuples(SMALL, SMALL), max_size=3)),
]


@given(st.data())
@settings(max_examples=300)
def test_a_column_is_pyarrows(data: st.DataObject) -> None:
    kind, values = data.draw(st.sampled_from(CASES))
    given_values = data.draw(st.lists(values | st.none(), max_size=20))
    made = arrow.column(given_values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(given_values, kind))


def test_what_a_type_does_not_hold_is_refused() -> None:
    with pytest.raises(OverflowError):
        arrow.column([2**31], pa.int32())
    with pytest.raises(UnicodeEncodeError):
        arrow.column(["\ud800"], pa.string())
    with pytest.raises(ValueError, match="not of 2 values"):
        arrow.column([(1, 2, 3)], pa.list_(pa.int32(), 2))


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys, numpy as np, pyarrow as pa; from irtoolkit.base import arrow;"
        "arrow.texts(['a']); arrow.column([[1]], pa.list_(pa.int32()));arrow.to_numpy(arrow.numbers(np.arange(3)));"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
