"""The driver's settings that workers on other machines take over, and errors if they cannot."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

from irtoolkit import version
from irtoolkit.base.cores import THREADS
from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import QUIET

# Beginnings of the names of variables that workers take over from the driver.
_TAKEN = ("IRTOOLKIT_", "IR_DATASETS_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "FSSPEC_", "AWS_")
# Of those, what no worker needs: the token of a page that is served.
_KEPT = ("IRTOOLKIT_TOKEN",)
# What to do where a machine lacks what the driver has.
SHARE = "every node needs the same files at the same path: share their folder, or put them at a URL"


class Driver(NamedTuple):
    """The driver, the process that the workers work for.

    Attributes:
        version: of irtoolkit.
        ray: the version of Ray.
        environment: variables with the location of data and the behaviour of libraries.
    """

    version: str
    ray: str
    environment: dict[str, str]

    def __repr__(self) -> str:
        # Some of the variables are keys.
        return f"Driver({self.version!r}, {self.ray!r}, {sorted(self.environment)})"

    @classmethod
    def here(cls) -> Driver:
        """This process."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_TAKEN) and name not in _KEPT
        }
        return cls(version.__version__, _ray(), environment)

    def followed(self) -> None:
        """Makes this process a worker of the driver.

        Raises:
            InputError: it has another irtoolkit or Ray.
        """
        os.environ.update({**self.environment, QUIET: "1", "TQDM_DISABLE": "1", THREADS: "1"})
        libraries = [("irtoolkit", version.__version__, self.version), ("Ray", _ray(), self.ray)]
        for name, installed, expected in libraries:
            if installed != expected:
                raise InputError(
                    f"{node()} has {name} {installed}, and the process that it works for {expected}",
                    remedy="install the same version on every node",
                )


def node() -> str:
    """This machine as messages name it."""
    return f"node {socket.gethostname()}"


def located(error: Exception, missing: str = "") -> Exception:
    """Returns a worker's error with the name of its machine; InputError for a missing file.

    Args:
        error: the exception.
        missing: the working folder of the driver, if this machine lacks it.
    """
    where = f"on {node()}{f', which has no folder {missing}' if missing else ''}"
    if isinstance(error, InputError):
        remedy = error.remedy or (SHARE if missing else None)
        return InputError(
            f"{error.found}, {where}", file=error.file, line=error.line, remedy=remedy
        )
    if isinstance(error, FileNotFoundError | PermissionError) and error.filename is not None:
        file = os.fsdecode(error.filename)
        return InputError(f"{error.strerror}, {where}", file=file, remedy=SHARE)
    return error


def _ray() -> str:
    import ray

    return str(ray.__version__)
