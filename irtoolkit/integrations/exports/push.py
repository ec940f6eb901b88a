"""Publishing an exported folder on the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import StrPath
from irtoolkit.base.plurals import number_of
from irtoolkit.integrations.exports.card import OWN, read_card
from irtoolkit.integrations.exports.licences import OPEN

_ADDRESS = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)/?")
# What a repository has that was made on the hub's own page.
_EMPTY = {".gitattributes", "README.md"}


def repository(address: str) -> str:
    """Returns the name of the repository that an address such as hf://datasets/USER/NAME means.

    Raises:
        InputError: another address.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise InputError(
            f"{address!r} is no dataset on the hub", remedy="write hf://datasets/USER/NAME"
        )
    return match[1]


def check_licence(licence: str, name: str) -> None:
    """Raises InputError if the licence of exported data is not known to allow a copy."""
    if licence not in OPEN:
        raise InputError(
            f"no licence is known that allows to publish {name}",
            remedy="if you may publish it, name the licence: --licence cc-by-4.0",
        )


def push(folder: StrPath, address: str, *, private: bool = False) -> str:
    """Uploads an exported folder as a dataset repository, which is made if need be.

    The user's token is the one that `hf auth login` stores, or $HF_TOKEN.

    Args:
        folder: a folder written by `export_folder`.
        address: hf://datasets/USER/NAME.
        private: whether a new repository is private.

    Returns:
        The address of the page.

    Raises:
        InputError: no such export, a licence that is not known to allow a copy, a repository with
            other files, or an error of the hub.
    """
    name = repository(address)
    front = read_card(Path(folder))
    if front is None:
        raise InputError(
            "no exported dataset", file=folder, remedy="irtoolkit export DATASET hf FOLDER"
        )
    check_licence(str(front.get("license")), front[OWN]["dataset"])
    with _reaching_hub(address):
        from huggingface_hub import HfApi

        api = HfApi()
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        present = set(api.list_repo_files(name, repo_type="dataset")) - _EMPTY
        if present:
            raise InputError(
                f"{address} has {number_of(len(present), 'files')} already",
                remedy="name another repository",
            )
        api.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=str(folder),
            commit_message=f"{front[OWN]['dataset']} by irtoolkit",
        )
        return f"{api.endpoint}/datasets/{name}"


@contextmanager
def _reaching_hub(address: str) -> Iterator[None]:
    """Raises errors of the hub as InputError."""
    try:
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    except ImportError as error:
        raise needs_extra("huggingface_hub", "train") from error
    try:
        yield
    except HfHubHTTPError as error:
        reason = str(error).split("\n")[0]
        raise InputError(
            f"the hub does not take {address}: {reason}", remedy="hf auth login gives a token"
        ) from error
    except (OfflineModeIsEnabled, OSError) as error:
        remedy = "a push needs the network, and HF_HUB_OFFLINE unset"
        raise InputError(f"the hub is not reached for {address}", remedy=remedy) from error
