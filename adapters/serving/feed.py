"""What changed, for whoever watches: one short notice an event, and who may see it. Texts are read by their ids."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from adapters.workspace import Workspace
from domain.event import Envelope, iso_utc
from domain.text import actor_key
from projections import beliefs, conflicts, fact_queries, policies
from projections.scope import Scope

KEPT = 5000  # of the latest notices, from which watchers are served without reading the ledger again
PAGE = 500

# what a stream's first part is called by those who watch
AREAS = {
    "topic": "memory_fact",
    "conflict": "memory_conflict",
    "belief": "memory_belief",
    "policy": "memory_policy",
    "domain": "memory_domain",
    "notes": "agent_working_memory",
    "hot": "agent_working_memory",
    "reads": "reads",
    "session": "session",
    "memory": "registry",
    "upkeep": "upkeep",
}
OWN = ("notes", "hot", "reads")  # nobody else's business
WITHOUT_DOMAIN = ("session", "memory", "numbering", *OWN)  # what no grant closes


@dataclass(frozen=True, slots=True)
class Notice:
    """An event that was recorded. `domains`: all of them must be open to whoever is told; `owner`: the only one who is.

    `whole`: it may name records of any domain, so only who sees all is told.
    """

    position: int
    at: str
    area: str
    kind: str
    actor: str
    role: str
    record: str
    domains: tuple[str, ...] = ()
    owner: str = ""
    whole: bool = False

    def visible(self, scope: Scope) -> bool:
        if self.owner:
            return self.owner == actor_key(scope.reader.actor)
        if self.whole:
            return not scope.limited
        return all(scope.sees(domain) for domain in self.domains)

    def as_json(self) -> dict[str, Any]:
        return {
            "position": self.position,
            "at": self.at,
            "area": self.area,
            "kind": self.kind,
            "actor": self.actor,
            "role": self.role or None,
            "record": self.record,
            "domain": self.domains[0] if len(self.domains) == 1 else None,
        }


def notices(workspace: Workspace, after: int, limit: int = PAGE) -> list[Notice]:
    """The notices above a position, in order, at most `limit`."""
    workspace.caught_up()
    return [_notice(workspace, envelope) for envelope in workspace.ledger.page(after, limit)]


def _notice(workspace: Workspace, envelope: Envelope) -> Notice:
    prefix, _, rest = envelope.stream.partition("/")
    event = envelope.event
    domains = _domains(workspace, envelope)
    record = event.record_in(envelope.stream) or str(getattr(event, "record", "") or getattr(event, "fact_id", ""))
    return Notice(
        envelope.position,
        iso_utc(envelope.at),
        "memory_access_grant" if event.kind == "grant_changed" else AREAS.get(prefix, prefix),
        event.kind,
        envelope.actor,
        envelope.role,
        record or rest,
        domains or (),
        actor_key(rest) if prefix in OWN else "",
        whole=domains is None,
    )


def _domains(workspace: Workspace, envelope: Envelope) -> tuple[str, ...] | None:
    """The domains of the records that an event is about, () where it is about none that has one.

    None where that cannot be told: only who sees every domain may be told of it.
    """
    prefix, _, rest = envelope.stream.partition("/")
    if prefix in WITHOUT_DOMAIN:
        return ()
    found = _bound(workspace.file.db, prefix, rest)
    if not found and prefix in ("policy", "belief"):
        found = (str(getattr(envelope.event, "domain", "")),)  # the view has parked it; who made it says where
    return found if found and all(found) else None


def _bound(db: sqlite3.Connection, prefix: str, rest: str) -> tuple[str, ...]:
    """The domains that a stream is bound to; "" for one that is not known, () when nothing is known."""
    if prefix == "topic":
        return (rest.rpartition("/")[0],)
    if prefix == "domain":
        return (rest,)
    if prefix == "policy":
        policy = policies.find_policy(db, rest)
        return (policy.domain,) if policy else ()
    if prefix == "belief":
        belief = beliefs.find_belief(db, rest)
        return (belief.domain,) if belief else ()
    if prefix == "conflict":
        row = conflicts.find_conflict(db, rest)
        facts = [fact_queries.find_fact(db, one) for one in row.facts] if row else []
        return tuple(dict.fromkeys(fact.domain if fact else "" for fact in facts))
    return ()


class Feed:
    """The latest notices, filled by the follower, read by every watcher. `head`: the last position it holds."""

    def __init__(self, kept: int = KEPT) -> None:
        self._notices: deque[Notice] = deque(maxlen=kept)
        self._lock = Lock()
        self.head = 0
        self.grants_at = 0  # position of the last change of a domain or grant: scopes read before it are old

    def begin(self, position: int) -> None:
        """Nothing before this position is held."""
        self.head = self.grants_at = position

    def add(self, found: Sequence[Notice]) -> None:
        with self._lock:
            for one in found:
                if one.position == self.head + 1:
                    self._notices.append(one)
                    self.head = one.position
                    if one.area in ("memory_domain", "memory_access_grant"):
                        self.grants_at = one.position

    def after(self, position: int, limit: int = PAGE) -> list[Notice] | None:
        """The notices above a position; None when they go further back than what is held."""
        with self._lock:
            first = self._notices[0].position if self._notices else self.head + 1
            if position < first - 1:
                return None
            start = position - first + 1
            return [self._notices[n] for n in range(start, min(start + limit, len(self._notices)))]
