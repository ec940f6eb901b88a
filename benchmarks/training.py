"""Training beside sentence-transformers' own trainer, and the papers' recipes.

    python benchmarks/training.py                      # a small model, some two minutes on two cores
    python benchmarks/training.py --gpu -o benchmarks/results/training-gpu.json
    python benchmarks/training.py --gpu --recipes      # then also each paper's recipe
    python benchmarks/training.py --gpu --parts --recipes dpr-relic,run=runs/relic-train.bm25.run

With --gpu the model is RoBERTa-base twice, an encoder of queries and one of documents, with random
weights; a batch is 100 pairs of texts of 512 tokens, in bf16. Without, it is a small one in fp32.
The tokenizer is a byte-level BPE as RoBERTa's, trained here on invented words.

throughput: `irtoolkit.training.trainer.train` with the in-batch loss, beside
SentenceTransformerTrainer as its documentation has it, with the same batch, steps and loss. The two
take turns, and the fastest turn of each counts. Time is the clock's from the end of the last step
of warming up to the end of the last step, reading and tokenizing included. Work is counted as six
operations for each weight outside the embeddings and each token, and attention's two products three
times; it is shown as a share of the rate of a product of two matrices, in bf16 on a GPU, in fp32 on
a CPU.

agreement: both train the same weights on one batch, over and over, without dropout: then the order
of rows, which each draws in its own way, does not matter, and every step's loss must be the same.
The script fails when the first step's is not, in fp32. On a GPU bf16 is told, too.

memory: what training holds at most, with all activations, with gradients cached in chunks, and with
activations computed again. On a GPU it is what torch has allocated; on a CPU each is trained in a
process of its own, and what the libraries take before is left out.

recipes: each is trained in full, with the device's own precision, into the folder where `irtoolkit
reproduce` looks for it, and goes on where it was interrupted. Of those that cannot be, what is
missing is told.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np

from irtoolkit.base.cores import peak_memory
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.datasets.cache import CACHE_VARIABLE
from irtoolkit.runs import provenance

Side = Literal["irtoolkit", "sentence-transformers"]
Precision = Literal["fp32", "bf16"]
Rows = list[dict[str, Any]]

PARTS = ("throughput", "agreement", "memory")
SIDES: tuple[Side, Side] = ("irtoolkit", "sentence-transformers")
RATE = 1e-5
# Relative, of losses in fp32; the rows of a batch are added up in different orders.
TOLERANCE = 1e-4
# What a process of its own imports once, before any is measured.
_LIBRARIES = [
    "irtoolkit.training.st_trainer",
    "irtoolkit.training.trainer",
    "irtoolkit.training.loss_modules",
]
# What irtoolkit, CUDA and the CPU's allocator say.
_LACKING = re.compile("memory does not suffice|out of memory|allocate memory")
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@dataclass(frozen=True)
class Shape:
    """A model and its batches.

    Attributes:
        layers, width, heads: of each of the two encoders.
        vocabulary: tokens that have a vector.
        batch: rows of a step, each a query and a document.
        tokens: of each text.
    """

    layers: int
    width: int
    heads: int
    vocabulary: int
    batch: int
    tokens: int

    @property
    def work(self) -> float:
        """Operations of training on one row."""
        weights = self.layers * 12 * self.width**2
        products = self.layers * 4 * self.width * self.tokens**2
        return 2 * (6 * weights * self.tokens + 3 * products)


BASE = Shape(layers=12, width=768, heads=12, vocabulary=50_265, batch=100, tokens=512)
SMALL = Shape(layers=2, width=128, heads=4, vocabulary=4_000, batch=32, tokens=128)


@dataclass(frozen=True)
class Trial:
    """One training, of which something is measured.

    Attributes:
        side: whose.
        shape: of the model in `start`, and of its batches.
        start: a folder.
        steps: of which the first `warm` are not timed.
        device: a torch device.
        precision: "fp32" or "bf16".
        chunk: rows whose activations are held at once.
        checkpointing: whether activations are computed again.
        again: whether every step has the same rows, of which the losses are kept.
    """

    side: Side
    shape: Shape
    start: str
    steps: int
    warm: int = 1
    device: str = "cpu"
    precision: Precision = "fp32"
    chunk: int | None = None
    checkpointing: bool = False
    again: bool = False

    @property
    def rows(self) -> int:
        return self.shape.batch * (1 if self.again else self.steps)

    @property
    def epochs(self) -> int:
        return self.steps if self.again else 1


# -- a model and texts --------------------------------------------------------------------------


@cache
def words(count: int) -> list[str]:
    """Invented words, somewhat fewer than asked for, the same in every run."""
    draw = np.random.default_rng(0)
    made = ("".join(draw.choice(_SYLLABLES, length)) for length in draw.integers(2, 5, count))
    return list(dict.fromkeys(made))


@cache
def texts(shape: Shape, rows: int) -> tuple[list[str], list[str]]:
    """Queries and documents that fill a model, whatever becomes of their words."""
    known = np.array(words(shape.vocabulary))
    drawn = np.random.default_rng(1).integers(len(known), size=(2 * rows, shape.tokens))
    made = [" ".join(known[row]) for row in drawn]
    return made[:rows], made[rows:]


def start(folder: Path, shape: Shape, **config: Any) -> str:
    """A RoBERTa of random weights with a tokenizer for the words; gives its folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    coder = Tokenizer(models.BPE())
    coder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary, min_frequency=1, special_tokens=_SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    coder.train_from_iterator([" ".join(words(shape.vocabulary))], trainer)
    coder.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=coder, bos_token="<s>", cls_token="<s>", eos_token="</s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
        model_max_length=shape.tokens,
    )  # fmt: skip
    settings = {
        "vocab_size": shape.vocabulary, "hidden_size": shape.width, "type_vocab_size": 1,
        "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads,
        "intermediate_size": 4 * shape.width, "layer_norm_eps": 1e-5,
        # RoBERTa counts positions from the number of its padding token.
        "max_position_embeddings": shape.tokens + 2, "pad_token_id": 1, "bos_token_id": 0,
        "eos_token_id": 2,
    }  # fmt: skip
    torch.manual_seed(0)
    model = transformers.RobertaModel(transformers.RobertaConfig(**settings, **config))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    some, _ = texts(shape, 4)
    read = tokenizer(some, truncation=True, max_length=shape.tokens)["input_ids"]
    if any(len(found) != shape.tokens for found in read):
        raise SystemExit(f"the texts do not have {shape.tokens} tokens each")
    return str(folder)


