"""The tables of a dataset on the hub, read by `datasets`, which downloads and caches them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.reasons import reason_of
from irtoolkit.datasets.hub.names import HubName

# Ends of the names of files of tables, and the builders that read them.
_BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".tsv": "csv", ".csv": "csv"}
# Seconds that the hub has for an answer.
_LONGEST_WAIT = 10
# Variables with which the libraries do not use the network.
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = ("1", "ON", "YES", "TRUE")


class Repository:
    """A dataset on the hub, or a folder in its form: configurations with splits, each a table.

    Args:
        name: which one.
    """

    def __init__(self, name: HubName) -> None:
        self.name = name
        self._builders: dict[str, Any] = {}

    @cached_property
    def configs(self) -> list[str]:
        """The names of the configurations.

        Raises:
            InputError: there is no such dataset, it is private or gated, or the hub cannot be reached.
        """
        if self._bare:
            return sorted(self._bare)
        datasets = _library()
        with self._reading():
            names = datasets.get_dataset_config_names(self.name.place, revision=self.name.revision)
        if self._silence is not None and list(names) == ["default"]:  # the cache knows no others
            raise InputError(
                f"the hub cannot be reached, and says what {self.name.place} has:"
                f" {reason_of(self._silence)}",
                remedy="check the network",
            )
        return list(names)

    def splits(self, config: str) -> list[str]:
        """Returns the names of the splits of a configuration. Errors as for `configs`."""
        return [str(split) for split in self._builder(config).config.data_files]

    def table(self, config: str, split: str) -> pa.Table:
        """Returns the table of a split, from the cache or the hub. Errors as for `configs`."""
        with self._reading(), _quiet():
            builder = self._builder(config)
            builder.download_and_prepare()
            table: pa.Table = builder.as_dataset(split=split).data.table
        return table

    def columns(self, config: str, split: str) -> list[str]:
        """Returns the column names, from the card if it has them. Errors as for `configs`."""
        features = self._builder(config).info.features
        return list(features) if features else list(self.table(config, split).column_names)

    def is_here(self, config: str) -> bool:
        """Returns whether a configuration needs no download."""
        return self.name.local or Path(self._builder(config).cache_dir).is_dir()

    def revision(self, config: str) -> str:
        """Returns the commit of the data, or a hash of the files of a folder."""
        return str(self._builder(config).hash)

    @cached_property
    def licence(self) -> str:
        """The licence on the card; empty if it has none, or there is no card."""
        from huggingface_hub import DatasetCard, hf_hub_download

        name = self.name
        try:
            with self._reading():
                path = (
                    Path(name.place) / "README.md"
                    if name.local
                    else hf_hub_download(
                        name.place, "README.md", repo_type="dataset", revision=name.revision
                    )
                )
            stated = DatasetCard.load(path).data.license
        except Exception:  # no card, none that is YAML, or no network: it is only told
            return ""
        return ", ".join(stated) if isinstance(stated, list) else str(stated or "")

    def size(self, config: str) -> int | None:
        """Returns the bytes to download for a configuration; None if the card does not say."""
        size: int | None = self._builder(config).info.download_size
        return size

    def _builder(self, config: str) -> Any:
        if config not in self._builders:
            datasets = _library()
            with self._reading():
                self._builders[config] = (
                    datasets.load_dataset_builder(self._bare[config][0], **self._bare[config][1])
                    if self._bare
                    else datasets.load_dataset_builder(
                        self.name.place, config, revision=self.name.revision
                    )
                )
        return self._builders[config]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns the libraries' exceptions into one clear error.

        Where the hub does not answer, the libraries read their cache at once, and do not try again and again.
        """
        silence = self._silence
        try:
            with _offline() if silence else nullcontext():
                yield
        except InputError:
            raise
        except Exception as error:  # of datasets, of the hub's library, and of the network below
            raise _refused(self.name, error, silence or error) from None

    @cached_property
    def _silence(self) -> Exception | None:
        """The reason why the hub does not answer; None if it does, or is not needed."""
        if self.name.local:
            return None
        from huggingface_hub import constants
        from huggingface_hub.utils import get_session

        try:
            get_session().head(constants.ENDPOINT, timeout=_LONGEST_WAIT)
        except Exception as error:  # of whichever library makes the connection
            return error
        return None

    @cached_property
    def _bare(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """The builder of each part of a folder without a card, which is a folder or a file of its name."""
        folder = Path(self.name.place)
        card = folder / "README.md"
        if not self.name.local or (card.is_file() and "config_name" in card.read_text("utf-8")):
            return {}
        tables: dict[str, tuple[str, dict[str, Any]]] = {}
        for path in sorted(folder.iterdir()):
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            files = [file for file in files if file.suffix in _BUILDERS]
            if files:
                config = path.name.partition(".")[0]
                tables[config] = _bare_builder(files, path.is_dir())
        return tables


def _bare_builder(files: list[Path], named: bool) -> tuple[str, dict[str, Any]]:
    """Returns a builder's name and options; splits are named after their files, or not at all."""
    splits: dict[str, list[str]] = {}
    for file in files:
        split = file.name.partition(".")[0].partition("-0")[0] if named else "all"
        splits.setdefault(split, []).append(str(file))
    tabs = {"sep": "\t", "dtype": str} if files[0].suffix == ".tsv" else {}
    return _BUILDERS[files[0].suffix], {"data_files": splits, **tabs}


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise needs_extra("datasets", "train") from error
    return datasets


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides the bars of `datasets` for steps that take no time."""
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


@contextmanager
def _offline() -> Iterator[None]:
    """Within this, the libraries read their cache alone, as with HF_HUB_OFFLINE=1."""
    from huggingface_hub import constants

    switches = (constants, _library().config)
    before = [switch.HF_HUB_OFFLINE for switch in switches]
    for switch in switches:
        switch.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for switch, is_off in zip(switches, before, strict=True):
            switch.HF_HUB_OFFLINE = is_off


def _refused(name: HubName, error: Exception, silence: Exception) -> InputError:
    """Returns the error for a library's, where `silence` is why the hub does not answer."""
    message, kind = str(error).lower(), type(error).__name__
    repository = name.place
    if name.local:
        return InputError(f"cannot be read: {reason_of(error)}", file=repository)
    if "gated" in message or kind == "GatedRepoError":
        problem = f"the dataset {repository} is gated: its terms have to be accepted"
        remedy = (
            f"accept them at https://huggingface.co/datasets/{repository}, then run hf auth login"
        )
    elif kind in ("DatasetNotFoundError", "RepositoryNotFoundError", "RevisionNotFoundError"):
        revision = "" if name.revision is None else f" at {name.revision}"
        problem = f"the hub has no dataset {repository}{revision}, or it is private"
        remedy = "check its name; for a private one run hf auth login"
    elif "script" in message and kind == "RuntimeError":
        problem = f"the data of {repository} are made by a program, which is not run"
        remedy = "take a copy in Parquet, as mteb's are"
    elif isinstance(error, ConnectionError | OSError) and not hasattr(error, "response"):
        problem = f"the hub cannot be reached, and {repository} is not in its cache"
        variable = next(
            (name for name in _OFFLINE if os.environ.get(name, "").upper() in _TRUE), None
        )
        if variable is not None:
            problem += f": {variable} is set"
            remedy = "unset it, and connect once"
        else:
            problem += f": {reason_of(silence)}"
            remedy = "check the network"
    else:
        return InputError(f"cannot read the dataset {repository}: {reason_of(error)}")
    return InputError(problem, remedy=remedy)
