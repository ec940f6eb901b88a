"""All targets by name."""

from __future__ import annotations

from tests.fuzz import api, collected, releases, runs, settings

TARGETS = {
    target.name: target
    for target in (*runs.TARGETS, *releases.TARGETS, *collected.TARGETS, *settings.TARGETS, *api.TARGETS)
}  # fmt: skip
