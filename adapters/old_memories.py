"""Records of an old `registry.jsonl` as memories: ids kept where their numbers are free, sources with their new seq."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from adapters.ledger import Draft
from adapters.old_lines import OldSession
from adapters.old_records import LOST, Claims, RegistryForm
from adapters.session_files import Report
from domain import memory as memories
from domain.errors import InvalidInput, ThtError
from domain.event import Envelope, Event
from domain.memory import NUMBERING, Memory, MemoryRecorded, NumberTaken, Source, SourceAdded
from domain.text import memory_id, memory_number

LEAP = 1_000  # numbers that a registry may have lost beyond its records


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
        self.claims = Claims(draft, sessions)
        last = draft.last(NUMBERING)
        self.last_number = last.event.number if last and isinstance(last.event, NumberTaken) else 0
        self.standing: dict[str, Memory | None] = {}
        self.ids: dict[str, str] = {}
        self.history: set[str | None] = set()
        self.promoted: dict[tuple[str, int], str] = {}
        self.questions: dict[str, str] = {}

    def record(self, records: Sequence[tuple[int, RegistryForm, datetime | None]]) -> None:
        """In order of their numbers, so that as many ids as possible stay what they were; those without come last."""
        self.highest = self.last_number + len(records) + LEAP
        named = {form.id for _, form, _ in records if form.id}
        ordered = sorted(records, key=lambda one: (memory_number(one[1].id or "") or 2**60, one[0]))
        for line, form, occurred_at in ordered:
            try:
                self._record(form, occurred_at, named)
            except ThtError as error:
                self.report.refuse(self.file, line, error.message)

    def new_id(self, old: str) -> str:
        return self.ids.get(old, old)

    def memory_of(self, session_id: str, seq: int, named: str | None) -> str | None:
        """The memory that a (new) seq of a session was promoted to: as its marker names it, else by its source."""
        found = self.ids.get(named) if named else None
        return (found or self.promoted.get((session_id, seq))) if found not in self.history else None

    def question_of(self, session_id: str) -> str | None:
        return self.questions.get(session_id)

    def _record(self, form: RegistryForm, occurred_at: datetime | None, named: Collection[str]) -> None:
        source = self.claims.source(form)
        memory = self._load(form.stream)
        known = memory is not None and self._knows(memory, source)
        if form.reusable:
            self._require_sole(source)
            self.claims.require_marked(form, source, named)
            if not known:
                self.claims.require_approvable(form, source)
        if memory is None:
            memory = self._add_new(form, source, occurred_at)
        elif known:
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
        if not form.reusable:
            self.history.add(memory.memory_id)
        else:
            self.promoted[source.session_id, source.seq] = memory.memory_id
        if form.question_context and form.question_context.strip():
            self.questions.setdefault(source.session_id, form.question_context)

    def _add_new(self, form: RegistryForm, source: Source, occurred_at: datetime | None) -> Memory:
        number = memory_number(form.id or "") or 0
        free = self.last_number + 1
        if number != free and not free < number <= self.highest:
            why = "its number was taken" if number < free else "its number leaps far beyond the others"
            number = free
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

    def _require_sole(self, source: Source) -> None:
        """A decision of a session leads to one memory; where no seq is named, nobody can say."""
        before = self.promoted.get((source.session_id, source.seq)) if source.seq else None
        if before and source.session_id != LOST:
            raise InvalidInput(f"{source} is the source of {before} already")

    def _knows(self, memory: Memory, source: Source) -> bool:
        """Whether a memory has this source; where only the old seq is known, one of the same session will do."""
        have = (*memory.sources, *memory.withdrawn)
        return source in have or (
            self.claims.by_old_seq(source) and source.session_id in {one.session_id for one in have}
        )

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
