"""The classes for a package that adds an analysis; see `irtoolkit.papers.analyses.base`."""

from irtoolkit.papers.analyses.base import Analysis as Analysis
from irtoolkit.papers.analyses.base import Column as Column
from irtoolkit.papers.analyses.base import FigureRow as FigureRow
from irtoolkit.papers.analyses.base import FigureTable as FigureTable
from irtoolkit.papers.analyses.base import Findings as Findings
from irtoolkit.papers.analyses.base import Given as Given
