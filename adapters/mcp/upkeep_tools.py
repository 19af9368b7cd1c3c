"""Tools of upkeep, which an agent that sees everything may call; undoing a run is a person's act."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from adapters.consolidate import Consolidate
from adapters.harmonize import Harmonize
from adapters.mcp.call import Call
from adapters.mcp.tool import Answer, Changing, Tool


class Run(Changing):
    dry_run: Annotated[bool, Field(description="Only say what would be done.")] = False


class Ran(Answer):
    run_id: str = Field(description="A person can undo the run by it.")
    what: str
    left: list[str]
    position: int
    already: bool
    dry_run: bool


def _consolidate(call: Call, given: Run) -> dict[str, Any]:
    by = call.by(given.reason, given.idempotency_key, dry_run=given.dry_run)
    return Consolidate(call.workspace).run(by).as_json() | {"dry_run": given.dry_run}


def _harmonize(call: Call, given: Run) -> dict[str, Any]:
    by = call.by(given.reason, given.idempotency_key, dry_run=given.dry_run)
    return Harmonize(call.workspace).run(by).as_json() | {"dry_run": given.dry_run}


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "consolidate_memory",
        "Consolidate",
        """Expire and raise what agents keep in mind, merge facts that say the same, retire what nobody needs. Nothing
        is deleted and a person can undo the run. Try dry_run first. Refused: there is nothing to do
        (NothingChanged), a domain is closed to you (AccessDenied), another run is under way
        (HomeNotWritable).""",
        Run,
        Ran,
        _consolidate,
        replaces=True,
    ),
    Tool(
        "harmonize_memory",
        "Harmonize",
        """Turn what independent authors agree on into beliefs, and what they contradict into open conflicts. Try
        dry_run first; then list_memory_conflicts. Refused as consolidate_memory is.""",
        Run,
        Ran,
        _harmonize,
    ),
)
