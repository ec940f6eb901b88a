"""Anyone's collection as an ir_datasets id: formats, checks, and what is remembered."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.commands import register as command
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.local import collection, formats, registered, registering, registry
from irtoolkit.datasets.local.registering import register_collection
from tests.conftest import Answer

Command = Callable[..., Answer]
Files = dict[str, str | bytes]

DOCS = """<DOC>
<DOCNO> D-1 </DOCNO>
<TITLE>Foxes</TITLE>
<TEXT>
the quick &amp; brown fox
</TEXT>
</DOC>
<doc>
<docno>D-2</docno>
lazy dogs
</doc>
"""
CLASSIC = """
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in
international crime.

<narr> Narrative:
A relevant document names one.

</top>

<top>
<num> Number: 302
<dom> Domain: Medicine
<title> Poliomyelitis <i>and</i> Post-Polio
<desc> Description:
Is the disease under control?
<narr> Narrative:
Relevant is &quot;control&quot;.
</top>
"""
CLOSED = "<top>\n<num>1</num><title>\nFOXES AND\nDOGS\n</title>\n</top>\n"
QRELS = "1 0 D-1 1\n1 0 D-2 0\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has a list of collections and a cache of its own, and takes back its ids."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    before = dataset_ids()
    yield tmp_path / "home"
    for name in set(dataset_ids()) - set(before):
        registered.drop_from_ir_datasets(name)
    assert dataset_ids() == before


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder of files: folder({"docs.trec": "..."}, name="mine")."""

    def make(files: Files, name: str = "mine") -> Path:
        for file, content in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return make


@pytest.fixture
def small(folder: Callable[..., Path]) -> Path:
    """A sound collection."""
    return folder({"docs.trec": DOCS, "topics.txt": CLOSED, "qrels": QRELS})


