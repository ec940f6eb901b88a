"""Finds the files of a release: in the user's folder, in ir_datasets' home, or on the network."""

from __future__ import annotations

import os
import urllib.error
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.mirrors import folder_at
from irtoolkit.base.paths import StrPath, on_disk, shown, url_of
from irtoolkit.base.remote import files_under

DATA_VARIABLE = "IRTOOLKIT_DATA"


@dataclass(frozen=True)
class ReleaseSource:
    """The release files of a benchmark, and their possible locations.

    Attributes:
        benchmark: the name of the benchmark's folder under $IRTOOLKIT_DATA and in ir_datasets'
            home.
        files: the names of the files, all of which are required.
        howto: one sentence on the files to get and the folder to put them into.
        fixed: the folder of a sample that ships with the package, or of a benchmark that was built; no other
            folder is searched.
        built: whether a user has built the data; see `irtoolkit.datasets.built`.
        download: downloads the files into a folder; None for a release without a stable address.
        part: the part of the release that is needed, for messages; empty for all of it.
        find: returns the files of that part in a folder; None passes the folder over.
    """

    benchmark: str
    files: tuple[str, ...]
    howto: str
    fixed: Path | None = None
    download: Callable[[Path], None] | None = None
    built: bool = False
    part: str = ""
    find: Callable[[Path], list[Path] | None] = lambda folder: [folder]

    @property
    def sample(self) -> bool:
        """Whether this is the invented sample that ships with the package."""
        return self.fixed is not None and not self.built

    def present(self) -> Path | None:
        """Returns the folder that holds the release now, or None; downloads nothing.

        Raises:
            InputError: a folder exists but lacks some of the files.
        """
        url = self._url()
        if url is not None:
            return folder_at(url)
        for folder in self._places():
            if folder.is_dir():
                self._check_complete(folder, [n for n in self.files if (folder / n).is_file()])
                if self.find(folder) is not None:
                    return folder
        return None

    def where(self) -> str | None:
        """Returns the folder or URL of the release, for listings; copies nothing.

        Errors as for `present`.
        """
        folder = self._url() or self.present()
        return None if folder is None else shown(folder)

    def _url(self) -> str | None:
        """Returns the URL of the release, if $IRTOOLKIT_DATA is a URL that has it."""
        url = None if self.fixed is not None else url_of(os.environ.get(DATA_VARIABLE, ""))
        if url is None:
            return None
        address = f"{url.rstrip('/')}/{self.benchmark}"
        files = files_under(address)
        if not files:
            return None
        self._check_complete(address, files)
        return address

    def _check_complete(self, location: StrPath, files: Collection[str]) -> None:
        missing = [name for name in self.files if name not in files]
        if missing:
            raise InputError(
                f"release file {missing[0]} is missing"
                + (f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""),
                file=location,
                remedy=self.howto,
            )

    def folder(self) -> Path:
        """Returns the folder that holds the release, downloaded if necessary and possible.

        Raises:
            InputError: the release is not on this machine and cannot be downloaded; says what to
                put where.
        """
        folder = self.present()
        if folder is not None:
            return folder
        home = self._places()[-1]
        if self.download is None:
            raise InputError(f"{self._name} is not on this machine", remedy=self.howto)
        try:
            self.download(home)
        except OSError as error:
            reason = error.reason if type(error) is urllib.error.URLError else error
            if isinstance(reason, OSError):
                reason = reason.strerror or reason
            raise InputError(
                f"{self._name} is not on this machine and could not be downloaded: {reason}",
                remedy=self.howto,
            ) from None
        return home

    def paths(self) -> list[Path]:
        """Returns the files of the part in the folder. Errors as for `folder`."""
        paths = self.find(self.folder())
        if paths is None:  # a folder behind a URL, or one that was changed meanwhile
            raise InputError(f"{self._name} is not in it", file=self.where(), remedy=self.howto)
        return paths

    @property
    def _name(self) -> str:
        """The part and the release, in words."""
        return f"{self.part and f'{self.part} of '}the {self.benchmark} release"

    def _places(self) -> list[Path]:
        if self.fixed is not None:
            return [self.fixed]
        import ir_datasets

        named = os.environ.get(DATA_VARIABLE)
        folders = [on_disk(named).absolute()] if named and url_of(named) is None else []
        places = [folder / self.benchmark for folder in folders]
        return [*places, ir_datasets.util.home_path() / self.benchmark]


def sample_source(benchmark: str, files: tuple[str, ...]) -> ReleaseSource:
    """Returns the invented sample of a benchmark, which ships with the package."""
    folder = Path(__file__).parent / "samples" / benchmark
    return ReleaseSource(benchmark, files, "reinstall irtoolkit: its samples are damaged", folder)
