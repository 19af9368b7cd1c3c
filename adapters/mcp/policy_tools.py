"""Tools on policies: the rules that every dispatch carries. None lets a held one in: that is a person's act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from adapters.known import Known
from adapters.mcp.call import Call
from adapters.mcp.paging import cursor_after, offset_of
from adapters.mcp.quoting import lines, policy_line
from adapters.mcp.tool import Answer, Arguments, Changing, Cursor, Domain, Limit, Recorded, Repo, Tool
from adapters.outcomes import committed_json
from adapters.policies import Policies
from domain.policy import STATUSES
from domain.policy_events import PolicyProposed

Rule = Annotated[str, Field(description="What agents must do, in one sentence.")]
ForRole = Annotated[str, Field(description="Whom the rule addresses; everybody still reads it. Empty: everybody.")]
Sources = Annotated[
    Sequence[str], Field(description="Ids of the facts that it rests on: name all, a person may have to check it.")
]


class ProposePolicy(Changing):
    domain: Annotated[str, Field(description="Where it belongs, such as architecture.")]
    rule: Rule
    repo: Repo = ""
    required_role: ForRole = ""
    derived_from: Sources = ()


class PolicyRecorded(Recorded):
    policy_id: str
    held: str | None = Field(description="Why it waits for a person and is not active yet; null when it is active.")


def _propose(call: Call, given: ProposePolicy) -> dict[str, Any]:
    policy_id, done = Policies(call.workspace).propose(
        given.domain,
        given.rule,
        call.by(given.reason, given.idempotency_key),
        repo=given.repo,
        required_role=given.required_role,
        derived_from=given.derived_from,
    )
    held = next((event.held for event in done.events(PolicyProposed)), "")
    return committed_json(done, policy_id=policy_id, held=held or None)


class SupersedePolicy(Changing):
    policy_id: Annotated[str, Field(description="The policy that gives way; list_policies shows its id.")]
    rule: Rule
    required_role: ForRole = ""
    derived_from: Sources = ()


class PolicySuperseded(PolicyRecorded):
    supersedes: str


def _supersede(call: Call, given: SupersedePolicy) -> dict[str, Any]:
    policy_id, done = Policies(call.workspace).supersede(
        given.policy_id,
        given.rule,
        call.by(given.reason, given.idempotency_key),
        required_role=given.required_role,
        derived_from=given.derived_from,
    )
    held = next((event.held for event in done.events(PolicyProposed)), "")
    return committed_json(done, policy_id=policy_id, held=held or None, supersedes=given.policy_id)


class ListPolicies(Arguments):
    status: Annotated[str, Known((*STATUSES, "all")), Field(description="active: what holds for you now.")] = "active"
    domain: Domain = ""
    repo: Repo = ""
    limit: Limit = 50
    cursor: Cursor = ""


class PoliciesListed(Answer):
    policies: list[dict[str, Any]] = Field(description="In the order in which they were proposed.")
    total: int
    load: dict[str, Any] = Field(description="What the active ones weigh, against the budget.")
    denied: str | None
    next_cursor: str | None


def _list(call: Call, given: ListPolicies) -> dict[str, Any]:
    offset = offset_of(given.cursor)
    found = Policies(call.workspace).list(
        call.reader,
        status="" if given.status == "all" else given.status,
        domain=given.domain,
        repo=given.repo,
        limit=given.limit,
        offset=offset,
    )
    more = {"next_cursor": cursor_after(offset, len(found.policies), found.total)}
    return found.as_json() | more | {"warning": found.load.warning or None}


def _list_text(answer: Mapping[str, Any]) -> str:
    return lines(answer, [policy_line(one) for one in answer["policies"]], "There is no policy of this status.")


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "list_policies",
        "List policies",
        """The rules of this workspace that you may read, with id, domain, whose they are and how they stand.
        get_preamble carries every active one already; use this to find an id, or to see what is held and
        why.""",
        ListPolicies,
        PoliciesListed,
        _list,
        _list_text,
        reads=True,
    ),
    Tool(
        "propose_policy",
        "Propose a policy",
        """A rule for every agent, in a domain. It is active at once unless it rests on what a tool said or what came
        from elsewhere: then `held` says why and a person lets it in. Refused: your role has no write for
        the domain (InsufficientMemoryPermission; propose a fact instead), the rule is there
        (NothingChanged), an unknown source (UnknownFact). What holds is a fact; what to do about it is a
        policy.""",
        ProposePolicy,
        PolicyRecorded,
        _propose,
    ),
    Tool(
        "supersede_policy",
        "Let a rule take a policy's place",
        """A new rule takes the place of a policy and inherits what that was derived from. If it has to wait for a
        person (`held`), the old one stays until then. Refused: no write for its domain
        (InsufficientMemoryPermission), an unknown id (UnknownPolicy).""",
        SupersedePolicy,
        PolicySuperseded,
        _supersede,
        replaces=True,
    ),
)
