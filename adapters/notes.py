"""An agent's own notes, observations and what it keeps in mind: written and read by itself, and by nobody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from adapters.ledger import By, Committed, Draft
from adapters.workspace import Workspace
from domain import hot, notes
from domain.errors import AccessDenied
from domain.event import Event, iso_utc
from domain.hot import ItemRemembered, hot_stream
from domain.notes import ObservationRecorded, notes_stream
from domain.text import accept_actor, accept_id, same_actor
from projections import notes as view
from projections.notes import ItemRow, Observation, Version
from projections.scope import Reader

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class NotesShown:
    """An agent's notes as they stand, a page of its observations, the newest first, and earlier versions if asked."""

    agent: str
    current: Version | None
    observations: tuple[Observation, ...]
    total: int
    versions: tuple[Version, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "text": self.current.text if self.current else "",
            "updated_at": self.current.at if self.current else None,
            "erased": bool(self.current and self.current.erased),
            "observations": [one.as_json() for one in self.observations],
            "total": self.total,
            "history": [one.as_json() for one in self.versions],
        }


@dataclass(frozen=True)
class Notes:
    workspace: Workspace

    # -- commands

    def update(self, text: str, by: By) -> Committed:
        """Replace the actor's notes. NothingChanged when they say it already."""
        return self._append(
            notes_stream(by.actor),
            lambda draft, stream: notes.update(notes.fold(stream, draft.load(stream)), text),
            by,
            ("notes.update", text),
        )

    def observe(self, text: str, by: By) -> tuple[str, Committed]:
        """Add an observation; its id, which facts can cite."""
        done = self._append(
            notes_stream(by.actor),
            lambda draft, stream: notes.observe(notes.fold(stream, draft.load(stream)), text),
            by,
            ("notes.observe", text),
        )
        return _only(done, ObservationRecorded).observation_id, done

    def remember(
        self,
        content: str,
        by: By,
        *,
        memory_type: str = "",
        importance: float | None = None,
        session_id: str = "",
        ttl: str = "",
    ) -> tuple[ItemRemembered, Committed]:
        """Keep something in mind: of a session, for so long (`30m`, `6h`, `2d`); typed from its text if need be."""
        new = hot.accept_item(content, memory_type=memory_type, importance=importance, session_id=session_id, ttl=ttl)
        done = self._append(
            hot_stream(by.actor),
            lambda draft, stream: hot.remember(hot.fold(stream, draft.load(stream)), by.actor, new, draft.at),
            by,
            ("remember", content, memory_type, importance, session_id, ttl),
        )
        return _only(done, ItemRemembered), done

    # -- queries

    def show(
        self, reader: Reader, agent: str = "", *, history: bool = False, limit: int = -1, offset: int = 0
    ) -> NotesShown:
        """The reader's own notes. AccessDenied when `agent` names somebody else."""
        owner = own_only(reader, agent)
        db = self.workspace.caught_up()
        observations, total = view.observations(db, owner, limit=limit, offset=offset)
        versions = tuple(view.versions(db, owner)) if history else ()
        return NotesShown(owner, view.current(db, owner), tuple(observations), total, versions)

    def in_mind(self, reader: Reader, agent: str = "", *, session_id: str = "") -> list[ItemRow]:
        """What the reader keeps in mind now. AccessDenied when `agent` names somebody else."""
        owner = own_only(reader, agent)
        session = accept_id(session_id, "session id") if session_id else ""
        return view.items_in_mind(self.workspace.caught_up(), owner, self._now(), session)

    # -- parts

    def _now(self) -> str:
        now: datetime = self.workspace.clock()
        return iso_utc(now)

    def _append(
        self, stream: str, decide: Callable[[Draft, str], Event], by: By, command: tuple[object, ...]
    ) -> Committed:
        def work(draft: Draft) -> None:
            event = decide(draft, stream)
            draft.append(stream, (event,))

        return self.workspace.ledger.transact(work, by, command)


def own_only(reader: Reader, agent: str) -> str:
    """The reader as the owner of the notes; AccessDenied when somebody else's are asked for, there or not."""
    if agent and not same_actor(accept_actor(agent, "--agent"), reader.actor):
        raise AccessDenied(
            f"denied: notes are private to their agent, and {reader.actor} is not {accept_actor(agent)}",
            "leave --agent out for your own; tht audit actor says who changed theirs and when, without the text",
        )
    return reader.actor


def _only(done: Committed, kind: type[E]) -> E:
    (event,) = done.events(kind)
    return event
