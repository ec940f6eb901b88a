"""Files of a page, values of requests, and answers to bad requests."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import Strict
from starlette.requests import ClientDisconnect

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_NOT_JSON = "the body is to be a JSON object, sent with the header Content-Type: application/json"
# Whose folder `page` has what all pages share.
_SHARED = "irtoolkit.apps.web"


def add_page(app: FastAPI, package: str) -> None:
    """Serves a package's folder `page` under /page/, its index.html under /, and shared files."""
    # Read once: a request names no file.
    page_files = {
        item.name: item.read_bytes()
        for name in (_SHARED, package)
        for item in (files(name) / "page").iterdir()
        if "." in item.name
    }

    def answer(name: str) -> Response:
        if name not in page_files:
            raise HTTPException(404, "there is no such page")
        kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(page_files[name], media_type=kind, headers={"Cache-Control": "no-cache"})

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return answer("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        return answer(name)


def problems(app: FastAPI) -> None:
    """Adds handlers that describe what is wrong with a request in one line."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # Without what was sent, which may be long.
        first = error.errors()[0]
        if first["loc"] == ("body",) and not _is_json(request):
            return JSONResponse({"detail": _NOT_JSON}, 422)
        field = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"detail": f"{field}: {first['msg']}".removeprefix(": ")}, 422)

    @app.exception_handler(ClientDisconnect)
    async def left(_: Request, error: ClientDisconnect) -> JSONResponse:
        # Nobody reads it; without it the server logs a traceback.
        return JSONResponse({"detail": "the body ended too early"}, 400)


def _is_json(request: Request) -> bool:
    """Returns whether a request says that its body is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


# In JSON, true, "3" and 3.0 are no whole numbers.
Whole = Annotated[int, Strict()]
