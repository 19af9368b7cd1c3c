"""View `policies`: every policy with its standing, and what happened to it, by whom and why."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from domain.erasure import TextErased
from domain.event import ERASED, Envelope, iso_utc
from domain.policy_events import (
    PolicyActivated,
    PolicyActivationRefused,
    PolicyDeactivated,
    PolicyEvent,
    PolicyProposed,
    PolicySuperseded,
)
from projections.fact_queries import closed_among
from projections.scope import Scope
from projections.tables.policies import HISTORY, POLICIES, PolicyTables
from projections.view import View

LONGEST = 3  # policies that a warning names


class PoliciesView(PolicyTables, View):
    concerned = (PolicyEvent, TextErased)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, PolicyProposed):
            _propose(db, event, envelope)
            _tell(db, event.policy_id, event.held or event.supersedes, envelope)
        elif isinstance(event, PolicyEvent):
            _change(db, event, envelope)
        elif isinstance(event, TextErased) and envelope.stream == f"policy/{event.record}":
            _become(db, event.record, "erased", envelope, rule=ERASED, superseded_by="")
            _tell(db, event.record, "", envelope)


def _propose(db: sqlite3.Connection, event: PolicyProposed, envelope: Envelope) -> None:
    at = iso_utc(envelope.at)
    row = (
        envelope.position,
        event.policy_id,
        event.domain,
        event.rule,
        event.required_role,
        json.dumps(event.derived_from),
        envelope.actor,
        envelope.role,
        at,
        "active" if event.active else "held" if event.held else "inactive",
        event.held,
        event.supersedes,
        "",
        0,
        envelope.actor,
        at,
        envelope.reason,
    )
    db.execute(f"INSERT INTO {POLICIES} VALUES ({', '.join('?' * len(row))})", row)


def _change(db: sqlite3.Connection, event: PolicyEvent, envelope: Envelope) -> None:
    match event:
        case PolicySuperseded(policy_id=policy_id, by=by):
            _become(db, policy_id, "superseded", envelope, superseded_by=by)
            _tell(db, policy_id, by, envelope)
        case PolicyActivated(policy_id=policy_id, self_reviewed=own):
            _become(db, policy_id, "active", envelope, held="", supersedes="", superseded_by="", self_reviewed=int(own))
            _tell(db, policy_id, "self-reviewed" if own else "", envelope)
        case PolicyDeactivated(policy_id=policy_id):
            _become(db, policy_id, "inactive", envelope, superseded_by="")
            _tell(db, policy_id, "", envelope)
        case PolicyActivationRefused(policy_id=policy_id, cause=cause):
            _tell(db, policy_id, cause, envelope)


def _become(db: sqlite3.Connection, policy_id: str, status: str, envelope: Envelope, **more: str | int) -> None:
    columns = {
        "status": status,
        "changed_by": envelope.actor,
        "changed_at": iso_utc(envelope.at),
        "changed_reason": envelope.reason,
        **more,
    }
    changed = ", ".join(f"{name} = ?" for name in columns)
    done = db.execute(f"UPDATE {POLICIES} SET {changed} WHERE id = ?", (*columns.values(), policy_id))
    if not done.rowcount:
        raise ValueError(f"{policy_id} is no policy, and something happens to it")


def _tell(db: sqlite3.Connection, policy_id: str, what: str, envelope: Envelope) -> None:
    common = (envelope.event.kind, envelope.actor, envelope.role, iso_utc(envelope.at), envelope.reason)
    db.execute(f"INSERT INTO {HISTORY} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (envelope.position, policy_id, *common, what))


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy as it is read. Times are ISO 8601 in UTC. `held`: why a person must let it in first."""

    position: int
    id: str
    domain: str
    rule: str
    required_role: str
    derived_from: tuple[str, ...]
    proposed_by: str
    proposed_role: str
    proposed_at: str
    status: str
    held: str
    supersedes: str
    superseded_by: str
    self_reviewed: bool
    changed_by: str
    changed_at: str
    changed_reason: str

    def as_json(self) -> dict[str, Any]:
        empty_is_none = ("required_role", "proposed_role", "held", "supersedes", "superseded_by")
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {name: found[name] or None for name in empty_is_none} | {"derived_from": list(self.derived_from)}


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a policy: `what` it says beyond its kind, as the successor or why it waits."""

    position: int
    kind: str
    by: str
    role: str
    at: str
    reason: str
    what: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def find_policy(db: sqlite3.Connection, policy_id: str) -> PolicyRow | None:
    row = db.execute(f"SELECT * FROM {POLICIES} WHERE id = ?", (policy_id,)).fetchone()
    return _policy(row) if row else None


def list_policies(
    db: sqlite3.Connection, scope: Scope, *, status: str = "", domain: str = "", limit: int = -1, offset: int = 0
) -> tuple[list[PolicyRow], int]:
    """The policies that the scope sees, in the order in which they were proposed; and how many in all."""
    seen, domains = scope.where("domain")
    where = f"WHERE ? IN ('', status) AND ? IN ('', domain) AND {seen}"
    values = (status, domain, *domains)
    total: int = db.execute(f"SELECT count(*) FROM {POLICIES} {where}", values).fetchone()[0]
    rows = db.execute(f"SELECT * FROM {POLICIES} {where} ORDER BY position LIMIT ? OFFSET ?", (*values, limit, offset))
    return as_seen(db, [_policy(row) for row in rows.fetchall()], scope), total


def as_seen(db: sqlite3.Connection, found: Sequence[PolicyRow], scope: Scope) -> list[PolicyRow]:
    """Without the ids of facts in domains that are closed to the reader."""
    closed = closed_among(db, {one for policy in found for one in policy.derived_from}, scope)
    return [
        replace(policy, derived_from=tuple(one for one in policy.derived_from if one not in closed)) for policy in found
    ]


def active_policies(db: sqlite3.Connection, scope: Scope, repo: str = "") -> list[PolicyRow]:
    """Every active policy that the scope sees: those of the repository first, then by domain and age."""
    found, _ = list_policies(db, scope, status="active")
    own = f"repo:{repo}/"
    return sorted(found, key=lambda one: (not (repo and one.domain.startswith(own)), one.domain, one.position))


def history(db: sqlite3.Connection, policy_id: str) -> list[Step]:
    """What happened to a policy, in order."""
    rows = db.execute(
        f"SELECT position, kind, by, role, at, reason, what FROM {HISTORY} WHERE policy_id = ? ORDER BY position",
        (policy_id,),
    )
    return [Step(**dict(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Load:
    """What every dispatch carries: the characters of the active rules, against the budget (`policy.budget`)."""

    characters: int
    budget: int
    longest: tuple[PolicyRow, ...]

    @property
    def over(self) -> bool:
        return self.characters > self.budget

    @property
    def warning(self) -> str:
        """Names the longest rules, so that somebody shortens them; empty within the budget."""
        if not self.over:
            return ""
        named = ", ".join(f"{one.id} ({len(one.rule):,})" for one in self.longest)
        return (
            f"the active policies have {self.characters:,} characters, over the budget of {self.budget:,}:"
            f" every dispatch carries them; the longest are {named}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "characters": self.characters,
            "budget": self.budget,
            "over": self.over,
            "longest": [{"id": one.id, "characters": len(one.rule)} for one in self.longest] if self.over else [],
        }


def load_of(active: Sequence[PolicyRow], budget: int) -> Load:
    longest = sorted(active, key=lambda one: (-len(one.rule), one.id))[:LONGEST]
    return Load(sum(len(one.rule) for one in active), budget, tuple(longest))


def _policy(row: sqlite3.Row) -> PolicyRow:
    derived = tuple(json.loads(row["derived_from"]))
    held = {name: row[name] for name in row.keys() if name not in ("derived_from", "self_reviewed")}  # noqa: SIM118  a Row
    return PolicyRow(**held, derived_from=derived, self_reviewed=bool(row["self_reviewed"]))
