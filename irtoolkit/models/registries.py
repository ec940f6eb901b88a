"""URLs of packages' files on PyPI, npm, or the index that pip, uv or npm are configured with."""

from __future__ import annotations

import base64
import json
import netrc
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.github import TIMEOUT_SECONDS
from irtoolkit.models import registry_settings as configured
from irtoolkit.models.sources import Package

# PEP 691 first; older indexes have HTML only.
_SIMPLE = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2,"
    " text/html;q=0.1"
)
_NPM = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8"
# No page of an index is as large.
_MOST = 1 << 26


def request(url: str, **headers: str) -> urllib.request.Request:
    """Returns a request with the URL's, npm's or .netrc's credentials; redirects get none."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    prepared = urllib.request.Request(
        urlunsplit(parts._replace(netloc=host)), headers={"User-Agent": "irtoolkit", **headers}
    )
    if authorization := _authorization(url):
        prepared.add_unredirected_header("Authorization", authorization)
    return prepared


def context() -> ssl.SSLContext:
    """Returns a TLS context with pip's configured certificates, or else the system's."""
    file = configured.certificates()
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise InputError(f"cannot read certificates: {error.strerror}", file=file) from None


def address(package: Package) -> str:
    """Returns the URL of a package's archive.

    Raises:
        InputError: no configured index can be reached, or none has the file.
    """
    return _on_npm(package) if package.registry == "npm" else _on_pypi(package)


def _on_pypi(package: Package) -> str:
    reasons = []
    for index in configured.pypi_indexes():
        try:
            for name, url in _listed(index, package.name):
                if name == package.file:
                    return url
        except (OSError, ValueError) as error:
            reasons.append(f"{_plain(index)}: {reason(error)}")
        else:
            reasons.append(f"{_plain(index)} has no {package.file}")
    raise InputError(
        "; ".join(reasons),
        remedy="set PIP_INDEX_URL to an index that has it, or try again with a network",
    )


def _on_npm(package: Package) -> str:
    registry = configured.npm_registry(package.name)
    try:
        page, _, _ = _page(f"{registry}/{quote(package.name, safe='@')}", _NPM)
        url = str(json.loads(page)["versions"][package.version]["dist"]["tarball"])
    except (OSError, ValueError) as error:
        raise InputError(
            f"{_plain(registry)}: {reason(error)}",
            remedy="set NPM_CONFIG_REGISTRY to a registry that has it, or try again with a network",
        ) from None
    except (KeyError, TypeError):
        raise InputError(f"{_plain(registry)} has no {package.name} {package.version}") from None
    # As npm does: mirrors pass on the addresses of the public registry.
    parts, registry_parts = urlsplit(url), urlsplit(registry)
    if parts.hostname == "registry.npmjs.org" and registry_parts.hostname != parts.hostname:
        return registry + parts.path
    return url


def _listed(index: str, name: str) -> Iterator[tuple[str, str]]:
    """Yields the files of a package on an index: name and URL."""
    url = f"{index.rstrip('/')}/{name}/"
    page, kind, final = _page(f"{url}index.html" if url.startswith("file:") else url, _SIMPLE)
    if kind.endswith("json"):
        for file in json.loads(page).get("files", ()):
            yield str(file["filename"]), _kept(urljoin(final, str(file["url"])), index)
        return
    links = _Links()
    links.feed(page)
    for link in links.found:
        url = urljoin(final, link).partition("#")[0]
        yield unquote(urlsplit(url).path.rpartition("/")[2]), _kept(url, index)


def _kept(url: str, index: str) -> str:
    """Returns a URL, with the index's credentials if it is on the index's own host."""
    user, separator, host = urlsplit(index).netloc.rpartition("@")
    parts = urlsplit(url)
    same = separator and parts.netloc == host and parts.scheme == urlsplit(index).scheme
    return urlunsplit(parts._replace(netloc=f"{user}@{host}")) if same else url


def _page(url: str, accept: str) -> tuple[str, str, str]:
    """Returns a page's text, its type, and its address after redirects."""
    with urllib.request.urlopen(
        request(url, Accept=accept), timeout=TIMEOUT_SECONDS, context=context()
    ) as answer:
        data = answer.read(_MOST + 1)
        if len(data) > _MOST:
            raise ValueError(f"the page has more than {_MOST:,} bytes")
        return data.decode("utf-8"), answer.headers.get_content_type(), answer.geturl()


class _Links(HTMLParser):
    """The addresses of all links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _authorization(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return None
    if token := configured.npm_token(url):
        return f"Bearer {token}"
    user, password = parts.username, parts.password or ""
    if user is None:
        user, password = _from_netrc(parts.hostname or "")
    if user is None:
        return None
    both = f"{unquote(user)}:{unquote(password)}"
    return f"Basic {base64.b64encode(both.encode()).decode()}"


def _from_netrc(host: str) -> tuple[str | None, str]:
    path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    try:
        login: Any = netrc.netrc(str(path)).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None, ""
    return (quote(login[0]), quote(login[2] or "")) if login else (None, "")


def _plain(url: str) -> str:
    """Returns a URL without credentials."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def reason(error: Exception) -> str:
    """Returns the reason of an error, in a few words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        error = error.reason if isinstance(error.reason, Exception) else error
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0]
