"""What encoders are worth on books that took no part in their training, alone and beside surroundings.

    IRTOOLKIT_DATA=DATA python benchmarks/unseen_encoders.py prepare FOLDER
    python benchmarks/unseen_encoders_train.py FOLDER --seconds 188       # on a machine with a GPU
    IRTOOLKIT_DATA=DATA python benchmarks/unseen_encoders.py report FOLDER

The first stage writes FOLDER/books.npz, the tokens of RELiC's and PlotRetrieval's books and queries, with the candidates of
surroundings, and FOLDER/model, all-MiniLM-L6-v2 in half precision: 32 MB, which a machine without irtoolkit reads. The
second trains there, and writes what each model ranks to FOLDER/results. The last one computes the figures and intervals, and
writes them to benchmarks/results/unseen_encoders.json. With --sample, both read the sample of the library, and the report
goes to FOLDER: a trial on a CPU, with --trial in the second stage.

Windows are counted in tokens here, while the setting `context` of dense-surroundings cuts them at sentences.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import unseen_encoders_report
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.presets import find_preset, model_folder

RESULTS = Path(__file__).resolve().parent / "results" / "unseen_encoders.json"
SPLITS = ("train", "val")
MODEL, LENGTH = "all-MiniLM-L6-v2", 254
# What quality.md reports of each, chosen on the training split, and how many of its candidates are kept.
SURROUNDINGS = {
    "relic": {"around": "1/16/64", "weight": 0.85, "fade": 0.7},
    "plotretrieval": {"around": "1/16/64", "weight": 0.95},
}
DEPTH = 300


def names(sample: bool) -> dict[str, str]:
    """The datasets, without their splits."""
    of = "/sample" if sample else ""
    birco = "birco/sample/relic" if sample else "birco/relic/test"
    return {"relic": f"relic{of}", "plotretrieval": f"plotretrieval{of}", "birco": birco}


# -- prepare --------------------------------------------------------------------------------------


class Tokens:
    """Texts as token ids, in one array with the end of each."""

    def __init__(self) -> None:
        self.made = Tokenizer.from_file(f"{model_folder(find_preset(MODEL))}/tokenizer.json")
        self.made.no_truncation()
        self.made.no_padding()

    def of(self, texts: list[str]) -> list[Any]:
        rows = self.made.encode_batch(list(texts), add_special_tokens=False)
        return [np.array(row.ids, np.uint16) for row in rows]

    def around(self, left: tuple[str, ...], right: tuple[str, ...]) -> Any:
        """The tokens nearest to a masked text, half of them on either side where there are enough."""
        before, after = (
            np.concatenate([np.zeros(0, np.uint16), *self.of(side)]) for side in (left, right)
        )
        first = min(len(before), max(LENGTH // 2, LENGTH - len(after)))
        return np.concatenate([before[len(before) - first :], after[: LENGTH - first]])


def packed(name: str, rows: list[Any]) -> dict[str, Any]:
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return {name: np.concatenate(rows).astype(np.uint16), f"{name}_ends": ends}


def prepare(folder: Path, sample: bool) -> None:
    of, tokens = names(sample), Tokens()
    books: dict[str, list[str]] = {}
    for name in ("relic", "plotretrieval"):
        for split in SPLITS:
            for book, _, _ in Dataset.load(f"{of[name]}/{split}").passages().groups:
                sentences = list(book.stripped)
                if books.setdefault(book.name, sentences) != sentences:
                    raise SystemExit(f"{book.name} differs between datasets")
    titles = sorted(books)
    texts = packed("tokens", [row for title in titles for row in tokens.of(books[title])])
    ends = np.cumsum([0, *(len(books[title]) for title in titles)])
    made = {
        "tokens": texts["tokens"],
        "sentences": texts["tokens_ends"],
        "books": np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int32),
        **_relic(of["relic"], titles, tokens),
        **_plots(of["plotretrieval"], titles, tokens),
        **_birco(of["birco"], tokens),
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "books.npz", **made)
    half_model(folder / "model")


def _relic(name: str, titles: list[str], tokens: Tokens) -> dict[str, Any]:
    queries, in_val = _queries(name)
    golds = {}
    for split in SPLITS:
        golds |= Dataset.load(f"{name}/{split}").relevant()
    spans = [Span.parse(golds[query.query_id][0]) for query in queries]
    found, scores = _candidates(name, "relic")
    near = [tokens.around(query.left[-1:], query.right[:1]) for query in queries]
    far = [tokens.around(query.left, query.right) for query in queries]
    return {
        "relic_book": np.array([titles.index(query.book) for query in queries], np.int16),
        "relic_gold": np.array([span.start for span in spans], np.int32),
        "relic_length": np.array([span.length for span in spans], np.int8),
        "relic_val": in_val,
        "relic_candidates": np.array([[Span.parse(one).start for one in row] for row in found], np.int32),
        "relic_scores": scores,
        **packed("relic_near", near),
        **packed("relic_far", far),
    }  # fmt: skip


def _plots(name: str, titles: list[str], tokens: Tokens) -> dict[str, Any]:
    queries, in_val = _queries(name)
    ids = {doc for split in SPLITS for doc in Dataset.load(f"{name}/{split}").passages()}
    docs = sorted(map(Span.parse, ids))
    number = {str(span): place for place, span in enumerate(docs)}
    spans = [Span.parse(query.spans[0]) for query in queries]
    found, scores = _candidates(name, "plotretrieval")
    return {
        "plot_book": np.array([titles.index(query.book) for query in queries], np.int16),
        "plot_span": np.array([(span.start, span.length) for span in spans], np.int32),
        "plot_val": in_val,
        "plot_docs": np.array([(titles.index(span.book), span.start, span.length) for span in docs], np.int32),
        "plot_ids": np.array([query.query_id for query in queries]),
        "plot_doc_ids": np.array(list(number)),
        "plot_candidates": np.array([[number[one] for one in row] for row in found], np.int32),
        "plot_scores": scores,
        **packed("plot_text", [row[:LENGTH] for row in tokens.of([query.text for query in queries])]),
    }  # fmt: skip


def _birco(name: str, tokens: Tokens) -> dict[str, Any]:
    dataset = Dataset.load(name)
    docs = {doc.doc_id: doc.text for doc in dataset.docs_iter()}
    queries = {query.query_id: query.text for query in dataset.queries}
    number = {doc: place for place, doc in enumerate(docs)}
    given = dataset.pools()
    pools = np.full((len(queries), max(map(len, given.values()))), -1, np.int32)
    for row, query in enumerate(queries):
        pools[row, : len(given[query])] = [number[doc] for doc in given[query]]
    return {
        "birco_ids": np.array(list(queries)),
        "birco_doc_ids": np.array(list(docs)),
        "birco_pools": pools,
        **packed("birco_docs", [row[:LENGTH] for row in tokens.of(list(docs.values()))]),
        **packed("birco_queries", [row[:LENGTH] for row in tokens.of(list(queries.values()))]),
    }


def _queries(name: str) -> tuple[list[Any], Any]:
    """The queries of both splits, and which of them are of the validation split."""
    parts = [Dataset.load(f"{name}/{split}").queries for split in SPLITS]
    return [*parts[0], *parts[1]], np.repeat([False, True], list(map(len, parts)))


def _candidates(name: str, data: str) -> tuple[list[list[str]], Any]:
    """The first candidates of surroundings for the queries of both splits, as many for each, and their scores."""
    found = []
    for split in SPLITS:
        dataset = Dataset.load(f"{name}/{split}")
        run = ir.retrieve(
            dataset, "bm25-surroundings", depth=DEPTH, fill=True, **SURROUNDINGS[data]
        )
        found += [run.ranking(query) for query in dataset.query_ids()]
    depth = min(map(len, found))
    scores = np.array([[one.score for one in row[:depth]] for row in found], np.float32)
    return [[one.doc_id for one in row[:depth]] for row in found], scores


def half_model(folder: Path) -> None:
    source = Path(model_folder(find_preset(MODEL)))
    folder.mkdir(exist_ok=True)
    shutil.copy(source / "config.json", folder)
    weights = {
        name: weight.half() if weight.is_floating_point() else weight
        for name, weight in load_file(source / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


# -- the stages -----------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "report"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", action="store_true", help="the library's sample, for a trial")
    args = parser.parse_args()
    if args.stage == "prepare":
        prepare(args.folder, args.sample)
        return
    made = unseen_encoders_report.report(args.folder, names(args.sample))
    with atomic_text(args.folder / RESULTS.name if args.sample else RESULTS) as out:
        out.write(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
