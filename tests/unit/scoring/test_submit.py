"""What a run file must be to be accepted, and runs in the forms that others take."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run, provenance
from irtoolkit.scoring import check
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from irtoolkit.scoring.ranked_pools import ranked_pools, read_ranked_pools
from irtoolkit.scoring.run_header import COMPONENTS, header, read_header
from irtoolkit.scoring.submit import submit_trec
from tests.conftest import SAMPLE, Answer

Write = Callable[..., Path]
Command = Callable[..., Answer]

DATASET = "csfcube/sample/method"
POOLS = {
    f"{paper}_method": judged["cands"]
    for paper, judged in json.loads(
        (SAMPLE / "test-pid2anns-csfcube-method.json").read_text("utf-8")
    ).items()
}
Q1, Q2 = POOLS
FIRST, SIZE = POOLS[Q1], len(POOLS[Q1])
# In the release's pools, and nowhere else.
GHOST = "910000503"
STRICT = ("--dataset", DATASET, "--whole-pool", "--strictness", "trec")
FOR = ("--dataset", DATASET)

# Two topics with their whole pools, which the strictest check passes.
LINES = [
    f"{topic} Q0 {doc} {rank} {100 - rank} t"
    for topic, pool in POOLS.items()
    for rank, doc in enumerate(pool, 1)
]
LAST = len(LINES)


def check_run(*args: Any, **options: Any) -> list[InputError]:
    """Returns the problems of a run file."""
    return check.check_run(*args, **options).problems


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def field(line: int, place: int, value: str) -> bytes:
    """The good run but for one field of one line; both count from 1."""
    fields = LINES[line - 1].split()
    fields[place - 1] = value
    return swapped(line, " ".join(fields))


def swapped(line: int, other: str) -> bytes:
    return text([*LINES[: line - 1], other, *LINES[line:]])


def added(line: str) -> bytes:
    return text([*LINES, line])


def pairs(*rows: str) -> bytes:
    """A run of one topic of no dataset, from 'document rank score' rows."""
    return text([f"q Q0 {row} t" for row in rows])


# -- what is refused -----------------------------------------------------------------------------

ROW = f"{Q1} Q0 {FIRST[2]} 3 97"
# Name: content, options of `check`, line, what is found.
MALFORMED: dict[str, tuple[bytes, tuple[str, ...], int, str]] = {
    # Fields.
    "no tag": (swapped(3, ROW), (), 3, "5 fields instead of 6"),
    "a tag of two words": (swapped(3, ROW + " my run"), (), 3, "7 fields instead of 6"),
    "a JSON line": (swapped(3, '{"qid": "q", "docno": "d"}'), (), 3, "4 fields instead of 6"),
    "names of columns": (text(["qid Q0 docno rank score tag", *LINES]), (), 1, "rank 'rank'"),
    "qrels": (text([f"{Q1} 0 {doc} 1" for doc in FIRST]), (), 1, "4 fields instead of 6"),
    # Numbers.
    "a rank in words": (field(3, 4, "third"), (), 3, "rank 'third'"),
    "a hexadecimal rank": (field(3, 4, "0x3"), (), 3, "rank '0x3'"),
    "no number": (field(3, 5, "NaN"), (), 3, "score 'NaN'"),
    "minus infinity": (field(LAST, 5, "-Infinity"), (), LAST, "score '-Infinity'"),
    "a decimal comma": (field(3, 5, "97,5"), (), 3, "score '97,5'"),
    "a hexadecimal score": (field(3, 5, "0x1p6"), (), 3, "score '0x1p6'"),
    # Ranks beside scores.
    "a document again at the end": (
        added(f"{Q2} Q0 {POOLS[Q2][0]} {SIZE + 9} 1 t"), (), LAST + 1, "is listed twice"
    ),
    "a rank against its score": (field(3, 5, "98.5"), (), 3, "rank 3 has a higher score"),
    "one rank for two scores": (pairs("a 1 9", "b 2 8", "c 2 7"), (), 3, "rank 2 occurs twice"),
    "one rank for a tie": (
        pairs("b 1 9", "a 1 9"), ("--strictness", "trec"), 2, "rank 1 "
    ),
    "ranks from 2": (
        pairs("a 2 9", "b 3 8"), ("--strictness", "trec"), 1, "rank 2 instead of 1"
    ),
    "a tie in single precision only": (
        pairs("a 1 9.00000002", "b 2 9.00000001"), ("--strictness", "trec"), 2, "a and b tie"
    ),
    # Tags and the second field.
    "a second tag by a letter's case": (field(LAST, 6, "T"), (), LAST, "a second tag 'T'"),
    "a tag with an accent": (text([line + "é" for line in LINES]), STRICT, 1, "the tag 'té'"),
    "q0": (field(3, 2, "q0"), (), 3, "the second field is 'q0'"),
    "a second field of 1": (field(3, 2, "1"), (), 3, "the second field is '1'"),
    # Depth.
    "deeper than allowed": (text(LINES), ("--depth", "5"), 6, "more than 5"),
    # The dataset.
    "an unknown topic": (field(3, 1, "910000099_method"), FOR, 3, "topic 910000099_method"),
    "an unknown document": (field(3, 3, "12345"), FOR, 3, "document 12345 is not one of"),
    "a candidate without a text": (field(3, 3, GHOST), FOR, 3, f"document {GHOST} is not one"),
    "a candidate missing": (
        text(LINES[:-1]), STRICT, LAST - 1, f"query {Q2} lacks 1 of its {len(POOLS[Q2])}"
    ),
    # Bytes.
    "Latin-1": (text(LINES[:4]) + b"caf\xe9 Q0 d 1 1 t\n", (), 5, "not UTF-8: byte 0xe9"),
    "bzip2": (bz2.compress(b"q Q0 d 1 1 t\n"), (), 1, "the file is bzip2"),
    "a byte order mark between two files": (
        text(LINES[:3]) + "\ufeffq Q0 d 1 1 t\n".encode(), (), 4, "the character U+FEFF"
    ),
    "a no-break space": (
        field(3, 3, "d\u00a0d"), ("--strictness", "trec"), 3, "the character U+00A0"
    ),
    "a next line": (field(3, 3, "d\x85d"), ("--strictness", "trec"), 3, "the character U+0085"),
    "no gzip by the name of one": (text(LINES), (), 1, "plain text, not gzip"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_submission_is_refused_with_line_and_remedy(
    irtoolkit: Command, write: Write, name: str
) -> None:
    content, options, line, found = MALFORMED[name]
    path = write("x.run.gz" if "gzip" in name else "x.run", content)
    answer = irtoolkit("check", path, *options, "--all")
    assert (answer.status, answer.out) == (2, "")
    *problems, total = answer.err.splitlines()
    problems = [problem for problem in problems if not problem.startswith("note: ")]
    assert total.startswith(f"irtoolkit: {path}: {len(problems)} problem")
    mine = [p for p in problems if p.startswith(f"{path}:{line}: ") and found in p]
    assert len(mine) == 1, problems
    # Each says where it is, and ends with what to do.
    for problem in problems:
        assert re.fullmatch(rf"{re.escape(str(path))}:\d+: .+ \(.+\)", problem), problem


# -- what is accepted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "character", ["\x85", "\x9b", "\u00a0", "\u2003", "\u2028", "\u3000"], ids=ascii
)
@pytest.mark.parametrize("name", ["x.run", "x.parquet"])
def test_an_id_that_trec_eval_reads_rightly_is_noted(
    irtoolkit: Command, write: Write, tmp_path: Path, name: str, character: str
) -> None:
    """As eval takes it; tools that split by Python's str.split() would find seven fields."""
    doc = f"d{character}d"
    Run.from_rows([("q", doc, 2.0), ("q", "e", 1.0)]).write(path := tmp_path / name)
    answer = irtoolkit("check", path)
    found = f"{path}:1: the document {doc!r} holds the character U+{ord(character):04X} "
    assert (answer.status, answer.err.count("\n")) == (0, 1)
    assert answer.err.startswith(f"note: {found}")
    qrels = write("x.qrels", f"q 0 {doc} 1\n")
    assert irtoolkit("eval", qrels, path, "-m", "P@1").out.split()[-1] == "1.0000"
    (problem,) = [p for p in check_run(path, strictness="trec") if "holds" in p.found]
    assert str(problem).startswith(found)


