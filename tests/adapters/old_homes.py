"""Old homes to import, written line by line."""

from __future__ import annotations

import json
from pathlib import Path

from adapters.imports import import_found, look_at
from adapters.ledger import By
from adapters.session_files import Report
from adapters.workspace import Workspace
from projections.invariants import broken_invariants

IMPORTER = By("tool:importer")


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines))
    return path


def taken(workspace: Workspace, path: Path, by: By = IMPORTER) -> Report:
    report = import_found(workspace, look_at(path), by)
    assert isinstance(report, Report)
    assert list(broken_invariants(workspace.ledger.page(0, 10_000))) == []
    return report


def line(kind: str, seq: int | None = None, **more: object) -> dict[str, object]:
    return {"type": kind} | ({} if seq is None else {"seq": seq}) | more


def concept(seq: int, subject: str, **more: object) -> dict[str, object]:
    return line("concept_clarified", seq, subject=subject, detail=f"{subject}: so", phase="F1") | more


def record(number: int, subject: str, seq: int, session_id: str = "alpha", **more: object) -> dict[str, object]:
    return {
        "id": f"mem-{number:04d}",
        "timestamp": "2025-11-03T10:00:00+01:00",
        "session_id": session_id,
        "decision_seq": seq,
        "type": "concept_clarified",
        "subject": subject,
        "detail": f"{subject}: so",
        "rationale": "asked",
        "question_context": "Quante ablazioni?",
        "tables": [],
        "concepts": ["ablazione"],
    } | more
