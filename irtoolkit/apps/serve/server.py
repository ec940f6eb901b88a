"""Running the application until somebody ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.web.guard import Access
from irtoolkit.apps.web.server import Patience, run


def serve(
    library: Library,
    listener: socket.socket,
    access: Access,
    ready: Callable[[], object],
    ending: Callable[[], object] = lambda: None,
) -> None:
    """Serves a library until SIGTERM or Ctrl-C; see `irtoolkit.apps.web.server.run`."""
    limits = library.limits
    patience = Patience(limits.head_seconds, limits.answer_seconds, limits.connections)

    def told() -> None:
        ending()
        # Answers that stream progress end by it.
        library.end()

    run(application(library, access), listener, patience, ready, told, library.living)
