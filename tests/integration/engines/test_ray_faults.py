"""Ray clusters that are lost, have other versions, or are none: one line each, exit status 2."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from irtoolkit import version
from irtoolkit.base.errors import InputError
from irtoolkit.engines import node as nodes
from irtoolkit.engines import ray_start
from irtoolkit.engines.ray import RayEngine
from tests import clusters
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.nightly

pytest.importorskip("ray", reason="Ray is not installed")

# A command that maps while its head goes, or after. Its patience is short.
COMMAND = """
import sys
import time
from pathlib import Path

from irtoolkit import cli
from irtoolkit.commands import _engines, search
from irtoolkit.engines import ray_start
from irtoolkit.engines.engine import current

ray_start._LOOK, ray_start._LOST, ray_start._END = 0.2, 1.0, 4.0
address, when, folder = sys.argv[1:]
ready, gone = Path(folder, "ready"), Path(folder, "gone")

def stay(number):
    while number and not gone.exists():
        time.sleep(0.01)
    time.sleep(3600 if number else 0)

def execute(args):
    results = current().map(stay, [0, 1, 1, 1])
    next(results)
    ready.touch()
    if when == "before a map":
        results.close()
        while not gone.exists():
            time.sleep(0.01)
        results = current().map(str, [1])
    print(list(results))

search.configure, search.execute = _engines.add_engine, execute
sys.exit(cli.main(["search", "--address", address]))
"""


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of one node."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with clusters.started(1) as made:
        yield made


@pytest.fixture
def own_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ray is started here, in its own way to authenticate."""
    for name in ("RAY_AUTH_MODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("when", ["within a map", "before a map"])
def test_a_head_that_is_killed_is_one_line(when: str, head: Any, tmp_path: Path) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND, head.address, when, str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: (tmp_path / "ready").exists() or command.poll() is not None)
    head.head_node.kill_gcs_server()
    (tmp_path / "gone").touch()
    out, said = command.communicate(timeout=PATIENCE)
    assert (command.returncode, out) == (2, "")
    assert said.count("\n") == 1
    assert said.startswith("irtoolkit: the Ray cluster at ")
    assert "was lost" in said
    assert "rerun the same command" in said


