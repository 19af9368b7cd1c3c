"""The index follows the ledger: catching up, and rebuilding beside the old one.

It cannot share a transaction with anything, so points are written first, idempotently, and the checkpoint last. Whoever
kills it anywhere gets the same index after catching up.

Of several processes that share one, the one whose turn it is writes. One that lost its turn and does not know yet is
found out by the checkpoint: each names the one that it follows, by a token that no other has, and whoever is overtaken
sets it back to where it had begun, so that what both have written is written again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice

from domain.errors import IndexOvertaken, IndexUnavailable, OtherHistory
from projections.index import records
from projections.index.compare import compare
from projections.index.points import points_of
from projections.index.port import Checkpoint, Embedder, IndexStore, Point, Still, Turn, VectorIndex, always, unshared
from projections.loop import LedgerReader, Progress

VERSION = 2  # 1 held memories alone
BATCH = 64  # records embedded and written between two looks at the clock
REBUILD_BATCH = 256  # nobody waits for a rebuild
TRIES = 3  # after being overtaken
MEND = "tht index rebuild makes it anew beside the old one"


def require_own_history(checkpoint: Checkpoint, ledger: LedgerReader) -> None:
    """OtherHistory when the index followed a ledger that is not this one, or more of it than there is."""
    chain = ledger.chain_at(checkpoint.position)
    if chain is None:
        head = ledger.head().position
        raise OtherHistory(f"the index is at position {checkpoint.position}, ahead of its ledger at {head}", MEND)
    if chain != checkpoint.chain:
        raise OtherHistory(f"the index follows another history at position {checkpoint.position}", MEND)


def require_version(checkpoint: Checkpoint) -> None:
    """IndexUnavailable for an index that another version of this program made."""
    if checkpoint.version != VERSION:
        newer = "use one version of this program on all nodes, or: " if checkpoint.version > VERSION else ""
        raise IndexUnavailable(
            f"the index is of version {checkpoint.version}, and this program makes version {VERSION}",
            f"{newer}tht index rebuild",
        )


def catch_up_index(
    ledger: LedgerReader,
    db: sqlite3.Connection,
    index: VectorIndex,
    embedder: Embedder,
    *,
    position: int,
    may_go_on: Callable[[], bool] = lambda: True,
    progress: Progress | None = None,
    idle: int = 0,
    turn: Turn = unshared,
    token: Callable[[], str],
) -> Checkpoint:
    """Bring the index to `position`, where the SQL views in `db` stand; returns where it got to.

    `may_go_on` is asked between batches, so that a search can keep to its time budget. Where nothing has changed that
    it holds, it is at `position` as it is: that is written down only when it is more than `idle` further on, as
    writing waits for the disk. `token` gives another each time, for the checkpoints that are set. `turn` is
    taken only to write; IndexBusy or IndexNotWritable when it cannot be had. Raises ModelUnavailable and
    IndexUnavailable with all before the failing batch kept.
    """
    checkpoint = _stored(index, ledger)
    if checkpoint.position >= position:
        return checkpoint
    if position - checkpoint.position <= idle and not records.changed_since(db, checkpoint.position):
        return _at(ledger, checkpoint, position)

    def follow(still: Still) -> Checkpoint:
        checkpoint = _stored(index, ledger)  # whoever had the turn before may have gone on
        if checkpoint.position >= position:
            return checkpoint
        changed = records.changed_since(db, checkpoint.position)
        for start in range(0, len(changed), BATCH):
            if not may_go_on():
                return checkpoint
            batch = changed[start : start + BATCH]
            points = _points(db, embedder, [ref for ref, _ in batch])  # takes long: the turn is looked at after it
            still()
            index.replace([ref for ref, _ in batch], points, position=position)
            checkpoint = _move(ledger, index, checkpoint, _reached(batch, changed[start + BATCH :]), token)
            if progress:
                progress(checkpoint.position, position)
        return _move(ledger, index, checkpoint, position, token)

    with turn() as still:
        for _ in range(TRIES - 1):
            with suppress(IndexOvertaken):
                return follow(still)
        return follow(still)


def _stored(index: VectorIndex, ledger: LedgerReader) -> Checkpoint:
    checkpoint = index.checkpoint()
    if checkpoint is None:
        raise IndexUnavailable("the index has no checkpoint: it was never completed", MEND)
    require_own_history(checkpoint, ledger)
    return checkpoint


def _reached(batch: Sequence[tuple[str, int]], rest: Sequence[tuple[str, int]]) -> int:
    """The position up to which nothing waits: one event may have changed more records than the batch held."""
    last = batch[-1][1]
    return last - 1 if rest and rest[0][1] == last else last


def _points(db: sqlite3.Connection, embedder: Embedder, refs: Sequence[str]) -> list[Point]:
    return points_of([found for ref in refs if (found := records.find_live(db, ref))], embedder)


def _at(ledger: LedgerReader, before: Checkpoint, position: int) -> Checkpoint:
    chain = ledger.chain_at(position)
    if chain is None:
        raise OtherHistory(f"the ledger does not reach position {position}", MEND)
    return replace(before, position=position, chain=chain)


def _move(
    ledger: LedgerReader, index: VectorIndex, before: Checkpoint, position: int, token: Callable[[], str]
) -> Checkpoint:
    after = replace(_at(ledger, before, position), token=token())
    try:
        index.save_checkpoint(after, after=before)
    except IndexOvertaken:
        _step_back(index, before, token)
        raise
    return after


def _step_back(index: VectorIndex, to: Checkpoint, token: Callable[[], str]) -> None:
    """What was written since `to` may stand beside what another wrote from a later state: from there it is redone.

    Where the index stands there or below already it is set all the same, with a new token: somebody who goes on from
    what stands there now may have been at these records before this one's writes arrived.
    """
    while (stands := index.checkpoint()) is not None:
        back = to if stands.position > to.position else stands
        with suppress(IndexOvertaken):
            index.save_checkpoint(replace(back, token=token()), after=stands)
            return


def rebuild_index(
    ledger: LedgerReader,
    db: sqlite3.Connection,
    store: IndexStore,
    embedder: Embedder,
    *,
    position: int,
    progress: Progress | None = None,
    still: Still = always,
    token: Callable[[], str],
) -> int:
    """A new generation with every live record, beside the old one, compared with the views, then swapped in.

    Returns the number of points. `position` is where the SQL views in `db` stand; `still` raises IndexNotWritable when
    it is not this process's turn any more.
    """
    fingerprint = embedder.fingerprint
    total = sum(1 for _ in records.live_hashes(db)) if progress else 0
    waiting = records.live(db)
    with _generation(store, fingerprint.dimension, still) as fresh:
        done = 0
        while batch := list(islice(waiting, REBUILD_BATCH)):
            points = points_of(batch, embedder)
            still()
            fresh.replace((), points, position=position)
            done += len(batch)
            if progress:
                progress(done, total)
        fresh.settle()
        chain = ledger.chain_at(position) or ""
        made_with = (fingerprint.key, fingerprint.model, VERSION)
        fresh.save_checkpoint(Checkpoint(position, chain, *made_with, token=token(), made_at=position))
        drift = compare(db, fresh)
        if drift.found:
            raise IndexUnavailable(f"the new index does not equal the views: {drift}", "the old one stays in place")
        count = fresh.count()
        still()
    return count


def empty_index(ledger: LedgerReader, store: IndexStore, made_with: Checkpoint | None, *, still: Still) -> None:
    """A new generation that holds nothing, at position 0, swapped in to be caught up. `made_with`: whose embedder it is
    for; None, where nobody knows, leaves it without a checkpoint, to be made anew."""
    with _generation(store, made_with.dimension if made_with else None, still) as fresh:
        if made_with:
            genesis = ledger.chain_at(0) or ""
            fresh.save_checkpoint(replace(made_with, position=0, chain=genesis, version=VERSION))
        still()


@contextmanager
def _generation(store: IndexStore, dimension: int | None, still: Still) -> Iterator[VectorIndex]:
    """One beside the current one, swapped in when it is filled, else discarded."""
    fresh = store.begin(dimension, still)
    try:
        yield fresh
    except BaseException:
        with suppress(IndexUnavailable):  # then the next `begin` removes it; what is told is why this one failed
            store.discard(fresh)
        raise
    store.swap(fresh)
