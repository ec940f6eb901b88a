"""Values in the bodies of requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Strict

# In JSON, true, "3" and 3.0 are no whole numbers.
Whole = Annotated[int, Strict()]
