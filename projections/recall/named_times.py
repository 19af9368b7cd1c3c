"""The forms in which one time is named: `yesterday`, `lunedì scorso`, `τον Μάρτιο του 2024`, `2024-03-02`, `Q1 2024`.

All of them are whole days. The text is folded; `today` says what has no year or no date of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from domain.lexicon import FILLERS
from projections.recall import date_words as say

DAY = timedelta(days=1)
_FEW = {"minute": 1, "hour": 1, "day": 7, "week": 4, "month": 3, "quarter": 2, "year": 3}  # `the last days`
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days from `start` up to, not including, `end`."""

    start: date
    end: date


@dataclass(frozen=True, slots=True)
class Point:
    """A time as it is named. `days` is None for one that does not exist, as 31 February. `end`: where its words end."""

    days: Days | None
    end: int


def point_at(text: str, start: int, today: date, *, led: bool) -> Point | None:
    """The time that is named right here. `led`: after a word that leads to a time, so that `2023` may be a year."""
    numbered = text[start : start + 1].isdigit() and _VERSION_BEFORE.search(text[max(0, start - 12) : start])
    if numbered or (start and text[start - 1] in "._-/#+"):
        return None
    for form, read, needs_lead in _FORMS:
        found = form.match(text, start) if led or not needs_lead else None
        if found and _stands(text, found, led):
            return Point(read(found, today), found.end())
    return None


def has_no_year(said: str) -> bool:
    """Whether these words are a month, or a day of one, of any year."""
    return bool(_ANY_MONTH.search(said)) and not _ANY_YEAR.search(said)


def moved(days: Days, years: int) -> Days:
    """The same days some years later; 29 February becomes the 28th where there is none."""
    return Days(_months_later(days.start, 12 * years), _months_later(days.end, 12 * years))


def count_of(said: str) -> int:
    return int(said) if said.isdigit() else say.COUNTS[said]


# -- whether these words are meant as a time -------------------------------------------------------------------------


def _stands(text: str, found: re.Match[str], led: bool) -> bool:
    said = found.groupdict()
    if found.re is _MONTH and said["month"] in say.DOUBTFUL_MONTHS:
        return led or bool(said["year"] or said["last"] or said["last_after"])
    if found.re is _WEEKDAY and said["weekday"] in say.ORDINAL_WEEKDAYS and not (said["last"] or said["last_after"]):
        following = re.match(r" ?([^\W\d_]+)", text[found.end() : found.end() + 30])
        return following is None or following[1] in FILLERS
    return True


# -- reading a form --------------------------------------------------------------------------------------------------

Read = Callable[[re.Match[str], date], Days | None]


def _numbers(found: re.Match[str], _: date) -> Days | None:
    year = int(found["year"])
    return _day(year + 2000 if year < 100 else year, int(found["month"]), int(found["day"]))


def _iso_month(found: re.Match[str], _: date) -> Days | None:
    month = int(found["month"])
    return _period("month", date(int(found["year"]), month, 1)) if 1 <= month <= 12 else None


def _iso_week(found: re.Match[str], _: date) -> Days | None:
    try:
        return _days(date.fromisocalendar(int(found["year"]), int(found["week"]), 1), 7)
    except ValueError:
        return None


def _day_of_month(found: re.Match[str], today: date) -> Days | None:
    month, day, year = say.MONTHS[found["month"]], int(found["day"]), _year_said(found, today)
    if year:
        return _day(year, month, day)
    for back in range(9):  # 29 February may be some years back
        one = _day(today.year - back, month, day)
        if one and one.start <= today:
            return one
    return None


def _month(found: re.Match[str], today: date) -> Days | None:
    month = say.MONTHS[found["month"]]
    return _period("month", date(_year_said(found, today) or _latest(found, month, 1, today), month, 1))


def _season(found: re.Match[str], today: date) -> Days | None:
    """Meteorological: spring is March to May; the winter of a year begins in its December."""
    month = say.SEASONS[found["season"]]
    start = date(_year_said(found, today) or _latest(found, month, 3, today), month, 1)
    return Days(start, _months_later(start, 3))


def _quarter(found: re.Match[str], today: date) -> Days | None:
    number = int(found["q"]) if found["q"] else say.ORDINALS[found["ordinal"]]
    month = 3 * number - 2
    return _period("quarter", date(_year_said(found, today) or _latest(found, month, 3, today), month, 1))


def _latest(found: re.Match[str], month: int, months: int, today: date) -> int:
    """The year of the latest one that has begun, or of the latest that is over when the words say `last`."""
    for year in (today.year, today.year - 1):
        start = date(year, month, 1)
        if start <= today and (not _is_last(found) or _months_later(start, months) <= today):
            return year
    return today.year - 2  # in January and February the last winter that is over began the year before last