def python(code: str, *, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs code in a new process that has imported what it names."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done


def docs_of(path: Path, **given: Any) -> list[Any]:
    register_collection("t/docs", path, {"topics": ["none"], "qrels": ["none"], **given})
    return list(ir_datasets.load("t/docs").docs_iter())


def topics_of(make: Callable[..., Path], content: str | bytes, name: str = "topics.x") -> list[Any]:
    register_collection("t/topics", make({"docs.tsv": "d1\ta\n", name: content}))
    return list(ir_datasets.load("t/topics").queries_iter())


def qrels_of(make: Callable[..., Path], content: str | bytes, name: str = "qrels.x") -> list[Any]:
    files: Files = {"docs.tsv": "d1\ta\nd2\tb\n", "topics.tsv": "q1\tx\nq2\ty\n", name: content}
    register_collection("t/qrels", make(files))
    return list(ir_datasets.load("t/qrels").qrels_iter())


def refused(act: Callable[[], object], *parts: object, line: int | None = None) -> InputError:
    """It raises an InputError with every part in its text, a remedy, and this line."""
    with pytest.raises(InputError) as caught:
        act()
    error = caught.value
    for part in parts:
        assert str(part) in str(error), error
    assert error.line == line, error
    assert error.remedy, error
    assert "\n" not in str(error)
    assert registry.read_registry() == {}
    assert not [name for name in dataset_ids() if name.startswith("t/")]
    return error


# Documents


def test_what_is_no_text_of_a_trec_document(folder: Callable[..., Path]) -> None:
    markup = (
        "<DOC><DOCNO>1</DOCNO><DOCHDR>\nhttp://x.y 200\n</DOCHDR>a<b>c</b><!-- not\nthis -->"
        "<script>var x;</script> 1 < 2 &lt;p&gt; <F P=101>é</F></DOC>"
    )
    (doc,) = docs_of(folder({"docs.trec": markup}))
    assert doc.text.split() == ["a", "c", "1", "<", "2", "<p>", "é"]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("<DOC>\n<DOCNO>1</DOCNO>\na\n", 1, "<DOC> is not closed before the file ends"),
        ("<DOC>\n<DOCNO>1</DOCNO>a\n</DOC>\n</DOC>\n", 4, "</DOC> without <DOC>"),
        ("<DOC>\n<DOCNO>1\n</DOC>\n", 1, "no <DOCNO>"),
        ("<DOC><DOCNO> </DOCNO>a</DOC>", 1, "'' is not one word"),
        ("<DOC><DOCNO>1</DOCNO>a</DOC>\nstray\n", 2, "text outside of <DOC>"),
        ("<html>\n</html>\n", None, "no documents"),
    ],
)
def test_damaged_trec_documents(
    folder: Callable[..., Path], content: str, line: int | None, said: str
) -> None:
    path = folder({"docs.trec": content})
    refused(lambda: docs_of(path), path / "docs.trec", said, line=line)


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ('{"id": "1", "text": "a"}\n{"id": "2", "te', 2, "not JSON"),
        ('{"text": "a"}', 1, "no field with a document's id"),
        ('{"id": "1", "text": "a"}\n{"id": "2", "contents": "a"}', 2, "no field 'text'"),
        ('{"id": "1", "text": ["a"]}', 1, "'text' is ['a']"),
        ('{"id": 1.5, "text": "a"}', 1, "'id' is 1.5"),
        ('{"id": "1", "text": "a"}\n["2", "b"]', 2, "not a JSON object"),
        ('[{"id": "1", "text": "a"}]', 1, "convert the JSON array to JSON lines"),
    ],
)
def test_damaged_json_documents(
    folder: Callable[..., Path], content: str, line: int, said: str
) -> None:
    path = folder({"docs.jsonl": content})
    refused(lambda: docs_of(path), path / "docs.jsonl", said, line=line)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: b"\n\n" + text.encode(),
    ],
    ids=["CRLF", "BOM", "BOM and CRLF", "no last line end", "blank lines"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_line_ends_marks_and_gzip_change_nothing(
    folder: Callable[..., Path], change: Callable[[str], bytes], packed: bool
) -> None:
    files = {
        "docs.jsonl": '{"id": "1", "text": "a"}\n{"id": "2", "text": "b"}\n',
        "topics.tsv": "1\tx\n2\ty\n",
        "qrels.tsv": "query-id\tcorpus-id\tscore\n1\t1\t2\n2\t2\t0\n",
    }
    pack = gzip.compress if packed else bytes
    path = folder({name + ".gz" * packed: pack(change(text)) for name, text in files.items()})
    register_collection("t/same", path)
    dataset = ir_datasets.load("t/same")
    assert list(dataset.docs_iter()) == [("1", "a"), ("2", "b")]
    assert list(dataset.queries_iter()) == [("1", "x"), ("2", "y")]
    assert list(dataset.qrels_iter()) == [("1", "1", 2), ("2", "2", 0)]


def test_ids_of_one_hash_are_not_duplicates(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "hash", lambda text: 7, raising=False)
    assert docs_of(folder({"docs.tsv": "1\ta\n2\tb\n3\tc\n"})) == [
        ("1", "a"),
        ("2", "b"),
        ("3", "c"),
    ]


def test_several_files_and_folders_of_documents(folder: Callable[..., Path]) -> None:
    path = folder({"docs/b/2.trec": "<DOC><DOCNO>2</DOCNO></DOC>", "docs/1.trec": DOCS,
                   "docs/README": "no document", "docs/.hidden": "no document"})  # fmt: skip
    assert [doc.doc_id for doc in docs_of(path)] == ["D-1", "D-2", "2"]
    registering.remove_collection("t/docs")
    assert [doc.doc_id for doc in docs_of(path, docs=["docs/b"])] == ["2"]
    registering.remove_collection("t/docs")
    named = docs_of(path, docs=["docs/b/2.trec", "docs/1.trec"])
    assert [doc.doc_id for doc in named] == ["2", "D-1", "D-2"]


# Topics


def test_classic_topics_without_closing_tags(folder: Callable[..., Path]) -> None:
    first, second = topics_of(folder, CLASSIC)
    assert first == (
        "301",
        "International Organized Crime",
        "Identify organizations that participate in international crime.",
        "A relevant document names one.",
    )
    assert first._fields == ("query_id", "title", "description", "narrative")
    assert first.default_text() == "International Organized Crime"
    assert second.title == "Poliomyelitis and Post-Polio"
    assert second.narrative == 'Relevant is "control".'


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("<top>\n<num>1\n<title>a\n", 1, "<top> is not closed before the file ends"),
        ("<top>\n<title>a\n</top>", 1, "a topic without <num>"),
        ("<top>\n<num>1\n</top>", 1, "topic 1 has no text"),
        ("<top>\n<num>1</num>\n\n stray\n<title>a</top>", 4, "outside of a topic's fields"),
        ("<top>\n<num>1\n<title>a\n<title>b\n</top>", 4, "a second <title>"),
        ("<top><num>1<title>a</top>\nstray\n", 2, "text outside of <top>"),
        ("1\ta\n2\n", 2, "0 tabs"),
        ("1\ta\n1\tb\n", 2, "topic 1 appears twice"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2"}', 2, "no field 'text'"),
        ('{"_id": "1", "text": "a', 1, "not JSON"),
        ("what is this\n", 1, "topics in an unknown format"),
    ],
)
def test_damaged_topics(
    folder: Callable[..., Path], content: str, line: int | None, said: str
) -> None:
    error = refused(lambda: topics_of(folder, content), said, line=line)
    assert error.file is not None
    assert error.file.endswith("topics.x")


