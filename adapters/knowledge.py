"""What every command on workspace knowledge needs: the reader's scope, the known domains, and making one at need."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from adapters.ledger import By, Draft
from adapters.workspace import Workspace
from domain import access as rules
from domain.access import ROLES, DomainName, Repo, accept_role
from domain.decay import CURVES, Curve, parse_curve
from domain.errors import ReviewerNeeded, UnknownRepoScope
from domain.text import accept_text, is_person
from projections import access
from projections.scope import Reader, Scope, scope_of

T = TypeVar("T")


def scope_for(workspace: Workspace, reader: Reader, db: sqlite3.Connection | None = None) -> Scope:
    """What the reader may see, now or in the views of another moment."""
    db = workspace.caught_up() if db is None else db
    return scope_of(db, reader, workspace.config.value("access.default"))


@contextmanager
def seen_by(workspace: Workspace, reader: Reader) -> Iterator[tuple[sqlite3.Connection, Scope]]:
    """The views and what of them the reader may see, held at one position: nothing is closed, and then shown."""
    with workspace.snapshot() as (db, _):
        yield db, scope_for(workspace, reader, db)


def require_whole(workspace: Workspace, reader: Reader, what: str) -> None:
    """AccessDenied for what shows the whole workspace, where anything is closed to the reader."""
    if not reader.unbound:
        scope_for(workspace, reader).require_all(what)


def known_roles(workspace: Workspace) -> tuple[str, ...]:
    """The roles that a new domain gives write to: the usual ones and the workspace's own; none if fail-closed."""
    return () if workspace.config.value("access.default") == "none" else configured_roles(workspace)


def configured_roles(workspace: Workspace) -> tuple[str, ...]:
    """The usual roles and the workspace's own (`access.roles`)."""
    own = str(workspace.config.value("access.roles")).split(",")
    return tuple(dict.fromkeys((*ROLES, *(accept_role(role) for role in own if role.strip()))))


def named_domain(
    workspace: Workspace,
    domain: str,
    repo: str = "",
    scope: Scope | None = None,
    db: sqlite3.Connection | None = None,
) -> DomainName:
    """The domain that is meant, there or not, now or in the views that are given. UnknownRepoScope for a repository
    that has no domain yet."""
    accept_text(domain, "domain", limit=300, required=True)
    db = workspace.caught_up() if db is None else db
    return _among_repos(db, scope, lambda known: rules.parse_domain(domain, repo, known))


def named_repo(workspace: Workspace, repo: str, scope: Scope | None = None) -> str:
    """The slug of a repository given as slug or `owner/name`; empty for none. UnknownRepoScope as above."""
    if not repo:
        return ""
    return _among_repos(workspace.caught_up(), scope, lambda known: rules.find_repo(repo, known).slug)


def _among_repos(db: sqlite3.Connection, scope: Scope | None, find: Callable[[Sequence[Repo]], T]) -> T:
    """What is found among the known repositories. Who is told of near names is told of none that are closed to them."""
    known = access.repos(db)
    try:
        return find(known)
    except UnknownRepoScope:
        if scope is None or not scope.limited:
            raise
        seen = {row.repo for row in access.domains(db) if scope.sees(row.id)}
        return find([one for one in known if one.slug in seen])


def load_domain(draft: Draft, name: DomainName, workspace: Workspace) -> rules.Domain:
    """The domain for a command, created with its first grants when it is not there."""
    stream = rules.domain_stream(name.id)
    domain = rules.fold(draft.so_far(stream))
    if domain is None:
        repo_name = next((one.name for one in access.repos(workspace.file.db) if one.slug == name.repo), "")
        created = rules.create(None, name, repo_name=repo_name, writers=known_roles(workspace))
        draft.append(stream, (created,))
        domain = rules.Domain(name, dict.fromkeys(created.writers, "write"))
    return domain


def require_human(by: By, what: str) -> None:
    """ReviewerNeeded when an agent or a tool does what only people do."""
    if not is_person(by.actor):
        raise ReviewerNeeded(f"{by.actor} is not a person: only people {what}", "ask a person to do it")


def curves(workspace: Workspace) -> Mapping[str, Curve]:
    """How each memory type ages, as configured (`decay.*`)."""
    return {name: parse_curve(workspace.config.value(f"decay.{name}")) for name in CURVES}
