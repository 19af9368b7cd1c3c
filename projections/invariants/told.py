"""What the sessions had said when an event came, followed naively; and how an import is recognised."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from domain.event import Envelope
from domain.memory import MemoryRecorded, NumberTaken, SourceAdded
from domain.session_events import (
    Decided,
    DecisionRetracted,
    MemoryPromoted,
    PhaseReopened,
    PhaseRolledBack,
    SessionOpened,
)
from domain.text import is_person
from projections.verify import Finding

IMPORTER = "tool:importer"  # who imports when nobody is named

Events = Sequence[Envelope]
Rule = Callable[[Events], Iterator[Finding]]


def finding(envelope: Envelope, what: str) -> Finding:
    memory = getattr(envelope.event, "memory_id", "") or getattr(envelope.event, "source_memory", "")
    mend = f"tht audit memory {memory} shows how it came about; tht registry retire {memory} takes it out"
    if not memory:
        mend = f"tht audit session {session_of(envelope)} shows how it came about"
    return Finding("invariant", f"position {envelope.position}", what, mend)


def session_of(envelope: Envelope) -> str:
    return envelope.stream.removeprefix("session/")


def commands(events: Events) -> list[list[Envelope]]:
    """What was written together, in order of its first event."""
    found: dict[str, list[Envelope]] = defaultdict(list)
    for envelope in events:
        found[envelope.correlation_id].append(envelope)
    return list(found.values())


def may_import(actor: str) -> bool:
    """Approvals from elsewhere are let in by a person, or by `tht import` where nobody is named: never by an agent."""
    return is_person(actor) or actor == IMPORTER


class Told:
    """The sessions' decisions up to some event: who said them, and which are undone. `see` every event once, in order.

    By session id: `decisions` by seq; `undone` those that are retracted or stale now; `begun_here` the sessions that
    nobody imported: their opening is a command of its own, and not an importer's.
    """

    def __init__(self, events: Events) -> None:
        self.sizes = Counter(envelope.correlation_id for envelope in events)
        self.decisions: dict[str, dict[int, Envelope]] = defaultdict(dict)
        self.undone: dict[str, dict[int, str]] = defaultdict(dict)
        self.begun_here: set[str] = set()

    def see(self, envelope: Envelope) -> None:
        event, session_id = envelope.event, session_of(envelope)
        if isinstance(event, SessionOpened) and self.sizes[envelope.correlation_id] == 1 and envelope.actor != IMPORTER:
            self.begun_here.add(session_id)
        elif isinstance(event, Decided):
            self.decisions[session_id][event.seq] = envelope
            self.undone[session_id].pop(event.seq, None)
        elif isinstance(event, DecisionRetracted):
            self.undone[session_id].setdefault(event.seq, "retracted")
        elif isinstance(event, PhaseReopened):
            self._undo(session_id, lambda phase: phase > event.phase)
        elif isinstance(event, PhaseRolledBack):
            self._undo(session_id, lambda phase: phase >= event.phase)

    def _undo(self, session_id: str, which: Callable[[str], bool]) -> None:
        for seq, decision in self.decisions[session_id].items():
            if which(said_in(decision).phase):
                self.undone[session_id].setdefault(seq, "stale")


def said_in(envelope: Envelope) -> Decided:
    event = envelope.event
    assert isinstance(event, Decided)
    return event


# -- imports -----------------------------------------------------------------------------------------------------------


def is_imported(event: MemoryRecorded | MemoryPromoted) -> bool:
    """Whether it claims to come from elsewhere; `gate.imports_are_from_elsewhere` looks at that claim."""
    return event.occurred_at is not None if isinstance(event, MemoryRecorded) else not event.revision


def is_imported_source(command: Events) -> bool:
    """An old registry's second record of one content is a command of its own: one source, from an old memory."""
    if len(command) != 1:
        return False
    event = command[0].event
    return isinstance(event, SourceAdded) and event.merged_from is not None and len(event.sources) == 1


def is_imported_memory(command: Events) -> bool:
    """An old registry's record is a command of its own: the memory and its number."""
    return [type(envelope.event) for envelope in command] == [MemoryRecorded, NumberTaken]


# -- content -----------------------------------------------------------------------------------------------------------

_QUOTES = frozenset("\"'`«»“”„‟‘’‚‹›")
_ENDINGS = frozenset(".,;:!?…·")
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")


def same_content(one: Envelope, other: Envelope) -> bool:
    """Whether two decisions say the same. What was erased says nothing any more."""
    if one.erased or other.erased:
        return False
    said, again = said_in(one), said_in(other)
    return said.kind == again.kind and content(said.subject, said.detail) == content(again.subject, again.detail)


def content(subject: str, detail: str) -> tuple[str, str]:
    """What makes two clarifications one: NFKC, casefold, collapsed space, without outer quotes and trailing
    punctuation, nor anything that is not seen (sessions.md, "Promotion", 5)."""
    return _plain(subject), _plain(detail)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    plain = " ".join(_BLANK.sub("", seen).split())
    before = ""
    while plain != before:
        before = plain
        while plain and (plain[-1] in _ENDINGS or plain[-1].isspace()):
            plain = plain[:-1]
        if len(plain) > 1 and plain[0] in _QUOTES and plain[-1] in _QUOTES:
            plain = plain[1:-1].strip()
    return plain
