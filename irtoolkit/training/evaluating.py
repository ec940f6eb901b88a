"""A model's measure on real candidate sets, while it is being trained."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.presets import COMPARED_AS, Kind
from irtoolkit.retrievers.base import Block, Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.cross import single
from irtoolkit.retrievers.engine import rank_and_locate
from irtoolkit.retrievers.task import Group, Task, load_task
from irtoolkit.retrievers.texts import GivenTexts, Segments
from irtoolkit.retrievers.vectors import prepared
from irtoolkit.runs import Qrels
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.score import score
from irtoolkit.training.processes import world_size
from irtoolkit.training.recipes import Stage
from irtoolkit.training.training_set import TrainingSet

# Rows of each ranking that measures see; the ranks of golds are exact.
DEPTH = 1000
# Texts that a CPU reads at once, and the most that a GPU does.
_ON_CPU, _ON_GPU = 64, 512


@dataclass(frozen=True)
class Live(Retriever):
    """A model in memory as a retriever: nothing it makes is kept on disk.

    Attributes:
        model: of sentence-transformers.
        kind: "dense", "late", "sparse" or "cross".
        batch: texts, or pairs of texts, that it reads at once.
        join: what stands between the segments of a text.
        precision: that texts are read in; what is made of them is compared in fp32.
    """

    name: ClassVar[str] = "measuring"

    model: Any = None
    kind: Kind = "dense"
    batch: int = 64
    join: str = " "
    precision: str = "fp32"

    def reading(self) -> Any:
        """The context that texts are read in."""
        import torch

        return torch.autocast(
            self.model.device.type, enabled=self.precision != "fp32",
            dtype=torch.float16 if self.precision == "fp16" else torch.bfloat16,
        )  # fmt: skip

    def scorer(self, task: Task) -> Scorer:
        queries = [self.join.join(segments) for segments in task.queries]
        return _SCORERS[self.kind](self, queries, task)

    def encode(self, texts: Sequence[str], query: bool) -> Any:
        """What the model makes of texts, each of which is read once."""
        distinct = list(dict.fromkeys(texts))
        place = {text: i for i, text in enumerate(distinct)}
        encode = self.model.encode_query if query else self.model.encode_document
        with self.reading():
            made = encode(
                distinct, batch_size=self.batch, show_progress_bar=False,
                **_MADE_AS.get(self.kind, {}),
            )  # fmt: skip
        rows = [place[text] for text in texts]
        if isinstance(made, list):
            return [made[row].float() for row in rows]
        return made[rows] if isinstance(made, np.ndarray) else made[rows].float()


# Sparse tensors cannot be picked from by row.
_MADE_AS: dict[Kind, dict[str, bool]] = {
    "dense": {"convert_to_numpy": True}, "sparse": {"convert_to_sparse_tensor": False},
}  # fmt: skip


def _texts(live: Live, task: Task, doc: Ints) -> list[str]:
    return [live.join.join(segments) for segments in task.docs[doc]]


def _dense(live: Live, queries: list[str], task: Task) -> Scorer:
    asked = live.encode(queries, query=True)
    theirs = live.model.similarity_fn_name
    similarity = next((ours for ours, name in COMPARED_AS.items() if name == theirs), theirs)

    def candidates(doc: Ints) -> Block:
        compare = prepared(live.encode(_texts(live, task, doc), query=False), similarity)
        return lambda query: compare(asked[query])

    return candidates


def _compared(live: Live, queries: list[str], task: Task) -> Scorer:
    """Late and sparse models compare what they have made themselves."""
    asked = live.encode(queries, query=True)

    def candidates(doc: Ints) -> Block:
        shown = live.encode(_texts(live, task, doc), query=False)

        def score(query: Ints) -> ScoreMatrix:
            some = [asked[i] for i in query] if isinstance(asked, list) else asked[query]
            found: ScoreMatrix = live.model.similarity(some, shown).float().cpu().numpy()
            return found

        return score

    return candidates


def _read_together(live: Live, queries: list[str], task: Task) -> Scorer:
    import torch

    def candidates(doc: Ints) -> Block:
        shown = _texts(live, task, doc)

        def score(query: Ints) -> ScoreMatrix:
            pairs = [(queries[i], text) for i in query for text in shown]
            with live.reading():
                logits: ScoreMatrix = live.model.predict(
                    pairs, batch_size=live.batch, show_progress_bar=False,
                    activation_fn=torch.nn.Identity(), convert_to_numpy=True,
                )  # fmt: skip
            return single(logits.reshape(len(pairs), -1)).reshape(len(query), len(shown))

        return score

    return candidates


_SCORERS: dict[Kind, Callable[[Live, list[str], Task], Scorer]] = {
    "dense": _dense, "late": _compared, "sparse": _compared, "cross": _read_together,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Test:
    """What a model is measured by while it is trained.

    Attributes:
        task: queries and their candidates.
        dataset: what the figures are of: judgments, and how they are averaged.
        measure: the measure that decides which checkpoint is best; the protocol's others are
            reported too.
        measures: all of them, by name.
        join: what joins the segments of a text.
        batch: texts that a GPU reads at once.
    """

    # Not a test class, although pytest would take it for one.
    __test__: ClassVar[bool] = False

    task: Task
    dataset: Dataset
    measure: str
    measures: dict[str, Any]
    join: str = " "
    batch: int = _ON_GPU

    @property
    def qrels(self) -> Qrels:
        """The judgments of these queries."""
        return self.dataset.qrels

    def fingerprint(self) -> str:
        """A hash of queries, ids of candidates, and judgments."""
        digest = hashlib.sha256()
        for name, text in zip(self.task.query_ids, self.task.queries, strict=True):
            digest.update("\x1f".join((name, *text, "\x1e")).encode())
        for ids in (self.task.doc_ids, self.qrels.query_ids, self.qrels.doc_ids):
            digest.update("\x1f".join(map(str, ids)).encode())
        for group in self.task.groups:
            digest.update(group.queries.tobytes() + group.docs.tobytes())
        for part in (self.qrels.offsets, self.qrels.docs, self.qrels.grades):
            digest.update(part.tobytes())
        return digest.hexdigest()

    def __call__(self, model: Any, kind: Kind, precision: str = "fp32") -> dict[str, float]:
        """The figures of a model, `measure` first."""
        wanted: dict[str, list[str]] = {}
        for i, query_id in enumerate(self.qrels.query_ids):
            rows = slice(self.qrels.offsets[i], self.qrels.offsets[i + 1])
            relevant = self.qrels.docs[rows][self.qrels.grades[rows] > 0]
            wanted[query_id] = [str(self.qrels.doc_ids[doc]) for doc in relevant]
        batch = _ON_CPU if model.device.type == "cpu" else self.batch
        training = model.training
        model.eval()
        try:
            ranking = rank_and_locate(
                self.task,
                Live(model, kind, batch, self.join, precision),
                wanted,
                depth=DEPTH,
            )
        finally:
            model.train(training)
        found = score(self.dataset, ranking.run, self.measures, names=["model"])
        return found["model"].figures()


def make_test(stage: Stage, held: TrainingSet | None, join: str = " ") -> Test | None:
    """What a stage is measured by; None where it names no measure.

    Args:
        stage: names the dataset and the measure, or says that rows are held out.
        held: the rows that are.
        join: what stands between the segments of a text.

    Raises:
        InputError: a dataset without judgments, or nothing to measure on.
    """
    if stage.measure is None:
        return None
    if stage.evaluate:
        task = load_task(stage.evaluate, query=stage.query, doc=stage.doc)
        dataset = Dataset.load(stage.evaluate)
        own = dataset.protocol.measures
        names = [stage.measure, *(m for m in own if m != stage.measure)]
        return Test(task, dataset, stage.measure, parse_measures(names), join, _at_once(stage))
    if held is None:
        raise InputError(
            f"{stage.measure} is to be measured, and there is nothing to measure it on",
            remedy="give evaluate=DATASET, or held_out=0.1 of the rows",
        )
    measures = parse_measures([stage.measure])
    rows = zip(held.query_ids, held.doc_ids[held.golds], strict=True)
    qrels = Qrels.from_rows((str(query), str(doc), 1) for query, doc in rows)
    if stage.source == "dataset":
        task = _narrowed(stage, set(qrels.query_ids))
    else:
        task, join = _of_rows(held, stage.grouped), " "
    judged = Dataset.of_qrels(qrels)
    return Test(task, judged, stage.measure, measures, join, _at_once(stage))


def _at_once(stage: Stage) -> int:
    """Texts read at once where a step holds the activations of all layers, and reading those of
    one: several times a process's rows of a step fit wherever training does."""
    return min(_ON_GPU, 4 * (stage.chunk or max(1, stage.batch // world_size())))


class _Singles(Sequence[Segments]):
    """Texts as segments, for the documents that are asked for."""

    def __init__(self, texts: Sequence[str], chosen: Ints | None = None) -> None:
        self._texts = texts
        self._chosen = np.arange(len(texts)) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | np.ndarray):
            return _Singles(self._texts, self._chosen[key])
        return (self._texts[int(self._chosen[key])],)


def _narrowed(stage: Stage, queries: set[str]) -> Task:
    """A dataset's task with some of its queries."""
    whole = load_task(stage.dataset, query=stage.query, doc=stage.doc)
    kept = np.flatnonzero([query in queries for query in whole.query_ids])
    place = np.full(len(whole.query_ids), -1)
    place[kept] = np.arange(len(kept))
    groups = []
    for group in whole.groups:
        mine = place[group.queries]
        if (mine >= 0).any():
            groups.append(Group(mine[mine >= 0], group.docs))
    texts = whole.queries
    return Task(
        whole.dataset_id, whole.query_ids[kept], whole.doc_ids, tuple(groups),
        whole.query_view, whole.doc_view,
        texts=GivenTexts([texts[i] for i in kept], whole.docs),
    )  # fmt: skip


def _of_rows(rows: TrainingSet, grouped: bool) -> Task:
    """Held-out rows as queries, and as candidates the documents of all held-out rows, or of their
    group."""
    query_ids, first = np.unique(rows.query_ids, return_index=True)
    queries = [(rows.queries[int(row)],) for row in first]
    groups = []
    for group in np.unique(rows.groups) if grouped else [None]:
        mine = np.flatnonzero(rows.groups == group) if grouped else np.arange(len(rows))
        asked = np.flatnonzero(np.isin(first, mine))
        groups.append(Group(asked, np.unique(rows.golds[mine])))
    return Task(
        rows.what, query_ids, rows.doc_ids, tuple(groups),
        texts=GivenTexts(queries, _Singles(rows.docs)),
    )  # fmt: skip
