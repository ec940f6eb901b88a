"""The site: it builds with all links and anchors in place, from the pages that the navigation lists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

NAMES = ("mkdocs", "material")


@pytest.mark.nightly
@pytest.mark.skipif(not all(map(find_spec, NAMES)), reason="pip install '.[docs]'")
def test_it_builds_without_warnings(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (site / "reference" / "python" / "index.html").read_text("utf-8")
    assert 'id="irtoolkit.api.load"' in page
    # It is of a useful length: the names that are promised, not every method.
    assert 30 <= len(re.findall(r'<a id="irtoolkit', page)) <= 120
    assert not list(site.rglob("*.py"))
    # Nothing is loaded from other servers.
    for built in site.rglob("*.html"):
        text = built.read_text("utf-8")
        assert not re.findall(r'<(?:script|img)[^>]* src="https?:', text), built
        assert not re.findall(r'<link[^>]* rel="stylesheet"[^>]* href="https?:', text), built


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    pages = sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
    assert sorted(listed) == pages
