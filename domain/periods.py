"""Periods that a statement is limited to: `in 2020`, `dal 2024`, `a marzo 2024`, «το 2023», `Q3 2024`, `on 2024-03-01`.

Read from folded text (see `domain.language.fold`).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from domain.language import words

EVER = 10**7  # a day number beyond the last date

_MONTH_NAMES = (
    "january jan gennaio ιανουάριος ιανουάριο ιανουαρίου",
    "february feb febbraio φεβρουάριος φεβρουάριο φεβρουαρίου",
    "march mar marzo μάρτιος μάρτιο μαρτίου",
    "april apr aprile απρίλιος απρίλιο απριλίου",
    "may maggio μάιος μάιο μαΐου",
    "june jun giugno ιούνιος ιούνιο ιουνίου",
    "july jul luglio ιούλιος ιούλιο ιουλίου",
    "august aug agosto αύγουστος αύγουστο αυγούστου",
    "september sept sep settembre σεπτέμβριος σεπτέμβριο σεπτεμβρίου",
    "october oct ottobre οκτώβριος οκτώβριο οκτωβρίου",
    "november nov novembre νοέμβριος νοέμβριο νοεμβρίου",
    "december dec dicembre δεκέμβριος δεκέμβριο δεκεμβρίου",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in words(names)}
_QUARTERS = {
    word: number
    for number, forms in enumerate(
        ("first primo πρώτο", "second secondo δεύτερο", "third terzo τρίτο", "fourth last quarto τέταρτο"), 1
    )
    for word in words(forms)
}


def _any(*lists: str) -> str:
    """The words as one alternative of a pattern, longest first; `_` stands for a space inside one."""
    folded = {" ".join(words(entry.replace("_", " "))) for text in lists for entry in text.split()}
    return "|".join(re.escape(word) for word in sorted(folded, key=len, reverse=True))


_SINCE = _any(
    "since from after starting_from as_of dal dall' dalla dallo dopo_il dopo a_partire_dal από_το από_τον από_την από "
    "μετά_το μετά"
)
_UNTIL = _any(
    "until till through up_to before by fino_al fino_a entro_il entro prima_del μέχρι_το μέχρι έως_το έως πριν_το πριν"
)
_WITHIN = _any(
    "in_the_year in during for_the for on in_the nel nell'anno nell' nella durante_il del dell' a ad al all' il "
    "in_data κατά_το το τον την του στις στα στο στον στην για_το"
)
_YEAR = r"(?:19|20)\d\d"
_MONTH = "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
_NTH = "|".join(sorted(map(re.escape, _QUARTERS), key=len, reverse=True))
_OF = r"(?:of |del |di |dell'anno |του )?"


def _when(mark: str) -> str:
    """A pattern for one date of any precision; `mark` keeps the group names of two dates apart."""
    return (
        rf"(?:(?P<iso{mark}>{_YEAR}-\d\d(?:-\d\d)?)"
        rf"|(?P<day{mark}>\d{{1,2}}) (?P<daymonth{mark}>{_MONTH}),? (?P<dayyear{mark}>{_YEAR})"
        rf"|(?P<usmonth{mark}>{_MONTH}) (?P<usday{mark}>\d{{1,2}}),? (?P<usyear{mark}>{_YEAR})"
        rf"|(?P<month{mark}>{_MONTH}) {_OF}(?P<monthyear{mark}>{_YEAR})"
        rf"|[qt](?P<quarter{mark}>[1-4])[ /-]{_OF}(?P<quarteryear{mark}>{_YEAR})"
        rf"|(?P<yearfirst{mark}>{_YEAR})[ -]?[qt](?P<quarterlast{mark}>[1-4])"
        rf"|(?P<nth{mark}>{_NTH}) (?:quarter|trimestre|τριμηνο) {_OF}(?P<nthyear{mark}>{_YEAR})"
        rf"|h(?P<half{mark}>[12]) (?P<halfyear{mark}>{_YEAR})"
        rf"|(?P<year{mark}>{_YEAR})"
        rf"|(?P<bare{mark}>{_MONTH}))"
    )


PERIOD = re.compile(
    r"(?<![\w.])(?:"
    rf"(?:(?:from|between|dal|tra il|fra il|απο το|απο|μεταξυ|in|nel|το)\s)?{_when('a')}"
    rf"(?:\s(?:to|and|until|through|al|e il|e|εωσ το|εωσ|μεχρι το|μεχρι|ωσ)\s|\s?-\s?){_when('b')}"
    rf"|(?:(?:(?P<since>{_SINCE})|(?P<until>{_UNTIL})|(?P<within>{_WITHIN}))(?:\s|(?<=')))?{_when('c')}"
    r")(?![\w%€$]|[.,:/-]\d)"
)


_SIGNS = ("19", "20", *_MONTHS)  # one of them is in every period


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """From the first to the last day, both included, as proleptic ordinals; `yearless` for a month of every year."""

    first: int
    last: int
    yearless: bool = False

    def apart_from(self, other: Period) -> bool:
        return self.yearless is other.yearless and (self.last < other.first or other.last < self.first)


def periods_in(text: str) -> Iterator[re.Match[str]]:
    """Where a folded text may name a period. Most name none: to see that costs far less than the pattern does."""
    return PERIOD.finditer(text) if any(sign in text for sign in _SIGNS) else iter(())


def period_of(found: re.Match[str]) -> Period | None:
    """What a match of PERIOD says; None when it is only a number, a month's name, or no date of the calendar."""
    if found["yeara"] or _given(found, "a"):
        first, last = _span(found, "a"), _span(found, "b")
        if first is None or last is None or first.yearless or last.yearless or last.last < first.first:
            return None
        return Period(first.first, last.last)
    span = _span(found, "c")
    placed = found["since"] or found["until"] or found["within"]
    if span is None or ((found["yearc"] or found["barec"]) and not placed):
        return None
    if found["since"] and not span.yearless:
        return Period(span.first, EVER)
    if found["until"] and not span.yearless:
        return Period(0, span.last)
    return span


