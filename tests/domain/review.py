"""What the stories of the review share: verdicts that were given, and what is asked of a session."""

from __future__ import annotations

from typing import Any

from domain import promotion
from domain.event import Event
from domain.promotion import Candidate, Promotion, Reviewer
from domain.session import Session
from domain.session_events import (
    ColumnExcluded,
    MemoryPromoted,
    MemoryPromotionDeclined,
    PhaseEntered,
    PromotionDeferred,
    PromotionReviewClosed,
    TableExcluded,
    TablePromoted,
)
from tests.domain.spec import ADA, Given, Story, by, given

REVIEWER = Reviewer(ADA)
F8 = PhaseEntered(phase="F8")
DONE = PromotionReviewClosed()


def in_review(*events: Given) -> Story[Session]:
    return given(*events, F8)


def promoted(seq: int, *covers: int) -> tuple[str, Event]:
    return by(ADA, MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id="mem-0001", covers=covers))


def declined(seq: int, *covers: int) -> tuple[str, Event]:
    return by(ADA, MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", covers=covers))


def deferred(seq: int) -> tuple[str, Event]:
    return by(ADA, PromotionDeferred(seq=seq))


def linked(seq: int, subject: str, kind: type[TablePromoted | TableExcluded | ColumnExcluded]) -> Event:
    return kind(seq=seq, phase="F1", subject=subject, detail="")


def seqs(story: Story[Session]) -> list[int]:
    return [one.seq for one in promotion.candidates(story.state)]


def only(story: Story[Session]) -> Candidate:
    (candidate,) = promotion.candidates(story.state)
    return candidate


def approved(session: Session, seq: int = 1, **more: Any) -> Promotion:
    candidate = promotion.candidate_at(session, seq)
    return promotion.promote(session, candidate, more.pop("target", None), last_number=6, self_reviewed=False, **more)