# Judgments


BEIR = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("q1 0 d1 1\nq1 0 d2\n", 2, "3 fields instead of 4"),
        ("q1 0 d1 1\nq1 0 d1 0\n", 2, "is listed twice"),
        (BEIR + "q1\td1\t1\n\nq1\td2\n", 4, "2 fields, and 3 columns"),
        (BEIR + "q1\td1\tx\n", 2, "'x' is not a number up to"),
        (BEIR + "q1\td1\t9999999\n", 2, "'9999999' is not a number up to 1,000,000"),
        (BEIR + "q1\td1\t1\nq1\td1\t1\n", 3, "judged twice for topic q1, first at line 2"),
        (BEIR, None, "no judgments"),
        ("q1 0 d1 1\nq9 0 d1 1\nq9 0 d2 1\n", 2, "topic q9 is not in the file of topics"),
        (
            "q1 0 d1 1\nq1 0 d8 1\nq2 0 d9 1\n",
            2,
            "document d8 is not in the collection (and 1 more)",
        ),
    ],
)
def test_damaged_qrels(
    folder: Callable[..., Path], content: str, line: int | None, said: str
) -> None:
    error = refused(lambda: qrels_of(folder, content), said, line=line)
    assert error.file is not None
    assert error.file.endswith("qrels.x")


def test_judged_documents_that_are_not_there_can_be_allowed(
    small: Path, irtoolkit: Command
) -> None:
    with open(small / "qrels", "a") as out:
        out.write("1 0 D-9 1\n")
    answer = irtoolkit("register", "t/x", small)
    assert (answer.status, answer.out) == (2, "")
    assert f"{small / 'qrels'}:3: document D-9 is not in the collection" in answer.err
    assert "--lenient" in answer.err
    answer = irtoolkit("register", "t/x", small, "--lenient")
    assert answer.status == 0
    assert "1 judged document not in the collection" in answer.err
    assert ir_datasets.load("t/x").qrels.asdict() == {"1": {"D-1": 1, "D-2": 0, "D-9": 1}}


def test_qrels_without_topics(folder: Callable[..., Path]) -> None:
    path = folder({"docs.trec": DOCS, "qrels": QRELS})
    said = ("judgments without topics", "--topics FILE", "--qrels none")
    refused(lambda: register_collection("t/x", path), path / "qrels", *said)


