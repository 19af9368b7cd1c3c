"""The vector index on a Qdrant server or cluster: one collection a generation, an alias names the current one.

    tht-default-2      a collection: generation 2
    tht-default        the alias to the current one

A server cannot tell whether somebody else's rebuild still runs: of two at once, the later one removes the earlier
one's collection, which is then told that it is gone. The current collection is never touched.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from adapters.qdrant_points import (
    CHECKPOINT_ID,
    EXACT_BELOW,
    INDEXED_FIELDS,
    OVERSAMPLING,
    PAGE,
    REBUILD,
    VECTOR,
    Hit,
    batches,
    best_first,
    checkpoint_from,
    checkpoint_payload,
    conditions,
    founds,
)
from domain.errors import IndexUnavailable, InvalidInput, Refused, ThtError
from projections.index.port import Checkpoint, Found, IndexStore, Point, Vector, VectorIndex, Within

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import FieldCondition, Filter, PointStruct, SearchParams

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ServerIndex(VectorIndex):
    """One collection, by its own name and not by the alias: what was opened stays what it was through a swap."""

    def __init__(self, client: QdrantClient, name: str, where: str) -> None:
        self.name = name
        self._client = client
        self._where = where
        self._local = _is_local(client)
        self._closed = False
        self._points: int | None = None

    def checkpoint(self) -> Checkpoint | None:
        with self._open() as client:
            found = client.retrieve(self.name, [CHECKPOINT_ID], with_payload=True)
        return checkpoint_from(found[0].payload) if found else None

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        from qdrant_client.models import PointStruct

        self._upsert([PointStruct(id=CHECKPOINT_ID, vector={}, payload=checkpoint_payload(checkpoint))])

    def upsert(self, points: Sequence[Point]) -> None:
        from qdrant_client.models import PointStruct

        for batch in batches(points):
            self._upsert(
                [PointStruct(id=one.id, vector={VECTOR: list(one.vector)}, payload=dict(one.payload)) for one in batch]
            )

    def delete_refs(self, refs: Sequence[str]) -> None:
        from qdrant_client.models import Filter, FilterSelector

        if refs:
            chosen = FilterSelector(filter=Filter(must=[_ref_in(refs)]))
            with self._open() as client:
                client.delete(self.name, chosen, wait=True)

    def search(self, vector: Vector, within: Within, *, limit: int, with_vectors: bool = False) -> list[Found]:
        chosen = _filter(within)
        params = None if self._local else _scan(self._size())

        def fetch(count: int) -> list[Hit]:
            with self._open() as client:
                answer = client.query_points(
                    self.name,
                    list(vector),
                    using=VECTOR,
                    query_filter=chosen,
                    search_params=params,
                    limit=count,
                )
            return [Hit(str(hit.id), hit.score, hit.payload or {}) for hit in answer.points]

        hits = best_first(fetch, limit)
        return founds(hits, self._vectors(hits) if with_vectors else None)

    def _vectors(self, hits: Sequence[Hit]) -> dict[str, list[float]]:
        with self._open() as client:
            found = client.retrieve(self.name, [hit.id for hit in hits], with_payload=False, with_vectors=[VECTOR])
        return {str(record.id): cast("dict[str, list[float]]", record.vector)[VECTOR] for record in found}

    def _size(self) -> int:
        """Points, roughly, asked once: a collection does not grow from small to large while one search runs."""
        if self._points is None:
            with self._open() as client:
                self._points = client.count(self.name, exact=False).count
        return self._points

    def scan(self, *fields: str) -> Iterator[Mapping[str, Any]]:
        asked = list(fields) or True
        start = None
        while True:
            with self._open() as client:
                page, start = client.scroll(self.name, _records(), limit=PAGE, offset=start, with_payload=asked)
            yield from (record.payload or {} for record in page)
            if start is None:
                return

    def count(self) -> int:
        with self._open() as client:
            return client.count(self.name, _records(), exact=True).count

    def close(self) -> None:
        """The connection is the store's; only this generation is given back."""
        self._closed = True

    def _upsert(self, points: list[PointStruct]) -> None:
        with self._open() as client:
            client.upsert(self.name, points, wait=True)

    @contextmanager
    def _open(self) -> Iterator[QdrantClient]:
        if self._closed:
            raise IndexUnavailable(f"the vector index {self.name} was closed")
        with _translated(self._where):
            yield self._client


