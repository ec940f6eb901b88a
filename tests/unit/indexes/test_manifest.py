"""Manifests that somebody has changed: refused as damaged, in one line, whatever is in them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.manifest import DocumentSource, Manifest, ShardEntry

MADE = Manifest(
    "postings", "bm25", {"k1": 0.9}, "default", {}, (DocumentSource("a", None, 2, True),), (ShardEntry("0", 2, "ab"),),
)  # fmt: skip


def content() -> dict[str, Any]:
    """What a manifest of an older version holds, which has no hash of itself."""
    made: dict[str, Any] = json.loads(json.dumps(asdict(MADE)))
    return made


def refused(folder: Path, text: str) -> str:
    (folder / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(DamagedIndexError) as caught:
        Manifest.read(folder)
    assert caught.value.file == str(folder / "manifest.json")
    assert "\n" not in str(caught.value)
    return caught.value.found


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [
        (("kind",), 2, "kind is 2"),
        (("parameters",), [], "parameters is []"),
        (("shards", 0, "documents"), True, "documents is True"),
        (("sources", 0), 3, "must be a mapping"),
        (("sources", 0, "content"), 1.5, "content is 1.5"),
    ],
)
def test_a_field_of_another_type_is_refused(
    tmp_path: Path, place: tuple[str | int, ...], value: Any, found: str
) -> None:
    made = content()
    at: Any = made
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    assert found in refused(tmp_path, json.dumps(made))


def test_endless_nesting_is_refused(tmp_path: Path) -> None:
    assert "nested too deeply" in refused(tmp_path, "[" * 100_000)


@pytest.mark.parametrize("number", ["\n", "x" * 5000, [1], None, 4])
def test_another_format_is_named_in_one_line(tmp_path: Path, number: Any) -> None:
    said = refused(tmp_path, json.dumps({**content(), "format": number}))
    assert said.startswith("format ")
    assert len(said) < 100
