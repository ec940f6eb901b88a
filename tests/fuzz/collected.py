"""Registered collections: documents, topics and judgments in their formats; uploaded books."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable

from irtoolkit.apps.serve.limits import unpacked
from irtoolkit.apps.serve.shelf import _title_of
from irtoolkit.datasets.local import judgments, topics
from irtoolkit.datasets.local.contents import find_format
from irtoolkit.datasets.local.formats import DOC_SCHEMA, write_docs
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.novels import novel_of
from tests.fuzz.releases import _as_writer
from tests.fuzz.target import Rows, Target, one_word, put


def _docs(form: str) -> Callable[[bytes], None]:
    def parse(data: bytes) -> None:
        path = put(f"docs.{form.partition(':')[0]}", data)
        out = Rows(DOC_SCHEMA)
        write_docs(form, [path], _as_writer(out))
        out.check()
        rows = out.tables["docs"]
        one_word(row[0] for row in rows)
        assert len({row[0] for row in rows}) == len(rows)
        if form == "tsv":
            _same_tsv(data, [(row[0], row[2]) for row in rows])
        elif form == "jsonl":
            _same_json(data, [row[0] for row in rows])
        # The format of a file that is read is recognised too, if perhaps as another one.
        find_format("docs", path)

    return parse


def _same_tsv(data: bytes, rows: list[tuple[str, str]]) -> None:
    """The csv module reads the same ids and texts."""
    text = data.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    if "\r" in text:
        return
    # Lines of white space alone are no rows.
    lines = [line for line in text.split("\n") if line.strip()]
    read = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)  # fmt: skip
    assert [(row[0], row[1].strip()) for row in read] == rows


def _same_json(data: bytes, ids: list[str]) -> None:
    """The json module reads as many objects, with these ids among their values."""
    lines = [line for line in data.decode().removeprefix("\ufeff").split("\n") if line.strip()]
    records = [json.loads(line) for line in lines]
    assert len(records) == len(ids)
    for record, name in zip(records, ids, strict=True):
        assert name in map(str, record.values())


def _topics(form: str) -> Callable[[bytes], None]:
    def parse(data: bytes) -> None:
        path = put(f"topics.{form}", data)
        out = Rows(topics.TOPIC_SCHEMA)
        topics.write_topics(form, path, _as_writer(out))
        out.check()
        rows = out.tables["topics"]
        one_word(row[0] for row in rows)
        assert len({row[0] for row in rows}) == len(rows)
        assert all(row[1] or row[2] for row in rows)
        if form == "tsv":
            _same_tsv(data, [(row[0], row[1]) for row in rows])
        find_format("topics", path)

    return parse


def _beir(data: bytes) -> None:
    path = put("beir.tsv", data)
    out = Rows(judgments.QREL_SCHEMA)
    judgments.write_qrels("beir", path, _as_writer(out))
    out.check()
    rows = out.tables["qrels"]
    one_word(name for row in rows for name in row[:2])
    text = data.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    if "\r" not in text:
        lines = [line for line in text.split("\n") if line.strip()]
        read = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)  # fmt: skip
        header, *wanted = read
        if header == ["query-id", "corpus-id", "score"]:
            assert [[query, doc, float(grade)] for query, doc, grade in wanted] == [list(row[:3]) for row in rows]  # fmt: skip
            found = {(q, d): g for q, docs in read_qrels(path).as_dict().items() for d, g in docs.items()}  # fmt: skip
            assert found == {tuple(row[:2]): row[2] for row in rows}


def _book(data: bytes) -> None:
    """A book that a reader adds: the first line is the name of its file."""
    name, _, content = data.partition(b"\n")
    text = unpacked(content, 100_000)
    assert len(text) <= 100_000
    novel = novel_of(text, _title_of(name.decode("utf-8", "replace")))
    assert novel.sentences
    assert all(isinstance(sentence, str) for sentence in novel.sentences)
    one_word([novel.name])
    starts = list(novel.paragraphs)
    assert starts == sorted(starts)
    places = [chapter.start for chapter in novel.chapters]
    assert places == sorted(places)
    assert all(0 <= start <= len(novel.sentences) for start in (*starts, *places))
    for length in (1, 3):
        book = novel.book(length)
        for size, begun in book.starts.items():
            assert all(0 <= start <= len(novel.sentences) - size for start in begun.tolist())
    for sentence in (0, len(novel.sentences) - 1):
        assert 0 <= novel.place(sentence).share < 1


def _zipped(text: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("book.txt", text)
    return out.getvalue()


_TEXT = b"# Title: The Lamp\n\n## CHAPTER I\n\nOld Marit kept the lamp. She climbed.\n\n\"Fall,\" he said.\n\n## CHAPTER II\n\nThe oil ran out.\n"  # fmt: skip
_DOCS = b"<DOC>\n<DOCNO> d1 </DOCNO>\n<TEXT>A &amp; b <b>c</b></TEXT>\n</DOC>\n<doc><docno>d2</docno><!-- no -->x</doc>\n"  # fmt: skip
_TOPS = b"<top>\n<num> Number: 1\n<title> Topic: a lamp\n<desc> Description:\nOf oil.\n<narr> Narrative: No.\n</top>\n<top><num>2</num><title>b</title></top>\n"  # fmt: skip
_JSON = b'{"_id": "d1", "title": "T", "text": "a b"}\n{"_id": 2, "text": "c", "title": null, "more": [1]}\n'  # fmt: skip
_TAGS = (b"<DOC>", b"</DOC>", b"<DOCNO>", b"</DOCNO>", b"<!--", b"-->", b"<script>", b"</script>", b"&#0;", b"&#55296;", b"&nbsp;", b"<top>", b"</top>", b"<num>", b"<title>", b"<desc>", b"<", b">")  # fmt: skip

TARGETS = (
    Target("docs-sgml", _docs("trec"), (_DOCS, b"<DOC><DOCNO>a-1</DOCNO></DOC>"), _TAGS),
    Target("docs-jsonl", _docs("jsonl"), (_JSON, b'{"id": "a", "contents": "x"}'), (b'"_id"', b'"id"', b'"text"', b'"title"', b"null", b"1")),
    Target("docs-tsv", _docs("tsv"), (b"d1\ta text\nd2\tanother\n", "d\u00e9\t\u6587\r\n".encode()), (b"id\ttext\n", b"d1", b"\t")),
    Target("docs-txt", _docs("txt:3"), (_TEXT, "\ufeffEin Satz. Noch einer! Und?\n".encode(), "Eins.".encode("utf-16")), (b"CHAPTER", b"\n\n", b". ", b"Mr. ", b"***", b"\xe9")),
    Target("topics-sgml", _topics("trec"), (_TOPS,), _TAGS),
    Target("topics-jsonl", _topics("jsonl"), (b'{"qid": "1", "query": "a lamp", "description": "of oil"}\n{"qid": 2, "query": "b"}\n',), (b'"qid"', b'"query"', b'"text"', b'"narrative"', b"null")),
    Target("topics-tsv", _topics("tsv"), (b"1\ta lamp\n2\tb\n",), (b"1", b"\t", b"2\t\n")),
    Target("qrels-beir", _beir, (b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",), (b"q1", b"d1", b"\t", b"1001", b"+1", b"1.0")),
    Target(
        "books", _book,
        (b"lamp.txt\n" + _TEXT, b"a.gz\n" + gzip.compress(_TEXT, mtime=0), b"a.zip\n" + _zipped(_TEXT),
         b"x\n" + "Ein Leuchtturm. M\u00e4rz!".encode("latin-1"), b"y\n" + "第一回\n\n老人守灯。他上楼。".encode("gb18030"),
         b"z\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nOne. Two.\n\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\n"),
        (b"CHAPTER IV\n\n", b"# Title: ", b"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n", b"*** END OF", b"[Illustration", b"_", b"\x0c", b"PK\x05\x06", b"\x1f\x8b", b"../", b"\xff\xfe"),
        True,
    ),
)  # fmt: skip
