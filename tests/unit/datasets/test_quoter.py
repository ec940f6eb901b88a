"""QuoteR through ir_datasets: the invented samples always, the real files where there are some.

What is expected is read from the files again, here, by splitting lines at tabs; or it is what the
paper prints; or it is counted by hand on files that the test writes.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import ir_datasets
import pytest

import irtoolkit.datasets.quoter as quoter
from irtoolkit.base.errors import InputError

SAMPLE = Path(quoter.__file__).parent / "samples" / "quoter"
NAMES = {"en": "english.txt", "zh": "modern_chinese.txt", "lzh": "ancient_chinese.txt"}
SPLITS = ("train", "val", "test")
# Table 1 of the paper: contexts of train, validation and test.
TABLE_1 = {
    "en": (101_171, 12_771, 12_771),
    "zh": (32_472, 4_185, 4_185),
    "lzh": (93_031, 11_753, 11_753),
}
WAYS = ["docs_iter", "docs_store", "docs_count", "queries_iter", "queries_count", "qrels_iter"]


@dataclass(frozen=True)
class Files:
    """One language's file read plainly, and the id under which irtoolkit offers it."""

    name: str
    lang: str
    path: Path
    rows: list[tuple[str, str, str]]

    def dataset(self, split: str) -> Any:
        return ir_datasets.load(f"{self.name}/{split}")

    def quotes(self) -> list[str]:
        """The quotes in order of first appearance."""
        return list(dict.fromkeys(quote for _, quote, _ in self.rows))


def read(name: str, lang: str, path: Path) -> Files:
    rows = []
    for line in path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"):
        left, quote, right = line.split("\t")
        rows.append((left.strip(), quote.strip(), right.strip()))
    return Files(name, lang, path, rows)


@pytest.fixture(
    scope="module",
    params=[(kind, lang) for kind in ("sample", "real") for lang in NAMES],
    ids=lambda param: "-".join(param),
)
def files(request: pytest.FixtureRequest) -> Files:
    kind, lang = request.param
    if kind == "sample":
        return read(f"quoter/sample/{lang}", lang, SAMPLE / NAMES[lang])
    path = request.getfixturevalue("real_data") / "quoter" / NAMES[lang]
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    return read(f"quoter/{lang}", lang, path)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No release anywhere, and no network to fetch one; gives ir_datasets' empty home."""
    home = tmp_path / "home"
    home.mkdir()

    def fail(*args: object) -> NoReturn:
        raise OSError("no network here")

    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    monkeypatch.setattr(socket.socket, "connect", fail)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    return home


