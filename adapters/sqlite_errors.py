"""What SQLite and the library raise, in the domain's words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eventsourcing.persistence import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    PersistenceError,
)

from adapters.recorder import refuse_moved
from domain.errors import HomeNotWritable, LedgerDamaged, ThtError, Unavailable


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns what SQLite and the library raise into the domain's words. Lost races (IntegrityError) pass unchanged."""
    try:
        yield
    except (IntegrityError, sqlite3.IntegrityError) as error:
        refuse_moved(error)
        raise
    except ThtError:
        raise
    except (sqlite3.Error, PersistenceError) as error:
        raise explain(error, path) from error
    except UnicodeDecodeError as error:  # the message itself quotes damaged bytes
        raise LedgerDamaged(f"{path.name} is damaged: what SQLite says about it is no text") from error


def explain(error: Exception, path: Path) -> Unavailable:
    """The domain's error for a database failure."""
    text = str(error).lower()
    if any(word in text for word in ("malformed", "not a database", "corrupt", "could not decode")):
        return LedgerDamaged(f"{path.name} is damaged: {error}") if _is_ledger(path) else _damaged_view(path, error)
    if "no such table" in text:
        return LedgerDamaged(f"{path.name} is no ledger of tht: {error}")
    if "full" in text:
        return HomeNotWritable(f"no space left for {path}", "free some space, then run the command again")
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return HomeNotWritable(f"{path} cannot be written: {error}", "check the permissions of the home, or its disk")
    if "locked" in text or "busy" in text or "timed out" in text:
        return HomeNotWritable(f"{path.name} stayed locked by another process", "wait for it, then try again")
    if isinstance(error, (OperationalError, sqlite3.OperationalError, InterfaceError)):
        return HomeNotWritable(f"{path}: {error}", "check the disk and the permissions of the home")
    if isinstance(error, (DatabaseError, sqlite3.DatabaseError)):
        return LedgerDamaged(f"{path.name}: {error}")
    return HomeNotWritable(f"{path}: {error}", "check the disk and the permissions of the home")


def _is_ledger(path: Path) -> bool:
    return path.name.startswith("ledger")


def _damaged_view(path: Path, error: Exception) -> Unavailable:
    return HomeNotWritable(
        f"{path.name} is damaged: {error}", f"it holds nothing of its own: delete {path.name} and run the command again"
    )
