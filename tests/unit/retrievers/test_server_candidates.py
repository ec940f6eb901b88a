"""What servers find, as places of a task's documents."""

from __future__ import annotations

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.retrievers._server_contents import ServerCandidates


def test_a_document_that_is_found_twice_is_refused() -> None:
    ids = id_array(["a", "b", "c"])
    candidates = ServerCandidates(ids, np.argsort(ids), True, [])
    found = candidates.hits([[("c", 2.0), ("b", 0.5)]], 10, "the index w", 0.0)
    assert found.places.tolist() == [[2, 1, 0]]
    with pytest.raises(InputError, match="id a is there 2 times in the index w"):
        candidates.hits([[("a", 2.0), ("b", 1.5), ("a", 1.0)]], 10, "the index w", None)
