"""F2: a person chooses among known memories. Nothing is applied by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from domain import memory as memories
from domain import session as sessions
from domain.errors import InvalidInput, NothingChanged
from domain.event import Event
from domain.memory import Memory
from domain.promotion import Reviewer, require_person
from domain.session import NewDecision, Session
from domain.session_events import REUSE_PHASE, ConceptClarified
from domain.text import content_key


def choose(
    session: Session, offered: Mapping[str, Memory], selected: Sequence[str], reviewer: Reviewer
) -> tuple[Event, ...]:
    """The one choice: each selected memory becomes a clarification of this session, the others are set aside.

    InvalidInput for what was not offered, ReviewerNeeded for who is no person, MemoryNotLive, NothingChanged.
    """
    require_person(reviewer)
    unknown = [one for one in selected if one not in offered]
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} was not offered", "--select takes ids from --offered")
    reused: list[Event] = []
    for memory_id in dict.fromkeys(selected):
        if memory_id in session.decided_memories:
            raise NothingChanged(f"{memory_id} was decided in session {session.session_id} already")
        memories.require_live(offered[memory_id])
        reused.append(_reused(session, offered[memory_id], len(session.decisions) + len(reused) + 1))
    aside = sessions.set_aside(session, [memory_id for memory_id in offered if memory_id not in selected])
    if not reused and not aside:
        raise NothingChanged(f"all of {', '.join(offered)} were decided in session {session.session_id} already")
    return (*sessions.enter_reuse(session), *reused, *aside)


def changes(new: NewDecision, memory: Memory) -> bool:
    """Whether a clarification says something else than the memory that it reuses."""
    return content_key(new.subject, new.detail) != content_key(memory.subject, memory.detail)


def _reused(session: Session, memory: Memory, seq: int) -> ConceptClarified:
    why = f"{memory.memory_id}: {memory.rationale}" if memory.rationale else memory.memory_id
    return ConceptClarified(
        seq=seq,
        phase=REUSE_PHASE,
        subject=memory.subject,
        detail=memory.detail,
        rationale=f"reuses {why}",
        question_context=session.question,
        concepts=memory.concepts,
        source_memory=memory.memory_id,
    )
