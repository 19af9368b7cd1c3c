"""The preamble of a task, put together for whoever is sent out with it; what was shown is recorded after that."""

from __future__ import annotations

from adapters.fact_reading import log_shown
from adapters.knowledge import curves, named_repo, scope_for
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
    granted = scope_for(workspace, reader)
    scope = everything(by.actor) if workspace.config.value("access.preamble") == "open" else granted
    return assemble(
        workspace.file.db,
        reader,
        scope,
        task,
        at=iso_utc(workspace.clock()),
        budget=int(workspace.config.value("policy.budget")),
        repo=named_repo(workspace, repo, scope),
        curves=curves(workspace),
    )


def record_shown(workspace: Workspace, by: By, made: Preamble) -> None:
    """Record which facts the preamble showed: after it was handed over, as nobody waits for the disk then."""
    log_shown(workspace, by, [fact.id for fact in made.facts], "preamble")
