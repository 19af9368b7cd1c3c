"""Reading facts: one, or lists, now or as it was; within the reader's scope. Searching: `adapters.recalling`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from adapters.knowledge import named_domain, named_repo, scope_for
from adapters.ledger import By, Draft
from adapters.workspace import Workspace, parse_time, until
from domain.errors import InvalidInput, LedgerMoved, UnknownDomain, UnknownFact
from domain.event import Envelope, Event, iso_utc
from domain.links import telling_words
from domain.recall import FactsShown, MemoriesShown, reads_stream
from projections import access, fact_queries, notes
from projections.fact_queries import FactRow, Wanted
from projections.notes import ItemRow
from projections.scope import Reader, Scope
from projections.view import ViewsFile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moment:
    """When something is asked about. `position`: what was known there; `at`: what holds at that time.

    Neither: now. What was known then and no `at`: what held at the time of that position.
    """

    position: int | None = None
    at: str = ""


NOW = Moment()


@dataclass(frozen=True, slots=True)
class Seen:
    """The views at a moment with what may be seen of them. `wanted` has the moment filled in."""

    file: ViewsFile
    scope: Scope
    wanted: Wanted

    @property
    def db(self) -> sqlite3.Connection:
        return self.file.db


@dataclass(frozen=True, slots=True)
class Found:
    """Facts with how many there are in all; `denied` says that something is closed to the reader."""

    facts: tuple[FactRow, ...]
    total: int
    denied: str

    def as_json(self) -> dict[str, Any]:
        return {
            "facts": [fact.as_json() for fact in self.facts],
            "total": self.total,
            "denied": self.denied or None,
        }


@dataclass(frozen=True)
class FactReading:
    workspace: Workspace
    reader: Reader

    @contextmanager
    def seen(self, moment: Moment = NOW, **wanted: str) -> Iterator[Seen]:
        """The views at a moment, held while they are read. Grants are those of today: what is closed now is closed for
        the past as well."""
        with self.opened(moment, **wanted) as seen, self.held(seen) as still:
            yield still

    @contextmanager
    def held(self, seen: Seen) -> Iterator[Seen]:
        """In one transaction, which no writer waits for, with the grants of this very position: nothing changes, or is
        closed, before it is shown."""
        with seen.file.reading() as db:
            now = seen.file is self.workspace.file
            yield replace(seen, scope=scope_for(self.workspace, self.reader, db)) if now else seen

    @contextmanager
    def opened(self, moment: Moment = NOW, **wanted: str) -> Iterator[Seen]:
        """The views at a moment, for who has more to do with them before they are `held`."""
        scope = self._scope()
        now = iso_utc(self.workspace.clock())
        if moment.position is None:
            asked = Wanted(moment.at or now, past=bool(moment.at), **wanted)
            yield Seen(self.workspace.file, scope, asked)
            return
        at = moment.at or self._time_of(moment.position)
        with self.workspace.as_of(moment.position) as past:
            yield Seen(past, scope, Wanted(at, past=bool(moment.at), **wanted))

    def get(self, fact_id: str, moment: Moment = NOW) -> dict[str, Any]:
        """A fact with its use, links, conflicts and predecessors. UnknownFact; AccessDenied where it is closed."""
        from projections import beliefs, conflicts, links

        with self.seen(moment) as seen:
            fact = self._fact(seen, fact_id)
            found = conflicts.list_conflicts(seen.db, seen.scope, fact_id=fact_id)[0]
            before = [one for one in fact_queries.predecessors(seen.db, fact_id) if seen.scope.sees(one.domain)]
            (told,) = fact_queries.as_seen(seen.db, [fact], seen.scope)
            return told.as_json() | {
                **fact_queries.usage(seen.db, fact),
                "origins": fact_queries.origins(seen.db, fact_id),
                "links": [one.as_json() for one in links.neighbours(seen.db, fact_id, seen.scope)],
                "conflicts": [one.as_json() for one in found],
                "beliefs": [one.as_json() for one in beliefs.list_beliefs(seen.db, seen.scope, fact_id=fact_id)],
                "replaced": [{"id": one.id, "content": one.content, "why": one.ended_for} for one in before],
            }

    def row(self, fact_id: str, moment: Moment = NOW) -> FactRow:
        with self.seen(moment) as seen:
            return fact_queries.as_seen(seen.db, [self._fact(seen, fact_id)], seen.scope)[0]

    def list(self, moment: Moment = NOW, *, repo: str = "", limit: int = -1, offset: int = 0, **wanted: str) -> Found:
        """Facts in the order in which they were proposed; of one domain, or of one repository."""
        named = self.named(wanted, repo)
        if repo and not named.get("domain"):
            named = named | {"repo": named_repo(self.workspace, repo, self._scope())}
        with self.seen(moment, **named) as seen:
            facts, total = fact_queries.list_facts(seen.db, seen.wanted, seen.scope, limit=limit, offset=offset)
            told = fact_queries.as_seen(seen.db, facts, seen.scope)
            return Found(tuple(told), total, seen.scope.denied)

    def remembered(self, seen: Seen, question: str) -> tuple[ItemRow, ...]:
        """What the reader keeps in mind that shares a word with the question, the latest first."""
        asked = telling_words(question)
        held = notes.items_in_mind(seen.db, self.reader.actor, seen.wanted.at)
        return tuple(item for item in held if asked & telling_words(item.content))

    def history(self, fact_id: str) -> Sequence[Envelope]:
        """What happened to a fact, in order. AccessDenied where its domain is closed."""
        row, scope = self.row(fact_id), self._scope()
        own = [
            envelope
            for envelope in self.workspace.ledger.load(row.stream)
            if fact_id in (getattr(envelope.event, name, "") for name in ("fact_id", "by", "record"))
        ]
        if not scope.limited:
            return own
        named = {one for envelope in own for one in _named_facts(envelope.event)}
        closed = fact_queries.closed_among(self.workspace.file.db, named, scope)
        return [replace(one, event=_without(one.event, closed)) for one in own]

    # -- parts

    def _fact(self, seen: Seen, fact_id: str) -> FactRow:
        fact = fact_queries.find_fact(seen.db, fact_id)
        if fact is None:
            raise UnknownFact(f"there is no fact {fact_id!r}")
        seen.scope.require(fact.domain)
        return fact

    def named(self, wanted: dict[str, str], repo: str) -> dict[str, str]:
        """With the id of the domain that is asked for. AccessDenied where it is closed, UnknownDomain without it."""
        domain = wanted.get("domain", "")
        if not domain:
            return wanted
        scope = self._scope()
        name = named_domain(self.workspace, domain, repo, scope)
        scope.require(name.id)
        if access.find_domain(self.workspace.file.db, name.id) is None:
            raise UnknownDomain(f"there is no domain {name.id!r}")
        return wanted | {"domain": name.id}

    def _scope(self) -> Scope:
        return scope_for(self.workspace, self.reader)

    def _time_of(self, position: int) -> str:
        """The time of the event at a position; of the beginning when it is 0."""
        found = self.workspace.ledger.page(position - 1, 1, position) if position else []
        return iso_utc(found[0].at) if found else "0001-01-01T00:00:00.000000Z"


def _named_facts(event: object) -> Iterator[str]:
    """The facts that an event of a fact names besides its own."""
    yield from (link.to for link in getattr(event, "links", ()))
    yield from getattr(event, "source_observation_ids", ())
    yield from (one for name in ("by", "to", "corrects") if (one := getattr(event, name, "")))


def _without(event: T, closed: frozenset[str]) -> T:
    """An event as it is shown to whom some of the facts that it names are closed."""
    if not isinstance(event, BaseModel) or not closed.intersection(_named_facts(event)):
        return event
    kept: dict[str, object] = {name: "" for name in ("by", "to", "corrects") if getattr(event, name, "") in closed}
    if links := getattr(event, "links", ()):
        kept["links"] = tuple(link for link in links if link.to not in closed)
    if cited := getattr(event, "source_observation_ids", ()):
        kept["source_observation_ids"] = tuple(one for one in cited if one not in closed)
    return event.model_copy(update=kept)


def moment_of(workspace: Workspace, *, at: str = "", known_at: str = "") -> Moment:
    """`at`: a time, what held then; `known_at`: a position or a time, what was known then. InvalidInput for others."""
    if at.isdecimal():
        raise InvalidInput(f"at is a time, and {at} is a position", f"--known-at {at} (known_at) tells what was known")
    held = iso_utc(parse_time(at)) if at else ""
    if not known_at:
        return Moment(None, held)
    position, head = workspace.position_at(known_at), workspace.ledger.head().position
    if position > head:
        raise InvalidInput(f"the ledger has positions 0 to {head}, not {position}")
    if not held and not known_at.isdecimal():
        held = iso_utc(until(known_at))
    return Moment(position, held)


def log_shown(
    workspace: Workspace,
    by: By,
    facts: Sequence[str],
    mode: str,
    session_id: str = "",
    *,
    memories: Sequence[str] = (),
) -> str:
    """Record what was shown to whom, best first, ids of facts and refs of memories only, in one step; nothing when
    `recall.log` is off. A ledger that is closed, as it has moved, is read all the same: then it is said why not."""
    if not (facts or memories) or not workspace.config.value("recall.log"):
        return ""
    shown: list[Event] = []
    if facts:
        shown.append(FactsShown(refs=tuple(facts), session_id=session_id, mode=mode))
    if memories:
        shown.append(MemoriesShown(refs=tuple(memories), session_id=session_id, mode="memory"))

    def work(draft: Draft) -> None:
        stream = reads_stream(by.actor)
        draft.last(stream)
        draft.append(stream, tuple(shown))

    try:
        workspace.ledger.transact(work, replace(by, reason="", idempotency_key="", dry_run=False), ("recall", mode))
    except LedgerMoved as error:
        return f"what was shown is not in the audit: {error.message}"
    return ""
