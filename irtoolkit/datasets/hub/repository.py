"""The tables of a dataset on the hub, read by `datasets`, which downloads and caches them."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.reasons import reason_of
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.hub.names import HubName

CARD = "README.md"
# Ends of the names of files of tables, and the builders that read them.
_BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".tsv": "csv", ".csv": "csv"}
# The path of one of several files of a split, such as test-00000-of-00002.parquet.
_PART = re.compile(r"(.*)-[0-9]+-of-([0-9]+)\.")
# Seconds that the hub has for an answer.
_LONGEST_WAIT = 10
# Variables with which the libraries do not use the network.
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = ("1", "ON", "YES", "TRUE")
# Split to its files.
Files = Mapping[str, list[Path]]


class Repository:
    """A dataset on the hub, or a folder in its form: configurations with splits, each a table.

    If the hub does not answer, the folder is the one that it was downloaded to.

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
        if self._folder is not None:
            return sorted(self._files)
        with self._reading():
            names = _library().get_dataset_config_names(
                self.name.place, revision=self.name.revision
            )
        return list(names)

    def splits(self, config: str) -> list[str]:
        """Returns the names of the splits of a configuration. Errors as for `configs`."""
        if self._folder is not None:
            return list(self._files[config])
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
        if self._folder is not None:
            return all(self._files[config].values())
        return Path(self._builder(config).cache_dir).is_dir()

    def revision(self, config: str) -> str:
        """Returns the commit of the data, or a hash of the files of a folder."""
        if self._folder is None:
            return str(self._builder(config).hash)
        if not self.name.local:
            return self._folder.name  # of the hub's cache, which names them by commit
        digest = hashlib.sha256()
        for split, files in self._files[config].items():
            digest.update(f"{split} {[content_hash(file) for file in files]}\n".encode())
        return digest.hexdigest()[:40]

    @cached_property
    def licence(self) -> str:
        """The licence on the card; empty if it has none, or there is no card."""
        from huggingface_hub import DatasetCard, hf_hub_download

        name = self.name
        try:
            path = (
                hf_hub_download(name.place, CARD, repo_type="dataset", revision=name.revision)
                if self._folder is None
                else self._folder / CARD
            )
            stated = DatasetCard.load(path).data.license
        except Exception:  # no card, or none that is YAML: it is only told
            return ""
        return ", ".join(stated) if isinstance(stated, list) else str(stated or "")

    def size(self, config: str) -> int | None:
        """Returns the bytes to download for a configuration; None if the card does not say."""
        if self._folder is not None:
            return None
        size: int | None = self._builder(config).info.download_size
        return size

    def _builder(self, config: str) -> Any:
        if config not in self._builders:
            with self._reading():
                self._builders[config] = (
                    _library().load_dataset_builder(
                        self.name.place, config, revision=self.name.revision
                    )
                    if self._folder is None
                    else self._builder_of_files(config)
                )
        return self._builders[config]

    def _builder_of_files(self, config: str) -> Any:
        splits = self._files[config]
        absent = next((split for split, files in splits.items() if not files), None)
        if absent is not None:
            place = self.name.place
            if self.name.local:
                raise InputError(
                    f"a file of {config}, split {absent}, is missing",
                    file=place,
                    remedy="add it, or correct the paths in README.md",
                )
            raise _unreachable(f"{config} of {place} is not in its cache", self._silence)
        first = next(iter(splits.values()))[0]
        form = "".join(first.suffixes).removesuffix(".gz")
        kind = next((kind for end, kind in _BUILDERS.items() if form.endswith(end)), None)
        if kind is None:
            raise InputError("no table of a known form", file=first, remedy=", ".join(_BUILDERS))
        tabs = {"sep": "\t", "dtype": str} if form.endswith(".tsv") else {}
        paths = {split: list(map(str, files)) for split, files in splits.items()}
        return _library().load_dataset_builder(kind, data_files=paths, **tabs)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns the libraries' exceptions into one clear error."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # of datasets, of the hub's library, and of the network below
            raise _refused(self.name, error) from None

    @cached_property
    def _folder(self) -> Path | None:
        """The folder with the tables; None if the hub has them, and answers.

        Raises:
            InputError: the hub does not answer, and its cache has no such dataset.
        """
        if self.name.local:
            return Path(self.name.place)
        if self._silence is None:
            return None
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

        place, revision = self.name.place, self.name.revision
        try:
            return Path(
                snapshot_download(
                    place, repo_type="dataset", revision=revision, local_files_only=True
                )
            )
        except (LocalEntryNotFoundError, HFValidationError):
            raise _unreachable(f"{place} is not in its cache", self._silence) from None

    @cached_property
    def _silence(self) -> Exception | None:
        """The reason why the hub does not answer; None if it does."""
        from huggingface_hub import constants
        from huggingface_hub.errors import OfflineModeIsEnabled
        from huggingface_hub.utils import get_session

        try:
            if _library().config.HF_HUB_OFFLINE:
                raise OfflineModeIsEnabled
            get_session().head(constants.ENDPOINT, timeout=_LONGEST_WAIT)
        except Exception as error:  # of whichever library makes the connection
            return error
        return None

    @cached_property
    def _files(self) -> dict[str, Files]:
        """The files of each configuration of a folder: as its card says, or by their names."""
        assert self._folder is not None
        with self._reading():
            return _files_of_card(self._folder) or _files_by_name(self._folder)


