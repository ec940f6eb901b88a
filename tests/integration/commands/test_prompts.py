"""Prompts and instructions on the command line: the line that is printed, the record, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.runs import provenance
from tests.conftest import Answer
from tests.tiny import save

Command = Callable[..., Answer]

E5 = ("query_prompt=query: ", "document_prompt=passage: ")
TASK = (r"query_prompt=Instruct: {instruction}\nQuery: ", "instruction=find cats")
FILLED = "Instruct: find cats\nQuery: "


@pytest.fixture
def rank(irtoolkit: Command, tmp_path: Path) -> Callable[..., Answer]:
    """Ranks two documents with a tiny model and some settings."""
    (tmp_path / "docs.jsonl").write_text(
        '{"id": "a", "text": "a cat"}\n{"id": "b", "text": "a dog"}\n'
    )
    (tmp_path / "topics.tsv").write_text("1\tthe cat\n2\tthe dog\n")
    model = save(tmp_path / "model")

    def ranked(*settings: str) -> Answer:
        return irtoolkit(
            "retrieve", tmp_path / "docs.jsonl", "dense", "--topics", tmp_path / "topics.tsv", "-o",
            tmp_path / "out.run", "--set", f"model={model}", "pooling=cls", *settings,
        )  # fmt: skip

    return ranked


@pytest.mark.parametrize(
    ("settings", "said", "recorded"),
    [
        (E5, "query_prompt='query: ' document_prompt='passage: '",
         {"query_prompt": "query: ", "document_prompt": "passage: "}),
        (TASK, r"instruction='find cats' query_prompt='Instruct: {instruction}\nQuery: '",
         {"query_prompt": FILLED}),
    ],
)  # fmt: skip
def test_prompts_are_shown_and_recorded(
    rank: Callable[..., Answer], tmp_path: Path, settings: tuple[str, ...], said: str,
    recorded: dict[str, str],
) -> None:  # fmt: skip
    answer = rank(*settings)
    assert answer.status == 0, answer.err
    assert said in answer.err
    made = (provenance.read_metadata(tmp_path / "out.run") or {})["irtoolkit"]
    assert {key: text for key, text in made["computed"].items() if "prompt" in key} == recorded


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["instruction=find cats"], "takes none: it has no query prompt"),
        ([*E5, "instruction=find cats"], "its query prompt is 'query: '"),
        (["query_prompt={instruction}"], "there is no instruction"),
        (["query_prompt={title}: "], "no text field 'title'"),
        (["document_prompt={title}: "], "{title}, which nothing stands for"),
    ],
)
def test_prompts_that_cannot_be_are_refused_in_one_line(
    rank: Callable[..., Answer], settings: list[str], said: str
) -> None:
    answer = rank(*settings)
    assert answer.status == 2
    assert said in answer.err
    assert "Traceback" not in answer.err
