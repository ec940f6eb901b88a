"""Where the files of a release are: the user's folder, ir_datasets' home, or the network."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError

DATA_VARIABLE = "IRTOOLKIT_DATA"


@dataclass(frozen=True)
class ReleaseSource:
    """The release files of one benchmark.

    Attributes:
        benchmark: its folder name under $IRTOOLKIT_DATA and in ir_datasets' home.
        files: names that must all be there.
        howto: one sentence that says what to get and where.
        fixed: the folder of a sample, which ships with the package and is never looked for.
        download: puts the files into a folder, or None where the release has no stable address.
    """

    benchmark: str
    files: tuple[str, ...]
    howto: str
    fixed: Path | None = None
    download: Callable[[Path], None] | None = None

    def present(self) -> Path | None:
        """The folder that holds the release here and now, without fetching anything.

        Raises:
            InputError: a folder is there but some files of the release are missing from it.
        """
        for folder in self._places():
            if not folder.is_dir():
                continue
            missing = [name for name in self.files if not (folder / name).is_file()]
            if missing:
                raise InputError(
                    f"release file {missing[0]} is missing"
                    + (f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""),
                    file=folder,
                    remedy=self.howto,
                )
            return folder
        return None

    @property
    def sample(self) -> bool:
        """Whether this is the invented miniature that ships with the package."""
        return self.fixed is not None

    def where(self) -> str | None:
        """`present` as text, for listings."""
        folder = self.present()
        return None if folder is None else str(folder)

    def folder(self) -> Path:
        """The folder that holds the release, downloaded when it has to be and can be.

        Raises:
            InputError: it is neither here nor can be fetched; says what to put where.
        """
        folder = self.present()
        if folder is not None:
            return folder
        home = self._places()[-1]
        if self.download is None:
            raise InputError(f"the {self.benchmark} release is not here", remedy=self.howto)
        try:
            self.download(home)
        except OSError as error:
            raise InputError(
                f"the {self.benchmark} release is not here and could not be downloaded: {error}",
                remedy=self.howto,
            ) from None
        return home

    def _places(self) -> list[Path]:
        if self.fixed is not None:
            return [self.fixed]
        import ir_datasets

        named = os.environ.get(DATA_VARIABLE)
        places = [Path(named).absolute() / self.benchmark] if named else []
        return [*places, ir_datasets.util.home_path() / self.benchmark]


def sample_source(benchmark: str, files: tuple[str, ...]) -> ReleaseSource:
    """The invented miniature of a benchmark, which ships with the package."""
    folder = Path(__file__).parent / "samples" / benchmark
    return ReleaseSource(benchmark, files, "reinstall irtoolkit: its samples are damaged", folder)
