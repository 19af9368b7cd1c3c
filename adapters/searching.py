"""The one place where servers search, so that JSON-RPC, MCP and the pages find what the command line finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adapters.fact_reading import moment_of
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.text import accept_text
from projections.scope import Reader


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and how it is asked. `at`, `known_at`: as in `tht fact search`."""

    question: str
    kind: str = "fact"
    mode: str = "hybrid"
    limit: int = 5
    cursor: str = ""
    domain: str = ""
    repo: str = ""
    session_id: str = ""
    at: str = ""
    known_at: str = ""
    explain: bool = False


def search(workspace: Workspace, reader: Reader, by: By, asked: Asked) -> dict[str, Any]:
    """What is found, best first; ids of what was shown are recorded."""
    accept_text(asked.question, "question", required=True)
    moment = moment_of(workspace, at=asked.at, known_at=asked.known_at)
    return (
        Recalling(workspace, reader, Indexing.of(workspace))
        .search(
            asked.question,
            by,
            kind=asked.kind,
            mode=asked.mode,
            limit=asked.limit,
            cursor=asked.cursor,
            domain=asked.domain,
            repo=asked.repo,
            session_id=asked.session_id,
            moment=moment,
            explain=asked.explain,
        )
        .as_json()
    )
