"""The library as tools for programs that speak the Model Context Protocol (MCP)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from irtoolkit.apps.serve.asking import BusyError, LateError, PreparingError
from irtoolkit.apps.serve.collection import SystemName
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.models import PassageModel, SearchAnswer, SearchRequest
from irtoolkit.apps.web.values import Whole
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.novels import LONGEST
from irtoolkit.ranking.book_system import BOOKS

_ABOUT = (
    "Searches novels for the passages that fit a description or a sentence of criticism. List the"
    " collections first. Ids of passages are book:start+n: n sentences, the first counted from 0."
)


def server(library: Library) -> MCPServer[Any]:
    """The tools of a library."""

    @asynccontextmanager
    async def living(_: Any) -> AsyncIterator[None]:
        await library.open()
        try:
            yield
        finally:
            await library.close()

    made = MCPServer("irtoolkit", instructions=_ABOUT, lifespan=living)
    _add_lists(made, library)
    _add_search(made, library)
    _add_reading(made, library)
    return made


def _add_lists(made: MCPServer[Any], library: Library) -> None:
    @made.tool()
    async def list_collections() -> list[dict[str, Any]]:
        """The books that can be searched, with their ids and the systems that can answer now."""
        shown = [library.described(entry) for entry in library.shelf.entries()]
        return [
            {
                "id": one.id,
                "title": one.title,
                "lang": one.lang,
                "systems": one.systems,
                "stage": one.progress.stage,
                "books": [
                    {
                        "name": book.name,
                        "title": book.title,
                        "author": book.author,
                        "sentences": book.sentences,
                    }
                    for book in one.books
                ],
            }
            for one in shown
        ]


def _add_search(made: MCPServer[Any], library: Library) -> None:
    @made.tool()
    async def search_passages(
        collection: Annotated[str, Field(description="the id of a collection")],
        query: Annotated[str, Field(description="what the passage says; [quote] may mark a gap")],
        system: Annotated[
            SystemName | None, Field(description="by default the best there is")
        ] = None,
        length: Annotated[Whole, Field(ge=1, le=LONGEST, description="sentences")] = BOOKS.length,
        passages: Annotated[Whole, Field(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Finds the passages that fit a query, best first, with their place in the book."""
        try:
            request = SearchRequest(
                collection=collection,
                query=query,
                systems=[system] if system else None,
                length=length,
                depth=passages,
                context=0,
            )
            return _brief(await library.search(request))
        except (KeyError, InputError, BusyError, LateError, PreparingError, ValueError) as error:
            raise ToolError(_said(error)) from None


def _add_reading(made: MCPServer[Any], library: Library) -> None:
    @made.tool()
    async def read_passage(
        collection: Annotated[str, Field(description="the id of a collection")],
        passage: Annotated[str, Field(description="the id of a passage")],
        before: Annotated[Whole, Field(ge=0, le=50)] = 5,
        after: Annotated[Whole, Field(ge=0, le=50)] = 5,
    ) -> dict[str, Any]:
        """A passage with sentences before and after it."""
        try:
            found = library.passage(collection, passage, before, after)
        except (KeyError, InputError) as error:
            raise ToolError(_said(error)) from None
        parts = {"before": found.before, "passage": found.sentences, "after": found.after}
        texts = {name: _text(part) for name, part in parts.items()}
        return {**_placed(found), **texts}


def run(library: Library) -> None:
    """Serves the tools on standard input and output until the input ends."""
    server(library).run("stdio")


def _brief(answer: SearchAnswer) -> dict[str, Any]:
    """An answer without what only a page needs."""
    (one,) = answer.answers
    hits = [
        {
            **_placed(hit),
            "rank": hit.rank,
            "score": hit.score,
            "text": _text(hit.sentences),
            "why": hit.explanation,
        }
        for hit in one.hits
    ]
    return {"system": one.system, "hits": hits, "note": one.note}


def _placed(found: PassageModel) -> dict[str, Any]:
    return {
        "id": found.id,
        "title": found.title,
        "author": found.author,
        "chapter": found.place.chapter,
        "share": round(found.place.share, 4),
    }


def _text(sentences: Any) -> str:
    return " ".join("".join(one.pieces) for one in sentences)


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return "there is no such collection"
    said = {
        BusyError: "too many queries wait",
        LateError: "this took too long",
        PreparingError: "the book is being indexed; ask again",
    }
    return said.get(type(error), str(error))
