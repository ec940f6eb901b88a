"""Arms every Python process whose environment names a fault; see `tests.faults.moment`."""

import os

if "IRTK_FAULT" in os.environ:
    from tests.faults.moment import arm_from_environment

    arm_from_environment()
