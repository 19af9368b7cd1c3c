"""The index follows the ledger: catching up, rebuilding beside the old one, and comparing it with the registry.

It cannot share a transaction with anything, so points are written first, idempotently, and the checkpoint last. Whoever
kills it anywhere gets the same index after catching up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from domain.errors import IndexUnavailable, OtherHistory
from projections import registry
from projections.index.points import point_id
from projections.index.port import Checkpoint, Embedder, IndexStore, Point, VectorIndex
from projections.loop import LedgerReader, Progress
from projections.record import Record

VERSION = 1
BATCH = 64  # records embedded and written between two looks at the clock
REBUILD_BATCH = 256  # nobody waits for a rebuild
MEND = "tht index rebuild makes it anew beside the old one"


def memory_ref(memory_id: str) -> str:
    return f"memory:{memory_id}"


def points_of(records: Sequence[tuple[Record, str, int]], embedder: Embedder) -> list[Point]:
    """One point a chunk of each record's index text. Records come with content hash and position."""
    pieces = [
        (record, content_hash, position, number, chunk)
        for record, content_hash, position in records
        for number, chunk in enumerate(embedder.chunks(record.index_text))
    ]
    vectors = embedder.embed_documents([chunk for *_, chunk in pieces])
    return [
        Point(
            point_id(memory_ref(record.id), number),
            vector,
            {
                "ref": memory_ref(record.id),
                "kind": "memory",
                "chunk": number,
                "subject": record.subject,
                "detail": record.detail,
                "rationale": record.rationale,
                "tables": list(record.tables),
                "concepts": list(record.concepts),
                "content_hash": content_hash,
                "position": position,
            },
        )
        for (record, content_hash, position, number, _), vector in zip(pieces, vectors, strict=True)
    ]


def require_own_history(checkpoint: Checkpoint, ledger: LedgerReader) -> None:
    """OtherHistory when the index followed a ledger that is not this one, or more of it than there is."""
    chain = ledger.chain_at(checkpoint.position)
    if chain is None:
        head = ledger.head().position
        raise OtherHistory(f"the index is at position {checkpoint.position}, ahead of its ledger at {head}", MEND)
    if chain != checkpoint.chain:
        raise OtherHistory(f"the index follows another history at position {checkpoint.position}", MEND)


def catch_up_index(
    ledger: LedgerReader,
    db: sqlite3.Connection,
    index: VectorIndex,
    embedder: Embedder,
    *,
    position: int,
    may_go_on: Callable[[], bool] = lambda: True,
    progress: Progress | None = None,
) -> Checkpoint:
    """Bring the index to `position`, where the SQL views in `db` stand; returns where it got to.

    `may_go_on` is asked between batches, so that a search can keep to its time budget. Raises ModelUnavailable and
    IndexUnavailable with everything before the failing batch kept.
    """
    checkpoint = index.checkpoint()
    if checkpoint is None:
        raise IndexUnavailable("the index has no checkpoint: it was never completed", MEND)
    require_own_history(checkpoint, ledger)
    if checkpoint.position >= position:
        return checkpoint
    changed = registry.changed_since(db, checkpoint.position)
    for start in range(0, len(changed), BATCH):
        if not may_go_on():
            return checkpoint
        batch = changed[start : start + BATCH]
        _write(db, index, embedder, [memory_id for memory_id, _ in batch])
        checkpoint = _move(ledger, index, checkpoint, batch[-1][1])
        if progress:
            progress(checkpoint.position, position)
    return _move(ledger, index, checkpoint, position)


def _write(db: sqlite3.Connection, index: VectorIndex, embedder: Embedder, memory_ids: Sequence[str]) -> None:
    live = [found for memory_id in memory_ids if (found := registry.live_record(db, memory_id))]
    points = points_of(live, embedder)
    index.delete_refs([memory_ref(memory_id) for memory_id in memory_ids])
    if points:
        index.upsert(points)


