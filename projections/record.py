"""A memory as it is read: the record that `registry.jsonl` holds, and what the ledger adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from domain.session_events import REUSABLE_TYPES


@dataclass(frozen=True, slots=True)
class Record:
    """A memory as `registry.jsonl` holds it."""

    id: str
    timestamp: str
    session_id: str
    decision_seq: int
    type: str
    subject: str
    detail: str
    rationale: str
    question_context: str
    tables: tuple[str, ...]
    concepts: tuple[str, ...]

    @property
    def index_text(self) -> str:
        """What is embedded: type and subject, detail, rationale, question context, concepts and mappings."""
        parts = (f"{self.type}: {self.subject}", self.detail, self.rationale, self.question_context)
        lists = (", ".join(self.concepts), ", ".join(self.tables))
        return "\n".join(part for part in (*parts, *lists) if part.strip())

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "timestamp": self.timestamp,
            "session_id": self.session_id,
            "decision_seq": self.decision_seq,
            "type": self.type,
            "subject": self.subject,
            "detail": self.detail,
            "rationale": self.rationale,
            "question_context": self.question_context,
            "tables": list(self.tables),
            "concepts": list(self.concepts),
        }


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Where a memory comes from. `effective` is None when the session is not in this ledger."""

    session_id: str
    seq: int
    by: str
    withdrawn: bool
    merged_from: str
    position: int
    effective: bool | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory with what the ledger adds to its record."""

    record: Record
    stream: str
    status: str
    successor: str | None
    status_by: str
    status_reason: str
    reviewer: str
    self_reviewed: bool
    content_hash: str
    position: int
    changed_position: int
    sources: tuple[SourceRow, ...]

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def live(self) -> bool:
        return self.status == "live" and self.record.type in REUSABLE_TYPES

    @property
    def flag(self) -> str:
        """`source no longer effective` when no standing source holds any more; `… of one source` when only some do."""
        standing = [source for source in self.sources if not source.withdrawn]
        gone = [source for source in standing if source.effective is False]
        if not gone:
            return ""
        if len(gone) == len(standing):
            return "source no longer effective"
        return f"source no longer effective: {', '.join(f'{one.session_id}:{one.seq}' for one in gone)}"

    def as_json(self) -> dict[str, Any]:
        return self.record.as_json() | {
            "status": self.status,
            "successor": self.successor,
            "status_by": self.status_by,
            "status_reason": self.status_reason,
            "reviewer": self.reviewer,
            "self_reviewed": self.self_reviewed,
            "flag": self.flag,
            "position": self.position,
            "sources": [
                {
                    "session_id": source.session_id,
                    "seq": source.seq,
                    "by": source.by,
                    "withdrawn": source.withdrawn,
                    "merged_from": source.merged_from or None,
                    "effective": source.effective,
                }
                for source in self.sources
            ],
        }
