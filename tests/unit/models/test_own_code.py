"""Models that come with code of their own: it is not run, whatever is answered in the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from tests import tiny
from tests.conftest import Answer

Command = Callable[..., Answer]

CODE = """
from pathlib import Path
from transformers import BertConfig, BertModel, BertTokenizerFast

Path({marker!r}).write_text("run")

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertModel):
    config_class = OwnConfig

class OwnTokenizer(BertTokenizerFast):
    pass
"""
CLASSES = (
    "AutoModel", "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSequenceClassification",
)  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of an architecture that is only in its own file, which leaves a mark when it runs."""
    folder = tiny.save(tmp_path / "model")
    (folder / "own.py").write_text(CODE.format(marker=str(tmp_path / "ran")))
    for name, classes in {
        "config.json": {"AutoConfig": "own.OwnConfig", **dict.fromkeys(CLASSES, "own.OwnModel")},
        "tokenizer_config.json": {"AutoTokenizer": ["own.OwnTokenizer", "own.OwnTokenizer"]},
    }.items():
        content = json.loads((folder / name).read_text())
        content |= {"auto_map": classes}
        content |= {"model_type": "own"} if name == "config.json" else {"tokenizer_class": "Own"}
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.fixture(autouse=True)
def yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is answered yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("dense", ["model={}"]),
        ("dense", ["model={}", "pooling=mean"]),
        ("cross-encoder", ["model={}"]),
        ("llm-pointwise", ["llm={}"]),
    ],
)
def test_code_of_a_model_is_not_run(
    irtoolkit: Command, model: Path, tmp_path: Path, system: str, settings: list[str]
) -> None:
    given = [text.format(model) for text in settings]
    answer = irtoolkit(
        "retrieve", "csfcube/sample", system, "-o", tmp_path / "x.run", "--set", *given
    )
    assert answer.status == 2
    assert not (tmp_path / "ran").exists()
    assert "comes with code of its own, which irtoolkit does not run" in answer.err


def test_code_of_a_tokenizer_is_not_run(model: Path, tmp_path: Path) -> None:
    from irtoolkit.datasets.examples import _pretrained
    from irtoolkit.models.converted import base_parts

    for read in (_pretrained, base_parts):
        with pytest.raises(InputError):
            read(str(model))
    assert not (tmp_path / "ran").exists()


def test_the_mark_is_left_by_whoever_runs_the_code(model: Path, tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    from transformers import AutoConfig

    AutoConfig.from_pretrained(model, trust_remote_code=True)
    assert (tmp_path / "ran").exists()
