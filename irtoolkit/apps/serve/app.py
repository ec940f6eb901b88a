"""The HTTP application: the API, the files of the page, and running it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from irtoolkit.apps.serve.asking import BusyError, LateError, PreparingError
from irtoolkit.apps.serve.entries import Entry
from irtoolkit.apps.serve.exports import csv_lines, judgment_lines, trec_lines
from irtoolkit.apps.serve.library import Library, judged
from irtoolkit.apps.serve.limits import TooLargeError, rules
from irtoolkit.apps.serve.models import (
    CollectionModel,
    HealthModel,
    JudgmentAnswer,
    JudgmentModel,
    JudgmentRequest,
    NearAnswer,
    NearRequest,
    PassageModel,
    Problem,
    SearchAnswer,
    SearchRequest,
)
from irtoolkit.apps.serve.shelf import FullError, NoCollectionError
from irtoolkit.apps.web.guard import Access, Guard
from irtoolkit.apps.web.pages import add_page, problems
from irtoolkit.apps.web.server import Patience, run
from irtoolkit.base.errors import InputError
from irtoolkit.version import __version__

# Seconds between two looks at the progress of a collection, and that a stream lives.
_LOOK, _STREAM = 0.25, 1800.0
_PLAIN, _TABLE = "text/plain; charset=utf-8", "text/csv; charset=utf-8"
_ID = Annotated[str, InPath(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
_WANTED = Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
_REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (400, 401, 403, 404, 413, 429, 503)
}
_ABOUT = """Search novels by what one wants to say of them.

