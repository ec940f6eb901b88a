"""Collections of the benchmark of the strongest systems: their files are checked, read and registered."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from tests.conftest import ROOT

RECORD = """<html>
<pre>


Parsing of {name}

CACM June, 1974

Page, R. L.

CA740610 JB January 17, 1978  2:57 PM

2636\t5\t2636

</pre>
</html>
"""
TOPICS = """<DOC>
<DOCNO> 1 </DOCNO>

 Articles about Algol,
by Page

Page, R. L.

</DOC>
<DOC>
<DOCNO> 2 </DOCNO>
 Lisp
</DOC>
"""


def packed() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, subject in (("CACM-1410", "Lisp"), ("CACM-0046", "Algol")):
            data = RECORD.format(name=subject).encode()
            info = tarfile.TarInfo(f"{name}.html")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


FILES = {
    "cacm.tar.gz": packed(),
    "topics.cacm.txt": TOPICS.encode(),
    "qrels.cacm.txt": b"1 Q0 CACM-46 1\n2 Q0 CACM-1410 1\n",
}


@pytest.fixture
def collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with a CACM of two records whose files are in a folder, not in the cache."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import quality_collections

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    ours = quality_collections.COLLECTIONS["cacm"]
    files = {
        name: replace(file, sha256=hashlib.sha256(FILES[name]).hexdigest())
        for name, file in ours.files.items()
    }
    monkeypatch.setitem(quality_collections.COLLECTIONS, "cacm", replace(ours, files=files))
    return quality_collections


def put(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)


def test_a_collection_is_read_and_registered(collections: Any, tmp_path: Path) -> None:
    put(tmp_path / "data" / "cacm")
    name = collections.register("cacm")
    try:
        data = ir.load(name)
        docs = {doc.doc_id: doc.text for doc in data.docs_iter()}
        assert docs == {
            f"CACM-{n}": f"Parsing of {subject} CACM June, 1974 Page, R. L."
            " CA740610 JB January 17, 1978 2:57 PM"
            for n, subject in (("0046", "Algol"), ("1410", "Lisp"))
        }
        queries = {query.query_id: query.text for query in data.queries()}
        assert queries == {"1": "Articles about Algol, by Page Page, R. L.", "2": "Lisp"}
        # A judgment's number has its zeros, and what is registered can be registered again.
        assert collections.register("cacm") == name
        assert ir.evaluate(data, ir.retrieve(data, "bm25"), measures="RR").figures() == {
            "bm25": {"RR": 1.0}
        }
    finally:
        from irtoolkit.datasets.local.registering import remove_collection

        remove_collection(name)


def test_what_is_downloaded_is_kept(
    collections: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return FILES[url.rpartition("/")[2]]

    monkeypatch.setattr(collections, "fetch", fetch)
    ours = collections.COLLECTIONS["cacm"]
    folder = ours.folder("cacm")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert ours.folder("cacm") == folder
    assert len(asked) == len(FILES)
    assert all(f"/{ours.commit}/CACM/" in url for url in asked)


def test_another_file_is_refused(
    collections: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "fetch", lambda url: b"another")
    with pytest.raises(InputError, match=r"SHA-256 is .* instead of") as refused:
        collections.register("cacm")
    assert "https://" in str(refused.value)
    assert not list((tmp_path / "cache").rglob("cacm.tar.gz"))
    put(tmp_path / "data" / "cacm")
    (tmp_path / "data" / "cacm" / "qrels.cacm.txt").write_bytes(b"another")
    with pytest.raises(InputError, match=r"qrels\.cacm\.txt.*SHA-256"):
        collections.register("cacm")


def test_without_a_network_the_files_are_named(
    collections: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(url: str) -> bytes:
        raise OSError("no route to host")

    monkeypatch.setattr(collections, "fetch", fetch)
    with pytest.raises(InputError, match=r"no route to host.*CACM/topics\.cacm\.txt"):
        collections.register("cacm")


def test_every_table_of_a_collection_reports_on_it(collections: Any) -> None:
    from quality_rows import read_tables

    tables = read_tables(ROOT / "benchmarks" / "quality.toml")
    of_collections = {name: table for name, table in tables.items() if table.collection}
    assert of_collections.keys() == collections.COLLECTIONS.keys()
    for table in of_collections.values():
        assert table.report == f"outside/{table.collection}"
        assert not table.chooses