class ServerStore(IndexStore):
    """Collections `<prefix>-<n>` on the server at `url`, or on a `client` that the caller made and will close.

    The API key is sent, never shown. `timeout`: seconds a request may take. Nothing is connected before the first use.
    """

    def __init__(
        self,
        prefix: str,
        *,
        url: str = "",
        api_key: str | None = None,
        client: QdrantClient | None = None,
        timeout: int = 10,
    ) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise InvalidInput(f"{prefix!r} cannot name a collection: letters, digits and . _ - only")
        if not url and client is None:
            raise InvalidInput("a Qdrant server needs a URL")
        self._prefix = prefix
        self._url, self._api_key, self._timeout = url, api_key, timeout
        self._made: QdrantClient | None = None
        self._given = client
        self._where = _without_secrets(url) if url else "the client given"

    def current(self) -> VectorIndex | None:
        with self._connected() as client:
            name = self._alias_target(client)
            return None if name is None else ServerIndex(client, name, self._where)

    def is_current(self, index: VectorIndex) -> bool:
        with self._connected() as client:
            return isinstance(index, ServerIndex) and index.name == self._alias_target(client)

    def begin(self, dimension: int) -> VectorIndex:
        from qdrant_client.models import (
            Distance,
            HnswConfigDiff,
            PayloadSchemaType,
            ScalarQuantization,
            ScalarQuantizationConfig,
            ScalarType,
            VectorParams,
        )

        as_bytes = ScalarQuantizationConfig(type=ScalarType.INT8, quantile=0.99, always_ram=True)
        params = VectorParams(
            size=dimension,
            distance=Distance.COSINE,
            hnsw_config=HnswConfigDiff(m=0),
            quantization_config=ScalarQuantization(scalar=as_bytes),
        )
        with self._connected() as client:
            current = self._alias_target(client)
            taken = self._generations(client)
            for leftover in taken.values():
                if leftover != current:
                    client.delete_collection(leftover)
            name = f"{self._prefix}-{max(taken, default=0) + 1}"
            client.create_collection(name, {VECTOR: params})
            if not _is_local(client):  # which has no such indexes, and warns about it
                for field in INDEXED_FIELDS:
                    client.create_payload_index(name, field, PayloadSchemaType.KEYWORD, wait=True)
            return ServerIndex(client, name, self._where)

    def swap(self, fresh: VectorIndex) -> None:
        """Killed before the alias moves: the old one is current. After: the new one, and a leftover stays."""
        from qdrant_client.models import CreateAlias, CreateAliasOperation

        name = self._own(fresh)
        fresh.close()
        with self._connected() as client:
            old = self._alias_target(client)
            alias = CreateAlias(collection_name=name, alias_name=self._prefix)
            client.update_collection_aliases([CreateAliasOperation(create_alias=alias)])
            if (seen := self._alias_target(client)) != name:  # an alias that exists is moved without a word
                raise IndexUnavailable(f"somebody else made {seen} the current vector index meanwhile", REBUILD)
            if old is not None:
                client.delete_collection(old)

    def discard(self, fresh: VectorIndex) -> None:
        name = self._own(fresh)
        fresh.close()
        with self._connected() as client:
            client.delete_collection(name)

    def describe(self) -> Mapping[str, str]:
        """A server that does not answer is described as such, not raised: doctor and status show it."""
        try:
            with self._connected() as client:
                current = self._alias_target(client) or "none"
                leftovers = ", ".join(name for name in self._generations(client).values() if name != current)
        except IndexUnavailable as away:
            current, leftovers = f"unknown: {away.message}", ""
        told = {"engine": "Qdrant server", "where": self._where, "alias": self._prefix}
        return {**told, "current": current, "leftovers": leftovers or "none"}

    def close(self) -> None:
        """Close the connection, if this store made it. Safe to call twice."""
        if self._made is not None:
            self._made.close()
            self._made = None

    def _own(self, fresh: VectorIndex) -> str:
        if not isinstance(fresh, ServerIndex) or not re.fullmatch(re.escape(self._prefix) + r"-\d+", fresh.name):
            raise Refused("this generation of the vector index is not from this store")
        with self._connected() as client:
            if self._alias_target(client) == fresh.name:
                raise Refused(f"{fresh.name} is the current generation of the vector index already")
        return fresh.name

    def _alias_target(self, client: QdrantClient) -> str | None:
        aliases = client.get_aliases().aliases
        return next((one.collection_name for one in aliases if one.alias_name == self._prefix), None)

    def _generations(self, client: QdrantClient) -> dict[int, str]:
        names = [one.name for one in client.get_collections().collections]
        matches = [re.fullmatch(re.escape(self._prefix) + r"-(\d+)", name) for name in names]
        return {int(match[1]): match[0] for match in matches if match}

    @contextmanager
    def _connected(self) -> Iterator[QdrantClient]:
        with _translated(self._where):
            if self._given is not None:
                yield self._given
                return
            if self._made is None:
                self._made = _connect(self._url, self._api_key, self._timeout)
            yield self._made


