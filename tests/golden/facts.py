"""Samples of facts and the conflicts between them: see `tests.golden.samples`."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.conflict_case import ConflictFound, ConflictReopened, ConflictResolved, conflict_stream
from domain.event import Event
from domain.recall import FactsShown, reads_stream
from domain.topic_events import (
    FactLinked,
    FactMentioned,
    FactProposed,
    FactRestored,
    FactRetired,
    FactSuperseded,
    FactUnlinked,
    Link,
)

FACT, OTHER, CONFLICT = "fact-k3m9x2p7qa4t", "fact-aaaaaaaaaaaa", "conflict-k3m9x2p7qa4t"
FROM, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)

TOPIC: tuple[Event, ...] = (
    FactProposed(
        fact_id=FACT,
        domain="repo:shop/αρχιτεκτονική",
        topic="Μνήμη cache",
        content="Η cache ζει «μία ώρα»",
        confidence=0.7,
        memory_type="fact",
        veracity="inferred",
        author="agent:coder-1",
        author_role="coder",
        source_observation_ids=("obs-aaaaaaaaaaaa",),
        valid_from=FROM,
        valid_until=UNTIL,
        about="person:mario",
        corrects=OTHER,
    ),
    FactMentioned(
        fact_id=FACT,
        veracity="stated",
        confidence=0.79,
        author="human:ada",
        echoed=True,
        source_observation_ids=("obs-bbbbbbbbbbbb",),
    ),
    FactSuperseded(fact_id=FACT, by=OTHER, cause="conflict"),
    FactRetired(fact_id=FACT, cause="expired"),
    FactRestored(fact_id=FACT),
    FactLinked(fact_id=FACT, links=(Link(to=OTHER, kind="related_to", weight=0.4),), by_hand=True),
    FactUnlinked(fact_id=FACT, to=OTHER, kind_of_link="related_to"),
)
CONFLICTS: tuple[Event, ...] = (
    ConflictFound(
        conflict_id=CONFLICT,
        facts=(OTHER, FACT),
        found="contradiction",
        rule="another value",
        winner=FACT,
        state="decided",
    ),
    ConflictResolved(conflict_id=CONFLICT, state="kept", kept=OTHER),
    ConflictReopened(conflict_id=CONFLICT),
)

FACTS: tuple[tuple[str, Event], ...] = (
    *(("topic/repo:shop/αρχιτεκτονική/μνήμη-cache", event) for event in TOPIC),
    *((conflict_stream(CONFLICT), event) for event in CONFLICTS),
    (reads_stream("agent:coder-1"), FactsShown(refs=(FACT, OTHER), session_id="s-1", mode="preamble")),
)
