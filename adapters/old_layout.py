"""The layout before the ledger: `memory/registry.jsonl` and one file a session, one decision a line, fields missing.

Everything in it is told again in one transaction: memories by number, then the sessions with their markers. What was a
table memory is kept as history and never becomes reusable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from adapters.json_lines import misfit, read_lines
from adapters.ledger import By, Draft, Ledger
from adapters.old_lines import LineForm, OldLine, OldSession, old_time
from adapters.old_memories import OldMemories
from adapters.old_records import RegistryForm, begun_here
from adapters.session_files import Report, Retelling
from domain import session as sessions
from domain.errors import InvalidInput, NothingChanged, SessionExists, ThtError
from domain.event import Event
from domain.session_events import (
    PHASES,
    MemoryPromoted,
    MemoryPromotionDeclined,
    MemoryRejected,
    Phase,
    SessionOpened,
    session_stream,
)
from domain.text import accept_id, memory_number

_MEMORY = re.compile(r"mem-\d{4,}")


@dataclass(frozen=True, slots=True)
class OldLayout:
    """The files of an old home: the registry, when there is one, and each session's ledger by session id."""

    registry: Path | None
    ledgers: tuple[tuple[str, Path], ...]


def import_old_layout(
    ledger: Ledger,
    layout: OldLayout,
    by: By,
    report: Report,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Take in an old home, all in one transaction; what is there already is passed over, bad lines are reported."""
    records = list(_records(layout.registry, report)) if layout.registry else []
    told: list[OldSession] = []
    for number, (session_id, path) in enumerate(layout.ledgers, 1):
        session = _read_session(session_id, path, report)
        told.extend([session] if session else [])
        progress(number, len(layout.ledgers))
    outcome = Report()

    def work(draft: Draft) -> None:
        nonlocal outcome
        outcome = Report()
        known = {one.session_id: one for one in told}
        memories = OldMemories(draft, by.actor, ledger.clock(), str(layout.registry or ""), known, outcome)
        memories.record(records)
        for session in told:
            _Telling(ledger, draft, by, memories, session, outcome).run()

    ledger.transact(work, by, ("import.old-layout", str(layout.registry), [str(path) for _, path in layout.ledgers]))
    report.absorb(outcome)


def _records(path: Path, report: Report) -> Iterator[tuple[int, RegistryForm, datetime | None]]:
    for line in read_lines(path):
        try:
            if line.error:
                raise InvalidInput(line.error)
            form = RegistryForm.model_validate(line.value).checked()
            yield line.number, form, old_time(form.timestamp)
        except ValidationError as error:
            report.refuse(str(path), line.number, misfit(error))
        except ThtError as error:
            report.refuse(str(path), line.number, error.message)


def _read_session(session_id: str, path: Path, report: Report) -> OldSession | None:
    session = OldSession(session_id, str(path))
    try:
        accept_id(session_id, "session id")
    except InvalidInput as error:
        report.refuse(str(path), 0, error.message)
        return None
    for line in read_lines(path):
        try:
            if line.error:
                raise InvalidInput(line.error)
            session.take(line)
        except ValidationError as error:
            report.refuse(str(path), line.number, misfit(error))
        except ThtError as error:
            report.refuse(str(path), line.number, error.message)
    return session


class _Telling:
    """One old session told again from its opening, and compared with what the ledger holds of it."""

    def __init__(
        self, ledger: Ledger, draft: Draft, by: By, memories: OldMemories, session: OldSession, report: Report
    ) -> None:
        self.draft, self.memories, self.session, self.report = draft, memories, session, report
        self.stream = session_stream(session.session_id)
        there = draft.load(self.stream)
        self.recorded = [envelope.event for envelope in there]
        self.begun_here = begun_here(there)
        self.retelling = Retelling(self.stream, by.actor, ledger.clock(), None)

    def run(self) -> None:
        self.retelling.add(self._opening())
        for line in self.session.lines:
            try:
                self._tell(line)
            except NothingChanged:
                continue  # entered, reopened or withdrawn twice: the second time said nothing
            except ThtError as error:
                self.report.refuse(self.session.file, line.number, error.message)
        self._append(self.retelling.events)

    def _opening(self) -> SessionOpened:
        if self.recorded and isinstance(self.recorded[0], SessionOpened):
            return self.recorded[0]
        question = self.session.question(self.memories.question_of(self.session.session_id))
        return sessions.open_session(self.session.session_id, question)

    def _append(self, events: Sequence[Event]) -> None:
        common = min(len(events), len(self.recorded))
        if list(events[:common]) != self.recorded[:common]:
            error = SessionExists(f"session {self.session.session_id} exists with other content")
            self.report.refuse(self.session.file, 0, f"{error.type}: {error.message}")
            return
        fresh = events[common:]
        if fresh and self.begun_here:
            error = SessionExists(f"session {self.session.session_id} was begun here: its old file is not told on")
            self.report.refuse(self.session.file, 0, f"{error.type}: {error.message}")
            return
        self.draft.begin()
        self.draft.append(self.stream, fresh)
        self.report.count(fresh)
        if not self.recorded:
            self.report.new += 1
        elif fresh:
            self.report.extended += 1
        else:
            self.report.known += 1

    def _tell(self, line: OldLine) -> None:
        form, retelling = line.form, self.retelling
        match form.type:
            case "memory_promoted":
                retelling.add(*self._promoted(form))
            case "memory_promotion_declined":
                seq = retelling.now.decision(self._new_seq(form)).seq
                reason = form.rationale or ""
                retelling.add(MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", reason=reason))
            case "memory_rejected":
                retelling.add(MemoryRejected(memory_id=self._memory(form)))
            case "decision_retracted":
                retelling.add(*sessions.retract(retelling.now, self._new_seq(form), form.rationale or ""))
            case "phase_entered":
                retelling.add(*sessions.enter(retelling.now, self._phase(form)))
            case "phase_reopened":
                retelling.add(*sessions.reopen(retelling.now, self._phase(form)))
            case "phase_rolled_back":
                retelling.add(*sessions.roll_back(retelling.now, self._phase(form)))
            case _:
                assert line.decision is not None
                retelling.decide(line.decision)

    def _promoted(self, form: LineForm) -> Iterable[Event]:
        """The marker with its memory's id. A table memory gets none: it stands in the registry, as history."""
        seq = self._new_seq(form)
        if seq in self.retelling.now.promoted:
            raise NothingChanged(f"seq {seq} was promoted already")
        decision = self.retelling.now.decision(seq)
        if not decision.reusable:
            where = f"{self.session.session_id} seq {seq}"
            self.report.notes.append(f"{where} is a {decision.type}: not marked as promoted")
            return ()
        if self.session.declined(seq):
            self.report.notes.append(f"{self.session.session_id} seq {seq} was declined: not marked as promoted")
            return ()
        known = self.memories.memory_of(self.session.session_id, seq, form.memory_id)
        if known is None:
            raise InvalidInput(f"seq {form.target} was promoted, but registry.jsonl has no memory of it")
        return (MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id=known),)

    def _new_seq(self, form: LineForm) -> int:
        if form.target is None or form.target not in self.session.seqs:
            raise InvalidInput(f"{form.type} of seq {form.target}, which is no decision of this file")
        return self.session.seqs[form.target]

    def _memory(self, form: LineForm) -> str:
        named = form.memory_id or next(
            (found.group() for text in (form.detail, form.subject) if text and (found := _MEMORY.search(text))), ""
        )
        if memory_number(named) is None:
            raise InvalidInput(f"{form.type} names no memory")
        return self.memories.new_id(named)

    @staticmethod
    def _phase(form: LineForm) -> Phase:
        named = (form.phase, form.subject, form.detail)
        for phase in PHASES:
            if phase in named:
                return phase
        raise InvalidInput(f"{form.type} names no phase")
