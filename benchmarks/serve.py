"""How long a reader waits for a new book, and for an answer.

    python benchmarks/serve.py NOVEL.txt      # plain text; a minute or two on a quiet machine
    python benchmarks/serve.py NOVEL.txt -o benchmarks/results/serve.json

A server is started in a folder and a cache that are empty; when its model is loaded, the novel is
uploaded over HTTP as the page does. Shown are the seconds until it can be searched by words and by
meaning, those of searches meanwhile and afterwards, of many readers at once, and of the next start;
and CPU seconds and memory of the server. Each query is asked once: nothing of it is kept.

Each reader has a connection that stays open, as a browser has, and searches with the settings of the
page. All readers are one process beside the server, on the same cores: a search is timed from sending
it until its answer is read, and answers are parsed afterwards.
"""

import argparse
import http.client
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from irtoolkit.base.cores import cores
from irtoolkit.base.files import atomic_text

READERS, ROUNDS, QUERIES = 50, 4, 20
SYSTEMS = ("words", "meaning", "both")
# What the page asks for unless a reader says otherwise.
PAGE = {"length": 8, "depth": 20, "context": 1}


class Reader:
    """A browser that searches: a connection that stays open."""

    def __init__(self, host: str) -> None:
        self._connection = http.client.HTTPConnection(host)

    def ask(self, path: str, body: bytes | None = None) -> bytes:
        """The answer to a request."""
        kind = {"Content-Type": "application/json"}
        self._connection.request("GET" if body is None else "POST", path, body, kind)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise OSError(f"{path}: {answer.status} {text[:200]!r}")
        return text

    def seconds(self, name: str, system: str, query: str) -> float:
        """Of a search."""
        wanted = {"collection": name, "query": query, "systems": [system], **PAGE}
        body = json.dumps(wanted).encode()
        began = time.perf_counter()
        text = self.ask("/search", body)
        seconds = time.perf_counter() - began
        assert b'"rank":1' in text
        return seconds


class Server:
    """A server in a process of its own."""

    def __init__(self, folder: Path, model: str) -> None:
        words = [sys.executable, "-m", "irtoolkit", "serve", "--folder", str(folder / "library")]
        env = {**os.environ, "IRTOOLKIT_CACHE": str(folder / "cache")}
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [*words, "--port", "0", "--model", model, "--no-token"],
            stdout=subprocess.PIPE,
            env=env,
            text=True,
        )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        self._host = urllib.parse.urlsplit(address).netloc
        self._reader = self.reader()

    def reader(self) -> "Reader":
        """A reader of its page, with a connection of its own."""
        return Reader(self._host)

    def ask(self, path: str, body: bytes | None = None) -> Any:
        """The answer to a request, as JSON."""
        return json.loads(self._reader.ask(path, body))

    def seconds(self, name: str, system: str, query: str) -> float:
        """Of a search."""
        return self._reader.seconds(name, system, query)

    def cpu(self) -> float:
        """CPU seconds so far, 0 where they cannot be read."""
        status = Path(f"/proc/{self._process.pid}/stat")
        if not status.is_file():
            return 0.0
        user, system = status.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def until(self, name: str, system: str) -> list[float]:
        """Waits for a system of a collection; seconds of searches by words meanwhile."""
        taken: list[float] = []
        while self._is_on_its_way(known := self.ask(f"/collections/{name}"), system):
            if known["progress"]["stage"] in ("ready", "failed"):
                raise SystemExit(f"not prepared by {system}: {known['progress']['message']}")
            taken.append(self.seconds(name, "words", f"a secret that is kept {len(taken)}"))
            time.sleep(0.5)
        return taken

    def _is_on_its_way(self, known: Any, system: str) -> bool:
        """Whether a system cannot answer yet, or of a part of the book alone."""
        return system not in known["systems"] or known["progress"]["stage"] == "meaning"

    def memory(self) -> int:
        """Bytes that the process held at most."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.is_file():
            return 0
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) << 10

    def end(self) -> float:
        """Ends it; the CPU seconds of all servers that have ended."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def loaded(server: Server) -> float:
    """Seconds from the start until the model is loaded: a book of one sentence has its vectors."""
    name = server.ask("/collections?filename=one", b"The lamp was lit.")["id"]
    while server.ask(f"/collections/{name}")["progress"]["stage"] != "ready":
        time.sleep(0.1)
    return time.perf_counter() - server.began