def header_of(tag: str) -> bytes:
    return header({"tag": tag, "actor": {"name": "Ängström"}}).encode()


VALID: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "gzip": ("x.run.gz", gzip.compress(text(LINES)), STRICT),
    "ids of other scripts": ("x.run", "問1 Q0 引用-二 1 2.5 t\n問1 Q0 цитата 2 1 t\n".encode(), ()),
    "ties in trec_eval's order": (
        "x.run", pairs("c 1 1", "b 2 1", "a 3 1"), ("--strictness", "trec")
    ),
    "ties in another order": ("x.run", pairs("a 1 1", "b 2 1", "c 3 1"), ()),
    "scientific notation": (
        "x.run", pairs("a 1 1.5e+3", "b 2 2E2", "c 3 1e-7", "d 4 -.5e-40"), ("--strictness", "trec")
    ),
    "tabs": ("x.run", text(LINES).replace(b" ", b"\t"), STRICT),
    "CRLF": ("x.run", text(LINES).replace(b"\n", b"\r\n"), STRICT),
    "a byte order mark": ("x.run", b"\xef\xbb\xbf" + text(LINES), STRICT),
    "blank lines": ("x.run", text(LINES).replace(b"\n", b"\n\n") + b"  \n", STRICT),
    "ranks with gaps": ("x.run", pairs("a 10 2", "b 20 1"), ()),
    "rows in no order": ("x.run", text(LINES[::-1]), STRICT),
    "topics interleaved": ("x.run", text(LINES[::2] + LINES[1::2]), STRICT),
    "an ir_metadata header": ("x.run", header_of("t") + text(LINES), STRICT),
    "a long id": ("x.run", f"q Q0 {'d' * 3000} 1 1 t\n".encode(), ("--strictness", "trec")),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_an_odd_submission_is_accepted(irtoolkit: Command, write: Write, name: str) -> None:
    file, content, options = VALID[name]
    path = write(file, content)
    answer = irtoolkit("check", path, *options)
    assert answer.status == 0, answer.err
    assert answer.out.endswith(" no problems\n")
    if options == STRICT:
        assert Run.read(path) == Run.read(write("good.run", text(LINES)))


