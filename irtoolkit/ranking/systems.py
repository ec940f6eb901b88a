"""Systems by name: a retriever, its settings, the views it reads, an optional first stage.

A name is a retriever's own, a model's, or one that a source knows: the tables of the papers, or
another package. A model's name is that model on any data; the row of a paper's table that bears the
same name is named with its table, TABLE:ROW. Sources are entry points of the group
`irtoolkit.systems`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Literal, Protocol

from irtoolkit.base import plugins
from irtoolkit.base.arguments import shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import is_word
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.models.presets import Kind, Preset, aliases, kind_of, preset_name, presets
from irtoolkit.retrievers import create_retriever, retrievers
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.settings import UnknownSettingError, check_settings_used, parse_settings
from irtoolkit.retrievers.system_names import KNOWN_AS, general_name, nearly
from irtoolkit.retrievers.task import Task, load_task
from irtoolkit.retrievers.texts import DEFAULT_VIEW, NoFieldError
from irtoolkit.runs.order import Ties

# Documents of a first system that a second one ranks again, unless the system says otherwise.
RERANKED = 100
TASK_SETTINGS = ("query", "doc", "self", "ties", "fill")


@dataclass(frozen=True)
class TaskSettings:
    """Settings that any system takes, because they concern the task and not the retriever.

    Attributes:
        query, doc: views of queries and documents, see `irtoolkit.retrievers.texts.view`.
        own: whether a query's own document stays among its candidates; "self" when set.
        ties: order of equal scores, see `irtoolkit.retrievers.engine.rank`.
        fill: whether a ranking of a corpus by matching terms goes on with documents that share no
            term with the query. Candidates of a pool are all ranked.
    """

    query: str = DEFAULT_VIEW
    doc: str = DEFAULT_VIEW
    own: Literal["keep", "drop"] = "keep"
    ties: Ties = "trec"
    fill: bool = False


class Requirement(Protocol):
    """Something that a system needs before it can run, such as a model trained here."""

    def missing(self) -> str | None:
        """Returns what the system lacks to run here, or None."""
        ...


@dataclass(frozen=True)
class System:
    """A retriever ready to be run on any dataset.

    Attributes:
        name: the name of the system's runs.
        retriever: what ranks.
        task: the views and candidates that it is given.
        first: the system whose best documents it ranks again; None where it ranks all candidates.
        depth: how many documents of the first system it ranks again.
        training: how its model is made; None where another model is taken, or none is trained.
        row: the row of a paper's table that it is, as TABLE:ROW; None if it is none.
    """

    name: str
    retriever: Retriever
    task: TaskSettings = field(default_factory=TaskSettings)
    first: System | None = None
    depth: int = RERANKED
    training: Requirement | None = None
    row: str | None = None

    @classmethod
    def make(cls, name: str, retriever: str, settings: Mapping[str, Any]) -> System:
        """A system from one flat set of settings, as `--set` and the tables give them.

        Raises:
            InputError: an unknown retriever or setting, or a value of the wrong type.
        """
        if "own" in settings:
            raise InputError("no setting 'own'", remedy="it is called self")
        flat = {("own" if key == "self" else key): value for key, value in settings.items()}
        shared = {key: flat.pop(key) for key in list(flat) if key in asdict(TaskSettings())}
        try:
            instance = create_retriever(retriever, flat)
        except UnknownSettingError as error:
            names = [*error.known, *TASK_SETTINGS]
            raise UnknownSettingError(error.owner, error.key, names) from None
        try:
            task = TaskSettings(**parse_settings(TaskSettings, shared, "the task"))
        except InputError as error:
            # The field cannot be called self, which is what the user wrote.
            raise InputError(error.found.replace("setting own=", "setting self=")) from None
        instance = instance.for_queries(task.query)
        check_settings_used(instance, flat)
        return cls(name, instance, task)

    def settings(self) -> dict[str, Any]:
        """Everything that decides the ranking, flat."""
        shared = asdict(self.task)
        shared["self"] = shared.pop("own")
        first = {"first": self.first.name, "depth": self.depth} if self.first else {}
        return {**shared, **self.retriever.settings(), **first}

    def filled(self) -> System:
        """The system with rankings of all documents, also of those that share no term."""
        first = None if self.first is None else self.first.filled()
        return replace(self, task=replace(self.task, fill=True), first=first)

    def on(self, lang: str | None) -> System:
        """The system with the settings that it takes by default for texts in a language."""
        first = None if self.first is None else self.first.on(lang)
        return replace(self, retriever=self.retriever.on(lang), first=first)

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults of the retriever and the task."""
        usual: dict[str, Any] = {**asdict(TaskSettings()), "self": TaskSettings().own}
        with suppress(TypeError):  # a retriever that needs a setting has no defaults as a whole
            usual |= type(self.retriever)().settings()
        return {key: value for key, value in self.settings().items() if usual.get(key) != value}

    def missing(self) -> str | None:
        """The one thing that it lacks to run here, or None."""
        untrained = self.training.missing() if self.training else None
        return (
            untrained or self.retriever.missing() or (self.first.missing() if self.first else None)
        )

    def asks_others(self) -> bool:
        """Whether it or its first stage sends texts to a service that may charge for it."""
        return self.retriever.asks_others() or (self.first is not None and self.first.asks_others())

    def load(self, data: Dataset | str) -> Task:
        """The task this system is given: of a second stage, before the first has ranked it."""
        with self.reading(data if isinstance(data, str) else data.id):
            return load_task(data, query=self.task.query, doc=self.task.doc, own=self.task.own)

    @contextmanager
    def reading(self, dataset: str) -> Iterator[None]:
        """Names the row of a table whose fields a dataset does not have, in the error that says so."""
        try:
            yield
        except NoFieldError as error:
            if self.row is None:
                raise
            table, _, row = self.row.partition(":")
            raise InputError(
                f"{row} of the table {table} does not fit {dataset}: {error.found}",
                remedy=f"--set query=FIELD doc=FIELD names others; {error.remedy}",
            ) from None


