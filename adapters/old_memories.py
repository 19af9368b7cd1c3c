"""Records of an old `registry.jsonl` as memories: ids kept where their numbers are free, sources with their new seq."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from adapters.ledger import Draft
from adapters.old_lines import OldSession
from adapters.session_files import Report
from domain import memory as memories
from domain.errors import InvalidInput, ThtError
from domain.event import Envelope, Event
from domain.memory import NUMBERING, Memory, MemoryRecorded, NumberTaken, Source, SourceAdded, memory_stream
from domain.session_events import REUSABLE_TYPES
from domain.text import SUBJECT_LIMIT, accept_id, accept_text, content_key, looks_like_a_table, memory_id, memory_number

LEAP = 1_000  # numbers that a registry may have lost beyond its records
LOST = "unknown"  # the session of a record that names none


class RegistryForm(BaseModel):
    """A line of registry.jsonl. Only what it says is needed; fields that nobody knows any more are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: Literal["concept_clarified", "table_promoted", "table_excluded", "column_promoted", "column_excluded"]
    subject: str
    detail: str | None = None
    id: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    decision_seq: int | None = None
    rationale: str | None = None
    question_context: str | None = None
    tables: list[str] | None = None
    concepts: list[str] | None = None

    def checked(self) -> Self:
        """The record, if its texts can be stored. InvalidInput names the field."""
        accept_text(self.subject, "subject", limit=SUBJECT_LIMIT, required=True)
        accept_text(self.detail or "", "detail", required=self.reusable)
        accept_text(self.rationale or "", "rationale")
        accept_text(self.question_context or "", "question_context")
        for text in (*(self.tables or ()), *(self.concepts or ())):
            accept_text(text, "tables or concepts", limit=SUBJECT_LIMIT, required=True)
        if self.session_id is not None:
            accept_id(self.session_id, "session_id")
        if self.id is not None and not 0 < (memory_number(self.id) or 0) < 2**53:
            raise InvalidInput(f"{self.id[:40]!r} is no memory id such as mem-0001")
        if self.decision_seq is not None and not 0 <= self.decision_seq < 2**53:
            raise InvalidInput(f"decision_seq {self.decision_seq} is no seq")
        return self

    @property
    def reusable(self) -> bool:
        return self.type in REUSABLE_TYPES

    @property
    def stream(self) -> str:
        """Table memories lie apart: they must not be taken for a concept of the same wording."""
        if self.reusable:
            return memory_stream(self.subject, self.detail or "")
        return f"memory/history/{self.type}/{content_key(self.subject, self.detail or '')}"


