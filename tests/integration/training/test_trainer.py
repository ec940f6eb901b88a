"""Training: what is planted is learned, whoever is killed goes on, and bad input is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from irtoolkit.base.errors import InputError
from irtoolkit.cli import main
from irtoolkit.models.opening import load_adapter
from irtoolkit.models.places import check_unchanged
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.training import trainer
from irtoolkit.training.checkpoints import StageFolder, TrainingFolder, save_atomically
from irtoolkit.training.loss_modules import Sampled
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.model_paths import RECORD, trained_by
from irtoolkit.training.recipes import Recipe, Stage
from irtoolkit.training.trainer import TrainedModel, train
from tests import planted
from tests.conftest import ALL
from tests.trained import interrupted, same


def figures(trained: Any) -> list[dict[str, float]]:
    return [row["figures"] for row in trained.record["stages"][-1]["evaluations"]]


# -- learning -----------------------------------------------------------------------------------

MORE: dict[str, dict[str, Any]] = {
    "in-batch": {},
    "in-batch in chunks": {"loss": "in-batch", "chunk": 8},
    "in-batch, one encoder": {"loss": "in-batch", "encoders": 1},
    "in-batch with mined negatives": {"negatives": "mined", "count": 2},
    "sampled": {"negatives": "random", "count": 5},
    "all": {"frozen": "documents"},
    "triplet": {"negatives": "random", "count": 1, "similarity": "l2", "rate": 5e-3, "epochs": 22},
    "late": {"loss": "in-batch", "kind": "late"},
    "late, sampled": {"loss": "sampled", "kind": "late", "negatives": "random", "count": 3},
    "sparse": {"loss": "in-batch", "kind": "sparse", "rate": 5e-3, "epochs": 15},
    "pointwise": {"kind": "cross", "negatives": "random", "count": 7, "rate": 5e-3, "epochs": 25},
    "classes": {"kind": "cross", "labels": 2, "negatives": "random", "count": 1, "rate": 5e-3, "epochs": 40},
    "pairwise": {"kind": "cross", "negatives": "random", "count": 7, "rate": 5e-3, "epochs": 24},
    "listwise": {"kind": "cross", "negatives": "random", "count": 5, "rate": 5e-3, "epochs": 18},
}  # fmt: skip
STARTS = {"sparse": BertForMaskedLM}
# From the initial weights of seed 0 this loss does not get below that of a constant logit.
SEEDS = {"pointwise": 1}
QUICK = {"rate": 1e-2, "epochs": 8}


# Of each kind of model one; the others take long.
QUICKEST = ("in-batch", "late", "sparse", "listwise")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICKEST else pytest.mark.nightly) for name in MORE],
)
def test_what_is_planted_is_learned(name: str, tmp_path: Path) -> None:
    settings = {"loss": name, **QUICK, **MORE[name]}
    if settings["loss"] not in LOSSES:
        settings["loss"] = name.partition(" with")[0].partition(",")[0]
    kind = settings.get("kind", "dense")
    # To read two texts together is learned more slowly.
    data, test = planted.task(topics=8, asked=12 if kind == "cross" else 8)
    base, seed = STARTS.get(kind, planted.transformers.BertModel), SEEDS.get(name, 0)
    layers = 2 if kind == "cross" else 1
    start = planted.start(tmp_path / "start", base, seed=seed, num_hidden_layers=layers)
    if settings.get("negatives") == "mined":
        settings["run"] = str(tmp_path / "first.run")
        produce(data, System.make("random", "random", {}), settings["run"], progress=False)
    made = planted.recipe(data, start, test, every=10**6, **settings)
    untrained = replace(made, stages=(replace(made.stages[0], rate=1e-9, epochs=0.1),))
    before = figures(train(untrained, tmp_path / "untrained", device="cpu"))[-1]["R@1"]
    after = figures(train(made, tmp_path / "model", device="cpu"))[-1]["R@1"]
    assert before < 0.3
    assert after > 0.9


def test_both_stages_of_quoter_learn(tmp_path: Path) -> None:
    data, test = planted.task(topics=8)
    first = Stage(
        dataset=data, query="masked:[MASK]", loss="sampled", negatives="random", count=5, batch=16,
        rate=1e-2, epochs=6, warmup=0.1, evaluate=test, measure="R@1", every=10**6,
    )  # fmt: skip
    second = replace(
        first, loss="all", negatives="none", count=0, frozen="documents", epochs=6, rate=5e-3
    )
    # The planted queries have no place for a mask: their vector is that of the first token.
    stages = tuple(replace(stage, query="default") for stage in (first, second))
    made = Recipe(
        "quoter", "", stages, encoders=2, pooling="cls", query_pooling="mask", similarity="dot",
        start=planted.start(tmp_path / "start"), sememes=str(planted.lexicon(tmp_path / "s.gz")),
        alpha=0.5,
    )  # fmt: skip
    found = [
        stage["evaluations"][-1]["figures"]["R@1"]
        for stage in train(made, tmp_path / "model", device="cpu").record["stages"]
    ]
    assert found[1] > 0.9
    assert found[1] >= found[0] > planted.CHANCE


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """A task's training and test queries, and a folder with a cross-encoder that has learned it."""
    folder = tmp_path_factory.mktemp("taught")
    data, test = planted.task(topics=6)
    start = planted.start(folder / "start", num_hidden_layers=2)
    teacher = planted.recipe(
        data, start, test, kind="cross", loss="listwise",
        negatives="random", count=5, epochs=24, every=10**6,
    )  # fmt: skip
    assert figures(train(teacher, folder / "teacher", device="cpu"))[-1]["R@1"] > 0.9
    produce(data, System.make("random", "random", {}), folder / "all.run", progress=False)
    return data, test, folder


