"""The retrieval tasks of MTEB by name, for which mteb knows repository, revision, prompt and main score."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.benchmark import DEFAULT_MEASURES, NOT_STATED, Benchmark
from irtoolkit.datasets.hub.names import MTEB, HubName, parse_hub_name

# Codes of two letters to languages as MTEB writes them: ISO 639-3 and the script.
LANGUAGES = {
    "ar": "ara-Arab",
    "cs": "ces-Latn",
    "da": "dan-Latn",
    "de": "deu-Latn",
    "el": "ell-Grek",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "fa": "fas-Arab",
    "fi": "fin-Latn",
    "fr": "fra-Latn",
    "hi": "hin-Deva",
    "hu": "hun-Latn",
    "it": "ita-Latn",
    "ja": "jpn-Jpan",
    "ko": "kor-Hang",
    "la": "lat-Latn",
    "lzh": "lzh-Hant",
    "nl": "nld-Latn",
    "no": "nor-Latn",
    "pl": "pol-Latn",
    "pt": "por-Latn",
    "ru": "rus-Cyrl",
    "sv": "swe-Latn",
    "tr": "tur-Latn",
    "vi": "vie-Latn",
    "zh": "zho-Hans",
}
_CODES = {name.partition("-")[0]: code for code, name in LANGUAGES.items()}
_CODES["cmn"] = "zh"
_MAIN = re.compile(r"(ndcg|map|mrr|recall|precision)_at_(\d+)")
_MEASURES = {"ndcg": "nDCG", "map": "AP", "mrr": "RR", "recall": "R", "precision": "P"}


@dataclass(frozen=True)
class Task:
    """A task in mteb.

    Attributes:
        name: its repository at its revision, with a subset and a split.
        about: the record of the benchmark.
        lang: the two-letter code of the language of its texts, if it has one language.
        own_excluded: whether documents with the id of their query are left out.
    """

    name: HubName
    about: Benchmark
    lang: str | None
    own_excluded: bool


def task_named(dataset_id: str) -> Task:
    """Returns mteb's task of an id, for example mteb:SciFact or mteb:MIRACLRetrieval/de.

    Raises:
        InputError: mteb is not installed, or has no retrieval task of that name.
    """
    name, *parts = dataset_id.removeprefix(MTEB).split("/")
    task = _load(name)
    facts = task.metadata
    hub_name = parse_hub_name(f"hf:{facts.dataset['path']}")
    if hub_name.parts:  # a folder of this machine has the name of the repository's owner
        hub_name = HubName(facts.dataset["path"], None, (), local=False)
    words = tuple(part for part in parts if part)
    if not words and len(facts.eval_splits) == 1:
        words = _usual(facts)
    repository = HubName(hub_name.place, facts.dataset.get("revision"), words, hub_name.local)
    return Task(repository, _about(facts), _lang(facts), bool(task.ignore_identical_ids))


def _usual(facts: Any) -> tuple[str, ...]:
    """Returns the split of a task with one split and no subsets; all BRIGHT domains share one."""
    (split,) = facts.eval_splits
    return () if isinstance(facts.eval_langs, dict) or split == "standard" else (split,)


def _load(name: str) -> Any:
    try:
        import mteb
        from mteb.abstasks import AbsTaskRetrieval
    except ImportError as error:
        raise needs_extra("mteb", "mteb") from error
    try:
        task = mteb.get_task(name)
    except Exception:  # mteb raises KeyError, and may raise others
        names = [
            known_task.metadata.name
            for known_task in mteb.get_tasks(task_types=["Retrieval", "Reranking"])
        ]
        raise InputError(
            f"mteb has no task {name!r}",
            remedy=f"{did_you_mean(name, names)}it has {len(names)} for retrieval",
        ) from None
    if not isinstance(task, AbsTaskRetrieval):
        raise InputError(
            f"{name} is a task of {task.metadata.type.lower()}, and none of retrieval",
            remedy="tasks of types Retrieval, Reranking and InstructionRetrieval have queries and documents",
        )
    return task


def _about(facts: Any) -> Benchmark:
    main = _MAIN.fullmatch(facts.main_score)
    measure = f"{_MEASURES[main[1]]}@{main[2]}" if main else DEFAULT_MEASURES[0]
    return Benchmark(
        name=facts.name,
        title=facts.name,
        url=facts.reference or f"https://huggingface.co/datasets/{facts.dataset['path']}",
        licence=facts.license or NOT_STATED,
        bibtex=facts.bibtex_citation or "",
        description=" ".join(facts.description.split()),
        instruction=_instruction(facts.prompt),
        measures=tuple(dict.fromkeys((measure, *DEFAULT_MEASURES))),
        main=measure,
    )


def _instruction(prompt: Any) -> str:
    """Returns mteb's prompt of a task's queries; empty if it has none."""
    text = prompt.get("query") if isinstance(prompt, dict) else prompt
    return " ".join(text.split()) if text else ""


def _lang(facts: Any) -> str | None:
    """Returns the two-letter language code of a task with one language, if it has one."""
    codes = {two_letters(code) for code in facts.languages}
    return codes.pop() if len(codes) == 1 else None


def two_letters(name: str) -> str | None:
    """Returns the two-letter code of a language in MTEB's notation, en for eng-Latn, or None."""
    return _CODES.get(name.partition("-")[0])


def language_in(words: Iterable[str]) -> str | None:
    """Returns the first word that names a language, as de, deu and deu-Latn do, or None."""
    codes = (word if word in LANGUAGES else two_letters(word) for word in words)
    return next((code for code in codes if code is not None), None)
