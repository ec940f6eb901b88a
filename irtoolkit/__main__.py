"""The program: `irtoolkit`, and `python -m irtoolkit`."""

import sys

INTERRUPTED = 130


def run() -> int:
    """Runs the command of this process; an interrupt while its modules are imported is silent."""
    try:
        from irtoolkit.cli import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