def registered(queries: list[str], docs: list[str]) -> str:
    """A dataset in which each query has one relevant document; gives its id."""
    import ir_datasets
    from ir_datasets.formats import GenericDoc, GenericQuery, TrecQrel

    from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler

    name = f"training-benchmark/{len(queries)}-{len(docs[0])}"
    asked = [GenericQuery(f"q{i}", text) for i, text in enumerate(queries)]
    shown = {f"d{i}": GenericDoc(f"d{i}", text) for i, text in enumerate(docs)}
    judged = [TrecQrel(f"q{i}", f"d{i}", 1, "0") for i in range(len(queries))]
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(
            name,
            ir_datasets.Dataset(
                DocsHandler(lambda: shown, GenericDoc, "training-benchmark", "en"),
                QueriesHandler(lambda: asked, GenericQuery, "training-benchmark", "en"),
                QrelsHandler(lambda: judged, TrecQrel, {1: "its document"}),
            ),
        )
    return name


# -- the two sides ------------------------------------------------------------------------------


def ours(trial: Trial, folder: Path) -> Callable[[], object]:
    """Training as `irtoolkit train` does it, made ready."""
    from irtoolkit.training.recipes import Recipe, Stage
    from irtoolkit.training.trainer import train

    shape = trial.shape
    stage = Stage(
        dataset=registered(*texts(shape, trial.rows)), loss="in-batch", batch=shape.batch,
        chunk=trial.chunk, rate=RATE, epochs=trial.epochs,
    )  # fmt: skip
    recipe = Recipe(
        "benchmark", stages=(stage,), start=trial.start, encoders=2, pooling="cls",
        similarity="dot", query_length=shape.tokens, doc_length=shape.tokens,
        precision=trial.precision, checkpointing=trial.checkpointing,
    )  # fmt: skip
    return lambda: train(recipe, folder / "model", device=trial.device)


