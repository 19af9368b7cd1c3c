"""A synthetic history for benchmarks: sessions of which one clarification each is promoted, as commands record it."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path

from adapters.ledger import By, Draft
from adapters.workspace import Workspace, create_workspace
from domain.event import Event
from domain.memory import NUMBERING, MemoryRecorded, NumberTaken, Source, memory_stream
from domain.session_events import (
    ConceptClarified,
    DecisionRetracted,
    MemoryPromoted,
    PhaseEntered,
    SessionOpened,
    session_stream,
)
from domain.text import memory_id

EVENTS_A_SESSION = 10  # with its memory and number
_SYLLABLES = ("ca", "re", "mo", "ti", "sul", "ver", "no", "pla", "de", "fi", "gra", "lon")
_WORDS = [
    one + two + three for one in _SYLLABLES for two in _SYLLABLES for three in _SYLLABLES
]  # 1,728, rare ones last


def make_workspace(home: Path, events: int, together: int = 100) -> Workspace:
    """A workspace with about this many events, one memory in ten, embedder `hash`. Views are not caught up.

    `together`: so many sessions are one command, which is quicker, and which the audit of each of them then tells.
    """
    workspace = create_workspace(home, "default")
    workspace.config.set("embedder.model", "hash:384")
    numbers = count(1)
    together = min(together, max(1, events // EVENTS_A_SESSION))
    for _ in range(max(1, events // (EVENTS_A_SESSION * together))):
        batch = [next(numbers) for _ in range(together)]
        workspace.ledger.transact(partial(_write, batch), By("tool:benchmark"), ("bench", batch[0]))
    return workspace


def _write(numbers: list[int], draft: Draft) -> None:
    draft.last(NUMBERING)
    for number in numbers:
        session_id = f"bench-{number:06d}"
        stream = session_stream(session_id)
        clarified = [_clarified(number, seq) for seq in range(1, 5)]
        own: list[Event] = [
            SessionOpened(session_id=session_id, question=f"How many {phrase(number, 4)}?"),
            *clarified,
            DecisionRetracted(seq=4, reason="said twice"),
            PhaseEntered(phase="F8"),
            MemoryPromoted(seq=1, detail="seq:1", memory_id=memory_id(number), revision="bench"),
        ]
        content = memory_stream(clarified[0].subject, clarified[0].detail)
        draft.versions |= {stream: 0, content: 0}
        draft.append(stream, own)
        draft.append(content, [_memory(number, session_id, clarified[0])])
        draft.append(NUMBERING, [NumberTaken(number=number, memory_id=memory_id(number), stream=content)])


def _clarified(number: int, seq: int) -> ConceptClarified:
    return ConceptClarified(
        seq=seq,
        phase="F1",
        subject=f"{phrase(number + seq, 2)} {number}.{seq}",
        detail=f"{phrase(7 * number + seq, 12)} = `col_{number % 97}` / `col_{seq}` where code = {number}",
        rationale="the reviewer's definition",
        question_context=f"How many {phrase(number, 4)}?",
    )


def _memory(number: int, session_id: str, clarified: ConceptClarified) -> MemoryRecorded:
    return MemoryRecorded(
        memory_id=memory_id(number),
        type="concept_clarified",
        subject=clarified.subject,
        detail=clarified.detail,
        rationale=clarified.rationale,
        question_context=clarified.question_context,
        sources=(Source(session_id=session_id, seq=1),),
    )


def phrase(start: int, length: int) -> str:
    """Words as unevenly spread as in real text: half of them from the commonest forty."""
    picked = []
    state = start + 1
    for _ in range(length):
        state = (state * 48271) % 2147483647
        share = state / 2147483647
        picked.append(_WORDS[int(len(_WORDS) ** share) - 1])
    return " ".join(picked)
