"""Searches and fills one collection of a Qdrant server or folder, through Qdrant's client."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._qdrant_points import IdFilter, compared, id_of, point_of
from irtoolkit.retrievers._search_client import unanswered, without_secrets
from irtoolkit.retrievers._server_contents import ServerHits

_DISTANCES = {"cosine": "Cosine", "dot": "Dot", "l2": "Euclid"}
_LOWER_IS_BETTER = ("Euclid", "Manhattan")
_OLDEST = (1, 10)
_PAUSE = 0.25
_BUSY = (429, 502, 503, 504)
T = TypeVar("T")


class QdrantCollection:
    """A collection.

    Args:
        client: of the place.
        location: the server's address, or a folder.
        name: of the collection.
        vector: the name of its vectors, where it names them.
        retries: how often a request without an answer is repeated.
    """

    def __init__(
        self, client: Any, location: str, name: str, vector: str | None, retries: int
    ) -> None:
        self._client, self.place, self.name, self._retries = client, location, name, retries
        self._vector = vector
        self.where = f"the collection {name} on {location}"

    def version(self) -> str:
        """The server's version.

        Raises:
            InputError: it is too old.
        """
        version = str(self._ask(self._client.info).version)
        parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
        if parts < _OLDEST:
            raise InputError(f"{self.place} is Qdrant {version}", remedy="1.10 or newer is needed")
        return version

    def exists(self) -> bool:
        return bool(self._ask(lambda: self._client.collection_exists(self.name)))

    def names(self) -> list[str]:
        """The names of all collections."""
        return sorted(
            collection.name for collection in self._ask(self._client.get_collections).collections
        )

    def note(self) -> dict[str, Any]:
        """Returns irtoolkit's note on it; empty for a collection of others."""
        noted: dict[str, Any] = (self._config().metadata or {}).get("irtoolkit", {})
        return noted

    def set_note(self, note: dict[str, Any]) -> None:
        """Notes something with it."""
        noted = {"irtoolkit": note}
        self._ask(lambda: self._client.update_collection(self.name, metadata=noted))

    def count(self) -> int:
        """The number of points."""
        return int(self._ask(lambda: self._client.count(self.name, exact=True)).count)

    def create(self, width: int, similarity: str, note: dict[str, Any]) -> None:
        """Makes it, for vectors of so many numbers."""
        from qdrant_client import models

        distance = models.Distance(_DISTANCES[similarity])
        params = models.VectorParams(size=width, distance=distance)
        noted = {"irtoolkit": note}
        self._ask(lambda: self._client.create_collection(self.name, params, metadata=noted))
        if not self.note():
            self._ask(lambda: self._client.delete_collection(self.name))
            raise InputError(
                f"Qdrant {self.version()} on {self.place} notes nothing with a collection",
                remedy="1.16 or newer is needed to make one, or name one that is there",
            )

    def add(self, documents: Sequence[tuple[str, list[float]]]) -> None:
        """Sends documents' ids and vectors; one that is there is sent again."""
        from qdrant_client import models

        points = [
            models.PointStruct(id=point_of(doc_id), vector=vector, payload={"id": doc_id})
            for doc_id, vector in documents
        ]
        self._ask(lambda: self._client.upsert(self.name, points, wait=True))

    def has_numbers(self, field: str) -> bool:
        """Whether a field of the payload has numbers.

        Raises:
            InputError: the first point does not have the field.
        """
        points, _ = self._ask(lambda: self._client.scroll(self.name, limit=1, with_payload=True))
        if field == "_id" or not points:
            return False
        payload = points[0].payload or {}
        if not isinstance(payload.get(field), str | int):
            fit = [key for key, value in payload.items() if isinstance(value, str | int)]
            raise InputError(
                f"{self.where} has no ids in the field {field}",
                remedy=f"id_field=FIELD, of {', '.join(fit) or 'which there are none'}; or id_field=_id",
            )
        return isinstance(payload[field], int)

    def present(self, id_filter: IdFilter, ids: list[str], most: int) -> list[str]:
        """Returns the ids in those points, at most so many, that have one of some ids."""
        points, _ = self._ask(
            lambda: self._client.scroll(
                self.name, scroll_filter=id_filter.of(ids), limit=most, with_payload=True
            )
        )
        return [id_of(point, id_filter) for point in points]

    def check_width(self, width: int, model: str, similarity: str | None) -> None:
        """Raises InputError for vectors, or a similarity, that are not the collection's."""
        params = self._params()
        if params.size != width:
            raise InputError(
                f"vectors of {model} have {width} numbers, those of {self.where} have {params.size}",
                remedy="take the model that the collection was made with",
            )
        if similarity is not None and _DISTANCES[similarity] != params.distance.value:
            raise InputError(
                f"{self.where} compares by {params.distance.value}, not {similarity}",
                remedy="leave similarity out, the collection has its own",
            )

    def search(
        self,
        vectors: Sequence[list[float]],
        limit: int,
        only: Any,
        id_filter: IdFilter,
        *,
        exact: bool,
        ef: int | None = None,
    ) -> list[ServerHits]:
        """Returns the nearest documents of each vector, best first."""
        from qdrant_client import models

        # Qdrant in this process is exact, and warns of parameters. It compares by a product of
        # matrices, under which equal vectors may differ in the last bit, so they are compared again.
        local = "Local" in type(self._client._client).__name__
        params = None if local else models.SearchParams(exact=exact, hnsw_ef=ef)
        with_vector: Any = local if self._vector is None or not local else [self._vector]
        payload = False if id_filter.field == "_id" else [id_filter.field]
        requests = [
            models.QueryRequest(
                query=vector,
                using=self._vector,
                limit=limit,
                filter=only,
                params=params,
                with_payload=payload,
                with_vector=with_vector,
            )
            for vector in vectors
        ]
        answers = self._ask(lambda: self._client.query_batch_points(self.name, requests))
        distance = self._params().distance.value
        sign = -1 if distance in _LOWER_IS_BETTER else 1
        hits = []
        for vector, answer in zip(vectors, answers, strict=True):
            scores = [sign * float(point.score) for point in answer.points]
            if local and answer.points:
                stored = [self._vector_of(point) for point in answer.points]
                scores = compared(np.array(vector), np.array(stored), distance).tolist()
            ids = [id_of(point, id_filter) for point in answer.points]
            hits.append(list(zip(ids, scores, strict=True)))
        return hits

    def _vector_of(self, point: Any) -> Any:
        return point.vector if self._vector is None else point.vector[self._vector]

    def _config(self) -> Any:
        return self._ask(lambda: self._client.get_collection(self.name)).config

    def _params(self) -> Any:
        params = self._config().params.vectors
        if not isinstance(params, dict):
            return params
        if self._vector not in params:
            raise InputError(
                f"{self.where} names its vectors: {', '.join(params) or 'it has none'}",
                remedy="vector=NAME chooses one",
            )
        return params[self._vector]

    def _ask(self, call: Callable[[], T]) -> T:
        """Returns the answer to a request, which is repeated a few times.

        Raises:
            InputError: there is none, or it is an error.
        """
        from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                return call()
            except ResourceExhaustedResponse as error:
                if last:
                    reason = without_secrets(str(error))
                    raise InputError(f"Qdrant on {self.place} is overloaded: {reason}") from None
            except UnexpectedResponse as error:
                if last or error.status_code not in _BUSY:
                    raise self._refused(error) from None
            except ResponseHandlingException as error:
                if last:
                    raise unanswered("Qdrant", self.place, error) from None
            except ValueError as error:  # of Qdrant in this process
                raise InputError(f"{self.where}: {' '.join(str(error).split())}") from None
            time.sleep(_PAUSE * 2**attempt)
        raise AssertionError("unreachable")

    def _refused(self, error: Any) -> InputError:
        message = error.content.decode(errors="replace") if error.content else error.reason_phrase
        remedy = None
        if error.status_code in (401, 403):
            remedy = "QDRANT_API_KEY gives a key that may do this"
        reason = without_secrets(" ".join(str(message).split()))[:200]
        return InputError(
            f"Qdrant on {self.place} says {error.status_code}: {reason}", remedy=remedy
        )
