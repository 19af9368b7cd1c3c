"""Stories: given these events, when somebody decides this, then these events; or it fails with that error.

A story's events are the agent's unless `by` says otherwise. Positions and stream versions count from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar, cast

import pytest

from domain import memory as memories
from domain import session as sessions
from domain.errors import ThtError
from domain.event import Envelope, Event
from domain.memory import Memory, MemoryRecorded, Source, memory_stream
from domain.session import NewDecision, Session
from domain.session_events import ConceptClarified, Phase, SessionOpened, session_stream

AGENT = "agent:coder-1"
ADA = "human:ada"
BO = "human:bo"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

S = TypeVar("S")
Given = Event | tuple[str, Event]


def by(actor: str, event: Event) -> tuple[str, Event]:
    return actor, event


def recorded(stream: str, given: Iterable[Given]) -> list[Envelope]:
    """The given events as a stream holds them."""
    pairs = [one if isinstance(one, tuple) else (AGENT, one) for one in given]
    return [
        Envelope(stream, number, number, NOON, actor, "", "", "", "", event)
        for number, (actor, event) in enumerate(pairs, start=1)
    ]


@dataclass(frozen=True)
class Outcome:
    decide: Callable[[], object]

    def then(self, *expected: Event) -> None:
        """Exactly these events, in this order; none at all without one."""
        found = self.decide()
        assert ((found,) if isinstance(found, Event) else tuple(cast("Iterable[Event]", found))) == expected

    def fails_with(self, error: type[ThtError], words: str = "") -> None:
        """This very error, whose message contains the words."""
        with pytest.raises(error) as caught:
            self.decide()
        assert type(caught.value) is error
        assert words in caught.value.message


@dataclass(frozen=True)
class Story(Generic[S]):
    state: S

    def when(self, decide: Callable[[S], object]) -> Outcome:
        return Outcome(lambda: decide(self.state))


def given(*events: Given, session_id: str = "s1") -> Story[Session]:
    """A session that was opened and to which these events happened."""
    stream = session_stream(session_id)
    session = sessions.fold(recorded(stream, (opened(session_id), *events)))
    assert session is not None
    return Story(session)


def given_memory(*events: Given, memory_id: str = "mem-0001", seq: int = 1) -> Story[Memory]:
    """A memory recorded from `s1:seq` and what happened to it."""
    first = remembered(memory_id, seq)
    memory = memories.fold(recorded(memory_stream(first.subject, first.detail), (by(ADA, first), *events)))
    assert memory is not None
    return Story(memory)


# -- what can be given


def opened(session_id: str = "s1") -> SessionOpened:
    return SessionOpened(session_id=session_id, question="How many ablations a year?")


def clarified(
    seq: int, subject: str = "", detail: str = "", phase: Phase = "F1", source_memory: str | None = None
) -> ConceptClarified:
    """A clarification; without words of its own it says something that no other seq says."""
    return ConceptClarified(
        seq=seq,
        phase=phase,
        subject=subject or f"concept {seq}",
        detail=detail or f"what {seq} means",
        source_memory=source_memory,
    )


def new(subject: str = "ablation", detail: str = "a procedure", phase: Phase | None = None) -> NewDecision:
    return NewDecision("concept_clarified", subject, detail, phase=phase)


def source(seq: int, session_id: str = "s1") -> Source:
    return Source(session_id=session_id, seq=seq)


def remembered(memory_id: str = "mem-0001", seq: int = 1) -> MemoryRecorded:
    return MemoryRecorded(
        memory_id=memory_id,
        type="concept_clarified",
        subject=f"concept {seq}",
        detail=f"what {seq} means",
        sources=(source(seq),),
    )
