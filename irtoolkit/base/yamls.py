"""YAML of files that anybody may have written."""

from __future__ import annotations

from typing import Any

import yaml

# Values of a text, where each alias counts as what it stands for.
_MOST = 1_000_000
# Of an integer; Python prints none of more than 4,300 digits.
_MOST_BITS = 14_000


class _Loader(yaml.SafeLoader):
    """A loader that counts what merge keys (`<<`) bring together, which may exceed memory."""

    _merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self._merged += len(node.value)
        if self._merged > _MOST // 10:
            raise yaml.YAMLError("merge keys that stand for too much")


def load_yaml(text: str) -> Any:
    """Returns the content of a YAML text.

    Raises:
        yaml.YAMLError: the text is not valid YAML, is nested too deeply, has aliases that expand to too
            much, or a number with thousands of digits.
    """
    try:
        content = yaml.load(text, _Loader)
        _size(content, {})
    except RecursionError:
        raise yaml.YAMLError("nested too deeply") from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # PyYAML has no word of its own for a date or a number that is none: 2001-99-99, !!int x.
        raise yaml.YAMLError(f"not a value: {error}") from None
    return content


def _size(value: Any, sizes: dict[int, int]) -> int:
    """Returns the number of values in a value, itself included; `sizes` caches them by identity."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise yaml.YAMLError("a number of too many digits")
    if not isinstance(value, dict | list | tuple | set):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = _MOST  # while it is counted: a value within itself has no end
        inside = [*value, *value.values()] if isinstance(value, dict) else value
        sizes[id(value)] = 1 + sum(_size(child, sizes) for child in inside)
        if sizes[id(value)] > _MOST:
            raise yaml.YAMLError("aliases that stand for too much")
    return sizes[id(value)]
