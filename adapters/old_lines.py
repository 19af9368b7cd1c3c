"""A line of an old session's file, understood: fields may be missing, and old seqs are numbered anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from adapters.json_lines import Line
from domain import session as sessions
from domain.errors import InvalidInput
from domain.session import NewDecision
from domain.session_events import DECISION_TYPES, REUSABLE_TYPES, Phase

QUESTION_LOST = "(question not recorded)"
SUBJECT_LOST = "(subject not recorded)"
DETAIL_LOST = "(detail not recorded)"

LineType = Literal[
    "concept_clarified",
    "table_promoted",
    "table_excluded",
    "column_promoted",
    "column_excluded",
    "memory_promoted",
    "memory_promotion_declined",
    "memory_rejected",
    "decision_retracted",
    "phase_entered",
    "phase_reopened",
    "phase_rolled_back",
]
MARKERS = ("memory_promoted", "memory_promotion_declined", "decision_retracted")
_SEQ = re.compile(r"seq:\s*(\d{1,9})")


class LineForm(BaseModel):
    """A line of an old session. Fields that nobody knows any more are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: LineType
    subject: str | None = None
    detail: str | None = None
    rationale: str | None = None
    seq: int | None = None
    phase: Phase | None = None
    timestamp: str | None = None
    question: str | None = None
    question_context: str | None = None
    concepts: list[str] | None = None
    tables: list[str] | None = None
    memory_id: str | None = None

    @property
    def decision(self) -> NewDecision:
        """What is missing of a decision is said to be missing; one that says nothing at all is InvalidInput."""
        if not (self.subject or self.detail):
            raise InvalidInput("neither subject nor detail: the line says nothing")
        return sessions.checked(
            NewDecision(
                self.type,
                self.subject or SUBJECT_LOST,
                self.detail or (DETAIL_LOST if self.type in REUSABLE_TYPES else ""),
                self.rationale or "",
                self.phase,
                self.question_context or "",
                tuple(self.concepts or ()),
                tuple(self.tables or ()),
                occurred_at=old_time(self.timestamp),
            )
        )

    @property
    def target(self) -> int | None:
        """The old seq that a marker or a retraction is about."""
        found = _SEQ.search(self.detail or "")
        return int(found.group(1)) if found else self.seq


def old_time(text: str | None) -> datetime | None:
    """A time of an old file. One without a zone is taken as UTC: those programs wrote no other."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(f"timestamp {text[:40]!r} is no ISO time") from None


@dataclass(frozen=True, slots=True)
class OldLine:
    """A line that can be told again; `seq` is the new seq of a decision, None for everything else."""

    number: int
    form: LineForm
    seq: int | None
    decision: NewDecision | None


@dataclass
class OldSession:
    session_id: str
    file: str
    lines: list[OldLine] = field(default_factory=list)
    seqs: dict[int, int] = field(default_factory=dict)  # old seq: new seq
    last: int = 0

    def said(self, seq: int) -> NewDecision | None:
        """The decision with a new seq."""
        return next((line.decision for line in self.lines if line.seq == seq), None)

    def declined(self, seq: int) -> bool:
        """Whether a reviewer declined the decision with this new seq."""
        return any(True for _ in self._marks("memory_promotion_declined", seq))

    def promoted_to(self, seq: int) -> str | None:
        """The memory that a marker names for the decision with this new seq."""
        return next((form.memory_id for form in self._marks("memory_promoted", seq) if form.memory_id), None)

    @property
    def linking_subjects(self) -> frozenset[str]:
        """Subjects of the schema linking: they name tables and columns."""
        decisions = (line.decision for line in self.lines if line.decision is not None)
        return frozenset(one.subject for one in decisions if one.type not in REUSABLE_TYPES)

    def _marks(self, kind: LineType, seq: int) -> Iterator[LineForm]:
        for line in self.lines:
            form = line.form
            if form.type == kind and form.target is not None and self.seqs.get(form.target) == seq:
                yield form

    def take(self, line: Line) -> None:
        """Understand one more line and number it. Raises ThtError or ValidationError for a bad one."""
        form = LineForm.model_validate(line.value)
        decision = form.decision if form.type in DECISION_TYPES else None
        # A marker without `seq:N` names its target in `seq`; then it has no seq of its own.
        own = None if form.type in MARKERS and not _SEQ.search(form.detail or "") else form.seq
        seq = self.last + 1 if own is None else own
        if decision is None:
            self.last = max(self.last, seq)
            self.lines.append(OldLine(line.number, form, None, None))
            return
        if seq in self.seqs:
            raise InvalidInput(f"seq {seq} stands there twice")
        self.last = max(self.last, seq)
        self.seqs[seq] = len(self.seqs) + 1
        self.lines.append(OldLine(line.number, form, self.seqs[seq], decision))

    def question(self, remembered: str | None) -> str:
        """The first question that a line names, else that of a memory of this session."""
        named = (line.form.question or line.form.question_context for line in self.lines)
        return next((one for one in named if one and one.strip()), None) or remembered or QUESTION_LOST
