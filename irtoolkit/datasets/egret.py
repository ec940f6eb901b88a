"""EgRet: retrieve the example masked out of a long-form answer (Wang et al. 2022).

The datasets `egret/{train,dev}` have the context on both sides of the example, and
`egret/{split}/left` only that before it. The same ids under `egret/sample` are a small invented
sample that ships with the package. The documents are the exemplifying units of train and dev
together.

The release is KILT's ELI5: `eli5-train-kilt.jsonl` and `eli5-dev-kilt.jsonl`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean

import ir_datasets
from ir_datasets.formats import GenericDoc

from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.built import BuiltFolder
from irtoolkit.datasets.downloads import download_files
from irtoolkit.datasets.egret_release import SPLITS as SPLITS
from irtoolkit.datasets.egret_release import EgretRelease, read_built, read_kilt
from irtoolkit.datasets.egret_release import ExampleQuery as ExampleQuery
from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.source import ReleaseSource

NAME = "egret"
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
GRADES = {1: "the example that was in the answer"}
URL = "https://github.com/facebookresearch/KILT"
BENCHMARK = Benchmark(
    name=NAME,
    title="EgRet",
    citation="Wang et al. 2022, NAACL",
    url=URL,
    licence="see KILT and ELI5",
    description="Find the example masked out of a long-form answer, among all examples.",
    measures=MEASURES,
    bibtex="""@inproceedings{wang2022modeling,
  title={Modeling Exemplification in Long-form Question Answering via Retrieval},
  author={Wang, Shufan and Xu, Fangyuan and Thompson, Laure and Choi, Eunsol and Iyyer, Mohit},
  booktitle={Proceedings of NAACL},
  year={2022}
}""",
)
# Addresses and SHA-256 hashes as in Hugging Face's kilt_tasks.
FILES = {
    "eli5-train-kilt.jsonl": (
        "http://dl.fbaipublicfiles.com/KILT/eli5-train-kilt.jsonl",
        "66f19183bda5f5185fe98a5fe84925f6802d9b53a5bb12728ded760fd80ef0a0",
    ),
    "eli5-dev-kilt.jsonl": (
        "http://dl.fbaipublicfiles.com/KILT/eli5-dev-kilt.jsonl",
        "10387a08e3277d3e5722305cef8e739279c83de0218e7b3db76b301949822303",
    ),
}
# Examples of each split in Table 1 of the paper, column ELI5.
REPORTED = {"train": 65157, "dev": 1185}


def read_egret(folder: Path) -> EgretRelease:
    """Returns the exemplifying units of the release in a folder; see `read_kilt`."""
    return read_kilt([folder / name for name in FILES])


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every EgRet dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        howto = f"get ELI5 from {URL} and put {' and '.join(FILES)} into"
        source = BENCHMARK.source(
            list(FILES), sample=sample, howto=howto, download=partial(download_files, FILES)
        )
        examples = _Examples(source, read_egret)
        add(prefix, ir_datasets.Dataset(examples.docs, examples.record()))
        for dataset_id, dataset in _datasets(prefix, examples, SPLITS):
            add(dataset_id, dataset)


def built(folder: BuiltFolder) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a folder from `irtoolkit build egret`."""
    splits = tuple(folder.splits)
    source = folder.source(*(f"{split}.jsonl" for split in splits))
    return _datasets(folder.name, _Examples(source, partial(read_built, splits=splits)), splits)


def _datasets(
    prefix: str, examples: "_Examples", splits: Iterable[str]
) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of splits: the whole context, and its left side."""
    for split in splits:
        whole = f"{prefix}/{split}"
        yield whole, _dataset(examples, split)
        yield f"{whole}/left", _dataset(examples, split, view_of=whole)


class _Examples:
    """The files of the release, and the documents that all its datasets share."""

    def __init__(self, source: ReleaseSource, read: Callable[[Path], EgretRelease]) -> None:
        self.source, self._read = source, cache(read)
        self.docs = DocsHandler.of_release(self.load, GenericDoc, NAME, "en")

    def load(self) -> EgretRelease:
        return self._read(self.source.folder())

    def record(self) -> Benchmark:
        """Returns the record of the dataset that has the examples alone."""
        return BENCHMARK.of_documents("Examples", lambda: self.load().docs).at(self.source)


def _dataset(examples: _Examples, split: str, view_of: str = "") -> ir_datasets.Dataset:
    """Returns the dataset of a split, or the view of it that shows the left context alone."""
    load, left_only = examples.load, bool(view_of)

    def judgments() -> Iterator[Qrel]:
        return (Qrel(unit.doc_id, unit.doc_id, 1) for unit in load().examples(split))

    return ir_datasets.Dataset(
        examples.docs,
        QueriesHandler(lambda: load().queries(split, left_only), ExampleQuery, NAME, "en"),
        QrelsHandler(judgments, Qrel, GRADES),
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), split, left_only),
            editions={RELEASE: REPORTED[split]} if split in REPORTED else {},
            view_of=view_of,
            listed=not left_only,
        ).at(examples.source),
    )


def _statistics(release: EgretRelease, split: str, left_only: bool) -> list[Statistic]:
    """Returns the figures of the paper's Table 1 for a split; lengths are in words."""

    def mean(texts: Iterator[str]) -> float:
        return fmean([len(text.split()) for text in texts] or [0])

    queries = release.queries(split, left_only)
    return [
        Statistic("Questions", release.questions[split]),
        Statistic("Examples", len(queries), REPORTED.get(split)),
        Statistic("Examples of train and dev", len(release.docs), sum(REPORTED.values())),
        Statistic("Average left context, words", mean(q.left for q in queries), 123.7),
        Statistic("Average example, words", mean(e.text for e in release.examples(split)), 23.3),
        *(
            []
            if left_only
            else [Statistic("Average right context, words", mean(q.right for q in queries), 135.3)]
        ),
    ]