@pytest.mark.parametrize("loss", ["margin-mse", "kl"])
def test_a_bi_encoder_learns_from_a_cross_encoder_alone(
    loss: str, taught: tuple[str, str, Path], tmp_path: Path
) -> None:
    data, test, folder = taught
    student = planted.recipe(
        data, planted.start(tmp_path / "start"), test, loss=loss, teacher=str(folder / "teacher"),
        negatives="mined", count=5, run=str(folder / "all.run"), epochs=16, rate=1e-2, every=10**6,
    )  # fmt: skip
    assert figures(train(student, tmp_path / "student", device="cpu"))[-1]["R@1"] > 0.9


# -- going on -----------------------------------------------------------------------------------

RECIPE = """
start = "{start}"
encoders = 2
pooling = "mean"
similarity = "dot"

[[stage]]
dataset = "quoter/sample/en/train"
negatives = "random"
count = 2
loss = "sampled"
batch = {batch}
rate = 1e-3
epochs = {epochs}
evaluate = "quoter/sample/en/val"
measure = "RR"

[[stage]]
dataset = "quoter/sample/en/train"
loss = "all"
frozen = "documents"
batch = {batch}
rate = 1e-3
epochs = {epochs}
"""


def written(folder: Path, start: str, **how: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(RECIPE.format(**{"batch": 8, "epochs": 2, **how, "start": start}))
    return path


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "irtoolkit", *map(str, words)]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}