def theirs(trial: Trial, folder: Path) -> Callable[[], object]:
    """Training as sentence-transformers' documentation has it, made ready."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.base.modules import Router, Transformer
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.sentence_transformer.modules import Pooling
    from sentence_transformers.util import dot_score
    from transformers.trainer_callback import PrinterCallback

    def encoder() -> list[Any]:
        reader = Transformer(trial.start, max_seq_length=trial.shape.tokens)
        return [reader, Pooling(trial.shape.width, pooling_mode="cls")]

    queries, docs = texts(trial.shape, trial.rows)
    rows = Dataset.from_dict({"query": queries, "positive": docs})

    def train() -> None:
        model = SentenceTransformer(
            modules=[Router.for_query_document(encoder(), encoder())], device=trial.device,
            similarity_fn_name="dot",
        )  # fmt: skip
        how = {"scale": 1.0, "similarity_fct": dot_score}
        loss = (
            losses.MultipleNegativesRankingLoss(model, **how)
            if trial.chunk is None
            else losses.CachedMultipleNegativesRankingLoss(
                model, mini_batch_size=trial.chunk, **how
            )
        )
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(folder / "theirs"),
            num_train_epochs=trial.epochs,
            per_device_train_batch_size=trial.shape.batch,
            learning_rate=RATE,
            bf16=trial.precision == "bf16",
            router_mapping={"query": "query", "positive": "document"},
            save_strategy="no",
            logging_steps=10,
            report_to="none",
            disable_tqdm=True,
            use_cpu=trial.device == "cpu",
        )
        trainer = SentenceTransformerTrainer(
            model=model, args=arguments, train_dataset=rows, loss=loss
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()

    return train


# -- measuring ----------------------------------------------------------------------------------


class Watch:
    """Looks at every step of whichever trainer is at work, without its knowing."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._steps = trial, 0
        self._gpu = trial.device != "cpu"
        self._stamps: list[float] = []
        self._before, self._peak = 0, 0
        self.losses: list[float] = []

    def __enter__(self) -> Watch:
        import torch
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
        from torch.nn.modules.module import register_module_forward_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook

        def told(module: Any, _: Any, output: Any) -> None:
            if isinstance(module, MultipleNegativesRankingLoss):
                self.losses.append(float(output.detach()))

        self._handles = [register_optimizer_step_post_hook(self._stepped)]
        if self._trial.again:
            self._handles.append(register_module_forward_hook(told))
        if self._gpu:
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        self._before = self._held()
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _stepped(self, *_: Any) -> None:
        self._steps += 1
        if self._steps not in (self._trial.warm, self._trial.steps):
            return
        if self._gpu:
            import torch

            torch.cuda.synchronize()
        self._stamps.append(time.perf_counter())
        # Before anything is saved, which takes memory, too.
        self._peak = self._held()

    def _held(self) -> int:
        if self._gpu:
            import torch

            return int(torch.cuda.max_memory_allocated()) >> 20
        return peak_memory() >> 20

    def found(self) -> dict[str, Any]:
        """What has been seen.

        Raises:
            SystemExit: there were other steps than asked for.
        """
        trial = self._trial
        if self._steps != trial.steps:
            raise SystemExit(f"{trial.side} took {self._steps} steps, not {trial.steps}")
        timed = (trial.steps - trial.warm) * trial.shape.batch
        return {
            "rows/s": timed / (self._stamps[-1] - self._stamps[0]),
            "MiB": self._peak - self._before,
        }


