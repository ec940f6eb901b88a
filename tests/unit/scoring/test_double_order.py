"""The order of scores in double precision, by the commands that the page on trec_eval gives."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.runs import Run
from tests.conftest import ROOT


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
def test_the_commands_of_the_page_give_the_order(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "concepts" / "trec-eval.md").read_text()
    [block] = re.findall(r"```bash\n(LC_ALL=C sort.*?> placed\.run)\n", page, re.DOTALL)
    # In single precision, all scores of a query are equal.
    rows = ["q Q0 b 2 16777216.0 t", "q Q0 a 1 16777217.0 t", "q Q0 c 3 16777216.0 t",
            "p Q0 y 1 1.00000000001 t", "p Q0 z 2 1.0 t", "p Q0 x 1 1.00000000002 t"]  # fmt: skip
    single = Run.read(write("double.run", "\n".join(rows) + "\n"))
    assert [row.doc_id for row in single if row.query_id == "q"] == ["c", "b", "a"]
    subprocess.run(["bash", "-c", block], cwd=tmp_path, check=True)
    placed = Run.read(tmp_path / "placed.run")
    assert [(row.query_id, row.doc_id) for row in placed] == [
        *[("p", doc) for doc in "xyz"], *[("q", doc) for doc in "acb"]
    ]  # fmt: skip
