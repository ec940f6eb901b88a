"""The README.md of an exported folder: a dataset card as the Hugging Face hub reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from irtoolkit import version
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.markup import markdown_table
from irtoolkit.datasets.benchmark import NOT_STATED
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Source, shared_id
from irtoolkit.retrievers.texts import DEFAULT_VIEW

README = "README.md"
# The key of the front matter under which a folder says what it was exported from.
OWN = "irtoolkit"
# The hub's classes of size, by the number of documents below which they end.
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)
_LARGEST = "100M<n<1B"
# Where the licence is in the front matter and in the page.
_LICENSE = re.compile(r"^license: .*$", re.MULTILINE)
_LICENCE = re.compile(r"^(## Licence\n\n).*$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A configuration of the folder, as `datasets.load_dataset(folder, name)` takes it.

    Attributes:
        name: of the configuration.
        path: of its file in the folder.
    """

    name: str
    path: str


def write_card(
    folder: Path,
    source: Source,
    licence: Licence,
    form: str,
    parts: Sequence[Part],
    usage: str,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Writes README.md.

    Args:
        folder: the exported folder.
        source: the exported dataset, with its counts.
        licence: the licence of the export.
        form: the name of the format.
        parts: the configurations; empty if the format is not the hub's.
        usage: Markdown that says how to load the folder.
        more: further front matter for the tool.
    """
    front = {**_facts(source, licence, form), **_configurations(source, parts), **(more or {})}
    text = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=100)
    (folder / README).write_text(f"---\n{text}---\n\n{_page(source, licence, usage)}", "utf-8")


def _facts(source: Source, licence: Licence, form: str) -> dict[str, Any]:
    dataset = source.dataset
    size = next((name for most, name in _SIZES if source.counts["documents"] < most), _LARGEST)
    return {
        **({"language": [dataset.lang]} if dataset.lang else {}),
        "license": licence.id,
        "pretty_name": source.title,
        "task_categories": ["text-retrieval"],
        "size_categories": [size],
        "tags": ["information-retrieval"],
        OWN: {
            "dataset": source.id,
            "form": form,
            "query": source.query,
            "doc": source.doc,
            "split": source.split,
            "version": version.__version__,
            "counts": dict(source.counts),
        },
    }


def _configurations(source: Source, parts: Sequence[Part]) -> dict[str, Any]:
    configs = [
        {"config_name": part.name, "data_files": [{"split": source.split, "path": part.path}]}
        for part in parts
    ]
    return {"configs": configs} if configs else {}


def _page(source: Source, licence: Licence, usage: str) -> str:
    benchmark, dataset = source.about, source.dataset
    parts = [f"# {source.title}", f"`{source.id}`, written by irtoolkit {version.__version__}."]
    if benchmark is not None:
        parts.append(benchmark.description)
    difference = dataset.difference()
    if difference is not None:
        parts.append(f"These are not the published data: {difference}.")
    parts += [_counts(source), _texts(source), "## Load", usage.strip()]
    parts += ["## Licence", licence.line]
    if benchmark is not None and benchmark.url not in ("", NOT_STATED):
        parts.append(f"Source: <{benchmark.url}>")
    cited = _bibtex(source)
    if cited:
        parts += ["## Citation", f"```bibtex\n{cited.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _counts(source: Source) -> str:
    rows = [[name, f"{number:,}"] for name, number in source.counts.items()]
    return "\n".join(markdown_table(["", "number"], rows, 1))


def _texts(source: Source) -> str:
    sides = [("queries", source.query), ("documents", source.doc)]
    sentence = ", ".join(
        f"of {name} {'the default text' if name_of == DEFAULT_VIEW else f'`{name_of}`'}"
        for name, name_of in sides
    )
    return f"The texts are {sentence}."


def _bibtex(source: Source) -> str:
    if source.about is not None:
        return source.about.bibtex
    documentation: Any = getattr(source.dataset.source, "documentation", None)
    citation = None if documentation is None else documentation()
    return str((citation or {}).get("bibtex") or "")


def read_card(folder: Path) -> dict[str, Any] | None:
    """Returns the front matter of an exported folder; None if there is no card of ours."""
    try:
        text = (folder / README).read_text("utf-8")
        front = yaml.safe_load(text.split("---\n", 2)[1])
    except (OSError, ValueError, IndexError, yaml.YAMLError):
        return None
    return front if isinstance(front, dict) and isinstance(front.get(OWN), dict) else None


def is_export(
    folder: StrPath, dataset: str, form: str, *, query: str, doc: str, split: str
) -> bool:
    """Returns whether a folder is an export that the same command would write.

    Raises:
        InputError: it is, but with other texts, another split or by another version.
    """
    front = read_card(Path(folder))
    if front is None:
        return False
    recorded = front[OWN]
    if (recorded.get("dataset"), recorded.get("form")) != (shared_id(dataset), form):
        return False
    expected = {"query": query, "doc": doc, "split": split, "version": version.__version__}
    for name, value in expected.items():
        if recorded.get(name) != value:
            raise InputError(
                f"the folder was exported with {name} {recorded.get(name)}, not {value}",
                file=folder,
                remedy="name another, or remove this one",
            )
    return True


def restate(folder: StrPath, licence: Licence) -> None:
    """Makes the card of an exported folder state another licence."""
    path = Path(folder) / README
    _, front, page = path.read_text("utf-8").split("---\n", 2)
    front = _LICENSE.sub(lambda _: f"license: {licence.id}", front, count=1)
    page = _LICENCE.sub(lambda match: match[1] + licence.line, page, count=1)
    with atomic_text(path) as out:
        out.write(f"---\n{front}---\n{page}")