class MemoryLackedError(Exception):
    """A training did not fit into memory."""


def run(trial: Trial, home: Path) -> tuple[dict[str, Any], list[float]]:
    """Trains; what has been measured, and the losses where they are kept.

    Raises:
        MemoryLackedError: memory does not suffice.
    """
    folder = Path(tempfile.mkdtemp(dir=home))
    try:
        with _cache(home / "cache"), _said_less():
            train = (ours if trial.side == "irtoolkit" else theirs)(trial, folder)
            with Watch(trial) as watch:
                train()
        return watch.found(), watch.losses
    except (InputError, RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not _LACKING.search(str(error)):
            raise
        raise MemoryLackedError(str(error) or "memory does not suffice") from None
    finally:
        shutil.rmtree(folder)


def alone(trial: Trial, home: Path) -> dict[str, Any]:
    """What `run` measures, in a process of its own on a CPU, whose memory is nobody else's.

    Raises:
        MemoryLackedError: memory does not suffice.
    """
    if trial.device != "cpu":
        return run(trial, home)[0]
    context = get_context("forkserver")
    context.set_forkserver_preload(_LIBRARIES)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(run, trial, home).result()[0]
        except BrokenProcessPool:
            raise MemoryLackedError("the process was killed") from None


@contextmanager
def _cache(folder: Path) -> Iterator[None]:
    """Keeps what is read out of the user's cache."""
    kept = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if kept is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = kept


@contextmanager
def _said_less() -> Iterator[None]:
    """Keeps the libraries' bars and warnings from between the tables."""
    import datasets
    from transformers.utils import logging

    said = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(said)
        logging.enable_progress_bar()
        datasets.enable_progress_bars()


def matrix_rate(gpu: bool) -> float:
    """Operations a second of a product of two matrices: bf16 on a GPU, fp32 on a CPU."""
    if gpu:
        from neural import _matrix_rate

        return _matrix_rate()
    import torch

    size, seconds = 2048, []
    a = torch.randn(size, size)
    for _ in range(6):
        started = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds[1:])


# -- what is measured ---------------------------------------------------------------------------


def throughput(trial: Trial, turns: int, rate: float, home: Path) -> Rows:
    """Rows a second of each side; of both in chunks where memory does not suffice otherwise."""
    chunk = trial.chunk
    while True:
        try:
            found: dict[Side, Rows] = {side: [] for side in SIDES}
            for _ in range(turns):
                for side in SIDES:
                    told, _ = run(replace(trial, side=side, chunk=chunk), home)
                    found[side].append(told)
            break
        except MemoryLackedError:
            chunk = (chunk or trial.shape.batch) // 2
            if chunk < 1:
                raise
    best = {side: max(found[side], key=lambda told: told["rows/s"]) for side in SIDES}
    rows: Rows = []
    for side in SIDES:
        speed = best[side]["rows/s"]
        row: dict[str, Any] = {
            "side": side, "rows/s": speed, "TFLOP/s": speed * trial.shape.work / 1e12,
            "share": speed * trial.shape.work / rate, "ratio": speed / best[SIDES[1]]["rows/s"],
            "chunk": chunk, "all turns, rows/s": [told["rows/s"] for told in found[side]],
        }  # fmt: skip
        if trial.device != "cpu":
            row["GiB"] = best[side]["MiB"] / 1024
        rows.append(row)
    return rows


