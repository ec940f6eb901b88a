"""fsspec's file system of a URL, and its errors, each as one clear line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from irtoolkit.base.errors import InputError, install, needs_extra

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
# Remedies, by protocol.
_LOG_IN = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "run gcloud auth application-default login",
    "hf": "run hf auth login, or set HF_TOKEN",
}
_REACH = {
    "s3": "check the network, AWS_ENDPOINT_URL and AWS_REGION",
    "hf": "check the network, and that HF_HUB_OFFLINE is not set",
}
_MAKE = {"hf": "check the name; hf repos create USER/NAME --type dataset makes a repository"}
# What libraries raise where a server is not found or says nothing.
_UNREACHED = {
    "ConnectionError",
    "TimeoutError",
    "FSTimeoutError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "EndpointConnectionError",
    "ConnectionClosedError",
    "ClientConnectionError",
    "TransportError",
    "HTTPClientError",
    "gaierror",
}
_ALIASES = {"s3a": "s3", "gcs": "gs"}


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


def protocol_of(url: str) -> str:
    """Returns the protocol of a URL, for example s3."""
    return url.partition("://")[0].lower()


@contextmanager
def reaching(url: str, doing: str = "read") -> Iterator[None]:
    """Turns errors of a file system into an InputError.

    Args:
        url: the URL that is read or written.
        doing: "read" or "write".
    """
    try:
        yield
    except (InputError, KeyboardInterrupt, GeneratorExit):
        raise
    except Exception as error:  # each file system has its own
        raise said(error, url, doing) from error


def said(error: Exception, url: str, doing: str) -> InputError:
    """Returns the InputError for a file system's error; arguments as for `reaching`."""
    protocol = _ALIASES.get(protocol_of(url), protocol_of(url))
    kinds = {kind.__name__ for kind in type(error).__mro__}
    login = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    message = getattr(error, "strerror", None) or str(error) or type(error).__name__
    # Libraries repeat what they were given.
    reason = " ".join(message.replace(f"{login}@", "").split())
    cause = error.__cause__
    kinds |= {kind.__name__ for kind in type(cause).__mro__} if cause is not None else set()
    if kinds & {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"} or (
        "credentials" in reason.lower() and not isinstance(error, PermissionError)
    ):
        remedy = _LOG_IN.get(protocol, "log in as its file system asks for")
        return InputError(f"cannot {doing}: no credentials", file=url, remedy=remedy)
    if kinds & _UNREACHED:
        remedy = _REACH.get(protocol, "check the network")
        return InputError(f"cannot {doing}: its server does not answer", file=url, remedy=remedy)
    if isinstance(error, FileNotFoundError):
        remedy = _MAKE.get(protocol, "check the name") if doing == "write" else "check the name"
        return InputError(
            f"cannot {doing}: no such file, folder or bucket", file=url, remedy=remedy
        )
    if isinstance(error, PermissionError):
        return InputError(
            f"cannot {doing}: no permission (403), or nothing of that name that may be seen",
            file=url,
            remedy=_LOG_IN.get(protocol, "check the name and your permissions"),
        )
    return InputError(f"cannot {doing}: {reason}", file=url)
