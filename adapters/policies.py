"""Policies of a workspace: propose, supersede, activate, deactivate; and what a reader may see of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adapters.knowledge import load_domain, named_domain, scope_for, seen_by
from adapters.ledger import By, Committed, Draft
from adapters.reviewers import require_reviewer
from adapters.workspace import Workspace
from domain import access as grants
from domain import policy as rules
from domain.errors import ReviewerNeeded, SelfReview, ThtError, UnknownFact, UnknownPolicy
from domain.event import Event
from domain.policy import NewPolicy, Policy, policy_stream
from domain.policy_events import PolicyActivationRefused
from domain.promotion import Reviewer
from projections import fact_queries, policies
from projections.policies import Load, PolicyRow, Step
from projections.scope import Reader, Scope


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of policies; `load`: what the active ones that the reader sees weigh; `denied`: something is closed."""

    policies: tuple[PolicyRow, ...]
    total: int
    load: Load
    denied: str

    def as_json(self) -> dict[str, Any]:
        return {
            "policies": [one.as_json() for one in self.policies],
            "total": self.total,
            "load": self.load.as_json(),
            "denied": self.denied or None,
        }


@dataclass(frozen=True, slots=True)
class Shown:
    """One policy and what happened to it."""

    policy: PolicyRow
    history: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        return self.policy.as_json() | {"history": [step.as_json() for step in self.history]}