def agreement(trial: Trial, precisions: Sequence[Precision], home: Path) -> Rows:
    """Losses of both sides, step by step, of a model that is no larger than the small one.

    Raises:
        SystemExit: those of a first step in fp32 are not the same.
    """
    most = asdict(SMALL)
    shape = Shape(**{name: min(size, most[name]) for name, size in asdict(trial.shape).items()})
    folder = start(
        home / "same", shape, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        initializer_range=0.2,  # large, so that the texts differ clearly
    )  # fmt: skip
    rows = []
    for precision in precisions:
        made = replace(
            trial, shape=shape, start=folder, steps=5, warm=1, precision=precision, again=True
        )
        mine, other = (run(replace(made, side=side), home)[1] for side in SIDES)
        apart = [abs(a - b) / abs(b) for a, b in zip(mine, other, strict=True)]
        rows.append({
            "precision": precision, "first loss": mine[0], "peer first loss": other[0],
            "difference": f"{apart[0]:.1e}", "last loss": mine[-1], "peer last loss": other[-1],
            "greatest difference": f"{max(apart):.1e}",
        })  # fmt: skip
        if precision == "fp32" and not apart[0] <= TOLERANCE:
            raise SystemExit(f"the losses of the first step are {mine[0]} and {other[0]}")
    return rows