def crowd(server: Server, name: str, systems: Sequence[str] = SYSTEMS) -> dict[str, Any]:
    """Many readers at once, each asking several times, by one system after another."""

    def ask(number: int) -> list[float]:
        reader, taken = server.reader(), []
        for turn in range(ROUNDS):
            system = systems[(number + turn) % len(systems)]
            with suppress(OSError):
                query = f"a friend is hurt, reader {number}, turn {turn}"
                taken.append(reader.seconds(name, system, query))
        return taken

    began, used = time.perf_counter(), server.cpu()
    with ThreadPoolExecutor(READERS) as readers:
        done = sorted(chain.from_iterable(readers.map(ask, range(READERS))))
    searches = READERS * ROUNDS
    return {
        "readers": READERS,
        "searches": searches,
        "errors": searches - len(done),
        "seconds": time.perf_counter() - began,
        "median": statistics.median(done),
        "95 %": done[int(0.95 * (len(done) - 1))],
        "slowest": done[-1],
        "CPU a search": (server.cpu() - used) / searches,
    }


def measured(novel: Path, model: str, folder: Path) -> dict[str, Any]:
    """All figures of a novel."""
    server = Server(folder, model)
    found: dict[str, Any] = {"novel": novel.name, "model": model, "start": loaded(server)}
    began = time.perf_counter()
    path = f"/collections?filename={urllib.parse.quote(novel.name)}"
    name = server.ask(path, novel.read_bytes())["id"]
    (book,) = server.ask(f"/collections/{name}")["books"]
    found |= {"words": book["words"], "sentences": book["sentences"]}
    server.seconds(name, "words", "a secret that is kept")
    found["until words"] = time.perf_counter() - began
    meanwhile = server.until(name, "meaning")
    found["until meaning"] = time.perf_counter() - began
    found["slowest search meanwhile"] = max(meanwhile, default=0.0)
    for system in SYSTEMS:
        taken = [server.seconds(name, system, f"pride is humbled {n}") for n in range(QUERIES)]
        found[f"search by {system}"] = statistics.median(taken)
    found["crowds"] = {system: crowd(server, name, (system,)) for system in ("words", "both")}
    found |= {"crowd": crowd(server, name), "memory": server.memory(), "cpu seconds": server.end()}
    again = Server(folder, model)
    while again.ask(f"/collections/{name}")["progress"]["stage"] != "ready":
        time.sleep(0.1)
    found["next start until meaning"] = time.perf_counter() - again.began
    again.end()
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The figures for readers."""
    many = found["crowd"]
    return [
        f"{found['novel']}: {found['words']:,} words, {found['sentences']:,} passages of one sentence",
        f"start until the model is loaded    {found['start']:8.1f} s",
        f"upload until searched by words     {found['until words']:8.1f} s",
        f"upload until searched by meaning   {found['until meaning']:8.1f} s",
        f"slowest search meanwhile           {found['slowest search meanwhile']:8.2f} s",
        *(f"{f'a search by {one}':35}{found[f'search by {one}']:8.3f} s" for one in SYSTEMS),
        f"{many['readers']} readers, {many['searches']} searches: {many['errors']} errors, median"
        f" {many['median']:.2f} s, slowest {many['slowest']:.2f} s",
        *(
            f"the same by {system}: median {one['median']:.2f} s, 95 % within {one['95 %']:.2f} s;"
            f" {1000 * one['CPU a search']:.1f} ms of the server's CPU a search"
            for system, one in found["crowds"].items()
        ),
        f"next start until meaning           {found['next start until meaning']:8.1f} s",
        f"memory at most                     {found['memory'] / 1e6:8.0f} MB",
        f"CPU in all, before the next start  {found['cpu seconds']:8.0f} s",
        f"{found['cores']} cores, {found['processor']}; load {found['load']:.1f} at the beginning",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("novel", type=Path)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = measured(args.novel, args.model, Path(folder))
    found |= {"cores": cores(), "processor": platform.processor() or platform.machine(), "load": load}  # fmt: skip
    print(*lines(found), sep="\n")
    if args.output:
        with atomic_text(args.output) as out:
            json.dump(found, out, indent=1)


if __name__ == "__main__":
    main()