# What is taken for what


@pytest.mark.parametrize(
    "files",
    [
        {"corpus.jsonl": '{"_id": "D-1", "text": ""}', "queries.jsonl": '{"_id": 1, "text": "x"}',
         "qrels/test.tsv": BEIR + "1\tD-1\t1\n"},
        {"collection.tsv": "D-1\ta\n", "queries.dev.tsv": "1\tx\n", "qrels.dev.tsv": "1\t0\tD-1\t1\n"},
        {"msmarco-docs.tsv.gz": gzip.compress(b"D-1\ta\n"), "msmarco-doctrain-queries.tsv": "1\tx\n",
         "msmarco-doctrain-qrels.tsv": "1 0 D-1 1"},
        {"a.sgml": DOCS, "b.sgml": CLOSED, "c": QRELS, "README.md": "# Docs", "notes.md": "a\tb",
         "paper.pdf": b"%PDF \xff\xfe", "blob": b"\x00\xff"},
        {"fb01": DOCS, "fb02": "<DOC><DOCNO>D-3</DOCNO></DOC>", "topics.1": CLOSED, "qrels.1": QRELS},
        {"documents/x": DOCS, "topics/t": CLOSED, "judgments/j": QRELS, "docs.md": "x", ".docs": "x"},
    ],
    ids=["BEIR", "MS MARCO", "MS MARCO documents", "content", "parts", "folders"],
)  # fmt: skip
def test_files_are_found(folder: Callable[..., Path], files: Files) -> None:
    report = register_collection("t/x", folder(files))
    assert set(report.entry.parts()) == {"docs", "topics", "qrels"}
    dataset = ir_datasets.load("t/x")
    assert dataset.docs_store().get("D-1").doc_id == "D-1"
    assert next(dataset.queries_iter()).query_id == next(dataset.qrels_iter()).query_id == "1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"topics2.txt": CLOSED}, "several files may be its topics: topics.txt or topics2.txt (choose with "
         "--topics FILE, or --topics none)"),
        ({"queries.tsv": "1\tx"}, "several files may be its topics: queries.tsv or topics.txt"),
        ({"qrels.test": QRELS}, "several files may be its qrels: qrels or qrels.test (choose with --qrels FILE"),
        ({"docs.jsonl": "{}"}, "several files may be its docs: docs.jsonl or docs.trec (choose with --docs FILE...)"),
        ({"corpus/1": DOCS, "corpus/2": DOCS}, "several files may be its docs: corpus/1 and 1 more or docs.trec"),
    ],
)  # fmt: skip
def test_a_choice_is_refused(
    small: Path, folder: Callable[..., Path], more: Files, said: str
) -> None:
    folder(more)
    refused(lambda: register_collection("t/x", small), small, said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"docs": ["nothing"]}, "no file 'nothing' for --docs"),
        ({"docs": ["none"]}, "no documents found"),
        ({"docs": ["docs.trec", "docs.trec"]}, "given twice"),
        ({"docs": ["empty"]}, "an empty folder"),
        ({"topics": ["two"]}, "2 files for --topics"),
    ],
)
def test_names_that_name_nothing(
    small: Path, folder: Callable[..., Path], given: Any, said: str
) -> None:
    folder({"two/1": CLOSED, "two/2": CLOSED})
    (small / "empty").mkdir()
    refused(lambda: register_collection("t/x", small, given), said)


# Names


@pytest.mark.parametrize("name", ["", "/a", "a//b", "a/../b", "a:b", "a\n"])
def test_names_that_are_no_ids(small: Path, name: str) -> None:
    refused(lambda: register_collection(name, small), "is not a valid id", "letters, digits")


def test_ids_of_patterns_are_taken(small: Path) -> None:
    assert "clirmatrix/af" not in list(ir_datasets.registry)
    refused(lambda: register_collection("clirmatrix/af", small), "ir_datasets' own")


