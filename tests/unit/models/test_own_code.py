"""Models that come with code of their own: it is not run, whatever is answered in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.models.own_code import check_own_code
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


MARKING = """
from pathlib import Path
import torch
from transformers import {parent}

Path({marker!r}).write_text("run")

class Own({parent}):
    def forward(self, *args, **how):
        made = super().forward(*args, **how)
        for key in ("last_hidden_state", "logits"):
            if key in made:
                made[key] = made[key].cumsum(-1)
        return made
"""
# The tokenizer is BERT's but for its class.
WORDS = """
from pathlib import Path
from transformers import BertTokenizerFast

Path({marker!r}).write_text("run")

class OwnTokenizer(BertTokenizerFast):
    pass
"""
PARENTS = {
    "AutoModel": "BertModel", "AutoModelForSequenceClassification": "BertForSequenceClassification",
    "AutoModelForMaskedLM": "BertForMaskedLM", "AutoModelForCausalLM": "BertLMHeadModel",
}  # fmt: skip


def shipping(folder: Path, name: str = "AutoModel", file: str = "config.json") -> Path:
    """A model of a stock architecture that ships a class of its own for one purpose."""
    made = tiny.save(folder, PARENTS.get(name, "BertModel"))
    marker = str(folder.parent / "ran")
    if name == "AutoTokenizer":
        (made / "own.py").write_text(WORDS.format(marker=marker))
        own: Any = ["own.OwnTokenizer", None]
    else:
        code = MARKING.format(parent=PARENTS[name], marker=marker)
        (made / "own.py").write_text(code)
        own = "own.Own"
    content = json.loads((made / file).read_text())
    (made / file).write_text(json.dumps({**content, "auto_map": {name: own}}))
    return made


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("dense", "AutoModel"), ("sentence-max", "AutoModel"), ("late", "AutoModel"),
        ("sparse", "AutoModelForMaskedLM"), ("cross-encoder", "AutoModelForSequenceClassification"),
        ("plaid", "AutoModel"), ("faiss", "AutoModel"), ("llm-pointwise", "AutoModelForCausalLM"),
        ("docT5query", "AutoModel"), ("DeepCT", "AutoModel"), ("dense", "AutoTokenizer"),
        ("cross-encoder", "AutoTokenizer"),
    ],
)  # fmt: skip
def test_a_stock_class_never_takes_the_place_of_a_models_own(
    irtoolkit: Command, tmp_path: Path, system: str, name: str
) -> None:
    file = "tokenizer_config.json" if name == "AutoTokenizer" else "config.json"
    folder = shipping(tmp_path / "model", name, file)
    key = {"llm-pointwise": "llm", "docT5query": "weights", "DeepCT": "weights"}.get(
        system, "model"
    )
    answer = irtoolkit(
        "retrieve", "csfcube/sample", system, "-o", tmp_path / "x.run", "--set", f"{key}={folder}"
    )
    assert answer.status == 2
    assert "which irtoolkit does not run: own.Own" in answer.err
    assert not (tmp_path / "ran").exists()


def dense_of(folder: Path) -> Path:
    """A sentence-transformers folder whose transformer is in a folder of its own."""
    modules = [
        {"idx": 0, "name": "0", "path": "0_Transformer", "type": f"{ST}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{ST}.Pooling"},
    ]
    folder.mkdir()
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": tiny.DIMENSIONS, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


ST = "sentence_transformers.models"


def test_code_of_nested_modules_is_not_run(irtoolkit: Command, tmp_path: Path) -> None:
    folder = dense_of(tmp_path / "model")
    shipping(tmp_path / "inner").rename(folder / "0_Transformer")
    words = ("retrieve", "csfcube/sample", "dense", "-o", tmp_path / "x.run", "--set")
    answer = irtoolkit(*words, f"model={folder}")
    assert answer.status == 2
    assert "own.Own (0_Transformer/config.json)" in answer.err
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = "own.Pooling"
    (folder / "modules.json").write_text(json.dumps(modules))
    answer = irtoolkit(*words, f"model={folder}")
    assert "own.Pooling (modules.json)" in answer.err
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers copies the code that it runs into a folder of this test's own."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path / "hf")])


@pytest.mark.parametrize(
    ("system", "name", "settings"),
    [
        ("dense", "AutoModel", ["pooling=cls", "doc_length=20"]),
        ("cross-encoder", "AutoModelForSequenceClassification", []),
    ],
)
def test_trusted_code_runs_and_is_named(
    irtoolkit: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture, modules: None, system: str,
    name: str, settings: list[str],
) -> None:  # fmt: skip
    """Its scores are not those of the stock class."""
    folder = shipping(tmp_path / "model", name)
    words = ("retrieve", "csfcube/sample", system, "-o", tmp_path / "own.run", "--set")
    trusted = irtoolkit(*words, f"model={folder}", "trust_remote_code=true", *settings)
    assert trusted.status == 0, trusted.err
    assert "running the code that comes with the model: own.Own (config.json)" in caplog.text
    assert (tmp_path / "ran").exists()
    content = json.loads((folder / "config.json").read_text())
    del content["auto_map"]
    (folder / "config.json").write_text(json.dumps(content))
    stock = (*words[:3], "-o", tmp_path / "stock.run", "--set", f"model={folder}", *settings)
    assert irtoolkit(*stock).status == 0
    assert (tmp_path / "own.run").read_text() != (tmp_path / "stock.run").read_text()


def test_training_runs_code_only_if_it_is_trusted(tmp_path: Path, modules: None) -> None:
    from irtoolkit.training.trainer import train
    from tests import planted

    data, _ = planted.task(topics=4)
    start = shipping(tmp_path / "start")
    how = {"encoders": 1, "epochs": 1}
    recipe = planted.recipe(data, str(start), **how)
    with pytest.raises(InputError, match=r"does not run: own\.Own"):
        train(recipe, tmp_path / "model", device="cpu")
    assert not (tmp_path / "ran").exists()
    train(replace(recipe, trust_remote_code=True), tmp_path / "model", device="cpu")
    assert (tmp_path / "ran").exists()
    # The trained model has the code too.
    with pytest.raises(InputError, match="does not run"):
        check_own_code(str(tmp_path / "model"))


def test_trusted_code_of_a_language_model_runs(
    tmp_path: Path, modules: None, caplog: pytest.LogCaptureFixture
) -> None:
    from irtoolkit.models.llm.local import LocalGenerator

    folder = shipping(tmp_path / "model", "AutoModelForCausalLM")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "is_decoder": True}))
    model = LocalGenerator(str(folder), max_tokens=3, device="cpu")
    with pytest.raises(InputError, match="trust_remote_code=true if you trust its authors"):
        list(model.generate(["a cat"]))
    assert not (tmp_path / "ran").exists()
    [[(_, written)]] = list(replace(model, trusted=True).generate(["a cat"]))
    assert (tmp_path / "ran").exists()
    assert "running the code that comes with the model: own.Own (config.json)" in caplog.text
    assert isinstance(written.text, str)


def test_trust_is_for_a_model_that_runs_here(irtoolkit: Command, tmp_path: Path) -> None:
    answer = irtoolkit(
        "retrieve", "csfcube/sample", "llm-pointwise", "-o", tmp_path / "x.run", "--set", "llm=gpt",
        "endpoint=http://127.0.0.1:9/v1", "trust_remote_code=true",
    )  # fmt: skip
    assert answer.status == 2
    assert "setting trust_remote_code=True changes nothing" in answer.err


def test_a_teacher_runs_code_only_if_it_is_trusted(tmp_path: Path, modules: None) -> None:
    from irtoolkit.training.sets import build_training_set
    from tests import planted

    data, _ = planted.task(topics=4)
    teacher = shipping(tmp_path / "teacher", "AutoModelForSequenceClassification")
    stage = planted.recipe(data, "unused").stages[0]
    run = tmp_path / "mined.run"
    ir.retrieve(data, "bm25", fill=True, output=run, progress=False)
    taught = replace(stage, teacher=str(teacher), negatives="mined", run=str(run), count=1)
    with pytest.raises(InputError, match=r"does not run: own\.Own"):
        build_training_set(taught)
    assert not (tmp_path / "ran").exists()
    assert build_training_set(taught, trusted=True).scores is not None
    assert (tmp_path / "ran").exists()


def test_code_of_a_tokenizer_is_not_run(model: Path, tmp_path: Path) -> None:
    from irtoolkit.datasets.examples import _pretrained
    from irtoolkit.models.converted import base_parts

    for read in (_pretrained, base_parts):
        with pytest.raises(InputError):
            read(str(model))
    assert not (tmp_path / "ran").exists()


def test_trusted_code_that_has_no_class_for_the_use(irtoolkit: Command, tmp_path: Path) -> None:
    folder = shipping(tmp_path / "model", "AutoModelForMaskedLM")
    answer = irtoolkit(
        "retrieve", "csfcube/sample", "dense", "-o", tmp_path / "x.run", "--set", f"model={folder}",
        "trust_remote_code=true",
    )  # fmt: skip
    assert answer.status == 2
    assert "has no class for this use" in answer.err


def test_an_adapter_is_not_added_to_a_model_with_code_of_its_own(tmp_path: Path) -> None:
    """The stock class that has its weights would compute something else."""
    pytest.importorskip("peft")
    from irtoolkit.models.lora import write_lora

    base = shipping(tmp_path / "base", "AutoModelForSequenceClassification")
    about = {"peft_type": "LORA", "task_type": "SEQ_CLS", "base_model_name_or_path": str(base)}
    (tmp_path / "lora").mkdir()
    (tmp_path / "lora" / "adapter_config.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"comes with code of its own.*own\.Own"):
        write_lora(tmp_path / "lora", tmp_path / "out")
    assert not (tmp_path / "ran").exists()
