"""MTEB: exported datasets as its tasks, and systems of irtoolkit as its models.

    from irtoolkit.integrations.mteb import System, task

    mteb.evaluate(System("bm25"), task("csfcube-mteb"), cache=None)

MTEB ranks the candidates of each query if the folder has them, and averages over all queries
equally.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import GenericDoc, GenericQuery, IrDataset
from irtoolkit.datasets.handlers import DocsHandler, PoolsHandler, QueriesHandler
from irtoolkit.datasets.hub.tasks import LANGUAGES
from irtoolkit.integrations.exports.card import OWN, read_card
from irtoolkit.integrations.exports.export import data_hash
from irtoolkit.integrations.exports.licences import UNKNOWN
from irtoolkit.ranking.from_index import retrieve
from irtoolkit.ranking.systems import for_dataset, system_of
from irtoolkit.version import __version__

try:
    from mteb import TaskMetadata
    from mteb.abstasks import AbsTaskRetrieval
    from mteb.models import ModelMeta
except ImportError as error:
    raise needs_extra("mteb", "mteb") from error

_UNKNOWN = "und-Zyyy"


def task(folder: StrPath, main_score: str = "ndcg_at_10") -> Any:
    """Returns an MTEB retrieval task of a folder that `irtoolkit export DATASET mteb` has written.

    Args:
        folder: the folder.
        main_score: MTEB's name of the main measure of the task.

    Raises:
        InputError: the folder is not such an export.
    """
    front = read_card(Path(folder))
    if front is None or front[OWN].get("form") != "mteb":
        raise InputError(
            "no dataset in MTEB's form", file=folder, remedy="irtoolkit export DATASET mteb FOLDER"
        )
    attributes = {"metadata": _metadata(folder, front, main_score)}
    return type("ExportedTask", (AbsTaskRetrieval,), attributes)()


def _metadata(folder: StrPath, front: Mapping[str, Any], main_score: str) -> Any:
    recorded, licence = front[OWN], front.get("license", UNKNOWN)
    pools = "candidates" in recorded["counts"]
    content = data_hash(Path(folder))
    return TaskMetadata(
        # MTEB keeps results by this name, and two datasets may have the same id.
        name=f"{recorded['dataset'].replace('/', '-')}-{content[:8]}",
        description=f"{front['pretty_name']}, exported by irtoolkit {recorded['version']}.",
        dataset={"path": str(Path(folder).resolve()), "revision": content},
        type="Reranking" if pools else "Retrieval",
        category="t2t",
        eval_splits=[recorded["split"]],
        eval_langs=[_language(front.get("language", [None])[0])],
        main_score=main_score,
        license="not specified" if licence == UNKNOWN else licence,
        is_public=False,
    )


def _language(code: str | None) -> str:
    """Returns a language code as MTEB writes it, for example eng-Latn for en."""
    return LANGUAGES.get((code or "").split("-")[0], _UNKNOWN)


class System:
    """A system of irtoolkit as a model that MTEB evaluates.

    Documents are ranked as `irtoolkit.retrieve` ranks them, within the candidates of each query if
    the task has them.

    Args:
        name: a retriever, or a model; see `irtoolkit.retrieve`.
        lang: the language of the documents, for example "en"; it chooses stop words and stemmer.
        settings: the system's.
    """

    def __init__(self, name: str = "bm25", *, lang: str | None = None, **settings: Any) -> None:
        self.name, self.lang, self.settings = name, lang, settings
        self._docs: dict[str, Any] = {}

    @property
    def mteb_model_meta(self) -> Any:
        """The facts that MTEB writes into its results."""
        name = self.name if "/" in self.name else f"irtoolkit/{self.name}"
        # MTEB keeps results by name and revision.
        settings = json.dumps([self.lang, self.settings], sort_keys=True, default=str)
        changed = bool(self.lang or self.settings)
        revision = (
            f"{__version__}-{sha256(settings.encode()).hexdigest()[:8]}" if changed else __version__
        )
        facts = {"name": name, "revision": revision, "modalities": ["text"]}
        return ModelMeta.create_empty(facts)

    def index(self, corpus: Any, **options: Any) -> None:
        """Takes the documents of a task."""
        self._docs = {
            row["id"]: GenericDoc(row["id"], f"{row.get('title') or ''} {row['text']}".strip())
            for row in corpus
        }

    def search(
        self,
        queries: Any,
        *,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> dict[str, dict[str, float]]:
        """Returns the scores of the best documents of each query."""
        query_list = [GenericQuery(row["id"], row["text"]) for row in queries]
        dataset = self._dataset(query_list, top_ranked)
        system = for_dataset(system_of(self.name, self.settings, dataset.parts), dataset)
        run = retrieve(dataset, system, top_k, progress=False)
        results: dict[str, dict[str, float]] = {query.query_id: {} for query in query_list}
        for query_id, start, end in zip(
            run.query_ids, run.offsets[:-1], run.offsets[1:], strict=True
        ):
            ids = run.doc_ids[run.docs[start:end]].tolist()
            results[query_id] = dict(zip(ids, run.scores[start:end].tolist(), strict=True))
        return results

    def _dataset(
        self, query_list: Sequence[Any], pools: Mapping[str, Sequence[str]] | None
    ) -> Dataset:
        parts: list[Any] = [
            DocsHandler(lambda: self._docs, GenericDoc, "mteb", self.lang),
            QueriesHandler(lambda: query_list, GenericQuery, "mteb", self.lang),
        ]
        if pools is not None:
            chosen = [(query.query_id, pools[query.query_id]) for query in query_list]
            parts.append(PoolsHandler(lambda: chosen))
        return Dataset("mteb", IrDataset(*parts), in_memory=True)
