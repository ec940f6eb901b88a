"""Files of texts: what is read of them, statistics counted in them, and rows that read one."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.analysis import Analysis
from irtoolkit.base.errors import InputError
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.postings_index import PostingsIndex
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.text_files import FileStatistics, file_terms, file_texts
from irtoolkit.retrievers.tfidf import TFIDF
from irtoolkit.retrievers.word2vec import Word2Vec
from tests.datasets import ASKED, DOCS, register, scores_of

WORDS = Analysis("word", "none", "none")


def put(path: Path, text: str, name: str = "texts.jsonl") -> Path:
    """Writes a text as the ending of the path says: plain, .gz, or a .zip with one file."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"__MACOSX/{name}", "not a text")
            archive.writestr(name, text)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


def jsonl(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


# -- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".gz", ".zip"])
@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("one text\n\n another\n", [("one text",), (" another",)]),
        (jsonl([{"abstract": ["A b.", "C."], "title": "t"}, {"abstract": []}]), [("A b.", "C."), ()]),
        (jsonl([{"id": 1, "text": "a", "abstract": ["b"]}]), [("a",)]),
        (jsonl([{"contents": "a {b}"}, {"contents": ""}]), [("a {b}",), ("",)]),
    ],
)  # fmt: skip
def test_texts_are_lines_or_json_lines(
    tmp_path: Path, text: str, texts: list[Any], ending: str
) -> None:
    assert list(file_texts(put(tmp_path / f"file{ending}", text))) == texts


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ('{"text": "a"}\n["b"]\n', 2, "not a JSON object"),
        ('{"text": "a"}\n{"contents": "b"}\n', 2, "text is not a text or sentences"),
        ('{"title": "a"}\n', 1, "no text"),
        ('{"abstract": ["a", 1]}\n', 1, "abstract is not a text or sentences"),
        ('{"text": "a"}\n{"text": \n', 2, "not JSON"),
    ],
)
def test_what_is_not_a_text_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, found: str
) -> None:
    path = put(tmp_path / "texts.zip", text)
    with pytest.raises(InputError, match=found) as caught:
        list(file_texts(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_an_archive_must_be_whole_and_have_one_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\3\4 and no more")
    with pytest.raises(InputError, match=r"not a \.zip that can be read"):
        list(file_texts(broken))
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    with pytest.raises(InputError, match=r"the archive has 2 files, not one .*unpack it"):
        list(file_texts(path))


def test_a_damaged_archive_and_one_with_a_password_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "a text of words\n" * 99)
    whole = bytearray(path.read_bytes())
    locked, broken = whole.copy(), whole.copy()
    for flags in (6, whole.index(b"PK\1\2") + 8):
        locked[flags] |= 1
    path.write_bytes(locked)
    with pytest.raises(InputError, match=r"the archive has a password .*unpack it"):
        list(file_texts(path))
    broken[35:45] = b"\xff" * 10
    path.write_bytes(broken)
    with pytest.raises(InputError, match=r"texts\.zip:1: damaged zip data"):
        list(file_texts(path))


# -- statistics -------------------------------------------------------------------------------


def test_statistics_are_those_of_an_index_of_the_same_texts(tmp_path: Path) -> None:
    path = put(tmp_path / "texts.txt", "".join(f"{text or '-'}\n" for text in DOCS.values()))
    from_file = FileStatistics(path, WORDS)
    retriever = BM25(**WORDS._asdict())
    shards = PostingsIndex(retriever).in_memory([(text,) for text in DOCS.values()], list(DOCS))
    assert from_file.size == shards.size == len(DOCS)
    expected = shards.vocabulary()
    assert list(from_file.vocabulary().terms) == list(expected.terms)
    terms = Strings.of(["zebra", *expected.terms])
    assert from_file.statistics(terms).found.tolist() == [0, *expected.counts.tolist()]


@pytest.mark.parametrize("retriever", [TFIDF, Word2Vec])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, retriever: Any) -> None:
    made = retriever(statistics=str(tmp_path / "candidats"))
    assert str(tmp_path / "candidats") in str(made.missing())
    assert made.fingerprint() is None
    with pytest.raises(InputError, match="candidats"):
        scores_of(register(DOCS, ASKED), made)


def test_a_file_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no texts"):
        file_terms(put(tmp_path / "texts.txt", "\n \n"), WORDS)


@pytest.mark.nightly
def test_memory_grows_with_the_terms_and_not_with_the_texts(tmp_path: Path) -> None:
    def peak(texts: int) -> int:
        path = put(tmp_path / f"{texts}.gz", "the same few words of every text\n" * texts)
        tracemalloc.start()
        file_terms(path, WORDS)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(60_000) < 1.3 * peak(20_000)


@pytest.mark.parametrize("weighting", ["none", "tfidf"])
def test_word2vec_takes_the_frequencies_of_a_file(tmp_path: Path, weighting: Any) -> None:
    pytest.importorskip("gensim")
    path = put(tmp_path / "texts.zip", jsonl({"text": text} for text in DOCS.values()))
    other = put(tmp_path / "other.txt", "dog dog\ncat\nthe mat and the sun\n")
    how = {"size": 6, "epochs": 2}
    task = load_task(register(DOCS, ASKED))
    plain = scores_of(task, Word2Vec(weighting, **how))
    assert scores_of(task, Word2Vec(weighting, statistics=str(path), **how)) == plain
    assert scores_of(task, Word2Vec(weighting, str(path), **how)) == plain
    elsewhere = scores_of(task, Word2Vec(weighting, statistics=str(other), **how))
    assert (elsewhere == plain) == (weighting == "none")


# -- rows that read a file --------------------------------------------------------------------
