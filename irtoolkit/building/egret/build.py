"""EgRet's benchmark of users' own texts, from files to a folder that every command can use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import StrPath
from irtoolkit.building.egret.gather import DEV, SPLITS, TRAIN, Gathered, Plan
from irtoolkit.building.egret.pieces import Contexts, Finder, formats
from irtoolkit.building.egret.quality import Tally, near_duplicates
from irtoolkit.building.egret.sources import BOOKS, Source, sources
from irtoolkit.building.pipeline import Build, Release, each, keep_only, source_line
from irtoolkit.building.quality import Quality
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.cache import content_hash

# The folder of what is found in each file; it stays, and a later build continues from it.
PIECES = "pieces"
_FIELDS = ("id", "question", "left", "text", "right", "marker", "line")
_INTRO = (
    "Texts that this benchmark was built from. Their licences are theirs: the benchmark holds",
    "examples of them, and the text around each.",
)


@dataclass(frozen=True)
class Recipe:
    """The settings of a build.

    Attributes:
        share: the approximate share of the examples in dev; ELI5 has 2 %, Books3 20 %.
        dev: names of files or books for dev, in place of a share.
        contexts: the context around an example.
    """

    share: float = 0.1
    dev: tuple[str, ...] = ()
    contexts: Contexts = field(default_factory=Contexts)


def build_egret(
    kind: str,
    paths: Sequence[StrPath],
    out: StrPath,
    recipe: Recipe | None = None,
    *,
    replace: bool = False,
) -> tuple[Gathered, Quality]:
    """Builds a benchmark in EgRet's form; an interrupted build continues.

    Args:
        kind: the kind of the files: "answers", "nq" or "books".
        paths: .jsonl files, or for books .txt and .md files; and folders of them.
        out: the folder to write.
        recipe: the settings of the build.
        replace: whether a benchmark that was built of other texts, or in another way, is replaced.

    Returns:
        the gathered examples, and the report on them.

    Raises:
        InputError: a file cannot be used; a question or book is repeated; the folder holds
            something else; or there is no example.
    """
    recipe = recipe or Recipe()
    if not 0 < recipe.share < 1:
        raise InputError(f"a share of {recipe.share:g} for dev is not between 0 and 1")
    files = sources(kind, paths)
    dev = _named(files, recipe.dev)
    with Build.locked(out, (PIECES,), replace) as build:
        _check_distinct(files)
        key = digest(
            formats(), kind, repr(recipe), *(f"{f.name} {content_hash(f.path)}" for f in files)
        )
        build.claim(key)
        finder = Finder(build.folder / PIECES, recipe.contexts)
        parts = each(finder, files, kind, "file")
        keep_only(finder.folder, [path for file in files for path in finder.pieces(file)])
        plan = Plan(finder, files, recipe.share, dev)
        gathered = Gathered(files, {file.name: finder.seen(file) for file in files})
        gathered.continued = sum(done for done, _ in parts)
        gathered.pieces = sum(count for _, count in parts)
        release = _write(build.folder, gathered, plan, recipe)
        build.finish(key, release)
        return gathered, release.report


def _named(files: Sequence[Source], names: Sequence[str]) -> list[str]:
    """Returns the names of the files for dev, given as names or paths."""
    by_name = {file.name: file for file in files}
    by_path = {str(spelled): file.name for file in files for spelled in (file.path, file.path.name)}
    files_named = []
    for name in names:
        if name not in by_name and name not in by_path:
            near = did_you_mean(name, list(by_name))
            listed = ", ".join(list(by_name)[:8]) + (", ..." if len(by_name) > 8 else "")
            raise InputError(f"--dev {name} is none of the files", remedy=f"{near}given: {listed}")
        files_named.append(name if name in by_name else by_path[name])
    return files_named


def _check_distinct(files: Sequence[Source]) -> None:
    by_hash: dict[str, Source] = {}
    for file in files:
        earlier = by_hash.setdefault(content_hash(file.path), file)
        if earlier is not file and file.path.stat().st_size:
            noun = "book" if file.kind == BOOKS else "file"
            raise InputError(
                f"the same {noun} as {earlier.path}, byte for byte",
                file=file.path,
                remedy="leave one of the two out",
            )


def _write(folder: Path, gathered: Gathered, plan: Plan, recipe: Recipe) -> Release:
    """Writes the splits; returns the description of the release."""
    for summary in gathered.seen.values():
        gathered.left_out.update(summary.left_out)
    tally = Tally()
    with ExitStack() as stack:
        outs = {split: stack.enter_context(atomic_text(_file(folder, split))) for split in SPLITS}
        for split, source, unit in plan.units():
            if split not in outs:
                gathered.left_out[split] += 1
                continue
            gathered.examples[split] += 1
            tally.add(unit, source.name, split)
            record = {name: unit[name] for name in _FIELDS} | {"source": source.name}
            outs[split].write(json_line(record))
    if not gathered.examples[DEV]:
        raise InputError(
            "no example for dev: all of its examples are in the other files, too"
            if gathered.examples[TRAIN]
            else "no example is left"
        )
    near = near_duplicates(_file(folder, TRAIN), _file(folder, DEV))
    for split in set(SPLITS) - set(gathered.splits):
        _file(folder, split).unlink()
    report = tally.quality(gathered, near)
    sources = {gathered.sources[0].kind: _sources(gathered)}
    return Release("egret", gathered.splits, asdict(recipe), report, _INTRO, sources)


def _file(folder: Path, split: str) -> Path:
    return folder / f"{split}.jsonl"


def _sources(gathered: Gathered) -> Iterator[str]:
    for source in gathered.sources:
        summary = gathered.seen[source.name]
        yield source_line(source.name, summary.title, summary.author, source.path)
