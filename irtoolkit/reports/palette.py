"""Colours, marks and dashes of reports, which differ under any kind of colour vision.

Each system has a colour, a mark and a dash pattern, so that no reader needs the colour alone. The
six colours of each scheme have a contrast of at least 3:1 to the background (WCAG 1.4.11), texts at
least 4.5:1 (WCAG 1.4.3).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """Colours of the light or the dark page, as #rrggbb.

    Attributes:
        systems: colours of the systems in order, repeated after the last.
        ground: the background of the page.
        panel: the background of panels.
        text: the colour of texts.
        muted: the colour of less important texts and of axes.
        line: the colour of rules and borders, which carry no meaning.
        link: the colour of links and buttons.
        mark: the background of terms that a text shares with the query.
        gold: the background of relevant documents.
    """

    systems: tuple[str, ...]
    ground: str
    panel: str
    text: str
    muted: str
    line: str
    link: str
    mark: str
    gold: str


LIGHT = Scheme(
    systems=("#0062ab", "#d55e00", "#1f2328", "#34a07c", "#a0207f", "#6b5a00"),
    ground="#ffffff",
    panel="#f5f7f9",
    text="#1b2026",
    muted="#55606c",
    line="#d3d9df",
    link="#0b57a4",
    mark="#ffe9a8",
    gold="#d8f0e2",
)
DARK = Scheme(
    systems=("#6cb8f5", "#f5893d", "#f2f5f8", "#1f9e78", "#b36bf5", "#f5e663"),
    ground="#14181d",
    panel="#1d232a",
    text="#e8edf2",
    muted="#a9b4bf",
    line="#3a444e",
    link="#8cc7ff",
    mark="#5a4a10",
    gold="#17452f",
)
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
# Outlines around (0, 0), about 10 units wide: circle, square, triangle, diamond, cross, hourglass.
MARKS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
    "M-4 -4H4V4H-4Z",
    "M0 -5L5 4H-5Z",
    "M0 -5.5L5.5 0L0 5.5L-5.5 0Z",
    "M-1.6 -5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "M-4.5 -4.5H4.5L1 0L4.5 4.5H-4.5L-1 0Z",
)


def style() -> str:
    """The colours as CSS custom properties: light, dark, and light in print."""
    light, dark = _properties(LIGHT), _properties(DARK)
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        + "\n".join(f".s{i}{{--own:var(--s{i});--dash:{dash}}}" for i, dash in enumerate(DASHES))
    )


def _properties(scheme: Scheme) -> str:
    plain = {name: value for name, value in vars(scheme).items() if name != "systems"}
    named = {**{f"s{i}": colour for i, colour in enumerate(scheme.systems)}, **plain}
    return "".join(f"--{name}:{value};" for name, value in named.items())


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours by WCAG, from 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
