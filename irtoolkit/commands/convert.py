"""Make a published checkpoint into a folder that models are loaded from, or a model into ONNX and back.

onnx exports a dense encoder or cross-encoder, given as a preset, folder or hub id, for backend=onnx and
backend=openvino (pip install '.[onnx]'); --precision int8 rounds its weights. torch is the other way
round, for a model that is published as ONNX: weights that can be trained.

Some models of the papers are published in forms of their own:

    colbert       ColBERT's first version, a .dnn file (msmarco.psg.l2.zip)
    c-realm       c-REALM, a TensorFlow Hub module, unpacked (retriever.zip)
    dpr-msmarco   vsearch/dpr-msmarco, two encoders in one file
    berm          a folder in which BERM's authors' code saved a checkpoint
    ernie-search  model_state.pdparams beside vocab.txt and config.json
    lora          an adapter of PEFT, added to its base model, as RankLLaMA's

ColBERT, c-REALM and DPR come without a tokenizer: theirs is that of bert-base-uncased, the --base.
An adapter names its base model itself; --base takes it from elsewhere.
Nothing in the files is run, and neither TensorFlow nor Paddle is needed. The folder is given to
retrieve as --set weights=PATH and to reproduce as --weights MODEL=PATH, or named as the preset is
and found where irtoolkit is run. irtoolkit models NAME says where the files are.
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.errors import InputError
from irtoolkit.commands import argument, local_folder

HELP = "convert a published checkpoint, or a model to ONNX and back"
EXAMPLES = (
    "irtoolkit convert onnx all-MiniLM-L6-v2 -o MiniLM-onnx",
    "irtoolkit convert torch gte-small -o gte-small-torch",
    "irtoolkit convert colbert msmarco.psg.l2/checkpoints/colbert-300000.dnn -o ColBERT",
    "irtoolkit convert c-realm crealm-retriever -o c-REALM",
    "irtoolkit convert lora rankllama-lora -o RankLLaMA",
)
NAMES = ("onnx", "torch", "colbert", "c-realm", "dpr-msmarco", "berm", "ernie-search", "lora")


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("LAYOUT", "the form it is published in; onnx or torch, what it is to become", choices=NAMES)
    add("SOURCE", "the file or folder as it is published; for onnx and torch the model")
    add("-o, --output FOLDER", "a folder that is not there yet", required=True, type=local_folder)
    add(
        "--base MODEL",
        "folder or hub id of the tokenizer and configuration, for lora of the model; default:"
        " bert-base-uncased, for lora what the adapter names",
    )
    add("--precision", "of what onnx writes; default: fp32", choices=("fp32", "int8"))


def execute(args: argparse.Namespace) -> None:
    from pathlib import Path

    from irtoolkit.models.conversion import BASE, convert

    if args.layout == "onnx":
        from irtoolkit.models.exporting import export_onnx

        if args.base is not None:
            raise InputError("--base is for published checkpoints", remedy="leave it out")
        far = export_onnx(args.source, Path(args.output), args.precision or "fp32")
        print(f"in single precision, outputs are within {far.exported:.0e} of torch's")
        if far.rounded is not None:
            print(f"in int8, outputs are within {far.rounded:.0e} of torch's in single precision")
        print(f"{_given(args.output)}, with backend=onnx or backend=openvino")
        return
    if args.precision is not None:
        raise InputError("--precision is for onnx", remedy="leave it out")
    if args.layout == "torch":
        from irtoolkit.models.importing import import_onnx

        if args.base is not None:
            raise InputError("--base is for published checkpoints", remedy="leave it out")
        near = import_onnx(args.source, Path(args.output))
        print(f"outputs are within {near:.0e} of those of the ONNX file")
        print(f"{_given(args.output)}; train with start={args.output}")
        return
    convert(args.layout, Path(args.source), Path(args.output), args.base or BASE)
    print(_given(args.output))


def _given(folder: str) -> str:
    """Returns how other commands take the folder of a model."""
    return (
        f"{folder}: retrieve with --set weights={folder}, reproduce with --weights MODEL={folder}"
    )