def _given(found: re.Match[str], mark: str) -> bool:
    names = ("iso", "daymonth", "usmonth", "month", "quarter", "yearfirst", "nth", "half", "year", "bare")
    return any(found[name + mark] for name in names)


def _span(found: re.Match[str], mark: str) -> Period | None:
    def number(name: str) -> int:
        return int(found[name + mark])

    if iso := found["iso" + mark]:
        parts = [int(part) for part in iso.split("-")]
        return _days(parts[0], parts[1], parts[2]) if len(parts) == 3 else _months(parts[0], parts[1], 1)
    if name := found["daymonth" + mark]:
        return _days(number("dayyear"), _MONTHS[name], number("day"))
    if name := found["usmonth" + mark]:
        return _days(number("usyear"), _MONTHS[name], number("usday"))
    if name := found["month" + mark]:
        return _months(number("monthyear"), _MONTHS[name], 1)
    if found["quarter" + mark]:
        return _months(number("quarteryear"), 3 * number("quarter") - 2, 3)
    if found["yearfirst" + mark]:
        return _months(number("yearfirst"), 3 * number("quarterlast") - 2, 3)
    if name := found["nth" + mark]:
        return _months(number("nthyear"), 3 * _QUARTERS[name] - 2, 3)
    if found["half" + mark]:
        return _months(number("halfyear"), 6 * number("half") - 5, 6)
    if found["year" + mark]:
        return _months(number("year"), 1, 12)
    month = _months(1, _MONTHS[found["bare" + mark]], 1)
    return Period(month.first, month.last, yearless=True) if month else None


def _days(year: int, month: int, day: int) -> Period | None:
    if not (1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    return Period(date(year, month, day).toordinal(), date(year, month, day).toordinal())


def _months(year: int, month: int, count: int) -> Period | None:
    last = month + count - 1
    if not (month >= 1 and last <= 12):
        return None
    return Period(date(year, month, 1).toordinal(), date(year, last, monthrange(year, last)[1]).toordinal())
