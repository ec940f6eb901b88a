"""Downloads of files from a public GitHub repository at a fixed commit, verified by blob id."""

from __future__ import annotations

import http.client
import json
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import git_blob_id

TIMEOUT_SECONDS = 60


def download_blobs(
    repository: str, commit: str, blobs: Mapping[str, str | None], folder: Path, *, under: str = ""
) -> None:
    """Downloads files into a folder, all or none; a file that is there stays.

    Args:
        repository: owner/name.
        commit: the full commit id.
        blobs: file name, which may have folders, to git blob id; for None, the id is taken from GitHub's
            listing of the commit.
        folder: the folder, which may not exist yet.
        under: the folder of the repository that holds the files, ending in a slash.

    Raises:
        OSError: the network or the disk failed.
        InputError: a file's content does not have the expected blob id.
    """
    listed = _listing(repository, commit) if None in blobs.values() else {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        whole = Path(scratch) / folder.name
        whole.mkdir()
        for name, blob in blobs.items():
            url = f"https://raw.githubusercontent.com/{repository}/{commit}/{under}{name}"
            data = fetch(url)
            expected = blob or listed.get(under + name, "none that the commit lists")
            if git_blob_id(data) != expected:
                raise InputError(
                    f"the content is git blob {git_blob_id(data)} instead of {expected}",
                    file=url,
                    remedy="the download was damaged or changed: try again, or report it",
                )
            (whole / name).parent.mkdir(parents=True, exist_ok=True)
            (whole / name).write_bytes(data)
        try:
            whole.rename(folder)
        except OSError:
            # The folder has other parts of the release, or another process has put the files there.
            if not folder.is_dir():
                raise
            for name in blobs:
                if not (folder / name).is_file():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (whole / name).replace(folder / name)


def _listing(repository: str, commit: str) -> dict[str, str]:
    url = f"https://api.github.com/repos/{repository}/git/trees/{commit}?recursive=1"
    try:
        tree = json.loads(fetch(url))
        return {entry["path"]: entry["sha"] for entry in tree["tree"]}
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "the answer is not a listing of a commit", file=url, remedy="try again later"
        ) from None


def fetch(url: str) -> bytes:
    """Downloads the bytes at an https address."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            data: bytes = answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke: {error!r}") from None
    return data
