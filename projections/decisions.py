"""View `decisions`: every session and decision with how it stands now, and what reviewers decided about it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import cast

from domain.erasure import TextErased
from domain.event import ERASED, Envelope, iso_utc
from domain.session_events import (
    REUSABLE_TYPES,
    REUSE_PHASE,
    ColumnExcluded,
    ColumnPromoted,
    ConceptClarified,
    Decided,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    MemoryRejected,
    MemorySetAside,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
    PromotionReviewClosed,
    SessionClosed,
    SessionOpened,
    TableExcluded,
    TablePromoted,
    decision_record,
    question_record,
)
from domain.text import content_key
from projections.tables.decisions import CHOICES, DECISIONS, SESSIONS, DecisionTables
from projections.view import View


class DecisionsView(DecisionTables, View):
    concerned = (
        SessionOpened,
        Decided,
        DecisionRetracted,
        PhaseEntered,
        PhaseReopened,
        PhaseRolledBack,
        MemorySetAside,
        MemoryRejected,
        MemoryPromoted,
        MemoryPromotionDeclined,
        PromotionDeferred,
        PromotionReviewClosed,
        SessionClosed,
        TextErased,
    )

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        if not envelope.stream.startswith("session/"):
            return
        event = envelope.event
        session_id = envelope.stream.removeprefix("session/")
        position = envelope.position
        match event:
            case SessionOpened():
                db.execute(
                    f"INSERT INTO {SESSIONS} VALUES (?, ?, ?, 'F1', 'open', 'open', ?, ?, ?, ?)",
                    (
                        session_id,
                        event.question,
                        event.database,
                        envelope.actor,
                        iso_utc(envelope.at),
                        position,
                        position,
                    ),
                )
                return
            case ConceptClarified() | TablePromoted() | TableExcluded() | ColumnPromoted() | ColumnExcluded():
                _insert_decision(db, session_id, event, envelope)
                if isinstance(event, ConceptClarified):
                    db.execute(f"UPDATE {SESSIONS} SET review = 'open' WHERE session_id = ?", (session_id,))
            case DecisionRetracted(seq=seq):
                _restand(db, "retracted", position, "session_id = ? AND seq = ?", session_id, seq)
            case PhaseEntered(phase=phase):
                _move(db, session_id, phase)
            case PhaseReopened(phase=phase):
                _restand(db, "stale", position, "session_id = ? AND phase > ?", session_id, phase)
                _move(db, session_id, phase, reopened=True)
            case PhaseRolledBack(phase=phase):
                _restand(db, "stale", position, "session_id = ? AND phase >= ?", session_id, phase)
                _move(db, session_id, phase, reopened=True)
            case MemorySetAside(memory_id=memory_id):
                _choose(db, session_id, memory_id, "set aside", position)
            case MemoryRejected(memory_id=memory_id):
                _choose(db, session_id, memory_id, "rejected", position)
            case MemoryPromoted(seq=seq, covers=covers, memory_id=memory_id):
                _decide(db, session_id, (seq, *covers), "promoted", envelope, memory_id)
            case MemoryPromotionDeclined(seq=seq, covers=covers):
                _decide(db, session_id, (seq, *covers), "declined", envelope)
            case PromotionDeferred(seq=seq):
                _decide(db, session_id, (seq,), "deferred", envelope)
            case PromotionReviewClosed():
                db.execute(f"UPDATE {SESSIONS} SET review = 'closed' WHERE session_id = ?", (session_id,))
            case SessionClosed():
                db.execute(f"UPDATE {SESSIONS} SET status = 'closed' WHERE session_id = ?", (session_id,))
            case TextErased(record=record):
                _erase(db, session_id, record)
            case _:
                return  # not an event of a session
        db.execute(f"UPDATE {SESSIONS} SET changed_position = ? WHERE session_id = ?", (position, session_id))

    def broken_invariants(self, db: sqlite3.Connection) -> list[str]:
        rows = db.execute(
            f"SELECT session_id, seq, type FROM {DECISIONS} WHERE memory_id <> '' AND type <> 'concept_clarified'"
            " ORDER BY session_id, seq"
        )
        return [f"{row[0]} seq {row[1]} is a {row[2]} and was promoted" for row in rows if row[2] not in REUSABLE_TYPES]


def _insert_decision(db: sqlite3.Connection, session_id: str, event: Decided, envelope: Envelope) -> None:
    concept = event if isinstance(event, ConceptClarified) else None
    db.execute(
        f"INSERT INTO {DECISIONS} VALUES ({', '.join('?' * 22)})",
        (
            session_id,
            event.seq,
            event.kind,
            event.phase,
            event.subject,
            event.detail,
            event.rationale,
            concept.question_context if concept else "",
            _listed(concept.concepts if concept else ()),
            _listed(concept.tables if concept else ()),
            concept.source_memory if concept else None,
            int(concept.source_changed) if concept else 0,
            concept.supersedes if concept else None,
            envelope.actor,
            content_key(event.subject, event.detail) if concept and not envelope.erased else "",
            "effective",
            envelope.position,
            "",
            "",
            0,
            "",
            envelope.position,
        ),
    )


def _erase(db: sqlite3.Connection, session_id: str, record: str) -> None:
    """The rows that a replay gives, which does not get to see the text."""
    if record == question_record(session_id):
        db.execute(f"UPDATE {SESSIONS} SET question = ? WHERE session_id = ?", (ERASED, session_id))
        return
    for seq, kind in db.execute(f"SELECT seq, type FROM {DECISIONS} WHERE session_id = ?", (session_id,)).fetchall():
        if decision_record(session_id, seq) == record:
            context = ERASED if kind in REUSABLE_TYPES else ""
            db.execute(
                f"UPDATE {DECISIONS} SET subject = ?, detail = ?, rationale = ?, question_context = ?, concepts = '[]',"
                " content_key = '' WHERE session_id = ? AND seq = ?",
                (ERASED, ERASED, ERASED, context, session_id, seq),
            )


def _listed(values: tuple[str, ...]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else "[]"


def _restand(db: sqlite3.Connection, standing: str, position: int, where: str, *values: object) -> None:
    db.execute(
        f"UPDATE {DECISIONS} SET standing = ?, standing_position = ? WHERE standing = 'effective' AND {where}",
        (standing, position, *values),
    )


def _move(db: sqlite3.Connection, session_id: str, phase: str, *, reopened: bool = False) -> None:
    again = ", status = 'open', review = 'open'" if reopened else ""
    db.execute(f"UPDATE {SESSIONS} SET phase = ?{again} WHERE session_id = ?", (phase, session_id))
    if phase == REUSE_PHASE:
        db.execute(f"DELETE FROM {CHOICES} WHERE session_id = ? AND choice = 'set aside'", (session_id,))


def _choose(db: sqlite3.Connection, session_id: str, memory_id: str, choice: str, position: int) -> None:
    db.execute(f"INSERT OR IGNORE INTO {CHOICES} VALUES (?, ?, ?, ?)", (session_id, memory_id, choice, position))


def _decide(
    db: sqlite3.Connection,
    session_id: str,
    seqs: tuple[int, ...],
    outcome: str,
    envelope: Envelope,
    memory_id: str = "",
) -> None:
    for seq in seqs:
        db.execute(
            f"UPDATE {DECISIONS} SET outcome = ?, outcome_by = ?, outcome_position = ?, memory_id = ?"
            " WHERE session_id = ? AND seq = ?",
            (outcome, envelope.actor, envelope.position, memory_id, session_id, seq),
        )


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One line of the list of sessions; counts are of decisions."""

    session_id: str
    question: str
    database: str
    phase: str
    status: str
    opened_by: str
    opened_at: str
    decisions: int
    effective: int
    clarifications: int
    promoted: int


