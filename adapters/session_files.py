"""Sessions from JSON Lines, one a line: told again event by event, a hundred to a transaction, each at most once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.json_lines import Line, Problem, misfit, read_lines, shown
from adapters.ledger import By, Draft, Ledger
from domain import session as sessions
from domain.errors import SessionExists, SessionIsClosed, ThtError
from domain.event import Envelope, Event
from domain.session import Decision, NewDecision, Session
from domain.session_events import REUSABLE_TYPES, Decided, DecisionType, Phase, SessionOpened, session_stream

BATCH = 100  # sessions to a transaction
BATCH_DECISIONS = 5_000  # and so many decisions at most, when sessions are long
LISTED = 1_000  # problems that are kept word for word

Progress = Callable[[int, int], None]  # bytes read, bytes to read


class DecisionForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    type: DecisionType
    phase: Phase
    subject: str
    detail: str
    rationale: str = ""
    question_context: str = ""
    concepts: list[str] = []
    tables: list[str] = []

    def decision(self) -> NewDecision:
        return sessions.checked(
            NewDecision(
                self.type,
                self.subject,
                self.detail,
                self.rationale,
                self.phase,
                self.question_context,
                tuple(self.concepts),
                tuple(self.tables),
            )
        )


class SessionForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    session_id: str
    question: str
    database: str = ""
    decisions: list[DecisionForm]


@dataclass
class Report:
    """What an import took in, or would; `refused` counts the lines that it did not, with their problems listed."""

    new: int = 0
    extended: int = 0
    known: int = 0
    refused: int = 0
    decisions: int = 0
    clarifications: int = 0
    memories: int = 0
    memories_known: int = 0
    problems: list[Problem] = field(default_factory=list)
    problems_left_out: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.problems

    def refuse(self, file: str, line: int, error: str) -> None:
        self.refused += 1
        if len(self.problems) < LISTED:
            self.problems.append(Problem(file, line, shown(error)))
        else:
            self.problems_left_out += 1

    def count(self, events: Sequence[Event]) -> None:
        decided = [event for event in events if isinstance(event, Decided)]
        self.decisions += len(decided)
        self.clarifications += sum(1 for event in decided if event.kind in REUSABLE_TYPES)

    def absorb(self, other: Report) -> None:
        """Add what another part of the same import took in."""
        for name in (
            "new",
            "extended",
            "known",
            "refused",
            "decisions",
            "clarifications",
            "memories",
            "memories_known",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems.extend(other.problems)
        self.problems_left_out += other.problems_left_out
        self.notes.extend(other.notes)

    def as_json(self) -> dict[str, object]:
        return {
            "sessions": {
                "new": self.new,
                "extended": self.extended,
                "known": self.known,
                "refused": self.refused,
            },
            "decisions": self.decisions,
            "clarifications": self.clarifications,
            "memories": {"new": self.memories, "known": self.memories_known},
            "problems": [problem.as_json() for problem in self.problems],
            "problems_left_out": self.problems_left_out,
            "notes": self.notes,
        }


class Retelling:
    """A session's events told again, one after the other, from where it stands."""

    def __init__(self, stream: str, actor: str, at: datetime, session: Session | None) -> None:
        self.stream, self.actor, self.at = stream, actor, at
        self.session = session
        self.events: list[Event] = []

    @property
    def now(self) -> Session:
        assert self.session is not None, "a retelling begins with the opening"
        return self.session

    def add(self, *events: Event) -> None:
        for event in events:
            told = Envelope(self.stream, 0, 0, self.at, self.actor, "", "", "", "", event)
            self.session = sessions.evolve(self.session, told)
            self.events.append(event)

    def decide(self, new: NewDecision) -> None:
        """The decision in its own phase, which the session enters when it has not got there yet."""
        if new.phase is not None and new.phase > self.now.phase:
            self.add(*sessions.enter(self.now, new.phase))
        self.add(sessions.record(self.now, new, historical=True))


