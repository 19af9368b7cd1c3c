"""What PostgreSQL, psycopg and the library raise, in the domain's words; and which of it another try may mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from eventsourcing.persistence import IntegrityError, PersistenceError
from psycopg.pq import ConnStatus, PGconn, Ping, abc

from adapters.recorder import refuse_moved
from domain.errors import HomeNotWritable, LedgerDamaged, LedgerUnavailable, ThtError, Unavailable

# Connection lost or refused, server starting or stopping, too many clients, a deadlock, or the
# server ended a session that stood still: classes and codes of SQLSTATE
_PASSING = ("08", "57P01", "57P02", "57P03", "57P05", "53300", "40", "25P03", "25P04")

_FOR_A_MOMENT = ("the database system is", "too many clients", "too many connections", "remaining connection slots")
_PATIENCE = 5  # seconds for each look whether a server is there
_WAY_IN = (
    "look at user, password and database: they are those of THT_LEDGER_URL or ledger.url, the password also that of "
    "PGPASSWORD or ~/.pgpass (docs/postgres.md)"
)


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


def begins_or_ends(error: BaseException | str) -> bool:
    """Whether a connection was refused by a server that is there, and starting, recovering, stopping or full: libpq
    gives no code for it, and a server that speaks another language is not waited for."""
    return any(words in str(error) for words in _FOR_A_MOMENT)


def was_refused(error: Exception) -> bool:
    """Whether a connection failed though the server is there and takes connections: it refused user, password or
    database, and will again.

    libpq gives no code for it, and the server's words are in its own language. So it is asked before and after another
    try, as the failure may be older than the server's start.
    """
    cause = _cause(error)
    found = cause.pgconn if isinstance(cause, psycopg.OperationalError) else None
    if found is None or isinstance(cause, psycopg.errors.ConnectionTimeout) or begins_or_ends(cause):
        return False
    if found.needs_password:
        return True
    conninfo = _way(found)
    if PGconn.ping(conninfo) != Ping.OK:
        return False
    again = PGconn.connect(conninfo)
    failed = again.status != ConnStatus.OK and not begins_or_ends(again.error_message.decode(errors="replace"))
    again.finish()
    return failed and PGconn.ping(conninfo) == Ping.OK


def is_there(error: Exception) -> bool:
    """Whether the server of a connection that could not be made is there all the same, as one that ended it again."""
    cause = _cause(error)
    if not isinstance(cause, psycopg.OperationalError):
        return False
    return cause.sqlstate is not None or (cause.pgconn is not None and PGconn.ping(_way(cause.pgconn)) == Ping.OK)


def _way(connection: abc.PGconn) -> bytes:
    way = {one.keyword.decode(): one.val.decode() for one in connection.info if one.val is not None}
    return psycopg.conninfo.make_conninfo("", **way | {"connect_timeout": _PATIENCE}).encode()


def explain(error: Exception, place: str) -> Unavailable:
    """The domain's error for a failure of the database."""
    cause = _cause(error)
    state = getattr(cause, "sqlstate", None) or ""
    said = " ".join(str(cause).split())
    if state in ("3F000", "42P01"):  # no such schema, no such table
        mend = (
            "look at the address first: tht config get ledger.url, THT_LEDGER_URL; if it is the right one, the"
            " schema is gone, or changed: bring the server's own backup back"
        )
        return LedgerDamaged(f"{place}: this workspace's ledger is not there", mend)
    if state.startswith("XX") or "invalid page" in said:
        return LedgerDamaged(f"{place} is damaged: {said}", "restore the server's own backup, or tht restore FILE")
    if state == "55P03":
        return HomeNotWritable(f"{place} stayed locked by another process", "wait for it, then try again")
    if state in ("53100", "53200"):
        return HomeNotWritable(f"no space left for {place}: {said}", "free some space on the server, then try again")
    if state in ("42501", "25006"):
        return HomeNotWritable(f"{place} cannot be written: {said}", "ask for the rights: docs/postgres.md lists them")
    if was_refused(error):
        return LedgerUnavailable(f"{place} does not let us in: {said}", _WAY_IN)
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
