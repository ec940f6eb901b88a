"""What `irtoolkit build` reads, and what users get wrong in it."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from irtoolkit.cli import main
from tests import critic, explainer, quotable, reader
from tests.conftest import SAMPLE
from tests.inputs.case import Case

Files = Mapping[str, bytes]
Change = Mapping[str, bytes | Callable[[Files], bytes]]

QUOTES = quotable.western(12)
CSFCUBE = "--documents docs.jsonl --queries queries.csv --depth 4 --citations cites.tsv"
# The command of each builder, short of what is tried.
COMMANDS: dict[str, tuple[str, ...]] = {
    name: ("build", name.partition(" ")[0], *words.split(), "-o", "mine")
    for name, words in {
        "relic": "--books novels/ --criticism articles/",
        "egret": "--books books/",
        "egret answers": "--answers answers.jsonl",
        "egret nq": "--nq nq/",
        "plotretrieval": "--books novels --comments comments --align bm25 --ask 0.02",
        "quoter": "--quotes quotes.txt --corpus books/",
    }.items()
} | {
    "csfcube": (
        "build", "csfcube", *CSFCUBE.split(), "-o", "mine",
        "--systems", "bm25", "tfidf query=title doc=title", "fabs_tfidf",
        "--annotators", "ann", "bob", "cara",
    ),
}  # fmt: skip
COMMANDS["csfcube labels"] = COMMANDS["csfcube"][:-4]


@cache
def plot_books() -> dict[str, list[str]]:
    """Novels that readers comment on."""
    return {f"book{n}": reader.book(n, 90) for n in range(3)}


@cache
def plot_readers() -> reader.Readers:
    """Their comments."""
    return reader.readers(plot_books(), 60, 3)


@cache
def relic_books() -> dict[str, list[str]]:
    """Novels that criticism quotes."""
    return {f"book{n}": critic.book(n, 120) for n in range(3)}


def _novels(books: Mapping[str, list[str]]) -> dict[str, str]:
    return {f"novels/{name}.txt": critic.as_text(name, text) for name, text in books.items()}


def _relic() -> dict[str, str]:
    return _novels(relic_books()) | {
        f"articles/article{n}.txt": critic.article(relic_books(), 300 + n, 21).text
        for n in range(2)
    }


def _egret() -> dict[str, str]:
    made = [explainer.explained(seed).text for seed in range(20)]
    records = [json.dumps(explainer.nq_record(n, text)) + "\n" for n, text in enumerate(made)]
    return {
        f"books/book{n}.txt": explainer.book_text(f"Book {n}", made[4 * n : 4 * n + 4])
        for n in range(4)
    } | {
        "answers.jsonl": explainer.answer_lines(made),
        "nq/train.jsonl": "".join(records[:15]),
        "nq/dev.jsonl": "".join(records[15:]),
    }


def _plotretrieval() -> dict[str, str]:
    comments = "".join(json.dumps(line) + "\n" for line in plot_readers().lines)
    return {**_novels(plot_books()), "comments/readers.jsonl": comments}


def _quoter() -> dict[str, str]:
    essays = {f"books/essay{n}.txt": quotable.essay(QUOTES, n, 60).text for n in range(3)}
    return {"quotes.txt": "\n".join(QUOTES), **essays}


def _csfcube() -> dict[str, str]:
    return {
        "docs.jsonl": (SAMPLE / "abstracts-csfcube-preds.jsonl").read_text("utf-8"),
        "queries.csv": (SAMPLE / "queries-release.csv").read_text("utf-8"),
        "cites.tsv": "910000057 910000001\n910000057 910000057\n910000057 elsewhere\n",
    }


@cache
def texts(name: str) -> Files:
    """What a builder reads, by file."""
    makers = {
        "relic": _relic,
        "egret": _egret,
        "plotretrieval": _plotretrieval,
        "quoter": _quoter,
        "csfcube": _csfcube,
    }
    files = {file: text.encode() for file, text in makers[name.partition(" ")[0]]().items()}
    if "nq/dev.jsonl" in files:
        files["nq/dev.jsonl.gz"] = gzip.compress(files.pop("nq/dev.jsonl"), mtime=0)
    return files


def grade(query_id: str, doc_id: str, name: str = "") -> int:
    """A planted grade: what annotators of CSFCube see, but for some pairs where bob is one off."""
    true = (int(doc_id) * 7 + len(query_id)) % 4
    return min(3, true + 1) if name == "bob" and int(doc_id) % 3 == 0 else true


def rows_of(sheet: bytes) -> list[dict[str, str]]:
    """The rows of a sheet."""
    return list(csv.DictReader(io.StringIO(sheet.decode("utf-8-sig")), delimiter="\t"))


def sheet_of(rows: list[dict[str, str]]) -> bytes:
    """Rows as a sheet."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def filled(sheet: bytes, name: str = "") -> bytes:
    """A sheet of CSFCube with the planted grades, as a person leaves it."""
    rows = rows_of(sheet)
    for row in rows:
        row["grade"] = str(grade(row["query_id"], row["doc_id"], name))
    return sheet_of(rows)


