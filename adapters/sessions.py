"""Commands and queries of sessions: open, record, walk and roll back phases, choose memories to reuse, close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adapters.ledger import By, Committed, Draft
from adapters.session_history import session_as_told, session_envelopes
from adapters.workspace import Workspace
from domain import memory as memories
from domain import promotion, reuse
from domain import session as sessions
from domain.errors import HomeNotWritable, InvalidInput, NothingChanged, SessionExists, UnknownMemory, UnknownSession
from domain.event import Event
from domain.memory import Memory
from domain.promotion import Reviewer
from domain.session import NewDecision, Session
from domain.session_events import (
    PHASES,
    Phase,
    SessionOpened,
    session_stream,
)
from projections import registry
from projections.decisions import SessionRow, list_sessions
from projections.summary import Summary, summarise


@dataclass(frozen=True)
class Sessions:
    workspace: Workspace

    # -- commands

    def open(self, session_id: str, question: str, by: By, *, database: str = "") -> Committed:
        """Begin a session. Opening it again with the same question changes nothing; with another: SessionExists."""
        opened = sessions.open_session(session_id, question, database)

        def work(draft: Draft) -> None:
            stream = session_stream(session_id)
            before = draft.load(stream)
            if before:
                first = before[0].event
                assert isinstance(first, SessionOpened)
                if first == opened:
                    raise NothingChanged(f"session {session_id} is open already")
                raise SessionExists(f"session {session_id} exists with another question: {first.question}")
            draft.append(stream, (opened,))

        return self.workspace.ledger.transact(work, by, ("session.open", session_id, question, database))

    def record(self, session_id: str, new: NewDecision, by: By) -> Committed:
        """Record a decision. One that names a memory as its source is a person's, and is compared with that memory."""
        new = sessions.checked(new)

        def decide(session: Session, draft: Draft) -> Sequence[Event]:
            return (sessions.record(session, self._compared(draft, new, by)),)

        return self._decide(session_id, decide, by, ("session.record", session_id, *_fields(new)))

    def edit(self, session_id: str, seq: int, changes: NewDecision, by: By) -> Committed:
        """Say a clarification differently: the old one is retracted, the new one is its author's own."""

        def decide(session: Session, draft: Draft) -> Sequence[Event]:
            return sessions.edit(session, seq, self._compared(draft, changes, by), by.reason)

        return self._decide(session_id, decide, by, ("session.edit", session_id, seq, *_fields(changes)))

    def retract(self, session_id: str, seq: int, by: By) -> Committed:
        command = ("session.retract", session_id, seq)
        return self._decide(session_id, lambda session, _: sessions.retract(session, seq, by.reason), by, command)

    def enter(self, session_id: str, phase: str, by: By) -> Committed:
        """Go on to a later phase. F8 without a candidate closes its review by itself."""
        target = accept_phase(phase)
        command = ("session.enter", session_id, phase)
        return self._decide(session_id, lambda session, _: promotion.enter(session, target), by, command)

    def reopen(self, session_id: str, phase: str, by: By) -> Committed:
        target = accept_phase(phase)
        command = ("session.reopen", session_id, phase)
        return self._decide(session_id, lambda session, _: sessions.reopen(session, target), by, command)

    def roll_back(self, session_id: str, phase: str, by: By) -> Committed:
        target = accept_phase(phase)
        command = ("session.rollback", session_id, phase)
        return self._decide(session_id, lambda session, _: sessions.roll_back(session, target), by, command)

    def close(self, session_id: str, by: By) -> Committed:
        command = ("session.close", session_id)
        return self._decide(session_id, lambda session, _: promotion.close(session), by, command)

    def choose(self, session_id: str, offered: Sequence[str], selected: Sequence[str], by: By) -> Committed:
        """F2's single choice, a person's: each selected memory becomes a clarification of this session, others wait."""
        self.workspace.caught_up()

        def decide(session: Session, draft: Draft) -> Sequence[Event]:
            found = {memory_id: load_memory(draft, self.workspace, memory_id) for memory_id in dict.fromkeys(offered)}
            return reuse.choose(session, found, selected, Reviewer(by.actor))

        return self._decide(session_id, decide, by, ("memory.decide", session_id, list(offered), list(selected)))

    # -- queries

    def get(self, session_id: str, until: int | None = None) -> Session:
        """The session now, or as it was at a position."""
        return session_as_told(self.workspace.ledger, session_id, until)

    def list(self, *, limit: int, offset: int = 0, status: str = "") -> tuple[list[SessionRow], int]:
        return list_sessions(self.workspace.caught_up(), limit=limit, offset=offset, status=status)

    def summary(self, session_id: str, until: int | None = None) -> Summary:
        summary = summarise(session_envelopes(self.workspace.ledger, session_id, until))
        assert summary is not None
        return summary

    # -- parts

    def _decide(
        self,
        session_id: str,
        decide: Callable[[Session, Draft], Sequence[Event]],
        by: By,
        command: Sequence[object],
    ) -> Committed:
        def work(draft: Draft) -> None:
            session = load_session(draft, session_id)
            draft.append(session_stream(session_id), decide(session, draft))

        return self.workspace.ledger.transact(work, by, command)

    def _compared(self, draft: Draft, new: NewDecision, by: By) -> NewDecision:
        if new.source_memory is None:
            return new
        promotion.require_person(Reviewer(by.actor))
        self.workspace.caught_up()
        return replace(new, source_changed=reuse.changes(new, load_memory(draft, self.workspace, new.source_memory)))


def accept_phase(phase: str) -> Phase:
    """The phase of this name. InvalidInput lists them."""
    for known in PHASES:
        if known == phase.upper():
            return known
    raise InvalidInput(f"{phase!r} is no phase", f"one of: {', '.join(PHASES)}")


def load_session(draft: Draft, session_id: str) -> Session:
    """The session for a command. UnknownSession when there is none."""
    session = sessions.fold(draft.load(session_stream(session_id)))
    if session is None:
        raise UnknownSession(f"there is no session {session_id!r}")
    return session


def load_memory(draft: Draft, workspace: Workspace, memory_id: str) -> Memory:
    """The memory for a command, from its own stream; the registry only says which stream that is."""
    entry = registry.find_entry(workspace.file.db, memory_id)
    if entry is None:
        raise UnknownMemory(f"there is no memory {memory_id!r}")
    memory = memories.fold(draft.load(entry.stream))
    if memory is None or memory.memory_id != memory_id:  # nothing is written on the word of a view
        raise HomeNotWritable(
            f"the view registry says that {memory_id} is another memory than its stream does",
            "tht projection rebuild registry makes it anew",
        )
    return memory


def _fields(new: NewDecision) -> tuple[object, ...]:
    return (
        new.type,
        new.subject,
        new.detail,
        new.rationale,
        new.phase,
        new.question_context,
        list(new.concepts),
        list(new.tables),
        new.source_memory,
    )