def test_other_versions_are_one_line(head: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    ours = ray.__version__.replace(".", r"\.")
    with monkeypatch.context() as patch:
        patch.setattr(ray, "__version__", "9.9.9")
        with pytest.raises(InputError, match=rf"another version \(Ray: {ours}.*\(Ray: 9\.9\.9\)"):
            RayEngine(address=head.address)
    engine = RayEngine(address=head.address)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(version, "__version__", "9.9.9")
            with pytest.raises(
                InputError,
                match=r"node \S+ has irtoolkit .*, and the process that it works for 9\.9\.9",
            ):
                list(engine.map(str, [1]))
        assert list(engine.map(str, [1])) == ["1"]
    finally:
        engine.close()


@pytest.mark.usefixtures("own_ray")
def test_a_ray_of_its_own_leaves_authentication_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Ray that is started here takes tokens; the cluster that is joined next may have none."""
    from ray._raylet import AuthenticationMode, get_authentication_mode

    def modes() -> tuple[str | None, object]:
        return os.environ.get("RAY_AUTH_MODE"), get_authentication_mode()

    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    own = RayEngine(workers=1)
    assert modes() == ("token", AuthenticationMode.TOKEN)
    own.close()
    assert modes() == (None, AuthenticationMode.DISABLED)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with clusters.started(0, 1) as made:  # the second node asks this process for the work
        joined = RayEngine(address=made.address)
        try:
            assert list(joined.map(str, [1])) == ["1"]
        finally:
            joined.close()


@pytest.mark.usefixtures("own_ray")
def test_a_ray_that_does_not_start_leaves_this_process_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ray._private.node import Node
    from ray._raylet import AuthenticationMode, get_authentication_mode

    def dies(*_: object) -> None:
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(Node, "start_head_processes", dies)
    begin = Node.__init__
    with pytest.raises(InputError, match=r"^Ray did not start on this machine") as refused:
        RayEngine(workers=1)
    # --debug shows what Ray itself said.
    assert "timed out during startup" in str(refused.value.__cause__)
    assert os.environ.get("RAY_AUTH_MODE") is None
    assert get_authentication_mode() == AuthenticationMode.DISABLED
    assert Node.__init__ is begin


@pytest.mark.parametrize("when", ["late", "dead", "elsewhere"])
def test_a_node_that_lives_is_waited_for(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private import node, services

    class Node:
        def __init__(self, params: object) -> None:
            self.all_processes = {} if when == "elsewhere" else {"raylet": [params]}
            self.found = services.get_node("address", params)

        def remaining_processes_alive(self) -> bool:
            return when != "dead"

    def found(address: str, name: str) -> str:
        if not next(answers):
            raise RuntimeError("no such node")
        return f"{name} of {address}"

    answers = iter([False, False, True])
    monkeypatch.setattr(node, "Node", Node)
    monkeypatch.setattr(services, "get_node", found)
    with nodes.patient_start():
        if when == "late":
            assert Node("node").found == "node of address"
        else:
            with pytest.raises(RuntimeError, match="no such node"):
                Node("node")
    assert services.get_node is found


@pytest.mark.usefixtures("own_ray")
def test_a_node_that_dies_as_it_starts_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private.node import Node

    begin = Node.start_ray_processes
    died: list[tuple[str, Any]] = []

    def start(node: Any) -> None:
        if not died:
            died.extend(node.live_processes())  # of the head, without its raylet
            raise Exception("The current node timed out during startup.")
        begin(node)

    monkeypatch.setattr(Node, "start_ray_processes", start)
    engine = RayEngine(workers=1)
    try:
        assert list(engine.map(str, [1])) == ["1"]
        assert died
        wait_for(lambda: all(process.poll() is not None for _, process in died))
    finally:
        engine.close()


# A command that is asked to end while Ray begins, or while workers work.
ENDED = """
import os
import signal
import sys

from irtoolkit import cli
from irtoolkit.base import ending
from irtoolkit.commands import _engines, search
from irtoolkit.engines.engine import current

def end(*_):
    os.kill(os.getpid(), signal.SIGTERM)

def execute(args):
    end(next(current().map(str, [1])))

ending.heed()
search.configure, search.execute = _engines.add_engine, execute
if sys.argv[1] == "while Ray begins":
    from ray._private import node
    node.Node.start_head_processes = end
sys.exit(cli.main(["search", "--engine", "ray", "--workers", "1"]))
"""


@pytest.mark.parametrize("when", ["while Ray begins", "while workers work"])
def test_a_command_that_is_asked_to_end_ends_as_without_ray(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", ENDED, when], capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    said = "irtoolkit: interrupted; nothing half-written was left\n"
    assert (done.returncode, done.stdout, done.stderr) == (143, "", said)


def test_a_cluster_that_takes_tokens_refuses_who_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    ray_start._authenticate("token")  # what starts the cluster asks its head, too
    try:
        with clusters.started(1) as made:
            monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
            match = r"cannot join it \(are RAY_AUTH_MODE and the token"
            try:
                with pytest.raises(InputError, match=match):
                    RayEngine(address=made.address)
            finally:
                ray_start._authenticate("token")  # what ends the cluster asks its head, too
    finally:
        ray_start._authenticate(None)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        InputError,
        match=r"Ray is not installed \(pip install '\.\[ray\]' in the folder of irtoolkit\)",
    ):
        RayEngine(address="127.0.0.1:1")


@pytest.mark.parametrize("says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", None])
def test_what_is_no_ray_is_one_line(says: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_start, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            for _ in range(2):
                connected.append(server.accept()[0])
                if says is not None:
                    with suppress(OSError):  # the first only looks whether somebody answers
                        connected[-1].sendall(says)
                        connected[-1].shutdown(socket.SHUT_WR)

        connected: list[socket.socket] = []
        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(
            InputError, match=rf"what answers at 127\.0\.0\.1:{port} is no Ray cluster"
        ):
            RayEngine(address=f"127.0.0.1:{port}")
        answering.join()
        for each in connected:
            each.close()
