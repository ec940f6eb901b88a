"""What backends and int8 gain in speed and lose in quality, beside torch in fp32.

    IRTOOLKIT_DATA=../shared/data python benchmarks/backends.py
    python benchmarks/backends.py --models all-MiniLM-L6-v2 --dataset quoter/sample/en/test

Weights come from `irtoolkit models --fetch NAME`. Each model is exported to ONNX here, because none of
these is published both ways. Speed is of abstracts of CSFCube cut at 128 tokens, on the threads that
torch takes: ways take turns, and the fastest of some rounds counts, as a share of torch in fp32. Quality
is that of the ranking of a dataset: its main measure, the largest difference of a score, and the share
of queries whose first ten documents are the same. Quotes are encoded again for each way.

Results go to benchmarks/results/backends.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.exporting import ExportPrecision, export_onnx
from irtoolkit.models.presets import find_preset, model_folder
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Run, provenance

RESULTS = Path(__file__).resolve().parent / "results" / "backends.json"
MODELS = ("all-MiniLM-L6-v2", "all-mpnet-base-v2")
TEXTS, ROUNDS, LENGTH = 64, 5, 128


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


def exported(model: str, folder: Path) -> Path:
    """A folder with the folders of a model by the precision of its ONNX file, and its weights."""
    weights = Path(model_folder(find_preset(model))) / "model.safetensors"
    for precision in {way.exported for way in WAYS}:
        export_onnx(model, folder / precision, precision)
        shutil.copy(weights, folder / precision)
    return folder


def rates(folder: Path) -> dict[str, float]:
    """Texts a second of each way."""
    texts = [" ".join(doc.sentences) for doc in islice(Dataset.of("csfcube").docs_iter(), TEXTS)]
    found: dict[str, float] = {}
    encoders = {way.name: encoder(folder, way) for way in WAYS}
    for number in range(ROUNDS):
        for name, one in encoders.items():
            given = [f"{text} {number}" for text in texts]
            started = time.perf_counter()
            for _ in one.once(given):
                pass
            found[name] = max(found.get(name, 0.0), TEXTS / (time.perf_counter() - started))
    return found


def encoder(folder: Path, way: Way) -> Encoder:
    """A model that reads documents."""
    how: dict[str, Any] = way.settings
    place = str(folder / way.exported)
    return Encoder(EncoderSettings(place, "dense", "document", length=LENGTH, **how))


def qualities(folder: Path, dataset: str, runs: Path) -> dict[str, dict[str, float]]:
    """Of each way: the main measure, and how far its run is from the first one's."""
    found, first = {}, None
    for way in WAYS:
        out = runs / f"{way.name}.run"
        system = find_system(
            "dense", {"model": str(folder / way.exported), **way.settings}, dataset
        )
        run, _ = produce(dataset, system, out, progress=False)
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


def table(found: dict[str, Any]) -> str:
    """The results as a table."""
    lines = []
    for model, ways in found["models"].items():
        for name, about in ways.items():
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
    started = time.monotonic()
    models = {}
    with tempfile.TemporaryDirectory() as place:
        folders = {
            name: exported(name, Path(place) / name.replace("/", "-")) for name in args.models
        }
        # Nothing that was encoded before is taken.
        os.environ["IRTOOLKIT_CACHE"] = f"{place}/cache"
        for name, folder in folders.items():
            fast = rates(folder)
            good = qualities(folder, args.dataset, Path(place))
            base = fast[WAYS[0].name]
            models[name] = {
                way: {"rate": fast[way], "ratio": fast[way] / base, **good[way]} for way in fast
            }
    measure = next(iter(good[WAYS[0].name]))
    found = {"dataset": args.dataset, "measure": measure, "models": models}
    found["made"] = provenance.circumstances(time.monotonic() - started)
    with atomic_text(Path(args.output)) as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    print(table(found))


if __name__ == "__main__":
    main()
