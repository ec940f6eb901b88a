"""The API: a book goes in, passages come out in their place, judgments are kept and exported."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.collection import Collection
from irtoolkit.apps.serve.exports import judgment_lines
from irtoolkit.apps.serve.judgments import Judgment, Judgments, judgment_for
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.web.guard import Access
from irtoolkit.base.spans import Span
from irtoolkit.datasets.novels import novel_of
from tests.waiting import PATIENCE, wait_for

HOST = "http://127.0.0.1:8801"
BOOK = """# Title: The Lamp Keeper

## Author: An Inventor

## CHAPTER I

Old Marit kept the lamp. Every night she climbed the hundred steps. The wind went with her.

"You will fall," said her brother. She laughed, and lit the wick.

## CHAPTER II

In March the oil ran out. She burned the chairs, then the table. No ship was lost that winter.

The village never asked about the chairs. It sent her a new table in spring.
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server of words alone, with an empty shelf."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    library = Library(tmp_path / "library", None, Limits(index_seconds=PATIENCE, seconds=PATIENCE))
    with TestClient(application(library, Access.local(8801)), base_url=HOST) as made:
        yield made


def added(client: TestClient, data: bytes | str = BOOK, name: str = "lamp.txt") -> dict[str, Any]:
    """A book on the shelf, ready."""
    answer = client.post("/collections", params={"filename": name}, content=data)
    assert answer.status_code in (200, 202), answer.text
    name = answer.json()["id"]
    wait_for(lambda: client.get(f"/collections/{name}").json()["progress"]["stage"] == "ready")
    found: dict[str, Any] = client.get(f"/collections/{name}").json()
    return found


def asked(client: TestClient, book: dict[str, Any], **more: Any) -> Any:
    return client.post("/search", json={"collection": book["id"], **more})


def test_a_book_is_split_and_found_again_after_a_restart(
    client: TestClient, tmp_path: Path
) -> None:
    book = added(client)
    assert (book["title"], book["systems"], book["source"]) == (
        "The Lamp Keeper",
        ["words"],
        "book",
    )
    (only,) = book["books"]
    assert (only["author"], only["sentences"]) == ("An Inventor", 10)
    assert [chapter["title"] for chapter in only["chapters"]] == ["CHAPTER I", "CHAPTER II"]
    again = client.post("/collections", content=BOOK.encode())
    assert (again.status_code, again.json()["id"]) == (200, book["id"])
    library = Library(tmp_path / "library", None)
    with TestClient(application(library, Access.local(8801)), base_url=HOST) as other:
        assert [one["id"] for one in other.get("/collections").json()] == [book["id"]]


def test_progress_is_streamed_until_the_book_is_ready(client: TestClient) -> None:
    name = client.post("/collections", content=BOOK.encode()).json()["id"]
    with client.stream("GET", f"/collections/{name}/progress") as answer:
        events = [line for line in answer.iter_lines() if line]
    assert all(event.startswith("data: {") for event in events)
    assert '"stage": "ready"' in events[-1]


def test_passages_are_found_in_their_place_and_shared_words_are_marked(client: TestClient) -> None:
    book = added(client)
    answer = asked(
        client, book, query="She sacrifices the furniture: chairs burned [quote]", length=1
    )
    (words,) = answer.json()["answers"]
    first = words["hits"][0]
    assert first["id"] == f"{book['id']}:6+1"
    assert [piece for one in first["sentences"] for piece in one["pieces"]] == ["She ", "burned", " the ", "chairs", ", then the table."]  # fmt: skip
    assert (first["place"]["chapter"], first["place"]["sentence"]) == ("CHAPTER II", 2)
    assert [one["number"] for one in first["before"] + first["after"]] == [4, 5, 7, 8]
    assert set(first["shared"]) == {"burned", "chairs"}
    assert first["explanation"].startswith("Score ")


def test_surroundings_are_read_as_far_as_the_book_goes(client: TestClient) -> None:
    book = added(client)
    url = f"/passages/{book['id']}/{book['id']}:1+2"
    found = client.get(url, params={"before": 50, "after": 1}).json()
    assert [len(found[part]) for part in ("before", "sentences", "after")] == [1, 2, 1]
    assert client.get(f"/passages/{book['id']}/{book['id']}:9+2").status_code == 404
    assert client.get(f"/passages/{book['id']}/emma:1+2").status_code == 404