def test_many_problems_of_one_kind_are_abridged(irtoolkit: Command, write: Write) -> None:
    bad = [f"q{i} Q0 a 1 {score} t" for i, score in enumerate(["x", "inf", "1e99", "nan", "-"])]
    rows = ["q9 Q0 a one 1 t", *bad, "q9 Q0 b 1 1", *(f"q{i} Q0 b {i} 1 t" for i in (7, 8))]
    path = write("x.run", text(rows))
    answer = irtoolkit("check", path)
    lines = answer.err.splitlines()
    assert answer.status == 2
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in lines[:5]] == [
        "1", "2", "3", "4", "... and 2 more like this",
    ]  # fmt: skip
    assert lines[5].startswith(f"{path}:7: 5 fields")
    assert lines[6:] == [f"irtoolkit: {path}: 7 problems"]
    every = irtoolkit("check", path, "--all")
    *found, last = every.err.splitlines()
    assert (every.status, last) == (2, lines[-1])
    assert [int(line.removeprefix(f"{path}:").split(":")[0]) for line in found] == list(range(1, 8))


# -- CSFCube's ranked pools ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all facets of the sample, with its record."""
    from irtoolkit.ranking.produce import produce
    from irtoolkit.ranking.systems import find_system

    path = tmp_path_factory.mktemp("runs") / "bm25.run"
    produce("csfcube/sample", find_system("fabs_bm25", {}, "csfcube/sample"), path, progress=False)
    return path


