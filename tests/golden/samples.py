"""One sample of every event at its current version, every field filled in.

A changed event gets a new version, a new sample here and a new golden file; the old file stays and decodes for ever.
"""

from __future__ import annotations

from datetime import UTC, datetime

from domain.erasure import TextErased
from domain.event import Envelope, Event
from domain.memory import (
    NUMBERING,
    MemoryMerged,
    MemoryRecorded,
    MemoryRestored,
    MemoryRetired,
    MemorySuperseded,
    NumberTaken,
    Source,
    SourceAdded,
    SourceWithdrawn,
    memory_stream,
)
from domain.recall import MemoriesShown, reads_stream
from domain.session_events import (
    ColumnExcluded,
    ColumnPromoted,
    ConceptClarified,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    MemoryRejected,
    MemorySetAside,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
    PromotionRefused,
    PromotionReviewClosed,
    SessionClosed,
    SessionOpened,
    TableExcluded,
    TablePromoted,
    session_stream,
)
from tests.golden.facts import FACTS
from tests.golden.guidance import GUIDANCE
from tests.golden.upkeep import UPKEEP

AT = datetime(2026, 3, 2, 10, 15, 30, 123456, tzinfo=UTC)
SAID = datetime(2024, 11, 5, 8, 0, 0, tzinfo=UTC)
SUBJECT = "Ablazione transcatetere"
DETAIL = "Procedura con `ablazione_transcatetere = TRUE`, conteggiata con `COUNT(DISTINCT cod_paz)` per anno"
STREAM = memory_stream(SUBJECT, DETAIL)
SOURCES = (Source(session_id="s-1", seq=4), Source(session_id="σ-2", seq=11))

SESSION: tuple[Event, ...] = (
    SessionOpened(session_id="s-1", question="Πόσες επεμβάσεις «ablazione» ανά έτος;", database="cardiology"),
    ConceptClarified(
        seq=4,
        phase="F3",
        subject=SUBJECT,
        detail=DETAIL,
        rationale="said by the head of the ward\nover two lines",
        occurred_at=SAID,
        question_context="per anno",
        concepts=("ablazione", "paziente"),
        tables=("fact_procedure",),
        source_memory="mem-0002",
        source_changed=True,
        supersedes=3,
    ),
    TablePromoted(
        seq=1, phase="F1", subject="fact_procedure", detail="holds procedures", rationale="r", occurred_at=SAID
    ),
    TableExcluded(seq=2, phase="F2", subject="dim_time", detail="not needed", rationale="r", occurred_at=SAID),
    ColumnPromoted(seq=5, phase="F4", subject="cod_paz", detail="the patient", rationale="r", occurred_at=SAID),
    ColumnExcluded(seq=6, phase="F5", subject="cod_old", detail="unused", rationale="r", occurred_at=SAID),
    DecisionRetracted(seq=5, reason="wrong column"),
    PhaseEntered(phase="F6"),
    PhaseReopened(phase="F2"),
    PhaseRolledBack(phase="F1"),
    MemorySetAside(memory_id="mem-0003"),
    MemoryRejected(memory_id="mem-0004"),
    MemoryPromoted(
        seq=4, detail="seq:4", memory_id="mem-0007", covers=(8, 9), revision="0123456789abcdef", self_reviewed=True
    ),
    MemoryPromotionDeclined(seq=10, detail="seq:10", covers=(12,), reason="too local"),
    PromotionDeferred(seq=13, reason="ask Bo"),
    PromotionRefused(seq=4, reviewer="human:ada", reason="who proposes does not approve"),
    PromotionReviewClosed(),
    SessionClosed(),
)

MEMORY: tuple[Event, ...] = (
    MemoryRecorded(
        memory_id="mem-0007",
        type="concept_clarified",
        subject=SUBJECT,
        detail=DETAIL,
        rationale="r",
        question_context="per anno",
        tables=("fact_procedure",),
        concepts=("ablazione",),
        sources=SOURCES,
        self_reviewed=True,
        occurred_at=SAID,
    ),
    SourceAdded(memory_id="mem-0007", sources=SOURCES, merged_from="mem-0005", self_reviewed=True),
    SourceWithdrawn(memory_id="mem-0007", sources=SOURCES[:1], reason="wrong"),
    MemoryMerged(memory_id="mem-0007", into="mem-0001"),
    MemorySuperseded(memory_id="mem-0007", by="mem-0008"),
    MemoryRetired(memory_id="mem-0007", reason="wrong"),
    MemoryRestored(memory_id="mem-0007", reason="right after all"),
)

OTHERS: tuple[tuple[str, Event], ...] = (
    (STREAM, TextErased(record="mem-0007", about="person:mario")),
    (NUMBERING, NumberTaken(number=7, memory_id="mem-0007", stream=STREAM)),
    (
        reads_stream("agent:coder-1"),
        MemoriesShown(refs=("memory:mem-0007", "memory:mem-0001"), session_id="s-1", mode="semantic"),
    ),
)


def samples() -> list[Envelope]:
    """Every sample in its envelope, whose fields are all filled in too."""
    placed = [
        *((session_stream("s-1"), event) for event in SESSION),
        *((STREAM, event) for event in MEMORY),
        *OTHERS,
        *FACTS,
        *GUIDANCE,
        *UPKEEP,
    ]
    return [
        Envelope(stream, 3, 0, AT, "human:ada", "reviewer", "γιατί", "c0ffee", "key-1#0123456789abcdef", event)
        for stream, event in placed
    ]
