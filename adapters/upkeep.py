"""Carrying upkeep out: one run at a time, in transactions of a few hundred acts, each recorded with what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.knowledge import scope_for
from adapters.ledger import By, Committed, Draft
from adapters.locks import alone
from adapters.topic_draft import TopicDraft
from adapters.workspace import Workspace
from domain import hot
from domain.errors import NothingChanged
from domain.event import Event, iso_utc
from domain.hot import Hot, Item
from domain.upkeep import COUNTED, Pair, UpkeepRun, What, new_run_id, run_stream
from projections.scope import Reader

BATCH = 500  # acts to a transaction
LOCK_WAIT = 5.0  # seconds

Done = dict[str, tuple[str | Pair, ...]]


@dataclass
class Part:
    """One transaction of a run while it is decided: its topics and hot items, and what it did, by field of the run."""

    topics: TopicDraft
    did: dict[str, list[str | Pair]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    hots: dict[str, Hot] = field(default_factory=dict)

    @property
    def draft(self) -> Draft:
        return self.topics.draft

    def told(self, what: str, done: str | Pair) -> None:
        self.did.setdefault(what, []).append(done)

    def item(self, stream: str, item_id: str) -> Item:
        """An agent's item as it was before this transaction, which does no more than one thing to each."""
        if stream not in self.hots:
            self.hots[stream] = hot.fold(stream, self.draft.load(stream))
        return self.hots[stream].get(item_id)

    def append(self, stream: str, events: Sequence[Event]) -> None:
        """To a stream that is no topic; it is loaded first where that has not happened."""
        if stream not in self.draft.versions:
            self.draft.load(stream)
        self.draft.append(stream, events)


Act = Callable[[Part], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run did, by field of `UpkeepRun`; no id when there was nothing to do.

    `already`: an earlier run of the same command did it.
    """

    run_id: str
    what: str
    did: Done
    left: tuple[str, ...] = ()
    position: int = 0
    already: bool = False

    def count(self, name: str) -> int:
        return len(self.did.get(name, ()))

    def as_json(self) -> dict[str, Any]:
        listed = {
            name: [list(one) if isinstance(one, tuple) else one for one in done] for name, done in self.did.items()
        }
        return {
            "run_id": self.run_id or None,
            "what": self.what,
            **listed,
            "left": list(self.left),
            "position": self.position,
            "already": self.already,
        }


@dataclass(frozen=True)
class Upkeep:
    workspace: Workspace

    def require_everything(self, by: By) -> None:
        """AccessDenied for whoever may not see every domain: a run goes through all of them and names what it did."""
        scope_for(self.workspace, Reader(by.actor, by.role)).require_all("upkeep")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """HomeNotWritable when another process does upkeep here."""
        with alone(self.workspace.paths.upkeep_lock, "another process does upkeep here", wait=LOCK_WAIT):
            yield

    def carry_out(self, what: What, plan: Callable[[], Sequence[Act]], by: By, command: Sequence[object]) -> Ran:
        """Do what `plan` finds, in batches. NothingChanged when there was nothing to do.

        A killed run leaves its finished batches, each recorded; another run, or a retry with the same idempotency
        key, does the rest.
        """
        with self.alone():
            earlier = self._earlier(by, command)
            events = [event for done in earlier for event in done.events(UpkeepRun)]
            if events and events[-1].finished:
                return _ran(events, earlier[-1].position, already=True)
            self.workspace.caught_up()
            run_id = events[0].run_id if events else self._new_id(what)
            acts = plan()
            position, recorded = 0, len(earlier)
            for start in range(0, len(acts), BATCH):
                last = start + BATCH >= len(acts)
                part = UpkeepRun(run_id=run_id, what=what, finished=last)
                told = last and bool(events)  # the end of a run that did something is told, whatever is left to do
                keyed = _keyed(by, recorded + 1)
                done = self._batch(part, acts[start : start + BATCH], keyed, command, told=told)
                recorded += bool(done.envelopes)
                events += done.events(UpkeepRun)
                position = done.position or position
        if not events:
            raise NothingChanged(f"there is nothing to {what}")
        return _ran(events, position, already=not acts)

    def _batch(
        self, run: UpkeepRun, acts: Sequence[Act], by: By, command: Sequence[object], *, told: bool
    ) -> Committed:
        def work(draft: Draft) -> None:
            part = Part(TopicDraft(self.workspace, draft))
            for act in acts:
                act(part)
            if part.did or told:
                event = UpkeepRun.model_validate(run.model_dump() | part.did)
                part.append(run_stream(run.run_id), (event,))

        return self.workspace.ledger.transact(work, by, command)

    def _earlier(self, by: By, command: Sequence[object]) -> list[Committed]:
        """What was recorded under this idempotency key already. KeyReused when that was another command."""
        found: list[Committed] = []
        while by.idempotency_key:
            done = self.workspace.ledger.transact(lambda draft: None, _keyed(by, len(found) + 1), command)
            if not done.already:
                break
            found.append(done)
        return found

    def _new_id(self, what: What) -> str:
        return new_run_id(what, self.workspace.ledger.head().chain, iso_utc(self.workspace.clock()))


def _keyed(by: By, number: int) -> By:
    return replace(by, idempotency_key=f"{by.idempotency_key}:{number}") if by.idempotency_key else by


def _ran(events: Sequence[UpkeepRun], position: int, *, already: bool) -> Ran:
    did: Done = {}
    for name in COUNTED:
        if done := tuple(one for event in events for one in getattr(event, name)):
            did[name] = done
    return Ran(events[0].run_id, events[0].what, did, position=position, already=already)
