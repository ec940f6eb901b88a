"""Headless Chromium for tests, driven through a pipe by its own protocol; no library is needed."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[1]

NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "chromium-headless-shell", "headless_shell",
)  # fmt: skip


def find() -> str | None:
    """The browser on this machine, or None; IRTOOLKIT_CHROMIUM names one that is not on the PATH."""
    named = os.environ.get("IRTOOLKIT_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page of a running browser."""

    def __init__(self, out: int, into: int) -> None:
        self._out, self._into = out, into
        # select() knows no files beyond the 1,024th of a process.
        self._said = select.poll()
        self._said.register(out, select.POLLIN)
        self._rest, self._number, self._session = b"", 0, ""
        # Whatever the page logged or threw, and every address it asked for.
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._events: set[str] = set()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Calls a method of the browser's protocol and waits for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def go(self, path: Path, fragment: str = "") -> None:
        """Opens a file anew and waits until it has been loaded."""
        self.open(path.resolve().as_uri() + fragment)

    def open(self, address: str) -> None:
        """Opens an address anew and waits until it has been loaded."""
        # To the same file with another fragment a browser would only scroll.
        for url in ("about:blank", address):
            self._events.clear()
            self.call("Page.navigate", url=url)
            while "Page.loadEventFired" not in self._events:
                self._next()
        self.requests = [url for url in self.requests if url != "about:blank"]

    def until(self, script: str) -> Any:
        """The value of a JavaScript expression once it is true."""
        poll = (
            f"new Promise(done => {{const look = () => {{let value; try {{value = ({script})}} catch {{}}"
            " value ? done(value) : setTimeout(look, 20)}; look()})"
        )
        answer = self.call(
            "Runtime.evaluate", expression=poll, returnByValue=True, awaitPromise=True
        )
        return answer["result"].get("value")

    def upload(self, selector: str, path: Path) -> None:
        """Chooses a file in an input of files."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path.resolve())])

    def type(self, text: str) -> None:
        """Writes text where the focus is."""
        self.call("Input.insertText", text=text)

    def press(self, *keys: str, ctrl: bool = False, shift: bool = False) -> None:
        """Presses keys one after the other: letters, Tab, Enter, Space, Escape."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        for key in keys:
            code = codes.get(key, ord(key.upper()[0]))
            text = "" if ctrl or key in ("Tab", "Escape") else "\r" if key == "Enter" else key
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                    modifiers=2 * ctrl + 8 * shift, text=text if kind == "keyDown" else "",
                )  # fmt: skip

    def media(self, **features: str) -> None:
        """Sets what media queries see, such as prefers_color_scheme="dark"."""
        listed = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        self.call("Emulation.setEmulatedMedia", features=listed)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def run_if_settled(self, script: str) -> Any:
        """As `run`; None while another page takes the place of this one."""
        try:
            return self.run(script)
        except RuntimeError as error:
            if "navigated" not in str(error):
                raise
            return None

    def click(self, selector: str) -> None:
        """Presses the middle of an element with the mouse."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center'}})")
        box = self.run(
            f"(() => {{const b = {found}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]}})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                clickCount=1,
            )  # fmt: skip

    def key(self, key: str, code: int) -> None:
        """Presses a key."""
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "",
            )  # fmt: skip

    def size(self, width: int, height: int, phone: bool = False) -> None:
        """Gives the page a screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip

    def faults(self) -> list[Any]:
        """What axe-core finds wrong: [impact, rule, element] for each; skips the test where it is missing."""
        named = os.environ.get("IRTOOLKIT_AXE")
        script = Path(named) if named else ROOT / "node_modules" / "axe-core" / "axe.min.js"
        if not script.is_file():
            pytest.skip("no axe-core: npm install axe-core, or IRTOOLKIT_AXE=axe.min.js")
        self.run(script.read_text("utf-8") + "; 1")
        self.run(
            "window.found = null; axe.run().then(r => window.found = JSON.stringify("
            "r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))); 1"
        )
        found: list[Any] = json.loads(self.until("window.found"))
        return found

    def assert_quiet(self, address: str) -> None:
        """Asserts that nothing was logged, thrown or asked of another server."""
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith((address, "blob:"))] == []

    def fetched(self, path: str, body: Any = None, **headers: str) -> str:
        """What the page itself gets from its server; a body is sent as JSON."""
        settings: dict[str, Any] = {}
        if body is not None:
            sent = {"Content-Type": "application/json", **headers}
            settings = {"method": "POST", "body": json.dumps(body), "headers": sent}
        self.run(
            f"window.got = null; fetch({json.dumps(path)}, {json.dumps(settings)})"
            ".then(a => a.text()).then(t => window.got = t); 1"
        )
        return str(self.until("window.got"))

    def assert_tab_reaches(self, controls: str, outlined: str = "e") -> None:
        """Asserts that the Tab key reaches every visible control, and that each shows it.

        Args:
            controls: their selector.
            outlined: the element with the outline, of the control `e`.
        """
        self.run("document.activeElement.blur(); window.scrollTo(0, 0)")
        wanted = self.run(
            f"[...document.querySelectorAll('{controls}')].filter(e =>"
            " e.tabIndex >= 0 && !e.disabled && e.checkVisibility()).length"
        )
        focused = (
            "(() => {const e = document.activeElement; window.tabs ??= []; if (!tabs.includes(e))"
            f" tabs.push(e); const s = getComputedStyle({outlined}); return [tabs.indexOf(e),"
            " e.outerHTML.slice(0, 60), s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]"
            ".join()})()"
        )
        seen = set()
        # Between the last and the first the focus is on nothing.
        for _ in range(wanted + 1):
            self.press("Tab")
            seen.add(self.run(focused))
        seen = {one for one in seen if "<body" not in one}
        assert len(seen) == wanted
        assert [one for one in seen if not one.endswith("true")] == []

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not self._said.poll(PATIENCE * 1000):
                raise RuntimeError(f"the browser has said nothing for {PATIENCE} seconds")
            piece = os.read(self._out, 1 << 16)
            if not piece:
                raise RuntimeError("the browser went away")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        self._events.add(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        return message


@contextmanager
def browsing(browser: str, profile: Path) -> Iterator[Page]:
    """A page of a browser that is started for the block, with a profile of its own."""
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    # The protocol is spoken over file descriptors 3 and 4, which Popen itself cannot fill.
    ends = f"os.dup2({read_commands}, 3); os.dup2({write_answers}, 4)"
    process = subprocess.Popen(
        [
            sys.executable, "-c", f"import os, sys; {ends}; os.execv(sys.argv[1], sys.argv[1:])",
            browser, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}",
        ],
        pass_fds=(read_commands, write_answers), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(read_commands)
    os.close(write_answers)
    try:
        yield Page(read_answers, write_commands)
    finally:
        process.terminate()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(read_answers)
        os.close(write_commands)


@contextmanager
def opened(folder: Path) -> Iterator[Page]:
    """The page of a browser whose profile is in a folder; skips the test where there is none."""
    browser = find()
    if browser is None:
        pytest.skip("no Chromium on the PATH or in IRTOOLKIT_CHROMIUM")
    with browsing(browser, folder) as page:
        page.media(prefers_reduced_motion="reduce")
        yield page


@contextmanager
def serving(application: Callable[[int], Any]) -> Iterator[str]:
    """The address of an application, which is made for a port."""
    import uvicorn

    place = socket.create_server(("127.0.0.1", 0))
    port = place.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application(port), log_level="error"))
    thread = Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    wait_for(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()