@dataclass(frozen=True, slots=True)
class _Item:
    """A line that says what a session was."""

    line: int
    opened: SessionOpened
    decisions: tuple[NewDecision, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    line: int
    was_there: bool = False
    events: tuple[Event, ...] = ()
    error: ThtError | None = None


class SessionImport:
    """One run over one file. A dry run remembers what it would have recorded, so that it says the same."""

    def __init__(self, ledger: Ledger, file: str, by: By, report: Report) -> None:
        self.ledger, self.file, self.by, self.report = ledger, file, by, report
        self.rehearsed: dict[str, Session] = {}

    def run(self, lines: Iterator[Line], size: int, progress: Progress) -> None:
        batch: list[_Item] = []
        for line in lines:
            item = self._item(line)
            if item is not None:
                batch.append(item)
            if len(batch) >= BATCH or sum(len(one.decisions) for one in batch) >= BATCH_DECISIONS:
                self._record(batch)
                batch.clear()
                progress(line.end, size)
        if batch:
            self._record(batch)
        progress(size, size)

    def _item(self, line: Line) -> _Item | None:
        if line.error:
            self.report.refuse(self.file, line.number, line.error)
            return None
        try:
            form = SessionForm.model_validate(line.value)
            opened = sessions.open_session(form.session_id, form.question, form.database)
            decisions = tuple(self._decision(number, one) for number, one in enumerate(form.decisions, 1))
        except ValidationError as error:
            self.report.refuse(self.file, line.number, misfit(error))
            return None
        except ThtError as error:
            self.report.refuse(self.file, line.number, error.message)
            return None
        return _Item(line.number, opened, decisions)

    @staticmethod
    def _decision(number: int, form: DecisionForm) -> NewDecision:
        try:
            return form.decision()
        except ThtError as error:
            raise type(error)(f"decision {number}: {error.message}", error.hint) from error

    def _record(self, batch: Sequence[_Item]) -> None:
        outcomes: list[_Outcome] = []
        states: dict[str, Session] = {}

        def work(draft: Draft) -> None:
            outcomes.clear()
            states.clear()
            states.update(self.rehearsed)
            outcomes.extend(self._told(draft, item, states) for item in batch)

        self.ledger.transact(work, self.by, ("import.sessions", self.file))
        if self.by.dry_run:
            self.rehearsed = states
        for outcome in outcomes:
            self._count(outcome)

    def _told(self, draft: Draft, item: _Item, states: dict[str, Session]) -> _Outcome:
        """Appends what the ledger lacks of a session. Sessions that say something else are left alone."""
        session_id = item.opened.session_id
        stream = session_stream(session_id)
        recorded = draft.load(stream)
        session = states.get(session_id) or sessions.fold(recorded)
        telling = Retelling(stream, self.by.actor, self.ledger.clock(), session)
        try:
            if session is None:
                telling.add(item.opened)
            for new in self._missing(telling.now, item):
                telling.decide(new)
        except ThtError as error:
            return _Outcome(item.line, error=error)
        draft.begin()
        draft.append(stream, telling.events)
        states[session_id] = telling.now
        return _Outcome(item.line, session is not None, tuple(telling.events))

    @staticmethod
    def _missing(session: Session, item: _Item) -> tuple[NewDecision, ...]:
        """The file's decisions beyond the recorded ones. SessionExists when the common part differs."""
        opened = item.opened
        question = opened.question if session.question_erased else session.question
        if (question, session.database) != (opened.question, opened.database):
            raise SessionExists(f"session {session.session_id} exists with another question or database")
        for new, old in zip(item.decisions, session.decisions, strict=False):
            if (field := _difference(new, old)) is not None:
                raise SessionExists(
                    f"session {session.session_id} exists with other content: decision {old.seq} has another {field}"
                )
        rest = item.decisions[len(session.decisions) :]
        if rest and session.closed:
            raise SessionIsClosed(f"session {session.session_id} is closed and takes no more decisions")
        return rest

    def _count(self, outcome: _Outcome) -> None:
        if outcome.error is not None:
            self.report.refuse(self.file, outcome.line, f"{outcome.error.type}: {outcome.error.message}")
        elif not outcome.was_there:
            self.report.new += 1
        elif outcome.events:
            self.report.extended += 1
        else:
            self.report.known += 1
        self.report.count(outcome.events)


def _difference(new: NewDecision, old: Decision) -> str | None:
    """The first field in which a decision of the file is not the recorded one; of an erased one nobody can say more."""
    said = () if old.erased else ("subject", "detail", "rationale", "question_context", "concepts")
    return next((name for name in ("type", "phase", *said, "tables") if getattr(new, name) != getattr(old, name)), None)


def import_sessions(
    ledger: Ledger, path: Path, by: By, report: Report, progress: Progress = lambda done, total: None
) -> None:
    """Take in a file of sessions; what is in it and in the ledger already is passed over, and bad lines are reported.

    The form of a line: `{"session_id", "question", "database"?, "decisions": [{"type", "phase", "subject", "detail",
    "rationale"?, "question_context"?, "concepts"?, "tables"?}]}`.
    """
    SessionImport(ledger, str(path), by, report).run(read_lines(path), path.stat().st_size, progress)
