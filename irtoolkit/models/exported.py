"""The backend that runs a model, and the file of an exported model. Imports no library."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.models.places import is_weights

Backend = Literal["auto", "torch", "onnx", "openvino"]
# Where exported models are in a folder, the first that is there.
_FILES = {
    "onnx": ("model.onnx", "onnx/model.onnx"),
    "openvino": (
        "openvino_model.xml",
        "openvino/openvino_model.xml",
        "model.onnx",
        "onnx/model.onnx",
    ),
}
# The packages whose versions decide the last bits, and the one of a backend.
LIBRARIES = ("torch", "transformers", "sentence-transformers")
_RUNTIMES = {"onnx": "onnxruntime", "openvino": "openvino"}


def chosen_backend(backend: Backend, location: str | None) -> str:
    """Returns the backend for a model: torch if it has weights for it, or else an exported one.

    Args:
        backend: "torch", "onnx", "openvino", or "auto" to choose.
        location: folder of the model; None if it is not on this machine.

    Raises:
        InputError: there is no such backend, or the folder has weights for another one.
    """
    if backend not in get_args(Backend):
        raise InputError(f"no backend {backend!r}", remedy=", ".join(get_args(Backend)))
    if backend in _RUNTIMES or location is None:
        return "torch" if backend == "auto" else backend
    if any(_is_of_torch(path) for path in Path(location).rglob("*")):
        return "torch"
    for candidate, files in _FILES.items():
        present = [name for name in files if (Path(location) / name).is_file()]
        if present and backend == "torch":
            raise InputError(
                f"backend=torch: no weights for torch in {location}, only {present[0]}",
                remedy="leave backend out",
            )
        if present:
            return candidate
    return "torch"


def _is_of_torch(path: Path) -> bool:
    """Returns whether a file has torch's weights; a .bin beside an .xml is OpenVINO's."""
    return is_weights(path) and not path.with_suffix(".xml").is_file()


def exported_file(location: str, backend: str) -> Path:
    """Returns the file of an exported model in a folder.

    Raises:
        InputError: there is none.
    """
    for name in _FILES[backend]:
        path = Path(location) / name
        if path.is_file():
            return path
    raise InputError(
        f"backend={backend}: no {' or '.join(_FILES[backend])} in {location}",
        remedy="leave backend out, or export the model: irtoolkit convert onnx MODEL -o FOLDER",
    )


def versions(backend: str) -> dict[str, str]:
    """Returns the versions of the libraries that a model is run with, by package.

    Raises:
        InputError: that of the backend is not installed.
    """
    releases = {name: metadata.version(name) for name in LIBRARIES}
    if backend in _RUNTIMES:
        name = _RUNTIMES[backend]
        try:
            releases[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise needs_extra(name, backend) from None
    return releases