def _weekday(found: re.Match[str], today: date) -> Days | None:
    monday, weekday = today - today.weekday() * DAY, say.WEEKDAYS[found["weekday"]]
    if found["period"]:
        return _days(monday + (weekday - 7) * DAY, 1)  # Monday of last week
    if found["this"]:
        return _days(monday + weekday * DAY, 1)
    back = (today.weekday() - weekday) % 7
    return _days(today - (back or (7 if _is_last(found) else 0)) * DAY, 1)


def _year(found: re.Match[str], _: date) -> Days | None:
    return _period("year", date(int(found["year"]), 1, 1))


def _named_day(found: re.Match[str], today: date) -> Days | None:
    return _days(today + say.DAYS_FROM_TODAY[found["named"]] * DAY, 1)


def _recent(found: re.Match[str], today: date) -> Days | None:
    """The last 10 days: those before today, and today."""
    unit, said = say.UNITS[found["unit"]], found.groupdict()
    count = count_of(said["count"]) if said.get("count") else 1
    return Days(_back(today, unit, count), today + DAY) if count else None


def _some(found: re.Match[str], today: date) -> Days | None:
    unit = say.UNITS[found["unit"]]
    return Days(_back(today, unit, _FEW[unit]), today + DAY)


def _ago(found: re.Match[str], today: date) -> Days | None:
    """Two weeks ago is a whole week, three months ago a whole month."""
    unit, count = say.UNITS[found["unit"]], count_of(found["count"])
    return _period(unit, _back(today, unit, count)) if count else None


def _the_weekend(_: re.Match[str], today: date) -> Days | None:
    this = _period("weekend", today)
    return this if this.start <= today else _period("weekend", today - 7 * DAY)


def _period_before(unit: str, back: int) -> Read:
    step = "week" if unit == "weekend" else unit
    return lambda _, today: _period(unit, _back(today, step, back))


# -- days ------------------------------------------------------------------------------------------------------------


def _period(unit: str, day: date) -> Days:
    """The whole day, week, weekend, month, quarter or year that a day lies in."""
    if unit == "week":
        return _days(day - day.weekday() * DAY, 7)
    if unit == "weekend":
        return _days(day + (5 - day.weekday()) * DAY, 2)
    if unit in _MONTHS_OF:
        months = _MONTHS_OF[unit]
        start = date(day.year, day.month - (day.month - 1) % months, 1)
        return Days(start, _months_later(start, months))
    return _days(day, 1)