def _connect(url: str, api_key: str | None, timeout: int) -> QdrantClient:
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():  # about a key on plain http, which on loopback or inside a mesh is as it should be
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(url=url, api_key=api_key, timeout=timeout, check_compatibility=False)


def _is_local(client: QdrantClient) -> bool:
    options = client.init_options
    return options.get("location") == ":memory:" or options.get("path") is not None


def _ref_in(refs: Sequence[str]) -> FieldCondition:
    from qdrant_client.models import FieldCondition, MatchAny

    return FieldCondition(key="ref", match=MatchAny(any=list(refs)))


def _scan(points: int) -> SearchParams:
    """As Qdrant Edge scans: no graph is built, so this is the server's plain scan too."""
    from qdrant_client.models import QuantizationSearchParams, SearchParams

    if points < EXACT_BELOW:
        return SearchParams(exact=True)
    return SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING))


def _filter(within: Within) -> Filter:
    from qdrant_client.models import FieldCondition, Filter, MatchAny

    def said(fields: Sequence[tuple[str, tuple[str, ...]]]) -> list[FieldCondition]:
        return [FieldCondition(key=name, match=MatchAny(any=list(values))) for name, values in fields]

    asked = conditions(within)
    return Filter(
        must=[*said(asked.must), *([Filter(should=[*said(asked.either)])] if asked.either else [])],
        must_not=[*said(asked.must_not)],
    )


def _records() -> Filter:
    """All points but the checkpoint."""
    from qdrant_client.models import Filter, HasIdCondition

    return Filter(must_not=[HasIdCondition(has_id=[CHECKPOINT_ID])])


def _without_secrets(url: str) -> str:
    """Scheme, host, port and path: a URL may carry a password or a key in its other parts."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


@contextmanager
def _translated(where: str) -> Iterator[None]:
    """Whatever the client raises becomes IndexUnavailable with where the server is and what to do."""
    try:
        yield
    except ThtError:
        raise
    except ImportError as problem:
        raise IndexUnavailable("qdrant-client is not installed here", "pip install qdrant-client") from problem
    except Exception as problem:
        raise _unavailable(where, problem) from problem


def _unavailable(where: str, problem: Exception) -> IndexUnavailable:
    status = getattr(problem, "status_code", None)
    reason = (str(problem) or type(problem).__name__).splitlines()[0][:200]
    hint = f"is Qdrant running at {where}? tht doctor says more; without it: tht config unset index.url"
    if status in (401, 403):
        hint = "the server refused the API key"
    elif status in (400, 404) or isinstance(problem, ValueError):  # a dimension or a collection that is not there
        hint = REBUILD
    return IndexUnavailable(f"the vector index at {where} failed: {reason}", hint)
