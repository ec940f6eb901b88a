"""`python -m irtoolkit`."""

import sys

from irtoolkit.cli import main

sys.exit(main())
