"""The library as tools for programs that speak the Model Context Protocol (MCP)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, ValidationError

from irtoolkit.apps.serve.asking import BusyError, LateError, PreparingError
from irtoolkit.apps.serve.collection import SystemName
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.models import PassageModel, SearchAnswer, SearchRequest
from irtoolkit.apps.web.pages import Whole
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.novels import LONGEST
from irtoolkit.ranking.book_system import BOOKS
from irtoolkit.version import __version__

_ABOUT = (
    "Searches novels for the passages that fit a description or a sentence of criticism. List the"
    " collections first. Ids of passages are book:start+n: n sentences, the first counted from 0."
)


_Collection = Annotated[
    str | None, Field(description="the id of a collection; by default the only one there is")
]


class _Server(MCPServer[Any]):
    """A server that says in one line what is wrong with the arguments of a call."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        for tool in await self.list_tools():
            known = tool.input_schema.get("properties", {})
            unknown = [argument for argument in arguments if argument not in known]
            if tool.name == name and unknown:
                has = f"has {', '.join(known)}" if known else "has none"
                raise ToolError(f"no argument {', '.join(unknown)}: {name} {has}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            first = error.__cause__.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise ToolError(f"{field}: {first['msg']}") from None


def server(library: Library) -> MCPServer[Any]:
    """The tools of a library."""

    @asynccontextmanager
    async def living(_: Any) -> AsyncIterator[None]:
        await library.open()
        try:
            yield
        finally:
            await library.close()

    mcp = _Server("irtoolkit", version=__version__, instructions=_ABOUT, lifespan=living)
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
        query: Annotated[str, Field(description="what the passage says; [quote] may mark a gap")],
        collection: _Collection = None,
        system: Annotated[
            SystemName | None, Field(description="by default the best there is")
        ] = None,
        length: Annotated[Whole, Field(ge=1, le=LONGEST, description="sentences")] = BOOKS.length,
        passages: Annotated[Whole, Field(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Finds the passages that fit a query, best first, with their place in the book."""
        try:
            request = SearchRequest(
                collection=_chosen(library, collection),
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
        passage: Annotated[str, Field(description="the id of a passage")],
        collection: _Collection = None,
        before: Annotated[Whole, Field(ge=0, le=50)] = 5,
        after: Annotated[Whole, Field(ge=0, le=50)] = 5,
    ) -> dict[str, Any]:
        """A passage with sentences before and after it."""
        try:
            passage_model = library.passage(_chosen(library, collection), passage, before, after)
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


def _chosen(library: Library, name: str | None) -> str:
    """Returns the name of the collection that is meant.

    Raises:
        ToolError: there is none of this name; or none is named, and there are several or none.
    """
    names = [entry.collection.name for entry in library.shelf.entries()]
    if name in names:
        return str(name)
    if name is None and len(names) == 1:
        return names[0]
    wrong = "no collection is named" if name is None else "there is no such collection"
    raise ToolError(f"{wrong}: {'there are ' + ', '.join(names) if names else 'no book is here'}")


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
