"""The MCP tools, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.apps.serve.library import Library
from tests.integration.apps.serve.test_api import BOOK
from tests.waiting import wait_for

pytest.importorskip("mcp")


def test_a_client_lists_searches_and_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    from mcp import Client

    from irtoolkit.apps.serve.mcp_tools import server

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    library = Library(tmp_path / "library", None)
    entry = library.shelf.add_file(write("lamp.txt", BOOK))
    name = entry.collection.name

    async def talk() -> list[Any]:
        async with Client(server(library)) as client:
            await asyncio.to_thread(wait_for, lambda: entry.progress.stage == "ready")
            tools = await client.list_tools()
            listed = await client.call_tool("list_collections", {})
            search = {"collection": name, "query": "she burned the chairs", "length": 1}
            found = await client.call_tool("search_passages", search)
            hit = found.structured_content["hits"][0]
            read = {"collection": name, "passage": hit["id"], "before": 1, "after": 0}
            around = await client.call_tool("read_passage", read)
            wrong = await client.call_tool("search_passages", {**search, "collection": "none"})
            for value in (True, "1", 1.5):
                for bad in ({"length": value}, {"passages": value}):
                    assert (await client.call_tool("search_passages", {**search, **bad})).is_error
                for bad in ({"before": value}, {"after": value}):
                    assert (await client.call_tool("read_passage", {**read, **bad})).is_error
            return [tools, listed, hit, around, wrong]

    tools, listed, hit, around, wrong = asyncio.run(talk())
    assert {tool.name for tool in tools.tools} == {"list_collections", "search_passages", "read_passage"}  # fmt: skip
    assert all(tool.description for tool in tools.tools)
    assert name in str(listed.structured_content)
    assert hit["text"] == "She burned the chairs, then the table."
    assert around.structured_content["before"] == "In March the oil ran out."
    assert wrong.is_error
    assert "no such collection" in str(wrong.content)


def test_arguments_that_are_wrong_are_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    from mcp import Client

    from irtoolkit.apps.serve.mcp_tools import server
    from irtoolkit.version import __version__

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    library = Library(tmp_path / "library", None)
    entry = library.shelf.add_file(write("lamp.txt", BOOK))
    query = {"query": "she burned the chairs"}

    async def talk() -> None:
        async with Client(server(library)) as client:

            async def refusal(tool: str, arguments: dict[str, Any]) -> str:
                answer = await client.call_tool(tool, arguments)
                assert answer.is_error
                return str(answer.content[0].text)

            assert client.server_info.version == __version__
            await asyncio.to_thread(wait_for, lambda: entry.progress.stage == "ready")
            found = await client.call_tool("search_passages", query)
            assert found.structured_content["hits"]
            passage = found.structured_content["hits"][0]["id"]
            assert not (await client.call_tool("read_passage", {"passage": passage})).is_error
            assert (await refusal("search_passages", {**query, "depth": 3})).startswith(
                "no argument depth: search_passages has query, collection, system"
            )
            assert await refusal("list_collections", {"x": 1}) == (
                "no argument x: list_collections has none"
            )
            assert await refusal("search_passages", {}) == "query: Field required"
            assert "\n" not in await refusal("search_passages", {**query, "length": 99})
            library.shelf.add_file(write("other.txt", BOOK + "It was the end."))
            names = ", ".join(each.collection.name for each in library.shelf.entries())
            for more in ({}, {"collection": "none"}):
                assert names in await refusal("search_passages", {**query, **more})

    asyncio.run(talk())


def test_calls_that_are_not_answered_before_the_end_say_nothing() -> None:
    """A client that leaves while its calls wait is no error, and none is logged."""
    from irtoolkit.apps.serve.asking import Desk, Question

    told: list[Any] = []

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, found: told.append(found))
        desk = Desk(8, 60)  # nobody answers
        calls = [asyncio.create_task(desk.ask([Question(*[None] * 6)])) for _ in range(3)]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        calls[0].cancel()
        await desk.close()
        await asyncio.wait(calls)
        assert all(call.cancelled() for call in calls)
        del calls
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(leave())
    assert told == []


def test_prepared_books_are_ready_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any, irtoolkit: Any
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    book, folder = write("lamp.txt", BOOK), tmp_path / "library"
    said = irtoolkit("serve", book, "--prepare", "--model", "none", "--folder", folder)
    assert said.status == 0, said.err
    assert (said.status, said.out) == (0, "The Lamp Keeper: 10 sentences, by words\n")
    assert len(list((tmp_path / "cache" / "indexes").iterdir())) == 1


def test_what_is_measured_is_kept_for_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, irtoolkit: Any
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    folder, name = tmp_path / "library", "relic/sample/val"
    said = irtoolkit("serve", name, "--measure", "--model", "none", "--folder", folder)
    assert said.status == 0, said.err
    library = Library(folder, None)
    shown = library.described(library.shelf.add_dataset(name)).quality
    (only,) = shown
    (words,) = only.systems
    assert only.here
    assert f"{words.found:,} of {words.of:,}" in said.out
    # The same by hand: a judged passage that shares a sentence with one of the first 20.
    assert 0 < words.found <= words.of
