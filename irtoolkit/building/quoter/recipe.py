"""The settings of a build in QuoteR's form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irtoolkit.base.errors import InputError
from irtoolkit.building.quoter.letters import Unit

# The code of a language that is not known, as in ISO 639.
UNKNOWN = "und"
# The settings that differ: English of the paper (§4.1), and Chinese (§4.2). Those of quotes are ours.
DEFAULTS: dict[Unit, dict[str, int]] = {
    "words": {"context": 40, "least": 5, "most": 200, "words": 4, "alone": 7},
    "characters": {"context": 50, "least": 3, "most": 150, "words": 5, "alone": 8},
}


def is_code(lang: str) -> bool:
    """Returns whether a text is a code of a language, for example zh or pt-BR.

    Files are called after it.
    """
    return re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", lang) is not None


@dataclass(frozen=True)
class Recipe:
    """The settings of a build; None takes the default of the unit.

    Attributes:
        lang: the language as a code; None guesses it.
        unit: the unit of quotes and contexts; None takes that of the script.
        context: words or characters of each side.
        least, most: contexts of a quote.
        words: words or characters of a quote, at least.
        alone: words or characters of a sentence that counts without the rest of its quote, at least.
        short: words or characters of both sides together, at least.
        unseen: quotes that train lacks, at most; no more than a tenth of all.
        seed: of all random choices.
    """

    lang: str | None = None
    unit: Unit | None = None
    context: int | None = None
    least: int | None = None
    most: int | None = None
    words: int | None = None
    alone: int | None = None
    short: int = 10
    unseen: int = 100
    seed: int = 0

    def of(self, unit: Unit, lang: str | None) -> Settings:
        """Returns the settings for texts in a unit and language.

        Raises:
            InputError: settings that contradict each other, or leave no context.
        """
        defaults = {name: getattr(self, name) or value for name, value in DEFAULTS[unit].items()}
        settings = Settings(
            lang=lang or UNKNOWN,
            unit=unit,
            short=self.short,
            unseen=self.unseen,
            seed=self.seed,
            **defaults,
        )
        if not is_code(settings.lang):
            raise InputError(
                f"--lang {settings.lang} is no code of a language", remedy="such as de"
            )
        if settings.least < 2:
            raise InputError(
                "--least 1: a quote with one context cannot be in val and in test",
                remedy="give 2 or more",
            )
        if settings.most < settings.least:
            raise InputError(f"--most {settings.most} is below --least {settings.least}")
        if settings.short > 2 * settings.context:
            raise InputError(
                f"--short {settings.short} is more than both sides have with --context {settings.context}"
            )
        return settings


@dataclass(frozen=True)
class Settings:
    """A recipe with all settings resolved; attributes as in `Recipe`."""

    lang: str
    unit: Unit
    context: int
    least: int
    most: int
    words: int
    alone: int
    short: int
    unseen: int
    seed: int
