"""The one search, asked by an agent's tool, and its answer in the names of the protocol."""

from __future__ import annotations

from typing import Any

from adapters.mcp.call import Call
from adapters.searching import Asked, search


def found(call: Call, asked: Asked) -> dict[str, Any]:
    """`hits`, best first, each with its `kind`; what was asked of which voices, closed or left. Recorded by ids."""
    answer = search(call.workspace, call.reader, call.by(), asked)
    cursor, notice = answer.pop("cursor"), answer.pop("notice")
    return answer | {
        "remembered": answer.get("remembered", []),
        "notice": notice or None,
        "next_cursor": cursor,
    }
