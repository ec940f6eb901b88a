"""Commands without any extra: what they need is named, with the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# The libraries of the extras are hidden, as if they were not installed.
CORE = """
import importlib.util, sys
HIDDEN = {"fastapi", "huggingface_hub", "mcp", "sentence_transformers", "starlette", "torch", "transformers", "uvicorn"}
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in HIDDEN else found(name, *more)
sys.meta_path.insert(0, Hidden())
from irtoolkit.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("command", "library"),
    [
        ("retrieve csfcube/sample best -o x.run", "sentence-transformers"),
        ("serve emma.md --mcp", "fastapi"),
        ("serve --no-token", "fastapi"),
    ],
)
def test_a_missing_library_is_named_with_its_remedy(
    command: str, library: str, tmp_path: Path
) -> None:
    (tmp_path / "emma.md").write_text("It is a truth.\n")
    done = subprocess.run(
        [sys.executable, "-c", CORE, *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2, done.stderr
    assert last.startswith(f"irtoolkit: {library} is not installed (pip install '.[")
    assert "ModuleNotFoundError" not in done.stderr
