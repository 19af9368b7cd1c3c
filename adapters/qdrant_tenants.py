"""The vector index in collections that workspaces share: one for each length of vector, a tenant key in each point.

    shared-384         a collection; each point carries its tenant (the ledger's id) and its generation
    a pointer          a point without vector for each tenant: which of its generations is the current one

For a server with more workspaces than it bears collections. Every call is bound to tenant and generation, the ids of
points too, so that no workspace meets another's. A rebuild writes points of the next generation beside the current
ones; one write to the pointer, made only where it is what it was, swaps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid5

from adapters.qdrant_collection import (
    CURRENT,
    GENERATION,
    TENANT,
    Part,
    ServerIndex,
    index_fields,
    is_one_of,
    make_collection,
    new_generation,
    number_of,
    overtaken_by,
    remove,
)
from adapters.qdrant_connection import Way, is_local
from adapters.qdrant_points import REBUILD
from adapters.qdrant_server import require_name
from domain.errors import IndexUnavailable, Refused
from projections.index.points import POINTS
from projections.index.port import IndexStore, Still, VectorIndex, always

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Filter


MOST = 1_000  # generations of one tenant in a collection


@dataclass(frozen=True, order=True)
class Pointer:
    """Which generation of a tenant is the current one. A later one is greater."""

    number: int
    generation: str
    collection: str


class TenantStore(IndexStore):
    """The part of one tenant in the collections `<name>-<dimension>`; the rest as `ServerStore`."""

    def __init__(
        self,
        name: str,
        tenant: str,
        *,
        url: str = "",
        api_key: str | None = None,
        client: QdrantClient | None = None,
        timeout: int = 10,
    ) -> None:
        self._name, self._way = require_name(name), Way(url, api_key, client, timeout)
        self._tenant, self._pointer_id = tenant, str(uuid5(POINTS, f"{tenant}/current"))

    def current(self) -> VectorIndex | None:
        with self._way.open() as client:
            pointer = self._pointer(client)
            return None if pointer is None else self._index(client, pointer.collection, pointer.generation)

    def is_current(self, index: VectorIndex) -> bool:
        with self._way.open() as client:
            return isinstance(index, ServerIndex) and index.part == self._part(self._pointer(client))

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        with self._way.open() as client:
            taken = self._generations(client)
            still()  # after the look: what the next one makes, whose turn it may be from now on, is not among them
            pointer = self._pointer(client)
            self._clear(client, taken, pointer)
            name = self._made(client, dimension, pointer)
            number = pointer.number + 1 if pointer else 1
            return self._index(client, name, new_generation(number))

    def swap(self, fresh: VectorIndex) -> None:
        """Killed before the pointer is written: the old one is current. After: the new one, and leftovers stay."""
        part = self._own(fresh)
        fresh.close()
        with self._way.open() as client:
            taken = self._generations(client)  # not after the swap, when the next one may have begun
            old = self._pointer(client)
            if old is None or old.number < number_of(part.marks[GENERATION]):  # else another has come since `begin`
                self._point_to(client, part, old)
            if (seen := self._pointer(client)) is None or self._part(seen) != part:
                remove(client, part.collection, part.whole())
                raise overtaken_by(seen.generation if seen else None)
            self._clear(client, taken, seen)

    def discard(self, fresh: VectorIndex) -> None:
        part = self._own(fresh)
        fresh.close()
        with self._way.open() as client:
            remove(client, part.collection, part.whole())

    def describe(self) -> Mapping[str, str]:
        """A server that does not answer is described as such, not raised: doctor and status show it."""
        try:
            with self._way.open() as client:
                pointer = self._pointer(client)
                current = self._part(pointer).name if pointer else "none"
                left = sum(
                    client.count(name, self._leftovers(name, pointer), exact=True).count for name in self._names(client)
                )
        except IndexUnavailable as away:
            current, left = f"unknown: {away.message}", 0
        told = {"engine": "Qdrant server", "where": self._way.where, "collection": self._name, "tenant": self._tenant}
        return {**told, "current": current, "leftovers": f"{left:,} points of other generations" if left else "none"}

    def close(self) -> None:
        """Close the connection, if this store made it. Safe to call twice."""
        self._way.close()

    # -- parts

    def _index(self, client: QdrantClient, collection: str, generation: str) -> ServerIndex:
        part = Part(collection, {TENANT: self._tenant, GENERATION: generation})
        return ServerIndex(self._way, part, local=is_local(client))

    def _part(self, pointer: Pointer | None) -> Part:
        """The part that a pointer names; without one, one that no generation has."""
        if pointer is None:
            return Part("", {TENANT: self._tenant})
        return Part(pointer.collection, {TENANT: self._tenant, GENERATION: pointer.generation})

    def _own(self, fresh: VectorIndex) -> Part:
        if not isinstance(fresh, ServerIndex) or fresh.part.marks.get(TENANT) != self._tenant:
            raise Refused("this generation of the vector index is not from this store")
        if self.is_current(fresh):
            raise Refused(f"{fresh.name} is the current generation of the vector index already")
        return fresh.part

    def _names(self, client: QdrantClient) -> Iterator[str]:
        for one in client.get_collections().collections:
            name, _, dimension = one.name.rpartition("-")
            if name == self._name and dimension.isdecimal():
                yield one.name

    def _made(self, client: QdrantClient, dimension: int | None, pointer: Pointer | None) -> str:
        """The collection for this length of vector. What stays empty is put where the tenant is, or any other: it is
        worth no collection, which would stay for all of them."""
        if dimension is None:
            found = pointer.collection if pointer else next(self._names(client), None)
            if found is None:
                raise IndexUnavailable(f"there is no collection {self._name}-…", REBUILD)
            return found
        name = f"{self._name}-{dimension}"
        self._make(client, name, dimension)
        return name

    def _make(self, client: QdrantClient, name: str, dimension: int) -> None:
        if not client.collection_exists(name):
            try:
                make_collection(client, name, dimension)
            except Exception:
                if not client.collection_exists(name):  # else another tenant was faster
                    raise
        index_fields(client, name, by_tenants=True)  # whoever made it may have died before

    def _pointer(self, client: QdrantClient) -> Pointer | None:
        """After a swap between lengths of vector that was killed there may be two: the later one holds."""
        return max(self._pointers(client), default=None)

    def _pointers(self, client: QdrantClient) -> Iterator[Pointer]:
        from qdrant_client.models import ReadConsistencyType

        for name in self._names(client):
            majority = ReadConsistencyType.MAJORITY
            for record in client.retrieve(name, [self._pointer_id], with_payload=True, consistency=majority):
                generation = str((record.payload or {}).get(CURRENT, "0"))
                yield Pointer(number_of(generation), generation, name)

    def _point_to(self, client: QdrantClient, part: Part, old: Pointer | None) -> None:
        """Only where the pointer still is what it was; where there was none, only if there is none still."""
        from qdrant_client.models import Filter, HasIdCondition, PointStruct, WriteOrdering

        here, strong = HasIdCondition(has_id=[self._pointer_id]), WriteOrdering.STRONG
        payload: dict[str, Any] = {TENANT: self._tenant, CURRENT: part.marks[GENERATION]}
        if old is not None and old.collection == part.collection:
            same = Filter(must=[here, is_one_of(CURRENT, [old.generation])])
            client.set_payload(part.collection, payload, same, wait=True, ordering=strong)
        else:
            point, never = PointStruct(id=self._pointer_id, vector={}, payload=payload), Filter(must_not=[here])
            client.upsert(part.collection, [point], wait=True, ordering=strong, update_filter=never)

    def _leftovers(self, collection: str, pointer: Pointer | None) -> Filter:
        """All of this tenant's points there but the current generation's and its pointer."""
        from qdrant_client.models import Filter, HasIdCondition

        mine = is_one_of(TENANT, [self._tenant])
        if pointer is None or pointer.collection != collection:
            return Filter(must=[mine])
        spared = HasIdCondition(has_id=[self._pointer_id])
        return Filter(must=[mine], must_not=[is_one_of(GENERATION, [pointer.generation]), spared])

    def _generations(self, client: QdrantClient) -> dict[str, set[str]]:
        """Those of this tenant that there are points of, by collection."""
        from qdrant_client.models import Filter

        found: dict[str, set[str]] = {}
        mine = Filter(must=[is_one_of(TENANT, [self._tenant])])
        for name in self._names(client):
            index_fields(client, name, by_tenants=True)  # which counting by a field needs
            hits = client.facet(name, GENERATION, facet_filter=mine, limit=MOST, exact=True).hits
            found[name] = {str(hit.value) for hit in hits}
        for pointer in self._pointers(client):
            found.setdefault(pointer.collection, set()).add(pointer.generation)
        return found

    def _clear(self, client: QdrantClient, taken: Mapping[str, set[str]], pointer: Pointer | None) -> None:
        """What was there of generations that are not the current one, and the pointers to them."""
        from qdrant_client.models import Filter

        mine = is_one_of(TENANT, [self._tenant])
        for name, generations in taken.items():
            here = pointer is not None and pointer.collection == name
            gone = sorted(generations - ({pointer.generation} if pointer and here else set()))
            if gone:
                remove(
                    client, name, Filter(must=[mine], should=[is_one_of(GENERATION, gone), is_one_of(CURRENT, gone)])
                )
