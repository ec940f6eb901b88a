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
from irtoolkit.apps.web.pages import Whole
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

    mcp = MCPServer("irtoolkit", instructions=_ABOUT, lifespan=living)
    _add_lists(mcp, library)
    _add_search(mcp, library)
    _add_reading(mcp, library)
    return mcp


def _add_lists(mcp: MCPServer[Any], library: Library) -> None:
    @mcp.tool()
    async def list_collections() -> list[dict[str, Any]]:
        """The books that can be searched, with their ids and the systems that can answer now."""
        described = [library.described(entry) for entry in library.shelf.entries()]
        return [
            {
                "id": collection.id,
                "title": collection.title,
                "lang": collection.lang,
                "systems": collection.systems,
                "stage": collection.progress.stage,
                "books": [
                    {
                        "name": book.name,
                        "title": book.title,
                        "author": book.author,
                        "sentences": book.sentences,
                    }
                    for book in collection.books
                ],
            }
            for collection in described
        ]


def _add_search(mcp: MCPServer[Any], library: Library) -> None:
    @mcp.tool()
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


def _add_reading(mcp: MCPServer[Any], library: Library) -> None:
    @mcp.tool()
    async def read_passage(
        collection: Annotated[str, Field(description="the id of a collection")],
        passage: Annotated[str, Field(description="the id of a passage")],
        before: Annotated[Whole, Field(ge=0, le=50)] = 5,
        after: Annotated[Whole, Field(ge=0, le=50)] = 5,
    ) -> dict[str, Any]:
        """A passage with sentences before and after it."""
        try:
            passage_model = library.passage(collection, passage, before, after)
        except (KeyError, InputError) as error:
            raise ToolError(_said(error)) from None
        parts = {
            "before": passage_model.before,
            "passage": passage_model.sentences,
            "after": passage_model.after,
        }
        texts = {name: _text(part) for name, part in parts.items()}
        return {**_placed(passage_model), **texts}


def run(library: Library) -> None:
    """Serves the tools on standard input and output until the input ends."""
    server(library).run("stdio")


def _brief(answer: SearchAnswer) -> dict[str, Any]:
    """An answer without what only a page needs."""
    (system_answer,) = answer.answers
    hits = [
        {
            **_placed(hit),
            "rank": hit.rank,
            "score": hit.score,
            "text": _text(hit.sentences),
            "why": hit.explanation,
        }
        for hit in system_answer.hits
    ]
    return {"system": system_answer.system, "hits": hits, "note": system_answer.note}


def _placed(passage: PassageModel) -> dict[str, Any]:
    return {
        "id": passage.id,
        "title": passage.title,
        "author": passage.author,
        "chapter": passage.place.chapter,
        "share": round(passage.place.share, 4),
    }


def _text(sentences: Any) -> str:
    return " ".join("".join(sentence.pieces) for sentence in sentences)


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return "there is no such collection"
    message = {
        BusyError: "too many queries wait",
        LateError: "this took too long",
        PreparingError: "the book is being indexed; ask again",
    }
    return message.get(type(error), str(error))
