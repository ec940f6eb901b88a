"""Tables by name: near misses, and tables of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.papers import catalogue
from irtoolkit.papers.catalogue import find_row, find_table, tables
from irtoolkit.ranking.systems import find_system

TABLE = """
title = "A table of another package"
scale = 1.0
baseline = "plain"
tested = "RR"

[columns]
RR = "RR"

[groups]
all = "csfcube"

[[row]]
system = "plain"
retriever = "bm25"

[[row]]
system = "their-own"
retriever = "bm25"
set = { k1 = 1.7 }
"""

Add = Callable[..., Path]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Declares a table of another package, given by a module's attribute `given`."""
    found: dict[str, plugins.Plugin] = {}
    (tmp_path / "theirs.toml").write_text(TABLE, "utf-8")

    def declare(name: str, code: str) -> Path:
        module = f"brings_table_{len(found)}"
        (tmp_path / f"{module}.py").write_text(f"from pathlib import Path\n{code}\n")
        found[name] = plugins.Plugin(name, plugins.TABLES, f"{module}:given", ("brings-table",))
        return tmp_path / "theirs.toml"

    monkeypatch.syspath_prepend(str(tmp_path))
    others = plugins.of_group
    monkeypatch.setattr(
        plugins, "of_group", lambda group: found if group == plugins.TABLES else others(group)
    )
    tables.cache_clear()
    yield declare
    tables.cache_clear()
    for name in [name for name in sys.modules if name.startswith("brings_table_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "code",
    [
        "given = Path(__file__).with_name('theirs.toml')",
        "given = str(Path(__file__).with_name('theirs.toml'))",
        "def given(): return Path(__file__).with_name('theirs.toml')",
    ],
)
def test_a_table_of_another_package_has_the_name_of_its_entry_point(add: Add, code: str) -> None:
    add("proverbs", code)
    table = find_table("proverbs")
    assert (table.name, table.title) == ("proverbs", "A table of another package")
    assert list(tables())[-1] == "proverbs"
    found = find_row("their-own", DatasetId.parse("csfcube"))
    assert found is not None
    assert (found[0].name, found[1].settings) == ("proverbs", {"k1": 1.7})
    for name in ("their-own", "proverbs:their-own"):
        assert find_system(name, {}).settings()["k1"] == 1.7


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("given = 3", "gives a int (give the path of a TOML file"),
        ("def given(): raise KeyError('path')", "brings_table_0:given fails: KeyError: 'path'"),
        ("given = 'nowhere.toml'", "nowhere.toml: not a table in TOML: "),
        ("other = 1", "the table 'bad' of the package brings-table cannot be imported"),
    ],
)
def test_a_table_that_cannot_be_read_breaks_nothing_else(
    add: Add, caplog: pytest.LogCaptureFixture, code: str, found: str
) -> None:
    add("bad", code)
    assert find_table("csfcube").name == "csfcube"
    assert not caplog.records
    assert "bad" not in tables()
    assert found in caplog.text
    assert find_system("fabs_bm25", {}).name == "fabs_bm25"
    with pytest.raises(InputError) as caught:
        find_table("bad")
    assert found in str(caught.value)


def test_a_table_of_another_package_does_not_replace_one_of_ours(
    add: Add, caplog: pytest.LogCaptureFixture
) -> None:
    add("csfcube", "given = Path(__file__).with_name('theirs.toml')")
    assert find_table("csfcube").title.startswith("CSFCube")
    assert tables()["csfcube"].title.startswith("CSFCube")
    assert "another package has a table with the name 'csfcube'" in caplog.text


def test_a_name_that_is_like_no_other_is_only_told_all() -> None:
    with pytest.raises(InputError) as caught:
        find_table("zzzz")
    assert str(caught.value.remedy) == f"experiments: {', '.join(tables())}"


def test_an_unknown_row_names_the_near_ones() -> None:
    table = find_table("csfcube")
    with pytest.raises(InputError, match=r"no row 'bm25' in csfcube \(did you mean fabs_bm25\?"):
        table.select(["bm25"])
    with pytest.raises(InputError, match=r"no row 'Minilm-abstract'.*did you mean MiniLM-abstract"):
        table.select([], "Minilm-abstract")
    with pytest.raises(InputError, match="the baseline random is not among the systems to run"):
        table.select(["fabs_bm25"], "random")
    rows = table.select(["fabs_bm25", "random"], "random")
    assert [row.system for row in rows] == ["random", "fabs_bm25"]  # the table's order
    assert len(table.select()) == len(table.rows)


def test_the_tables_are_files_beside_the_module() -> None:
    assert {path.stem for path in catalogue.FOLDER.glob("*.toml")} <= set(tables())
