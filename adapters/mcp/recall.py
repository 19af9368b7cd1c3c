"""The one search behind the tools: facts by words, memories by the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from adapters.fact_reading import FactReading, moment_of
from adapters.indexing import Indexing
from adapters.mcp.call import Call
from adapters.mcp.failing import echo
from domain.errors import InvalidInput
from domain.text import accept_text

Kind = Literal["fact", "memory", "all"]
Mode = Literal["hybrid", "semantic", "keyword"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, with all that narrows it."""

    question: str
    kind: Kind
    mode: Mode = "hybrid"
    limit: int = 5
    cursor: str = ""
    domain: str = ""
    repo: str = ""
    session_id: str = ""
    as_of: str = ""
    known_at: str = ""


def search(call: Call, asked: Asked) -> dict[str, Any]:
    """`hits`, best first, each with its `kind`; what of it was closed, left or could not be asked. Recorded by ids."""
    accept_text(asked.question, "query", required=True)
    if asked.cursor:
        raise InvalidInput(f"{echo(asked.cursor)} is no cursor of this search", "leave it empty")
    return _search(call, asked)


def _search(call: Call, asked: Asked) -> dict[str, Any]:
    hits: list[dict[str, Any]] = []
    notices: list[str] = []
    answer: dict[str, Any] = {"mode": asked.mode, "denied": None, "remembered": []}
    if asked.kind != "memory":
        reading = FactReading(call.workspace, call.reader)
        moment = moment_of(call.workspace, asked.known_at, asked.as_of)
        found = reading.search(
            asked.question, call.by(), moment, repo=asked.repo, limit=asked.limit, domain=asked.domain
        ).as_json()
        hits += [{"kind": "fact"} | fact for fact in found["facts"]]
        answer |= {"denied": found["denied"], "remembered": found.get("remembered", [])}
        if asked.mode != "keyword":
            notices.append("facts were searched by words")
    if asked.kind != "fact":
        memories = (
            _indexing(call).search(asked.question, call.by(), session_id=asked.session_id, limit=asked.limit).as_json()
        )
        hits += [{"kind": "memory"} | hit for hit in memories["hits"]]
        answer |= {"voices": memories["voices"], "index": memories["index"]}
        notices += [memories["notice"]] if memories["notice"] else []
    return {"hits": hits, **answer, "notice": "; ".join(notices) or None, "next_cursor": None}


def _indexing(call: Call) -> Indexing:
    """One for as long as the workspace is open: the model is loaded once."""
    kept: Indexing = vars(call.workspace).setdefault("mcp_indexing", Indexing(call.workspace))
    return kept
