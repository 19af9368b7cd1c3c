"""`tht erase`: destroy the keys of what must not be readable any more, say so in the ledger, and clean every file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from adapters.erasing_plan import Plan
from adapters.ledger import By, Committed, Draft
from adapters.purging import Purging
from adapters.reviewers import require_reviewer
from adapters.workspace import Workspace
from domain.erasure import TextErased
from domain.errors import InvalidInput, Refused, ReviewerNeeded
from domain.event import Event
from domain.text import accept_text, canonical_json, is_person

LONG_ENOUGH = 8  # characters; a shorter text stands in many events that have nothing to do with it
LOOKED_FOR = 40  # texts


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure did, or would do.

    `records` were erased by it, `already` by an earlier one; `events` could be read until now. `near` are records left
    alone that may say something alike. `quoted`: positions at which the text stands in the clear, as in a reason: an
    append-only ledger keeps it. `index`: none, rebuilt, emptied; '' on a dry run.
    """

    committed: Committed
    records: tuple[str, ...]
    already: tuple[str, ...]
    events: int
    near: tuple[str, ...]
    quoted: tuple[int, ...]
    index: str

    def as_json(self) -> dict[str, Any]:
        return {
            "position": self.committed.position,
            "records": list(self.records),
            "already": list(self.already),
            "events": self.events,
            "look_at": list(self.near),
            "quoted_at": list(self.quoted),
            "index": self.index,
        }


@dataclass
class _Found:
    """What the last run of the decision found."""

    records: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    quoted: tuple[int, ...] = ()


@dataclass(frozen=True)
class Erasing:
    """A person's command; `token` proves the reviewer where the workspace asks for one."""

    workspace: Workspace
    token: str = ""

    def erase(self, names: tuple[str, ...], by: By, *, about: str = "", with_memories: bool = False) -> Erased:
        """Make the text of these records, or of all about a subject, unreadable for good.

        Refused for whoever is no person, for a decision whose memory stays, and for what was recorded before texts
        were sealed. Erasing again cleans again.
        """
        if not is_person(by.actor):
            raise ReviewerNeeded(f"{by.actor} is not a person: only people erase", "ask a person to do it")
        require_reviewer(self.workspace, by, self.token)
        if bool(names) == bool(about):
            raise InvalidInput("name the records to erase, or whom they are about with --about")
        accept_text(about, "--about", limit=200)
        found = _Found()

        def work(draft: Draft) -> None:
            self.workspace.caught_up()
            plan = Plan(draft, self.workspace, with_memories)
            plan.take(names or plan.streams.about(about))
            self._decide(draft, plan, found, about)

        command = ("erase", list(names), about, with_memories)
        purging = Purging(self.workspace)
        with nullcontext() if by.dry_run else purging.held():
            done = self.workspace.ledger.transact(work, by, command)
            index = "" if by.dry_run else purging.run()
        if done.already:
            found.already = tuple(dict.fromkeys(event.record for event in done.events(TextErased)))
        return Erased(done, found.records, found.already, len(found.positions), found.near, found.quoted, index)

    def _decide(self, draft: Draft, plan: Plan, found: _Found, about: str) -> None:
        """One event on every stream that holds such a text; the recorder destroys its keys with it."""
        streams = plan.streams
        for target in plan.targets:
            _require_sealed(target.record, streams.unsealed(target.record, target.stream))
        records: dict[str, None] = {}
        positions: list[int] = []
        for target in plan.targets:
            keys = streams.keys(target.record, target.stream)
            if keys or not streams.is_erased(target.record, target.stream):
                streams.load(target.stream)
                subject = about or next((one.about for one in keys if one.about), "")
                draft.append(target.stream, (TextErased(record=target.record, about=subject),))
                records[target.record] = None
                positions += [one.position for one in keys]
        found.records, found.positions = tuple(records), tuple(positions)
        found.already = tuple(dict.fromkeys(one.record for one in plan.targets if one.record not in records))
        found.near = tuple(plan.near)
        found.quoted = self._quoted(streams.events_at(positions))

    def _quoted(self, events: Iterable[Event]) -> tuple[int, ...]:
        """Where words of these events stand readable elsewhere in the ledger."""
        texts: dict[str, None] = {}
        for event in events:
            values = [getattr(event, name) for name in event.sealed]
            texts.update((one, None) for one in values if isinstance(one, str) and len(one) >= LONG_ENOUGH)
        longest = sorted(texts, key=len, reverse=True)[:LOOKED_FOR]
        recorder = self.workspace.ledger.recorder
        return tuple(sorted({at for text in longest for at in recorder.positions_with(canonical_json(text)[1:-1])}))


def _require_sealed(record: str, plain: Sequence[int]) -> None:
    if plain:
        at = ", ".join(str(one) for one in plain)
        raise Refused(
            f"{record} cannot be erased: its text was recorded before texts were sealed (position {at})",
            "an append-only ledger keeps it; what is to live on has to begin in a new workspace",
        )
