"""Large text files: the same documents and the same errors, from columns on disk."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import text_file
from irtoolkit.datasets.memory import dataset_of_texts
from irtoolkit.datasets.text_file import FileDocs

DOCS = {"a": "one  text ", "b": "", "c\u00e9": "t\u00eate-\u00e0-t\u00eate"}


@pytest.fixture(params=["tsv", "jsonl", "trec"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    lines = {
        "tsv": [f"{name}\t{text}" for name, text in DOCS.items()],
        "jsonl": [
            json.dumps({"_id": name, "title": "T", "text": text}) for name, text in DOCS.items()
        ],
        "trec": [f"<DOC><DOCNO>{name}</DOCNO> {text}</DOC>" for name, text in DOCS.items()],
    }[request.param]
    path = tmp_path / f"docs.{request.param}"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every file is large."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(text_file, "LARGE", 0)


def records(data: Any) -> list[Any]:
    return list(data.docs_iter())


def test_its_documents_are_those_of_a_small_file(file: Path, large: None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_file, "LARGE", 1 << 60)
        small = dataset_of_texts(str(file))
    data = dataset_of_texts(str(file), {"q": "one"}, candidates={"q": ["b", "a"]})
    assert records(data) == records(small)
    assert data.docs_count() == len(DOCS)
    assert data.docs_key is small.docs_key is None
    found = list(data.docs_store().get_many_iter(["b", "none", "a"]))
    assert found == list(small.docs_store().get_many_iter(["b", "none", "a"]))
    assert [doc.doc_id for doc in data.docs_iter()[1:]] == list(DOCS)[1:]
    with pytest.raises(InputError, match="candidate x of query q"):
        dataset_of_texts(str(file), {"q": "one"}, candidates={"q": ["x"]})


def test_other_processes_get_its_name(file: Path, large: None) -> None:
    with file.open("a", encoding="utf-8") as out:
        for number in range(1000):
            out.write(file.read_text("utf-8").splitlines()[0].replace("a", f"d{number}", 1) + "\n")
    data = dataset_of_texts(str(file))
    sent = cloudpickle.dumps(data)
    assert len(sent) < 5_000
    assert records(pickle.loads(sent)) == records(data)


def test_elsewhere_the_file_must_be_there_and_the_same(tmp_path: Path, large: None) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text("a\tone\n")
    sent = pickle.dumps(FileDocs(str(path), "tsv"))
    path.write_text("a\ttwo\n")
    with pytest.raises(InputError, match=r"docs\.tsv.* has other documents .*same data"):
        pickle.loads(sent)
    path.unlink()
    with pytest.raises(InputError, match=r"docs\.tsv.* has no such file .*every worker"):
        pickle.loads(sent)


@pytest.mark.parametrize(
    ("content", "said"),
    [("a\tone\nb\ttwo\na\tx\n", "a appears twice"), ("a b\tone\n", "not one word"), ("", "no doc")],
)
def test_errors_name_the_file(content: str, said: str, tmp_path: Path, large: None) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text(content)
    with pytest.raises(InputError, match=said) as found:
        dataset_of_texts(str(path))
    assert found.value.file == str(path)
