"""Names of files: what is a URL, and what of it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import (
    beside,
    is_url,
    joined,
    place_of,
    same_place,
    url_of,
    without_credentials,
)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("s3://bucket/a b.run", "s3://bucket/a b.run"),
        ("memory://x.run", "memory://x.run"),
        (Path("s3://bucket/x.run"), "s3://bucket/x.run"),
        ("abfs://box@account.dfs.core.windows.net/x", "abfs://box@account.dfs.core.windows.net/x"),
    ],
)
def test_a_url_is_known_by_its_protocol(name: str | Path, url: str) -> None:
    assert url_of(name) == url
    assert is_url(name)
    assert place_of(name) == url


def test_names_are_put_together_on_both_sides() -> None:
    assert beside("s3://b/x.run", ".ranks.tsv") == "s3://b/x.run.ranks.tsv"
    assert beside("x.run", ".ranks.tsv") == Path("x.run.ranks.tsv")
    assert joined("s3://b/idx/", "manifest.json") == "s3://b/idx/manifest.json"
    assert joined("idx", "a", "b") == Path("idx/a/b")
    assert same_place("s3://b/x") == same_place(Path("s3://b/x"))
    assert same_place("./x") == same_place("x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("s3://KEY:SECRET@bucket/x", "s3://bucket/x"),
        ("https://host/x?X-Amz-Signature=abc&X-Amz-Credential=K", "https://host/x"),
        ("s3://bucket/x?versionId=v1", "s3://bucket/x?versionId=v1"),
        ("hf://datasets/a/b@main/x", "hf://datasets/a/b@main/x"),
        ("no URL: a@b", "no URL: a@b"),
        ("s3://KEY:SEC/RET@bucket/x", "s3://bucket/x"),
        ("s3://KEY:12/SECRET@bucket/x@y", "s3://bucket/x@y"),
        ("http://[::1]:8080/x@1", "http://[::1]:8080/x@1"),
    ],
)
def test_no_credentials_are_shown(given: str, said: str) -> None:
    assert without_credentials(given) == said
    error = InputError(f"found in {given}", file=given, remedy=f"look at {given}")
    for secret in ("SECRET", "RET@", "TOKEN", "abc"):
        assert secret not in str(error)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("http://h/p.run?download=1", "http://h/p.run.end?download=1"),
        ("https://h/p.run?X-Amz-Signature=a/b", "https://h/p.run.end?X-Amz-Signature=a/b"),
        ("s3://b/p.run?versionId=3", "s3://b/p.run.end?versionId=3"),
        ("s3://b/a?b.run", "s3://b/a?b.run.end"),
        ("memory://r/a?b.run", "memory://r/a?b.run.end"),
        ("memory://r/a#b.run", "memory://r/a#b.run.end"),
        ("http://h/p.run", "http://h/p.run.end"),
        ("/r/a?b.run", Path("/r/a?b.run.end")),
        ("file:///r/a?b.run", Path("/r/a?b.run.end")),
    ],
)
def test_what_is_beside_a_url_has_its_query(path: str, wanted: str | Path) -> None:
    assert beside(path, ".end") == wanted
