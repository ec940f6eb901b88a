"""One measurement of `scale.py`, in a process of its own.

python benchmarks/scale_measure.py PART ENGINE WORKERS SIZE OUTPUT
python benchmarks/scale_measure.py PART prepare 1 SIZE OUTPUT

It writes to the folder that it is started in. `prepare` only makes the files that a measurement
reads, so that what it takes to make them is not measured.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.engines.choose import engine

MODEL = "all-MiniLM-L6-v2"
WORDS = [f"word{number:04}" for number in range(2_000)]
CHUNKS = 8
SHARDS = 8
# Texts that are in several chunks of an encoder's.
FEW = 16_384


def texts(size: int, seed: int) -> Iterator[str]:
    """Texts of 20 to 70 words, 45 on average, whose words are as frequent as a language's."""
    draw = np.random.default_rng(seed)
    chances = 1 / np.arange(3, len(WORDS) + 3)
    bounds = np.cumsum(chances / chances.sum())
    for _ in range(size):
        places = np.searchsorted(bounds, draw.random(int(draw.integers(20, 71))))
        yield " ".join(WORDS[place] for place in np.minimum(places, len(WORDS) - 1).tolist())


def dataset(size: int) -> Any:
    """A corpus that is read from a file."""
    import irtoolkit as ir

    return ir.load(str(corpus(size)))


def corpus(size: int) -> Path:
    """A file of passages."""
    path = Path(f"corpus-{size}.tsv")
    if not path.exists():
        with path.open("w") as out:
            out.writelines(f"d{n:08}\t{text}\n" for n, text in enumerate(texts(size, 1)))
    return path


def encode(size: int) -> Callable[[], Any]:
    """Texts encoded by MiniLM, in as many chunks at any size."""
    from irtoolkit.models import encoder

    encoder.SHARD = -(-size // CHUNKS)
    made = encoder.Encoder(encoder.EncoderSettings(MODEL, "dense", "document", device="cpu"))
    few = list(texts(2 * encoder.SHARD, 2))[: encoder.SHARD + 1]
    made.encode(few)  # workers have their models now
    every = list(texts(size, 3))
    return lambda: made.encode(every)


def build(size: int, folder: str = "built") -> Callable[[], Any]:
    """An index of static vectors: encoding takes little, and reading and writing much."""
    from irtoolkit.datasets.memory import dataset_of_texts
    from irtoolkit.ranking import build_index
    from irtoolkit.ranking.systems import find_system

    system = find_system("dense", {"model": static_model(), "device": "cpu"})
    few = {f"f{n}": text for n, text in enumerate(texts(FEW, 2))}
    # Workers have their libraries and models now.
    build_index.build(dataset_of_texts(few), system, Path(f"few-{folder}"), progress=False)
    data = dataset(size)
    return lambda: build_index.build(data, system, Path(folder), progress=False)


def static_model() -> str:
    """A model of a vector for each word."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    place = Path("static")
    if not place.exists():
        made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(["?", *WORDS])}, "?"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        SentenceTransformer(modules=[StaticEmbedding(made, embedding_dim=64)]).save(str(place))
    return str(place.resolve())


def search(size: int) -> Callable[[], Any]:
    """Queries of 10 words to depth 1,000 over a BM25 index of several shards."""
    from irtoolkit.ranking import build_index
    from irtoolkit.ranking.systems import find_system

    folder = Path(f"bm25-{size}")
    if not folder.exists():
        system = find_system("bm25", {})
        # Some 250 bytes of a passage are in memory while its shard is made.
        build_index.build(
            dataset(size), system, folder, memory=250 * size // SHARDS, progress=False
        )
    import irtoolkit as ir

    index = ir.open_index(str(folder))
    asked = {f"q{n}": " ".join(t.split()[:10]) for n, t in enumerate(texts(512, 4))}
    index.search_many(dict(list(asked.items())[:64]), k=1000)
    return lambda: index.search_many(asked, k=1000)


def measured(part: str, name: str, workers: int, size: int) -> dict[str, Any]:
    """Seconds, and the memory of this process: all, and without the files that are mapped."""
    from irtoolkit.base.cores import peak_memory

    began = time.perf_counter()
    with engine(name, workers=workers if name != "local" else None) as made, Private() as private:
        list(made.map(abs, range(workers)))
        started = time.perf_counter() - began
        work = PARTS[part](size)
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
    return {
        "part": part, "engine": name, "workers": workers, "size": size, "s": took,
        "start s": started, "driver peak MB": peak_memory() / 1e6, "private MB": private.most / 1e6,
    }  # fmt: skip


class Private:
    """The most memory that only this process has: not the pages of files, which any may take back.

    Attributes:
        most: in bytes, of samples; 0 where the system is not Linux.
    """

    EVERY = 0.01  # seconds

    def __enter__(self) -> Private:
        self.most = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        status = Path("/proc/self/status")
        while status.exists():
            lines = [line.split() for line in status.read_text().splitlines()]
            now = next((int(line[1]) for line in lines if line[0] == "RssAnon:"), 0)
            self.most = max(self.most, 1024 * now)
            if self._end.wait(self.EVERY):
                return


PARTS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "encode": encode, "build": build, "search": search,
}  # fmt: skip

PREPARED: dict[str, Callable[[int], object]] = {
    "encode": lambda size: None, "build": lambda size: (corpus(size), static_model()),
    "search": search,
}  # fmt: skip


def main(argv: list[str]) -> None:
    part, name, workers, size, output = argv
    if name == "prepare":
        PREPARED[part](int(size))
        found = {}
    else:
        found = measured(part, name, int(workers), int(size))
    Path(output).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
