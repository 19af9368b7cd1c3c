"""Commands that no decider would have written, one kind of forgery each, and what an honest import writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from adapters.ledger import By, Draft
from adapters.workspace import Workspace
from domain.event import Event
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
)
from domain.session_events import (
    ConceptClarified,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    Phase,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
)

ADA, BO, CODER, IMPORTER = By("human:ada"), By("human:bo"), By("agent:coder"), By("tool:importer")
OLD = datetime(2025, 11, 3, tzinfo=UTC)

Written = tuple[str, Event]


def write(workspace: Workspace, by: By, *written: Written) -> None:
    """Record events in one command, whatever the deciders say."""

    def work(draft: Draft) -> None:
        for stream, event in written:
            if stream not in draft.versions:
                draft.load(stream)
            draft.append(stream, (event,))

    workspace.ledger.transact(work, by, ("forged",))


def said(seq: int, subject: str, session: str = "s1", *, phase: Phase = "F1", **more: object) -> Written:
    common = {"seq": seq, "phase": phase, "subject": subject, "detail": "one a year"}
    return f"session/{session}", ConceptClarified.model_validate(common | more)


def promoted(seq: int, memory_id: str = "mem-0002", session: str = "s1", revision: str = "r") -> Written:
    marker = MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id=memory_id, revision=revision)
    return f"session/{session}", marker


def declined(seq: int, session: str = "s1", covers: tuple[int, ...] = ()) -> Written:
    return f"session/{session}", MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", covers=covers)


def recorded(
    *seqs: int,
    number: int = 2,
    session: str = "s1",
    subject: str = "stroke",
    kind: str = "concept_clarified",
    occurred_at: datetime | None = None,
) -> Written:
    sources = tuple(Source(session_id=session, seq=seq) for seq in seqs)
    memory = MemoryRecorded(
        memory_id=f"mem-{number:04d}",
        type=kind,
        subject=subject,
        detail="one a year",
        sources=sources,
        occurred_at=occurred_at,
    )
    return f"memory/{number}", memory


def numbered(number: int = 2, stream: str = "") -> Written:
    return NUMBERING, NumberTaken(number=number, memory_id=f"mem-{number:04d}", stream=stream or f"memory/{number}")


def source_added(seq: int, merged_from: str | None, session: str = "s1") -> Written:
    source = Source(session_id=session, seq=seq)
    return "memory/2", SourceAdded(memory_id="mem-0002", sources=(source,), merged_from=merged_from)


def of_session(event: Event) -> Written:
    return "session/s1", event


def of_memory(event: Event) -> Written:
    return "memory/2", event


SECOND = [promoted(2), recorded(2), numbered()]  # bo approves what the agent said as seq 2
STEPS = list[tuple[By, Sequence[Written]]]

FORGED: dict[str, tuple[STEPS, str]] = {
    "an agent reuses a memory": (
        [(CODER, [said(4, "ablation", source_memory="mem-0001")])],
        "mem-0001 was reused by agent:coder, who is no person",
    ),
    "a memory without a number": ([(BO, [promoted(2), recorded(2)])], "mem-0002 was recorded without taking its"),
    "a number in another command": (
        [(BO, [promoted(2), recorded(2)]), (BO, [numbered()])],
        "the number 2 was taken for no memory",
    ),
    "a number for another stream": (
        [(BO, [promoted(2), recorded(2), numbered(stream="memory/elsewhere")])],
        "mem-0002 was recorded without taking its number",
    ),
    "numbers that go back": (
        [
            (BO, [promoted(2, "mem-0007"), recorded(2, number=7), numbered(7)]),
            (BO, [promoted(3, "mem-0003"), recorded(3, number=3), numbered(3)]),
        ],
        "the number 3 was taken after 7",
    ),
    "a retracted decision": (
        [(CODER, [of_session(DecisionRetracted(seq=2))]), (BO, SECOND)],
        "promoted from seq 2, which was retracted then",
    ),
    "a stale decision, rolled back": (
        [(CODER, [of_session(PhaseRolledBack(phase="F1"))]), (BO, SECOND)],
        "promoted from seq 2, which was stale then",
    ),
    "a stale decision, an earlier phase reopened": (
        [
            (CODER, [of_session(PhaseEntered(phase="F3")), said(4, "dose", phase="F3")]),
            (CODER, [of_session(PhaseReopened(phase="F1"))]),
            (BO, [promoted(4), recorded(4), numbered()]),
        ],
        "promoted from seq 4, which was stale then",
    ),
    "sources of a merge that was none": (
        [(BO, SECOND), (BO, [source_added(3, "mem-0001")])],
        "mem-0002 claims an approval of s1:3 from elsewhere",
    ),
    "sources of a merge that was none, beside something else": (
        [(BO, SECOND), (BO, [source_added(7, "mem-0001", "lost"), of_session(PromotionDeferred(seq=3))])],
        "mem-0002 has a source that no reviewer promoted",
    ),
    "sources of a merge into another": (
        [
            (BO, SECOND),
            (BO, [of_memory(MemoryMerged(memory_id="mem-0002", into="mem-0001")), source_added(1, "mem-0001")]),
        ],
        "mem-0002 has a source that no reviewer promoted",
    ),
    "a merge that brings what the other never had": (
        [
            (BO, SECOND),
            (BO, [("memory/1", MemoryMerged(memory_id="mem-0001", into="mem-0002")), source_added(3, "mem-0001")]),
        ],
        "mem-0002 has a source that no reviewer promoted",
    ),
    "a restoration that brings a new source": (
        [
            (BO, SECOND),
            (BO, [of_memory(MemoryRetired(memory_id="mem-0002"))]),
            (BO, [of_memory(MemoryRestored(memory_id="mem-0002")), source_added(3, None)]),
        ],
        "mem-0002 has a source that no reviewer promoted",
    ),
    "an old registry's source of a session held here": (
        [(BO, SECOND), (IMPORTER, [source_added(3, "mem-0009")])],
        "claims an approval of s1:3 from elsewhere",
    ),
    "merged into nothing": (
        [(BO, SECOND), (BO, [of_memory(MemoryMerged(memory_id="mem-0002", into="mem-0099"))])],
        "mem-0002 gave way to mem-0099, which was no other memory then",
    ),
    "superseded by nothing": (
        [(BO, SECOND), (BO, [of_memory(MemorySuperseded(memory_id="mem-0002", by="mem-0099"))])],
        "mem-0002 gave way to mem-0099",
    ),
    "superseded by itself": (
        [(BO, SECOND), (BO, [of_memory(MemorySuperseded(memory_id="mem-0002", by="mem-0002"))])],
        "mem-0002 gave way to mem-0002",
    ),
    "a seq left out": ([(CODER, [said(5, "dose")])], "decision 4 of s1 has the seq 5"),
    "a seq said twice": ([(CODER, [said(2, "dose")])], "decision 4 of s1 has the seq 2"),
    "promoted what nobody said": (
        [(BO, [promoted(9), recorded(9), numbered()])],
        "memory_promoted is about seq 9, which is not recorded",
    ),
    "declined what nobody said": ([(BO, [declined(9)])], "memory_promotion_declined is about seq 9"),
    "covered what nobody said": ([(BO, [declined(2, covers=(9,))])], "memory_promotion_declined is about seq 9"),
    "deferred what nobody said": ([(BO, [of_session(PromotionDeferred(seq=9))])], "promotion_deferred is about seq 9"),
    "retracted what nobody said": ([(CODER, [of_session(DecisionRetracted(seq=9))])], "retracted is about seq 9"),
    "declined and then promoted": ([(BO, [declined(2)]), (BO, SECOND)], "seq 2 was both promoted and declined"),
    "promoted and then declined": ([(BO, SECOND), (BO, [declined(2)])], "seq 2 was both promoted and declined"),
    "an agent approves": ([(CODER, SECOND)], "mem-0002 was approved by agent:coder, who is no person"),
    "an agent declines": ([(CODER, [declined(2)])], "seq 2 was declined by agent:coder, who is no person"),
    "an importer declines what was said here": ([(IMPORTER, [declined(2)])], "declined by tool:importer"),
    "an importer declines as a review does": ([(IMPORTER, [declined(1, "old", covers=(1,))])], "by tool:importer"),
    "an agent defers": ([(CODER, [of_session(PromotionDeferred(seq=2))])], "seq 2 was deferred by agent:coder"),
    "an importer defers": ([(IMPORTER, [("session/old", PromotionDeferred(seq=1))])], "seq 1 was deferred by tool:"),
    "an agent retires": (
        [(BO, SECOND), (CODER, [of_memory(MemoryRetired(memory_id="mem-0002"))])],
        "memory_retired of mem-0002 is by agent:coder",
    ),
    "a tool merges": (
        [(BO, SECOND), (IMPORTER, [of_memory(MemoryMerged(memory_id="mem-0002", into="mem-0001"))])],
        "memory_merged of mem-0002 is by tool:importer",
    ),
    "an agent supersedes": (
        [(BO, SECOND), (CODER, [of_memory(MemorySuperseded(memory_id="mem-0002", by="mem-0001"))])],
        "memory_superseded of mem-0002 is by agent:coder",
    ),
    "an agent restores": (
        [
            (BO, SECOND),
            (BO, [of_memory(MemoryRetired(memory_id="mem-0002"))]),
            (CODER, [of_memory(MemoryRestored(memory_id="mem-0002"))]),
        ],
        "memory_restored of mem-0002 is by agent:coder",
    ),
    "an agent withdraws a source": (
        [
            (BO, SECOND),
            (
                CODER,
                [of_memory(SourceWithdrawn(memory_id="mem-0002", sources=(Source(session_id="s1", seq=2),)))],
            ),
        ],
        "source_withdrawn of mem-0002 is by agent:coder",
    ),
    "the words of a reviewer, repeated by an agent": (
        [
            (BO, [said(4, "«Dose».")]),
            (CODER, [said(5, "dose")]),
            (BO, [promoted(5), recorded(5), numbered()]),
        ],
        "human:bo approved mem-0002 from their own words",
    ),
    "the words of a reviewer, edited without a change": (
        [
            (BO, [said(4, "dose")]),
            (CODER, [of_session(DecisionRetracted(seq=4)), said(5, "DOSE", supersedes=4)]),
            (By("human:Bo"), [promoted(5), recorded(5), numbered()]),
        ],
        "human:Bo approved mem-0002 from their own words",
    ),
    "the words of a reviewer, hidden letters between": (
        [(BO, [said(4, "do\u200bse")]), (CODER, [said(5, "dose")]), (BO, [promoted(5), recorded(5), numbered()])],
        "human:bo approved mem-0002 from their own words",
    ),
    "an agent imports a memory": (
        [(CODER, [recorded(1, session="lost", occurred_at=OLD), numbered()])],
        "mem-0002 was imported by agent:coder",
    ),
    "an agent imports a marker": ([(CODER, [promoted(1, session="old", revision="")])], "imported by agent:coder"),
    "an agent adds an imported source": (
        [(BO, SECOND), (CODER, [source_added(7, "mem-0009", "lost")])],
        "mem-0002 has a source that no reviewer promoted",
    ),
    "a marker without a revision": (
        [(BO, [promoted(2, revision=""), recorded(2), numbered()])],
        "seq 2 was promoted to mem-0002 without a revision",
    ),
    "an imported marker in a session held here": (
        [(IMPORTER, [promoted(2, revision="")])],
        "seq 2 was promoted to mem-0002 without a revision",
    ),
    "an imported memory of a session held here": (
        [(BO, [recorded(2, occurred_at=OLD), numbered()])],
        "mem-0002 claims an approval of s1:2 from elsewhere",
    ),
    "an imported memory that says something else": (
        [(IMPORTER, [recorded(1, session="old", subject="other", occurred_at=OLD), numbered()])],
        "mem-0002 does not say what its source old:1 says",
    ),
    "an imported memory with a marker": (
        [(BO, [promoted(2), recorded(2, occurred_at=OLD), numbered()])],
        "mem-0002 claims to be imported, with more than its number",
    ),
}


IMPORTED: dict[str, Sequence[Written]] = {
    "a memory of a lost session": [recorded(1, session="lost", occurred_at=OLD), numbered()],
    "a memory of an imported session": [recorded(1, session="old", subject="Dose.", occurred_at=OLD), numbered()],
    "a table memory": [recorded(2, kind="table_promoted", occurred_at=OLD), numbered()],
    "a marker": [promoted(1, session="old", revision="")],
    "a declined seq": [declined(1, "old")],
    "a seq that was declined before it was promoted": [declined(1, "old"), promoted(1, session="old", revision="")],
    "numbers with a gap": [recorded(1, number=40, session="lost", occurred_at=OLD), numbered(40)],
}