def test_ranked_pools_are_what_the_official_scorer_takes(
    irtoolkit: Command, produced: Path, tmp_path: Path
) -> None:
    answer = irtoolkit("submit", "csfcube/sample", produced, "-o", tmp_path / "pools")
    assert answer.status == 0, answer.err
    run, found = Run.read(produced), {}
    # As the scorer does: one file a facet by this name, candidates in the order of the list.
    for facet in ("background", "method", "result"):
        file = tmp_path / "pools" / f"test-pid2pool-csfcube-fabs_bm25-{facet}-ranked.json"
        for paper, ranked in json.loads(file.read_text("utf-8")).items():
            found[f"{paper}_{facet}"] = [pair[0] for pair in ranked]
            distances = [pair[1] for pair in ranked]
            assert distances == sorted(distances)
    assert found == {q: [row.doc_id for row in run.ranking(q)] for q in run.query_ids}
    qrels = Dataset.of("csfcube/sample").qrels
    ours = evaluate(run, qrels, parse_measures(["P(rel=2)@20"]))
    for query, value in zip(ours.query_ids, ours.per_query("P(rel=2)@20"), strict=True):
        grades = [qrels.as_dict()[query].get(doc, 0) for doc in found[query][:20]]
        assert value == sum(grade >= 2 for grade in grades) / 20


def test_ranked_pools_come_back_as_the_same_run(
    irtoolkit: Command, produced: Path, tmp_path: Path
) -> None:
    assert irtoolkit("submit", "csfcube/sample", produced, "-o", tmp_path / "pools").status == 0
    files = sorted((tmp_path / "pools").iterdir())
    answer = irtoolkit("submit", "csfcube/sample", *files, "-o", tmp_path / "again.run")
    assert answer.status == 0, answer.err
    again, run = Run.read(tmp_path / "again.run"), Run.read(produced)
    assert again == run
    assert again.tag == run.tag == "fabs_bm25"
    assert irtoolkit("check", tmp_path / "again.run", "--dataset", "csfcube/sample",
                     "--whole-pool", "--strictness", "trec").status == 0  # fmt: skip


def pool_file(write: Write, pairs: object, paper: str = Q1.split("_")[0]) -> Path:
    return write("test-pid2pool-csfcube-mine-method-ranked.json", json.dumps({paper: pairs}))


@pytest.mark.parametrize(
    ("numbers", "scores"),
    [
        ([1.5, 2.0, 4.0], [-1.5, -2.0, -4.0]),  # distances, as published
        ([4.0, 2.0, 1.5], [4.0, 2.0, 1.5]),  # similarities
        ([2.0, 4.0, 1.5], [-1.0, -2.0, -3.0]),  # neither: the order is all there is
    ],
)
def test_the_order_of_a_ranked_pool_is_the_ranking(
    write: Write, numbers: list[float], scores: list[float]
) -> None:
    docs = sorted(FIRST)[:3]
    path = pool_file(write, [list(pair) for pair in zip(docs, numbers, strict=True)])
    run = read_ranked_pools("csfcube/sample", [path])
    assert [row.doc_id for row in run.ranking(Q1)] == docs
    assert [row.score for row in run.ranking(Q1)] == scores
    assert run.tag == "mine"


def test_the_dataset_may_say_the_facet(write: Write) -> None:
    path = write("ranked.json", json.dumps({Q1.split("_")[0]: [[FIRST[0], 1]]}))
    assert list(read_ranked_pools(DATASET, [path]).query_ids) == [Q1]
    with pytest.raises(InputError, match="does not tell its facet"):
        read_ranked_pools("csfcube/sample", [path])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("[]", "not an object"),
        ('{"1": [["2", 3]]}', "topic 1_method is not one"),
        ('{"910000057": {"910000058": 1}}', "not a list of pairs"),
        ('{"910000057": [["910000058", "near"]]}', "not a list of pairs"),
        ('{"910000057": [[910000058, 1]]}', "not a list of pairs"),
        (f'{{"910000057": [["{FIRST[0]}", 1], ["{FIRST[0]}", 2]]}}', "is listed twice"),
    ],
)
def test_what_is_no_ranked_pool_is_refused(
    irtoolkit: Command, write: Write, tmp_path: Path, content: str, found: str
) -> None:
    path = write("test-pid2pool-csfcube-mine-method-ranked.json", "\n" + content)
    answer = irtoolkit("submit", "csfcube/sample", path, "-o", tmp_path / "x.run")
    assert answer.status == 2
    assert re.match(rf"irtoolkit: {re.escape(str(path))}:\d: .*{re.escape(found)}.*\(", answer.err)
    assert not (tmp_path / "x.run").exists()


