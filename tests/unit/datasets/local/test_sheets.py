"""CSV, Parquet and Arrow as documents, topics and judgments; folders of files as datasets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import irtoolkit as ir
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local.sheets import table_records
from irtoolkit.datasets.replaced import with_topics

DOCS = {"id": ["d1", "d2"], "text": ["a captain, at sea", 'two "sisters"\nand a coat']}
QUERIES = {"id": ["q1", "q2"], "text": ["who sails?", "who sews?"]}
QRELS = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "relevance": [2, 1]}
Columns = dict[str, list[Any]]


def write_csv(path: Path, columns: Columns, mark: str = ",") -> Path:
    import csv

    with path.open("w", newline="") as out:
        rows = csv.writer(out, delimiter=mark)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


def write_parquet(path: Path, columns: Columns) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def write_arrow(path: Path, columns: Columns) -> Path:
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return path


WRITERS: dict[str, Callable[[Path, Columns], Path]] = {
    ".csv": write_csv, ".parquet": write_parquet, ".arrow": write_arrow,
}  # fmt: skip


def texts(data: Dataset) -> dict[str, str]:
    return {doc.doc_id: doc.default_text() for doc in data.docs_iter()}


def folder_of(tmp_path: Path, end: str) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, columns in (("docs", DOCS), ("queries", QUERIES), ("qrels", QRELS)):
        WRITERS[end](folder / f"{name}{end}", columns)
    return folder


@pytest.mark.parametrize("end", WRITERS)
def test_files_are_documents_queries_and_judgments(tmp_path: Path, end: str) -> None:
    folder = folder_of(tmp_path, end)
    data = ir.load(
        folder / f"docs{end}", queries=folder / f"queries{end}", qrels=folder / f"qrels{end}"
    )
    assert texts(data)["d2"] == DOCS["text"][1]
    assert len(ir.index(str(folder / f"docs{end}"))) == 2
    run = ir.retrieve(data, "bm25")
    assert (
        ir.evaluate(str(folder / f"qrels{end}"), run).figures() == ir.evaluate(data, run).figures()
    )
    asked = with_topics(data, folder / f"queries{end}")
    assert asked.query_ids() == ["q1", "q2"]


def test_a_sheet_with_tabs_and_three_columns(tmp_path: Path) -> None:
    columns = {"id": ["x"], "title": ["At sea"], "text": ["a"]}
    assert texts(ir.load(write_csv(tmp_path / "docs.tsv", columns, "\t"))) == {"x": "At sea a"}


def test_splits_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "a"}\n')
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "a"}\n'
    )
    for split, query in (("test", "q1"), ("dev", "q2")):
        (folder / "qrels" / f"{split}.tsv").write_text(
            f"query-id\tcorpus-id\tscore\n{query}\td1\t1\n"
        )
    assert list(ir.load(folder).qrels.query_ids) == ["q1"]
    assert list(ir.load(f"{folder}/dev").qrels.query_ids) == ["q2"]


def test_tables_under_names() -> None:
    pools = {"query-id": ["q1", "q2"], "corpus-ids": [["d1"], ["d2", "d1"]]}
    tables = {"corpus": DOCS, "queries": QUERIES, "qrels": QRELS, "top_ranked": pools}
    data = ir.load({name: pa.table(columns) for name, columns in tables.items()})
    assert texts(data)["d1"] == DOCS["text"][0]
    assert data.pools() == {"q1": ["d1"], "q2": ["d2", "d1"]}
    with pytest.raises(ir.InputError, match="table 'cats' is no part of a dataset"):
        ir.load({"corpus": pa.table(DOCS), "cats": pa.table(DOCS)})


def test_novels_beside_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "novels"
    folder.mkdir()
    (folder / "emma.txt").write_text("It was dark. He walked. The sea was loud. Nobody came.\n" * 9)
    (folder / "cover.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (folder / "README.md").write_text("These are novels.")
    assert {doc.doc_id.partition(":")[0] for doc in ir.load(folder).docs_iter()} == {"emma"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("docs.csv", "d1,a captain\n", "names no columns that are known: d1, a captain"),
        ("docs.csv", "id,text\nd1,a,b\n", "docs.csv:2: 3 fields, and 2 columns"),
        ("docs.csv", 'id,text\nd1,"a\n', "docs.csv:2: not CSV"),
        ("docs.csv", "id,id,text\nd1,d2,a\n", "two columns are named 'id'"),
        ("qrels.csv", "query_id,doc_id,relevance\nq1,d1,x\n", "qrels.csv:2: score 'x' is not a number"),
        ("qrels.csv", "qid,docno,label\nq,d,1\nq,d,0\n", "qrels.csv:3: document d is judged twice"),
        ("docs.parquet", "PAR1\x00\x00", "docs.parquet: not Parquet"),
    ],
)  # fmt: skip
def test_bad_sheets(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ir.InputError) as caught:
        list(ir.load(path).docs_iter()) if name.startswith("docs") else ir.load(path)
    assert said in str(caught.value)


def test_quotes_between_tabs_are_text(tmp_path: Path) -> None:
    path = tmp_path / "docs.tsv"
    rows = ['d1\tA\t"Stop, he said', 'd2\tB\tplain"', 'd3\tC\t"x"y', 'd4\tD\t"both"']
    path.write_text("\n".join(["id\ttitle\ttext", *rows]) + "\n")
    assert texts(ir.load(path)) == {
        "d1": 'A "Stop, he said', "d2": 'B plain"', "d3": 'C "x"y', "d4": 'D "both"'
    }  # fmt: skip


@pytest.mark.parametrize("end", WRITERS)
def test_columns_of_one_name_are_refused(tmp_path: Path, end: str) -> None:
    columns = {"id": ["d1"], "Text": ["a"], "text": ["b"]}
    path = WRITERS[end](tmp_path / f"docs{end}", columns)
    with pytest.raises(ir.InputError, match="two columns are named 'text'"):
        ir.load(path)


@pytest.mark.parametrize("end", [*WRITERS, ".jsonl"])
def test_ids_are_chosen_as_in_data_frames(tmp_path: Path, end: str) -> None:
    docs = {"id": ["1", "2"], "doc_id": ["d1", "d2"], "text": ["a", "b"]}
    queries = {"id": ["1"], "query_id": ["q1"], "text": ["a"]}
    paths = [tmp_path / f"{name}{end}" for name in ("docs", "queries")]
    for path, columns in zip(paths, (docs, queries), strict=True):
        if end == ".jsonl":
            pd.DataFrame(columns).to_json(path, orient="records", lines=True)
        else:
            WRITERS[end](path, columns)
    read = ir.load(paths[0], queries=paths[1])
    framed = ir.load(pd.DataFrame(docs), queries=pd.DataFrame(queries))
    assert list(texts(read)) == list(texts(framed)) == ["d1", "d2"]
    assert read.query_ids() == framed.query_ids() == ["q1"]


def large_parquet(path: Path) -> int:
    """Writes 40,000 documents and another column; returns the bytes of the documents in memory."""
    table = pa.table({
        "id": [str(number) for number in range(40_000)],
        "text": [f"{number} whales " * 20 for number in range(40_000)],
        "vector": [[0.5] * 8] * 40_000,
    })  # fmt: skip
    pq.write_table(table, path, row_group_size=5_000)
    return int(table.select(["id", "text"]).nbytes)


def test_parquet_is_not_held_in_memory(tmp_path: Path) -> None:
    size = large_parquet(tmp_path / "docs.parquet")
    before = pa.total_allocated_bytes()
    records = table_records(tmp_path / "docs.parquet")
    held = []
    for row, record in records:
        assert record == {"id": str(row - 1), "text": f"{row - 1} whales " * 20}
        held.append(pa.total_allocated_bytes() - before)
    assert len(held) == 40_000
    assert max(held) < size / 2


def test_a_damaged_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "docs.parquet"
    large_parquet(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = b"\0" * 2000
    path.write_bytes(content)
    with pytest.raises(ir.InputError, match=r"docs\.parquet: not Parquet"):
        list(table_records(path))


@pytest.mark.parametrize(
    "first", ["query,document,score", "q1,d1,1", "q1;d1;1", "query, document, grade"]
)
def test_a_csv_of_judgments_without_known_columns_is_told_their_names(
    first: str, tmp_path: Path
) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text(f"{first}\nq2,d2,1\n")
    said = "the first line of a CSV names its columns, such as query_id,doc_id,relevance"
    with pytest.raises(ir.InputError, match=said) as caught:
        ir.load(["a whale"], queries=["whale"], qrels=path)
    assert caught.value.line == 1
    for name, text in (("docs.csv", "id,text\nd2,a whale\n"), ("queries.csv", "id,text\nq2,sea\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(ir.InputError, match=said) as caught:
        ir.load(tmp_path)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"query_id": ["q1"], "doc_id": "d1", "relevance": 1}', "'query_id' is ['q1']"),
        ('{"query_id": "q1", "doc_id": false, "relevance": 1}', "'doc_id' is False"),
        ('{"query_id": "q1", "relevance": 1}', "no field 'doc_id'"),
        ('{"query_id": "q1", "doc_id": "d1"}', "score '' is not a number"),
        ('{"query_id": "q1", "doc_id": "d1", "relevance": true}', "score 'True' is not a number"),
    ],
)
def test_json_judgments_need_ids_and_grades(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "qrels.jsonl"
    path.write_text('{"Query_ID": 1, "Doc_ID": "d0", "Relevance": 2}\n\n')
    assert ir.load(path).qrels.as_dict() == {"1": {"d0": 2}}
    path.write_text(f'{{"query_id": 1, "doc_id": "d0", "relevance": 2}}\n{line}\n')
    with pytest.raises(ir.InputError, match=f"qrels.jsonl:2: .*{re.escape(said)}"):
        _ = ir.load(path).qrels