def memory(trial: Trial, home: Path) -> Rows:
    """What is held at most by training in four ways, and what each costs in time."""
    chunk = max(1, trial.shape.batch // 4)
    ways: dict[str, dict[str, Any]] = {
        "all rows at once": {},
        f"chunk={chunk}": {"chunk": chunk},
        "checkpointing=true": {"checkpointing": True},
        f"chunk={chunk} checkpointing=true": {"chunk": chunk, "checkpointing": True},
    }
    rows: Rows = []
    for name, how in ways.items():
        try:
            told = alone(replace(trial, **how), home)
        except MemoryLackedError as error:
            told = {"MiB": None, "lacking": str(error)}
        whole = rows[0]["MiB"] if rows else told["MiB"]
        share = told["MiB"] / whole if whole and told["MiB"] else None
        rows.append({"way": name, "MiB": told["MiB"], "share": share})
        if trial.device != "cpu":
            rows[-1]["rows/s"] = told.get("rows/s")
        if "lacking" in told:
            rows[-1]["lacking"] = told["lacking"]
    return rows


def recipe_rows(named: Sequence[str], device: str) -> Rows:
    """Recipes trained in full: a row for each stage, or what is missing.

    Args:
        named: names, each with settings as in "dense-relic,context=4/4"; none are all of a paper's.
        device: to train on.
    """
    from irtoolkit.training.recipe_files import find_recipe, recipe_names

    rows: Rows = []
    for each in named or [name for name in recipe_names() if find_recipe(name).paper]:
        try:
            rows += _trained(each, device)
        except InputError as error:
            rows.append({"recipe": each, "missing": str(error)})
            print(f"{each}: {error}", file=sys.stderr, flush=True)
    return rows


def _trained(named: str, device: str) -> Rows:
    from irtoolkit.commands import parse_pairs
    from irtoolkit.models import presets
    from irtoolkit.training.model_paths import trained_folder
    from irtoolkit.training.recipe_files import find_recipe
    from irtoolkit.training.trainer import train

    name, *pairs = named.split(",")
    settings = parse_pairs(pairs)
    recipe = find_recipe(name, settings)
    # Told before hours of reading: what is trained needs its weights first.
    needed = [recipe.start, recipe.query_start, *(stage.teacher for stage in recipe.stages)]
    for model in dict.fromkeys(needed):
        lacking = None if model is None else presets.missing_weights(presets.find_preset(model))
        if lacking is not None:
            raise InputError(lacking)
    made = train(recipe, trained_folder(name, settings), device=device)
    rows = []
    for number, (stage, told) in enumerate(
        zip(recipe.stages, made.record["stages"], strict=True), 1
    ):
        best = told["best"]
        rows.append({
            "recipe": named, "stage": number, "rows": told["rows"], "steps": told["steps"],
            "rows/s": told["rows per second"], "hours": told["seconds"] / 3600,
            "measure": stage.measure, "best": best and best["figures"][stage.measure],
            "figures": best and best["figures"], "data": told["data"], "reused": made.reused,
            "GiB": told["peak memory MiB"] / 1024,
        })  # fmt: skip
    return rows


# -- all of it ----------------------------------------------------------------------------------


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Every measurement, as tables by name."""
    import torch

    shape = replace(
        BASE if args.gpu else SMALL,
        **{k: v for k in asdict(SMALL) if (v := getattr(args, k, None)) is not None},
    )
    warm, steps = args.steps
    device = "cuda" if args.gpu else "cpu"
    precision: Precision = "bf16" if args.gpu else "fp32"
    if args.gpu:
        name, cuda = torch.cuda.get_device_name(), torch.version.cuda
    else:
        name, cuda = f"{platform.machine()}, {os.cpu_count()} cores", None
    found: dict[str, Any] = {
        "device": name, "CUDA": cuda, "threads": torch.get_num_threads(), "shape": asdict(shape),
        "steps": {"warm": warm, "timed": steps}, "turns": args.turns,
    }  # fmt: skip
    made = Trial("irtoolkit", shape, "", warm + steps, warm, device, precision)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        if {"throughput", "memory"} & set(args.parts):
            made = replace(made, start=start(home / "start", shape))
        if "throughput" in args.parts:
            rate = matrix_rate(args.gpu)
            found["matrix product"] = [{"precision": precision, "TFLOP/s": rate / 1e12}]
            found["throughput"] = throughput(made, args.turns, rate, home)
        if "agreement" in args.parts:
            found["agreement"] = agreement(made, ("fp32", "bf16") if args.gpu else ("fp32",), home)
        if "memory" in args.parts:
            # Few steps show what is held; how fast they are is told of a GPU alone.
            found["memory"] = memory(replace(made, warm=1, steps=6 if args.gpu else 2), home)
    if args.recipes is not None:
        found["recipes"] = recipe_rows(args.recipes, device)
    return found


# In JSON alone.
_UNSHOWN = ("all turns, rows/s", "figures", "data", "missing", "lacking")


def shown(name: str, rows: Rows) -> TextTable:
    """A table without what is too long for it; below it what could not be measured, and why."""
    keys = dict.fromkeys(key for row in rows for key in row if key not in _UNSHOWN)
    notes = [
        f"{row.get('recipe') or row.get('way')}: {row[key]}"
        for row in rows
        for key in ("missing", "lacking")
        if key in row
    ]
    cells = [[row.get(key) for key in keys] for row in rows if "missing" not in row]
    return TextTable(list(keys), cells, title=name, notes=notes, places=3)


def libraries() -> dict[str, str]:
    """Versions of what trains, beside those that every record has."""
    names = ("accelerate", "datasets", "tokenizers")
    return {name: metadata.version(name) for name in names}


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Training beside sentence-transformers' own trainer."
    )
    parser.add_argument("--gpu", action="store_true", help="a model of RoBERTa-base's shape")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--recipes",
        nargs="*",
        metavar="RECIPE[,KEY=VALUE]",
        help="then train these, or all papers'",
    )
    for name in asdict(SMALL):
        parser.add_argument(f"--{name}", type=_whole, metavar="N", help="of the shape")
    parser.add_argument(
        "--steps", type=_whole, nargs=2, metavar=("WARM", "TIMED"), help="default: 1 4; 5 20 on a GPU"
    )  # fmt: skip
    parser.add_argument("--turns", type=_whole, default=2, help="of each side; default: 2")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    args.steps = args.steps or ((5, 20) if args.gpu else (1, 4))
    if args.gpu:
        import torch

        if not torch.cuda.is_available():
            parser.error("--gpu: torch sees no GPU here")
    started = time.monotonic()
    found = measure(args)
    found |= provenance.circumstances(time.monotonic() - started)
    found["platform"]["software"]["libraries"] |= libraries()
    shape = ", ".join(f"{name} {value}" for name, value in found["shape"].items())
    print(f"{found['device']}; two encoders: {shape}")
    for name, rows in found.items():
        if isinstance(rows, list):
            print("\n" + shown(name, rows).render("text"))
    if args.output:
        with atomic_text(args.output) as out:
            json.dump(found, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
