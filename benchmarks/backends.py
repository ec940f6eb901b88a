"""What backends and int8 gain in speed and lose in quality, beside torch in fp32.

    IRTOOLKIT_DATA=../shared/data python benchmarks/backends.py
    python benchmarks/backends.py --models all-MiniLM-L6-v2 --dataset quoter/sample/en/test

Weights come from the hub or `python benchmarks/weights.py`; a model that is published as an ONNX file alone is
converted to torch's first, and each is exported to ONNX here. Speed is of abstracts of CSFCube cut at
128 tokens, and of a cross-encoder of pairs with their titles, on the threads that torch takes: ways take
turns, and the fastest of some rounds counts, as a share of torch in fp32. Quality is that of the ranking
of a dataset, for a cross-encoder of BM25's best documents: its main measure, the largest difference of a
score, and the share of queries whose first ten documents are the same. Nothing is taken from a cache.

Results go to benchmarks/results/backends.json, where those of other models are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.exporting import ExportPrecision, export_onnx
from irtoolkit.models.importing import import_onnx
from irtoolkit.models.presets import Kind, find_preset, model_folder, said_kind
from irtoolkit.ranking.produce import Among, produce
from irtoolkit.ranking.systems import System, find_reranker, find_system
from irtoolkit.runs import Run, provenance

RESULTS = Path(__file__).resolve().parent / "results" / "backends.json"
MODELS = ("all-MiniLM-L6-v2", "all-mpnet-base-v2", "ms-marco-MiniLM-L-12")
# Whose documents are read for speed, how many, how often, and of how many tokens.
READ, TEXTS, ROUNDS, LENGTH = "csfcube", 64, 5, 128
# What torch keeps its weights in, and how many documents a cross-encoder ranks again.
FILE, DEPTH = "model.safetensors", 20


@dataclass(frozen=True)
class Way:
    """How a model is run: the settings, and the precision of the weights in the ONNX file."""

    name: str
    settings: dict[str, str]
    exported: ExportPrecision = "fp32"


WAYS = (
    Way("torch, fp32", {"backend": "torch", "precision": "fp32"}),
    Way("torch, bf16", {"backend": "torch", "precision": "bf16"}),
    Way("torch, int8", {"backend": "torch", "precision": "int8"}),
    Way("ONNX, fp32", {"backend": "onnx"}),
    Way("ONNX, int8", {"backend": "onnx"}, "int8"),
    Way("OpenVINO, fp32", {"backend": "openvino"}),
    Way("OpenVINO, int8", {"backend": "openvino"}, "int8"),
)


@dataclass(frozen=True)
class Model:
    """A model whose folders, by the precision of the ONNX file in them, have its weights for torch too."""

    folder: Path
    kind: Kind

    @classmethod
    def exported(cls, name: str, folder: Path) -> Model:
        """Writes the folders."""
        preset = find_preset(name)
        source = Path(model_folder(preset))
        model = cls(folder, said_kind(str(source)) or preset.kind)
        if not (source / FILE).is_file():
            import_onnx(name, folder / "torch")
            source = folder / "torch"
        for precision in {way.exported for way in WAYS}:
            export_onnx(str(source), folder / precision, precision)
            shutil.copy(source / FILE, folder / precision)
        return model

    def encoder(self, way: Way) -> Encoder:
        """What reads documents, or pairs of texts."""
        how: dict[str, Any] = way.settings
        place = str(self.folder / way.exported)
        return Encoder(EncoderSettings(place, self.kind, "document", length=LENGTH, **how))

    def system(self, way: Way, dataset: str) -> System:
        """What ranks with it."""
        settings = {"model": str(self.folder / way.exported), **way.settings}
        if self.kind == "cross":
            return replace(find_reranker("cross-encoder", settings, dataset), depth=DEPTH)
        return find_system("dense", settings, dataset)


def rates(model: Model) -> dict[str, float]:
    """Texts, or pairs of them, a second of each way."""
    docs = list(islice(Dataset.of(READ).docs_iter(), TEXTS))
    found: dict[str, float] = {}
    encoders = {way.name: model.encoder(way) for way in WAYS}
    for number in range(ROUNDS):
        texts = [f"{' '.join(doc.sentences)} {number}" for doc in docs]
        given: list[Any] = texts
        if model.kind == "cross":
            given = [(doc.title, text) for doc, text in zip(docs, texts, strict=True)]
        for name, one in encoders.items():
            started = time.perf_counter()
            for _ in one.once(given):
                pass
            found[name] = max(found.get(name, 0.0), len(docs) / (time.perf_counter() - started))
    return found


def qualities(model: Model, dataset: str, runs: Path) -> dict[str, dict[str, float]]:
    """Of each way: the main measure, and how far its run is from the first one's."""
    among = None
    if model.kind == "cross":
        produce(dataset, find_system("bm25", {}, dataset), runs / "bm25.run", progress=False)
        among = Among.read(runs / "bm25.run")
    found, first = {}, None
    for way in WAYS:
        out = runs / f"{way.name}.run"
        run, _ = produce(dataset, model.system(way, dataset), out, progress=False, candidates=among)
        [figures] = ir.evaluate(dataset, str(out)).figures().values()
        main = next(iter(figures))
        first = first or run
        found[way.name] = {main: figures[main], **distance(first, run)}
    return found


