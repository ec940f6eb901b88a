"""Splitting a book takes time in proportion to its length, whatever is in it."""

from __future__ import annotations

import subprocess
import sys

# One quadratic rule would take minutes of CPU for one of these; together they take a few seconds.
SCRIPT = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.novels import novel_of
units = ("[Illustration", "[Illustration [", ". ", '." ', ".", "\\u2026", "\\u6211\\u2026", "word")
texts = [unit * (500_000 // len(unit)) + "x" for unit in units]
texts.append("Title: a" + " " * 500_000 + "x. Y")
texts.append("\\n" * 59_000 + "*** START OF THE PROJECT GUTENBERG X ***\\nHi.")
for text in texts:
    try:
        novel_of(text.encode(), "x")
    except InputError:
        pass
"""


def test_no_rule_is_quadratic() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