class SystemSource(Protocol):
    """Names of systems beyond the retrievers' own and the models'."""

    def names(self) -> Iterable[str]:
        """The names that it knows."""
        ...

    def find(
        self, name: str, settings: Mapping[str, Any], dataset: DatasetId, staged: bool
    ) -> System | None:
        """The system of a name, or None where it does not know it; see `find_system`."""
        ...


@cache
def sources() -> dict[str, SystemSource]:
    """The installed sources by the names of their entry points."""
    return dict(plugins.each(plugins.SYSTEMS))


def find_system(
    name: str,
    settings: Mapping[str, Any],
    dataset: DatasetId | str = "",
    *,
    kind: Kind = "dense",
    staged: bool = True,
) -> System:
    """A retriever by its own name, a model, or a row of a paper's table.

    Args:
        name: e.g. "bm25", "Contriever", "plotretrieval:Contriever", "fabs_bm25", or a model's folder
            or hub id.
        settings: replace or add to the named system's own.
        dataset: what it is to be run on, which tells systems of one name apart.
        kind: the kind of a model that does not say it.
        staged: whether a system that ranks another's best again comes with that other one.

    Raises:
        InputError: no such system; names the nearest ones.
    """
    if name in retrievers():
        return System.make(name, name, settings)
    if name in KNOWN_AS:
        retriever, usual = KNOWN_AS[name]
        return System.make(name, retriever, {**usual, **settings})
    if preset_name(name) is not None:
        return _of_model(name, settings, kind_of(name, kind))
    parts = dataset if isinstance(dataset, DatasetId) else DatasetId.parse(dataset)
    spelled = general_name(name)
    try:
        system = _of_sources(name, settings, parts, staged)
    except InputError:
        # Several tables have a BM25, and none is the dataset's.
        if spelled is None:
            raise
        system = None
    if system is None and spelled is not None:
        return find_system(spelled, settings, parts, kind=kind, staged=staged)
    if system is None and (row := nearly(name, _rows())) is not None:
        system = _of_sources(row, settings, parts, staged)
    if system is not None:
        return system
    if "/" in name:
        return _of_model(name, settings, kind_of(name, kind))
    raise InputError(f"no system {shown_value(name)}", remedy=_near(name))