def test_judgments_survive_a_restart_and_are_scored_with_the_exported_run(
    client: TestClient, tmp_path: Path, irtoolkit: Any
) -> None:
    book, query = added(client), "burned the chairs"
    hits = asked(client, book, query=query, length=1).json()["answers"][0]["hits"]
    body = {"collection": book["id"], "query": query}
    for place, grade in ((0, 1), (1, 0), (1, None), (1, 0)):
        answer = client.post(
            "/judgments", json={**body, "passage": hits[place]["id"], "grade": grade}
        )
        assert answer.status_code == 201
    assert (
        client.post("/judgments", json={**body, "passage": "x:0+1", "grade": 1}).status_code == 400
    )
    run = tmp_path / "a.run"
    run.write_text(asked(client, book, query=query, length=1, format="trec").text)
    library = Library(tmp_path / "library", None)
    with TestClient(application(library, Access.local(8801)), base_url=HOST) as other:
        qrels = tmp_path / "a.qrels"
        qrels.write_text(other.get("/judgments/qrels").text)
        assert other.get("/judgments/topics").text.endswith(f"\t{query}\n")
    assert len(qrels.read_text().splitlines()) == 2
    scored = irtoolkit("eval", qrels, run, "-m", "RR@20")
    assert scored.status == 0, scored.err
    assert "1.0000" in scored.out


@pytest.mark.parametrize(
    ("judged", "grades"),
    [
        ({"6+1": 1}, {"6+1": 1, "5+2": 1, "4+3": 1, "2+1": None}),
        ({"4+4": 0}, {"6+1": 0, "6+3": 0, "7+4": None, "0+5": None}),
        ({"6+2": 1, "7+2": 0}, {"6+2": 1, "7+2": 0, "7+1": 0, "6+3": 0, "5+2": 1}),
        ({"6+1": 1, "5+2": None}, {"5+2": 1}),
    ],
)
def test_a_judgment_counts_for_passages_that_overlap(
    judged: dict[str, int | None], grades: dict[str, int | None]
) -> None:
    made = [
        Judgment("lamp", "chairs", f"lamp:{span}", grade, time=time)
        for time, (span, grade) in enumerate(judged.items())
        if grade is not None
    ]
    for span, grade in grades.items():
        found = judgment_for(made, Span.parse(f"lamp:{span}"))
        assert (None if found is None else found.grade) == grade, span
        assert judgment_for(made, Span.parse(f"moor:{span}")) is None


def test_a_judgment_counts_in_searches_of_another_length(client: TestClient) -> None:
    book = added(client)
    passage = f"{book['id']}:6+1"
    body = {"collection": book["id"], "query": "burned the chairs"}
    client.post("/judgments", json={**body, "passage": passage, "grade": 1})
    (answer,) = asked(client, book, query="burned  the chairs", length=2).json()["answers"]
    first = answer["hits"][0]
    assert first["id"] != passage
    assert (first["grade"], first["judged"]) == (1, passage)


def test_what_counts_for_a_passage_is_withdrawn_and_the_answer_gives_all_grades(
    client: TestClient,
) -> None:
    book = added(client)
    shown = [f"{book['id']}:{span}" for span in ("0+4", "2+4", "4+4", "6+2")]

    def judge(span: str, grade: int | None) -> list[int | None]:
        body = {"collection": book["id"], "query": "the lamp", "grade": grade, "shown": shown}
        answer = client.post("/judgments", json={**body, "passage": f"{book['id']}:{span}"})
        assert answer.status_code == 201
        assert answer.json()["passage"] == f"{book['id']}:{span}"
        found = asked(client, book, query="the lamp", length=4).json()["answers"][0]["hits"]
        grades: dict[str, int | None] = answer.json()["grades"]
        # A search says the same.
        assert all(grades.get(hit["id"], hit["grade"]) == hit["grade"] for hit in found)
        return [grades[name] for name in shown]

    assert judge("0+4", 1) == [1, 1, None, None]
    assert judge("4+4", 1) == [1, 1, 1, 1]
    # Two overlapping passages have this grade: both are withdrawn, and it does not come back.
    assert judge("2+4", None) == [None, None, None, None]
    assert judge("2+4", 0) == [0, 0, 0, None]
    assert judge("0+4", 1) == [1, 0, 0, None]
    # With its own grade withdrawn, that of the passage that overlaps it counts.
    assert judge("0+4", None) == [0, 0, 0, None]
    assert judge("6+2", None) == [0, 0, 0, None]
    assert client.get("/judgments/qrels").text.split()[2:] == [f"{book['id']}:2+4", "0"]