@pytest.mark.nightly
def test_who_is_killed_goes_on_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = planted.start(tmp_path / "start", hidden_dropout_prob=0.2)
    recipe = written(tmp_path, start, epochs=1)
    env = environment(tmp_path)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    words = ("train", recipe, "--device", "cpu", "--save-every", 1, "-o")
    monkeypatch.setenv("IRTOOLKIT_CACHE", env["IRTOOLKIT_CACHE"])
    assert main([*map(str, words), str(whole)]) == 0
    draw = np.random.default_rng(time.time_ns())
    for _ in range(2 if ALL else 1):
        seen = len(list(tmp_path.glob("cut.training/**/checkpoint-*")))
        process = subprocess.Popen(
            command(*words, cut), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Some random while after there is anything to go on from.
        while process.poll() is None and (
            len(list(tmp_path.glob("cut.training/**/checkpoint-*"))) <= seen and seen < 2
        ):
            time.sleep(0.01)
        time.sleep(float(draw.uniform(0, 1.5)))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
    assert main([*map(str, words), str(cut)]) == 0
    assert same(whole, cut)
    assert not (tmp_path / "cut.training").exists()
    told = [json.loads((folder / RECORD).read_text())["stages"] for folder in (whole, cut)]
    assert [s["evaluations"] for s in told[0]] == [s["evaluations"] for s in told[1]]


def test_a_half_written_checkpoint_is_passed_over(tmp_path: Path) -> None:
    data, test = planted.task(topics=6, asked=6)
    made = planted.recipe(data, planted.start(tmp_path / "start"), test, batch=6, epochs=2, every=2)
    how: dict[str, Any] = {"device": "cpu", "save_every": 3}
    whole = train(made, tmp_path / "whole", **how)
    with interrupted(6):
        train(made, tmp_path / "cut", **how)
    place = tmp_path / "cut.training" / "stage-1"
    half = place / "checkpoint-99999"
    shutil.copytree(place / "checkpoint-6", half)
    (half / "follower.json").unlink()
    (half / "optimizer.pt").write_bytes(b"")
    cut = train(made, tmp_path / "cut", **how)
    assert same(whole.folder, cut.folder)
    assert figures(whole) == figures(cut)
    losses = [trained.record["stages"][-1]["losses"] for trained in (whole, cut)]
    assert losses[0] == losses[1]
    assert losses[0][0]["step"] == 10, "an entry is of steps before and after the kill"


def test_what_is_removed_has_been_read_by_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is late would miss the records of stages, as was seen on a busy machine."""
    events: list[str] = []
    record, remove = StageFolder.record, TrainingFolder.remove

    def recorded(self: StageFolder) -> dict[str, Any] | None:
        events.append("record")
        return record(self)

    def removed(self: TrainingFolder) -> None:
        events.append("remove")
        remove(self)

    monkeypatch.setattr(StageFolder, "record", recorded)
    monkeypatch.setattr(TrainingFolder, "remove", removed)
    monkeypatch.setattr(trainer, "wait_for_all", lambda _: events.append("wait"))
    data, _ = planted.task(topics=4, asked=4)
    train(
        planted.recipe(data, planted.start(tmp_path / "start"), epochs=1),
        tmp_path / "x",
        device="cpu",
    )
    assert events[-4:] == ["record", "wait", "remove", "wait"]


def test_a_model_that_is_there_is_taken(tmp_path: Path) -> None:
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(data, planted.start(tmp_path / "start"), test, epochs=1)
    assert not train(made, tmp_path / "model", device="cpu").reused
    # One that was killed when all was there has left its lock.
    (tmp_path / ".model.lock").touch()
    assert train(made, tmp_path / "model", device="cpu").reused
    assert not (tmp_path / ".model.lock").exists()
    with pytest.raises(InputError, match=r"another training: .*rate was 0\.005 and is 0\.1"):
        train(
            replace(made, stages=(replace(made.stages[0], rate=0.1),)),
            tmp_path / "model",
            device="cpu",
        )
    # A setting that is not set may not have been there when the model was made.
    record = json.loads((tmp_path / "model" / RECORD).read_text())
    assert record["plan"]["settings"].pop("join", "") is None
    (tmp_path / "model" / RECORD).write_text(json.dumps(record))
    assert trained_by(tmp_path / "model", made)
    assert train(made, tmp_path / "model", device="cpu").reused
    with pytest.raises(InputError, match=r"another training: settings\.join was None and is / "):
        train(replace(made, join="/"), tmp_path / "model", device="cpu")
    assert not trained_by(tmp_path / "model", replace(made, join="/"))
    # One bit of the weights is not as it was written.
    check_unchanged(str(tmp_path / "model"))
    path = max((tmp_path / "model").rglob("*.safetensors"), key=lambda path: path.stat().st_size)
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with pytest.raises(InputError, match="not the weights that training wrote"):
        load_adapter(str(tmp_path / "model"), "dense", "document", AdapterSettings("cpu", "fp32"))


# -- bad input ----------------------------------------------------------------------------------


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path) -> None:
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(data, planted.start(tmp_path / "start"), test, epochs=1)
    (tmp_path / "model.training" / "stage-1" / "checkpoint-5").mkdir(parents=True)
    plan = {"recipe": "another"}
    (tmp_path / "model.training" / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(
        InputError, match="another training: recipe was another and is planted"
    ) as told:
        train(made, tmp_path / "model", device="cpu")
    assert "--restart" in str(told.value)
    train(made, tmp_path / "model", device="cpu", restart=True)


def test_a_loss_that_is_no_number_stops_with_its_batch(tmp_path: Path) -> None:
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(
        data, planted.start(tmp_path / "start"), test, rate=1e30, epochs=3, clip=0.0, warmup=0.0,
        batch=4,
    )  # fmt: skip
    with pytest.raises(
        InputError, match=r"loss of step \d+ is (nan|inf).* query train\d-\d with"
    ) as told:
        train(made, tmp_path / "model", device="cpu")
    assert "lower rate" in str(told.value)
    assert not (tmp_path / "model").exists()
    # Nothing of it holds the folder.
    train(replace(made, stages=(replace(made.stages[0], rate=1e-3, epochs=1),)), tmp_path / "model", device="cpu")  # fmt: skip


def test_want_of_memory_says_what_to_lower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = Sampled.forward

    def hungry(self: Sampled, *rest: Any) -> Any:
        torch.empty(1 << 60)  # more than any address space has: torch's own error
        return whole(self, *rest)

    monkeypatch.setattr(Sampled, "forward", hungry)
    recipe = written(tmp_path, planted.start(tmp_path / "start"), batch=48, epochs=1)
    assert main(["train", str(recipe), "--device", "cpu", "-o", str(tmp_path / "m")]) == 2
    said = capfd.readouterr().err
    assert "memory does not suffice for 48 rows at once" in said
    assert "chunk=24" in said
    assert "Traceback" not in said


def test_after_want_of_memory_the_corrected_training_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first one has left, a plan with the old settings, is of no training that has begun."""

    def hungry(*_: object, **__: object) -> None:
        raise MemoryError

    data, test = planted.task(topics=4, asked=4)
    start = planted.start(tmp_path / "start")
    made = planted.recipe(data, start, test, epochs=1, batch=8)
    with monkeypatch.context() as patch:
        patch.setattr("torch.Tensor.backward", hungry)
        with pytest.raises(InputError, match="memory does not suffice for 8 rows at once"):
            train(made, tmp_path / "model", device="cpu")
    assert (tmp_path / "model.training" / "plan.json").is_file()
    corrected = planted.recipe(data, start, test, epochs=1, batch=4)
    trained = train(corrected, tmp_path / "model", device="cpu")
    assert trained.record["stages"][0]["steps"] > 0
    assert not (tmp_path / "model.training").exists()


def test_a_training_that_lacks_memory_goes_on_with_fewer_rows_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the error says; the steps before are not lost, and the record says how they were made."""
    data, test = planted.task(topics=4, asked=4)
    start = planted.start(tmp_path / "start")
    calls, most = [0], [4]
    backward = torch.Tensor.backward

    def counted(*args: Any, **kwargs: Any) -> None:
        calls[0] += 1
        if calls[0] > most[0]:
            raise MemoryError
        backward(*args, **kwargs)

    monkeypatch.setattr("torch.Tensor.backward", counted)
    begun = planted.recipe(data, start, test, epochs=4, batch=8)
    with pytest.raises(InputError, match="chunk=4"):
        train(begun, tmp_path / "model", device="cpu", save_every=2)
    fewer = planted.recipe(data, start, test, epochs=4, batch=8, chunk=4)
    calls[0], most[0] = 0, 1000
    resumed = train(fewer, tmp_path / "model", device="cpu", save_every=2)
    went_on, calls[0] = calls[0], 0
    whole = train(fewer, tmp_path / "whole", device="cpu")
    assert went_on == calls[0] / 2  # 4 of 8 steps
    assert resumed.record["chunk before"] == [[None]]
    assert resumed.record["plan"] == whole.record["plan"]
    assert "chunk before" not in whole.record
    assert figures(resumed) == figures(whole)


def test_a_folder_that_is_no_model_is_left_alone(tmp_path: Path) -> None:
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(data, planted.start(tmp_path / "start"), test, epochs=1)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="was not made by training"):
        train(made, tmp_path / "model", device="cpu")
    with pytest.raises(InputError, match="was not made by training"):
        train(made, tmp_path / "model", device="cpu", restart=True)
    assert (tmp_path / "model" / "thesis.tex").read_text() == "years of work"


# -- the last moments of a training ---------------------------------------------------------------


LAST: dict[str, dict[str, Any]] = {
    "several evaluations, within an epoch": {"epochs": 2.5, "schedule": "constant", "every": 2},
    # The first evaluation is the best one there can be, so training stops early.
    "early": {"epochs": 9, "patience": 1, "rate": 1e-9},
}


@pytest.fixture(scope="module", params=LAST)
def undisturbed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recipe, TrainedModel]:
    """A recipe, and its model by a training that nobody killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    data, test = planted.task(topics=4, asked=6)
    start = planted.start(folder / "start")
    made = planted.recipe(data, start, test, **{"batch": 6, **LAST[request.param]})
    return made, train(made, folder / "whole", device="cpu")


@pytest.mark.parametrize("moment", ["finish", "remove_bests"])
def test_who_is_killed_as_a_stage_ends_loses_nothing(
    moment: str,
    undisturbed: tuple[Recipe, TrainedModel],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, whole = undisturbed
    steps = whole.record["stages"][0]["steps"]
    original, kills = getattr(StageFolder, moment), []

    def killed(self: StageFolder, *rest: Any) -> None:
        last = self.last_checkpoint()
        if moment == "finish" or (last is not None and last.name == f"checkpoint-{steps}"):
            kills.append(moment)
            raise KeyboardInterrupt
        original(self, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(StageFolder, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            train(made, tmp_path / "cut", device="cpu")
    assert kills == [moment]
    cut = train(made, tmp_path / "cut", device="cpu")
    assert same(whole.folder, cut.folder)
    assert cut.record["stages"][0]["steps"] == steps
    assert figures(whole) == figures(cut)


def test_a_folder_is_whole_or_as_it_was(tmp_path: Path) -> None:
    def save(text: str) -> Any:
        def write(folder: str) -> None:
            Path(folder).mkdir()
            (Path(folder) / "weights").write_text(text)

        return write

    def fail(folder: str) -> None:
        save("half")(folder)
        raise KeyboardInterrupt

    model = tmp_path / "model"
    save_atomically(save("one"), model)
    with pytest.raises(KeyboardInterrupt):
        save_atomically(fail, model)
    assert (model / "weights").read_text() == "one"
    # Killed between the two renames.
    model.rename(tmp_path / "model.old")
    with pytest.raises(KeyboardInterrupt):
        save_atomically(fail, model)
    assert (model / "weights").read_text() == "one"
    save_atomically(save("two"), model)
    assert (model / "weights").read_text() == "two"


def test_an_interrupted_restart_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(data, planted.start(tmp_path / "start"), test, epochs=2)
    train(made, tmp_path / "model", device="cpu")
    with monkeypatch.context() as patched:
        patched.setattr(
            StageFolder, "finish", lambda *rest: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            train(made, tmp_path / "model", device="cpu", restart=True)
    assert not train(made, tmp_path / "model", device="cpu").reused
    assert train(made, tmp_path / "model", device="cpu").reused


@pytest.mark.parametrize(("option", "least"), [({"save_every": 0}, 1), ({"workers": -1}, 0)])
def test_options_out_of_range_leave_no_folder(
    option: dict[str, Any], least: int, tmp_path: Path
) -> None:
    made = planted.recipe("nowhere/train", "nowhere", "nowhere/test")
    with pytest.raises(InputError, match=f"{next(iter(option))}=.* is not at least {least}"):
        train(made, tmp_path / "model", device="cpu", **option)
    assert not list(tmp_path.iterdir())
