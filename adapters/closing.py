"""Closing a domain, or all of them: everything in it at once, as wrong, as no longer true, or erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from adapters.erasing import Erased, Erasing
from adapters.knowledge import named_domain, require_human, scope_for
from adapters.ledger import By
from adapters.reviewers import require_reviewer
from adapters.upkeep import Act, Part, Ran, Upkeep
from adapters.workspace import Workspace
from domain import policy, topic
from domain.access import require_write
from domain.errors import InvalidInput, NothingChanged, UnknownDomain
from domain.policy import policy_stream
from domain.topic_events import RetiredFor
from projections import access, fact_queries, policies
from projections.fact_queries import Wanted
from projections.scope import Reader, decision_for, everything

As = Literal["wrong", "was-true", "erased"]
WAYS: tuple[As, ...] = ("wrong", "was-true", "erased")
_CAUSES: dict[As, RetiredFor] = {"wrong": "wrong", "was-true": "ended"}


@dataclass(frozen=True)
class Closing:
    """A person's commands; `token` proves them where the workspace asks for it."""

    workspace: Workspace
    token: str = ""

    def close(self, domains: Sequence[str], way: As, by: By) -> Ran:
        """Retire every live fact of the domains (all without one) and deactivate their policies, in one run that
        can be undone. `wrong`: they never held; `was-true`: they held until now.

        UnknownDomain; NothingChanged when nothing is live there; ReviewerNeeded for whoever is no person.
        """
        wanted = self._wanted(domains, by)
        command = ("domain.close", way, *wanted)
        return Upkeep(self.workspace).carry_out("close", partial(self._acts, wanted, _CAUSES[way]), by, command)

    def erase(self, domains: Sequence[str], by: By) -> Erased:
        """Make every fact and policy that the domains (all without one) ever had unreadable, for good."""
        wanted = self._wanted(domains, by)
        db = self.workspace.file.db
        facts = [one.id for domain in wanted for one in _facts(self.workspace, domain, "")]
        rules = [one.id for domain in wanted for one in policies.list_policies(db, everything(), domain=domain)[0]]
        if not facts and not rules:
            raise NothingChanged(f"there is no fact or policy in {', '.join(wanted)}")
        return Erasing(self.workspace, self.token).erase((*facts, *rules), by)

    def require(self, domains: Sequence[str], by: By) -> None:
        """ReviewerNeeded for whoever is no person; AccessDenied and InsufficientMemoryPermission by their grants."""
        require_human(by, "close domains")
        require_reviewer(self.workspace, by, self.token)
        db, reader = self.workspace.caught_up(), Reader(by.actor, by.role)
        scope = scope_for(self.workspace, reader, db)
        for one in domains:
            scope.require(one)
        for one in domains:
            require_write(decision_for(db, reader, one, self.workspace.config.value("access.default")), by.role, one)

    def _wanted(self, domains: Sequence[str], by: By) -> list[str]:
        db = self.workspace.caught_up()
        scope = scope_for(self.workspace, Reader(by.actor, by.role), db)
        known = [row.id for row in access.domains(db)]
        wanted = list(dict.fromkeys(named_domain(self.workspace, one, "", scope).id for one in domains)) or known
        self.require(wanted, by)
        for one in wanted:
            if one not in known:
                raise UnknownDomain(f"there is no domain {one!r}")
        if not wanted:
            raise InvalidInput("there is no domain to close")
        return wanted

    def _acts(self, domains: Sequence[str], cause: RetiredFor) -> list[Act]:
        db = self.workspace.file.db
        acts: list[Act] = []
        for domain in domains:
            acts += [partial(_retire, one.id, cause) for one in _facts(self.workspace, domain, "live")]
            active = policies.list_policies(db, everything(), status="active", domain=domain)[0]
            acts += [partial(_deactivate, one.id) for one in active]
        return acts


def _facts(workspace: Workspace, domain: str, status: str) -> list[fact_queries.FactRow]:
    """The facts of a domain with this standing, valid now or not."""
    found, _ = fact_queries.list_facts(workspace.file.db, Wanted(at="", status="", domain=domain), everything())
    return [fact for fact in found if status in ("", fact.status)]


def _retire(fact_id: str, cause: RetiredFor, part: Part) -> None:
    fact = part.topics.fact(fact_id)
    if fact.live:
        part.topics.append(part.topics.stream_of(fact), (topic.retire(fact, cause),))
        part.told("retired", fact_id)


def _deactivate(policy_id: str, part: Part) -> None:
    stream = policy_stream(policy_id)
    known = policy.fold(part.draft.load(stream))
    if known is not None and known.status == "active":
        part.append(stream, (policy.deactivate(known),))
        part.told("deactivated", policy_id)
