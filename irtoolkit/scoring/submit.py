"""Runs in the forms that RELiC's leaderboard and TREC take."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, sha256
from irtoolkit.base.spans import Span
from irtoolkit.base.targets import check_ending
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run, provenance
from irtoolkit.scoring.check import check_run, read_run
from irtoolkit.scoring.run_header import header, record_with

Metadata = Literal["none", "beside", "header"]

# Candidates of each quote that the leaderboard takes.
RELIC_DEPTH = 100


def relic_answers(dataset_id: str, path: StrPath) -> dict[str, list[int]]:
    """Returns a run in the form of RELiC's leaderboard.

    Args:
        dataset_id: the test split, real or sample.
        path: a run of it.

    Returns:
        Quote id to the first sentence of each of its 100 best candidates, best first; of all its
        candidates if the book has fewer.

    Raises:
        InputError: the run does not fit the dataset, or lists too few candidates for a quote.
    """
    dataset = Dataset.load(dataset_id)
    run = read_run(path, dataset_id)
    answers: dict[str, list[int]] = {}
    for queries, pool in dataset.candidates():
        depth = min(RELIC_DEPTH, len(pool))
        for query_id in queries:
            best = run.ranking(query_id)[:depth]
            if len(best) < depth:
                raise InputError(
                    f"quote {query_id} has {len(best)} candidates instead of {depth}",
                    file=path,
                    remedy=f"retrieve {dataset_id} with --depth {RELIC_DEPTH}",
                )
            answers[query_id] = [Span.parse(row.doc_id).start for row in best]
    return answers


def submit_trec(
    dataset_id: str,
    path: StrPath,
    output: StrPath,
    *,
    tag: str | None = None,
    metadata: Metadata = "none",
    about: StrPath | None = None,
) -> Run:
    """Checks a run as strictly as TREC does, and writes it as TREC text.

    Args:
        dataset_id: the dataset that the run is for.
        path: the run.
        output: the file to write.
        tag: the run tag, in place of the run's own.
        metadata: where to write the ir_metadata record of how the run was made: nowhere ("none"),
            in a file "beside" the run, or in a "header" of comment lines, which trec_eval and some
            other tools do not skip.
        about: a YAML file with parts of the record, for example actor and research goal, which are
            added to the run's own record or replace parts of it.

    Raises:
        InputError: the first problem of the run; or there is neither a record nor `about`;
            or the output's name ends as that of something else.
    """
    check_ending(output, "TREC text", ".run", ".tsv")
    problems = check_run(path, dataset_id, strictness="trec", tag=tag).problems
    if problems:
        first, more = problems[0], len(problems) - 1
        hint = f"; {more} more: irtoolkit check --strictness trec" if more else ""
        raise InputError(
            first.found, file=first.file, line=first.line, remedy=f"{first.remedy}{hint}"
        )
    run = Run.read(path)
    run = (run if tag is None else replace(run, tag=tag)).untied()
    record = None if metadata == "none" else record_with(path, run.tag, about)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "run"
        run.write(plain)
        with atomic_text(output) as out, open(plain, encoding="utf-8", newline="") as rows:
            if record is not None and metadata == "header":
                out.write(header(record))
            shutil.copyfileobj(rows, out)
    if record is not None and metadata == "beside":
        if isinstance(record.get("irtoolkit"), dict):
            record["irtoolkit"] = {**record["irtoolkit"], "sha256": sha256(output)}
        provenance.write_metadata(output, record)
    return run
