"""A real registry with given memories, for tests of what looks into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.ledger import Ledger
from domain.memory import MemoryRecorded, MemoryRetired, Source, memory_stream
from domain.text import memory_id
from projections.decisions import DecisionsView
from projections.loop import catch_up
from projections.registry import RegistryView
from projections.view import ViewsFile
from tests.projections.ledgers import append, new_ledger, open_views


def remember(ledger: Ledger, number: int, subject: str, detail: str) -> None:
    """Record `mem-<number>`."""
    recorded = MemoryRecorded(
        memory_id=memory_id(number),
        type="concept_clarified",
        subject=subject,
        detail=detail,
        sources=(Source(session_id="s1", seq=number),),
    )
    append(ledger, memory_stream(subject, detail), recorded, actor="human:ada")


def retire(ledger: Ledger, number: int, subject: str, detail: str) -> None:
    append(ledger, memory_stream(subject, detail), MemoryRetired(memory_id=memory_id(number)), actor="human:ada")


@contextmanager
def registry_of(folder: Path, *memories: tuple[str, str]) -> Iterator[tuple[Ledger, ViewsFile]]:
    """Memories numbered from 1, and the view that holds them."""
    with new_ledger(folder) as ledger:
        for number, (subject, detail) in enumerate(memories, start=1):
            remember(ledger, number, subject, detail)
        file = open_views(ledger, folder / "views.sqlite3", DecisionsView(), RegistryView())
        catch_up(ledger, file)
        yield ledger, file
        file.close()


def db_of(made: tuple[Ledger, ViewsFile]) -> sqlite3.Connection:
    ledger, file = made
    catch_up(ledger, file)
    return file.db
