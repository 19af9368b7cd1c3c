"""Policies: rules that every dispatch carries while they are active. Who wrote one, and what it was derived from,
decides whether it needs a person first: its trust is the least of its lineage.

The stream is named by domain and normalised rule, so the same rule twice in one domain meets itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from domain.access import accept_role
from domain.erasure import TextErased
from domain.errors import InvalidInput, NothingChanged, Refused, ReviewerNeeded, SelfReview
from domain.event import ERASED, Envelope, Event
from domain.ids import short_id
from domain.policy_events import PolicyActivated, PolicyDeactivated, PolicyProposed, PolicySuperseded
from domain.promotion import Reviewer
from domain.text import accept_id, accept_text, is_person, normal_form, same_actor

Status = Literal["active", "held", "inactive", "superseded", "erased"]
STATUSES: tuple[Status, ...] = ("active", "held", "inactive", "superseded", "erased")
RULE_LIMIT = 2_000  # characters: every dispatch carries every one of them
SOURCES_LIMIT = 100
TRUSTED = ("stated", "inferred")  # veracities; what a tool said, or came from elsewhere, waits for a person


@dataclass(frozen=True, slots=True)
class NewPolicy:
    """What somebody proposes, as it can be recorded (see `accept_policy`)."""

    domain: str
    rule: str
    required_role: str = ""
    derived_from: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return policy_id(self.domain, self.rule)


@dataclass(frozen=True, slots=True)
class Policy:
    """`held`: why a person must let it in, until one does. `supersedes`: what gives way to it when that happens."""

    policy_id: str
    domain: str
    rule: str
    proposer: str
    required_role: str = ""
    derived_from: tuple[str, ...] = ()
    status: Status = "active"
    held: str = ""
    supersedes: str = ""
    superseded_by: str = ""

    @property
    def active(self) -> bool:
        return self.status == "active"


def policy_id(domain: str, rule: str) -> str:
    return short_id("policy", domain, normal_form(rule))


def policy_stream(policy: str) -> str:
    return f"policy/{policy}"


def evolve(policy: Policy | None, envelope: Envelope) -> Policy | None:
    event = envelope.event
    if isinstance(event, PolicyProposed):
        status: Status = "active" if event.active else "held" if event.held else "inactive"
        return Policy(
            event.policy_id,
            event.domain,
            event.rule,
            envelope.actor,
            event.required_role,
            event.derived_from,
            status,
            event.held,
            event.supersedes,
        )
    return None if policy is None else _changed(policy, event)


def _changed(policy: Policy, event: Event) -> Policy:
    match event:
        case PolicySuperseded(by=by):
            return replace(policy, status="superseded", superseded_by=by)
        case PolicyActivated():
            return replace(policy, status="active", held="", supersedes="", superseded_by="")
        case PolicyDeactivated():
            return replace(policy, status="inactive", superseded_by="")
        case TextErased(record=record) if record == policy.policy_id:
            return replace(policy, status="erased", rule=ERASED, superseded_by="")
        case _:
            return policy


def fold(envelopes: Iterable[Envelope]) -> Policy | None:
    policy: Policy | None = None
    for envelope in envelopes:
        policy = evolve(policy, envelope)
    return policy


# -- what may be proposed ----------------------------------------------------------------------------------------------


def accept_policy(domain: str, rule: str, required_role: str = "", derived_from: Sequence[str] = ()) -> NewPolicy:
    """The policy as it can be recorded: trimmed, the role normalised, each source once. InvalidInput says why not."""
    text = accept_text(rule, "rule", limit=RULE_LIMIT, required=True).strip()
    if not normal_form(text):
        raise InvalidInput(f"the rule {text!r} says nothing")
    if len(derived_from) > SOURCES_LIMIT:
        raise InvalidInput(f"a policy takes at most {SOURCES_LIMIT} facts that it is derived from")
    sources = tuple(dict.fromkeys(accept_id(one, "fact id") for one in derived_from))
    return NewPolicy(domain, text, accept_role(required_role) if required_role else "", sources)


def why_held(proposer: str, lineage: Mapping[str, str | None]) -> str:
    """Why a person must let a rule in before it reaches any prompt; empty when none must.

    `lineage`: the trust of each fact that it is derived from, None for one that is not there any more (scenario S-59).
    """
    if proposer.startswith("tool:"):
        return f"proposed by {proposer}"
    doubtful = [f"{fact} is {trust or 'unknown'}" for fact, trust in lineage.items() if trust not in TRUSTED]
    more = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
    return f"derived from what is not first hand: {', '.join(doubtful[:3])}{more}" if doubtful else ""


# -- decide ------------------------------------------------------------------------------------------------------------


def propose(there: Policy | None, new: NewPolicy, held: str, *, supersedes: str = "") -> PolicyProposed:
    """A new policy, active unless it is `held`. NothingChanged when the rule is there, and says what became of it."""
    if there is not None:
        _refuse_again(there)
    return PolicyProposed(
        policy_id=new.id,
        domain=new.domain,
        rule=new.rule,
        required_role=new.required_role,
        derived_from=new.derived_from,
        active=not held,
        held=held,
        supersedes=supersedes if held else "",
    )


def _refuse_again(there: Policy) -> None:
    if there.status == "erased":
        raise Refused(f"{there.policy_id} said just this and was erased", "propose it in other words if it must be")
    told = {"active": "is active already", "held": "waits for a person already"}.get(there.status, "is there, inactive")
    hint = "" if there.active else f"tht policy activate {there.policy_id}"
    raise NothingChanged(f"{there.policy_id} says this for {there.domain} and {told}", hint)


@dataclass(frozen=True, slots=True)
class Supersession:
    """Events of the rule that is to hold and of the one that gives way: none of the old one's while the new waits."""

    new: tuple[Event, ...]
    old: tuple[PolicySuperseded, ...]


