"""Temporal voice: what happened in the time a question names; without one, what something happened to lately."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from domain.decay import hours_between
from projections.recall.dates import Window
from projections.recall.question import Candidate, Question
from projections.recall.records import Source, latest

ADDED = 20  # records that the voice nominates
MONTH = 720.0  # hours after which 1/e is left of being recent


def nominated(
    db: sqlite3.Connection, sources: Sequence[Source], question: Question, window: Window | None
) -> list[Candidate]:
    """The records to which something happened last, in the window if there is one."""
    return [one for source in sources for one in latest(db, source, question, window, ADDED)]


def within(candidate: Candidate, window: Window) -> bool:
    """Whether it was last said, or began to hold, in the window."""
    times = (datetime.fromisoformat(candidate.active_at), datetime.fromisoformat(candidate.held_from))
    return any(window.start <= time < window.end for time in times)


def recency(candidate: Candidate, now: datetime) -> float:
    """1 for what was said just now, 1/e after a month of 30 days."""
    hours = math.floor(hours_between(datetime.fromisoformat(candidate.active_at), now))
    return math.exp(-max(0, hours) / MONTH)
