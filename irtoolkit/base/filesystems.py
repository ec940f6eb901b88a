"""fsspec's file system of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irtoolkit.base.errors import InputError, install, needs_extra
from irtoolkit.base.remote_errors import protocol_of

# The package that reads and writes a protocol; none where the extra `remote` has it.
_PACKAGES = {
    "s3": "",
    "s3a": "",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
}


def filesystem(url: str) -> tuple[Any, str]:
    """Returns fsspec's file system for a URL, and the path in it.

    Raises:
        InputError: the protocol is unknown, or needs a package that is not installed.
    """
    try:
        import fsspec
    except ImportError:
        raise needs_extra("fsspec", "remote") from None
    protocol = protocol_of(url)
    try:
        system, path = fsspec.core.url_to_fs(url, **_options(protocol))
    except ImportError:
        package = _PACKAGES.get(protocol, f"fsspec's package for {protocol}")
        raise InputError(
            f"{protocol}:// needs a package that is not installed",
            file=url,
            remedy=f"pip install '{package}'" if package else install("remote"),
        ) from None
    except ValueError as error:
        if protocol in fsspec.available_protocols():
            raise InputError(f"not a URL that can be used: {error}", file=url) from None
        raise InputError(
            f"no protocol {protocol}://",
            file=url,
            remedy="use s3, gs, hf, https, memory, or another one of fsspec",
        ) from None
    # Other processes change what is there.
    system.invalidate_cache()
    return system, path


def _options(protocol: str) -> Mapping[str, Any]:
    if protocol not in ("s3", "s3a"):
        return {}
    from fsspec.config import conf

    # s3fs tries again by itself; each of its attempts would be several of botocore's.
    settings = conf.get(protocol, {}).get("config_kwargs", {})
    config = {"retries": {"total_max_attempts": 1}, **settings}
    return {"use_listings_cache": False, "config_kwargs": config}
