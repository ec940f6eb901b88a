"""A local stand-in for the Hugging Face hub: what its client asks of dataset repositories, over HTTP.

It has repositories with one branch in memory and the endpoints that files are made, listed, read and
removed by, as the hub's OpenAPI page describes them. It takes every file as text of the commit: no large
files (LFS, Xet), no permissions but a token for what changes anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_local"


@dataclass
class Repository:
    """A dataset repository: whether it is private, its files, and how many commits made them."""

    private: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    commits: int = 0

    @property
    def revision(self) -> str:
        return f"{self.commits:040x}"

    def about(self, path: str) -> dict[str, Any]:
        """A file or a folder as the hub lists it."""
        if path not in self.files:
            return {"type": "directory", "oid": self.revision, "size": 0, "path": path}
        data = self.files[path]
        return {"type": "file", "oid": oid(data), "size": len(data), "path": path}

    def under(self, folder: str, recursive: bool) -> list[dict[str, Any]]:
        """What is in a folder."""
        start = f"{folder}/" if folder else ""
        found = {}
        for path in sorted(self.files):
            if path.startswith(start):
                parts = path[len(start) :].split("/")
                for depth in range(1, len(parts) + 1 if recursive else 2):
                    name = start + "/".join(parts[:depth])
                    found[name] = self.about(name)
        return list(found.values())

    def commit(self, lines: list[dict[str, Any]]) -> None:
        """Does what the lines of a commit say."""
        for line in lines:
            key, value = line["key"], line["value"]
            if key == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif key == "deletedFile":
                del self.files[value["path"]]
            elif key == "deletedFolder":
                for path in [each for each in self.files if each.startswith(value["path"])]:
                    del self.files[path]
        self.commits += 1


def oid(data: bytes) -> str:
    """What git calls a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(ThreadingHTTPServer):
    """The server, its repositories by name, and the status that it answers for a file's path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.asked: list[str] = []
        self.failing: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def environment(self) -> dict[str, str]:
        """What makes a process use this hub in place of the real one."""
        return {
            "HF_ENDPOINT": self.url, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
        }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body of an answer go out together
    server: Hub

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self.answer_request(b"")

    def do_HEAD(self) -> None:
        self.answer_request(b"")

    def do_POST(self) -> None:
        self.answer_request(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def answer_request(self, body: bytes) -> None:
        address = urlsplit(self.path)
        path = unquote(address.path)
        self.server.asked.append(f"{self.command} {path}")
        if self.command == "POST" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid credentials"})
        elif path == "/api/repos/create":
            self.create(json.loads(body))
        elif path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif found := re.fullmatch(
            r"/api/datasets/([^/]+/[^/]+)(?:/([^/]+)/[^/]+(?:/(.*))?)?", path
        ):
            self.dataset(found[1], found[2] or "revision", found[3] or "", address.query, body)
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/([^/]+)/[^/]+)?", path):
            self.model(found[1], found[2] or "revision")
        elif (found := re.fullmatch(r"/(?!datasets/)([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)) or (
            found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        ):
            self.file(found[1], found[3])
        else:
            self.answer(404, {"error": f"no such endpoint: {path}"})

    def create(self, told: dict[str, Any]) -> None:
        name = (
            told["name"]
            if not told.get("organization")
            else f"{told['organization']}/{told['name']}"
        )
        there = name in self.server.repositories
        private = told.get("visibility") == "private" or bool(told.get("private"))
        self.server.repositories.setdefault(name, Repository(private))
        self.answer(
            409 if there else 200, {"url": f"{self.server.url}/datasets/{name}", "id": name}
        )

    def dataset(self, name: str, asked: str, path: str, query: str, body: bytes) -> None:
        repository = self.server.repositories.get(name)
        if repository is None:
            self.answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif asked == "revision":
            files = [{"rfilename": each} for each in repository.files]
            self.answer(200, {"id": name, "sha": repository.revision, "siblings": files})
        elif asked == "tree":
            found = repository.under(path, "recursive=true" in query.lower())
            if path and not found:
                self.answer(404, {"error": "EntryNotFound"}, {"X-Error-Code": "EntryNotFound"})
            else:
                self.answer(200, found)
        elif asked == "paths-info":
            told = json.loads(body) if body.startswith(b"{") else {}
            paths = told.get("paths") or re.findall(r"paths=([^&]*)", unquote(body.decode()))
            folders = {each["path"] for each in repository.under("", True)}
            self.answer(200, [repository.about(each) for each in paths if each in folders])
        elif asked == "preupload":
            files = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]  # fmt: skip
            self.answer(200, {"files": files})
        elif asked == "branch":
            self.answer(409, {"error": "Reference already exists"})
        elif asked == "commit":
            repository.commit([json.loads(line) for line in body.splitlines()])
            url = f"{self.server.url}/datasets/{name}/commit/{repository.revision}"
            made = {"commitUrl": url, "commitOid": repository.revision, "hookOutput": ""}
            self.answer(200, {"success": True, **made})
        else:
            self.answer(404, {"error": f"no such endpoint: {asked}"})

    def model(self, name: str, asked: str) -> None:
        repository = self.server.repositories.get(name)
        if repository is None:
            self.answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif asked == "tree":
            self.answer(200, repository.under("", True))
        else:
            files = [{"rfilename": n, "size": len(d)} for n, d in repository.files.items()]
            about = {"cardData": {"license": "cc-by-4.0"}, "tags": [], "downloads": 0}
            self.answer(
                200,
                {
                    "id": name,
                    "modelId": name,
                    "sha": repository.revision,
                    "siblings": files,
                    **about,
                },
            )

    def file(self, name: str, path: str) -> None:
        if path in self.server.failing:
            self.answer(self.server.failing[path], {"error": "not now"})
            return
        repository = self.server.repositories.get(name)
        data = None if repository is None else repository.files.get(path)
        if repository is None or data is None:
            code = "RepoNotFound" if repository is None else "EntryNotFound"
            self.answer(404, {"error": code}, {"X-Error-Code": code})
            return
        headers = {"ETag": f'"{oid(data)}"', "X-Repo-Commit": repository.revision}
        headers["Accept-Ranges"] = "bytes"
        status = 200
        if part := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            last = min(int(part[2] or len(data)), len(data) - 1)
            headers["Content-Range"] = f"bytes {part[1]}-{last}/{len(data)}"
            data, status = data[int(part[1]) : last + 1], 206
        self.answer(status, data, headers)

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
        for key, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def hub() -> Iterator[Hub]:
    """A hub on a free port of this machine."""
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
