"""A process that encodes texts as others do at the same time, and may be killed in between."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.models import encoder as encoding
from irtoolkit.models import shards
from irtoolkit.models.encoder import Encoder, EncoderSettings


class Model:
    """Says what it has encoded; a text's vector is its hash."""

    device, similarity, separator, limit = "cpu", "dot", None, None

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def lengths(self, items: list[str]) -> Any:
        return np.array([len(item.split()) for item in items])

    def __call__(self, items: list[str]) -> Any:
        self.encoded.extend(items)
        time.sleep(0.002)
        found = (hashlib.sha256(item.encode()).digest()[:12] for item in items)
        return [(np.frombuffer(digest, np.uint8).astype(np.float32) - 128,) for digest in found]


def encode(asked: dict[str, Any]) -> None:
    """Encodes the texts that are asked for, once so many processes do, and writes what it has done.

    This is for a process of its own: it changes modules and the environment.
    """
    os.environ.update(asked["environment"])
    model = Model()
    encoding.load_adapter = lambda *args, **how: model  # type: ignore[assignment]
    encoding.SHARD = asked["shard"]  # type: ignore[misc]
    _die(*asked["die"])
    made = Encoder(EncoderSettings(asked["model"], "dense", "document", batch_tokens=8))
    Path(asked["here"], str(os.getpid())).touch()
    while len(list(Path(asked["here"]).iterdir())) < asked["many"]:
        time.sleep(0.01)
    rows = made.encode(asked["texts"])
    done = {
        "encoded": model.encoded, "digest": rows.digest(), "vectors": rows.vectors().tolist(),
        "lengths": rows.lengths.tolist(),
    }  # fmt: skip
    Path(asked["done"]).write_text(json.dumps(done))


def _die(number: int, when: str) -> None:
    """Has this process killed once it has written so many shards, or while it writes the next."""
    written: list[Any] = []
    sha256, write_shard = shards.sha256, encoding.write_shard

    def dying(path: Any) -> Any:
        # A shard's temporary file is written, and is not yet a shard.
        if len(written) == number and when == "writing":
            os.kill(os.getpid(), signal.SIGKILL)
        return sha256(path)

    def write(*args: Any) -> Any:
        made = write_shard(*args)
        written.append(made)
        if len(written) == number and when == "written":
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    shards.sha256, encoding.write_shard = dying, write  # type: ignore[assignment]
