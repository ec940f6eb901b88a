"""QuoteR's benchmark of users' own texts, from files to a folder that every command can use."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line
from irtoolkit.base.paths import StrPath
from irtoolkit.building.pipeline import Build, Release, each, is_whole, source_line
from irtoolkit.building.quoter.corpus import Text, look_at
from irtoolkit.building.quoter.finder import Patterns
from irtoolkit.building.quoter.quality import Gathered, quality
from irtoolkit.building.quoter.quotes import QuoteList, read_quotes
from irtoolkit.building.quoter.recipe import Recipe, Settings, is_code
from irtoolkit.building.quoter.selection import Found, divided, is_collection, pairs, selected
from irtoolkit.building.quoter.texts import Finder, formats
from irtoolkit.building.shelves import digest, text_files
from irtoolkit.building.splits import SPLITS, TRAIN, VAL
from irtoolkit.datasets.built import described
from irtoolkit.datasets.quoter_release import file_of

# The folder of what is found in each text; it stays, and a later build continues from it.
FOUND = "occurrences"
_FIELDS = ("begin", "end", "first", "last", "leaks", "printed")
_INTRO = (
    "Texts that this benchmark was built from. Their licences are theirs: the benchmark holds the",
    "quotes, and some words of the texts before and after each of them.",
)


def build_quoter(
    quotes: Sequence[StrPath],
    corpus: Sequence[StrPath],
    out: StrPath,
    recipe: Recipe | None = None,
    *,
    replace: bool = False,
) -> Gathered:
    """Builds a benchmark in QuoteR's form; an interrupted build continues.

    Args:
        quotes: files with a quote on each line, which its author and source may follow after tabs.
        corpus: .txt and .md files, and folders of them.
        out: the folder to write.
        recipe: the settings of the build.
        replace: whether a benchmark that was built of other texts, or in another way, is replaced.

    Returns:
        the gathered contexts, and why some were left out.

    Raises:
        InputError: a file cannot be used; the folder holds something else; or no quote is found often
            enough.
    """
    recipe = recipe or Recipe()
    lists, files = text_files(quotes, "lists of quotes"), text_files(corpus, "texts")
    with Build.locked(out, (FOUND,), replace) as build:
        listed = read_quotes(lists, recipe.words, recipe.lang, recipe.unit)
        texts = each(look_at, files, "reading", "text")
        settings = recipe.of(listed.unit, listed.lang or _usual(texts))
        key = digest(
            formats(), listed.content, f"{settings.unit} {settings.context} {settings.alone}"
        )
        patterns = Patterns(listed.quotes, settings.alone)
        finder = Finder(build.folder / FOUND, key, patterns, settings.unit, settings.context)
        whole = digest(key, repr(settings), *(f"{text.file.name} {text.sha}" for text in texts))
        build.check(whole)
        _remove_release(build.folder)
        build.claim(whole)
        done = finder.search_all({text.file.name: text for text in texts}, "corpus", "text")
        gathered = _gathered(finder, texts, listed, settings)
        gathered.continued = done
        build.finish(whole, _write(build.folder, gathered))
        return gathered


def _remove_release(folder: Path) -> None:
    """Removes the file of contexts of an earlier build, which may be in another language."""
    with contextlib.suppress(InputError):  # a damaged description names no language
        lang = described(folder).get("lang") if is_whole(folder) else None
        if isinstance(lang, str) and is_code(lang):
            (folder / file_of(lang)).unlink(missing_ok=True)


def _usual(texts: Sequence[Text]) -> str | None:
    """Returns the language that most headers name."""
    counts = Counter(text.header.lang for text in texts if text.header.lang)
    return counts.most_common(1)[0][0] if counts else None


def _gathered(
    finder: Finder, texts: Sequence[Text], listed: QuoteList, settings: Settings
) -> Gathered:
    """Returns the selected pairs, divided into splits."""
    gathered = Gathered(listed, settings)
    by_text = {text.file.name: Found.of(finder, text.file.name) for text in texts}
    for name, matches in by_text.items():
        gathered.texts[name] = matches.text
        if is_collection(matches):
            gathered.collections.append(matches.text["path"])
        else:
            gathered.found.update(row["quote"] for row in matches.occurrences)
    all_pairs = pairs(by_text, gathered.left_out)
    gathered.pairs = selected(all_pairs, listed.quotes, settings, gathered.left_out)
    if not gathered.pairs:
        raise _nothing(gathered)
    golds = [pair.quote for pair in gathered.pairs]
    gathered.splits = divided(golds, settings.unseen, settings.seed)
    return gathered


def _nothing(gathered: Gathered) -> InputError:
    """Returns the error that no quote has enough contexts, with counts that say why."""
    most = max(gathered.found.values(), default=0)
    where = f"{len(gathered.texts) - len(gathered.collections):,} texts"
    if gathered.collections:
        where += f" ({gathered.collections[0]} is a collection of quotations)"
    return InputError(
        f"no quote has {gathered.settings.least} contexts: {len(gathered.found):,} of"
        f" {len(gathered.listed.quotes):,} quotes are found in {where}, the most frequent {most} times",
        remedy="add texts, or lower --least",
    )


def _write_contexts(folder: Path, gathered: Gathered) -> None:
    """Writes the pairs, split after split, and beside them the source of each."""
    lang, quotes = gathered.settings.lang, gathered.listed.quotes
    lines = [(split, number) for split in SPLITS for number in gathered.splits[split]]
    release, provenance = folder / file_of(lang), folder / "contexts.jsonl"
    with atomic_text(release) as out, atomic_text(provenance) as origins:
        for line, (split, number) in enumerate(lines, 1):
            pair = gathered.pairs[number]
            quote = quotes[pair.quote]
            out.write(f"{pair.left}\t{quote.text}\t{pair.right}\n")
            record = {
                "query_id": f"{lang}-{line}",
                "split": split,
                "quote": quote.text,
                "author": quote.author,
                "source": quote.source,
                "text": pair.text,
                **{name: pair.record[name] for name in _FIELDS},
            }
            origins.write(json_line(record))


def _write(folder: Path, gathered: Gathered) -> Release:
    """Writes the files of the release; returns its description."""
    _write_contexts(folder, gathered)
    train, val = len(gathered.splits[TRAIN]), len(gathered.splits[VAL])
    sources = [
        source_line(name, text["title"] or name, text["author"], text["path"])
        for name, text in gathered.texts.items()
    ]
    return Release(
        "quoter",
        [split for split in SPLITS if gathered.splits[split]],
        asdict(gathered.settings),
        quality(gathered),
        _INTRO,
        {"Texts": sources},
        more={"lang": gathered.settings.lang, "bounds": [train, train + val]},
    )
