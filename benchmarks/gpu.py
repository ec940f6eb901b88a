"""Checks of what only a GPU can show; see gpu.sh, which finds a Python for it.

    benchmarks/gpu.sh
    benchmarks/gpu.sh --only encode maxsim --output some.json
    benchmarks/gpu.sh --device cpu --output gpu-cpu.json

Each check has a name, a result and its seconds: "passed"; "failed", with the reason; "missing", with
what is not installed or not here; or "skipped", when the time that is left would not do. A check that
fails stops no other. One JSON is printed; the file is written after each check, so that a machine that
is taken away leaves what it has found, and "complete" says whether that is all. Rates are shares of the rate of a product of two
matrices that is measured first, in bf16 on a GPU and in fp32 on a CPU; where sentence-transformers
does the same work, its rate is beside ours.

On a CPU the checks are tiny, --output has to be given, and benchmarks/results/gpu.json is refused:
that file is of a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "gpu.json"
# Modules with a list CHECKS.
PARTS = ("gpu_rates", "gpu_retrieval", "gpu_memory", "gpu_training")
BUDGET = 570
# Modules without which no check can be run.
NEEDED = (
    "torch", "transformers", "tokenizers", "sentence_transformers", "numpy", "pyarrow", "numba",
    "ir_datasets", "ir_measures", "filelock", "tqdm",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: a GPU, if there is one")
    parser.add_argument(
        "--model", metavar="FOLDER", help="a small encoder, such as all-MiniLM-L6-v2"
    )
    parser.add_argument(
        "--budget", type=float, default=BUDGET, metavar="SECONDS", help="default: 570"
    )
    parser.add_argument("--only", nargs="+", metavar="CHECK", help="default: all")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="default, with a GPU: results/gpu.json"
    )
    args = parser.parse_args()
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        parser.error(f"{sys.executable} has no {', '.join(absent)}: pip install '.[train]'")
    device = args.device or ("cuda" if _has_card() else "cpu")
    output = Path(args.output) if args.output else RESULTS
    if device == "cpu" and output.resolve() == RESULTS.resolve():
        parser.error("without a GPU name another file with --output: results/gpu.json is of a GPU")
    if device == "cuda" and not _has_card():
        parser.error("there is no GPU here; --device cpu runs the checks without one")
    output.parent.mkdir(parents=True, exist_ok=True)
    made = measure(device, args, output)
    print(json.dumps(made, indent=1))
    if any(one["result"] == "failed" for one in made["checks"]):
        sys.exit(1)


def _has_card() -> bool:
    import torch

    return torch.cuda.is_available()


def _commit() -> str | None:
    """The commit that is measured: $COMMIT, where files alone were copied, else git's."""
    if os.environ.get("COMMIT"):
        return os.environ["COMMIT"]
    asked = ["git", "-C", str(RESULTS.parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def measure(device: str, args: argparse.Namespace, output: Path) -> dict[str, Any]:
    """The results of all checks, with the machine that they are of, in a file, too."""
    import torch
    from gpu_setting import Setting, run_check

    started = time.monotonic()
    checks = [check for part in PARTS for check in importlib.import_module(part).CHECKS]
    unknown = set(args.only or ()) - {check.name for check in checks}
    if unknown:
        raise SystemExit(f"no check {min(unknown)}; there are {', '.join(c.name for c in checks)}")
    chosen = [check for check in checks if not args.only or check.name in args.only]
    made: dict[str, Any] = {
        "device": device, "card": torch.cuda.get_device_name(0) if device == "cuda" else None,
        "commit": _commit(), "machine": platform.machine(), "cores": os.cpu_count(),
        "python": platform.python_version(), "torch": torch.__version__, "checks": [],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as home:
        # What is on disk already would cost nothing, and nobody's cache is to be filled.
        os.environ["IRTOOLKIT_CACHE"] = f"{home}/cache"
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        setting = Setting(device, Path(home), args.model)
        for check in chosen:
            left = args.budget - (time.monotonic() - started)
            made["checks"].append(run_check(check, setting, left))
            made["seconds"] = round(time.monotonic() - started, 1)
            made["complete"] = len(made["checks"]) == len(chosen)
            output.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
            print(f"{check.name}: {made['checks'][-1]['result']}", file=sys.stderr, flush=True)
    return made


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
