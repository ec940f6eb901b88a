"""The randomization test in processes with any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import irtoolkit
from irtoolkit.scoring.significance import (
    paired_test,
)


def test_fisher_is_the_same_in_another_process_on_any_number_of_threads() -> None:
    program = (
        "import numpy as np\n"
        "from irtoolkit.scoring.significance import paired_test\n"
        "rng = np.random.default_rng(8)\n"
        "a, b = rng.random(60), rng.random(60)\n"
        "print(repr(paired_test(a, b, 'fisher')))"
    )
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    root = str(Path(irtoolkit.__file__).resolve().parent.parent)
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **dict.fromkeys(names, "7"), "PYTHONHASHSEED": "7",
             "PYTHONPATH": root},
    )  # fmt: skip
    rng = np.random.default_rng(8)
    a, b = rng.random(60), rng.random(60)
    assert answer.stdout.strip() == repr(paired_test(a, b, "fisher"))
