"""The systems of `index.py`, each behind the same few methods.

All index the same words: Lucene's English stop words are left out and nothing is stemmed. All score
with BM25 at k1 1.2 and b 0.75, the only ones that tantivy has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

K1, B = 1.2, 0.75
BUFFER = 256  # MB for each thread, where a writer has a buffer


def records(texts: Path) -> Iterator[tuple[str, str]]:
    """Id and text of every passage, read one at a time."""
    for path in sorted(texts.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield record["id"], record["contents"]


class System:
    """A search engine.

    Attributes:
        needs: the packages that it is imported from.
        differs: what it does otherwise than irtoolkit, for the reader of the figures.
    """

    needs: Sequence[str] = ()
    differs = ""

    def load(self, threads: int) -> None:
        """Imports what it needs, and starts its machine; not measured but in a new process."""
        self.threads = threads

    def build(self, texts: Path, folder: Path) -> None:
        """Makes the index."""
        raise NotImplementedError

    def open(self, folder: Path) -> None:
        """Opens the index for searches."""
        raise NotImplementedError

    def search(self, queries: list[str], k: int) -> Any:
        """The best passages of each query, with their ids."""
        raise NotImplementedError

    def search_one(self, query: str, k: int) -> Any:
        """The best passages of one query, with their ids."""
        return self.search([query], k)

    def top(self, found: Any, number: int) -> list[str]:
        """The ids for one query of what `search` has returned."""
        raise NotImplementedError


class Irtoolkit(System):
    """This package: a run, as `search_many` gives it. Keeps texts.

    The ids of the run are copied in the time that counts, and become strings when they are looked at.
    """

    def load(self, threads: int) -> None:
        super().load(threads)
        import irtoolkit

        self._package = irtoolkit

    def build(self, texts: Path, folder: Path) -> None:
        import ir_datasets
        from ir_datasets.formats import GenericDoc

        from irtoolkit.datasets.cache import content_hash
        from irtoolkit.datasets.handlers import DocsHandler

        class Passages(DocsHandler):
            """The file as a registered collection is read, whose key is the hash of its files."""

            def __init__(self) -> None:
                super().__init__(dict, GenericDoc, "passages", None)

            def docs_key(self) -> str:
                files = sorted(texts.iterdir()) if texts.is_dir() else [texts]
                return " ".join(content_hash(path) for path in files)

            def docs_iter(self) -> Iterator[Any]:
                return (GenericDoc(*record) for record in records(texts))

            def docs_cls(self) -> Any:
                return GenericDoc

            def docs_count(self) -> None:
                return None

        self._package.index(
            ir_datasets.Dataset(Passages()), "bm25", folder, progress=False,
            tokenizer="standard", stop="lucene", stem="none", k1=K1, b=B,
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        from irtoolkit.base import compiled

        compiled.load()  # many queries are timed, and not the first ones of a process
        self._index: Any = self._package.open_index(folder)
        _ = self._index.searcher

    def search(self, queries: list[str], k: int) -> Any:
        return self._index.search_many(queries, k)

    def search_one(self, query: str, k: int) -> Any:
        return self._index.search(query, k)

    def top(self, found: Any, number: int) -> list[str]:
        rows = slice(found.offsets[number], found.offsets[number + 1])
        return [str(found.doc_ids[doc]) for doc in found.docs[rows]]


class BM25S(System):
    """bm25s with numba, its arrays mapped."""

    needs = ("bm25s", "numba")
    differs = "keeps no texts; builds on one thread"

    def load(self, threads: int) -> None:
        super().load(threads)
        import bm25s

        from irtoolkit.base.analysis import stop_words

        self._package, self._stop = bm25s, sorted(stop_words("lucene"))

    def _split(self, texts: list[str], **options: Any) -> Any:
        return self._package.tokenize(texts, stopwords=self._stop, show_progress=False, **options)

    def build(self, texts: Path, folder: Path) -> None:
        import numpy as np

        ids, lines = zip(*records(texts), strict=True)
        model = self._package.BM25(method="lucene", k1=K1, b=B, backend="numba")
        model.index(self._split(list(lines)), show_progress=False)
        model.save(folder, show_progress=False)
        np.save(folder / "ids.npy", np.array(ids))

    def open(self, folder: Path) -> None:
        import numpy as np

        self._model = self._package.BM25.load(folder, mmap=True, show_progress=False)
        self._ids = np.load(folder / "ids.npy", mmap_mode="r")

    def search(self, queries: list[str], k: int) -> Any:
        return self._model.retrieve(
            self._split(queries, return_ids=False), corpus=self._ids, k=k,
            n_threads=min(self.threads, len(queries)), show_progress=False,
        )  # fmt: skip

    def top(self, found: Any, number: int) -> list[str]:
        return [str(doc) for doc in found.documents[number]]


class Lucene(System):
    """Anserini's classes, which Pyserini calls; its Python layers are left out."""

    needs = ("pyserini", "jnius")
    differs = "hits stay Java's objects: to make them Python's takes longer than the search"

    def load(self, threads: int) -> None:
        super().load(threads)
        from irtoolkit.retrievers.lucene.java import java_class

        self._java = java_class
        self._list = java_class("java.util.ArrayList")
        self._searcher_class = java_class("io.anserini.search.SimpleSearcher")

    def build(self, texts: Path, folder: Path) -> None:
        options = {
            "collection": "JsonCollection", "input": texts, "index": folder,
            "generator": "DefaultLuceneDocumentGenerator", "threads": self.threads,
            "stemmer": "none", "memoryBuffer": BUFFER * self.threads,
        }  # fmt: skip
        said = [str(part) for name, value in options.items() for part in (f"-{name}", value)]
        self._java("io.anserini.index.IndexCollection").main([*said, "-storeContents"])

    def open(self, folder: Path) -> None:
        self._searcher = self._searcher_class(str(folder))
        analyzer = self._java("io.anserini.analysis.DefaultEnglishAnalyzer")
        self._searcher.set_analyzer(analyzer.newNonStemmingInstance())
        self._searcher.set_bm25(K1, B)

    def search(self, queries: list[str], k: int) -> Any:
        asked, names = self._list(), self._list()
        for number, query in enumerate(queries):
            asked.add(query)
            names.add(str(number))
        return self._searcher.batch_search(asked, names, k, self.threads)

    def search_one(self, query: str, k: int) -> Any:
        return self._searcher.search(query, k)

    def top(self, found: Any, number: int) -> list[str]:
        return [hit.docid for hit in found.get(str(number))]


