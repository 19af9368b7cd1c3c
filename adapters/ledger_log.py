"""The ledger as it is stored, without any view: its log, and whether a head kept elsewhere is still in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adapters.chain import Link
from adapters.ledger import Ledger
from adapters.ledger_check import RESTORE
from adapters.mapper import payload
from domain.errors import InvalidInput, LedgerDamaged
from domain.event import is_private, iso_utc
from projections.loop import Head
from projections.verify import Finding

_HEAD = re.compile(r"(\d+):([0-9a-fA-F]{64})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored event with its envelope. `data` is the payload as stored; `problem` says why it does not decode."""

    position: int
    stream: str
    version: int
    name: str
    event_version: int
    at: str
    actor: str
    role: str
    reason: str
    correlation_id: str
    idempotency_key: str
    data: dict[str, Any]
    chain: str
    problem: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def kind(self) -> str:
        return self.name.partition(".")[2].replace("-", "_")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries; an empty field takes all. `name`: an event's name or kind; `stream`: a stream or its start."""

    stream: str = ""
    name: str = ""
    actor: str = ""
    after: int = 0

    def takes(self, entry: Entry) -> bool:
        return (
            (not self.stream or entry.stream == self.stream or entry.stream.startswith(f"{self.stream}/"))
            and (not self.name or self.name in (entry.name, entry.kind))
            and (not self.actor or entry.actor == self.actor)
        )


def log(ledger: Ledger, wanted: Wanted, *, limit: int, offset: int = 0) -> tuple[list[Entry], int]:
    """The stored events in order, also those that do not decode, and how many match in all."""
    page: list[Entry] = []
    total = 0
    for entry in _entries(ledger, wanted.after):
        if wanted.takes(entry):
            if offset <= total < offset + limit:
                page.append(entry)
            total += 1
    return page, total


def parse_head(text: str) -> Head:
    """`POSITION:HASH`, as `tht ledger head` prints it."""
    found = _HEAD.fullmatch(text.strip())
    if not found:
        raise InvalidInput(f"{text!r} is no head", "write POSITION:HASH, the hash in 64 hex digits: tht ledger head")
    return Head(int(found.group(1)), found.group(2).lower())


def check_head(ledger: Ledger, kept: Head) -> Finding | None:
    """What happened to the history up to a head that was kept elsewhere; None when it is still there."""
    where = f"position {kept.position}"
    mend = f"this is not the ledger that the head was taken from, or it was changed: {RESTORE}"
    chain = ledger.chain_at(kept.position)
    if chain is None:
        last = ledger.head().position
        return Finding("ledger", where, f"the ledger ends at {last}, before the head that was kept: a cut tail", mend)
    if chain != kept.chain:
        return Finding("ledger", where, "the chain is not that of the head that was kept: a rewrite", mend)
    return None


def _entries(ledger: Ledger, after: int) -> Iterator[Entry]:
    for link in ledger.links(after):
        yield _entry(ledger, link)


def _entry(ledger: Ledger, link: Link) -> Entry:
    stored = link.notification
    try:
        envelope = ledger.decode(link)
        at, problem = iso_utc(envelope.at), ""
    except LedgerDamaged as error:
        at, problem = "", error.message
    state = _state(stored.state)
    return Entry(
        position=stored.id,
        stream=str(state.get("stream", stored.originator_id)),
        version=stored.originator_version,
        name=stored.topic,
        event_version=int(state["v"]) if isinstance(state.get("v"), int) else 0,
        at=at or str(state.get("at", "")),
        actor=str(state.get("actor", "")),
        role=str(state.get("role", "")),
        reason=str(state.get("reason", "")),
        correlation_id=str(state.get("corr", "")),
        idempotency_key=str(state.get("key", "")).rpartition("#")[0],
        data=_data(link),
        chain=link.chain.hex(),
        problem=problem,
    )


def _data(link: Link) -> dict[str, Any]:
    """The payload as stored, sealed text opened; without that where it cannot be, or is private to its agent."""
    try:
        if is_private(link.notification.topic):
            return dict(json.loads(link.notification.state)["data"])
        return payload(link.notification)
    except LedgerDamaged:
        data = _state(link.notification.state).get("data")
        return data if isinstance(data, dict) else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _state(stored: bytes) -> dict[str, Any]:
    try:
        state = json.loads(stored)
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}
