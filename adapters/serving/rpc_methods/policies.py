"""memory_policy.*: what agents must do about what holds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from adapters.known import Known
from adapters.policies import Policies
from adapters.serving.rpc_method import Call, Changing, Id, Ids, Method, Name, Paged, Params, Text, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from domain.errors import InvalidInput
from domain.policy import STATUSES

Status = Annotated[str, Known((*STATUSES, "all"))]


class Listing(Paged):
    status: Status = "active"
    domain: Name = ""
    repo: Name = ""


class One(Params):
    policy_id: Id


class Upsert(Changing):
    rule: Text
    policy_id: Name = Field("", description="The policy whose place the rule takes; without one it is a new policy.")
    domain: Name = ""
    repo: Name = ""
    required_role: Name = ""
    derived_from: Ids = Field(default_factory=list)


class Change(Changing):
    policy_id: Id


def by_workspace(call: Call, params: Listing) -> dict[str, Any]:
    size = call.size(params)
    found = Policies(call.workspace).list(
        call.reader,
        status="" if params.status == "all" else params.status,
        domain=params.domain,
        repo=params.repo,
        limit=size,
        offset=params.offset,
    )
    return found.as_json() | page(params, len(found.policies), found.total)


def get(call: Call, params: One) -> dict[str, Any]:
    return Policies(call.workspace).get(call.reader, params.policy_id).as_json()


def upsert(call: Call, params: Upsert) -> dict[str, Any]:
    policies, by = Policies(call.workspace, call.proof), call.by(params)
    role, sources = params.required_role, tuple(params.derived_from)
    if params.policy_id:
        if params.domain or params.repo:
            raise InvalidInput("a policy stays in its domain", "leave domain and repo out")
        made, done = policies.supersede(params.policy_id, params.rule, by, required_role=role, derived_from=sources)
    else:
        made, done = policies.propose(
            params.domain, params.rule, by, repo=params.repo, required_role=role, derived_from=sources
        )
    return recorded(done, params, policy_id=made)


def activate(call: Call, params: Change) -> dict[str, Any]:
    done = Policies(call.workspace, call.proof).activate(params.policy_id, call.by(params))
    return recorded(done, params, policy_id=params.policy_id)


def deactivate(call: Call, params: Change) -> dict[str, Any]:
    done = Policies(call.workspace, call.proof).deactivate(params.policy_id, call.by(params))
    return recorded(done, params, policy_id=params.policy_id)


METHODS: tuple[Method[Any], ...] = (
    Method(
        "memory_policy.getByWorkspace", "Policies, in the order in which they were proposed.", Listing, by_workspace
    ),
    Method("memory_policy.getById", "A policy with its history.", One, get),
    Method("memory_policy.upsert", "Propose a rule, or let one take another's place.", Upsert, upsert, True),
    Method("memory_policy.activate", "Back into every dispatch.", Change, activate, True),
    Method("memory_policy.deactivate", "Out of every dispatch, until it is activated.", Change, deactivate, True),
    Method("memory_policy.delete", "The same as deactivate: nothing is ever deleted.", Change, deactivate, True),
    Method("memory_policy.watchForWorkspace", "Where changes are streamed.", Watch, watching("memory_policy")),
)