class Pisa(System):
    """PISA's block-max WAND, through PyTerrier."""

    needs = ("pyterrier_pisa", "pyterrier")
    differs = "keeps no texts; indexes stop words and leaves them out of queries"

    def load(self, threads: int) -> None:
        super().load(threads)
        import pandas
        import pyterrier_pisa

        self._package, self._frame = pyterrier_pisa, pandas.DataFrame

    def build(self, texts: Path, folder: Path) -> None:
        index = self._package.PisaIndex(str(folder), "text", stemmer="none", threads=self.threads)
        index.index({"docno": name, "text": text} for name, text in records(texts))
        index.bm25(k1=K1, b=B)  # postings are compressed for a scorer, when it is first asked for

    def open(self, folder: Path) -> None:
        self._index = self._package.PisaIndex(str(folder), stops="lucene", threads=self.threads)
        self._depths: dict[int, Any] = {}
        self._retriever(10)

    def _retriever(self, k: int) -> Any:
        if k not in self._depths:
            self._depths[k] = self._index.bm25(k1=K1, b=B, num_results=k, query_weighted=True)
        return self._depths[k]

    def search(self, queries: list[str], k: int) -> Any:
        names = [str(number) for number in range(len(queries))]
        return self._retriever(k)(self._frame({"qid": names, "query": queries}))

    def top(self, found: Any, number: int) -> list[str]:
        own = found[found["qid"] == str(number)]
        return [str(name) for name in own.sort_values("rank")["docno"]]


class Tantivy(System):
    """tantivy, a query per thread."""

    needs = ("tantivy",)
    differs = "ids are whole numbers in a fast field"

    def load(self, threads: int) -> None:
        super().load(threads)
        import tantivy

        from irtoolkit.base.analysis import stop_words

        self._package, self._stop = tantivy, sorted(stop_words("lucene"))
        self._stopped = {*self._stop}

    def _analyzed(self, index: Any) -> Any:
        make, remove = self._package.TextAnalyzerBuilder, self._package.Filter
        built = make(self._package.Tokenizer.simple()).filter(remove.lowercase())
        index.register_tokenizer(
            "stopped", built.filter(remove.custom_stopword(self._stop)).build()
        )
        return index

    def build(self, texts: Path, folder: Path) -> None:
        schema = self._package.SchemaBuilder()
        schema.add_integer_field("id", fast=True)
        schema.add_text_field(
            "contents", stored=True, tokenizer_name="stopped", index_option="freq"
        )
        folder.mkdir()
        index = self._analyzed(self._package.Index(schema.build(), str(folder)))
        writer = index.writer(BUFFER * self.threads * 10**6, self.threads)
        for name, text in records(texts):
            writer.add_document(self._package.Document(id=int(name), contents=text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> None:
        self._index = self._analyzed(self._package.Index.open(str(folder)))
        self._searcher = self._index.searcher()

    def search(self, queries: list[str], k: int) -> Any:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self.search_one, queries, [k] * len(queries)))

    def search_one(self, query: str, k: int) -> Any:
        query_class, should = self._package.Query, self._package.Occur.Should
        schema = self._index.schema
        # The package's own parser counts a repeated word once.
        terms = [
            (should, query_class.boost_query(
                query_class.term_query(schema, "contents", word, "freq"), count
            ))
            for word, count in Counter(query.split()).items() if word not in self._stopped
        ]  # fmt: skip
        hits = self._searcher.search(query_class.boolean_query(terms), k, count=False).hits
        return self._searcher.fast_field_values("id", [place for _, place in hits])

    def top(self, found: Any, number: int) -> list[str]:
        return [str(name) for name in found[number]]


SYSTEMS = {
    "irtoolkit": Irtoolkit, "bm25s": BM25S, "lucene": Lucene, "pisa": Pisa, "tantivy": Tantivy,
}  # fmt: skip
