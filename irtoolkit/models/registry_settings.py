"""The configuration of pip, uv and npm: indexes, certificates, tokens.

Their settings are read from the environment and from their files; pip's user file before the
machine's. Nothing in the current folder is read: the project it belongs to decides nothing.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from irtoolkit.base.tomls import load_toml

PYPI = "https://pypi.org/simple"
NPM = "https://registry.npmjs.org"


def pypi_indexes() -> list[str]:
    """Returns the indexes to ask, in order: the main one, then others."""
    uv = _uv_files()
    main = (
        _first("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
        or _pip("index-url")
        or next((url for url, default in uv if default), None)
        or PYPI
    )
    others = [
        *_split("PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
        *(_pip("extra-index-url") or "").split(),
        *(url for url, default in uv if not default),
    ]
    return list(dict.fromkeys(url.rstrip("/") for url in (main, *others)))


def certificates() -> str | None:
    """Returns the file of certificates to trust; None for the system's."""
    return _first("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE") or _pip("cert")


def npm_registry(package: str) -> str:
    """Returns the registry of a package or its scope, without a slash at the end."""
    settings = _npmrc()
    scope = package.partition("/")[0] if package.startswith("@") else ""
    registry = (
        (settings.get(f"{scope}:registry") if scope else None)
        or _first("npm_config_registry", "NPM_CONFIG_REGISTRY")
        or settings.get("registry")
        or NPM
    )
    return registry.rstrip("/")


def npm_token(url: str) -> str | None:
    """Returns the token that .npmrc has for a registry, longest address first."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    folders = f"//{host}{parts.path}".split("/")
    settings = _npmrc()
    for end in range(len(folders), 2, -1):
        token = settings.get("/".join(folders[:end]) + "/:_authToken")
        if token:
            return os.path.expandvars(token)
    return None


def _first(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _split(*names: str) -> Iterator[str]:
    """Yields the URLs of variables; uv's may be preceded by a name."""
    for name in names:
        for url in os.environ.get(name, "").split():
            before, _, after = url.partition("=")
            yield after if after and "/" not in before else url


def _pip(setting: str) -> str | None:
    """Returns a setting of pip's files, the nearest first."""
    config, home = os.environ.get("PIP_CONFIG_FILE"), Path.home()
    if config == os.devnull:
        return None
    base = os.environ.get("XDG_CONFIG_HOME") or home / ".config"
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    places = [
        Path(sys.prefix) / name,
        *(Path(base) / "pip" / name, home / ".pip" / name),
        *([Path(os.environ["APPDATA"]) / "pip" / name] if os.environ.get("APPDATA") else []),
        home / "Library" / "Application Support" / "pip" / name,
        *(Path(folder) / "pip" / name for folder in _system_folders()),
        Path("/etc") / name,
    ]
    for path in ([Path(config)] if config else []) + places:
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, "utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue
        for section in ("install", "download", "global"):
            if value := parser.get(section, setting, fallback=""):
                return value.strip()
    return None


def _system_folders() -> list[str]:
    if sys.platform == "win32":
        return [os.environ.get("PROGRAMDATA", r"C:\ProgramData")]
    return (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)


def _uv_files() -> list[tuple[str, bool]]:
    """Returns the indexes of uv's own files: URL, and whether it is the main one."""
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    indexes: list[tuple[str, bool]] = []
    for path in (base / "uv" / "uv.toml", Path("/etc/uv/uv.toml")):
        try:
            data: dict[str, Any] = load_toml(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        indexes += [
            (str(index["url"]), bool(index.get("default"))) for index in data.get("index", ())
        ]
        if "index-url" in data:
            indexes.append((str(data["index-url"]), True))
        indexes += [(str(url), False) for url in data.get("extra-index-url", ())]
    return indexes


def _npmrc() -> dict[str, str]:
    """Returns the lines `key=value` of the user's .npmrc."""
    named = _first("npm_config_userconfig", "NPM_CONFIG_USERCONFIG")
    try:
        lines = (Path(named) if named else Path.home() / ".npmrc").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith((";", "#")))
    return {key.strip(): value.strip().strip("\"'") for key, equals, value in pairs if equals}
