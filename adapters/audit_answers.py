"""What the audit answers with, and how it is written for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from domain.event import Envelope, iso_utc

if TYPE_CHECKING:
    from domain.session import Session
    from projections.lineage import Lineage
    from projections.record import Entry
    from projections.timeline import Line


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a session. `effective`, `stale`, `retracted`: seqs that it made so. `followed`: what it led to."""

    envelope: Envelope
    what: str
    effective: tuple[int, ...]
    stale: tuple[int, ...]
    retracted: tuple[int, ...]
    followed: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "position": self.envelope.position,
            "at": iso_utc(self.envelope.at),
            "actor": self.envelope.actor,
            "role": self.envelope.role,
            "kind": self.envelope.event.kind,
            "reason": self.envelope.reason or getattr(self.envelope.event, "reason", ""),
            "what": self.what,
            "event": self.envelope.event.model_dump(mode="json"),
            "made_effective": list(self.effective),
            "made_stale": list(self.stale),
            "made_retracted": list(self.retracted),
            "followed": list(self.followed),
        }


@dataclass(frozen=True, slots=True)
class SessionAudit:
    """A session's history up to `position`, and the session as it was then."""

    session: Session
    position: int
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "session_id": self.session.session_id,
            "question": self.session.question,
            "at": self.position,
            "phase": self.session.phase,
            "closed": self.session.closed,
            "effective": [decision.seq for decision in self.session.effective],
            "events": [step.as_json() for step in self.steps],
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """A clarification that a memory comes from, and who approved it."""

    session_id: str
    seq: int
    author: str
    recorded: int
    standing: str
    approved_by: str
    approved: int
    self_reviewed: bool
    reason: str
    withdrawn: bool

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class MemoryAudit:
    """From clarification to reuse. `refused` are attempts to approve a source that the gate turned away."""

    entry: Entry
    position: int
    origins: tuple[Origin, ...]
    refused: tuple[Line, ...]
    history: tuple[Line, ...]
    lineage: Lineage

    def as_json(self) -> dict[str, Any]:
        return {
            "memory_id": self.entry.id,
            "at": self.position,
            "memory": self.entry.as_json(),
            "origins": [origin.as_json() for origin in self.origins],
            "refused": [line_json(line) for line in self.refused],
            "history": [line_json(line) for line in self.history],
            "reused": [reuse.as_json() for reuse in self.lineage.reuses],
            "look_again": {
                "sessions": list(self.lineage.sessions),
                "decisions": [f"{reuse.session_id}:{reuse.seq}" for reuse in self.lineage.reuses],
                "memories": list(self.lineage.memories),
            },
        }


@dataclass(frozen=True, slots=True)
class Read:
    """One search's answer as it was shown: refs best first."""

    position: int
    at: str
    actor: str
    session_id: str
    mode: str
    refs: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"refs": list(self.refs)}


def line_json(line: Line) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line.__slots__}
