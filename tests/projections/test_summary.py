"""The summary, made at read time: approved, then declined, without what names a table (sessions.md, "Summary")."""

from __future__ import annotations

import pytest

from domain.event import Event
from domain.session_events import (
    ColumnPromoted,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    PhaseRolledBack,
    PromotionDeferred,
    PromotionRefused,
    SessionClosed,
    TableExcluded,
    TablePromoted,
)
from projections.summary import Summary, summarise
from tests.domain.spec import ADA, BO, Given, by, clarified, opened, recorded


def summary(*events: Given) -> Summary:
    found = summarise(recorded("session/s1", [opened(), *events]))
    assert found is not None
    return found


def approved(seq: int, *covers: int, memory_id: str = "mem-0001") -> tuple[str, Event]:
    return by(ADA, MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id=memory_id, covers=covers))


def declined(seq: int, *covers: int, reason: str = "") -> tuple[str, Event]:
    return by(BO, MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", covers=covers, reason=reason))


def listed(*events: Given) -> list[tuple[str, int]]:
    return [(memory.state, memory.seq) for memory in summary(*events).memories]


THREE = (clarified(1), clarified(2), clarified(3))


def test_a_stream_without_events_has_no_summary() -> None:
    assert summarise([]) is None


def test_approved_memories_come_first_then_declined_each_by_seq() -> None:
    events = (*THREE, clarified(4), declined(1), approved(4), declined(3), approved(2))
    assert listed(*events) == [("approved", 2), ("approved", 4), ("declined", 1), ("declined", 3)]


def test_the_marker_is_resolved_to_its_clarification() -> None:
    (shown,) = summary(clarified(1, "ablation", "**one** a year"), approved(1, memory_id="mem-0042")).memories
    assert shown.as_json() == {
        "state": "approved",
        "subject": "ablation",
        "detail": "**one** a year",
        "rationale": "",
        "memory_id": "mem-0042",
        "seq": 1,
        "by": ADA,
        "reason": "",
        "flag": "",
    }


def test_a_declined_one_says_by_whom_and_has_no_memory() -> None:
    (shown,) = summary(clarified(1), declined(1)).memories
    assert (shown.state, shown.memory_id, shown.by) == ("declined", None, BO)


def test_covered_decisions_go_with_the_one_that_was_decided() -> None:
    assert listed(clarified(1, "a", "b"), clarified(2, "A", "b."), approved(1, 2)) == [("approved", 1)]
    assert listed(clarified(1, "a", "b"), clarified(2, "A", "b."), declined(1, 2)) == [("declined", 1)]


@pytest.mark.parametrize("kind", [TablePromoted, TableExcluded, ColumnPromoted])
def test_a_marker_whose_source_is_no_clarification_is_hidden(
    kind: type[TablePromoted | TableExcluded | ColumnPromoted],
) -> None:
    """Old sessions promoted tables; they are history."""
    old = kind(seq=1, phase="F1", subject="patients", detail="use it")
    assert listed(old, clarified(2), approved(1), approved(2, memory_id="mem-0002")) == [("approved", 2)]


@pytest.mark.parametrize("seq", [0, 2, 99])
def test_a_marker_without_its_decision_is_hidden(seq: int) -> None:
    assert listed(clarified(1), approved(seq)) == []


@pytest.mark.parametrize("subject", ["fact_cardioversione", "dim_time", "`DIM_TIME`", "«Fact_x»."])
def test_autonomous_tables_are_hidden(subject: str) -> None:
    assert listed(clarified(1, subject, "x"), clarified(2, "other", "x"), approved(1)) == []
    assert listed(clarified(1, subject, "x"), declined(1)) == []


@pytest.mark.parametrize("standing", [(), (DecisionRetracted(seq=1),)])
def test_subjects_equal_to_the_sessions_schema_linking_are_hidden(standing: tuple[Event, ...]) -> None:
    linking = TableExcluded(seq=1, phase="F1", subject="Patients", detail="")
    assert listed(linking, clarified(2, "«patients»", "the treated"), approved(2), *standing) == []


def test_tables_and_fields_inside_an_explanation_are_kept() -> None:
    linking = TablePromoted(seq=1, phase="F1", subject="fact_x", detail="")
    (shown,) = summary(linking, clarified(2, "ablation", "rows of `fact_x` with `flag = TRUE`"), approved(2)).memories
    assert shown.detail == "rows of `fact_x` with `flag = TRUE`"


@pytest.mark.parametrize("gone", [DecisionRetracted(seq=1), PhaseRolledBack(phase="F1")])
def test_a_promotion_whose_source_fell_away_is_flagged(gone: Event) -> None:
    """S-26."""
    shown = summary(clarified(1), clarified(2), approved(1), declined(2), gone).memories[0]
    assert (shown.seq, shown.flag) == (1, "source no longer effective")


def test_a_declined_one_is_not_flagged() -> None:
    (shown,) = summary(clarified(1), declined(1), DecisionRetracted(seq=1)).memories
    assert shown.flag == ""


def test_what_waits_is_counted_and_not_listed() -> None:
    """S-21: pending and deferred ones are visible in the queue alone."""
    linking = TablePromoted(seq=5, phase="F1", subject="patients", detail="")
    found = summary(*THREE, clarified(4, "fact_x", "y"), linking, by(ADA, PromotionDeferred(seq=2)), approved(3))
    assert (found.pending, found.deferred) == (1, 1)
    assert [memory.seq for memory in found.memories] == [3]


def test_a_refused_approval_shows_nothing() -> None:
    """S-20: the audit knows, the summary does not change."""
    refused = PromotionRefused(seq=1, reviewer="agent:coder-1", reason="no")
    assert summary(*THREE, refused) == summary(*THREE)


def test_where_the_session_stands() -> None:
    found = summary(SessionClosed())
    assert (found.session_id, found.question, found.phase, found.closed) == (
        "s1",
        "How many ablations a year?",
        "F1",
        True,
    )
    assert found.as_json()["memories"] == []
