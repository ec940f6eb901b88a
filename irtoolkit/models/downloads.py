"""Downloads of weights from the Hugging Face hub, and whether there may be any.

A model that is named is downloaded, unless HF_HUB_OFFLINE=1 or IRTOOLKIT_DOWNLOAD=0 is set. What only
looks at which of many models can run downloads nothing; see `only_here`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.reasons import reason_of
from irtoolkit.models import places

VARIABLE = "IRTOOLKIT_DOWNLOAD"
_OFF = ("0", "no", "off", "false")

# What says the kind of a model.
_DESCRIBING = ("config.json", "modules.json", "config_sentence_transformers.json")

_only_here: ContextVar[bool] = ContextVar("only_here", default=False)
_log = logging.getLogger(__name__)


@contextmanager
def only_here() -> Iterator[None]:
    """Within this, models that are not on this machine count as missing, unless IRTOOLKIT_DOWNLOAD=1."""
    token = _only_here.set(True)
    try:
        yield
    finally:
        _only_here.reset(token)


def may_download() -> bool:
    """Whether weights that are not here are downloaded."""
    setting = os.environ.get(VARIABLE, "").lower()
    if setting in _OFF or places.hub_is_off():
        return False
    return setting == "1" or not _only_here.get()


def fetched_from_hub(hub_id: str, licence: str = "") -> str:
    """Returns the folder of a model in the hub's cache, after downloading what is not there.

    A line says from where, how many MB and under which licence; the hub's library shows a bar.

    Args:
        hub_id: OWNER/NAME.
        licence: of the weights, as a preset states it; by default as the hub does.

    Raises:
        InputError: the hub cannot be reached, has no such model, or asks for a login.
    """
    from huggingface_hub import constants, snapshot_download

    files = files_of(hub_id)
    licence = licence or getattr(_about(hub_id).card_data, "license", None) or "not stated"
    _log.warning(
        "downloading %s from %s: %s MB, licence %s",
        hub_id,
        constants.ENDPOINT,
        f"{sum(files.values()) / 1e6:,.1f}",
        licence,
    )
    unwanted = places.left_out(file.rfilename for file in _about(hub_id).siblings)
    try:
        return str(snapshot_download(hub_id, ignore_patterns=unwanted))
    except Exception as error:  # the hub has many, and the network more
        raise _refused(hub_id, error) from None


def files_of(hub_id: str) -> dict[str, int]:
    """Returns the files of a model on the hub that are downloaded: path to size in bytes.

    Raises:
        InputError: the hub cannot be reached, has no such model, or asks for a login.
    """
    from huggingface_hub.utils import filter_repo_objects

    sizes = {file.rfilename: file.size or 0 for file in _about(hub_id).siblings}
    wanted = filter_repo_objects(sizes, ignore_patterns=places.left_out(sizes))
    return {name: sizes[name] for name in wanted}


@cache
def configuration_of(hub_id: str) -> str | None:
    """Returns a folder with the JSON files of a model on the hub; None if it has none of them.

    Raises:
        InputError: the hub cannot be reached, has no such model, or asks for a login.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    configuration = None
    for name in _DESCRIBING:
        try:
            configuration = str(Path(hf_hub_download(hub_id, name, tqdm_class=_silent())).parent)
        except Exception as error:
            # Not every model has all of them.
            unanswered = isinstance(error, LocalEntryNotFoundError)
            if unanswered or not isinstance(error, EntryNotFoundError):
                raise _refused(hub_id, error) from None
    return configuration


def _silent() -> Any:
    """A bar that shows nothing, for files of a few bytes."""
    from tqdm import tqdm

    def start(bar: Any, *args: Any, **settings: Any) -> None:
        tqdm.__init__(bar, *args, **{**settings, "disable": True})

    return type("Silent", (tqdm,), {"__init__": start})


@cache
def _about(hub_id: str) -> Any:
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(hub_id, files_metadata=True)
    except Exception as error:  # the hub has many, and the network more
        raise _refused(hub_id, error) from None


def _refused(hub_id: str, error: Exception) -> InputError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        return InputError(
            f"{hub_id} is given only to those who have accepted its licence",
            remedy=f"accept it at https://huggingface.co/{hub_id}, then run `hf auth login`",
        )
    if isinstance(error, RepositoryNotFoundError):
        return InputError(
            f"the hub has no model {hub_id}, or it is private",
            remedy="irtoolkit models lists those with a name; `hf auth login` shows private ones",
        )
    return InputError(
        # The hub's library says why it found nothing here as the cause of that.
        f"cannot download {hub_id}: {reason_of(error.__cause__ or error)}",
        remedy=f"try again later, run `hf download {hub_id}` where there is a network, or give a"
        f" folder; {VARIABLE}=0 downloads nothing",
    )