@pytest.mark.parametrize(
    "name", ["csfcube", "csfcube/sample", "relic/val", "relic/of-my-own", "quoter"]
)
def test_our_own_ids_are_taken(small: Path, name: str) -> None:
    refused(lambda: register_collection(name, small), f"the id {name} is irtoolkit's own")


@pytest.mark.parametrize("lang", ["english!", "e", "en_US", ""])
def test_languages_that_are_none(small: Path, lang: str) -> None:
    refused(lambda: register_collection("t/x", small, lang=lang), "is not a language code")


# The dataset


def test_the_dataset_is_whole(small: Path) -> None:
    register_collection("t/x", small, lang="en")
    dataset = ir_datasets.load("t/x")
    assert dataset.dataset_id() == "t/x"
    assert (dataset.docs_count(), dataset.queries_count()) == (2, 1)
    assert [dataset.docs_iter()[i].doc_id for i in (0, -1)] == ["D-1", "D-2"]
    assert [doc.doc_id for doc in dataset.docs_iter()[:1]] == ["D-1"]
    assert dataset.docs_store().get("D-2").text == "lazy dogs"
    assert list(dataset.docs_store().get_many(["D-2", "no", "D-1"])) == ["D-2", "D-1"]
    with pytest.raises(KeyError):
        dataset.docs_store().get("no")
    assert list(dataset.qrels_iter()) == [("1", "D-1", 1), ("1", "D-2", 0)]
    assert list(dataset.qrels_iter()) == list(dataset.qrels_iter())
    assert dataset.qrels_cls().__annotations__["relevance"] is int
    assert (dataset.docs_lang(), dataset.queries_lang()) == ("en", "en")
    assert dataset.docs_namespace() == "t/x"
    assert ir_datasets.docs_parent_id("t/x") == "t/x"
    assert ir_datasets.queries_parent_id("t/x") == "t/x"
    assert dataset.documentation()["pretty_name"] == "t/x"


# What is remembered


def test_registering_again(small: Path, folder: Callable[..., Path], irtoolkit: Command) -> None:
    assert "t/x registered: 2 docs, 1 topic, 2 qrels" in irtoolkit("register", "t/x", small).err
    before = registry.registry_path().read_bytes()
    answer = irtoolkit("register", "t/x", "other/../mine")
    assert answer.status == 0
    assert "was already registered and is unchanged" in answer.err
    other = folder({"docs.trec": DOCS}, "other")
    for args in ((other,), (small, "--lang", "de"), (small, "--qrels", "none")):
        answer = irtoolkit("register", "t/x", *args)
        assert answer.status == 2
        assert (
            "another collection is registered as t/x (add --replace to put this one in its place"
            in answer.err
        )
    assert registry.registry_path().read_bytes() == before


def test_changed_files_take_the_place_of_the_old(
    small: Path, folder: Callable[..., Path], irtoolkit: Command
) -> None:
    given = ("--docs", "docs.trec", "--topics", "topics.txt", "--lang", "en")
    assert irtoolkit("register", "t/x", small, *given).status == 0
    folder({"docs.trec": DOCS + "<DOC><DOCNO>D-3</DOCNO> a cat </DOC>", "other.topics": CLASSIC})
    stale = irtoolkit("export", "t/x", "docs")
    assert (stale.status, "run irtoolkit register t/x --replace" in stale.err) == (2, True)
    answer = irtoolkit("register", "t/x", "--replace")
    assert answer.status == 0, answer.err
    assert answer.err.endswith(
        "t/x registered in place of what had the name: 3 docs, 1 topic, 2 qrels\n"
    )
    assert registry.record_of("t/x").lang == "en"
    assert len(irtoolkit("export", "t/x", "docs").out.splitlines()) == 3
    assert "is unchanged" in irtoolkit("register", "t/x", "--replace").err
    seen = python(
        "import ir_datasets, irtoolkit.datasets; print(ir_datasets.load('t/x').docs_count())"
    )
    assert seen.stdout == "3\n"


