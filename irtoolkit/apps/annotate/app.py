"""The HTTP application behind the page of an annotator."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from irtoolkit.apps.annotate.session import Session
from irtoolkit.apps.annotate.sheet import NOTE, ConflictError, UnknownPairError
from irtoolkit.apps.web.guard import Access, Guard, Rules
from irtoolkit.apps.web.pages import Whole, add_page, problems
from irtoolkit.base.errors import InputError
from irtoolkit.version import __version__

_Id = Annotated[str, Field(min_length=1, max_length=1000)]
_STATUS = {ConflictError: 409, UnknownPairError: 404}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JudgmentModel(_Strict):
    """A grade, and the grade that the page showed before; null for none."""

    query: _Id
    document: _Id
    grade: Whole | None
    before: Whole | None


class NoteModel(_Strict):
    """A note on a pair; an empty one removes it."""

    query: _Id
    document: _Id
    note: Annotated[str, Field(max_length=NOTE)]


def application(session: Session, access: Access) -> FastAPI:
    """Returns the application of one annotator's session, behind its guard."""
    app = FastAPI(
        title="irtoolkit annotate",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    problems(app)
    _add_errors(app)
    add_page(app, "irtoolkit.apps.annotate")
    _add_pool(app, session)
    _add_judgments(app, session)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    app.add_middleware(Guard, access=access, rules=Rules())
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    async def bad_input(_: Request, error: InputError) -> JSONResponse:
        message = error.found if error.remedy is None else f"{error.found}: {error.remedy}"
        return JSONResponse({"detail": message}, _STATUS.get(type(error), 400))


def _add_pool(app: FastAPI, session: Session) -> None:
    @app.get("/task")
    async def task() -> dict[str, Any]:
        return await asyncio.to_thread(session.task)

    @app.get("/queries/{number}")
    async def query(number: int) -> dict[str, Any]:
        return await asyncio.to_thread(session.query, number)

    @app.get("/queries/{number}/documents/{place}")
    async def document(number: int, place: int) -> dict[str, Any]:
        return await asyncio.to_thread(session.document, number, place)


def _add_judgments(app: FastAPI, session: Session) -> None:
    sheet = session.sheet

    def check(key: str) -> None:
        if key != session.key:
            raise HTTPException(
                409,
                f"this page is of another annotator or pool, and the server now keeps judgments of {sheet.annotator}: load the page again",
            )

    @app.post("/judgments")
    async def judge(one: JudgmentModel, x_session: Annotated[str, Header()] = "") -> dict[str, int]:
        """Keeps a judgment; it is on the disk when this answers."""
        check(x_session)
        await asyncio.to_thread(sheet.judge, one.query, one.document, one.grade, one.before)
        return {"judged": len(sheet)}

    @app.post("/notes", status_code=204)
    async def annotate(one: NoteModel, x_session: Annotated[str, Header()] = "") -> None:
        """Keeps a note; it is on the disk when this answers."""
        check(x_session)
        await asyncio.to_thread(sheet.set_note, one.query, one.document, one.note)
