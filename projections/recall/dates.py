"""Dates and spans that a question names, in English, Italian and Greek: a window of time, or none.

Weeks begin on Monday. What has no year is the latest that has begun. The first time that a question names counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from domain.language import fold
from projections.recall import date_words as say
from projections.recall.named_times import DAY, Days, Point, count_of, has_no_year, moved, point_at

READ = 1_000  # characters of a question that are looked at
_SOME_DAY = datetime(2024, 5, 15, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to, not including, `end`; both aware, in UTC."""

    start: datetime
    end: datetime


def window_of(question: str, now: datetime, zone: tzinfo = UTC) -> Window | None:
    """The time a question asks about, seen from `now` (aware). None when it names none, or one that does not exist.

    Days begin at midnight in `zone`. Only the first 1,000 characters are read. `before` has no beginning: its window
    starts in the year 1; `since` ends with today.
    """
    try:
        return _window(fold(question[:READ]), now.astimezone(zone), zone)
    except (OverflowError, ValueError):  # a time outside the years 1 to 9999: there is none such
        return None


def names_a_time(question: str) -> bool:
    """Whether the question names a date or a span that there is."""
    return window_of(question, _SOME_DAY) is not None


def _window(text: str, now: datetime, zone: tzinfo) -> Window | None:
    if not _DIGIT.search(text) and say.TIME_WORDS.isdisjoint(_WORDS.findall(text)):
        return None
    for word in _WORD.finditer(text):
        hours = _HOURS.match(text, word.start())
        if hours:
            length = count_of(hours["count"]) * timedelta(**{f"{say.UNITS[hours['unit']]}s": 1})
            return Window(now.astimezone(UTC) - length, now.astimezone(UTC)) if length else None
        point = _time_at(text, word.start(), now.date())
        if point:
            return _in_utc(point.days, zone) if point.days else None
    return None


def _in_utc(days: Days, zone: tzinfo) -> Window | None:
    start, end = (_midnight(day, zone) for day in (days.start, days.end))
    return Window(start, end) if start < end else None


def _midnight(day: date, zone: tzinfo) -> datetime:
    midnight = datetime.combine(day, time(), zone)
    return midnight.replace(tzinfo=UTC) if day == date.min else midnight.astimezone(UTC)


def _time_at(text: str, start: int, today: date) -> Point | None:
    """What is named right here: two times, one that is open on a side, or one."""
    found = _day_to_day(text, start, today) or _one_to_other(text, start, today)
    if found:
        return found
    for lead, bounds in _OPEN:
        led = lead.match(text, start)
        point = led and point_at(text, led.end(), today, led=True)
        if point:
            return Point(bounds(point.days, today) if point.days else None, point.end)
    at = _AT.match(text, start)
    return (at and point_at(text, at.end(), today, led=True)) or point_at(text, start, today, led=False)


def _day_to_day(text: str, start: int, today: date) -> Point | None:
    """`between 1 and 15 March 2024`, `dal 1 al 15 marzo`, `1-15 March`: the first is of the second's month."""
    found = _DAYS.match(text, start)
    last = found and point_at(text[found.start("last") :], 0, today, led=True)
    if not found or not last:
        return None
    try:
        first = last.days and last.days.start.replace(day=int(found["first"]))
    except ValueError:
        first = None
    return Point(_from_to(first, last.days) if first and last.days else None, found.start("last") + last.end)


def _one_to_other(text: str, start: int, today: date) -> Point | None:
    """`from 2022 to 2023`, `between March and May 2024`, `από τη Δευτέρα έως την Τετάρτη`."""
    lead = _BETWEEN.match(text, start)
    one = lead and point_at(text, lead.end(), today, led=True)
    joint = one and _AND.match(text, one.end)
    other = joint and point_at(text, joint.end(), today, led=True)
    if not lead or not one or not other:
        return None
    if not one.days or not other.days:
        return Point(None, other.end)
    first = one.days
    if has_no_year(text[lead.end() : one.end]):  # it is the latest one that is not after the other
        years = other.days.start.year - first.start.year
        same_year = moved(first, years)
        first = same_year if same_year.start <= other.days.start else moved(first, years - 1)
    return Point(_from_to(first.start, other.days), other.end)


def _from_to(first: date, last: Days) -> Days | None:
    return Days(first, last.end) if first < last.end else None


def _since(days: Days, today: date) -> Days | None:
    return Days(days.start, today + DAY) if days.start <= today else None


def _before(days: Days, _: date) -> Days | None:
    return Days(date.min, days.start)


def _until(days: Days, _: date) -> Days | None:
    return Days(date.min, days.end)


def _after(days: Days, today: date) -> Days | None:
    return Days(days.end, today + DAY) if days.end <= today else None


def _lead(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){words}(?: |(?<='))")


_DIGIT, _WORD, _WORDS = re.compile("[0-9]"), re.compile(r"(?<!\w)\w"), re.compile(r"\w+")
_SHORT = say.either(*(form for form, unit in say.UNITS.items() if unit in ("hour", "minute")))
_HOURS = re.compile(
    rf"(?<!\w)(?:{say.AT} )?{say.ARTICLE}(?:{say.RECENT}|{say.FOR_NOW}) "
    rf"(?P<count>[0-9]{{1,4}}|{say.either(*say.COUNTS)})(?: |(?<='))(?P<unit>{_SHORT})(?!\w)"
)
_BETWEEN, _AND = _lead(say.BETWEEN), re.compile(rf" ?(?:{say.AND_TO})(?: |(?<=['-]))")
_DAYS = re.compile(
    rf"(?:(?<!\w){say.BETWEEN}(?: |(?<=')))?{say.ARTICLE}(?<![\w./-])(?P<first>[0-9]{{1,2}})(?:st|nd|rd|th|o)?"
    rf"(?: ?- ?| (?:{say.AND_TO})(?: |(?<='))){say.ARTICLE}(?P<last>[0-9]{{1,2}}(?:st|nd|rd|th|o)? (?:of )?"
    rf"(?:{'|'.join(re.escape(month) for month in say.MONTHS)})(?!\w))"
)
_OPEN: tuple[tuple[re.Pattern[str], Callable[[Days, date], Days | None]], ...] = (
    (_lead(say.SINCE), _since),
    (_lead(say.BEFORE), _before),
    (_lead(say.UNTIL), _until),
    (_lead(say.AFTER), _after),
)
_AT = re.compile(rf"(?<!\w)(?:(?:{say.AT}|{say.THE_YEAR})(?: |(?<=')))+")