def _files_of_card(folder: Path) -> dict[str, Files]:
    """Returns the files that a card lists for each configuration; a split may have none."""
    from datasets.data_files import sanitize_patterns
    from huggingface_hub import DatasetCard

    card = folder / CARD
    configs = DatasetCard.load(card).data.get("configs") if card.is_file() else None
    return {
        str(config["config_name"]): {
            str(split): _matching(folder, patterns)
            for split, patterns in sanitize_patterns(config["data_files"]).items()
        }
        for config in configs or ()
        if "data_files" in config
    }


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Returns the files that patterns match, each once; none if some of them are missing."""
    files: set[Path] = set()
    for pattern in patterns:
        paths = folder.glob(f"{pattern}/*" if pattern.endswith("**") else pattern)
        matches = {path for path in paths if path.is_file() and path.name[0] != "."}
        if _lacks_parts(matches) if "*" in pattern else not matches:
            return []
        files |= matches
    return sorted(files)


def _lacks_parts(files: Iterable[Path]) -> bool:
    """Returns whether files that say of how many parts they are one are fewer, or more."""
    parts = (_PART.match(str(path)) for path in files)
    counts = Counter(part.groups() for part in parts if part is not None)
    return any(count != int(total) for (_, total), count in counts.items())


def _files_by_name(folder: Path) -> dict[str, Files]:
    """Returns the files of each part of a folder without a card, which is a folder or a file of its name."""
    parts: dict[str, Files] = {}
    for path in sorted(folder.iterdir()):
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        splits: dict[str, list[Path]] = {}
        for file in files:
            if file.suffix in _BUILDERS and file.name[0] != ".":
                split = file.name.partition(".")[0].partition("-0")[0] if path.is_dir() else "all"
                splits.setdefault(split, []).append(file)
        if splits:
            parts[path.name.partition(".")[0]] = splits
    return parts


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


def _refused(name: HubName, error: Exception) -> InputError:
    """Returns the error for a library's."""
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
        return _unreachable(f"{repository} is not in its cache", error)
    else:
        return InputError(f"cannot read the dataset {repository}: {reason_of(error)}")
    return InputError(problem, remedy=remedy)


def _unreachable(absent: str, reason: Exception | None) -> InputError:
    """Returns the error for what the hub has and this machine lacks."""
    variable = next((name for name in _OFFLINE if os.environ.get(name, "").upper() in _TRUE), None)
    problem = f"the hub cannot be reached, and {absent}"
    if variable is not None:
        return InputError(f"{problem}: {variable} is set", remedy="unset it, and connect once")
    why = "" if reason is None else f": {reason_of(reason)}"
    return InputError(f"{problem}{why}", remedy="check the network")
