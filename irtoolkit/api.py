"""The front door: everything that the shell does, in memory and with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irtoolkit.base.arguments import checked
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean

if TYPE_CHECKING:
    from irtoolkit.base.files import StrPath
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.datasets.replaced import Candidates
    from irtoolkit.fusing.tuned import TunedFusion
    from irtoolkit.retrievers.index import Index
    from irtoolkit.runs import Run
    from irtoolkit.scoring.compare import Comparison
    from irtoolkit.scoring.score import Measures, Scores
    from irtoolkit.scoring.significance import Correction, PairedTest


@checked
def load(
    data: Any,
    *,
    queries: Any = None,
    qrels: Any = None,
    candidates: Any = None,
    ids: Iterable[str] | None = None,
    name: str | None = None,
    sentences: int | None = None,
) -> Dataset:
    """A dataset: any ir_datasets id, a registered collection, or texts in memory.

    Args:
        data: an id such as "csfcube/sample"; or documents: a list of strings, id to text, a data
            frame, records, or the path of a .jsonl, .csv, .tsv, .trec or .parquet file; or the path of
            a folder with such files or of an index; or books: the path of a .txt file or of a folder of them,
            whose passages are the documents.
        queries: the queries of documents, in the same forms; or other queries of a dataset, which then has
            no judgments or candidates but those that are given.
        qrels: judgments, such as {query id: {document id: grade}}, or a file; in place of a dataset's own.
        candidates: query id to the ids of the documents that it ranks; or a run, whose documents they
            are, or a file of either; in place of a dataset's own.
        ids: with a list of strings: the ids of the documents; by default "0", "1", ...
        name: with documents: what the dataset is called; by default the file's name, or "texts".
        sentences: with books: sentences of a passage, from 1 to 20; 3 by default.

    Raises:
        InputError: no such dataset, with the nearest ids; or texts that cannot be used, such as
            none at all, an id twice, a query without text, lists of different lengths.
    """
    from irtoolkit.base.paths import shown
    from irtoolkit.datasets.book_files import dataset_of_books, is_book
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.datasets.hub.names import MTEB
    from irtoolkit.datasets.local.judgments import is_judgments
    from irtoolkit.datasets.memory import DEFAULT_NAME, dataset_of_texts
    from irtoolkit.datasets.novels import LENGTH
    from irtoolkit.datasets.replaced import with_parts
    from irtoolkit.datasets.text_file import is_text_file
    from irtoolkit.indexes.remote import is_index
    from irtoolkit.ranking.build_index import index_dataset

    if isinstance(data, PathLike):
        data = str(data)
    if is_book(data) and ids is None:
        books = dataset_of_books([data], sentences or LENGTH)
        return with_parts(books, queries, qrels, candidates)
    if sentences is not None:
        raise InputError("sentences go with books", remedy="a book is a .txt file")
    named = isinstance(data, str) and (not is_text_file(data) or is_judgments(data))
    if isinstance(data, Dataset) or named or hasattr(data, "docs_iter"):
        if ids is not None:
            raise InputError(
                "ids go with a list of texts, not with a dataset", remedy="leave them out"
            )
        if isinstance(data, str) and not data.startswith(MTEB) and is_index(data):
            data = index_dataset(data)
        elif isinstance(data, str) and " " in data.strip() and not Path(data).exists():
            raise InputError(
                f"{data[:60]!r} is no dataset, file or folder",
                remedy="irtoolkit datasets lists datasets; in Python, texts are a list of strings",
            )
        return with_parts(Dataset.of(data), queries, qrels, candidates)
    if name is None:
        name = shown(data) if isinstance(data, str) else DEFAULT_NAME
    return dataset_of_texts(data, queries, qrels, candidates, ids=ids, name=name)


@checked
def index(
    data: Any,
    system: Any = None,
    path: StrPath | None = None,
    *,
    ids: Iterable[str] | None = None,
    sentences: int | None = None,
    replace: bool = False,
    progress: bool = True,
    **settings: Any,
) -> Index:
    """Prepares documents once, for free-text search.

        index = ir.index(["a text", "another"], "bm25")
        index.search("which text?", k=10)

    The index of a dataset is kept in irtoolkit's cache folder, and found again; that of texts in memory
    is kept only under a `path`. A system that keeps no index, such as best, prepares the documents in
    memory each time, and takes no `path`.

    Args:
        data: a dataset or its id, or documents, as `load` takes them.
        system: a retriever, a model, or a row of a paper's table ("csfcube:SPECTER"); by default bm25,
            and for books what finds most of them: words and meaning together, or words alone where no
            model is installed. "words", "meaning" and "both" name these for books.
        path: a folder or URL to keep the index in.
        ids: with a list of strings: the ids of the documents.
        sentences: with books: sentences of a passage, from 1 to 20; by default 8, and 3 with a
            system that is named. Without a path, a search of books finds passages that do not
            overlap, and `index.place(hit.doc_id)` says where one is.
        replace: whether another index under the path is replaced.
        progress: whether to show a progress bar.
        settings: the system's, as `--set` takes them.

    Raises:
        InputError: see `load`; no such system or setting; what the system lacks to run here; or the
            path holds something else.
    """
    from irtoolkit.datasets.book_files import is_book, read_books
    from irtoolkit.datasets.identity import DatasetId
    from irtoolkit.datasets.novels import LENGTH
    from irtoolkit.datasets.text_file import is_text_file
    from irtoolkit.ranking.book_index import BookIndex
    from irtoolkit.ranking.book_search import book_search, is_book_system
    from irtoolkit.ranking.build_index import DEFAULT, build
    from irtoolkit.ranking.memory_index import MemoryIndex
    from irtoolkit.ranking.order import dataset_then_system
    from irtoolkit.ranking.systems import check_search_settings, system_of
    from irtoolkit.retrievers.index_sources import data_name

    data, system = dataset_then_system(data, system)
    check_search_settings(settings)
    if is_book(data) and path is None and ids is None:
        if (system is None and not settings) or is_book_system(system):
            return book_search(read_books([data]), system, settings, sentences, progress=progress)
        with _near_arguments("system"):
            resolved = system_of(system or DEFAULT, settings, DatasetId.parse("book"))
        return BookIndex(read_books([data]), resolved, sentences or LENGTH, progress=progress)
    is_file = isinstance(data, str | PathLike) and is_text_file(str(data))
    name = data_name(data) if is_file else None
    dataset = load(data, ids=ids, name=name, sentences=sentences)
    with _near_arguments("system"):
        resolved = system_of(system or DEFAULT, settings, dataset.parts)
    if path is None and (dataset.docs_key is None or resolved.retriever.index_format() is None):
        return MemoryIndex(dataset, resolved)
    return build(dataset, resolved, path, replace=replace, progress=progress)


@checked
def open_index(path: StrPath, system: str | None = None, **settings: Any) -> Index:
    """An index that is kept in a folder, or at a URL.

    Args:
        path: the folder or URL. What is at a URL is copied to this machine once.
        system: what searches; by default what the index was built for. An index of "bm25" serves
            "ql", "tfidf", "rm3" and "rocchio", too.
        settings: of the search, such as k1, in place of those the index was built with.

    Raises:
        InputError: there is no index, or it is damaged, of another format or only partly built; or a
            system or setting that needs other documents prepared.
    """
    if system is None:
        from irtoolkit.retrievers.stored_index import StoredIndex

        return StoredIndex(path, settings)
    from irtoolkit.ranking.build_index import folder_index

    return folder_index(path, system, settings)


@checked
def retrieve(
    data: Any,
    system: Any = "bm25",
    *,
    depth: int | None = None,
    candidates: Candidates | int | None = None,
    output: StrPath | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Ranks the candidates of every query of a dataset.

    Args:
        data: a dataset or its id.
        system: a retriever ("bm25", "dense", ...), a model by preset, folder or hub id, or a row of
            a paper's table ("csfcube:SPECTER", "fabs_bm25").
        depth: documents kept for each query; by default candidate pools are ranked whole and a
            corpus to 1,000.
        candidates: "pool" or "corpus", all documents; by default pools where the dataset has them. Or
            those of a run or of `top_ranked`, as an object or a file.
            A number is plaid's setting of this name.
        output: a file that the run is also written to, with its record, as the shell does.
        progress: whether to show a progress bar.
        settings: the system's, as `--set` takes them, e.g. k1=0.9, query="title".

    Raises:
        InputError: no such dataset, system, setting or pools; or what the system lacks to run here.
    """
    from irtoolkit.datasets.replaced import with_candidates
    from irtoolkit.ranking.candidates import usual_depth
    from irtoolkit.ranking.from_index import retrieve
    from irtoolkit.ranking.order import dataset_then_system
    from irtoolkit.ranking.systems import for_dataset, system_of

    data, system = dataset_then_system(data, system)
    ranked, settings = _divided(candidates, settings)
    dataset = with_candidates(load(data), ranked)
    with _near_arguments("depth", "system"):
        resolved = for_dataset(system_of(system, settings, dataset.parts), dataset)
    return retrieve(dataset, resolved, usual_depth(dataset, depth), output, progress=progress)


