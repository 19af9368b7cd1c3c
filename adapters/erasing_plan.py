"""What an erasure takes: the records that hold a text, on which streams, and who else may say the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from adapters.erasing_streams import Streams
from adapters.ledger import Draft
from adapters.sessions import load_memory
from adapters.workspace import Workspace
from domain import session as sessions
from domain.errors import InvalidInput, Refused, UnknownSession
from domain.memory import Memory, Source
from domain.session import Decision, Session
from domain.session_events import decision_record, question_record, session_stream
from domain.text import content_key, memory_number
from domain.topic_events import FactMentioned
from projections import registry
from projections.alike import Alike
from projections.decisions import reuses_of, saying

QUESTION = "session:"


@dataclass(frozen=True, slots=True)
class Target:
    """A record's text on one stream."""

    record: str
    stream: str


@dataclass
class Plan:
    """One command's targets, in the order in which they were named, and beside them `near`: records that are left
    alone, though they may say something alike."""

    draft: Draft
    workspace: Workspace
    with_memories: bool = False
    targets: dict[Target, None] = field(default_factory=dict)
    near: dict[str, None] = field(default_factory=dict)
    memories: set[str] = field(default_factory=set)  # ids of those that are among the targets
    others: dict[str, None] = field(default_factory=dict)  # facts, policies, notes, items among the targets
    sessions: dict[str, Session | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.streams = Streams(self.draft)

    @cached_property
    def alike(self) -> Alike:
        return Alike(self.workspace.file.db)

    def take(self, names: tuple[str, ...]) -> None:
        """Find what these records are. Memories first: the decisions that they came from go with them.

        UnknownRecord (or UnknownMemory …) names the one that is not there; Refused for a decision whose memory stays.
        """
        for name in sorted(names, key=lambda name: memory_number(name) is None):
            if memory_number(name) is not None:
                self._take_memory(name)
            elif (session_id := self._as_session(name)) is not None:
                self._take_session(session_id)
            elif (source := self._as_decision(name)) is not None:
                self._take_decision(source)
            else:
                self._take_any(name)
        if self.others:
            near = self.alike.near(frozenset(self.others), self._mentioning())
            self.near.update((one, None) for one in near)
        for target in self.targets:
            self.near.pop(target.record, None)

    # -- memories

    def _take_memory(self, memory_id: str) -> None:
        memory = load_memory(self.draft, self.workspace, memory_id)
        self.targets[Target(memory_id, memory.stream)] = None
        self.memories.add(memory_id)
        db = self.workspace.file.db
        same = [Source(session_id=one, seq=seq) for one, seq in saying(db, memory.stream.rpartition("/")[2])]
        reused = [
            Source(session_id=row["session_id"], seq=row["seq"])
            for row in reuses_of(db, memory_id)
            if not row["source_changed"]
        ]
        for source in dict.fromkeys((*memory.own_sources, *same, *reused)):
            if (decision := self._decision(source)) is not None:
                self._add_decision(source, decision)
        self.near.update((name, None) for name in self._alike(memory))

    def _alike(self, memory: Memory) -> Iterator[str]:
        """Memories that were merged into it or took its place, and decisions that say it in other words."""
        yield from (origin for origin, _ in memory.gained if self._is_readable(origin))
        if memory.successor and self._is_readable(memory.successor):
            yield memory.successor
        for row in reuses_of(self.workspace.file.db, memory.memory_id):
            if row["source_changed"]:
                yield decision_record(row["session_id"], row["seq"])

    def _is_readable(self, memory_id: str) -> bool:
        entry = registry.find_entry(self.workspace.file.db, memory_id)
        return entry is not None and load_memory(self.draft, self.workspace, memory_id).status != "erased"

    # -- sessions

    def _as_session(self, name: str) -> str | None:
        """The session of `session:ID`; a decision may be called the same, in a session called `session`."""
        session_id = name.removeprefix(QUESTION) if name.startswith(QUESTION) else ""
        if not session_id or self._session(session_id) is None:
            if session_id and self._as_decision(name) is None:
                raise UnknownSession(f"there is no session {session_id!r}")
            return None
        if self._as_decision(name) is not None:
            raise InvalidInput(f"{name} is both a session and a decision", "erase the session `session` as a whole")
        return session_id

    def _take_session(self, session_id: str) -> None:
        session = self._session(session_id)
        assert session is not None
        came = list(dict.fromkeys(mark.memory_id for mark in session.promoted.values()))
        left = [one for one in came if one not in self.memories and self._is_readable(one)]
        if left and not self.with_memories:
            raise Refused(
                f"{', '.join(left)} came from session {session_id}, and would still say it",
                "--with-memories erases them too",
            )
        self.targets[Target(question_record(session_id), session_stream(session_id))] = None
        for memory_id in left:
            self._take_memory(memory_id)
        for decision in session.decisions:
            self._add_decision(Source(session_id=session_id, seq=decision.seq), decision)

    def _as_decision(self, name: str) -> Source | None:
        session_id, _, seq = name.rpartition(":")
        if not session_id or not seq.isdecimal() or self._session(session_id) is None:
            return None
        return Source(session_id=session_id, seq=int(seq))

    def _take_decision(self, source: Source) -> None:
        session = self._session(source.session_id)
        assert session is not None
        decision = session.decision(source.seq)
        marker = session.promoted.get(source.seq)
        if marker is not None and marker.memory_id not in self.memories and self._is_readable(marker.memory_id):
            raise Refused(
                f"{marker.memory_id} came from {source}, and would still say it",
                f"tht erase {marker.memory_id} erases both",
            )
        self._add_decision(source, decision)

    def _add_decision(self, source: Source, decision: Decision) -> None:
        session = self._session(source.session_id)
        assert session is not None
        record = decision_record(source.session_id, source.seq)
        self.targets[Target(record, session_stream(source.session_id))] = None
        self.near.update((name, None) for name in self._told_again(session, decision))

    def _told_again(self, session: Session, decision: Decision) -> Iterator[str]:
        """What it was an edit of or was edited into, what says the same elsewhere, and the memory that it reuses."""
        for other in session.decisions:
            if not other.erased and (other.supersedes == decision.seq or decision.supersedes == other.seq):
                yield decision_record(session.session_id, other.seq)
        if decision.reusable and not decision.erased:
            key = content_key(decision.subject, decision.detail)
            yield from (decision_record(*one) for one in saying(self.workspace.file.db, key))
        memory_id = decision.source_memory
        if memory_id and memory_id not in self.memories and self._is_readable(memory_id):
            yield memory_id

    def _decision(self, source: Source) -> Decision | None:
        """The decision that a source names; None where an import has lost it."""
        session = self._session(source.session_id)
        if session is None or not 1 <= source.seq <= len(session.decisions):
            return None
        return session.decision(source.seq)

    def _session(self, session_id: str) -> Session | None:
        if session_id not in self.sessions:
            self.sessions[session_id] = sessions.fold(self.streams.load(session_stream(session_id)))
        return self.sessions[session_id]

    # -- facts, policies, notes, items

    def _take_any(self, record: str) -> None:
        """Every stream that holds a text of this record, and with it whatever says the same words because it was made
        of it: facts that were merged into it, the item that it was raised from."""
        waiting = [record]
        while waiting:
            one = waiting.pop(0)
            if one not in self.others:
                self.others[one] = None
                for stream in self.streams.holding(one):
                    self.targets[Target(one, stream)] = None
                waiting += self.alike.same_words(one)

    def _mentioning(self) -> Iterator[str]:
        """What the taken facts cite where they were said again."""
        for stream in dict.fromkeys(target.stream for target in self.targets if target.record in self.others):
            for envelope in self.streams.load(stream):
                event = envelope.event
                if isinstance(event, FactMentioned) and event.fact_id in self.others:
                    yield from event.source_observation_ids
