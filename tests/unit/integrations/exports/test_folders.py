"""Exported folders: complete, whole or absent, with every id, grade and text as it was."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import ir_datasets
import pyarrow.parquet as pq
import pytest
import yaml

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.local.collection import TitledDoc, TopicQuery
from irtoolkit.integrations.exports.card import is_export, read_card
from irtoolkit.integrations.exports.export import FORMS, export_folder
from irtoolkit.integrations.exports.source import Source, shared_id
from tests.datasets import Docs, Queries

# Ids that readers of tables take for numbers, nothing, or the end of a field.
IDS = ("007", "NA", 'a"b', "it's", "100%", "%41", "null", "é")
SPACED = ("two words", "tab\there")
TEXTS = {name: f'text "of"\t{name}\nand more' for name in IDS}
GRADES = {"007": 3, "NA": -2, 'a"b': 0}


def strange(ids: tuple[str, ...] = IDS) -> ir.Dataset:
    return ir.load(
        {name: TEXTS.get(name, name) for name in ids},
        queries={"01": "a\tquery\nof two lines", "None": "another"},
        qrels={"01": GRADES, "None": {"%41": 1}},
        candidates={"01": list(ids[:5]), "None": list(ids)},
    )


def jsonl(path: Path) -> list[Any]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# -- each form -----------------------------------------------------------------------------------


def test_beir(tmp_path: Path) -> None:
    folder = ir.export(strange(), "beir", tmp_path / "out")
    corpus = jsonl(folder / "corpus.jsonl")
    assert {row["_id"]: row["text"] for row in corpus} == TEXTS
    assert {row["title"] for row in corpus} == {""}
    assert [row["_id"] for row in jsonl(folder / "queries.jsonl")] == ["01", "None"]
    with open(folder / "qrels/test.tsv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["query-id", "corpus-id", "score"]
    assert {doc: int(grade) for query, doc, grade in rows if query == "01"} == GRADES
    pools = pq.read_table(folder / "top_ranked/test.parquet").to_pylist()
    assert {row["query-id"]: row["corpus-ids"] for row in pools} == {
        "01": list(IDS[:5]), "None": list(IDS),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["mteb", "hf"])
def test_parquet(tmp_path: Path, form: str) -> None:
    folder = ir.export(strange(), form, tmp_path / "out", split="dev")
    corpus = pq.read_table(folder / "corpus/dev.parquet").to_pylist()
    assert {row["id"]: row["text"] for row in corpus} == TEXTS
    qrels = pq.read_table(folder / "qrels/dev.parquet").to_pylist()
    assert {row["corpus-id"]: row["score"] for row in qrels if row["query-id"] == "01"} == GRADES


def test_pyserini(tmp_path: Path) -> None:
    folder = ir.export(strange(IDS + SPACED), "pyserini", tmp_path / "out")
    docs = jsonl(folder / "collection/docs.jsonl")
    assert [unquote(row["id"]) for row in docs] == list(IDS + SPACED)
    # Ids without white space or % are as they were; white space would divide a line of a run.
    assert [row["id"] for row in docs][:4] == list(IDS[:4])
    assert not any(" " in row["id"] or "\t" in row["id"] for row in docs)
    topics = (folder / "topics.tsv").read_text("utf-8").splitlines()
    assert topics == ["01\ta query of two lines", "None\tanother"]
    rows = [line.split(" ") for line in (folder / "qrels.txt").read_text("utf-8").splitlines()]
    assert {unquote(doc): int(grade) for query, _, doc, grade in rows if query == "01"} == GRADES
    regression = yaml.safe_load((folder / "texts.yaml").read_text("utf-8"))
    assert regression["index_stats"]["documents"] == len(IDS + SPACED)
    assert (folder / regression["corpus_path"]).is_dir()
    assert (folder / regression["topics"][0]["qrels"]).is_file()


def test_tira(tmp_path: Path) -> None:
    folder = ir.export(strange(), "tira", tmp_path / "out")
    docs = jsonl(folder / "inputs/corpus.jsonl.gz")
    assert {unquote(row["docno"]): row["text"] for row in docs} == TEXTS
    asked = {row["qid"]: row["query"] for row in jsonl(folder / "inputs/queries.jsonl")}
    topics = ElementTree.parse(folder / "inputs/queries.xml").getroot()
    assert {topic.get("number"): topic.findtext("query") for topic in topics} == asked
    assert json.loads((folder / "inputs/metadata.json").read_text()) == {"ir_datasets_id": "texts"}
    assert not (folder / "inputs/qrels.txt").exists()
    assert len((folder / "truths/qrels.txt").read_text("utf-8").splitlines()) == 4


def test_tira_s_xml_is_read_whatever_texts_hold(tmp_path: Path) -> None:
    data = ir.load({"d": "text"}, queries={"q": "a\x0bb\x00c\ufffe & <d>"})
    topics = ElementTree.parse(ir.export(data, "tira", tmp_path / "out") / "inputs/queries.xml")
    assert [topic.findtext("query") for topic in topics.getroot()] == ["a b c  & <d>"]


# -- our benchmarks ------------------------------------------------------------------------------


def test_both_sides_of_a_context_and_the_title_are_kept(tmp_path: Path) -> None:
    folder = ir.export("relic/sample/val", "hf", tmp_path / "relic")
    asked = {row["id"]: row for row in pq.read_table(folder / "queries/test.parquet").to_pylist()}
    for query in ir.load("relic/sample/val").queries:
        row = asked[query.query_id]
        assert (tuple(row["left"]), tuple(row["right"])) == (query.left, query.right)
        assert (row["text"], row["length"]) == (query.context, query.length)
    assert any(row["right"] for row in asked.values())
    assert {row["length"] for row in asked.values()} > {1}
    folder = ir.export("csfcube/sample", "beir", tmp_path / "csfcube")
    rows = {row["_id"]: row for row in jsonl(folder / "corpus.jsonl")}
    for doc in ir.load("csfcube/sample").docs_iter():
        row = rows[doc.doc_id]
        assert (row["title"], row["text"]) == (doc.title, doc.abstract)
        assert tuple(row["metadata"]["labels"]) == doc.labels


class Topics(Queries):
    def queries_count(self) -> int:
        return len(self.queries)

    def queries_cls(self) -> type:
        return TopicQuery


class Titled(Docs):
    def docs_cls(self) -> type:
        return TitledDoc


def uneven() -> ir.Dataset:
    """A dataset whose first records are empty, and the next have something in each field."""
    docs = Titled([TitledDoc("1", "", ""), TitledDoc("2", "a title", "a body")])
    topics = Topics([TopicQuery("1", "", "", ""), TopicQuery("2", "short", "longer", "longest")])
    return ir.Dataset("uneven", ir_datasets.Dataset(docs, topics), in_memory=True)


def test_fields_that_the_first_record_lacks_are_kept(tmp_path: Path) -> None:
    folder = ir.export(uneven(), "beir", tmp_path / "beir")
    assert jsonl(folder / "queries.jsonl")[1] == {
        "_id": "2", "text": "short", "metadata": {"description": "longer", "narrative": "longest"},
    }  # fmt: skip
    assert jsonl(folder / "corpus.jsonl")[1] == {"_id": "2", "title": "a title", "text": "a body"}


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("title", {"text": "short", "description": "longer", "narrative": "longest"}),
        ("narrative", {"text": "longest", "title": "short", "description": "longer"}),
    ],
)
def test_what_is_not_the_chosen_text_is_kept(
    tmp_path: Path, query: str, others: dict[str, str]
) -> None:
    folder = ir.export(uneven(), "hf", tmp_path / "out", query=query, doc="text")
    assert pq.read_table(folder / "queries/test.parquet").to_pylist()[1] == {"id": "2", **others}
    # The form has a title of its own, which stands before the text that is ranked.
    doc = {"id": "2", "title": "", "text": "a body", "record_title": "a title"}
    assert pq.read_table(folder / "corpus/test.parquet").to_pylist()[1] == doc


def test_candidates_are_the_datasets_own(tmp_path: Path) -> None:
    folder = ir.export("relic/sample/val", "mteb", tmp_path / "out")
    pools = pq.read_table(folder / "top_ranked/test.parquet").to_pylist()
    expected = {query: list(docs) for query, docs in ir.load("relic/sample/val").pools().items()}
    assert {row["query-id"]: row["corpus-ids"] for row in pools} == expected


def test_what_no_retriever_may_see_is_left_out(tmp_path: Path) -> None:
    folder = ir.export("plotretrieval/sample/val", "hf", tmp_path / "out")
    names = pq.read_table(folder / "queries/test.parquet").column_names
    assert "book" in names
    assert "spans" not in names


def test_hidden_judgments(tmp_path: Path) -> None:
    folder = ir.export("relic/sample/test", "beir", tmp_path / "beir")
    assert not (folder / "qrels").exists()
    with pytest.raises(InputError, match="no qrels"):
        ir.export("relic/sample/test", "mteb", tmp_path / "mteb")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beir"]


# -- the card ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_card_states_licence_and_citation(tmp_path: Path, form: str) -> None:
    folder = ir.export("csfcube/sample", form, tmp_path / "out")
    front = read_card(folder)
    assert front is not None
    assert (front["license"], front["language"]) == ("apache-2.0", ["en"])
    assert (front["irtoolkit"]["dataset"], front["irtoolkit"]["form"]) == ("csfcube/sample", form)
    page = (folder / "README.md").read_text("utf-8")
    assert ir.load("csfcube/sample").about.bibtex in page  # type: ignore[union-attr]
    for config in front.get("configs", ()):
        assert list(folder.glob(config["data_files"][0]["path"]))


def test_an_unknown_licence_forbids_and_a_named_one_is_stated(tmp_path: Path) -> None:
    closed = ir.export(strange(), "hf", tmp_path / "closed")
    assert read_card(closed)["license"] == "unknown"  # type: ignore[index]
    assert "Keep this folder to yourself" in (closed / "README.md").read_text("utf-8")
    named = ir.export(strange(), "hf", tmp_path / "named", licence="cc-by-4.0")
    assert read_card(named)["license"] == "cc-by-4.0"  # type: ignore[index]
    with pytest.raises(InputError, match=r"no licence 'cc-by-4'.*did you mean cc-by-4\.0"):
        ir.export(strange(), "hf", tmp_path / "third", licence="cc-by-4")


# -- whole or absent -----------------------------------------------------------------------------


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with pytest.raises(InputError, match="not empty"):
        ir.export(strange(), "beir", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="a file, not a folder"):
        ir.export(strange(), "beir", tmp_path / "file")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stop", [InputError, KeyboardInterrupt])
def test_an_interrupted_export_leaves_nothing(
    tmp_path: Path, form: str, stop: type[BaseException]
) -> None:
    class Broken(Docs):
        def docs_iter(self) -> Iterator[Any]:
            rows = super().docs_iter()
            yield next(rows)
            raise stop("stopped")

    parts = ir.load("csfcube/sample").source
    broken = ir_datasets.Dataset(Broken(TEXTS), parts.queries_handler(), parts.qrels_handler())
    source = Source(ir.Dataset("broken", broken, in_memory=True), progress=False)
    with pytest.raises(stop, match="stopped"):
        export_folder(source, form, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_no_such_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no form 'bier'.*did you mean beir"):
        ir.export(strange(), "bier", tmp_path / "out")


def test_a_split_is_a_word(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no name of a split"):
        ir.export(strange(), "beir", tmp_path / "out", split="../test")


@pytest.mark.parametrize("form", list(FORMS))
def test_an_export_of_a_folder_does_not_say_where_the_folder_is(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, here = tmp_path / "secret" / "mine", tmp_path / "here"
    folder.mkdir(parents=True)
    here.mkdir()
    (folder / "docs.jsonl").write_text('{"_id": "1", "text": "a whale"}\n', "utf-8")
    (folder / "topics.tsv").write_text("q1\twhale\n", "utf-8")
    (folder / "qrels.txt").write_text("q1 0 1 1\n", "utf-8")
    monkeypatch.chdir(here)
    for place in ("../secret/mine", str(folder)):
        out = tmp_path / f"{form}-{len(place)}"
        export_folder(Source(ir.load(place), progress=False), form, out, "cc0-1.0")
        texts = [p.read_bytes() for p in out.rglob("*") if p.is_file() and p.suffix != ".parquet"]
        assert not any(b"secret" in text for text in texts)
        front = read_card(out)
        if front is not None:
            assert (front["pretty_name"], front["irtoolkit"]["dataset"]) == ("mine", "mine")
            assert "Source:" not in (out / "README.md").read_text("utf-8")
            options = {"query": "default", "doc": "default", "split": "test"}
            assert is_export(out, place, form, **options)
            assert not is_export(out, str(here), form, **options)


@pytest.mark.parametrize("name", ["csfcube/sample/method", "hf:org/name", "mteb:SciFact"])
def test_the_id_of_a_dataset_is_whole_where_a_folder_has_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir(parents=True)
    assert shared_id(name) == name
    assert shared_id(f"./{name}") == Path(name).name
