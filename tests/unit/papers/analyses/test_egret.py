"""EgRet's analyses: the highest ROUGE-L, recall at every depth, and what people think."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._rouge import Rouge
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.egret_ranking import GOLD, EgretRanking
from irtoolkit.papers.analyses.egret_recall import EgretRecall, crossings, recalls
from tests.conftest import Answer
from tests.unit.papers.analyses.planted import rows_of

DEV = "egret/sample/dev/left"


def test_a_text_without_tokens_is_like_no_other() -> None:
    assert Rouge(["a boat", "!!", "?"]).best("...", 0) in [(1, 0.0), (2, 0.0)]


def ranked(*ranks: int) -> np.ndarray:
    return np.array(ranks, dtype=np.float64)


def test_recall_at_each_depth() -> None:
    assert recalls(ranked(1, 3, 3, 40), [1, 2, 3, 40]) == [25, 25, 75, 100]


def test_a_system_that_is_ahead_at_first_and_worse_on_average() -> None:
    (line,) = crossings({"sharp": ranked(1, 1, 90, 90), "even": ranked(1, 5, 6, 7)})
    assert line.startswith("sharp is ahead of even at rank 1, behind from rank 6 on")
    assert crossings({"good": ranked(1, 1), "bad": ranked(2, 9)}) == []


def test_recall_needs_the_rank_of_every_relevant_document(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    run = tmp_path / "shallow.run"
    assert irtoolkit("retrieve", DEV, "bm25", "--depth", "3", "-o", run).status == 0
    said = irtoolkit("analyse", "egret-recall", DEV, run, "--format", "json")
    assert said.status == 0, said.err
    (row,) = json.loads(said.out)["tables"][0]["rows"]
    (other,) = rows_of(analyse(EgretRecall(), [DEV]), "recall").values()
    assert list(row["measured"].values()) == pytest.approx(list(other))
    (tmp_path / "shallow.run.ranks.tsv").unlink()
    said = irtoolkit("analyse", "egret-recall", DEV, run)
    assert "has no rank for the relevant documents of" in said.err
    assert said.status == 2


def test_people_rank_and_rate(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    command = ("analyse", "egret-ranking", DEV, "--queries", "3")
    sheet = tmp_path / "sheet.csv"
    assert irtoolkit(*command, "--sheet", sheet).status == 0
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    golds = {doc.doc_id: doc.text for doc in Dataset.load(DEV).docs_iter()}
    relevant = Dataset.load(DEV).relevant()
    assert len(rows) == 6
    for row in rows:
        true = " ".join(golds[relevant[row["query"]][0]].split()) == row["text"]
        row["rank"], row["rating"] = ("1", "5") if true else ("2", "3")
    for name in ("a.csv", "b.csv"):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        rows[0]["rating"] = "4"
    done = [tmp_path / "a.csv", tmp_path / "b.csv"]
    said = irtoolkit(*command, "--sheets", *done, "--format", "json")
    assert said.status == 0, said.err
    (table,) = json.loads(said.out)["tables"]
    by = {row["example"]: row["measured"] for row in table["rows"]}
    assert by[GOLD]["mean rank"] == 1
    assert by["bm25"]["mean rank"] == 2
    changed = GOLD if rows[0]["rank"] == "1" else "bm25"
    assert by[changed]["mean rating"] == pytest.approx({GOLD: 29 / 6, "bm25": 19 / 6}[changed])
    assert "is not in the sample" in irtoolkit(*command, "--seed", "9", "--sheets", *done).err
    with pytest.raises(InputError, match="0 queries"):
        analyse(EgretRanking(queries=0), [DEV])


def test_people_rank_generated_examples(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    golds = {doc.doc_id: doc.text for doc in Dataset.load(DEV).docs_iter()}
    queries = [q for q in Dataset.load(DEV).query_ids() if golds[q].lower().startswith("for ex")]
    made = tmp_path / "model.jsonl"
    lines = [{"query": query, "text": f"For example, text {query}."} for query in queries[1:]]
    made.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    command = ("analyse", "egret-ranking", DEV, "--generated", made, "--begins", "for example")
    sheet = tmp_path / "sheet.tsv"
    assert irtoolkit(*command, "--sheet", sheet).status == 0
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    contexts = {row["query"] for row in rows}
    assert contexts
    assert contexts <= {line["query"] for line in lines}
    assert len(rows) == 3 * len(contexts)
    for row in rows:
        generated = row["text"] == f"For example, text {row['query']}."
        row["rank"], row["rating"] = ("1", "4") if generated else ("2", "2")
    with (tmp_path / "done.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    said = irtoolkit(*command, "--sheets", tmp_path / "done.tsv", "--format", "json")
    (table,) = json.loads(said.out)["tables"]
    by = {row["example"]: row["measured"] for row in table["rows"]}
    assert (by["model.jsonl"]["mean rank"], by["model.jsonl"]["ranked best, %"]) == (1, 100)
    assert (by[GOLD]["mean rank"], by["bm25"]["mean rating"], by[GOLD]["ranked best, %"]) == (2, 2, 0)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"query": "x1", "text": "a"}', "model.jsonl has a text for x1, which is no query of"),
        ('{"query": "x1"}', r"model.jsonl:1: no query with a text"),
        ('{"query": "x1", "text": " "}', r"model.jsonl:1: no query with a text"),
        ('{"query": "q", "text": "a"}\n{"query": "q", "text": "b"}', "model.jsonl:2: query q is"),
        ("{", r"model.jsonl:1: not JSON"),
    ],
)
def test_damaged_generated_texts_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.jsonl").write_text(content, "utf-8")
    with pytest.raises(InputError, match=message):
        analyse(EgretRanking(generated=str(tmp_path / "model.jsonl")), [DEV], sheet=tmp_path / "s")
