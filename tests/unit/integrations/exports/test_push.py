"""What may be published, and where; the hub itself is not asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.integrations.exports.card import read_card, restate
from irtoolkit.integrations.exports.licences import Licence, licence_of
from irtoolkit.integrations.exports.push import push, repository
from tests.conftest import Answer

HUB = "hf://datasets/someone/something"


def test_an_address_names_a_repository() -> None:
    assert repository(HUB) == "someone/something"
    assert repository(HUB + "/") == "someone/something"


@pytest.mark.parametrize(
    "dataset", ["relic/val", "plotretrieval/val", "egret/dev", "quoter/en/test"]
)
def test_benchmarks_without_an_open_licence_are_not_published(dataset: str) -> None:
    assert not licence_of(ir.load(dataset).about).open


def test_the_shell_refuses_before_it_writes(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = irtoolkit("export", "relic/val", "hf", out, "--push", HUB)
    assert (answer.status, out.exists()) == (2, False)
    assert "no licence is known that allows to publish relic/val" in answer.err
    answer = irtoolkit("export", "csfcube/sample", "hf", out, "--push", "someone/something")
    assert (answer.status, out.exists()) == (2, False)


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    with pytest.raises(InputError, match="no exported dataset"):
        push(tmp_path, HUB)


def test_what_the_hub_refuses_is_one_line(tmp_path: Path) -> None:
    """The tests are offline, which the hub's client says itself."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    folder = ir.export("csfcube/sample", "hf", tmp_path / "out")
    with pytest.raises(InputError, match=f"the hub is not reached for {HUB}") as found:
        push(folder, HUB)
    assert "\n" not in str(found.value)
    assert folder.is_dir()


def test_a_folder_that_was_not_published_is_published_by_the_same_command(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    again = [
        irtoolkit("export", "csfcube/sample", "hf", tmp_path / "out", "--push", HUB) for _ in "12"
    ]
    assert all("the hub is not reached" in answer.err for answer in again)
    assert "was exported before" in again[1].err
    other = irtoolkit("export", "csfcube/sample", "mteb", tmp_path / "out", "--push", HUB)
    assert "not empty" in other.err


def test_a_licence_is_named_for_a_folder_that_states_none(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    """The remedy of the refusal leads to the hub, and the card states the licence."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    out = tmp_path / "out"
    named = licence_of(None, "cc-by-4.0")
    export = ("export", "csfcube/sample", "beir", out)
    assert irtoolkit(*export).status == 0
    before = (out / "README.md").read_text("utf-8")
    restate(out, Licence("unknown", "not stated"))
    closed = (out / "README.md").read_text("utf-8")
    refused = irtoolkit(*export, "--push", HUB)
    assert "name the licence: --licence cc-by-4.0" in refused.err
    assert (out / "README.md").read_text("utf-8") == closed
    assert "the hub is not reached" in irtoolkit(*export, "--push", HUB, "--licence", named.id).err
    card = (out / "README.md").read_text("utf-8")
    assert read_card(out)["license"] == named.id  # type: ignore[index]
    assert card.count(named.line) == 1
    assert "Keep this folder to yourself" in closed
    assert "Keep this folder to yourself" not in card
    restate(out, licence_of(ir.load("csfcube/sample").about))
    assert (out / "README.md").read_text("utf-8") == before
    wrong = irtoolkit(*export, "--push", HUB, "--licence", "none")
    assert "no licence 'none'" in wrong.err


@pytest.mark.parametrize("other", [("--doc", "title"), ("--query", "facet"), ("--split", "dev")])
def test_texts_that_were_exported_before_are_not_published_for_others(
    other: tuple[str, str], irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    export = ("export", "csfcube/sample", "beir", tmp_path / "out")
    assert irtoolkit(*export).status == 0
    answer = irtoolkit(*export, *other, "--push", HUB)
    assert answer.status == 2
    was = "test" if other[0] == "--split" else "default"
    assert f"was exported with {other[0][2:]} {was}, not {other[1]}" in answer.err


def own_collection(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "docs.jsonl").write_text(json.dumps({"_id": "1", "text": text}) + "\n", "utf-8")
    (folder / "topics.tsv").write_text("q1\twhale\n", "utf-8")
    (folder / "qrels.txt").write_text("q1 0 1 1\n", "utf-8")
    return folder


@pytest.mark.parametrize("form", ["beir", "mteb", "hf", "pyserini", "tira"])
def test_an_export_is_not_published_for_other_data_of_its_name(
    form: str, irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    mine = own_collection(tmp_path / "a" / "mine", "a whale")
    other = own_collection(tmp_path / "b" / "mine", "a boat")
    out, published = tmp_path / "out", ("--push", HUB, "--licence", "cc0-1.0")
    assert irtoolkit("export", mine, form, out).status == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert "the hub is not reached" in irtoolkit("export", mine, form, out, *published).err
    answer = irtoolkit("export", other, form, out, *published)
    assert answer.status == 2
    assert "was exported from other data" in answer.err
    own_collection(mine, "a whale at sea")
    assert "was exported from other data" in irtoolkit("export", mine, form, out, *published).err
    changed = {path for path in before if path.read_bytes() != before[path]}
    assert changed <= {out / "README.md"}
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a", tmp_path / "b", out]
