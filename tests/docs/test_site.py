"""The site: it builds with all links and anchors in place, from the pages that the navigation lists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Thread

import pytest

from tests import chromium
from tests.conftest import ROOT

NAMES = ("mkdocs", "material")
SIZES = ((360, 740, True), (768, 1024, False), (1440, 900, False))
SCHEMES = {"light": "default", "dark": "slate"}


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, timeout=300,
        capture_output=True,
    )  # fmt: skip
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.mark.nightly
@pytest.mark.skipif(not all(map(find_spec, NAMES)), reason="pip install '.[docs]'")
@pytest.mark.skipif(chromium.find() is None, reason="no Chromium on this machine")
def test_axe_finds_no_fault_at_any_width(site: str, tmp_path: Path) -> None:
    browser = chromium.find()
    assert browser is not None
    with chromium.browsing(browser, tmp_path) as page:
        for scheme, (width, height, phone) in product(("light", "dark"), SIZES):
            page.media(prefers_color_scheme=scheme)
            page.size(width, height, phone)
            for path in ("", "gallery/", "how-to/serve/", "reference/commands/", "results/books/"):
                page.open(site + path)
                assert page.run("document.documentElement.scrollWidth") <= width
                assert page.run("document.body.dataset.mdColorScheme") == SCHEMES[scheme]
                assert page.faults() == [], (scheme, width, path)
        # Dark pages are printed as light ones.
        page.run("dispatchEvent(new Event('beforeprint')); 1")
        assert page.run("document.body.dataset.mdColorScheme") == SCHEMES["light"]
        page.run("dispatchEvent(new Event('afterprint')); 1")
        assert page.run("document.body.dataset.mdColorScheme") == SCHEMES["dark"]
