"""View `facts`: every fact with its confidence, validity, origin and standing; nothing is ever taken out of it."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime

from domain.decay import VERACITY_WEIGHTS
from domain.erasure import TextErased
from domain.event import ERASED, Envelope, iso_utc
from domain.text import actor_key, digest
from domain.topic_events import (
    FactMentioned,
    FactMentionWithdrawn,
    FactProposed,
    FactRestored,
    FactRetired,
    FactSuperseded,
)
from projections import fact_merges
from projections.lexical import Lexical, lexical
from projections.tables.facts import FACTS, ORIGINS, TEXT, FactTables
from projections.view import View

NEVER_HELD = ("wrong", "undone")  # what a retirement says by its cause; for every other, it held until then
ERASED_HASH = digest(ERASED)
NO_WORDS = Lexical(ERASED, "")


class FactsView(FactTables, View):
    concerned = (
        FactProposed,
        FactMentioned,
        FactMentionWithdrawn,
        FactSuperseded,
        FactRetired,
        FactRestored,
        TextErased,
    )

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        event = envelope.event
        if not envelope.stream.startswith("topic/"):
            return
        match event:
            case FactProposed():
                _propose(db, event, envelope)
            case FactMentioned(echoed=False):
                _mention(db, event, envelope)
            case FactMentionWithdrawn():
                _withdraw_mention(db, event, envelope)
            case FactSuperseded():
                _supersede(db, event, envelope)
            case FactRetired(fact_id=fact_id, cause=cause):
                until = None if cause in NEVER_HELD else iso_utc(envelope.at)
                _end(db, fact_id, "retired", "", cause, until, envelope)
            case FactRestored(fact_id=fact_id):
                _restore(db, fact_id, envelope)
            case TextErased(record=fact_id):
                _erase(db, fact_id, envelope)
            case _:
                return

    def broken_invariants(self, db: sqlite3.Connection) -> list[str]:
        orphans = db.execute(
            f"SELECT id, superseded_by FROM {FACTS} f WHERE superseded_by <> '' AND NOT EXISTS"
            f" (SELECT 1 FROM {FACTS} s WHERE s.id = f.superseded_by) ORDER BY position"
        ).fetchall()
        return [f"{one} is superseded by {other}, which is no fact" for one, other in orphans]


def _propose(db: sqlite3.Connection, event: FactProposed, envelope: Envelope) -> None:
    at = iso_utc(envelope.at)
    found = NO_WORDS if envelope.erased else lexical(event.content, event.topic)
    row = (
        envelope.position,
        event.fact_id,
        envelope.stream,
        event.domain,
        event.topic,
        event.content,
        found.words,
        found.stems,
        event.confidence,
        event.memory_type,
        event.veracity,
        _least_trusted(db, event),
        event.author,
        event.author_role,
        event.about,
        json.dumps(event.source_observation_ids, ensure_ascii=False),
        event.corrects,
        0,
        at,
        at,
        at,
        at if event.valid_from is None else iso_utc(event.valid_from),
        _time(event.valid_until),
        "live",
        *("", "", "", ""),
        None,
        ERASED_HASH if envelope.erased else digest(event.content),
        envelope.position,
    )
    db.execute(f"INSERT INTO {FACTS} VALUES ({', '.join('?' * 31)})", row)
    _look_up(db, envelope.position, found.words, found.stems)
    db.execute(f"INSERT INTO {ORIGINS} VALUES (?, ?, ?)", (event.fact_id, actor_key(event.author), envelope.position))


def _least_trusted(db: sqlite3.Connection, event: FactProposed) -> str:
    """The veracity that weighs least among the fact's own and those of the facts it comes from, all the way back: what
    it cites and what it corrects."""
    trust = event.veracity
    for source in (*event.source_observation_ids, event.corrects):
        found = trust_of(db, source)
        if found is not None and VERACITY_WEIGHTS[found] < VERACITY_WEIGHTS[trust]:
            trust = found
    return trust


def _mention(db: sqlite3.Connection, event: FactMentioned, envelope: Envelope) -> None:
    db.execute(
        f"UPDATE {FACTS} SET confidence = ?, mention_count = mention_count + 1, confirmed_at = ?,"
        " said_at = ?, changed_position = ? WHERE id = ?",
        (event.confidence, iso_utc(envelope.at), iso_utc(envelope.at), envelope.position, event.fact_id),
    )
    db.execute(
        f"INSERT OR IGNORE INTO {ORIGINS} VALUES (?, ?, ?)",
        (event.fact_id, actor_key(event.author), envelope.position),
    )


def _withdraw_mention(db: sqlite3.Connection, event: FactMentionWithdrawn, envelope: Envelope) -> None:
    db.execute(
        f"UPDATE {FACTS} SET confidence = ?, mention_count = mention_count - 1, said_at = ?,"
        " changed_position = ? WHERE id = ?",
        (event.confidence, iso_utc(event.confirmed_at), envelope.position, event.fact_id),
    )
    db.execute(f"DELETE FROM {ORIGINS} WHERE fact_id = ? AND author = ?", (event.fact_id, actor_key(event.forgets)))
    fact_merges.refresh(db, event.fact_id)


def _supersede(db: sqlite3.Connection, event: FactSuperseded, envelope: Envelope) -> None:
    """A correction says that it never held, as does losing to a fact that was there before; else it held until now."""
    own, other = _row(db, event.fact_id), _row(db, event.by)
    if own is None or other is None:
        raise ValueError(f"{event.fact_id} is superseded by {event.by}, and one of them is not there")
    never = event.cause == "correction" or (event.cause == "conflict" and other["position"] < own["position"])
    later = other["held_from"] if other["held_from"] != other["recorded_at"] else iso_utc(envelope.at)
    until = own["held_from"] if never else max(later, own["held_from"])
    _end(db, event.fact_id, "superseded", event.by, event.cause, until, envelope)
    if event.cause == "merge":
        fact_merges.join(db, own, event.by)


def _restore(db: sqlite3.Connection, fact_id: str, envelope: Envelope) -> None:
    before = _row(db, fact_id)
    db.execute(
        f"UPDATE {FACTS} SET status = 'live', superseded_by = '', ended_for = '', ended_by = '', ended_reason = '',"
        " held_until = NULL, changed_position = ? WHERE id = ?",
        (envelope.position, fact_id),
    )
    _let_go(db, before)


def _let_go(db: sqlite3.Connection, before: sqlite3.Row | None) -> None:
    """What was merged into another is no longer."""
    if before is not None and before["ended_for"] == "merge":
        fact_merges.part(db, before)


def _end(
    db: sqlite3.Connection, fact_id: str, status: str, by: str, cause: str, until: str | None, envelope: Envelope
) -> None:
    before = _row(db, fact_id)
    db.execute(
        f"UPDATE {FACTS} SET status = ?, superseded_by = ?, ended_for = ?, ended_by = ?, ended_reason = ?,"
        " held_until = ?, changed_position = ? WHERE id = ?",
        (status, by, cause, envelope.actor, envelope.reason, until, envelope.position, fact_id),
    )
    _let_go(db, before)


def _erase(db: sqlite3.Connection, fact_id: str, envelope: Envelope) -> None:
    row = _row(db, fact_id)
    if row is None:
        return
    before = (row["position"], row["words"], row["stems"])
    db.execute(f"INSERT INTO {TEXT} ({TEXT}, rowid, words, stems) VALUES ('delete', ?, ?, ?)", before)
    db.execute(
        f"UPDATE {FACTS} SET content = ?, words = ?, stems = ?, content_hash = ?, about = '', status = 'erased',"
        " superseded_by = '', ended_for = 'erased', ended_by = ?, ended_reason = ?, held_until = NULL,"
        " changed_position = ? WHERE id = ?",
        (
            ERASED,
            NO_WORDS.words,
            NO_WORDS.stems,
            ERASED_HASH,
            envelope.actor,
            envelope.reason,
            envelope.position,
            fact_id,
        ),
    )
    _look_up(db, row["position"], NO_WORDS.words, NO_WORDS.stems)
    _let_go(db, row)


def _look_up(db: sqlite3.Connection, position: int, words: str, stems: str) -> None:
    db.execute(f"INSERT INTO {TEXT} (rowid, words, stems) VALUES (?, ?, ?)", (position, words, stems))


def _row(db: sqlite3.Connection, fact_id: str) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute(f"SELECT * FROM {FACTS} WHERE id = ?", (fact_id,)).fetchone()
    return found


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else iso_utc(moment)


def trust_of(db: sqlite3.Connection, fact_id: str) -> str | None:
    """The veracity that weighs least among a fact and what it comes from; None when there is no such fact."""
    row = db.execute(f"SELECT trust FROM {FACTS} WHERE id = ?", (fact_id,)).fetchone()
    return str(row[0]) if row else None
