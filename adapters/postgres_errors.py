"""What PostgreSQL, psycopg and the library raise, in the domain's words; and which of it another try may mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from eventsourcing.persistence import IntegrityError, PersistenceError

from adapters.recorder import refuse_moved
from domain.errors import HomeNotWritable, LedgerDamaged, LedgerUnavailable, ThtError, Unavailable

# Connection lost or refused, server starting or stopping, too many clients, a deadlock, or the
# server ended a session that stood still: classes and codes of SQLSTATE
_PASSING = ("08", "57P01", "57P02", "57P03", "57P05", "53300", "40", "25P03", "25P04")


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turns what psycopg and the library raise into the domain's words. Lost races (IntegrityError) pass unchanged."""
    try:
        yield
    except IntegrityError as error:
        refuse_moved(error, _first_line(error))
        raise
    except ThtError:
        raise
    except (psycopg.Error, PersistenceError) as error:
        raise explain(error, place) from error


def passes(error: Exception) -> bool:
    """Whether the same may succeed in a moment: what was lost is the connection, and no statement was refused."""
    cause = _cause(error)
    if not isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)):
        return False
    if isinstance(cause, psycopg.InternalError):  # as such a session that stood still is ended, and much else
        return (cause.sqlstate or "").startswith(_PASSING)
    return cause.sqlstate is None or cause.sqlstate.startswith(_PASSING)


def begins_or_ends(error: Exception) -> bool:
    """Whether a connection was refused by a server that is there, and starting, recovering, stopping or full: libpq
    gives no code for it, and a server that speaks another language is not waited for."""
    said = str(error)
    return "the database system is" in said or "too many clients" in said or "remaining connection slots" in said


def explain(error: Exception, place: str) -> Unavailable:
    """The domain's error for a failure of the database."""
    cause = _cause(error)
    state = getattr(cause, "sqlstate", None) or ""
    said = " ".join(str(cause).split())
    if state in ("3F000", "42P01"):  # no such schema, no such table
        mend = "tht config get ledger.url says where it looks; bring the server's own backup back"
        return LedgerDamaged(f"{place} is no ledger of tht: {said}", mend)
    if state.startswith("XX") or "invalid page" in said:
        return LedgerDamaged(f"{place} is damaged: {said}", "restore the server's own backup, or tht restore FILE")
    if state == "55P03":
        return HomeNotWritable(f"{place} stayed locked by another process", "wait for it, then try again")
    if state in ("53100", "53200"):
        return HomeNotWritable(f"no space left for {place}: {said}", "free some space on the server, then try again")
    if state in ("42501", "25006"):
        return HomeNotWritable(f"{place} cannot be written: {said}", "ask for the rights: docs/postgres.md lists them")
    if passes(error):
        return LedgerUnavailable(f"{place} does not answer: {said}")
    return LedgerUnavailable(f"{place}: {said}", "tht doctor looks at it; docs/postgres.md says what is needed there")


def _cause(error: Exception) -> BaseException:
    """What psycopg said, below what the library has made of it."""
    return error.__cause__ if isinstance(error, PersistenceError) and error.__cause__ else error


def _first_line(error: IntegrityError) -> str:
    """What the server says, without where in its functions it came to say so. Empty when it says nothing."""
    cause = _cause(error)
    return (cause.diag.message_primary or "") if isinstance(cause, psycopg.Error) else ""