`POST /collections` adds a book, `GET /collections/{id}/progress` streams how far it is prepared,
`POST /search` finds passages, `POST /judgments` records what a reader says of them. Where the server
asks for a token, send `Authorization: Bearer TOKEN`. A server that has too much to do answers 429 with
`Retry-After`. Ids of passages are `book:start+n`: n sentences, the first counted from 0."""


def application(library: Library, access: Access) -> FastAPI:
    """The application of a library, behind its guard."""

    # The usual pages of documentation load scripts from other servers.
    app = FastAPI(
        title="irtoolkit",
        version=__version__,
        description=_ABOUT,
        lifespan=lambda _: library.living(),
        docs_url=None,
        redoc_url=None,
        responses=_REFUSED,
    )
    app.state.library = library
    library.shows_judgments = not access.public
    _add_errors(app)
    add_page(app, "irtoolkit.apps.serve")
    _add_shelf(app, library)
    _add_uploads(app, library)
    _add_progress(app, library)
    _add_search(app, library)
    _add_judgments(app, library)

    @app.get("/health", tags=["server"])
    async def health() -> HealthModel:
        """Whether the server answers, and what it takes at most. Needs no token."""
        entries = library.shelf.entries()
        return HealthModel(
            status="ok",
            version=__version__,
            collections=len(entries),
            waiting=library.desk.waiting if library.desk else 0,
            preparing=sum(e.progress.stage not in ("ready", "failed") for e in entries),
            public=access.public,
            limits=asdict(library.limits),
        )

    app.add_middleware(Guard, access=access, rules=rules(library.limits))
    return app


def _add_errors(app: FastAPI) -> None:
    problems(app)

    @app.exception_handler(InputError)
    async def bad_input(_: Request, error: InputError) -> JSONResponse:
        status = {TooLargeError: 413, FullError: 409}.get(type(error), 400)
        message = error.found if error.remedy is None else f"{error.found}: {error.remedy}"
        return JSONResponse({"detail": message}, status)

    @app.exception_handler(NoCollectionError)
    async def not_there(_: Request, error: NoCollectionError) -> JSONResponse:
        return JSONResponse({"detail": "there is no such collection"}, 404)

    @app.exception_handler(BusyError)
    async def busy(_: Request, error: BusyError) -> JSONResponse:
        return JSONResponse(
            {"detail": str(error) or "too many queries wait"}, 429, {"Retry-After": "2"}
        )

    @app.exception_handler(LateError)
    async def late(_: Request, error: LateError) -> JSONResponse:
        return JSONResponse({"detail": "this took too long"}, 503, {"Retry-After": "5"})

    @app.exception_handler(PreparingError)
    async def preparing(_: Request, error: PreparingError) -> JSONResponse:
        message = "the book is being indexed; come again"
        return JSONResponse({"detail": message}, 503, {"Retry-After": "2"})


def _add_shelf(app: FastAPI, library: Library) -> None:
    @app.get("/collections", tags=["collections"])
    async def collections() -> list[CollectionModel]:
        """All collections on the shelf."""
        return await asyncio.to_thread(
            lambda: [library.described(entry) for entry in library.shelf.entries()]
        )

    @app.get("/collections/{name}", tags=["collections"])
    async def collection(name: _ID) -> CollectionModel:
        """One collection."""
        return library.described(library.shelf.get(name))

    @app.delete("/collections/{name}", tags=["collections"], status_code=204)
    async def remove(name: _ID) -> None:
        """Removes a book that a reader has added; judgments of it are kept."""
        await asyncio.to_thread(library.shelf.remove, name)


_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("text/plain", "application/gzip", "application/zip")
        },
    }
}


def _add_uploads(app: FastAPI, library: Library) -> None:
    uploads = app.state.uploads = asyncio.Semaphore(library.limits.uploads)

    @app.post("/collections", tags=["collections"], status_code=202, openapi_extra=_UPLOAD)
    async def add(
        request: Request,
        response: Response,
        filename: Annotated[str, Query(max_length=255, description="names the book")] = "",
    ) -> CollectionModel:
        """Adds a book: the body is its plain text, or gzip or a .zip of it. 200 if it is there already."""
        library.shelf.check_room()
        if uploads.locked():
            raise BusyError("others are adding books")
        async with uploads:
            data = bytearray()
            async for piece in request.stream():
                data += piece
            entry, is_new = await asyncio.to_thread(library.shelf.add_upload, bytes(data), filename)
        response.status_code = 202 if is_new else 200
        return library.described(entry)


def _add_progress(app: FastAPI, library: Library) -> None:
    streams = asyncio.Semaphore(library.limits.streams)

    async def events(entry: Entry) -> AsyncIterator[str]:
        clock = asyncio.get_running_loop().time
        async with streams:
            previous, until = None, clock() + _STREAM
            while clock() < until and not entry.gone and not library.ending:
                now = entry.progress
                if now != previous:
                    previous = now
                    yield f"data: {json.dumps(asdict(now))}\n\n"
                if now.stage in ("ready", "failed"):
                    return
                await asyncio.sleep(_LOOK)

    @app.get("/collections/{name}/progress", tags=["collections"])
    async def progress(name: _ID) -> StreamingResponse:
        """Streams progress as server-sent events until the collection is ready or has failed."""
        entry = library.shelf.get(name)
        if streams.locked():
            raise BusyError
        return StreamingResponse(
            events(entry), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )


def _add_search(app: FastAPI, library: Library) -> None:
    @app.post("/search", tags=["search"], response_model=SearchAnswer)
    async def search(request: SearchRequest) -> Any:
        """Finds passages, with every system that is named, as JSON, CSV or a TREC run."""
        answer = await library.search(request)
        if request.format == "csv":
            return _file("".join(csv_lines(answer)), _TABLE, "passages.csv")
        if request.format == "trec":
            return _file("".join(trec_lines(answer)), _PLAIN, "passages.run")
        # What the framework would do first, checking its own answer, takes longer than the search.
        return Response(answer.model_dump_json(), media_type="application/json")

    @app.post("/near", tags=["search"])
    async def near(request: NearRequest) -> NearAnswer:
        """The words of some passages that are nearest to a query in meaning."""
        return await library.near(request)

    @app.get("/passages/{name}/{passage}", tags=["search"])
    async def passage(
        name: _ID,
        passage: Annotated[str, InPath(max_length=200)],
        before: Annotated[int, Query(ge=0, le=50)] = 5,
        after: Annotated[int, Query(ge=0, le=50)] = 5,
    ) -> PassageModel:
        """A passage with sentences before and after it."""
        try:
            return await library.read(name, passage, before, after)
        except InputError as error:
            raise HTTPException(404, error.found) from None


def _add_judgments(app: FastAPI, library: Library) -> None:
    kept = library.judgments

    @app.get("/judgments", tags=["judgments"])
    async def judgments(collection: _WANTED = None) -> list[JudgmentModel]:
        """The judgments that count."""
        library.check_collection(collection)
        return await asyncio.to_thread(
            lambda: [judged(judgment) for judgment in kept.of(collection)]
        )

    @app.post("/judgments", tags=["judgments"], status_code=201)
    async def judge(request: JudgmentRequest) -> JudgmentAnswer:
        """Records a judgment; it is on the disk when this answers."""
        return await asyncio.to_thread(library.judge, request)

    @app.get("/judgments/qrels", tags=["judgments"])
    async def qrels(collection: _WANTED = None) -> PlainTextResponse:
        """The judgments as a TREC qrels file, which `irtoolkit eval` takes."""
        library.check_collection(collection)
        text = await asyncio.to_thread(lambda: "".join(kept.qrels(collection)))
        return _file(text, _PLAIN, "judgments.qrels")

    @app.get("/judgments/topics", tags=["judgments"])
    async def topics(collection: _WANTED = None) -> PlainTextResponse:
        """The queries that were judged, as TSV."""
        library.check_collection(collection)
        text = await asyncio.to_thread(lambda: "".join(kept.topics(collection)))
        return _file(text, _PLAIN, "topics.tsv")

    @app.get("/judgments/table", tags=["judgments"])
    async def table(collection: _WANTED = None) -> PlainTextResponse:
        """The judgments with their passages, as CSV for a spreadsheet."""
        library.check_collection(collection)
        novels = {
            (entry.collection.name, novel.name): novel
            for entry in library.shelf.entries()
            for novel in entry.collection.novels
        }
        text = await asyncio.to_thread(lambda: "".join(judgment_lines(kept.of(collection), novels)))
        return _file(text, _TABLE, "judgments.csv")


def _file(text: str, kind: str, name: str) -> PlainTextResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, media_type=kind, headers=headers)


def serve(
    library: Library,
    listener: socket.socket,
    access: Access,
    ready: Callable[[], object],
    ending: Callable[[], object] = lambda: None,
) -> None:
    """Serves a library until SIGTERM or Ctrl-C; see `irtoolkit.apps.web.server.run`."""
    limits = library.limits
    patience = Patience(limits.head_seconds, limits.answer_seconds, limits.connections)

    def told() -> None:
        ending()
        # Answers that stream progress end by it.
        library.end()

    run(application(library, access), listener, patience, ready, told, library.living)
