"""One generation of the index on a Qdrant server: a collection of its own, or its part of one that others share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid5

from adapters.qdrant_connection import Way, is_local
from adapters.qdrant_points import (
    CHECKPOINT_ID,
    EXACT_BELOW,
    INDEXED_FIELDS,
    OVERSAMPLING,
    PAGE,
    REBUILD,
    TOKEN,
    VECTOR,
    batches,
    best_first,
    checkpoint_from,
    checkpoint_payload,
    conditions,
    found_of,
    ids_of,
)
from domain.errors import IndexOvertaken, IndexUnavailable
from projections.index.points import POINTS
from projections.index.port import Checkpoint, Found, Point, Vector, VectorIndex, Within

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import FieldCondition, Filter, IsEmptyCondition, PointStruct, SearchParams

TENANT, GENERATION = "tenant", "generation"
STATE = "state_at"  # the position of the views that a point was written from
CHAIN = "checkpoint.chain"
CURRENT = "current"  # of a tenant's pointer
OURS = (TENANT, GENERATION, STATE)  # what stands in a payload for the adapter alone


@dataclass(frozen=True)
class Part:
    """Where a generation is. `marks`: what each of its points carries, and each call is bound to; none: all of it."""

    collection: str
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "/".join((self.collection, *self.marks.values()))

    def id(self, point: str) -> str:
        """The point's id in the collection: the same record of two tenants is two points."""
        return str(uuid5(POINTS, "/".join((*self.marks.values(), point)))) if self.marks else point

    def bound(self) -> list[FieldCondition]:
        return [is_one_of(name, [value]) for name, value in self.marks.items()]

    def whole(self) -> Filter:
        from qdrant_client.models import Filter

        return Filter(must=[*self.bound()])


