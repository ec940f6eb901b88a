"""File names: paths on this machine, and URLs.

A URL is `PROTOCOL://...`. `file://` URLs are paths on this machine. A URL that went through pathlib
has lost one of its slashes (`s3:/bucket/x`); it is still read as the URL.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote

# The longest name of a file on the usual file systems.
NAME_BYTES = 255

StrPath = str | os.PathLike[str]

# A single letter is a drive of Windows.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}(?=[^/]|/|$)(.*)", re.DOTALL)
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}(?=[^/])[^\s'\"]+")
# Protocols in which an @ separates the container from the account.
_ACCOUNTS = ("abfs", "abfss", "az", "wasb", "wasbs")
# Protocols of buckets, which have no port.
_PORTLESS = ("s3", "s3a", "gs", "gcs")
# Parts of a query that name a version; others may be a signature.
_VERSIONS = ("versionid=", "generation=", "download=")

_WEB = ("http:", "https:")
# The id of a dataset in the form of the hub in a folder, as hf:/data/mine: no URL of the hub.
_HUB_FOLDER = re.compile(r"hf:/(?!/|datasets/|spaces/)")

# Copies on this machine, and the URLs that they are called by in messages.
_copies: dict[str, str] = {}


def url_of(path: object) -> str | None:
    """Returns a name as a URL, or None if it is a path on this machine or anything else."""
    if not isinstance(path, str | os.PathLike):
        return None
    name = os.fspath(path)
    match = _URL.match(name) if isinstance(name, str) else None
    if match is None or match[1].lower() in ("file", "local") or _HUB_FOLDER.match(name):
        return None
    return f"{match[1].lower()}://{match[2].replace(os.sep, '/')}"


def is_url(path: object) -> bool:
    """Returns whether a name is a URL of another place than this machine's files."""
    return url_of(path) is not None


def on_disk(path: StrPath) -> Path:
    """Returns a path of this machine, which may be written as a file:// URL."""
    name = os.fspath(path)
    match = _URL.match(name)
    if match is not None and match[1].lower() in ("file", "local"):
        name = unquote(match[2]) if match[2].startswith("/") else f"/{unquote(match[2])}"
    return Path(name)


def place_of(path: StrPath) -> str | Path:
    """Returns a URL as text, or a path of this machine."""
    return url_of(path) or on_disk(path)


def split_query(url: str) -> tuple[str, str]:
    """Returns a URL without its query, and the query from its question mark on.

    Only web addresses have queries, and URLs of buckets one that names a version: in the names of other
    files a question mark is a character like others.
    """
    path, mark, query = url.partition("?")
    if url.lower().startswith(_WEB) or query.lower().startswith(_VERSIONS):
        return path, mark + query
    return url, ""


def beside(path: StrPath, end: str) -> str | Path:
    """Returns the file name with a suffix added; a URL's comes before its query."""
    path_of = place_of(path)
    if not isinstance(path_of, str):
        return named_beside(path_of, end)
    address, query = split_query(path_of)
    return f"{address}{end}{query}"


def named_beside(path: Path, end: str, start: str = "") -> Path:
    """Returns a file on this machine with a prefix and a suffix added to its name.

    If the new name would be too long, a hash replaces the excess.
    """
    name, room = os.fsencode(path.name), NAME_BYTES - len(os.fsencode(f"{start}{end}"))
    if len(name) <= room:
        return path.with_name(f"{start}{path.name}{end}") if start else Path(f"{path}{end}")
    digest = f".{hashlib.sha256(name).hexdigest()[:16]}"
    # Whole characters: a part of one is no name on some file systems.
    stem = name[: room - len(digest)].decode("utf-8", "ignore")
    return path.with_name(f"{start}{stem}{digest}{end}")


def hidden_beside(path: Path, end: str) -> Path:
    """Returns a hidden file on this machine with a suffix added to its name."""
    return named_beside(path, end, ".")


def joined(folder: StrPath, *names: str) -> str | Path:
    """Returns a file in a folder."""
    base = place_of(folder)
    return "/".join((base.rstrip("/"), *names)) if isinstance(base, str) else base.joinpath(*names)


def same_place(path: StrPath) -> str:
    """Returns one text for all spellings of a path."""
    local_path = place_of(path)
    if isinstance(local_path, str) or "\0" in os.fspath(
        local_path
    ):  # of no file, which its reader refuses
        return os.fspath(local_path)
    return os.path.realpath(local_path)


def without_credentials(text: str) -> str:
    """Returns a text in which URLs have no user names, passwords, tokens or signatures."""
    return _IN_TEXT.sub(lambda match: _plain(match[0]), text) if ":/" in text else text


def _plain(url: str) -> str:
    protocol, slashes, rest = re.split("(:/+)", url, maxsplit=1)
    user, separator, after = rest.partition("@")
    authority = user.partition("/")[0]
    port = authority.partition(":")[2]
    plain = port.isdecimal() and protocol.lower() not in _PORTLESS
    if separator and port and not plain and not authority.startswith("["):
        rest = after  # a password may hold a slash
    authority, slash, path = rest.partition("/")
    if protocol.lower() not in _ACCOUNTS:
        authority = authority.rpartition("@")[2]
    path, mark, query = path.partition("?")
    parameters = [part for part in query.split("&") if part.lower().startswith(_VERSIONS)]
    return f"{protocol}{slashes}{authority}{slash}{path}{mark if parameters else ''}{'&'.join(parameters)}"


def call(copy: Path, url: str) -> None:
    """Makes messages call a copy on this machine by the URL, or the pipe, that it is of."""
    _copies[str(copy)] = without_credentials(url)


def is_copy(path: Path) -> bool:
    """Returns whether a path of this machine is the copy of what is at a URL, or in a pipe."""
    return str(path) in _copies


def as_given(text: str) -> str:
    """Returns a message in which copies are called by their URLs, without credentials."""
    for copy, url in _copies.items():
        if copy in text:
            text = text.replace(copy, url)
    return without_credentials(text)


def shown(path: StrPath) -> str:
    """Returns a path or URL as messages and records name it."""
    return as_given(str(url_of(path) or os.fspath(path)))
