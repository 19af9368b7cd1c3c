"""A session as its events tell it, for whoever only reads."""

from __future__ import annotations

from adapters.ledger import Ledger
from domain import session as sessions
from domain.errors import UnknownSession
from domain.event import Envelope
from domain.session import Session
from domain.session_events import session_stream


def session_envelopes(ledger: Ledger, session_id: str, until: int | None = None) -> list[Envelope]:
    """The session's events, those up to a position. UnknownSession when it had none by then."""
    found = ledger.load(session_stream(session_id))
    found = [envelope for envelope in found if until is None or envelope.position <= until]
    if not found:
        raise UnknownSession(f"there is no session {session_id!r}" + (f" at position {until}" if until else ""))
    return found


def session_as_told(ledger: Ledger, session_id: str, until: int | None = None) -> Session:
    """The session now, or as it was at a position. UnknownSession when it had no event by then."""
    session = sessions.fold(session_envelopes(ledger, session_id, until))
    assert session is not None
    return session