def distance(one: Run, other: Run) -> dict[str, float]:
    """How far a run is from another: in scores, and in the first ten documents of a query."""
    score, same = 0.0, 0
    for query in one.query_ids.tolist():
        mine, theirs = ({r.doc_id: r.score for r in run.ranking(query)} for run in (one, other))
        score = max([score, *(abs(mine[doc] - theirs[doc]) for doc in mine.keys() & theirs.keys())])
        same += list(mine)[:10] == list(theirs)[:10]
    return {"largest difference": score, "same first ten": same / len(one.query_ids)}


def measured(model: Model, dataset: str, runs: Path) -> dict[str, dict[str, float]]:
    """Of each way: its quality, its rate, and this as a share of the first one's."""
    good, fast = qualities(model, dataset, runs), rates(model)
    base = fast[WAYS[0].name]
    return {way: {**good[way], "rate": fast[way], "ratio": fast[way] / base} for way in fast}


def table(found: dict[str, Any]) -> str:
    """The results as a table."""
    lines = []
    for model, known in found["models"].items():
        for name, about in known["ways"].items():
            main = found["measure"]
            lines.append(
                [model, name, f"{about['rate']:.1f}", f"{about['ratio']:.2f}", f"{about[main]:.4f}",
                 f"{about['largest difference']:.1e}", f"{about['same first ten']:.2f}"]
            )  # fmt: skip
    heads = ["model", "way", "texts/s", "ratio", found["measure"], "score off", "same 10"]
    return TextTable(heads, lines, f"backends, quality on {found['dataset']}").render("text")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="MODEL")
    parser.add_argument("--dataset", default="quoter/en/lower/test", metavar="DATASET")
    parser.add_argument("-o", "--output", metavar="FILE", default=str(RESULTS))
    args = parser.parse_args()
    path = Path(args.output)
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    # What was measured on another dataset is another table.
    models = kept["models"] if kept.get("dataset") == args.dataset else {}
    with tempfile.TemporaryDirectory() as place:
        made = {
            name: Model.exported(name, Path(place) / name.replace("/", "-")) for name in args.models
        }
        # Nothing that was encoded before is taken.
        os.environ["IRTOOLKIT_CACHE"] = f"{place}/cache"
        for name, model in made.items():
            started = time.monotonic()
            ways = measured(model, args.dataset, Path(place))
            circumstances = provenance.circumstances(time.monotonic() - started)
            models[name] = {"kind": model.kind, "ways": ways, "made": circumstances}
            measure = next(iter(ways[WAYS[0].name]))
            found = {"dataset": args.dataset, "measure": measure, "models": models}
            with atomic_text(path) as file:
                json.dump(found, file, indent=1)
                file.write("\n")
    print(table(found))


if __name__ == "__main__":
    main()