class ServerIndex(VectorIndex):
    """A generation by its own name and not by the current one's: what was opened stays what it was through a swap."""

    def __init__(self, way: Way, part: Part, *, local: bool) -> None:
        self.part, self.name = part, part.name
        self._way, self._local = way, local
        self._closed = False

    def checkpoint(self) -> Checkpoint | None:
        from qdrant_client.models import ReadConsistencyType

        with self._open() as client:
            found = client.retrieve(
                self.part.collection,
                [self.part.id(CHECKPOINT_ID)],
                with_payload=True,
                consistency=ReadConsistencyType.MAJORITY,
            )
        return checkpoint_from(found[0].payload) if found else None

    def save_checkpoint(self, checkpoint: Checkpoint, *, after: Checkpoint | None = None) -> None:
        from qdrant_client.models import Filter, HasIdCondition, PointStruct, WriteOrdering

        here, payload = self.part.id(CHECKPOINT_ID), checkpoint_payload(checkpoint)
        if after is None:
            self._upsert([PointStruct(id=here, vector={}, payload={**payload, **self.part.marks})])
            return
        same = Filter(must=[HasIdCondition(has_id=[here]), is_one_of(CHAIN, [after.chain]), _has_token(after.token)])
        with self._open() as client:
            client.set_payload(self.part.collection, payload, same, wait=True, ordering=WriteOrdering.STRONG)
        if (stands := self.checkpoint()) != checkpoint:
            if stands is None:
                self._clear()
            reached = f"at position {stands.position:,}" if stands else "without a checkpoint"
            raise IndexOvertaken(f"another process has written to the index meanwhile: it is {reached}")

    def _clear(self) -> None:
        """A tenant's generation that was swapped out and cleared takes nothing in again: no text that was erased
        meanwhile. A collection of its own has gone with all that was in it."""
        if self.part.marks:
            with self._open() as client:
                remove(client, self.part.collection, self.part.whole())

    def upsert(self, points: Sequence[Point]) -> None:
        self._put(points, {}, None)

    def delete_refs(self, refs: Sequence[str]) -> None:
        if refs:
            self._delete(refs, None)

    def replace(self, refs: Sequence[str], points: Sequence[Point], *, position: int) -> None:
        """Written first and cleared after: whoever dies in between leaves a chunk too many, and no record without."""
        self._put(points, {STATE: position}, _state(gt=position))
        if refs:
            self._delete(refs, position)

    def search(self, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        chosen = self._filter(within)
        params = None if self._local else _scan(self._size())

        def fetch(count: int) -> list[Found]:
            with self._open() as client:
                answer = client.query_points(
                    self.part.collection,
                    list(vector),
                    using=VECTOR,
                    query_filter=chosen,
                    search_params=params,
                    limit=count,
                )
            return [found_of(hit.score, _plain(hit.payload)) for hit in answer.points]

        return best_first(fetch, limit)

    def vectors(self, found: Sequence[Found]) -> dict[str, tuple[float, ...]]:
        refs = {self.part.id(point): ref for point, ref in ids_of(found).items()}
        with self._open() as client:
            there = client.retrieve(self.part.collection, list(refs), with_payload=False, with_vectors=[VECTOR])
        whole = {str(record.id): cast("dict[str, list[float]]", record.vector)[VECTOR] for record in there}
        return {refs[point]: tuple(vector) for point, vector in whole.items()}

    def _size(self) -> int:
        """Points, roughly. Asked for each search: a server keeps the index open while it grows from small to large."""
        with self._open() as client:
            return client.count(self.part.collection, self._records(), exact=False).count

    def scan(self, *fields: str) -> Iterator[Mapping[str, Any]]:
        asked = list(fields) or True
        start = None
        while True:
            with self._open() as client:
                page, start = client.scroll(
                    self.part.collection, self._records(), limit=PAGE, offset=start, with_payload=asked
                )
            yield from (_plain(record.payload) for record in page)
            if start is None:
                return

    def count(self) -> int:
        with self._open() as client:
            return client.count(self.part.collection, self._records(), exact=True).count

    def close(self) -> None:
        """The connection is the store's; only this generation is given back."""
        self._closed = True

    def _put(self, points: Sequence[Point], state: Mapping[str, int], unless: FieldCondition | None) -> None:
        from qdrant_client.models import Filter, PointStruct

        own = {**self.part.marks, **state}
        condition = None if unless is None else Filter(must_not=[unless])
        for batch in batches(points):
            structs = [
                PointStruct(id=self.part.id(one.id), vector={VECTOR: list(one.vector)}, payload={**one.payload, **own})
                for one in batch
            ]
            self._upsert(structs, condition)

    def _upsert(self, points: list[PointStruct], condition: Filter | None = None) -> None:
        """A point that does not meet the condition stays as it is; one that is not there yet is written in any case."""
        from qdrant_client.models import WriteOrdering

        with self._open() as client:
            client.upsert(
                self.part.collection, points, wait=True, ordering=WriteOrdering.STRONG, update_filter=condition
            )

    def _delete(self, refs: Sequence[str], before: int | None) -> None:
        from qdrant_client.models import Filter

        spared = [] if before is None else [_state(gte=before)]
        chosen = Filter(must=[*self.part.bound(), is_one_of("ref", refs)], must_not=[*spared])
        with self._open() as client:
            remove(client, self.part.collection, chosen)

    def _filter(self, within: Within) -> Filter:
        from qdrant_client.models import Filter

        def said(fields: Sequence[tuple[str, tuple[str, ...]]]) -> list[FieldCondition]:
            return [is_one_of(name, values) for name, values in fields]

        asked = conditions(within)
        either = [Filter(should=[*said(asked.either)])] if asked.either else []
        return Filter(must=[*self.part.bound(), *said(asked.must), *either], must_not=[*said(asked.must_not)])

    def _records(self) -> Filter:
        """All its points but the checkpoint."""
        from qdrant_client.models import Filter, HasIdCondition

        spared = HasIdCondition(has_id=[self.part.id(CHECKPOINT_ID)])
        return Filter(must=[*self.part.bound()], must_not=[spared])

    @contextmanager
    def _open(self) -> Iterator[QdrantClient]:
        if self._closed:
            raise IndexUnavailable(f"the vector index {self.name} was closed")
        with self._way.open() as client:
            yield client


def new_generation(number: int) -> str:
    """`2.5f3a91c2`. No two that were ever begun have one name: who is late writes to nobody else's and removes none."""
    return f"{number}.{token_hex(4)}"


def number_of(generation: str) -> int:
    return int(generation.partition(".")[0])


def make_collection(client: QdrantClient, name: str, dimension: int) -> None:
    from qdrant_client.models import (
        Distance,
        HnswConfigDiff,
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
    client.create_collection(name, {VECTOR: params})


def index_fields(client: QdrantClient, name: str, *, by_tenants: bool = False) -> None:
    """Every field that a filter of ours names, so that a server in strict mode takes them too. Twice is once."""
    from qdrant_client.models import KeywordIndexParams, KeywordIndexType, PayloadSchemaType

    if is_local(client):  # which has no such indexes, and warns about it
        return
    if by_tenants:  # first of all, so that the points of a tenant lie together
        tenants = KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True)
        client.create_payload_index(name, TENANT, tenants, wait=True)
    for keyword in (*INDEXED_FIELDS, CHAIN, TOKEN, *((GENERATION, CURRENT) if by_tenants else ())):
        client.create_payload_index(name, keyword, PayloadSchemaType.KEYWORD, wait=True)
    client.create_payload_index(name, STATE, PayloadSchemaType.INTEGER, wait=True)


def remove(client: QdrantClient, collection: str, chosen: Filter) -> None:
    """Delete the points that are chosen, in one order among replicas, and wait until they are."""
    from qdrant_client.models import FilterSelector, WriteOrdering

    client.delete(collection, FilterSelector(filter=chosen), wait=True, ordering=WriteOrdering.STRONG)


def is_one_of(field_name: str, values: Sequence[str]) -> FieldCondition:
    from qdrant_client.models import FieldCondition, MatchAny

    return FieldCondition(key=field_name, match=MatchAny(any=list(values)))


def _has_token(token: str) -> FieldCondition | IsEmptyCondition:
    """Whether it is the very checkpoint that its writer knows; one that an older program has set has no token."""
    from qdrant_client.models import IsEmptyCondition, PayloadField

    return is_one_of(TOKEN, [token]) if token else IsEmptyCondition(is_empty=PayloadField(key=TOKEN))


def _state(*, gt: int | None = None, gte: int | None = None) -> FieldCondition:
    """What was written from a later position; or from that one too. A point that says nothing is older than all."""
    from qdrant_client.models import FieldCondition, Range

    return FieldCondition(key=STATE, range=Range(gt=gt, gte=gte))


def _plain(payload: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (payload or {}).items() if name not in OURS}


def _scan(points: int) -> SearchParams:
    """As Qdrant Edge scans: no graph is built, so this is the server's plain scan too."""
    from qdrant_client.models import QuantizationSearchParams, SearchParams

    if points < EXACT_BELOW:
        return SearchParams(exact=True)
    return SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING))


def overtaken_by(name: str | None) -> IndexUnavailable:
    """For a generation that is not the current one after its swap; `name`: which is."""
    if name is None:
        return IndexUnavailable("the new vector index did not become the current one", REBUILD)
    return IndexUnavailable(f"somebody else made {name} the current vector index meanwhile", REBUILD)