def test_a_reader_withdraws_the_grade_that_was_seen_and_no_other(client: TestClient) -> None:
    book = added(client)
    one, other = f"{book['id']}:0+4", f"{book['id']}:2+4"
    body = {"collection": book["id"], "query": "the lamp", "shown": [one, other]}

    def judge(passage: str, grade: int | None, **more: Any) -> list[int | None]:
        answer = client.post(
            "/judgments", json={**body, "passage": passage, "grade": grade, **more}
        )
        return [answer.json()["grades"][name] for name in (one, other)]

    judge(other, 0)
    assert judge(one, 1) == [1, 0]
    # Two readers withdraw what they saw of the first passage: the second finds it gone already.
    assert judge(one, None, seen=1) == [0, 0]
    assert judge(one, None, seen=1) == [0, 0]
    # Somebody else has judged it otherwise meanwhile.
    judge(one, 1)
    assert judge(one, None, seen=0) == [1, 0]
    assert judge(one, None) == [0, 0]


def test_judgments_that_are_withdrawn_at_once_are_withdrawn_once(tmp_path: Path) -> None:
    kept = Judgments(tmp_path, 99)
    for span in ("0+4", "2+4"):
        kept.add(Judgment("lamp", "wick", f"lamp:{span}", 1))
    kept.add(Judgment("lamp", "wick", "lamp:4+4", 0))
    withdrawn = Judgment("lamp", "wick", "lamp:1+4", None)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kept.add(withdrawn, 1), range(8)))
    assert [one.passage for one in kept.of()] == ["lamp:4+4"]
    assert [one.passage for one in Judgments(tmp_path, 99).of()] == ["lamp:4+4"]
    assert len((tmp_path / "judgments.jsonl").read_text("utf-8").splitlines()) == 5


def test_judgments_as_a_table_have_the_passages(client: TestClient) -> None:
    book = added(client)
    body = {"collection": book["id"], "query": "=burned, the chairs?"}
    for span, grade in (("6+1", 1), ("0+1", 0)):
        client.post("/judgments", json={**body, "passage": f"{book['id']}:{span}", "grade": grade})
    path = f"/judgments/table?collection={book['id']}"
    rows = list(csv.DictReader(io.StringIO(client.get(path).text)))
    assert [(row["judgment"], row["query"]) for row in rows] == [("this is it", "'=burned, the chairs?"), ("not this", "'=burned, the chairs?")]  # fmt: skip
    assert (rows[0]["chapter"], rows[0]["sentence"]) == ("CHAPTER II", "2")
    assert rows[0]["text"] == "She burned the chairs, then the table."
    assert client.delete(f"/collections/{book['id']}").status_code == 204
    (gone, _) = csv.DictReader(io.StringIO(client.get(path).text))
    assert (gone["judgment"], gone["text"], gone["id"]) == ("this is it", "", f"{book['id']}:6+1")


def test_a_judgment_has_the_text_of_the_book_of_its_own_collection() -> None:
    texts = {"one": b"The lamp burned.", "two": b"The wick was red."}
    novels = {(name, "emma"): novel_of(text, "Emma", name="emma") for name, text in texts.items()}
    judgments = [Judgment(name, "\n=lamp", "emma:0+1", 1) for name in (*texts, "gone")]
    rows = list(csv.DictReader(io.StringIO("".join(judgment_lines(judgments, novels)), newline="")))
    assert [row["text"] for row in rows] == ["The lamp burned.", "The wick was red.", ""]
    # A formula may begin on a line of its own.
    assert rows[0]["query"] == "'\n=lamp"


def test_a_line_of_judgments_that_was_cut_short_was_never_confirmed(
    client: TestClient, tmp_path: Path
) -> None:
    book = added(client)
    body = {"collection": book["id"], "query": "lamp", "passage": f"{book['id']}:0+1", "grade": 1}
    client.post("/judgments", json=body)
    path = tmp_path / "library" / "judgments.jsonl"
    path.write_bytes(path.read_bytes() + b'{"collection": "x')
    cut = path.read_bytes()
    library = Library(tmp_path / "library", None)
    assert len(library.judgments.of()) == 1
    # Another process may be writing it: only who adds a line takes it away.
    assert path.read_bytes() == cut
    library.judgments.add(Judgment(book["id"], "wick", f"{book['id']}:1+1", 0))
    assert [one.query for one in Judgments(path.parent, 9).of()] == ["lamp", "wick"]


