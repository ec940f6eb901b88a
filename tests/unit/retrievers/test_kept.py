"""Terms of documents that the cache keeps: the same counts and runs as those of the texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import _counts, _kept
from irtoolkit.retrievers._counts import KeptCounts, TextCounts, counts_of
from irtoolkit.retrievers._kept import kept_terms
from irtoolkit.retrievers._terms import Vocabulary
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import load_task

WORDS, ENGLISH = Analysis("word", "sklearn", "none"), Analysis("standard", "lucene", "porter")
TASKS = (
    ("relic/sample/test", "sentences"),
    ("relic/sample/test", "default"),
    ("plotretrieval/sample/val", "text"),
    ("plotretrieval/sample/val/book", "sentences"),
    ("csfcube/sample", "title+sentences"),
    ("quoter/sample/zh/test", "default"),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept terms, in a cache of its own."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path))
    return tmp_path / _kept.FOLDER


def folders(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.is_dir()]


@pytest.mark.parametrize("how", [WORDS, ENGLISH, Analysis("cjk", "none", "none")])
@pytest.mark.parametrize(("name", "view"), TASKS)
def test_kept_counts_are_those_of_the_texts(name: str, view: str, how: Analysis) -> None:
    task = load_task(name, doc=view)
    some = np.random.default_rng(3).permutation(len(task.doc_ids))[:30]
    both = Vocabulary(analysis.analyzer(*how)), Vocabulary(analysis.analyzer(*how))
    kept = counts_of(task, both[0], how, reads_corpus=False)
    assert isinstance(kept, KeptCounts)
    plain = TextCounts(task, both[1], lambda texts: texts)
    assert (both[0].count(task.queries) != both[1].count(task.queries)).nnz == 0
    for docs in (some, np.sort(some), some[:0], np.arange(len(task.doc_ids))):
        one, other = kept.of(docs), plain.of(docs)
        assert one.shape == other.shape
        for part in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(one, part), getattr(other, part))
    one, other = kept.corpus(), plain.corpus()
    assert one.size == other.size
    assert np.array_equal(one.found, other.found)
    assert np.array_equal(one.occurrences, other.occurrences)
    # Terms have one number, whichever way they were counted.
    assert dict(both[0].items()) == dict(both[1].items())


@pytest.mark.parametrize("block", [5, 1 << 13])
@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("bm25", {"form": "okapi", "statistics": "candidates"}),
        ("bm25", {"form": "bm25+", "tokenizer": "standard", "stop": "lucene", "stem": "porter"}),
        ("ql", {}),
        ("tfidf", {"statistics": "candidates"}),
        ("rm3", {"statistics": "candidates"}),
        ("rm3-ql", {}),
        ("rocchio", {"gamma": 0.3}),
    ],
)
@pytest.mark.parametrize("name", ["relic/sample/test", "csfcube/sample", "quoter/sample/en/test"])
def test_runs_are_the_same_to_the_bit(
    name: str, system: str, settings: dict[str, Any], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = find_system(system, settings)
    monkeypatch.setattr(_counts, "BLOCK_DOCS", block)
    runs = [rank(made.load(name), made.retriever, progress=False)]
    runs.append(rank(made.load(name), made.retriever, progress=False))  # with what is kept
    monkeypatch.setattr(_counts, "kept_terms", lambda *_: None)
    runs.append(rank(made.load(name), made.retriever, progress=False))
    for run in runs[1:]:
        assert np.array_equal(run.scores, runs[0].scores)
        assert np.array_equal(run.docs, runs[0].docs)
        assert run.doc_ids.tolist() == runs[0].doc_ids.tolist()


def test_texts_are_split_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Dataset.load("relic/sample/val")
    first = kept_terms(dataset, "sentences", WORDS)
    monkeypatch.setattr(_kept, "analyzer", None)
    # A passage's terms are its sentences', however it is shown.
    for view in ("sentences", "text", "default"):
        again = kept_terms(dataset, view, WORDS)
        assert again is not None
        assert first is not None
        assert again.terms == first.terms
    assert len(folders(cache)) == 1
    assert not list(cache.glob("*.lock"))


def test_what_a_killed_process_has_left_is_removed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: object, *_: object, **__: object) -> None:
        """Removes nothing, as a process that is killed does."""

    dataset = Dataset.load("relic/sample/val")
    with monkeypatch.context() as patch:
        patch.setattr(_kept.shutil, "rmtree", killed)
        patch.setattr(_kept, "_documents", None)
        patch.setattr(_kept, "_sentences", None)
        with pytest.raises(TypeError):
            kept_terms(dataset, "sentences", WORDS)
    assert len(folders(cache)) == 1
    assert kept_terms(dataset, "sentences", WORDS) is not None
    (folder,) = folders(cache)
    assert not folder.name.startswith(".")


@pytest.mark.parametrize(
    "how", [ENGLISH, WORDS._replace(stop="none"), WORDS._replace(stem="porter")]
)
def test_other_settings_are_kept_apart(cache: Path, how: Analysis) -> None:
    dataset = Dataset.load("csfcube/sample")
    terms = [kept_terms(dataset, "default", one) for one in (WORDS, how)]
    assert len(folders(cache)) == 2
    kept_terms(dataset, "title", how)
    assert len(folders(cache)) == 3
    assert terms[0] is not None
    assert terms[1] is not None
    assert terms[0].terms != terms[1].terms


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def older(path: Path) -> None:
    manifest = path.with_name(_kept._MANIFEST)
    about = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**about, "format": 0}))


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda path: path.write_bytes(b""), older])
@pytest.mark.parametrize(
    "file", [_kept._STREAM, _kept._ENDS, _kept._TERMS, _kept._IDS, _kept._MANIFEST]
)
def test_what_is_damaged_is_made_again(
    cache: Path, file: str, damage: Callable[[Path], object]
) -> None:
    dataset = Dataset.load("csfcube/sample")
    kept_terms(dataset, "default", ENGLISH)
    (folder,) = folders(cache)
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    damage(folder / file)
    assert kept_terms(dataset, "default", ENGLISH) is not None
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole


def test_where_nothing_can_be_kept_texts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "file"))
    task = load_task("csfcube/sample")
    counts = counts_of(task, Vocabulary(analysis.analyzer(*WORDS)), WORDS, reads_corpus=True)
    assert isinstance(counts, TextCounts)


def test_a_candidate_without_a_text_is_named() -> None:
    for name in ("csfcube/sample", "relic/sample/val"):
        kept = kept_terms(Dataset.load(name), "default", WORDS)
        assert kept is not None
        with pytest.raises(InputError, match=f"candidate nobody has no text in {name}"):
            kept.places(id_array(["nobody"]))


def test_terms_of_few_candidates_of_many_documents_are_not_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_counts, "_LARGE", 10)
    monkeypatch.setattr(_counts, "_SHARE", 2.0)
    task = load_task("csfcube/sample")
    vocabulary = Vocabulary(analysis.analyzer(*WORDS))
    assert isinstance(counts_of(task, vocabulary, WORDS, reads_corpus=False), TextCounts)
    assert isinstance(counts_of(task, vocabulary, WORDS, reads_corpus=True), KeptCounts)
