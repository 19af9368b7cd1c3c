"""Verify: each SQL view against a scratch rebuild at the same position, and the domain's invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from domain.errors import ThtError
from projections.loop import LedgerReader, Progress, catch_up
from projections.view import View, ViewsFile


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: at which level, where, what, and the command that mends it."""

    level: str  # ledger, view, index, invariant
    where: str
    what: str
    mend: str

    def as_json(self) -> dict[str, Any]:
        return {"level": self.level, "where": self.where, "what": self.what, "mend": self.mend}


def verify_views(
    ledger: LedgerReader,
    file: ViewsFile,
    make_views: Callable[[], Sequence[View]],
    names: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[Finding]:
    """Level 2 and 4: every view's rows equal a scratch rebuild at its position, and its invariants hold."""
    for parked in file.parked():
        if not names or parked.name in names:
            yield Finding(
                "view",
                f"{parked.name}, {parked.stream}",
                f"parked at position {parked.position}: {parked.error}",
                f"tht projection replay {parked.name}",
            )
    for view in file.views:
        if names and view.name not in names:
            continue
        with file.reading():
            position = file.standing(view).position
            held = view.digests(file.db)
            broken = view.broken_invariants(file.db)
        fresh = next(one for one in make_views() if one.name == view.name)
        scratch = ViewsFile(None, [fresh], ledger.chain_at(0) or "")
        try:
            catch_up(ledger, scratch, until=position, progress=progress, fail_fast=True)
            expected = fresh.digests(scratch.db)
        except ThtError as error:
            yield Finding("view", view.name, f"it cannot be replayed: {error.message}", error.hint)
            continue
        finally:
            scratch.close()
        for table, digest in expected.items():
            if held[table] != digest:
                yield Finding(
                    "view",
                    f"{view.name}, {table}",
                    f"its rows at position {position} are not those that the ledger gives",
                    f"tht projection rebuild {view.name}",
                )
        for what in broken:
            yield Finding("invariant", view.name, what, f"tht projection rebuild {view.name}")