def _move(ledger: LedgerReader, index: VectorIndex, before: Checkpoint, position: int) -> Checkpoint:
    chain = ledger.chain_at(position)
    if chain is None:
        raise OtherHistory(f"the ledger does not reach position {position}", MEND)
    after = Checkpoint(position, chain, before.fingerprint, before.model, before.version)
    index.save_checkpoint(after)
    return after


def rebuild_index(
    ledger: LedgerReader,
    db: sqlite3.Connection,
    store: IndexStore,
    embedder: Embedder,
    *,
    position: int,
    progress: Progress | None = None,
) -> int:
    """A new generation with every live record, beside the old one, compared with the registry, then swapped in.

    Returns the number of points. `position` is where the SQL views in `db` stand.
    """
    fingerprint = embedder.fingerprint
    records = list(registry.live_records(db))
    fresh = store.begin(fingerprint.dimension)
    try:
        for start in range(0, len(records), REBUILD_BATCH):
            batch = records[start : start + REBUILD_BATCH]
            fresh.upsert(points_of(batch, embedder))
            if progress:
                progress(start + len(batch), len(records))
        chain = ledger.chain_at(position) or ""
        fresh.save_checkpoint(Checkpoint(position, chain, fingerprint.key, fingerprint.model, VERSION))
        drift = compare(db, fresh)
        if drift.found:
            raise IndexUnavailable(f"the new index does not equal the registry: {drift}", "the old one stays in place")
        count = fresh.count()
    except BaseException:
        store.discard(fresh)
        raise
    store.swap(fresh)
    return count


@dataclass(frozen=True, slots=True)
class IndexDrift:
    """How index and registry differ at the index's position, as refs; `behind`: changed since, so not compared."""

    missing: tuple[str, ...]
    stale: tuple[str, ...]
    orphan: tuple[str, ...]
    behind: tuple[str, ...]
    covered: int
    live: int
    deaf: bool = False  # it holds points, and a search finds none of them

    @property
    def found(self) -> bool:
        return bool(self.missing or self.stale or self.orphan or self.deaf)

    def __str__(self) -> str:
        if self.deaf:
            return "it holds points that no search finds"
        parts = (("missing", self.missing), ("stale", self.stale), ("orphan", self.orphan))
        return "; ".join(f"{word}: {', '.join(refs[:5])}" for word, refs in parts if refs)


def compare(db: sqlite3.Connection, index: VectorIndex) -> IndexDrift:
    """Index and registry as sets of (ref, content hash)."""
    checkpoint = index.checkpoint()
    position = checkpoint.position if checkpoint else 0
    behind = frozenset(memory_ref(memory_id) for memory_id, _ in registry.changed_since(db, position))
    wanted = {memory_ref(memory_id): content_hash for memory_id, content_hash in registry.live_hashes(db)}
    held: dict[str, set[str]] = {}
    for payload in index.scan():
        held.setdefault(str(payload["ref"]), set()).add(str(payload["content_hash"]))
    return IndexDrift(
        missing=_sorted(ref for ref in wanted if ref not in held and ref not in behind),
        stale=_sorted(ref for ref in wanted if ref in held and held[ref] != {wanted[ref]} and ref not in behind),
        orphan=_sorted(ref for ref in held if ref not in wanted and ref not in behind),
        behind=_sorted(behind),
        covered=sum(1 for ref in wanted if held.get(ref) == {wanted[ref]}),
        live=len(wanted),
        deaf=bool(held) and checkpoint is not None and not _hears(index, checkpoint),
    )


def _hears(index: VectorIndex, checkpoint: Checkpoint) -> bool:
    """Whether a search finds anything: an engine may open damaged vectors without complaint and find nothing."""
    dimension = int(checkpoint.fingerprint.rpartition("/")[2])
    return bool(index.search([1.0] * dimension, kind="memory", limit=1))


def _sorted(refs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(refs))