def test_a_table_has_no_formulas(client: TestClient) -> None:
    book = added(client, "=HYPERLINK(1) said the lamp. The lamp was red.", "@x.txt")
    text = asked(client, book, query="lamp", length=1, format="csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["text"] for row in rows} == {"'=HYPERLINK(1) said the lamp.", "The lamp was red."}


def test_a_removed_book_is_gone_and_may_come_back(client: TestClient, tmp_path: Path) -> None:
    book = added(client)
    assert client.delete(f"/collections/{book['id']}").status_code == 204
    assert client.get("/collections").json() == []
    assert list((tmp_path / "library" / "books").iterdir()) == []
    assert client.delete(f"/collections/{book['id']}").status_code == 404
    assert asked(client, book, query="lamp").status_code == 404
    assert added(client)["id"] == book["id"]


def test_queries_that_find_nothing_say_why(client: TestClient) -> None:
    book = added(client)
    assert "commonest" in asked(client, book, query="xylophone").json()["answers"][0]["note"]
    for query in ("[quote]", "   ", "?!"):
        answer = asked(client, book, query=query)
        assert answer.status_code == 400
        assert "no word" in answer.json()["detail"]


def test_the_api_describes_itself(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert {"/collections", "/search", "/passages/{name}/{passage}", "/judgments", "/health"} <= set(described["paths"])  # fmt: skip
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            assert one.get("description"), f"{method} {path}"
    assert client.get("/docs").status_code == 404


@pytest.mark.parametrize("path", ["/judgments", "/judgments/qrels", "/judgments/topics"])
def test_judgments_of_no_collection_are_not_there_but_outlive_their_book(
    client: TestClient, path: str
) -> None:
    assert client.get(path, params={"collection": "nope"}).status_code == 404
    book = added(client)
    assert client.get(path, params={"collection": book["id"]}).status_code == 200
    body = {"collection": book["id"], "query": "lamp", "passage": f"{book['id']}:0+1", "grade": 1}
    assert client.post("/judgments", json=body).status_code == 201
    assert client.delete(f"/collections/{book['id']}").status_code == 204
    kept = client.get(path, params={"collection": book["id"]})
    assert kept.status_code == 200
    assert "lamp" in kept.text or book["id"] in kept.text


def test_a_book_is_one_however_it_comes(tmp_path: Path, write: Any) -> None:
    path = write("lamp.txt", BOOK)
    library = Library(tmp_path / "library", None)
    first, is_new = library.shelf.add_upload(BOOK.encode(), "lamp.txt")
    assert is_new
    for data, name in (
        (BOOK.encode(), "lamp (1).txt"),
        (BOOK.replace("\n", "\r\n").encode(), "lamp.txt"),
        (gzip.compress(BOOK.encode()), "lamp.txt.gz"),
        (BOOK.encode("utf-16"), "lamp.txt"),
    ):
        assert library.shelf.add_upload(data, name) == (first, False)
    assert library.shelf.add_file(path) is first
    assert library.shelf.add_upload(b"Another lamp was lit.", "lamp.txt")[1]
    # The other way round: a file of the command line is on the shelf before the books of readers.
    again = Library(tmp_path / "library", None)
    named = again.shelf.add_file(path)
    assert again.shelf.add_upload(BOOK.encode(), "lamp.txt") == (named, False)
    again.shelf.start(writes=True)
    again.shelf.preparing.end()
    assert [entry.source for entry in again.shelf.entries()] == ["file", "book"]
    # Judgments of the one are those of the other.
    assert named.collection.name == first.collection.name


def test_a_book_that_is_ready_has_been_searched(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []
    own = Collection.answer

    def answer(self: Collection, *rest: Any) -> Any:
        entry = library.shelf.get(self.name)
        if entry.collection is self:  # a server of an earlier test may still search its own
            searched.append((self.name, entry.progress.stage))
        return own(self, *rest)

    library: Library = client.app.state.library  # type: ignore[attr-defined]
    monkeypatch.setattr(Collection, "answer", answer)
    book = added(client)
    assert searched == [(book["id"], "words")]


def test_a_body_that_is_not_sent_as_json_is_told_the_header(client: TestClient) -> None:
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = client.post("/search", content='{"query": "lamp"}', headers=headers)
        assert answer.status_code == 422
        assert "Content-Type: application/json" in answer.json()["detail"]
    answer = client.post("/search", json={"query": "lamp"})
    assert answer.json()["detail"].startswith("collection: ")
