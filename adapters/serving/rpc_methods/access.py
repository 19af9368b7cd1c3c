"""memory_domain.* and memory_access_grant.*: made and set by people, read by whom they are open to."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

from pydantic import Field

from adapters.access import Access
from adapters.closing import As, Closing
from adapters.ledger import By
from adapters.serving.rpc_method import Call, Changing, Id, Method, Name, Paged, Params, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from domain.access import accept_permission
from domain.errors import InvalidInput, NothingChanged, ThtError, Unavailable

log = logging.getLogger("tht.serve")
Level = Literal["none", "read", "write", "default"]


class Domains(Paged):
    repo: Name = ""


class One(Params):
    domain: Id
    repo: Name = ""


class Make(Changing):
    domain: Id
    repo: Name = ""


class Close(Changing):
    domain: Id
    way: Literal["wrong", "was-true"]


class Grants(Paged):
    role: Name = ""
    domain: Name = ""
    repo: Name = ""


class Set(Changing):
    domain: Id
    role: Id
    permission: Level = Field(description="default takes the row away.")
    repo: Name = ""


class Row(Params):
    domain: Id
    role: Id
    permission: Level
    repo: Name = ""


class SetAll(Changing):
    grants: Annotated[list[Row], Field(min_length=1, max_length=100)]


class Explain(Params):
    role: Id
    domain: Id
    repo: Name = ""


def domains(call: Call, params: Domains) -> dict[str, Any]:
    found = Access(call.workspace).domains(call.reader, repo=params.repo).as_json()
    return _page(call, params, found, "domains")


def _page(call: Call, params: Paged, found: dict[str, Any], name: str) -> dict[str, Any]:
    size, rows = call.size(params), found[name]
    shown = rows[params.offset : params.offset + size]
    return found | {name: shown} | page(params, len(shown), len(rows))


def domain(call: Call, params: One) -> dict[str, Any]:
    row, grants = Access(call.workspace).domain(call.reader, params.domain, repo=params.repo)
    return row.as_json() | {"grants": [one.as_json() for one in grants]}


def make(call: Call, params: Make) -> dict[str, Any]:
    name, done = Access(call.workspace, call.proof).create(params.domain, call.by(params), repo=params.repo)
    return recorded(done, params, domain=name.id)


def close(call: Call, params: Close) -> dict[str, Any]:
    way: As = params.way
    ran = Closing(call.workspace, call.proof).close([params.domain], way, call.by(params))
    return ran.as_json() | ({"dry_run": True} if params.dry_run else {})


def grants(call: Call, params: Grants) -> dict[str, Any]:
    access = Access(call.workspace)
    found = access.grants(call.reader, role=params.role, domain=params.domain, repo=params.repo).as_json()
    return _page(call, params, found, "grants")


def set_one(call: Call, params: Set) -> dict[str, Any]:
    access = Access(call.workspace, call.proof)
    level = accept_permission(params.permission)
    changed, done = access.set_grant(params.domain, params.role, level, call.by(params), repo=params.repo)
    told = {"domain": changed.domain, "role": changed.role, "permission": changed.permission}
    return recorded(done, params, **told, warning=access.unknown_role(params.role) or None)


def set_all(call: Call, params: SetAll) -> dict[str, Any]:
    """Each row on its own: what fails is reported and leaves the others alone. Where the ledger cannot be reached, or
    after a fault, the rows that follow are not tried, and what came of those before is told all the same."""
    if params.idempotency_key:
        raise InvalidInput("a list of grants takes no idempotency_key", "setting what is set already changes nothing")
    by = call.by(params)
    outcomes: list[dict[str, Any]] = []
    stopped: ThtError | None = None
    for row in params.grants:
        try:
            outcomes.append(_failed(row, stopped) if stopped else _set(call, row, by))
        except Exception as error:
            if not isinstance(error, Unavailable):
                log.exception("memory_access_grant.upsertAll: a fault of tht")
            stopped = Unavailable("an earlier row could not be set, so this one was not tried", "set it again")
            told = (
                error
                if isinstance(error, ThtError)
                else Unavailable("this is a fault of tht", "the server's log says more")
            )
            outcomes.append(_failed(row, told))
    return {"outcomes": outcomes, "failed": sum("error" in one for one in outcomes)}


def _set(call: Call, row: Row, by: By) -> dict[str, Any]:
    named = _named(row)
    try:
        level = accept_permission(row.permission)
        _, done = Access(call.workspace, call.proof).set_grant(row.domain, row.role, level, by, repo=row.repo)
    except NothingChanged:
        return named | {"changed": False}
    except ThtError as error:
        if isinstance(error, Unavailable):
            raise
        return _failed(row, error)
    return named | {"changed": True, "position": done.position}


def _failed(row: Row, error: ThtError) -> dict[str, Any]:
    return _named(row) | {"error": {"type": error.type, "message": error.message, "hint": error.hint}}


def _named(row: Row) -> dict[str, Any]:
    return {"domain": row.domain, "role": row.role, "permission": row.permission}


def explain(call: Call, params: Explain) -> dict[str, Any]:
    return Access(call.workspace).explain(call.reader, params.role, params.domain, repo=params.repo).as_json()


METHODS: tuple[Method[Any], ...] = (
    Method("memory_domain.getByWorkspace", "The domains that the caller sees.", Domains, domains),
    Method("memory_domain.getById", "A domain with its grants.", One, domain),
    Method("memory_domain.upsert", "Make a domain; a person's.", Make, make, True),
    Method(
        "memory_domain.delete", "Retire all that a domain holds, in one run that can be undone.", Close, close, True
    ),
    Method("memory_domain.watchForWorkspace", "Where changes are streamed.", Watch, watching("memory_domain")),
    Method("memory_access_grant.getByWorkspace", "Grants, of one role or domain where named.", Grants, grants),
    Method("memory_access_grant.upsert", "What a role may do in a domain; a person's.", Set, set_one, True),
    Method("memory_access_grant.upsertAll", "Many at once, each with its outcome.", SetAll, set_all, True),
    Method("memory_access_grant.explain", "Which row or default decides.", Explain, explain),
    Method(
        "memory_access_grant.watchByWorkspace", "Where changes are streamed.", Watch, watching("memory_access_grant")
    ),
)
