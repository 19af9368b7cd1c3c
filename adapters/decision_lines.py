"""Decisions written as JSON: one object, or one a line, each recorded on its own with an outcome of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from adapters.ledger import By
from adapters.sessions import Sessions, accept_phase
from domain.errors import InvalidInput, ThtError
from domain.session import Decision, NewDecision
from domain.session_events import Decided

TEXTS = ("type", "subject", "detail", "rationale", "question_context", "source_memory", "phase")
LISTS = ("concepts", "tables")


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """What became of one line, counted from 1: the seq that was recorded, or the error."""

    line: int
    seq: int = 0
    already: bool = False
    error: ThtError | None = None

    def as_json(self) -> dict[str, Any]:
        failed = None if self.error is None else {"type": self.error.type, "message": self.error.message}
        return {"line": self.line, "seq": self.seq or None, "already": self.already, "error": failed}


def record_lines(sessions: Sessions, session_id: str, content: bytes, by: By) -> list[LineOutcome]:
    """Record every decision of a file; a line that fails is reported and leaves the others alone.

    With an idempotency key each line gets its own, so that a retry records only what is missing. Raises UnknownSession,
    and InvalidInput for a file without a decision.
    """
    sessions.get(session_id)
    outcomes = [_record_line(sessions, session_id, line, found, by) for line, found in read_decisions(content)]
    if not outcomes:
        raise InvalidInput("there is no decision in it", "write one JSON object, or one on each line")
    return outcomes


def read_decisions(content: bytes) -> Iterator[tuple[int, NewDecision | InvalidInput]]:
    """The decisions with their line numbers; what cannot be understood comes as its error."""
    whole = _parsed(content)
    if isinstance(whole, dict):
        yield 1, _understood(whole)
        return
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, _understood(_parsed(line))


def decision_from(data: object) -> NewDecision:
    """The decision that a JSON object holds. InvalidInput names the unknown, missing or wrong field."""
    if not isinstance(data, dict):
        raise InvalidInput(f"a decision is a JSON object, not {type(data).__name__}")
    for name in data:
        if name not in (*TEXTS, *LISTS):
            raise InvalidInput(f"a decision has no field {name!r}", f"it has {', '.join((*TEXTS, *LISTS))}")
    given = {name: value for name, value in data.items() if value is not None}
    for name in ("type", "subject"):
        if name not in given:
            raise InvalidInput(f"the decision has no {name}")
    for name, value in given.items():
        if name in TEXTS and not isinstance(value, str):
            raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
        if name in LISTS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            raise InvalidInput(f"{name} must be a list of texts")
    if "phase" in given:
        given["phase"] = accept_phase(given["phase"])
    fields: dict[str, Any] = {name: tuple(value) if name in LISTS else value for name, value in given.items()}
    return NewDecision(**{"detail": "", **fields})


def reworded(
    decision: Decision, *, subject: str | None = None, detail: str | None = None, rationale: str | None = None
) -> NewDecision:
    """The decision in other words, for Sessions.edit; what is None stays as it was."""
    return NewDecision(
        decision.type,
        decision.subject if subject is None else subject,
        decision.detail if detail is None else detail,
        decision.rationale if rationale is None else rationale,
        question_context=decision.question_context,
        concepts=decision.concepts,
        tables=decision.tables,
        source_memory=decision.source_memory,
    )


def _record_line(
    sessions: Sessions, session_id: str, line: int, found: NewDecision | InvalidInput, by: By
) -> LineOutcome:
    if isinstance(found, InvalidInput):
        return LineOutcome(line, error=found)
    key = f"{by.idempotency_key}:{line}" if by.idempotency_key else ""
    try:
        done = sessions.record(session_id, found, replace(by, idempotency_key=key))
    except ThtError as error:
        if error.exit_code == 3:
            raise  # the ledger is away: the rest would fail alike
        return LineOutcome(line, error=error)
    seq = cast("Decided", done.envelopes[-1].event).seq
    return LineOutcome(line, 0 if by.dry_run else seq, done.already)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return InvalidInput(f"this is no JSON: {error}", "the line may be torn")


def _understood(data: object) -> NewDecision | InvalidInput:
    if isinstance(data, InvalidInput):
        return data
    try:
        return decision_from(data)
    except InvalidInput as error:
        return error