@dataclass(frozen=True)
class Policies:
    """`token` proves the person who lets a held policy in, where `review.require_token` asks for it."""

    workspace: Workspace
    token: str = ""

    # -- commands

    def propose(
        self,
        domain: str,
        rule: str,
        by: By,
        *,
        repo: str = "",
        required_role: str = "",
        derived_from: Sequence[str] = (),
    ) -> tuple[str, Committed]:
        """A new rule in a domain; its id with it. InsufficientMemoryPermission without `write`, UnknownFact for a
        source that is none, NothingChanged when the rule is there."""
        db = self.workspace.caught_up()
        scope = scope_for(self.workspace, Reader(by.actor, by.role), db)
        name = named_domain(self.workspace, domain, repo, scope, db)
        new = rules.accept_policy(name.id, rule, required_role, derived_from)

        def work(draft: Draft) -> None:
            self._require_write(load_domain(draft, name, self.workspace), by)
            held = rules.why_held(by.actor, self._lineage(new.derived_from, scope))
            there = rules.fold(draft.load(policy_stream(new.id)))
            draft.append(policy_stream(new.id), (rules.propose(there, new, held),))

        command = ("policy.propose", *_said(new))
        return new.id, self.workspace.ledger.transact(work, by, command)

    def supersede(
        self, policy_id: str, rule: str, by: By, *, required_role: str = "", derived_from: Sequence[str] = ()
    ) -> tuple[str, Committed]:
        """Let another rule take a policy's place, in one transaction; the id of the new one with it.

        The new rule inherits what the old one was derived from. If it must wait for a person, so does the change.
        """
        scope = self._scope(by)
        made: list[str] = []

        def work(draft: Draft) -> None:
            old = self._writable(draft, policy_id, by)
            role, sources = required_role or old.required_role, (*derived_from, *old.derived_from)
            new = rules.accept_policy(old.domain, rule, role, sources)
            lineage = self._lineage(derived_from, scope) | self._trust(old.derived_from)
            held = rules.why_held(by.actor, lineage) or old.held
            there = rules.fold(draft.load(policy_stream(new.id)))
            change = rules.supersede(old, there, new, held)
            draft.append(policy_stream(new.id), change.new)
            draft.append(policy_stream(policy_id), change.old)
            made[:] = [new.id]

        command = ("policy.supersede", policy_id, rule, required_role, list(derived_from))
        done = self.workspace.ledger.transact(work, by, command)
        return made[0] if made else _replacement(done, policy_id), done

    def activate(self, policy_id: str, by: By) -> Committed:
        """Back into every dispatch. What waits for a person is let in by one who did not propose it; an attempt by
        anybody else is refused and recorded."""

        def work(draft: Draft) -> None:
            policy = self._writable(draft, policy_id, by)
            reviewer = require_reviewer(self.workspace, by, self.token) if policy.held else Reviewer(by.actor)
            draft.append(policy_stream(policy_id), (rules.activate(policy, reviewer),))
            if policy.supersedes:
                old = load_policy(draft, policy.supersedes)
                draft.append(policy_stream(old.policy_id), rules.give_way(old, policy_id))

        try:
            return self.workspace.ledger.transact(work, by, ("policy.activate", policy_id))
        except (SelfReview, ReviewerNeeded) as error:
            if not by.dry_run:
                self._note_refusal(policy_id, by, error)
            raise

    def deactivate(self, policy_id: str, by: By) -> Committed:
        """Out of every dispatch, until it is activated."""
        return self._change(policy_id, by, "policy.deactivate", lambda policy: (rules.deactivate(policy),))

    # -- queries

    def list(
        self,
        reader: Reader,
        *,
        status: str = "active",
        domain: str = "",
        repo: str = "",
        at: int | None = None,
        limit: int = -1,
        offset: int = 0,
    ) -> Listed:
        """The policies of a status (empty: all) that the reader sees, in the order in which they were proposed.

        AccessDenied for a domain that is closed to them. `at`: as it was at a position, under today's grants.
        """
        name = named_domain(self.workspace, domain, repo, scope_for(self.workspace, reader)).id if domain else ""
        with self._seen(reader, at) as (db, scope):
            if name:
                scope.require(name)
            found, total = policies.list_policies(db, scope, status=status, domain=name, limit=limit, offset=offset)
            active = policies.active_policies(db, scope)
        return Listed(tuple(found), total, policies.load_of(active, self._budget), scope.denied)

    def get(self, reader: Reader, policy_id: str, *, at: int | None = None) -> Shown:
        """One policy with its history. UnknownPolicy; AccessDenied where its domain is closed to the reader."""
        with self._seen(reader, at) as (db, scope):
            found = policies.find_policy(db, policy_id)
            if found is None:
                raise UnknownPolicy(f"there is no policy {policy_id!r}")
            scope.require(found.domain)
            (found,) = policies.as_seen(db, [found], scope)
            return Shown(found, tuple(policies.history(db, policy_id)))

    # -- parts

    @property
    def _budget(self) -> int:
        return int(self.workspace.config.value("policy.budget"))

    @contextmanager
    def _seen(self, reader: Reader, at: int | None) -> Iterator[tuple[sqlite3.Connection, Scope]]:
        if at is None:
            with seen_by(self.workspace, reader) as seen:
                yield seen
            return
        scope = scope_for(self.workspace, reader)
        with self.workspace.as_of(at) as past:
            yield past.db, scope

    def _scope(self, by: By) -> Scope:
        return scope_for(self.workspace, Reader(by.actor, by.role))

    def _change(self, policy_id: str, by: By, name: str, decide: Callable[[Policy], Sequence[Event]]) -> Committed:
        def work(draft: Draft) -> None:
            policy = self._writable(draft, policy_id, by)
            draft.append(policy_stream(policy_id), decide(policy))

        return self.workspace.ledger.transact(work, by, (name, policy_id))

    def _writable(self, draft: Draft, policy_id: str, by: By) -> Policy:
        policy = load_policy(draft, policy_id)
        domain = grants.fold(draft.load(grants.domain_stream(policy.domain)))
        assert domain is not None  # a policy is proposed in a domain that is there
        self._require_write(domain, by)
        return policy

    def _require_write(self, domain: grants.Domain, by: By) -> None:
        """By the grants as the transaction finds them: one that is taken away meanwhile counts."""
        default = self.workspace.config.value("access.default")
        row = domain.grants.get(by.role) if by.role else None
        decision = grants.decide(row, default, person=Reader(by.actor, by.role).unbound)
        grants.require_write(decision, by.role, domain.id)

    def _lineage(self, facts: Sequence[str], scope: Scope) -> dict[str, str | None]:
        """The trust of each fact that is named as a source. UnknownFact; AccessDenied for one that is closed."""
        for fact_id in facts:
            row = fact_queries.find_fact(self.workspace.file.db, fact_id)
            if row is None:
                raise UnknownFact(f"there is no fact {fact_id!r} to derive a policy from")
            scope.require(row.domain)
        return self._trust(facts)

    def _trust(self, facts: Sequence[str]) -> dict[str, str | None]:
        db = self.workspace.caught_up()
        rows = {fact_id: fact_queries.find_fact(db, fact_id) for fact_id in facts}
        return {fact_id: row.trust if row else None for fact_id, row in rows.items()}

    def _note_refusal(self, policy_id: str, by: By, error: ThtError) -> None:
        """The attempt stands in the audit, once: trying the same again adds nothing."""
        refused = PolicyActivationRefused(policy_id=policy_id, cause=error.message)

        def work(draft: Draft) -> None:
            if refused not in [envelope.event for envelope in draft.load(policy_stream(policy_id))]:
                draft.append(policy_stream(policy_id), (refused,))

        self.workspace.ledger.transact(work, By(by.actor, by.role, by.reason), ("policy.refused", policy_id))


def load_policy(draft: Draft, policy_id: str) -> Policy:
    """The policy for a command. UnknownPolicy when there is none."""
    policy = rules.fold(draft.load(policy_stream(policy_id)))
    if policy is None:
        raise UnknownPolicy(f"there is no policy {policy_id!r}")
    return policy


def _replacement(done: Committed, policy_id: str) -> str:
    """Which policy an earlier run of the same command put in the place of another."""
    ids = [str(getattr(envelope.event, "policy_id", "")) for envelope in done.envelopes]
    return next((one for one in ids if one and one != policy_id), policy_id)


def _said(new: NewPolicy) -> tuple[object, ...]:
    return new.domain, new.rule, new.required_role, list(new.derived_from)