def supersede(old: Policy, there: Policy | None, new: NewPolicy, held: str) -> Supersession:
    """`new` takes the place of `old`. While it waits for a person, the old rule stays as it is."""
    require_there(old)
    if new.id == old.policy_id:
        raise Refused(f"{old.policy_id} says this already", "write the rule that is to take its place")
    if old.status == "superseded":
        raise NothingChanged(
            f"{old.policy_id} is superseded by {old.superseded_by} already", f"tht policy supersede {old.superseded_by}"
        )
    gone = (PolicySuperseded(policy_id=old.policy_id, by=new.id),)
    if there is None:
        return Supersession((propose(None, new, held, supersedes=old.policy_id),), () if held else gone)
    if there.held or there.status == "erased":
        _refuse_again(there)
    return Supersession(() if there.active else (PolicyActivated(policy_id=new.id),), gone)


def activate(policy: Policy, reviewer: Reviewer) -> PolicyActivated:
    """Active again, or for the first time. What is held needs a person (ReviewerNeeded) who did not propose it
    (SelfReview), unless the workspace lets people review themselves."""
    require_there(policy)
    if policy.active:
        raise NothingChanged(f"{policy.policy_id} is active already")
    own = False
    if policy.held:
        if not is_person(reviewer.actor):
            raise ReviewerNeeded(
                f"{policy.policy_id} waits for a person ({policy.held}), and {reviewer.actor} is none",
                f"ask a person to do it: tht policy activate {policy.policy_id}",
            )
        own = same_actor(reviewer.actor, policy.proposer)
        if own and not reviewer.allow_self:
            raise SelfReview(f"{reviewer.actor} proposed {policy.policy_id}: who proposes does not approve")
    return PolicyActivated(policy_id=policy.policy_id, self_reviewed=own)


def give_way(old: Policy, by: str) -> tuple[PolicySuperseded, ...]:
    """What the rule that a held one was to replace does when that one is let in: nothing if it is out already."""
    return (PolicySuperseded(policy_id=old.policy_id, by=by),) if old.status in ("active", "held", "inactive") else ()


def deactivate(policy: Policy) -> PolicyDeactivated:
    """Out of every dispatch; a held one does not wait any longer. NothingChanged when it is out already."""
    require_there(policy)
    if policy.status not in ("active", "held"):
        raise NothingChanged(f"{policy.policy_id} is {policy.status} already")
    return PolicyDeactivated(policy_id=policy.policy_id)


def require_there(policy: Policy) -> None:
    if policy.status == "erased":
        raise Refused(f"{policy.policy_id} was erased: nobody can read it any more", "propose it in other words")
