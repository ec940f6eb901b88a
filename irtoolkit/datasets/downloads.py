"""Downloads of the files of a release: resumable, and verified by SHA-256 or git blob id."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import git_blob_id, sha256
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm

_TIMEOUT_SECONDS = 60
_PIECE = 1 << 20
# Hexadecimal digits of a SHA-256; a git blob id has fewer.
_SHA256_DIGITS = 64
_DAMAGED = "the download was damaged or changed: try again, or report it"


def download_blobs(
    repository: str, commit: str, blobs: Mapping[str, str | None], folder: Path, *, under: str = ""
) -> None:
    """Downloads files of a public GitHub repository; see `download_files`.

    Args:
        repository: owner/name.
        commit: the full commit id.
        blobs: file name, which may have folders, to git blob id; for None, the id is taken from GitHub's
            listing of the commit.
        folder: the folder, which may not exist yet.
        under: the folder of the repository that holds the files, ending in a slash.
    """
    listed = _listing(repository, commit) if None in blobs.values() else {}
    address = f"https://raw.githubusercontent.com/{repository}/{commit}/{under}"
    files = {
        name: (address + name, blob or listed.get(under + name, "none that the commit lists"))
        for name, blob in blobs.items()
    }
    download_files(files, folder)


def _listing(repository: str, commit: str) -> dict[str, str]:
    url = f"https://api.github.com/repos/{repository}/git/trees/{commit}?recursive=1"
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "listing"
        fetch(url, path)
        try:
            tree = json.loads(path.read_bytes())
            return {entry["path"]: entry["sha"] for entry in tree["tree"]}
        except (ValueError, KeyError, TypeError):
            problem = "the answer is not a listing of a commit"
            raise InputError(problem, file=url, remedy="try again later") from None


def download_files(files: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Downloads files into a folder, all or none; a file that is there stays.

    An interrupted download leaves its files beside the folder, and the next one resumes there.
    Of several processes one downloads, and the others wait for it.

    Args:
        files: file name to address, and SHA-256 or git blob id.
        folder: the folder, which may not exist yet.

    Raises:
        OSError: the network or the disk failed.
        InputError: a file's content does not have the expected hash.
    """
    with locked(folder.with_name(f".{folder.name}.lock"), remove=True):
        missing = [name for name in files if not (folder / name).is_file()]
        staging = folder.with_name(f".{folder.name}.part")
        try:
            for name in missing:
                _download(*files[name], staging / name)
        finally:
            with suppress(OSError):  # unless something is worth keeping
                staging.rmdir()
        if not folder.is_dir():
            staging.rename(folder)
        elif missing:
            for name in missing:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (staging / name).replace(folder / name)
            shutil.rmtree(staging)


def _download(url: str, expected: str, path: Path) -> None:
    """Downloads and verifies a file, unless it is there."""
    if path.is_file() and _digest(path, expected) == expected:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    fetch(url, part)
    digest = _digest(part, expected)
    if digest != expected:
        part.unlink()
        kind = "SHA-256" if len(expected) == _SHA256_DIGITS else "git blob id"
        problem = f"the content has {kind} {digest} instead of {expected}"
        raise InputError(problem, file=url, remedy=_DAMAGED)
    part.replace(path)


def _digest(path: Path, expected: str) -> str:
    """Returns the SHA-256 or git blob id of a file, whichever is expected."""
    is_sha256 = len(expected) == _SHA256_DIGITS
    return sha256(path) if is_sha256 else git_blob_id(path.read_bytes())


def fetch(url: str, path: Path) -> None:
    """Downloads a file, resuming a partial one.

    Raises:
        OSError: the network or the disk failed.
    """
    have = path.stat().st_size if path.exists() else 0
    request = urllib.request.Request(url)
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            # A server without support for ranges sends the whole file again.
            resumed = have > 0 and answer.status == http.HTTPStatus.PARTIAL_CONTENT
            total = int(answer.headers.get("Content-Length") or 0)
            with (
                open(path, "ab" if resumed else "wb") as out,
                tqdm(
                    total=total or None, unit="B", unit_scale=True, desc=path.stem, disable=None
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