def _back(today: date, unit: str, count: int) -> date:
    if unit in _MONTHS_OF:
        return _months_later(today, -count * _MONTHS_OF[unit])
    hours = {"minute": 0, "hour": 1, "day": 24, "week": 168}[unit] * count
    return today - (hours // 24) * DAY


def _months_later(day: date, months: int) -> date:
    """The same day of another month, or its last day where it is shorter. OverflowError beyond the calendar."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for number in range(day.day, day.day - 4, -1):
        if found := _day(year, month + 1, number):
            return found.start
    raise OverflowError(f"there is no year {year}")


def _days(start: date, count: int) -> Days:
    return Days(start, start + count * DAY)


def _day(year: int, month: int, day: int) -> Days | None:
    try:
        return _days(date(year, month, day), 1)
    except ValueError:
        return None


def _year_said(found: re.Match[str], today: date) -> int:
    said = found.groupdict()
    if said.get("year"):
        return int(said["year"])
    if said.get("that_year"):
        return today.year - 1
    return today.year if said.get("this_year") else 0


def _is_last(found: re.Match[str]) -> bool:
    said = found.groupdict()
    return bool(said.get("last") or said.get("last_after"))


# -- forms -----------------------------------------------------------------------------------------------------------


def _one_of(name: str, forms: Iterable[str]) -> str:
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    return f"(?P<{name}>{'|'.join(re.escape(form) for form in longest_first)})"


_END = r"(?!\w)"
_NUMBER_END = r"(?!\w|[.:/-][0-9])"
_FOUR = "(?P<year>(?:19|20)[0-9]{2})"
_SPACE = "(?: |(?<='))"  # `un'ora`
_ITS_YEAR = (
    f"(?:,? (?:{say.OF_WHAT}{_SPACE})?{say.ARTICLE}(?:{_FOUR}{_NUMBER_END}|"
    f"(?:(?P<that_year>{say.PERIODS['year', 1]})|(?P<this_year>{say.PERIODS['year', 0]})){_END}))"
)
_COUNT = f"(?:{_one_of('count', say.COUNTS)[:-1]}|[0-9]{{1,4}}))"
_UNIT = _one_of("unit", say.UNITS)
_MONTH_NAME = _one_of("month", say.MONTHS)
_SEASON = _one_of("season", say.SEASONS)
_DAY_NUMBER = "(?P<day>[0-9]{1,2})(?:st|nd|rd|th|[oa°ηα])?"
_QUARTER = f"(?:q(?P<q>[1-4])|{_one_of('ordinal', say.ORDINALS)} {say.QUARTER})"
_LAST, _LAST_AFTER = f"(?P<last>{say.LAST}) ", f" (?P<last_after>{say.LAST})"
_NOT_OF = f"{_END}(?! {say.OF_WHAT}{_SPACE})"
_LATELY = f"(?:{say.RECENT}|{say.FOR_NOW}) "

_ANY_YEAR = re.compile(rf"(?<!\w)(?:(?:19|20)[0-9]{{2}}|{say.PERIODS['year', 1]}|{say.PERIODS['year', 0]}){_END}")
_ANY_MONTH = re.compile(rf"(?<!\w){_MONTH_NAME}{_END}")
_VERSION_BEFORE = re.compile(rf"(?<!\w){say.VERSION} $")


def _form(pattern: str, end: str = _END) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){say.ARTICLE}{pattern}{end}")


_MONTH = _form(f"(?:{_LAST})?{_MONTH_NAME}{_END}(?:{_LAST_AFTER})?{_ITS_YEAR}?")
_WEEKDAY = _form(
    f"(?:{_LAST}|(?P<this>{say.THIS}) )?{_one_of('weekday', say.WEEKDAYS)}(?:{_LAST_AFTER})?{_END}"
    f"(?: (?:{say.OF_WHAT}{_SPACE})?{say.ARTICLE}(?P<period>{say.PERIODS['week', 1]}))?"
)
# The first form that is found counts. The third value: only after a word that leads to a time.
_FORMS: tuple[tuple[re.Pattern[str], Read, bool], ...] = (
    (
        _form("(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})", rf"(?=t[0-9]|{_NUMBER_END})"),
        _numbers,
        False,
    ),
    (_form(f"{_FOUR}/(?P<month>[0-9]{{1,2}})/(?P<day>[0-9]{{1,2}})", _NUMBER_END), _numbers, False),
    (
        _form(f"(?P<day>[0-9]{{1,2}})(?P<sign>[/.-])(?P<month>[0-9]{{1,2}})(?P=sign){_FOUR}", _NUMBER_END),
        _numbers,
        False,
    ),
    (_form("(?P<day>[0-9]{1,2})/(?P<month>[0-9]{1,2})/(?P<year>[0-9]{2})", _NUMBER_END), _numbers, False),
    (_form(f"{_FOUR}-w(?P<week>[0-9]{{2}})"), _iso_week, False),
    (_form(f"{_FOUR}-(?P<month>[0-9]{{2}})", _NUMBER_END), _iso_month, False),
    (_form(f"{_DAY_NUMBER} (?:{say.OF_WHAT} )?{say.ARTICLE}{_MONTH_NAME}{_END}{_ITS_YEAR}?"), _day_of_month, False),
    (_form(f"{_MONTH_NAME} (?:the )?{_DAY_NUMBER}{_NUMBER_END}{_ITS_YEAR}?"), _day_of_month, False),
    (_MONTH, _month, False),
    (_form(f"{say.AGO_FIRST} {_COUNT}{_SPACE}{_UNIT}"), _ago, False),
    (_form(f"{_COUNT}{_SPACE}{_UNIT} {say.AGO}"), _ago, False),
    (_form(f"{_LATELY}{_COUNT}{_SPACE}{_UNIT}"), _recent, False),
    (_form(f"{say.SOME} {_one_of('unit', say.DAYS_OR_MORE)}"), _some, False),
    (_form(f"{say.RECENT_ALONE}{_SPACE}{_UNIT}", _NOT_OF), _recent, False),
    (_form(_one_of("named", say.DAYS_FROM_TODAY)), _named_day, False),
    *((_form(words, _NOT_OF), _period_before(*period), False) for period, words in say.PERIODS.items()),
    (re.compile(rf"(?<!\w){say.THE_WEEKEND}{_END}"), _the_weekend, False),
    (_WEEKDAY, _weekday, False),
    (_form(f"{_FOUR}[ -]{_QUARTER}"), _quarter, False),
    (_form(f"{_QUARTER}{_ITS_YEAR}"), _quarter, False),
    (_form(_QUARTER), _quarter, True),
    (_form(f"{_SEASON}{_ITS_YEAR}"), _season, False),
    (_form(f"{_LAST}{_SEASON}"), _season, False),
    (_form(f"{_SEASON}{_LAST_AFTER}"), _season, False),
    (_form(_FOUR, rf"{_NUMBER_END}(?!%| ?%| {say.COUNTED}{_END})"), _year, True),
)
