"""The vector index on a Qdrant server or cluster: one collection a generation, an alias names the current one.

    tht-default-2.5f3a91c2     a collection: generation 2
    tht-default                the alias to the current one

Whoever rebuilds has the turn to write (`index_turn`). Of two at once all the same, the one whose turn it is removes the
other's collection, which is then told that it is gone. The current collection is never touched: removed is what was
there before one's own turn was made sure of, and is not the current one after that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from adapters.qdrant_collection import (
    Part,
    ServerIndex,
    index_fields,
    make_collection,
    new_generation,
    number_of,
    overtaken_by,
)
from adapters.qdrant_connection import Way, is_local
from domain.errors import IndexUnavailable, InvalidInput, Refused
from projections.index.port import IndexStore, Still, VectorIndex, always

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def require_name(prefix: str) -> str:
    """InvalidInput for what cannot name a collection."""
    if not _PREFIX.fullmatch(prefix):
        raise InvalidInput(f"{prefix!r} cannot name a collection: letters, digits and . _ - only")
    return prefix


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
        self._prefix = require_name(prefix)
        self._way = Way(url, api_key, client, timeout)

    def current(self) -> VectorIndex | None:
        with self._way.open() as client:
            name = self._alias_target(client)
            return None if name is None else self._index(client, name)

    def is_current(self, index: VectorIndex) -> bool:
        with self._way.open() as client:
            return isinstance(index, ServerIndex) and index.name == self._alias_target(client)

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        with self._way.open() as client:
            taken = self._generations(client)
            still()  # after the look: what the next one makes, whose turn it may be from now on, is not among them
            current = self._alias_target(client)
            for leftover in taken:
                if leftover != current:
                    client.delete_collection(leftover)
            name = f"{self._prefix}-{new_generation(max(taken.values(), default=0) + 1)}"
            make_collection(client, name, dimension or 1)
            index_fields(client, name)
            return self._index(client, name)

    def swap(self, fresh: VectorIndex) -> None:
        """Killed before the alias moves: the old one is current. After: the new one, and a leftover stays."""
        from qdrant_client.models import CreateAlias, CreateAliasOperation

        name = self._own(fresh)
        fresh.close()
        with self._way.open() as client:
            old = self._alias_target(client)
            alias = CreateAlias(collection_name=name, alias_name=self._prefix)
            client.update_collection_aliases([CreateAliasOperation(create_alias=alias)])
            if (seen := self._alias_target(client)) != name:  # an alias that exists is moved without a word
                raise overtaken_by(seen)
            if old is not None:
                client.delete_collection(old)

    def discard(self, fresh: VectorIndex) -> None:
        name = self._own(fresh)
        fresh.close()
        with self._way.open() as client:
            client.delete_collection(name)

    def describe(self) -> Mapping[str, str]:
        """A server that does not answer is described as such, not raised: doctor and status show it."""
        try:
            with self._way.open() as client:
                current = self._alias_target(client) or "none"
                leftovers = ", ".join(name for name in self._generations(client) if name != current)
        except IndexUnavailable as away:
            current, leftovers = f"unknown: {away.message}", ""
        told = {"engine": "Qdrant server", "where": self._way.where, "alias": self._prefix}
        return {**told, "current": current, "leftovers": leftovers or "none"}

    def close(self) -> None:
        """Close the connection, if this store made it. Safe to call twice."""
        self._way.close()

    def _index(self, client: QdrantClient, name: str) -> ServerIndex:
        return ServerIndex(self._way, Part(name), local=is_local(client))

    def _own(self, fresh: VectorIndex) -> str:
        if not isinstance(fresh, ServerIndex) or self._generation(fresh.name) is None:
            raise Refused("this generation of the vector index is not from this store")
        with self._way.open() as client:
            if self._alias_target(client) == fresh.name:
                raise Refused(f"{fresh.name} is the current generation of the vector index already")
        return fresh.name

    def _alias_target(self, client: QdrantClient) -> str | None:
        aliases = client.get_aliases().aliases
        return next((one.collection_name for one in aliases if one.alias_name == self._prefix), None)

    def _generations(self, client: QdrantClient) -> dict[str, int]:
        """Each of its collections with its number, the least first."""
        names = [one.name for one in client.get_collections().collections]
        found = {name: number for name in names if (number := self._generation(name)) is not None}
        return dict(sorted(found.items(), key=lambda one: one[1]))

    def _generation(self, name: str) -> int | None:
        """Which one a collection is; None for another's."""
        match = re.fullmatch(re.escape(self._prefix) + r"-(\d+\.[0-9a-f]{8})", name)
        return number_of(match[1]) if match else None
