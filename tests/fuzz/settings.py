"""Files in TOML and JSON: recipes, tables of papers, and manifests of indexes."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tomllib
from dataclasses import asdict, fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from irtoolkit.indexes.manifest import FORMAT, DocumentSource, Manifest, ShardEntry
from irtoolkit.papers.tables import Row, Table, load_table
from irtoolkit.training.recipe_files import find_recipe, recipe_variables
from tests.fuzz.target import Target, put


def _typed(record: Any) -> None:
    """Fails where a field of a dataclass holds something of another type."""
    hints = get_type_hints(type(record))
    for field in fields(record):
        value = getattr(record, field.name)
        if value is not None or field.default is not None:
            TypeAdapter(hints[field.name]).validate_python(value, strict=True)


def _recipe(data: bytes) -> None:
    path = put("own.toml", data)
    variables = recipe_variables(str(path))
    recipe = find_recipe(str(path))
    # As text is read: each end of a line, a lone carriage return among them, is a line feed.
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8").read()
    data_of = tomllib.loads(text.removeprefix("\ufeff"))
    assert len(recipe.stages) == len(data_of["stage"])
    assert dict(recipe.variables) == {name: default for name, (default, _) in variables.items()}
    _typed(recipe)
    for stage in recipe.stages:
        _typed(stage)
    json.dumps(recipe.settings())
    for name, (_, values) in variables.items():
        for value in values:
            find_recipe(str(path), {name: value})


def _table(data: bytes) -> None:
    table = load_table(put("own_table.toml", data))
    _typed(table)
    assert isinstance(table, Table)
    for row in table.rows:
        assert isinstance(row, Row)
        _typed(row)
        assert table.find_row(row.system) is row
        assert row.why_not or row.retriever
    assert table.select()
    assert table.benchmark
    for column in table.columns:
        assert isinstance(table.scale_of(column), int | float)


def _manifest(data: bytes) -> None:
    """A manifest that is taken says what its fields say they hold, and is written as it was."""
    path = put("manifest.json", data)
    found = Manifest.read(path.parent)
    assert isinstance(found, Manifest)
    for record in (found, *found.sources, *found.shards):
        _typed(record)
    assert isinstance(found.is_complete, bool)
    with contextlib.suppress(IndexError):  # a source with more documents than its shards
        found.settled()
    found.write(path.parent)
    assert Manifest.read(path.parent) == found


def _manifests() -> tuple[bytes, ...]:
    made = Manifest(
        "postings", "bm25", {"k1": 0.9}, "default", {"tokenizer": "plain"},
        (DocumentSource("a.jsonl", "ab", 2, True), DocumentSource("b", None, 1)),
        (ShardEntry("0", 2, "ab"), ShardEntry("1", 1, "cd", "1.npy")),
    )  # fmt: skip
    content = json.loads(json.dumps(asdict(made)))
    assert content["format"] == FORMAT
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return (json.dumps(content).encode(), json.dumps({**content, "sha256": digest}).encode())


_RECIPE = b"""title = "t"
kind = "dense"
start = "{model}"
seed = 7
lora = 8
[variables.language]
default = "en"
[variables.language.values]
en = { model = "bert-base-uncased" }
zh = { model = "bert-base-chinese" }
[[stage]]
dataset = "relic/train"
loss = "in-batch"
batch = 16
rate = 2e-5
evaluate = "relic/val"
measure = "RR"
every = 100
[[stage]]
dataset = "relic/train"
apart = true
"""
_TABLE = b"""title = "Table 1"
scale = 100.0
baseline = "BM25"
tested = "RR"
[columns]
RR = "RR"
"P@1" = "P@1"
[groups]
test = "relic/sample/test"
[sources]
test = "Table 2"
[[row]]
system = "BM25"
retriever = "bm25"
set = { k1 = 0.9 }
reported = { test = [1.0, nan] }
doubtful = ["test.RR"]
[[row]]
system = "people"
people = "three experts"
[[row]]
system = "BM25+"
retriever = "dense"
first = "BM25"
rerank_depth = 10
"""
_TOML = (b"[[row]]\n", b"[[stage]]\n", b"1979-05-27", b"07:32:00", b"0x1F", b"inf", b"nan", b"true", b'""', b'"x"', b"'''", b"[]", b"{}", b"[[1]]", b"{ a = 1 }", b"rows_of = \"own_table\"\n", b"rows_of = 5\n", b"{x}", b"{0}", b"{", b"a.b = 1\n", b"[a.b.c]\n", b"9" * 5000)  # fmt: skip

TARGETS = (
    Target("recipes", _recipe, (_RECIPE, b'[[stage]]\ndataset = "relic/train"\n'), (*_TOML, b"batch", b"epochs", b"variables", b"default", b"values")),
    Target("tables", _table, (_TABLE,), (*_TOML, b"system", b"test", b"RR", b"reported", b"view = \"left\"\n", b"rows_of = \"csfcube\"\n")),
    Target("manifests", _manifest, _manifests(), (b'"sources"', b'"shards"', b'"format"', b"2", b"null", b'"documents"')),
)  # fmt: skip