def list_sessions(
    db: sqlite3.Connection, *, limit: int, offset: int = 0, status: str = ""
) -> tuple[list[SessionRow], int]:
    """Sessions by id, and how many there are in all."""
    where, values = ("WHERE status = ?", [status]) if status else ("", [])
    total = db.execute(f"SELECT count(*) FROM {SESSIONS} {where}", values).fetchone()[0]
    rows = db.execute(
        f"""SELECT session_id, question, database, phase, status, opened_by, opened_at,
                (SELECT count(*) FROM {DECISIONS} d WHERE d.session_id = s.session_id) AS decisions,
                (SELECT count(*) FROM {DECISIONS} d WHERE d.session_id = s.session_id
                    AND standing = 'effective') AS effective,
                (SELECT count(*) FROM {DECISIONS} d WHERE d.session_id = s.session_id
                    AND type = 'concept_clarified') AS clarifications,
                (SELECT count(*) FROM {DECISIONS} d WHERE d.session_id = s.session_id
                    AND outcome = 'promoted') AS promoted
            FROM {SESSIONS} s {where} ORDER BY session_id LIMIT ? OFFSET ?""",
        (*values, limit, offset),
    )
    return [SessionRow(**dict(row)) for row in rows], cast("int", total)


def sessions_with_candidates(db: sqlite3.Connection) -> list[str]:
    """Sessions that may have open candidates, deferred ones included, by id. A superset: the session itself decides."""
    rows = db.execute(
        f"""SELECT DISTINCT session_id FROM {DECISIONS}
            WHERE type = 'concept_clarified' AND standing = 'effective' AND outcome IN ('', 'deferred')
                AND content_key <> ''
                AND (source_memory IS NULL OR source_changed)
            ORDER BY session_id"""
    )
    return [str(row[0]) for row in rows]


def reuses_of(db: sqlite3.Connection, memory_id: str) -> list[sqlite3.Row]:
    """The decisions that applied a memory, in order of recording."""
    return db.execute(f"SELECT * FROM {DECISIONS} WHERE source_memory = ? ORDER BY position", (memory_id,)).fetchall()


def saying(db: sqlite3.Connection, content_key: str) -> list[tuple[str, int]]:
    """Session and seq of every clarification with this content, whatever became of it, in order of recording."""
    rows = db.execute(
        f"SELECT session_id, seq FROM {DECISIONS} WHERE content_key = ? ORDER BY position", (content_key,)
    )
    return [(str(row[0]), int(row[1])) for row in rows]


def decision_row(db: sqlite3.Connection, session_id: str, seq: int) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute(
        f"SELECT * FROM {DECISIONS} WHERE session_id = ? AND seq = ?", (session_id, seq)
    ).fetchone()
    return found