def _divided(
    candidates: Candidates | int | None, settings: dict[str, Any]
) -> tuple[Candidates | None, dict[str, Any]]:
    """Which documents are ranked, and the settings: a number of candidates is one of them."""
    if isinstance(candidates, int):
        return None, {**settings, "candidates": candidates}
    return candidates, settings


# What commands and other tools give with a system, as `load` calls it.
_OF_DATASETS = {"topics": "queries", "queries": "queries", "qrels": "qrels"}


@contextmanager
def _near_arguments(*names: str) -> Iterator[None]:
    """Offers arguments of a function or of `load` for a setting that a system does not have."""
    from irtoolkit.retrievers.settings import UnknownSettingError

    try:
        yield
    except UnknownSettingError as error:
        if error.key in _OF_DATASETS:
            name = _OF_DATASETS[error.key]
            remedy = f"a dataset has them: ir.load(DOCUMENTS, {name}=...)"
            raise InputError(error.found, remedy=remedy) from None
        guess = did_you_mean(error.key, [*names, *error.known])
        if not any(name in guess for name in names):
            raise
        raise InputError(error.found, remedy=guess.strip()) from None


@checked
def rerank(
    data: Any,
    run: Any,
    system: Any,
    *,
    depth: int = 100,
    keep_rest: bool = False,
    candidates: Candidates | int | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Ranks the best documents of a run again.

    Args:
        data: a dataset or its id.
        run: a Run, a file, or anything that `Run.of` takes.
        system: a cross-encoder by preset, folder or hub id; or any system, as for `retrieve`.
        depth: documents of each query that are ranked again.
        keep_rest: whether the documents below follow in their order.
        candidates: see `retrieve`; "corpus" for a run of the whole corpus.
        progress: whether to show a progress bar.
        settings: the system's, as `--set` takes them.

    Raises:
        InputError: see `retrieve`; or the run lists a document that is no candidate of its query.
    """
    from dataclasses import replace

    from irtoolkit.datasets.replaced import with_candidates
    from irtoolkit.ranking.order import in_reranking_order
    from irtoolkit.ranking.produce import Among, rank_dataset
    from irtoolkit.ranking.systems import system_of
    from irtoolkit.runs import Run

    data, run, system = in_reranking_order(data, run, system)
    ranked, settings = _divided(candidates, settings)
    dataset = with_candidates(load(data), ranked)
    with _near_arguments("depth", "system"):
        resolved = replace(system_of(system, settings, dataset.parts, again=True), depth=depth)
    first_run = Among(Run.of(run), keep_rest)
    return rank_dataset(dataset, resolved, candidates=first_run, progress=progress)


@checked
def fuse(
    *runs: Any,
    method: str | None = None,
    depth: int | None = None,
    tag: str | None = None,
    learned: StrPath | None = None,
    **settings: Any,
) -> Run:
    """Fuses several runs into one.

    Args:
        runs: at least two; each a Run, a file, or anything that `Run.of` takes.
        method: "rrf" (reciprocal rank fusion), "weighted", "combsum", "combmnz", "rankproduct",
            "condorcet", "w_condorcet", or one of ranx; by default "rrf".
        depth: documents kept for each query; None keeps all.
        tag: the name of the fused run; by default the method's.
        learned: the log of `tune_fusion`, in place of a method: what it has learned fuses the runs.
        settings: the method's: k of rrf, weights, normalise.

    Raises:
        InputError: no such method or setting; fewer than two runs, or one that shares no query with
            the others; or other runs than were learned for.
    """
    from irtoolkit.fusing.log import learned_fusion
    from irtoolkit.integrations.ranx_fusion import fusion_method
    from irtoolkit.ranking.fusion import fuse
    from irtoolkit.runs import Run

    listed = runs[0] if len(runs) == 1 and isinstance(runs[0], list | tuple) else runs
    if learned is None:
        chosen = fusion_method("rrf" if method is None else method, settings)
    elif method is not None or settings:
        raise InputError("what is learned has a method and settings", remedy="leave them out")
    else:
        fusion = learned_fusion(learned)
        listed = [Run.of(run) for run in listed]
        fusion.check(listed)
        chosen = fusion.method
    fused = fuse(listed, chosen, depth=depth, tag=tag, progress=False, related=True)
    return fused.untied()


@checked
def tune_fusion(
    data: Any,
    *runs: Any,
    measure: Any = None,
    measures: Any = None,
    log: StrPath | None = None,
    progress: bool = True,
    **options: Any,
) -> TunedFusion:
    """Chooses a fusion of runs by cross-validation over queries.

        tuned = ir.tune_fusion(data, bm25, dense)
        tuned.run                 # held out: each query fused by what is best on other queries
        tuned.fuse(bm25, dense)   # other runs of the systems, fused by what is best on all queries

    Args:
        data: a dataset with judgments, or its id.
        runs: at least two; each a Run, a file, or anything that `Run.of` takes.
        measure, measures: what decides; by default the one that the dataset's systems are ranked by.
        log: a JSON file that what is tried is kept in; an interrupted search resumes from it.
        progress: whether to show a progress bar.
        options: methods, normalise, step, grid, folds, inner, seed, depth; see
            `irtoolkit.fusing.search.FusionSearch`.

    Raises:
        InputError: fewer than two runs; a run without a judged query; too few queries for the folds;
            no such method, normalisation or option; or the log of another search.
    """
    from dataclasses import fields

    from irtoolkit.fusing.search import FusionSearch
    from irtoolkit.fusing.tuned import tune_fusion

    allowed = [field.name for field in fields(FusionSearch)]
    unknown = next((name for name in options if name not in allowed), None)
    if unknown is not None:
        raise InputError(f"tuning has no option {unknown!r}", remedy=f"it has {', '.join(allowed)}")
    listed = runs[0] if len(runs) == 1 and isinstance(runs[0], list | tuple) else runs
    search = FusionSearch(**options)
    measure = _either(measure, measures)
    return tune_fusion(data, listed, search, measure=measure, log=log, progress=progress)


def _either(first: Any, second: Any) -> Any:
    """The measures under either of two words, "measure" and "measures"."""
    if first is not None and second is not None:
        raise InputError("measure and measures are the same", remedy="give one of them")
    return second if first is None else first


@checked
def evaluate(
    data: Any,
    *runs: Any,
    measures: Measures | None = None,
    measure: Measures | None = None,
    names: Sequence[str] = (),
    excluded: int | None = None,
    precision: Literal["single", "double"] = "single",
) -> Scores:
    """Scores runs on a dataset's judgments: a table in a terminal and in a notebook.

    Args:
        data: a dataset or its id, a TREC qrels file, or judgments such as
            {query id: {document id: grade}}.
        runs: each a Run, a file, {query id: {document id: score}}, a data frame, a ranx.Run or
            rows; or one mapping of name to run.
        measures, measure: names of ir_measures, trec_eval or ranx, e.g. "nDCG@10, AP"; by default the
            dataset's own. Both words mean the same.
        names: one for each run; by default the runs' tags.
        excluded: the grade of documents that are left out of a run before it is scored, as -100 in
            BRIGHT's judgments; by default the one that the dataset defines as excluded.
        precision: how scores are compared: in "single" precision as by trec_eval 9, in which scores may
            tie that differ in a file, or in "double" precision as by trec_eval 10.

    Raises:
        InputError: no such dataset or measure, with the nearest names; a run without a judged
            query; rows that are none.
    """
    from irtoolkit.scoring.score import score

    run_or_runs = runs[0] if len(runs) == 1 else list(runs)
    chosen = _either(measures, measure)
    return score(data, run_or_runs, chosen, names=names, excluded=excluded, precision=precision)


@checked
def compare(
    data: Any,
    *runs: Any,
    measure: Measures | None = None,
    measures: Measures | None = None,
    baseline: str | None = None,
    test: PairedTest | None = None,
    correction: Correction = "holm",
    alpha: float | None = None,
    names: Sequence[str] = (),
    excluded: int | None = None,
    precision: Literal["single", "double"] = "single",
) -> Comparison:
    """Tests whether runs differ from a baseline by more than chance.

    Args:
        data, runs, names, excluded, precision: see `evaluate`.
        measure, measures: the measure; by default the dataset's main one.
        baseline: the name of the run that others are tested against; by default the first run.
        test: "student" (paired t-test), "fisher" (randomization) or "wilcoxon"; by default the first
            that belongs to the measure's figure: the t-test, and wilcoxon for a median.
        correction: for several comparisons: "holm", "bonferroni" or "none".
        alpha: a level of significance, such as 0.05, at which the table marks the runs that differ.

    Raises:
        InputError: see `evaluate`; fewer than two runs, no such baseline, or a test that does not belong
            to the measure's figure, such as a t-test to a median.
    """
    from dataclasses import replace

    from irtoolkit.scoring.compare import compare
    from irtoolkit.scoring.score import score

    run_or_runs = runs[0] if len(runs) == 1 else list(runs)
    measure = _either(measure, measures)
    scores = score(data, run_or_runs, measure, names=names, excluded=excluded, precision=precision)
    if len(scores) < 2:
        raise InputError("one run cannot be compared", remedy="give at least two")
    if measure is not None and len(scores.measures) != 1:
        raise InputError(
            f"compare takes one measure, not {len(scores.measures)}",
            remedy=f"name one: measure={next(iter(scores.measures))!r}",
        )
    compared = compare(
        scores.evaluations,
        scores.main_measure,
        baseline=baseline or scores.systems[0],
        test=test,
        correction=correction,
        title=f"{scores.dataset.id}: {scores.averaging}",
    )
    return replace(compared, notes=scores.notes, alpha=alpha)


@checked
def report(
    data: Any,
    *runs: Any,
    output: StrPath | Sequence[StrPath],
    measures: Measures | None = None,
    measure: Measures | None = None,
    names: Sequence[str] = (),
    excluded: int | None = None,
    **options: Any,
) -> list[Path]:
    """Writes a comparison of runs as a page that holds everything it shows, or as a table.

    Args:
        data, runs, measures, measure, excluded: see `evaluate`.
        output: a file, or several: .html, .tex or .md by its name.
        names: of the systems as shown, one for each run; by default the runs' tags.
        options: chart, pair, baseline, test, correction, rel, texts, order; see
            `irtoolkit.reports.compose.ReportOptions`. Of tables: intervals, percent, digits, caption;
            see `irtoolkit.reports.papers.TableStyle`.

    Returns:
        The files.

    Raises:
        InputError: see `evaluate`; another kind of file; or an option that does not exist.
    """
    from dataclasses import fields

    from irtoolkit.reports.compose import ReportOptions
    from irtoolkit.reports.papers import TableStyle
    from irtoolkit.reports.write import check_form, report_scores
    from irtoolkit.scoring.score import score

    allowed = [field.name for field in fields(ReportOptions) if field.name != "names"]
    styles = [field.name for field in fields(TableStyle)]
    allowed += styles
    unknown = next((name for name in options if name not in allowed), None)
    if unknown is not None:
        raise InputError(
            f"a report has no option {unknown!r}",
            remedy=f"{did_you_mean(unknown, [*allowed, 'measures'])}it has {', '.join(allowed)}",
        )
    files = [output] if isinstance(output, str | PathLike) else list(output)
    if not files:
        raise InputError("nothing to write", remedy="name a file: output='report.html'")
    for path in files:
        check_form(path)
    run_or_runs = runs[0] if len(runs) == 1 else list(runs)
    measures = _either(measures, measure)
    scores = score(data, run_or_runs, measures, names=names, excluded=excluded)
    style = {name: options.pop(name) for name in styles if name in options}
    report_scores(scores, files, ReportOptions(**options), TableStyle(**style))
    return [Path(path) for path in files]


@checked
def export(
    data: Any,
    form: str,
    folder: StrPath,
    *,
    query: str = "default",
    doc: str = "default",
    split: str = "test",
    licence: str | None = None,
    progress: bool = True,
) -> Path:
    """Writes a dataset in the form of another tool, with a card that states licence and citation.

    Args:
        data: a dataset or its id.
        form: "beir", "mteb", "hf", "pyserini" or "tira".
        folder: a folder that is not there yet, or empty; it appears when it is complete.
        query, doc: the views that are written as texts.
        split: the name of the split in the files.
        licence: the licence of the data, as the Hugging Face hub names it, where the dataset states
            none.
        progress: whether to show a progress bar.

    Returns:
        The folder.

    Raises:
        InputError: no such dataset, form, view or licence; a dataset without what the form needs; or
            a folder with something in it.
    """
    from irtoolkit.integrations.exports.export import export_folder
    from irtoolkit.integrations.exports.source import Source

    export_folder(Source(load(data), query, doc, split, progress), form, folder, licence)
    return Path(folder)
