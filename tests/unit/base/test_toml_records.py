"""Records of TOML tables, whose values may also be given by position."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.toml_records import Record, record


@record
class _Place(Record):
    name: str
    floor: int = 0


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((5,), "name=5 is not text"),
        (("inn", "up"), "floor='up' is not a whole number"),
        (("inn", 1, 2), "3 values, and it has 2 fields"),
        ((), "the key 'name' is missing"),
    ],
)
def test_an_error_names_the_field_of_a_value_without_a_name(
    given: tuple[object, ...], found: str
) -> None:
    with pytest.raises(InputError) as error:
        _Place(*given)  # type: ignore[arg-type]
    assert str(error.value) == found
