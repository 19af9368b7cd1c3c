"""The preamble of a task, put together for whoever is sent out with it; what was shown is recorded after that."""

from __future__ import annotations

from adapters.fact_reading import log_shown
from adapters.knowledge import curves, named_repo, scope_for, seen_by
from adapters.ledger import By
from adapters.workspace import Workspace
from domain.event import iso_utc
from domain.text import accept_text
from projections.preamble import Preamble, assemble
from projections.scope import Reader, everything


def preamble(workspace: Workspace, task: str, by: By, *, repo: str = "") -> Preamble:
    """What reaches the prompt of the actor for this task. UnknownRepoScope for a repository that nobody knows.

    With `access.preamble` = open it ignores grants, as the seed's did.
    """
    accept_text(task, "the task")
    reader = Reader(by.actor, by.role)
    asked, whole = everything(by.actor), workspace.config.value("access.preamble") == "open"
    slug = named_repo(workspace, repo, asked if whole else scope_for(workspace, reader))
    with seen_by(workspace, reader) as (db, granted):
        return assemble(
            db,
            reader,
            asked if whole else granted,
            task,
            at=iso_utc(workspace.clock()),
            budget=int(workspace.config.value("policy.budget")),
            repo=slug,
            curves=curves(workspace),
        )


def record_shown(workspace: Workspace, by: By, made: Preamble) -> None:
    """Record which facts the preamble showed: after it was handed over, as nobody waits for the disk then. Not in a
    ledger that is closed, as it has moved."""
    log_shown(workspace, by, [fact.id for fact in made.facts], "preamble")
