"""Downloads of large files from fixed addresses: resumable, and verified by SHA-256."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.github import TIMEOUT_SECONDS

_PIECE = 1 << 20


def download_files(files: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Downloads files into a new folder, all or none.

    An interrupted download leaves its files beside the folder, and the next one resumes there.
    Of several processes one downloads, and the others wait for it.

    Args:
        files: file name to address and SHA-256.
        folder: the folder to create.

    Raises:
        OSError: the network or the disk failed.
        InputError: a file's content does not have the expected hash.
    """
    with locked(folder.with_name(f".{folder.name}.lock"), remove=True):
        if not folder.is_dir():  # another process has just made it
            _download(files, folder)


def _download(files: Mapping[str, tuple[str, str]], folder: Path) -> None:
    staging = folder.with_name(f".{folder.name}.part")
    staging.mkdir(parents=True, exist_ok=True)
    for name, (url, expected) in files.items():
        if (staging / name).is_file():
            continue
        part = staging / f"{name}.part"
        _fetch(urllib.request.Request(url), part)
        digest = sha256(part)
        if digest != expected:
            part.unlink()
            raise InputError(
                f"the content has SHA-256 {digest} instead of {expected}",
                file=url,
                remedy="the download was damaged or changed: try again, or report it",
            )
        part.rename(staging / name)
    staging.rename(folder)


def _fetch(request: urllib.request.Request, part: Path) -> None:
    """Downloads a file, resuming a partial one.

    Raises:
        OSError: the network or the disk failed.
    """
    have = part.stat().st_size if part.exists() else 0
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            # A server without support for ranges sends the whole file again.
            resumed = have > 0 and answer.status == http.HTTPStatus.PARTIAL_CONTENT
            total = int(answer.headers.get("Content-Length") or 0)
            with (
                open(part, "ab" if resumed else "wb") as out,
                tqdm(
                    total=total or None, unit="B", unit_scale=True, desc=part.stem, disable=None
                ) as bar,
            ):
                got = 0
                while piece := answer.read(_PIECE):
                    got += len(piece)
                    out.write(piece)
                    bar.update(len(piece))
            # Reading in pieces, http.client does not tell a broken connection from the end.
            if got < total:
                raise OSError(f"the connection broke after {got:,} of {total:,} bytes")
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        # The file is complete; its hash will be checked.
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke: {error!r}") from None
