"""Small charts as plain numbers for inline SVG: each has a table beside it, which says the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.decay import Curve, hours_between, recall_factor
from domain.event import Envelope, iso_utc
from domain.topic_events import FactMentioned, FactMentionWithdrawn, FactProposed
from projections.fact_queries import FactRow

WIDTH, HEIGHT = 600.0, 140.0
STEPS = 60  # points of a curve


@dataclass(frozen=True, slots=True)
class Bar:
    """A day: how many events, and where its bar stands."""

    day: str
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    bars: tuple[Bar, ...]
    most: int
    total: int
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which the confidence changed. `cause` in words; `x`, `y`: where its dot stands."""

    at: str
    confidence: float
    cause: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Trend:
    """`steps`: points of the line of confidence; `faded`: of what recall makes of it, as it grows old."""

    moments: tuple[Moment, ...]
    steps: str
    faded: str
    now: float
    until: str
    width: float = WIDTH
    height: float = HEIGHT


def bars(counts: Mapping[str, int], today: datetime, days: int = 30) -> Bars:
    """Events a day over the last days, oldest first. `counts`: by ISO date."""
    dates = [(today - timedelta(days=days - 1 - number)).date().isoformat() for number in range(days)]
    found = [counts.get(one, 0) for one in dates]
    most = max([*found, 1])
    step = WIDTH / days
    made = []
    for number, (day, count) in enumerate(zip(dates, found, strict=True)):
        tall = round(count / most * (HEIGHT - 4), 1) if count else 0.0
        tall = max(tall, 2.0) if count else 0.0
        made.append(Bar(day, count, round(number * step + 1, 1), round(HEIGHT - tall, 1), round(step - 2, 1), tall))
    return Bars(tuple(made), most, sum(found))


def trend(fact: FactRow, events: Sequence[Envelope], now: datetime, curves: Mapping[str, Curve]) -> Trend | None:
    """How sure the fact was over time, until now or until it ended; None when nothing of it is known."""
    changes = [found for envelope in events if (found := _change(envelope)) is not None]
    if not changes:
        return None
    end = datetime.fromisoformat(fact.held_until) if fact.held_until and not fact.live else now
    start = changes[0][0]
    end = max(end, changes[-1][0], start + timedelta(minutes=1))
    span = (end - start).total_seconds()

    def x(at: datetime) -> float:
        return round((at - start).total_seconds() / span * WIDTH, 1)

    moments = tuple(Moment(iso_utc(at), value, cause, x(at), _y(value)) for at, value, cause, _ in changes)
    points: list[tuple[float, float]] = []
    for one in moments:
        if points:
            points.append((one.x, points[-1][1]))
        points.append((one.x, one.y))
    points.append((WIDTH, points[-1][1]))
    faded: list[tuple[float, float]] = []
    for number in range(STEPS + 1):
        at = start + timedelta(seconds=span * number / STEPS)
        value = next(one for moment, one, _, _ in reversed(changes) if moment <= at or moment == start)
        confirmed = max((moment for moment, _, _, confirms in changes if confirms and moment <= at), default=start)
        left = value * recall_factor(fact.memory_type, hours_between(confirmed, at), curves)
        faded.append((x(at), _y(left)))
    last = next(value for _, value, _, _ in reversed(changes))
    return Trend(moments, _path(points), _path(faded), last, iso_utc(end))


def _change(envelope: Envelope) -> tuple[datetime, float, str, bool] | None:
    match envelope.event:
        case FactProposed() as event:
            return envelope.at, event.confidence, f"said by {envelope.actor}", True
        case FactMentioned() as event:
            echoed = " after being shown it, which confirms nothing" if event.echoed else ""
            return envelope.at, event.confidence, f"said again by {envelope.actor}{echoed}", not event.echoed
        case FactMentionWithdrawn() as event:
            return envelope.at, event.confidence, "a mention was taken back", False
        case _:
            return None


def _y(share: float) -> float:
    return round((1 - min(max(share, 0.0), 1.0)) * (HEIGHT - 8) + 4, 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
