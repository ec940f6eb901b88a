"""The API behind the page: judgments are kept, and nobody else's are seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import irtoolkit as ir
from irtoolkit.apps.annotate.app import application
from irtoolkit.apps.annotate.grades import Grades
from irtoolkit.apps.annotate.pool import Pool, Source, pooled
from irtoolkit.apps.annotate.session import Session
from irtoolkit.apps.web.guard import Access

HOST = "http://127.0.0.1:8802"
SAMPLE = "csfcube/sample"


def session(folder: Path, annotator: str = "ann", grades: Grades | None = None) -> Session:
    data = ir.load(SAMPLE)
    pool: Pool = pooled(data, Source(queries=2), grades or Grades(), lambda line: None)
    pool.keep(folder)
    return Session(data, pool, folder, annotator)


def client(made: Session, access: Access | None = None) -> TestClient:
    shown = TestClient(application(made, access or Access.local(8802)), base_url=HOST)
    shown.headers["X-Session"] = made.key
    return shown


def judge(shown: TestClient, query: int, place: int, grade: Any, before: Any = None) -> Any:
    asked = shown.get(f"/queries/{query}").json()
    return shown.post(
        "/judgments",
        json={
            "query": asked["query"], "document": asked["documents"][place]["document"],
            "grade": grade, "before": before,
        },
    )  # fmt: skip


@pytest.mark.parametrize("value", [True, "1", 1.0])
def test_only_whole_numbers_are_grades(tmp_path: Path, value: Any) -> None:
    shown = client(session(tmp_path))
    assert judge(shown, 0, 0, value).status_code == 422
    assert judge(shown, 0, 0, 1, before=value).status_code == 422
    assert not (tmp_path / "ann.qrels").exists()


def test_what_is_judged_is_on_the_disk_and_found_again(tmp_path: Path) -> None:
    made = session(tmp_path)
    shown = client(made)
    task = shown.get("/task").json()
    assert (task["annotator"], task["judged"], task["lang"]) == ("ann", 0, "en")
    assert [one["grade"] for one in task["grades"]] == [0, 1, 2, 3]
    assert judge(shown, 1, 3, 2).json() == {"judged": 1}
    row = shown.get("/queries/1").json()
    chosen = row["documents"][3]["document"]
    assert (tmp_path / "ann.qrels").read_text() == f"{row['query']} 0 {chosen} 2\n"
    text = shown.get("/queries/1/documents/3").json()
    assert text["document"] == chosen
    assert text["parts"][0]["heading"] is True
    again = client(session(tmp_path))
    assert again.get("/task").json()["queries"][1]["judged"] == 1
    assert again.get("/queries/1").json()["documents"][3]["grade"] == 2
    # Withdrawn, and judged from two windows.
    assert judge(again, 1, 3, None, 2).status_code == 200
    assert judge(again, 1, 3, 1).status_code == 200
    conflict = judge(again, 1, 3, 0)
    assert (conflict.status_code, conflict.json()["detail"]) == (
        409, "this was judged 1 in another window",
    )  # fmt: skip


def test_two_annotators_see_other_orders_and_not_each_other(tmp_path: Path) -> None:
    ann, ben = client(session(tmp_path)), client(session(tmp_path, "ben"))
    first, second = (one.get("/queries/0").json()["documents"] for one in (ann, ben))
    assert [row["document"] for row in first] != [row["document"] for row in second]
    assert sorted(row["document"] for row in first) == sorted(row["document"] for row in second)
    assert judge(ann, 0, 0, 3).status_code == 200
    seen = str([ben.get(path).json() for path in ("/task", "/queries/0", "/queries/1")])
    assert "'ann'" not in seen
    assert all(row["grade"] is None for row in ben.get("/queries/0").json()["documents"])
    assert not (tmp_path / "ben.qrels").exists()
    # A tab of ann's that is still open, where the server is now ben's.
    late = client(session(tmp_path, "ben"))
    late.headers["X-Session"] = ann.headers["X-Session"]
    assert judge(late, 0, 0, 3).status_code == 409
    assert not (tmp_path / "ben.qrels").exists()


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"grade": 4}, 400, "grade 4 is none of 0-3"),
        ({"grade": "2x"}, 422, "grade: "),
        ({"query": "qx"}, 404, "not in the pool"),
        ({"document": "dx"}, 404, "not in the pool"),
        ({"document": ""}, 422, "document: "),
        ({"rank": 1}, 422, "rank: "),
    ],
)
def test_bad_judgments_are_refused(
    tmp_path: Path, body: dict[str, Any], status: int, said: str
) -> None:
    shown = client(session(tmp_path))
    row = shown.get("/queries/0").json()
    one = {"query": row["query"], "document": row["documents"][0]["document"], "grade": 1, "before": None}  # fmt: skip
    answer = shown.post("/judgments", json={**one, **body})
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert not (tmp_path / "ann.qrels").exists()


def test_there_is_nothing_beyond_the_pool(tmp_path: Path) -> None:
    shown = client(session(tmp_path))
    for path in ("/queries/2", "/queries/-1", "/queries/0/documents/99", "/queries/0/documents/-1"):
        assert shown.get(path).status_code == 404
    assert shown.get("/openapi.json").status_code == 404
    assert shown.get("/page/../app.py").status_code == 404
    assert shown.get("/page/nothing.js").status_code == 404
    for name in ("main.js", "api.js", "base.css", "style.css"):
        assert shown.get(f"/page/{name}").status_code == 200


def test_notes_are_kept(tmp_path: Path) -> None:
    shown = client(session(tmp_path))
    row = shown.get("/queries/0").json()
    pair = {"query": row["query"], "document": row["documents"][0]["document"]}
    assert shown.post("/notes", json={**pair, "note": "only <b>one</b>"}).status_code == 204
    assert shown.get("/queries/0").json()["documents"][0]["note"] == "only <b>one</b>"
    assert shown.post("/notes", json={**pair, "note": "x" * 2001}).status_code == 422


def test_other_sites_and_requests_without_the_token_get_nothing(tmp_path: Path) -> None:
    made = session(tmp_path)
    shown = client(made)
    assert judge(shown, 0, 0, 1).status_code == 200
    body = {"query": "q", "document": "d", "grade": 1, "before": None}
    rebound = shown.get("/task", headers={"Host": "evil.example:8802"})
    assert rebound.status_code == 421
    crossed = shown.post("/judgments", json=body, headers={"Origin": "http://evil.example"})
    assert crossed.status_code == 403
    page = shown.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    guarded = client(made, Access(token="secret"))
    assert guarded.get("/").status_code == 200
    assert guarded.get("/task").status_code == 401
    assert guarded.get("/task", headers={"Authorization": "Bearer secret"}).status_code == 200