def test_a_facet_twice_is_refused(write: Write, tmp_path: Path) -> None:
    path = pool_file(write, [[FIRST[0], 1]])
    other = tmp_path / "test-pid2pool-csfcube-other-method-ranked.json"
    other.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="is in another file too"):
        read_ranked_pools("csfcube/sample", [path, other])


def test_a_shallow_run_has_no_ranked_pools(write: Write) -> None:
    path = write("x.run", text(LINES[:-2]))
    with pytest.raises(InputError, match=f"query {Q2} lacks 2 of its {len(POOLS[Q2])} candidates"):
        ranked_pools(DATASET, path)
    with pytest.raises(InputError, match="lacks"):
        ranked_pools(DATASET, write("x.run", text(LINES[:SIZE])))
    with pytest.raises(InputError, match="has no ranked pools"):
        ranked_pools("relic/sample/test", path)


# -- TREC, and records of how a run was made -----------------------------------------------------


def test_a_header_holds_the_record_of_a_run(
    irtoolkit: Command, produced: Path, tmp_path: Path, write: Write
) -> None:
    about = write("about.yml", "actor:\n  team: Ünïtests\nresearch goal:\n  venue: none\n")
    sent = tmp_path / "sent.run.gz"
    answer = irtoolkit(
        "submit", "csfcube/sample", produced, "-o", sent, "--form", "trec",
        "--metadata", "header", "--about", about, "--tag", "mine",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    lines = gzip.decompress(sent.read_bytes()).decode().splitlines()
    end = lines.index("# ir_metadata.end")
    assert lines[0] == "# ir_metadata.start"
    assert all(line.startswith("# ") for line in lines[:end])
    # Read as repro_eval reads it: without the marks, what remains is YAML.
    record = yaml.safe_load("\n".join(line.strip("#") for line in lines[1:end]))
    assert record == read_header(sent)
    made = provenance.read_metadata(produced)
    assert made is not None
    assert record["actor"] == {"team": "Ünïtests"}
    assert record["tag"] == "mine"
    assert record["method"] == made["method"]
    assert set(COMPONENTS) <= set(record)
    run = Run.read(sent)
    assert run == Run.read(produced)
    assert run.tag == "mine"
    scored = [irtoolkit("eval", "csfcube/sample", path, "-m", "AP") for path in (sent, produced)]
    assert scored[0].out.split()[-1] == scored[1].out.split()[-1]
    assert irtoolkit("check", sent, "--dataset", "csfcube/sample", "--strictness", "trec",
                     "--whole-pool").status == 0  # fmt: skip


def test_a_record_may_stand_beside(irtoolkit: Command, produced: Path, tmp_path: Path) -> None:
    sent = tmp_path / "sent.run"
    answer = irtoolkit("submit", "csfcube/sample", produced, "-o", sent, "--form", "trec",
                       "--metadata", "beside")  # fmt: skip
    assert answer.status == 0, answer.err
    record = provenance.read_metadata(sent)
    assert record is not None
    assert record["data"] == {"test collection": {"name": "csfcube/sample"}}
    # The run is written as it was, and so its record still fits it.
    assert sent.read_bytes() == produced.read_bytes()
    assert (
        record["irtoolkit"]["sha256"]
        == (provenance.read_metadata(produced) or {})["irtoolkit"]["sha256"]
    )
    assert read_header(sent) is None


@pytest.mark.parametrize("name", ["sent.run", "sent.run.gz"])
def test_a_record_beside_names_the_file_that_was_written(
    irtoolkit: Command, produced: Path, tmp_path: Path, name: str
) -> None:
    sent = tmp_path / name
    answer = irtoolkit("submit", "csfcube/sample", produced, "-o", sent, "--form", "trec",
                       "--metadata", "beside", "--tag", "mine")  # fmt: skip
    assert answer.status == 0, answer.err
    record = provenance.read_metadata(sent) or {}
    assert record["irtoolkit"]["sha256"] == hashlib.sha256(sent.read_bytes()).hexdigest()
    assert record["tag"] == "mine"


def test_a_run_without_a_record_says_so(write: Write, tmp_path: Path) -> None:
    path = write("x.run", text(LINES))
    with pytest.raises(InputError, match="the run has no record of how it was made") as caught:
        submit_trec(DATASET, path, tmp_path / "y.run", metadata="header")
    assert "--about" in (caught.value.remedy or "")
    submit_trec(DATASET, path, tmp_path / "y.run")
    assert Run.read(tmp_path / "y.run") == Run.read(path)


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [("- a\n", 1, "not a mapping"), ("a: 1\nb: [\n", 2, "not YAML"), ("", 1, "not a mapping")],
)
def test_a_bad_addition_to_a_record_is_refused(
    write: Write, tmp_path: Path, content: str, line: int, found: str
) -> None:
    about = write("about.yml", content)
    with pytest.raises(InputError, match=found) as caught:
        submit_trec(
            DATASET,
            write("x.run", text(LINES)),
            tmp_path / "y",
            metadata="header",
            about=about,
        )
    assert (caught.value.file, caught.value.line) == (str(about), line)


