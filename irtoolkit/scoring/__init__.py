"""From runs and judgments to figures, tests, checks and submissions."""

import irtoolkit.measures  # noqa: F401 so that ir_measures knows them by name