def test_what_cannot_be_replaced(small: Path, irtoolkit: Command) -> None:
    register_collection("t/x", small)
    for args, said in (
        (("t/y", "--replace"), "no collection is registered as t/y"),
        (("--replace",), "--replace without NAME and FOLDER"),
        (("t/x", "--replace", "--lang", "de"), "--lang without FOLDER"),
        (("--remove", "t/x", "--replace"), "--remove takes no other argument"),
    ):
        answer = irtoolkit("register", *args)
        assert (answer.status, said in answer.err) == (2, True), answer.err


def test_listing(small: Path, folder: Callable[..., Path], irtoolkit: Command) -> None:
    assert json.loads(irtoolkit("register", "--format", "json").out) == []
    assert irtoolkit("register").status == 0
    register_collection("t/x", small, lang="en")
    register_collection("t/y", folder({"docs.tsv": "1\ta\n"}, "other"))
    (small / "qrels").unlink()
    first, second = json.loads(irtoolkit("register", "--format", "json").out)
    assert "is gone" in first.pop("problem")
    assert first == {"id": "t/x", "docs": 2, "topics": 1, "qrels": 2, "pools": None,
                     "lang": "en", "folder": str(small)}  # fmt: skip
    assert (second["docs"], second["topics"], second["problem"]) == (1, None, None)
    for form in ("text", "csv", "latex"):
        assert "t/x" in irtoolkit("register", "--format", form).out


def test_removing(small: Path, irtoolkit: Command) -> None:
    register_collection("t/x", small)
    register_collection("t/y", small)
    answer = irtoolkit("register", "--remove", "t/x")
    assert (answer.status, answer.err) == (0, "t/x is no longer registered\n")
    with pytest.raises(KeyError):
        ir_datasets.load("t/x")
    assert "t/x" not in dataset_ids()
    code = "import irtoolkit.datasets, ir_datasets\nprint([n for n in ir_datasets.registry if n[:2] == 't/'])"
    assert python(code).stdout == "['t/y']\n"
    assert (small / "docs.trec").exists()
    answer = irtoolkit("register", "--remove", "t/x")
    assert answer.status == 2
    assert answer.err == (
        "irtoolkit: no collection is registered as t/x (did you mean t/y? registered: t/y)\n"
    )
    assert irtoolkit("register", "t/x", small).status == 0
    assert (
        "no collection is registered as csfcube" in irtoolkit("register", "--remove", "csfcube").err
    )


def entry_damages() -> Iterator[Callable[[dict[str, Any]], Any]]:
    yield lambda e: []
    yield lambda e: {**e, "folder": "relative"}
    yield lambda e: {**e, "folder": None}
    yield lambda e: {**e, "lang": 7}
    yield lambda e: {**e, "docs": None}
    yield lambda e: {**e, "strange": 1}
    yield lambda e: {key: value for key, value in e.items() if key != "docs"}
    yield lambda e: {**e, "docs": {**e["docs"], "format": "pdf"}}
    yield lambda e: {**e, "docs": {**e["docs"], "format": ["trec"]}}
    yield lambda e: {**e, "docs": {**e["docs"], "files": {}}}
    yield lambda e: {**e, "docs": {**e["docs"], "files": {"x": 1}}}
    yield lambda e: {**e, "docs": {**e["docs"], "count": "2"}}
    yield lambda e: {**e, "topics": {**e["topics"], "fields": ["query_id", "summary"]}}
    yield lambda e: {**e, "topics": {**e["topics"], "fields": [["query_id"], "text"]}}