def lay(name: str, folder: Path) -> Path:
    """Writes what a builder reads into a folder."""
    for file, data in texts(name).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    return folder


def contents(folder: str | Path) -> dict[str, bytes]:
    """All files below a folder."""
    place = Path(folder)
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


@cache
def half_built(name: str) -> Files:
    """What is there once a first build has made a sheet: of CSFCube, filled and with an adjudicator's."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        lay(name, Path())
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            assert main(list(COMMANDS[name])) == 0
            if name == "csfcube":
                for path in Path("mine/sheets").iterdir():
                    path.write_bytes(filled(path.read_bytes(), path.stem))
                assert main(list(COMMANDS[name])) == 0
        return contents("")


def _edited(
    file: str, change: Callable[[list[dict[str, str]]], object], before: Callable[[bytes], bytes] = bytes
) -> Change:  # fmt: skip
    """A sheet whose rows are changed."""

    def edit(files: Files) -> bytes:
        rows = rows_of(before(files[file]))
        change(rows)
        return sheet_of(rows)

    return {file: edit}


def _more(file: str, text: str | bytes) -> Change:
    """A file with something added."""
    data = text.encode() if isinstance(text, str) else text
    return {file: lambda files: files.get(file, b"") + data}


def _cut_line(file: str, number: int, length: int) -> Change:
    def cut(files: Files) -> bytes:
        lines = files[file].split(b"\n")
        lines[number - 1] = lines[number - 1][:length]
        return b"\n".join(lines)

    return {file: cut}


def _nq(**changes: Any) -> Change:
    bad = json.dumps(explainer.nq_record(80, "E.g. this.", **changes))
    return {"nq/bad.jsonl": f"\n{bad}\n".encode()}


LATIN = "é ü ñ ".encode() * 9 + b"\xe9 and so on"
ANSWER = '{"id": "a", "question": "what", "answer": "such as this"}'
GOOD = '{"book": "book1", "text": "She goes to him with the lamp."}\n'
MORE = "comments/more.jsonl"
PAIR = "910000057_method 0 910000001 1\n"
BACKGROUND = PAIR.replace("method", "background")
BOB, ADJUDICATED, CHECK = "mine/sheets/bob.tsv", "mine/adjudication.tsv", "mine/check.tsv"

# The builder, further arguments, what is changed, and what the message has to say.
TEXTS: tuple[tuple[str, str, Change, str], ...] = (
    *((name, "", {f"{folder}/new.txt": data}, f"{folder}/new.txt{said}")
      for name, folder in (("relic", "articles"), ("egret", "books"), ("quoter", "books"))
      for data, said in (
          (LATIN, ":1: UTF-8 but for byte 0xe9 at offset 81"), (b"", ": an empty file"),
          (b"* * *\n\n", ": there is no text in it"), (b"%PDF-1.7 and so on", ": not a text but a PDF"),
      )),
    *((name, "", {"mine/thesis.tex": b"mine"}, "mine: the folder is not empty")
      for name in ("relic", "egret", "quoter")),
    *((name, "", {"novels/other.txt": lambda files: files["novels/book1.txt"]},
       "novels/other.txt: the same book as novels/book1.txt: 100 %") for name in ("relic", "plotretrieval")),
    ("relic", "", {f"articles/article{n}.txt": " ".join(critic.book(77, 40)).encode() for n in (0, 1)},
     "no quotation of 3 books is found in 2 works of criticism"),
    ("relic", "", {"novels/more/Book1.md": b"Something else."}, "books of one name: book1"),
    ("relic", "--ratio 180", {}, "--ratio 180 is not between 0 and 100"),
    ("relic", "--test emma", {}, "no window quotes a book emma"),
    ("relic", "--books nowhere", {}, "nowhere: no such file or folder"),
    ("egret", "", {"books/other.md": lambda files: files["books/book1.txt"]},
     "books/other.md: the same book as books/book1.txt, byte for byte"),
    ("egret", "", {"books/other.txt": lambda files: b"A preface.\n\n" + files["books/book1.txt"]},
     "books/other.txt: the same book as books/book1.txt: 48 of 48 examples"),
    ("egret", "--share 1.5", {}, "a share of 1.5 for dev is not between 0 and 1"),
    ("egret", "--dev boook1", {}, "--dev boook1 is none of the files"),
    ("egret", "--books answers.jsonl", {}, "not a book by its name"),
    ("egret answers", "", _cut_line("answers.jsonl", 7, 50), "answers.jsonl:7: not JSON"),
    ("egret answers", "", _more("answers.jsonl", b'{"question": "caf\xe9", "answer": ""}\n'),
     "answers.jsonl:21: not UTF-8: byte 0xe9"),
    ("egret answers", "", {"answers.jsonl": b'{"question": "what"}'}, "answers.jsonl:1: no field answer, answers or output"),
    ("egret answers", "", {"answers.jsonl": b'{"answer": "e.g. this"}'}, "answers.jsonl:1: no field question"),
    ("egret answers", "", {"answers.jsonl": lambda files: files["nq/train.jsonl"]}, "Natural Questions, which go to --nq"),
    ("egret answers", "", {"answers.jsonl": b"\n"}, "answers.jsonl: no record in it"),
    ("egret answers", "", {"answers.jsonl": lambda files: files["answers.jsonl"] * 2}, "answers.jsonl:21: question q0 is there already: answers.jsonl:1"),
    ("egret answers", "", {"answers.jsonl": ANSWER.replace('"a"', '"a b"').encode()}, "question id 'a b' is not one word"),
    ("egret answers", "", {"answers.jsonl": ANSWER.encode()}, "no example in 1 file"),
    ("egret nq", "", _nq(annotations=None), "bad.jsonl:2: no annotations"),
    ("egret nq", "", _nq(annotations=[{"long_answer": {"start_token": 8}}]), "bad.jsonl:2: an annotation without start_token and end_token"),
    ("egret nq", "", _nq(annotations=[{"long_answer": {"start_token": 8, "end_token": 99_999}}]), "the long answer [8, 99999) is not in its"),
    ("egret nq", "", _nq(question_text=None), "bad.jsonl:2: no question_text"),
    ("egret nq", "", _nq(example_id="1 2"), "bad.jsonl:2: example_id '1 2' is not one word"),
    ("egret nq", "", _nq(document_text=7), "bad.jsonl:2: neither document_text nor document_tokens"),
    ("egret nq", "--nq answers.jsonl", {}, "answers.jsonl:1: not a record of Natural Questions"),
    ("egret nq", "--nq books", {}, "no file in it ends in .jsonl"),
    ("plotretrieval", "", _more(MORE, GOOD + GOOD.replace("book1", "book7")), "comments/more.jsonl:2: no book 'book7' (did you mean"),
    ("plotretrieval", "", _more(MORE, GOOD + '{"book": "book1", "te'), "comments/more.jsonl:2: not JSON"),
    ("plotretrieval", "", {MORE: b""}, "comments/more.jsonl: an empty file"),
    ("plotretrieval", "", _more(MORE, GOOD + '["book1"]'), "comments/more.jsonl:2: not a comment"),
    ("plotretrieval", "", _more(MORE, '{"book": "book1"}'), "comments/more.jsonl:1: a comment without text"),
    ("plotretrieval", "", _more(MORE, GOOD.replace("goes", "go\u00e9s").encode("latin-1")), "comments/more.jsonl:1: not UTF-8"),
    ("plotretrieval", "", _more(MORE, GOOD.replace("}", ', "sentence": 90}')), "sentence 90 of a book with 90"),
    ("plotretrieval", "", _more(MORE, GOOD.replace("}", ', "sentences": [3, 3]}')), "sentences [3, 3] of a book with 90"),
    ("plotretrieval", "", _more(MORE, GOOD.replace("}", ', "position": 40}')), "position 40 (give a share"),
    ("plotretrieval", "", _more(MORE, GOOD.replace("}", ', "position": 0.4, "sentence": 3}')), "both sentence and position"),
    ("plotretrieval", "", {"comments/readers.jsonl": GOOD.replace("lamp", "zzyzx").encode()}, "none of 1 comments makes a pair: 1 no passage is near enough"),
    ("plotretrieval", "--keep 1.8", {}, "--keep 1.8 is not between 0 and 1"),
    ("plotretrieval", "--keep 0.01", {}, "--ask 0.02 is above --keep 0.01"),
    ("plotretrieval", "--test emma", {}, "emma"),
    ("plotretrieval", "--checked nowhere.tsv", {}, "nowhere.tsv"),
    ("plotretrieval", "--align dense --model no/such-model", {}, "no/such-model"),
    ("plotretrieval", "--labelled labels.tsv", {"labels.tsv": b"She walks.\tplot\nHa.\tno\n"}, "labels.tsv:2: label 'no' (a label is plot or not)"),
    ("quoter", "", {"quotes.txt": f"{QUOTES[0]}\n{QUOTES[1]}\tA\tB\tC\n".encode()}, "quotes.txt:2: 4 columns"),
    ("quoter", "", {"quotes.txt": "".join(
        f"{' '.join(f'before{n}' for n in range(40))}\t{quote}\t{' '.join(f'after{n}' for n in range(40))}\n"
        for quote in QUOTES).encode()}, "left context, quote and right context, as in a release of QuoteR"),
    ("quoter", "", {"quotes.txt": f"{QUOTES[0]}\n\tHe Himself\n".encode()}, "quotes.txt:2: no quote"),
    ("quoter", "", {"quotes.txt": LATIN}, "quotes.txt:1: UTF-8 but for byte 0xe9 at offset 81"),
    ("quoter", "", {"quotes.txt": b"Know thyself.\n"}, "none of 1 quotes has 4 words"),
    ("quoter", "", {"quotes.txt": b"\n\n"}, "quotes.txt: an empty file"),
    ("quoter", "", {f"books/essay{n}.txt": b"Nothing is quoted here." for n in range(3)}, "no quote has 5 contexts: 0 of 12 quotes are found in 3 texts"),
    ("quoter", "--least 1", {}, "--least 1: a quote with one context cannot be in val and in test"),
    ("quoter", "--least 9 --most 7", {}, "--most 7 is below --least 9"),
    ("quoter", "--context 4", {}, "--short 10 is more than both sides have with --context 4"),
    ("quoter", "--lang ../quality", {}, "--lang ../quality is no code of a language"),
    ("quoter", "--unseen -1", {}, "--unseen -1 is not at least 0"),
    ("quoter", "--corpus nowhere", {}, "nowhere: no such file or folder"),
    ("csfcube", "--annotators ann ann", {}, "two annotators are called ann"),
    ("csfcube", "--systems bm52", {}, "no system 'bm52'"),
    ("csfcube", "--systems bm25 bm25", {}, "two systems are called bm25"),
    ("csfcube", '--systems "bm25 k1"', {}, "'k1' of the system 'bm25 k1' is not KEY=VALUE"),
    ("csfcube", '--systems "bm25 k9=1"', {}, "k9"),
    ("csfcube", "--pools queries.csv", {}, "leave one of the two out"),
    ("csfcube", "--sample 3", {}, "a file or a sample"),
    ("csfcube", "--queries nowhere.csv", {}, "no such file"),
    ("csfcube", "--runs nowhere.run", {}, "nowhere.run: no such file"),
    ("csfcube", "--runs a.run", {"a.run": b"910000057 Q0 12 1 2 x\n"}, "a.run:1: document 12 is not among"),
    ("csfcube", "--runs a.run", {"a.run": b"910000057 Q0 910000001 1 2 x\n"}, "no row of query"),
    ("csfcube", "--citations nowhere.tsv", {}, "nowhere.tsv: no such file"),
)  # fmt: skip

# What is wrong with what readers and annotators have filled in.
SHEETS: tuple[tuple[str, str, Change, str], ...] = (
    *(("plotretrieval", f"--checked {CHECK}", change, said) for change, said in (
        (_edited(CHECK, lambda rows: rows[1].update(verdict="maybe")), "check.tsv:3: verdict 'maybe' (write yes, no, unsure, or nothing)"),
        (_edited(CHECK, lambda rows: rows[1].update(id=rows[1]["id"][:-1] + "x")), "is not among the"),
        (_edited(CHECK, lambda rows: rows[1].update(id=rows[0]["id"])), "appears twice"),
        (_edited(CHECK, lambda rows: rows[1].update(verdict="yes", query=" ")), "is empty (keep what describes the plot)"),
        (_edited(CHECK, lambda rows: [row.update(verdict="no") for row in rows]), "check.tsv: no pair has the verdict yes"),
        (_edited(CHECK, lambda rows: [row.update(judgement=row.pop("verdict")) for row in rows]), "check.tsv:1: no column 'verdict'"),
    )),
    *(("csfcube", "", change, said) for change, said in (
        (_edited(BOB, lambda rows: rows[1].update(grade="4")), "bob.tsv:3: the grade"),
        (_edited(BOB, lambda rows: rows[1].update(grade="x")), "is 'x'"),
        (_edited(BOB, lambda rows: rows.pop(2)), "no row of document"),
        (_edited(BOB, lambda rows: rows.append(rows[0])), "graded twice"),
        (_edited(BOB, lambda rows: rows[0].update(doc_id="91")), "bob.tsv:2: "),
        (_edited(BOB, lambda rows: rows[0].update(query_id="91_method")), "no query of this"),
        (_cut_line(BOB, 4, 40), "fields, and 10 columns"),
        (_edited(BOB, lambda rows: [row.pop("grade") for row in rows]), "bob.tsv:1: no column 'grade'"),
        ({"mine/sheets/bib.tsv": lambda files: files[BOB]}, "no annotator bib (did you mean bob"),
        ({BOB: b"query_id\tdoc_id\xff"}, "bob.tsv:1: not UTF-8"),
    )),
    *(("csfcube", "", _edited(ADJUDICATED, change, filled), said) for change, said in (
        (lambda rows: rows[0].update(grade="-1"), "is '-1'"),
        (lambda rows: rows.pop(), "on which annotators differ"),
        (lambda rows: rows[0].update(doc_id="91"), "no pair of this"),
    )),
    *(("csfcube labels", f"--labels {' '.join(files)}", {name: text.encode() for name, text in files.items()}, said)
      for files, said in (
        ({"ann.qrels": PAIR}, "the labels of 1 annotator"),
        ({"ann.qrels": PAIR, "bob.qrels": PAIR.replace(" 1\n", " 7\n")}, "bob.qrels:1: the grade of 910000001 for 910000057_method is '7'"),
        ({"ann.qrels": PAIR, "bob.qrels": PAIR.replace("910000001", "12")}, "'12' is not in the pool"),
        ({"ann.qrels": BACKGROUND, "bob.qrels": BACKGROUND}, "ann has graded 1 of 13 candidates"),
        ({"ann.qrels": BACKGROUND, "bob.qrels": PAIR}, "graded by 1 annotator: ann"),
        ({"ann.qrels": PAIR.replace(" 1\n", "\n"), "bob.qrels": ""}, "3 fields instead of 4"),
        ({"ann.qrels": PAIR, "x/ann.qrels": PAIR}, "two annotators are called ann"),
    )),
)  # fmt: skip


def _files(prepared: Callable[[str], Files], name: str, change: Change) -> Files:
    files = prepared(name)
    new = {file: made(files) if callable(made) else made for file, made in change.items()}
    return {**files, **new}


def cases() -> Iterator[Case]:
    """All inputs of builders."""
    for table, prepared in ((TEXTS, texts), (SHEETS, half_built)):
        for name, words, change, said in table:
            line = (*COMMANDS[name], *shlex.split(words))
            files = partial(_files, prepared, name, change)
            yield Case("builders", f"{name} {words}: {said}", line, files, said, resumes=True)
