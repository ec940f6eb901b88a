"""The program: `irtoolkit`, and `python -m irtoolkit`."""

import sys

from irtoolkit.base.ending import heed, status


def run() -> int:
    """Runs the command of this process; an interrupt while its modules are imported is silent."""
    try:
        heed()
        from irtoolkit.cli import main

        return main()
    except KeyboardInterrupt as interrupt:
        return status(interrupt)


if __name__ == "__main__":
    sys.exit(run())
