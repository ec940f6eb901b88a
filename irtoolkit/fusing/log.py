"""The log of a search for a fusion: tried and chosen configurations, and the learned one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from irtoolkit.base import search_logs as logs
from irtoolkit.base.arguments import check_fields, check_type
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.plurals import number_of
from irtoolkit.fusing.configurations import Configuration, check_tunable, load_library, untrained
from irtoolkit.fusing.lambdamart import LambdaMART, trees
from irtoolkit.fusing.search import FusionBench, TriedFusion
from irtoolkit.ranking.fusion_methods import Method
from irtoolkit.runs import Run
from irtoolkit.version import __version__

_LOG = logs.LogKind(
    "a search for a fusion",
    "tried",
    "the log of another search: of other runs, judgments, folds or settings",
    name="fusion",
)


def about(bench: FusionBench) -> dict[str, Any]:
    """Returns everything that decides the figures of a configuration."""
    search, rows = bench.search, bench.dataset.qrels
    judged = sorted((row.query_id, row.doc_id, row.relevance) for row in rows)
    trained = LambdaMART.name in search.methods
    inner = [bench.inner_folds(place) for place in range(len(bench.folds))] if trained else []
    return {
        "search": "fusion",
        "dataset": bench.dataset.id,
        "judgments": _hash(map(str, judged)),
        "runs": [{"tag": run.tag, "rows": _rows(run)} for run in bench.runs],
        "measure": bench.name,
        "folds": [list(fold) for fold in bench.folds],
        "inner": search.inner,
        "seed": search.seed,
        "depth": search.depth,
        "version": __version__,
        "lightgbm": metadata.version("lightgbm") if trained else None,
        **({"inner_folds": _hash(map(str, inner))} if trained else {}),
    }


def _rows(run: Run) -> str:
    """Returns a hash of the rows of a run with their scores."""
    return _hash(f"{row.query_id}\x1f{row.doc_id}\x1f{row.score!r}" for row in run)


def _hash(lines: Any) -> str:
    digest = sha256()
    for line in lines:
        digest.update(f"{line}\x1e".encode())
    return digest.hexdigest()


def read_tried(log: StrPath | None, record: Mapping[str, Any]) -> dict[str, TriedFusion]:
    """Returns the results in a log by the keys of configurations; {} if there is no log yet.

    Raises:
        InputError: it is not a log of a search for a fusion, or is one of another search.
    """
    data = _LOG.read_of(log, record)
    try:
        fusions = [
            TriedFusion(
                Configuration(row["method"], row["settings"]),
                tuple(row["others"]),
                tuple(row["held_out"]),
                row["figure"],
            )
            for row in data.get("tried", ())
        ]
    except (KeyError, TypeError):
        assert log is not None  # otherwise there are no rows
        raise _LOG.refused(log) from None
    return {tried.configuration.key: tried for tried in fusions}


def write_log(
    log: StrPath | None,
    record: Mapping[str, Any],
    tried: Sequence[TriedFusion],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Writes the tried configurations, and in the end the chosen ones; atomically."""
    rows = [
        {
            **asdict(fusion.configuration),
            "others": fusion.others,
            "held_out": fusion.held_out,
            "figure": fusion.figure,
        }
        for fusion in tried
    ]
    logs.write_log(log, record, {**(more or {}), "tried": rows})


def learned_record(method: Method, configuration: Configuration, runs: Sequence[Run]) -> Any:
    """Returns the log's record of the configuration that was learned on all queries."""
    record = {**asdict(configuration), "runs": [run.tag for run in runs]}
    return {**record, "model": method.model} if isinstance(method, LambdaMART) else record


@dataclass(frozen=True)
class LearnedFusion:
    """A fusion that a search has learned on all its queries.

    Attributes:
        method: the method of fusion, ready to fuse.
        tags: of the runs that it was learned from, in order.
        query_ids: the queries that it was learned on.
        log: the file it was read from, if any.
    """

    method: Method
    tags: tuple[str, ...]
    query_ids: frozenset[str]
    log: StrPath | None = None

    def check(self, runs: Sequence[Run]) -> None:
        """Raises InputError if runs differ from the learned ones in number or order."""
        tags = [run.tag for run in runs]
        expected = ", ".join(self.tags)
        if len(tags) != len(self.tags):
            raise InputError(
                f"{number_of(len(tags), 'runs')} for a fusion that was learned for {len(self.tags)}",
                file=self.log,
                remedy=f"give runs of {expected}, in this order",
            )
        if tags != list(self.tags) and sorted(tags) == sorted(self.tags):
            raise InputError(
                f"the runs are in the order {', '.join(tags)}, and it was learned for {expected}",
                file=self.log,
                remedy="give them in that order",
            )

    def notes(self, runs: Sequence[Run], fused: Run) -> list[str]:
        """Returns notes for the user on runs that it has fused."""
        lines = []
        tags = [run.tag for run in runs]
        if tags != list(self.tags):
            lines.append(f"{', '.join(tags)} are fused as learned for {', '.join(self.tags)}")
        shared = len(self.query_ids.intersection(fused.query_ids.tolist()))
        if shared:
            lines.append(
                f"it was learned on the judgments of {shared} of the {len(fused.query_ids)} fused"
                " queries, so figures on these are too high"
            )
        return lines


def learned_fusion(log: StrPath) -> LearnedFusion:
    """Returns the fusion that a search has learned, from its log.

    Raises:
        InputError: there is no such file; it is no log of a fusion, or a damaged one; the search is not
            at its end; or a library is not installed.
    """
    if not Path(log).is_file():
        raise no_such_file(log)
    data = _LOG.read(log)
    if "learned" not in data:
        raise InputError(
            "nothing is learned yet: the search was interrupted",
            file=log,
            remedy="rerun irtoolkit tune with the same arguments",
        )
    with _damage(log):
        learned = _Learned.of(data)
    # Without its library nothing can be said of a method: that it is missing is no damage.
    load_library(learned.method)
    with _damage(log):
        method = learned.ready()
    queries = frozenset(query_id for fold in learned.folds for query_id in fold)
    return LearnedFusion(method, tuple(learned.runs), queries, log)


@dataclass(frozen=True)
class _Learned:
    """A log's record of the learned fusion.

    Attributes:
        method, settings: the configuration.
        runs: tags of the runs.
        folds: the queries in parts.
        model: the trees of LambdaMART.
    """

    method: str
    settings: Mapping[str, Any]
    runs: Sequence[str]
    folds: Sequence[Sequence[str]]
    model: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> _Learned:
        """Builds the record from a log, with checks of its types."""
        check_type("learned", data["learned"], Mapping)
        values = {"model": "", **data["about"], **data["learned"]}
        record = cls(*(values[field.name] for field in fields(cls)))
        check_fields(record)
        check_tunable(record.method)
        return record

    def ready(self) -> Method:
        """Returns the method, ready to fuse as many runs as it was learned for."""
        method: Method = untrained(Configuration(self.method, dict(self.settings)))
        if isinstance(method, LambdaMART):
            trees(self.model)
            method = replace(method, model=self.model, runs=len(self.runs))
        method.check(len(self.runs))
        return method


@contextmanager
def _damage(log: StrPath) -> Iterator[None]:
    """Turns errors in a log into ones with its file and a remedy."""
    try:
        yield
    except KeyError as error:
        reason = f"{error} is missing"
    except InputError as error:
        reason = error.found
    else:
        return
    raise InputError(
        f"what is learned is damaged: {reason}", file=log, remedy="tune again, with another log"
    )
