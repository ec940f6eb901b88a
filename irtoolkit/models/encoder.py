"""Encoding: from texts to a model's outputs, each computed only once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from threading import Lock
from typing import Any, cast

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.plurals import number_of
from irtoolkit.base.progress import announced, tqdm
from irtoolkit.base.threads import put_off
from irtoolkit.datasets.cache import cache_home
from irtoolkit.engines.engine import current
from irtoolkit.models import presets
from irtoolkit.models.adapters import Adapter, Item
from irtoolkit.models.batches import Batches
from irtoolkit.models.exported import LIBRARIES, Backend
from irtoolkit.models.loading import Precision
from irtoolkit.models.opening import load_adapter
from irtoolkit.models.outputs import are_finite, pack
from irtoolkit.models.parts import Parts
from irtoolkit.models.settings import EncoderSettings as EncoderSettings
from irtoolkit.models.settings import Stored as Stored
from irtoolkit.models.settings import chosen_settings, store_name
from irtoolkit.models.shards import (
    Encodings,
    Output,
    key_of,
    shard_table,
    table_bytes,
    write_shard,
)
from irtoolkit.models.spread import Chunk, Spread, Workers, chunked, unpacked
from irtoolkit.models.store import Store

# Texts in a shard: what a kill may cost.
SHARD = 1 << 12
_log = logging.getLogger(__name__)


class Encoder:
    """A model as it encodes one side of a task.

    Raises:
        InputError: the libraries or the weights are not here, or the weights are not sound.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        self.preset = presets.find_preset(settings.model, settings.weights, settings.query_weights)
        presets.require_kind(self.preset, settings.kind)
        folder = presets.model_folder(self.preset.side(settings.side))
        chosen = chosen_settings(settings, self.preset, folder)
        # What was chosen here is not chosen again in workers.
        self._how = replace(settings, backend=cast(Backend, chosen.backend))
        if chosen.backend == "torch":
            self._how = replace(self._how, precision=cast(Precision, chosen.precision))
        with announced(f"loading {settings.model}"):
            self._model: Adapter = load_adapter(folder, settings.kind, settings.side, chosen)
        self._batches = Batches(self._model, settings.batch_tokens)
        name = store_name(settings, self.preset, chosen, self._model.limit)
        self._store = Store(cache_home() / "vectors" / name)
        self._storing = Lock()

    @property
    def similarity(self) -> str:
        """The similarity of the vectors: the preset's, or else the model's own, or else the cosine.

        Raises:
            InputError: the model's own is not cosine, dot or l2.
        """
        names: dict[str | None, str] = {
            theirs: ours for ours, theirs in presets.COMPARED_AS.items()
        }
        names[None] = "cosine"
        declared = self.similarity_of_model
        if self.preset.similarity is None and declared not in names:
            raise InputError(
                f"the model {self._how.model} is compared by {declared}",
                remedy="give similarity=cosine, dot or l2",
            )
        return self.preset.similarity or names[declared]

    @property
    def similarity_of_model(self) -> str | None:
        """The similarity that the model itself specifies for its outputs."""
        return self._model.similarity

    def text(self, segments: Sequence[str]) -> str:
        """Returns a text's segments joined as the model wants them."""
        join = self.preset.join
        return ((self._model.separator or " ") if join == "sep" else join).join(segments)

    def before_each_batch(self, call: Callable[[], object]) -> None:
        """Sets a function to call before each batch: it may wait, or raise to stop."""
        self._batches.before = call

    def encode(
        self, items: Iterable[Item], *, what: str = "texts", count: int | None = None
    ) -> Encodings:
        """Returns the model's output for each item; earlier outputs come from disk.

        New outputs are written in shards as they are made, so that an interrupted encoding resumes
        there. Processes that encode the same items at once share the work, and so do the workers of
        the engine: see `irtoolkit.models.spread`.

        Args:
            items: texts, or pairs of texts; they are not all in memory at once.
            what: their name, for the progress bar and the report of truncated ones.
            count: their number, if known.
        """
        keys: list[bytes] = []
        hidden = True if count == 1 else None
        with tqdm(total=count, desc=f"encoding {what}", unit="text", disable=hidden) as bar:
            self._settle(chunked(items, SHARD, bar.update, keys), bar)
        rows = self._store.rows(keys)
        self._report_cut(rows, what)
        return rows

    def lengths(self, items: Sequence[Item]) -> Ints:
        """Returns the number of tokens of each text, special ones included."""
        return self._model.lengths(items)

    def is_kept(self, items: Sequence[str]) -> bool:
        """Returns whether the model's outputs for all these texts are on disk."""
        self._store.refresh()
        return all(self._store.has([key_of(item) for item in items]))

    def once(self, items: Sequence[Item]) -> list[Output]:
        """Returns the model's output for a few items, without the store on disk.

        For texts that come one at a time and do not come again, as queries of a server do.
        """
        return self._batches(items, self._model.lengths(items), lambda count: None)

    def prepare(self, blocks: Iterable[Iterable[Item]], *, what: str, count: int | None) -> None:
        """Writes the model's outputs for texts to disk, from which `encode` of each block reads
        them.

        Memory does not grow with the number of blocks.
        """
        with tqdm(total=count, desc=f"encoding {what}", unit="text") as bar:
            chunks = (chunked(block, SHARD, bar.update) for block in blocks)
            self._settle(chain.from_iterable(chunks), bar)

    def shard(self, data: bytes) -> bytes:
        """Returns the file of a shard with a worker's outputs for a chunk of texts."""
        chunk = unpacked(data)
        parts = Parts(self._store.folder, chunk.keys)
        content = table_bytes(shard_table(chunk.keys, *self._made(chunk, parts, lambda _: None)))
        parts.remove()
        return content

    def _settle(self, chunks: Iterable[Chunk], bar: Any) -> None:
        """Sees to it that the outputs of all chunks are on disk."""
        engine = current()
        if engine.workers > 1:
            encode = _WorkerEncoding(self._how, self._store.folder.name)
            encode_here = partial(self._make, bar=bar)
            gpus = 0.0 if (self._how.device or "cuda").startswith("cpu") else 1.0
            remaining = Spread(self._store, Workers(engine, encode, encode_here, gpus), bar.update)(
                chunks
            )
        else:
            remaining = self._settled_here(chunks, bar)
        for chunk in remaining:
            self._settled(chunk, bar, wait=True)

    def _settled_here(self, chunks: Iterable[Chunk], bar: Any) -> list[Chunk]:
        """Encodes all chunks except those that another process is encoding, which it returns."""
        if self._model.device == "cpu":
            return [chunk for chunk in chunks if not self._settled(chunk, bar, wait=False)]
        return put_off(chunks, lambda chunk: self._settled(chunk, bar, wait=False))

    def _settled(self, chunk: Chunk, bar: Any, wait: bool) -> bool:
        """Sees to it that the outputs of a chunk are on disk; False when another process is at it."""
        store, keys, items = self._store, chunk.keys, chunk.items
        with self._storing:
            stored = store.has(keys)
        if not all(stored):
            with store.locked(keys, wait) as acquired:
                if not acquired:
                    return False
                with self._storing:
                    store.refresh()  # another process may have been here before
                    stored = store.has(keys)
                bar.update(sum(stored))
                new = [i for i, is_stored in enumerate(stored) if not is_stored]
                if new:
                    self._make(Chunk([keys[i] for i in new], [items[i] for i in new]), keys, bar)
        else:
            bar.update(len(keys))
        return True

    def _make(self, new: Chunk, locked: list[bytes], bar: Any) -> None:
        parts = Parts(self._store.folder, new.keys)
        outputs = self._made(new, parts, bar.update)
        shard = write_shard(self._store.folder, new.keys, *outputs, locked)
        with self._storing:
            self._store.add(shard)
        parts.remove()

    def _made(
        self, chunk: Chunk, parts: Parts, done: Callable[[int], object]
    ) -> tuple[Ints, list[Output]]:
        """Returns (n,) tokens of each text, and the model's output for it, as it is stored."""
        read = getattr(self._model, "read", None)
        items, lengths = (
            read(chunk.items) if read else (chunk.items, self._model.lengths(chunk.items))
        )
        outputs = self._batches(items, lengths, done, parts)
        packed = [pack(output, self._how.stored) for output in outputs]
        # What is stored as it is computed is checked once.
        for one in (outputs,) if self._how.stored == "fp32" else (outputs, packed):
            if not are_finite(one):
                item = next(
                    i for i, each in zip(chunk.items, one, strict=True) if not are_finite([each])
                )
                raise InputError(
                    f"the model {self._how.model} makes numbers that are not finite of"
                    f" {str(item)[:60]!r}",
                    remedy="its weights are damaged, or precision=fp32 and stored=fp32 are needed",
                )
        return lengths, packed

    def _report_cut(self, rows: Encodings, what: str) -> None:
        limit = self._model.limit
        cut = 0 if limit is None else int(np.count_nonzero(rows.lengths > limit))
        if cut:
            _log.warning(
                "%s: %d of %s cut after %s",
                self._how.model,
                cut,
                number_of(len(rows), what),
                number_of(limit or 0, "tokens"),
            )


@dataclass(frozen=True)
class _WorkerEncoding:
    """A function that encodes chunks in a worker, which may be another machine.

    Attributes:
        how: how texts are encoded there.
        store: name of the vector store, which depends on all that decides the outputs.
    """

    how: EncoderSettings
    store: str

    def __call__(self, data: bytes) -> bytes:
        encoder = _worker_encoder(self.how)
        if encoder._store.folder.name != self.store:
            raise InputError(
                f"the model {self.how.model} or the versions of {', '.join(LIBRARIES)}"
                " are others here than where the command was started",
                remedy="install the same on all machines",
            )
        return encoder.shard(data)


# One at a time: models are large.
@lru_cache(maxsize=1)
def _worker_encoder(how: EncoderSettings) -> Encoder:
    """Returns the encoder of a worker, which stays from one collection to the next."""
    return Encoder(how)
