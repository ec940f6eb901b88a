"""An experiment table: a TOML file beside this module."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).with_name("proverbs.toml")