def _of_sources(
    name: str, settings: Mapping[str, Any], dataset: DatasetId, staged: bool
) -> System | None:
    """Returns the system of the first source that has one of the name, or None."""
    systems = (source.find(name, settings, dataset, staged) for source in sources().values())
    return next((system for system in systems if system is not None), None)


def find_reranker(name: str, settings: Mapping[str, Any], dataset: DatasetId | str = "") -> System:
    """As `find_system`; a model that does not say its kind is taken for a cross-encoder."""
    return find_system(name, settings, dataset, kind="cross", staged=False)


def system_of(
    system: str | System,
    settings: Mapping[str, Any],
    dataset: DatasetId,
    *,
    again: bool = False,
) -> System:
    """The system that a name and settings mean; a System is taken as it is.

    Args:
        system: a name, or a System.
        settings: of the system that is named.
        dataset: what it is to be run on.
        again: whether it is to rank documents of another run again; see `find_reranker`.

    Raises:
        InputError: no such system or setting; neither a name nor a System; or settings for a System, which has its own.
    """
    if isinstance(system, str):
        return (find_reranker if again else find_system)(system, settings, dataset)
    if not isinstance(system, System):
        raise InputError(
            f"{system!r} is no system", remedy="give its name, or what find_system returns"
        )
    if settings:
        raise InputError(
            f"settings {', '.join(settings)} for a system that is made already",
            remedy="give the system by its name",
        )
    return system


def _rows() -> list[str]:
    """The names that the sources know."""
    return [name for source in sources().values() for name in source.names()]


def _near(name: str) -> str:
    """The nearest names, and where all are listed."""
    names = [*_rows(), *presets(), *aliases(), *retrievers(), *KNOWN_AS]
    listed = "irtoolkit models lists models, irtoolkit retrieve --help retrievers"
    near = did_you_mean(name, names)
    return f"{near}{listed}" if near else f"{listed}; others are a folder (./model) or a hub id"


def _of_model(name: str, settings: Mapping[str, Any], kind: Kind) -> System:
    """The retriever that a model is for."""
    preset = presets().get(preset_name(name) or "", Preset(name))
    matching = [cls for cls in retrievers().values() if cls.name == preset.retriever]
    fit = matching or [
        cls for cls in retrievers().values() if getattr(cls, "applies", None) == kind
    ]
    if not fit:
        raise InputError(
            f"{name} is a model of kind {kind}, which ranks nothing by itself",
            remedy=f"give a retriever that takes it, with --set model={name}",
        )
    retriever = fit[0]
    tag = name.rstrip("/").rpartition("/")[2] or retriever.name
    model = aliases().get(name, name)
    takes = "llm" if kind == "llm" else "model"
    settings = {takes: model, **preset.settings, **settings}
    return System.make(tag if is_word(tag) else retriever.name, retriever.name, settings)


def check_search_settings(settings: Mapping[str, Any]) -> None:
    """Raises InputError if a setting is given that a search for typed text does not read."""
    for name in TASK_SETTINGS:
        if name != "doc" and name in settings:
            why = "lists matches only" if name == "fill" else "reads no queries of a dataset"
            raise InputError(
                f"setting {name}={settings[name]} changes nothing: a search for typed text {why}",
                remedy=f"leave {name} out; doc=FIELD says what is read of a document",
            )


def with_first(system: System, first: System | None, depth: int | None) -> System:
    """Returns the system as a second stage of another; itself if there is no other.

    A system that ranks documents that match nothing (`fill`) has a first stage that lists them.
    """
    if first is None:
        return system
    first = first.filled() if system.task.fill else first
    return replace(system, first=first, depth=depth or RERANKED)


def for_dataset(system: System, dataset: Dataset) -> System:
    """Returns the system with the settings that it takes by default for a dataset."""
    first = None if system.first is None else for_dataset(system.first, dataset)
    retriever = system.retriever.on(dataset.lang).fitted(dataset)
    return replace(system, retriever=retriever, first=first)