def test_a_header_of_something_else_is_refused(write: Write) -> None:
    path = write("x.run", "# ir_metadata.start\n# - a\n# ir_metadata.end\nq Q0 d 1 1 t\n")
    with pytest.raises(InputError, match="not a YAML mapping"):
        read_header(path)
    # To score the run it need not be read.
    assert len(Run.read(path)) == 1


def test_a_run_is_checked_before_it_is_sent(
    irtoolkit: Command, write: Write, tmp_path: Path
) -> None:
    path, sent = write("x.run", text(LINES[:SIZE])), tmp_path / "y.run"
    answer = irtoolkit("submit", DATASET, path, "-o", sent, "--form", "trec")
    assert answer.status == 2
    assert f"{path}:{SIZE}: 1 topic of {DATASET} is missing" in answer.err
    answer = irtoolkit(
        "submit", DATASET, write("x.run", text(LINES)), "-o", sent, "--form", "trec", "--tag", "t/2"
    )
    assert answer.status == 2
    assert "TREC does not accept the tag 't/2'" in answer.err
    assert not sent.exists()


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["csfcube/sample", "x.run", "y.run", "-o", "z"], "2 runs"),
        (["relic/sample", "x.run", "-o", "z", "--metadata", "header"], "has no room for metadata"),
        (["csfcube/sampel", "x.run", "-o", "z"], "no dataset"),
        (["csfcube/sample", "x.run", "-o", "z", "--tag", "a/b"], "'a/b'"),
    ],
)
def test_what_submit_does_not_take(irtoolkit: Command, write: Write, args: list[str], found: str
) -> None:  # fmt: skip
    path = write("x.run", text(LINES))
    answer = irtoolkit("submit", *[str(path) if arg == "x.run" else arg for arg in args])
    assert answer.status == 2
    assert found in answer.err


@pytest.mark.parametrize(
    ("name", "form", "found"),
    [
        ("x.run", "text", None),
        ("x.parquet", "parquet", None),
        ("x.run", "parquet", "the file is Parquet (give it a name that ends in .parquet"),
        ("x.parquet", "text", "the file is plain text, not Parquet (give it a name without .parquet)"),
        ("x.run", "gzip", "the file is gzip (other tools read"),
        ("x.gz", "bz2", "the file is bzip2, not gzip (other tools read"),
    ],
)  # fmt: skip
def test_a_file_is_what_its_name_says(
    name: str, form: str, found: str | None, tmp_path: Path
) -> None:
    text = b"q Q0 d 1 1.5 t\n"
    Run.from_rows([("q", "d", 1.5)], "t").write(tmp_path / "made.parquet")
    contents = {
        "text": text,
        "gzip": gzip.compress(text),
        "bz2": bz2.compress(text),
        "parquet": (tmp_path / "made.parquet").read_bytes(),
    }
    path = tmp_path / name
    path.write_bytes(contents[form])
    problems = [str(one) for one in check_run(path)]
    assert len(problems) == (found is not None)
    assert found is None or found in problems[0]
