"""The papers' systems, for an installation that was made before `irtoolkit.papers`."""

from irtoolkit.papers.systems import papers as papers