@pytest.fixture
def folder(tmp_path: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where the real QuoteR is looked for."""
    folder = tmp_path / "data" / "quoter"
    folder.mkdir(parents=True)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    return folder


def lines(count: int) -> str:
    """That many contexts, of which each quote takes seven in turn."""
    return "".join(f"l{n}\tq{n % 7}\tr{n}\n" for n in range(1, count + 1))


def query_ids(dataset: Any) -> list[str]:
    return [query.query_id for query in dataset.queries_iter()]


# ---- documents, queries, judgments ---------------------------------------------------------------


def test_one_judgment_for_each_query(files: Files) -> None:
    judged = [row for split in SPLITS for row in files.dataset(split).qrels_iter()]
    numbers = {quote: number for number, quote in enumerate(files.quotes(), 1)}
    assert [tuple(row) for row in judged] == [
        (f"{files.lang}-{line}", f"{files.lang}-q{numbers[quote]}", 1)
        for line, (_, quote, _) in enumerate(files.rows, 1)
    ]


@pytest.mark.parametrize("split", SPLITS)
def test_statistics_are_those_counted(files: Files, split: str) -> None:
    dataset = files.dataset(split)
    named = dict(zip(SPLITS, _parts(files.rows, files), strict=True))
    train = {quote for _, quote, _ in named["train"]}
    mine = [quote for _, quote, _ in named[split]]
    rows = {row.name: row.value for row in dataset.irtoolkit().statistics_of()}
    assert rows == {
        "Quotes": len({quote for _, quote, _ in files.rows}),
        "Contexts": len(files.rows),
        "Contexts of the split": len(mine),
        "Quotes of the split": len(set(mine)),
        "Quotes of the split that train lacks": len(set(mine) - train),
    }


def _parts(rows: list[tuple[str, str, str]], files: Files) -> list[list[tuple[str, str, str]]]:
    """The rows cut where the query ids say that the splits begin."""
    firsts = [int(query_ids(files.dataset(split))[0].rpartition("-")[2]) for split in SPLITS]
    assert firsts[0] == 1
    return [rows[: firsts[1] - 1], rows[firsts[1] - 1 : firsts[2] - 1], rows[firsts[2] - 1 :]]


# ---- where the splits begin ----------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("lang", NAMES)
def test_a_file_of_the_published_size_is_split_as_published(folder: Path, lang: str) -> None:
    (folder / NAMES[lang]).write_text(lines(sum(TABLE_1[lang])), encoding="utf-8")
    first = 1
    for split, size in zip(SPLITS, TABLE_1[lang], strict=True):
        dataset = ir_datasets.load(f"quoter/{lang}/{split}")
        assert query_ids(dataset) == [f"{lang}-{n}" for n in range(first, first + size)]
        assert dataset.docs_count() == 7
        # Line n has quote n mod 7, and the first line quote 1: so quote k of the file is q(k mod 7).
        assert [row.doc_id for row in dataset.qrels_iter()] == [
            f"{lang}-q{(n - 1) % 7 + 1}" for n in range(first, first + size)
        ]
        first += size
    quoter._read.cache_clear()


# ---- damage --------------------------------------------------------------------------------------


def assert_refused(lang: str, path: Path, line: int | None, found: str) -> None:
    """Refused whatever is asked for, with this file and line and text."""
    for split in SPLITS:
        for way in WAYS:
            with pytest.raises(InputError) as caught:
                list(getattr(ir_datasets.load(f"quoter/{lang}/{split}"), way)())
            assert (caught.value.file, caught.value.line) == (str(path), line)
            assert found in caught.value.found
            assert caught.value.remedy
            place = str(path) if line is None else f"{path}:{line}"
            assert str(caught.value).startswith(f"{place}: ")
        with pytest.raises(InputError, match=r"release file is damaged|iconv"):
            ir_datasets.load(f"quoter/{lang}/{split}").irtoolkit().statistics_of()


@pytest.mark.parametrize(("lang", "at"), [("en", 1), ("zh", 5), ("lzh", 12)])
@pytest.mark.parametrize(
    ("bad", "found"),
    [
        ("left\tquote only", "1 tab instead of 2"),
        ("left\t\tright", "an empty quote"),
        ("\tquote\t", "a quote without context"),
    ],
)
def test_a_line_that_is_none(folder: Path, lang: str, at: int, bad: str, found: str) -> None:
    whole = lines(11).splitlines()
    whole.insert(at - 1, bad)
    path = folder / NAMES[lang]
    path.write_text("\n".join(whole) + "\n", encoding="utf-8")
    assert_refused(lang, path, at, found)


# ---- a file that is not here ---------------------------------------------------------------------


@pytest.mark.parametrize("lang", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_a_release_that_is_not_here(nowhere: Path, lang: str, way: str) -> None:
    dataset = ir_datasets.load(f"quoter/{lang}/test")
    assert dataset.irtoolkit().where() is None
    with pytest.raises(InputError, match="the quoter release is not on this machine") as caught:
        list(getattr(dataset, way)())
    assert (caught.value.file, caught.value.line) == (None, None)
    for text in ("https://github.com/thunlp/QuoteR", NAMES[lang], "$IRTOOLKIT_DATA/quoter/"):
        assert text in str(caught.value)
    assert list(nowhere.iterdir()) == []