@pytest.mark.parametrize("damage", list(entry_damages()))
def test_a_damaged_entry_leaves_the_others(
    small: Path, irtoolkit: Command, damage: Callable[[dict[str, Any]], Any]
) -> None:
    register_collection("t/x", small)
    register_collection("t/y", small)
    path = registry.registry_path()
    content = json.loads(path.read_text())
    content["collections"]["t/x"] = damage(content["collections"]["t/x"])
    path.write_text(json.dumps(content))
    problems: list[InputError] = []
    assert list(registry.read_registry(problems.append)) == ["t/y"]
    assert len(problems) == 1
    answer = irtoolkit("register")
    assert answer.status == 2
    assert "the record of 't/x' is damaged" in answer.err
    assert "irtoolkit register --remove t/x" in answer.err
    assert irtoolkit("register", "--remove", "t/x").status == 0
    assert list(registry.read_registry()) == ["t/y"]


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("docs.trec", lambda d: d.docs_count()),
        ("docs.trec", lambda d: next(d.docs_iter())),
        ("docs.trec", lambda d: d.docs_store()),
        ("topics.txt", lambda d: next(d.queries_iter())),
        ("qrels", lambda d: next(d.qrels_iter())),
    ],
)
def test_a_changed_file(small: Path, name: str, use: Callable[[Any], object]) -> None:
    register_collection("t/x", small)
    path = small / name
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(InputError) as caught:
        use(collection.collection_dataset("t/x", registry.read_registry()["t/x"]))
    assert caught.value.file == str(path)
    assert "changed since t/x was registered" in caught.value.found
    assert "run irtoolkit register t/x --replace" in str(caught.value)
    path.write_bytes(path.read_bytes()[:-1])
    use(collection.collection_dataset("t/x", registry.read_registry()["t/x"]))


# Size


# The collection of the issue


# Help


def test_examples_run_as_they_are_printed(folder: Callable[..., Path], irtoolkit: Command) -> None:
    topics = {"query-text.trec": CLOSED, "query_light.trec": CLOSED}
    folder({"doc-text.trec": DOCS, "qrels": QRELS, **topics}, "data/npl")
    beir = {"corpus.jsonl": '{"_id": "1", "text": "a"}', "queries.jsonl": '{"_id": 1, "text": "x"}'}
    judged = {f"qrels/{split}.tsv": BEIR + "1\t1\t1\n" for split in ("train", "test")}
    folder({**beir, **judged}, "data/scifact")
    parts = {f"part{i}.jsonl.gz": gzip.compress(b'{"id": %d, "text": "a"}' % i) for i in (1, 2)}
    folder(parts, "data/mine")
    Path("emma.txt").write_text("It rains. She reads. He writes.\n")
    for line in command.EXAMPLES:
        answer = irtoolkit(*shlex.split(line)[1:])
        assert answer.status == 0, answer
    assert list(registry.read_registry()) == ["scifact/test", "mine", "emma"]


def test_a_list_that_claims_ids_of_others_is_passed_over(small: Path) -> None:
    register_collection("t/x", small)
    path = registry.registry_path()
    content = json.loads(path.read_text())
    for name in ("vaswani", "relic/val", "clirmatrix/af", "t/y", "../t"):
        content["collections"][name] = content["collections"]["t/x"]
    path.write_text(json.dumps(content))
    done = python(
        "import irtoolkit.datasets, ir_datasets; from irtoolkit.datasets import dataset_ids\n"
        "print([n for n in dataset_ids() if n.startswith('t/')])\n"
        "print(ir_datasets.load('vaswani').docs_namespace)\n"
        "print(type(ir_datasets.load('relic/val').irtoolkit()).__name__)"
    )
    ids, theirs, ours = done.stdout.splitlines()
    assert ids == "['t/x', 't/y']"
    assert "Vaswani" in theirs
    assert ours == "Benchmark"
    for name in ("vaswani", "relic/val", "clirmatrix/af", "../t"):
        assert any(name in line and str(path) in line for line in done.stderr.splitlines())


def test_the_credentials_of_a_url_are_neither_kept_nor_shown() -> None:
    with pytest.raises(InputError, match="the URL has credentials") as caught:
        register_collection("t/x", "https://user:SECRET@127.0.0.1:9/folder")
    assert "SECRET" not in str(caught.value)
    assert registry.read_registry() == {}
