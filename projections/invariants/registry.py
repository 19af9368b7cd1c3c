"""Memories among themselves: each with a number of its own, and none that gives way to one that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from domain.event import Envelope
from domain.memory import MemoryMerged, MemoryRecorded, MemorySuperseded, NumberTaken
from domain.text import memory_id
from projections.invariants.told import Events, Rule, commands, finding
from projections.verify import Finding


def numbers_are_taken_once(events: Events) -> Iterator[Finding]:
    """Every memory has a number of its own, taken in the numbering stream, each higher than the one before."""
    taken: set[int] = set()
    last = 0
    recorded: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, NumberTaken):
            if event.number in taken or event.memory_id != memory_id(event.number):
                yield finding(envelope, f"the number {event.number} was taken twice or for {event.memory_id}")
            elif event.number < last:
                yield finding(envelope, f"the number {event.number} was taken after {last}")
            taken.add(event.number)
            last = max(last, event.number)
        if isinstance(event, MemoryRecorded):
            if event.memory_id in recorded:
                yield finding(envelope, f"{event.memory_id} is recorded on two streams")
            recorded.add(event.memory_id)


def memory_and_number_come_together(events: Events) -> Iterator[Finding]:
    """A memory and its number, which names the memory's stream, are of one command."""
    for command in commands(events):
        numbered = {(one.event.memory_id, one.event.stream) for one in command if isinstance(one.event, NumberTaken)}
        for envelope in command:
            event = envelope.event
            if isinstance(event, MemoryRecorded) and (event.memory_id, envelope.stream) not in numbered:
                yield finding(envelope, f"{event.memory_id} was recorded without taking its number")
            if isinstance(event, NumberTaken) and not _recorded(command, event):
                yield finding(envelope, f"the number {event.number} was taken for no memory on {event.stream}")


def _recorded(command: list[Envelope], number: NumberTaken) -> bool:
    return any(
        isinstance(one.event, MemoryRecorded) and (one.event.memory_id, one.stream) == (number.memory_id, number.stream)
        for one in command
    )


def successors_exist(events: Events) -> Iterator[Finding]:
    """What a memory was merged into or superseded by was another memory by then."""
    recorded: set[str] = set()
    for envelope in events:
        event = envelope.event
        match event:
            case MemoryRecorded():
                recorded.add(event.memory_id)
                continue
            case MemoryMerged(into=successor) | MemorySuperseded(by=successor):
                pass
            case _:
                continue
        if successor not in recorded or successor == event.memory_id:
            yield finding(envelope, f"{event.memory_id} gave way to {successor}, which was no other memory then")


RULES: tuple[Rule, ...] = (numbers_are_taken_once, memory_and_number_come_together, successors_exist)
