"""The one place where the server searches, so that JSON-RPC and the pages find what every other interface finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from adapters.fact_reading import FactReading, moment_of
from adapters.ledger import By
from adapters.workspace import Workspace
from domain.text import accept_text
from projections.scope import Reader

Kind = Literal["fact", "memory", "all"]
Mode = Literal["hybrid", "semantic", "keyword"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and how it is asked. `at`, `as_of`: as in `tht fact search`."""

    question: str
    kind: Kind = "fact"
    mode: Mode = "hybrid"
    limit: int = 5
    cursor: str = ""
    domain: str = ""
    repo: str = ""
    session_id: str = ""
    at: str = ""
    as_of: str = ""
    explain: bool = False


def search(workspace: Workspace, reader: Reader, by: By, asked: Asked) -> dict[str, Any]:
    """What is found, best first; ids of what was shown are recorded."""
    accept_text(asked.question, "question", required=True)
    moment = moment_of(workspace, asked.at, asked.as_of)
    found = FactReading(workspace, reader).search(
        asked.question, by, moment, repo=asked.repo, limit=asked.limit, domain=asked.domain
    )
    return found.as_json()
