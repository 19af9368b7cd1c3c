"""The index compared with what it must hold: missing, stale, orphan, and how many live records have their vectors."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from projections.index import records
from projections.index.port import Checkpoint, VectorIndex, Within
from projections.refs import FACT, MEMORY, kind_of

PLURAL = {MEMORY: "memories", FACT: "facts"}


@dataclass(frozen=True, slots=True)
class IndexDrift:
    """How index and views differ at the index's position, as refs; `behind`: changed since, so not compared.

    `kinds`: how many records of each kind are covered, and how many are live.
    """

    missing: tuple[str, ...]
    stale: tuple[str, ...]
    orphan: tuple[str, ...]
    behind: tuple[str, ...]
    covered: int
    live: int
    deaf: bool = False  # it holds points, and a search finds none of them
    kinds: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        return bool(self.missing or self.stale or self.orphan or self.deaf)

    def but_for(self, db: sqlite3.Connection, position: int) -> IndexDrift:
        """Without what has changed after a position, where the views stood that were compared: another process may have
        written it to the index while that was read. `db`: the views at the head since."""
        later = frozenset(ref for ref, _ in records.changed_since(db, position))
        missing, stale, orphan = (_sorted({*refs} - later) for refs in (self.missing, self.stale, self.orphan))
        return replace(self, missing=missing, stale=stale, orphan=orphan, behind=_sorted(later.union(self.behind)))

    @property
    def coverage(self) -> dict[str, object]:
        """As JSON: in all, and for `memories` and `facts`."""
        each = {PLURAL[kind]: {"covered": covered, "live": live} for kind, (covered, live) in self.kinds.items()}
        return {"covered": self.covered, "live": self.live, **each}

    def __str__(self) -> str:
        if self.deaf:
            return "it holds points that no search finds"
        parts = (("missing", self.missing), ("stale", self.stale), ("orphan", self.orphan))
        return "; ".join(f"{word}: {', '.join(refs[:5])}" for word, refs in parts if refs)


def compare(db: sqlite3.Connection, index: VectorIndex) -> IndexDrift:
    """Index and views as sets of (ref, content hash)."""
    checkpoint = index.checkpoint()
    position = checkpoint.position if checkpoint else 0
    behind = frozenset(ref for ref, _ in records.changed_since(db, position))
    wanted = dict(records.live_hashes(db))
    held: dict[str, set[str]] = {}
    for payload in index.scan("ref", "content_hash"):
        held.setdefault(str(payload["ref"]), set()).add(str(payload["content_hash"]))
    live = Counter(kind_of(ref) for ref in wanted)
    covered = Counter(kind_of(ref) for ref in wanted if held.get(ref) == {wanted[ref]})
    return IndexDrift(
        missing=_sorted(ref for ref in wanted if ref not in held and ref not in behind),
        stale=_sorted(ref for ref in wanted if ref in held and held[ref] != {wanted[ref]} and ref not in behind),
        orphan=_sorted(ref for ref in held if ref not in wanted and ref not in behind),
        behind=_sorted(behind),
        covered=covered.total(),
        live=live.total(),
        deaf=bool(held) and checkpoint is not None and not _hears(index, checkpoint),
        kinds={kind: (covered[kind], live[kind]) for kind in PLURAL},
    )


def _hears(index: VectorIndex, checkpoint: Checkpoint) -> bool:
    """Whether a search finds anything: an engine may open damaged vectors without complaint and find nothing."""
    return bool(index.search([1.0] * checkpoint.dimension, Within(), limit=1))


def _sorted(refs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(refs))