class OldMemories:
    """Appends the memories to the draft and knows, for the sessions, which id each of them has now."""

    def __init__(
        self,
        draft: Draft,
        actor: str,
        at: datetime,
        file: str,
        sessions: Mapping[str, OldSession],
        report: Report,
    ) -> None:
        self.draft, self.actor, self.at, self.file, self.report = draft, actor, at, file, report
        self.sessions = sessions
        last = draft.last(NUMBERING)
        self.last_number = last.event.number if last and isinstance(last.event, NumberTaken) else 0
        self.standing: dict[str, Memory | None] = {}
        self.ids: dict[str, str] = {}
        self.promoted: dict[tuple[str, int], str] = {}
        self.questions: dict[str, str] = {}

    def record(self, records: Sequence[tuple[int, RegistryForm, datetime | None]]) -> None:
        """In order of their numbers, so that as many ids as possible stay what they were; those without come last."""
        self.highest = self.last_number + len(records) + LEAP
        ordered = sorted(records, key=lambda one: (memory_number(one[1].id or "") or 2**60, one[0]))
        for line, form, occurred_at in ordered:
            try:
                self._record(form, occurred_at)
            except ThtError as error:
                self.report.refuse(self.file, line, error.message)

    def new_id(self, old: str) -> str:
        return self.ids.get(old, old)

    def memory_of(self, session_id: str, seq: int, named: str | None) -> str | None:
        """The memory that a (new) seq of a session was promoted to: by its source, or as the marker names it."""
        return self.promoted.get((session_id, seq)) or (self.ids.get(named) if named else None)

    def question_of(self, session_id: str) -> str | None:
        return self.questions.get(session_id)

    def _record(self, form: RegistryForm, occurred_at: datetime | None) -> None:
        source = self._source(form)
        if form.reusable:
            self._refuse_unlike(form, source)
        memory = self._load(form.stream)
        if memory is None:
            memory = self._add_new(form, source, occurred_at)
        elif source in (*memory.sources, *memory.withdrawn):
            self.report.memories_known += 1
        else:
            memories.require_live(memory)
            added = SourceAdded(memory_id=memory.memory_id, sources=(source,), merged_from=form.id or LOST)
            memory = self._append(form.stream, added)
            self.report.memories_known += 1
            self.report.notes.append(
                f"{form.id or 'a record'} says the same as {memory.memory_id}: its source was added"
            )
        if form.id:
            self.ids.setdefault(form.id, memory.memory_id)
        if form.reusable:
            self.promoted[source.session_id, source.seq] = memory.memory_id
        if form.question_context and form.question_context.strip():
            self.questions.setdefault(source.session_id, form.question_context)

    def _add_new(self, form: RegistryForm, source: Source, occurred_at: datetime | None) -> Memory:
        number = memory_number(form.id or "") or 0
        if not self.last_number < number <= self.highest:
            why = "its number was taken" if number <= self.last_number else "its number leaps far beyond the others"
            number = self.last_number + 1
            if form.id:
                self.report.notes.append(f"{form.id} is {memory_id(number)} here: {why}")
        self.last_number = number
        identity = memory_id(number)
        recorded = MemoryRecorded(
            memory_id=identity,
            type=form.type,
            subject=form.subject,
            detail=form.detail or "",
            rationale=form.rationale or "",
            question_context=form.question_context or "",
            tables=tuple(form.tables or ()),
            concepts=tuple(form.concepts or ()),
            sources=(source,),
            occurred_at=occurred_at or self.at,
        )
        memory = self._append(form.stream, recorded)
        self.draft.append(NUMBERING, (NumberTaken(number=number, memory_id=identity, stream=form.stream),))
        self.report.memories += 1
        return memory

    def _source(self, form: RegistryForm) -> Source:
        session_id, seq = form.session_id or LOST, form.decision_seq or 0
        session = self.sessions.get(session_id)
        return Source(session_id=session_id, seq=session.seqs.get(seq, seq) if session else seq)

    def _refuse_unlike(self, form: RegistryForm, source: Source) -> None:
        """A registry must not slip in what no reviewer could have approved: tables, declined or other words."""
        if looks_like_a_table(form.subject):
            raise InvalidInput(f"the subject {form.subject[:80]!r} names a table, not a concept")
        if (source.session_id, source.seq) in self.promoted:
            raise InvalidInput(f"{source} is the source of {self.promoted[source.session_id, source.seq]} already")
        session = self.sessions.get(source.session_id)
        said = session.said(source.seq) if session else None
        if session is None or said is None:
            return
        if said.type not in REUSABLE_TYPES:
            raise InvalidInput(f"{source} is a {said.type}, no clarification")
        if content_key(said.subject, said.detail) != content_key(form.subject, form.detail or ""):
            raise InvalidInput(f"{source} says something else than this record")
        if session.declined(source.seq):
            raise InvalidInput(f"{source} was declined")

    def _load(self, stream: str) -> Memory | None:
        if stream not in self.standing:
            self.standing[stream] = memories.fold(self.draft.load(stream))
        return self.standing[stream]

    def _append(self, stream: str, event: Event) -> Memory:
        self.draft.begin()
        self.draft.append(stream, (event,))
        told = Envelope(stream, 0, 0, self.at, self.actor, "", "", "", "", event)
        memory = memories.evolve(self.standing[stream], told)
        self.standing[stream] = memory
        return memory
