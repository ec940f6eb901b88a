"""Writing a dataset in the form of another tool."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from irtoolkit.base.durable import atomic_folder
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.near import did_you_mean
from irtoolkit.integrations.exports import beir, hf, mteb, pyserini, tira
from irtoolkit.integrations.exports.card import README
from irtoolkit.integrations.exports.licences import Licence, licence_of
from irtoolkit.integrations.exports.source import Source

# Name of a form to its module, which has HELP and `write`.
FORMS = {"beir": beir, "mteb": mteb, "hf": hf, "pyserini": pyserini, "tira": tira}


def export_folder(
    source: Source, form: str, folder: StrPath, licence: str | None = None
) -> Licence:
    """Writes a dataset in the format of another tool, in memory that does not grow with it.

    The folder appears when it is complete.

    Args:
        source: the dataset, with the choice of its texts.
        form: a key of `FORMS`.
        folder: a folder that does not exist yet, or is empty.
        licence: the licence of the data, if the dataset states none; a name of the hub's.

    Returns:
        The licence that the folder states.

    Raises:
        InputError: no such format or licence; a dataset without what the format needs; or a folder that
            is not empty.
    """
    if form not in FORMS:
        raise InputError(
            f"no form {form!r}", remedy=f"{did_you_mean(form, FORMS)}forms are {', '.join(FORMS)}"
        )
    _check_usable(source)
    chosen = licence_of(source.about, licence)
    with atomic_folder(folder) as temporary:
        FORMS[form].write(source, Path(temporary), chosen)
    return chosen


def check_same(source: Source, form: str, folder: StrPath) -> None:
    """Raises InputError if an exported folder has other texts or judgments than a dataset has now.

    The data are exported again to compare the files: they may have changed, and two folders of one
    name have one id.
    """
    with TemporaryDirectory(dir=Path(folder).resolve().parent) as temporary:
        again = Path(temporary) / "again"
        export_folder(source, form, again)
        if _data(again) != _data(Path(folder)):
            raise InputError(
                f"the folder was exported from other data than {source.dataset.id} has now",
                file=folder,
                remedy="name another, or remove this one",
            )


def data_hash(folder: Path) -> str:
    """Returns a hash of the files of an exported folder but its card."""
    return hashlib.sha256(repr(sorted(_data(folder).items())).encode()).hexdigest()


def _data(folder: Path) -> dict[str, str]:
    """Returns the hashes of the files of an exported folder but its card."""
    files = (path for path in folder.rglob("*") if path.is_file())
    hashes = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
    return {name: value for name, value in hashes.items() if name != README}


def _check_usable(source: Source) -> None:
    if not re.fullmatch(r"\w+(\.\w+)*", source.split):
        raise InputError(
            f"{source.split!r} is no name of a split", remedy="a split is a word such as test"
        )
    for kind, name in (("docs", "documents"), ("queries", "queries")):
        if not source.has(kind):
            raise InputError(f"dataset {source.dataset.id} has no {name} to export")
