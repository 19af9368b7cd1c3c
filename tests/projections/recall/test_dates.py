"""The dates and spans that questions name, in three languages, asked on Wednesday 25 November 2026."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.recall.dates import Window, names_a_time, window_of

NOW = datetime(2026, 11, 25, 10, 30, tzinfo=UTC)
TODAY = date(2026, 11, 25)


def days(first: str, last: str = "") -> tuple[str, str]:
    """From the first day to the last, both of them within; the first alone is one day."""
    return first, (date.fromisoformat(last or first) + timedelta(days=1)).isoformat()


LAST_WEEK, THIS_WEEK = days("2026-11-16", "2026-11-22"), days("2026-11-23", "2026-11-29")
LAST_MONTH, THIS_MONTH = days("2026-10-01", "2026-10-31"), days("2026-11-01", "2026-11-30")
LAST_YEAR, THIS_YEAR = days("2025-01-01", "2025-12-31"), days("2026-01-01", "2026-12-31")
MARCH_2024, MARCH_2026 = days("2024-03-01", "2024-03-31"), days("2026-03-01", "2026-03-31")
Q1_2024, YEAR_2023 = days("2024-01-01", "2024-03-31"), days("2023-01-01", "2023-12-31")
HALF_MARCH = days("2024-03-01", "2024-03-15")
LAST_TEN = days("2026-11-15", "2026-11-25")
SECOND_OF_MARCH = days("2024-03-02")

ENGLISH = {
    "what happened yesterday in the deploy?": days("2026-11-24"),
    "the day before yesterday": days("2026-11-23"),
    "what did we decide TODAY?": days("2026-11-25"),
    "what broke last night": days("2026-11-24"),
    "What changed last week?": LAST_WEEK,
    "the previous week's decisions": LAST_WEEK,
    "this week": THIS_WEEK,
    "decisions of this month": THIS_MONTH,
    "last month's decisions": LAST_MONTH,
    "this year": THIS_YEAR,
    "what did we say of the release last week": LAST_WEEK,
    "who made the build this year?": THIS_YEAR,
    "what was decided last year about backups": LAST_YEAR,
    "two days ago": days("2026-11-23"),
    "2 days ago": days("2026-11-23"),
    "a week ago": days("2026-11-16", "2026-11-22"),
    "three months ago": days("2026-08-01", "2026-08-31"),
    "a couple of years ago": days("2024-01-01", "2024-12-31"),
    "in the last 10 days": LAST_TEN,
    "over the past ten days": LAST_TEN,
    "the past week": days("2026-11-18", "2026-11-25"),
    "in the last 3 months": days("2026-08-25", "2026-11-25"),
    "decisions made in March 2024": MARCH_2024,
    "March of 2024": MARCH_2024,
    "in March": MARCH_2026,
    "what did we decide in December?": days("2025-12-01", "2025-12-31"),
    "in November": THIS_MONTH,
    "last November": days("2025-11-01", "2025-11-30"),
    "in May": days("2026-05-01", "2026-05-31"),
    "March of last year": days("2025-03-01", "2025-03-31"),
    "on 2 March 2024": SECOND_OF_MARCH,
    "March 2nd, 2024": SECOND_OF_MARCH,
    "the 2nd of March 2024": SECOND_OF_MARCH,
    "on December 24": days("2025-12-24"),
    "since Monday": days("2026-11-23", "2026-11-25"),
    "on Monday": days("2026-11-23"),
    "on Friday": days("2026-11-20"),
    "last Wednesday": days("2026-11-18"),
    "Monday of last week": days("2026-11-16"),
    "since last month": days("2026-10-01", "2026-11-25"),
    "since 2023": days("2023-01-01", "2026-11-25"),
    "before 2024-03-02": ("0001-01-01", "2024-03-02"),
    "until 2 March 2024": ("0001-01-01", "2024-03-03"),
    "after 2024-03-02": days("2024-03-03", "2026-11-25"),
    "between 1 and 15 March 2024": HALF_MARCH,
    "from 1 to 15 March 2024": HALF_MARCH,
    "1-15 March 2024": HALF_MARCH,
    "between 1 March 2024 and 15 March 2024": HALF_MARCH,
    "between March 1 and March 15 2024": HALF_MARCH,
    "between March and May 2024": days("2024-03-01", "2024-05-31"),
    "between December and January 2024": days("2023-12-01", "2024-01-31"),
    "from 2022 to 2023": days("2022-01-01", "2023-12-31"),
    "between 2024-03-01 and 2024-03-15": HALF_MARCH,
    "at 2024-03-02": SECOND_OF_MARCH,
    "(2024-03-02)": SECOND_OF_MARCH,
    "decided 2024-03-02T10:00:00Z": SECOND_OF_MARCH,
    "2/3/2024": SECOND_OF_MARCH,
    "02.03.2024.": SECOND_OF_MARCH,
    "2024/3/2": SECOND_OF_MARCH,
    "02/03/24": SECOND_OF_MARCH,
    "2024-03": MARCH_2024,
    "2024-W10": days("2024-03-04", "2024-03-10"),
    "Q1 2024": Q1_2024,
    "2024 Q1": Q1_2024,
    "the first quarter of 2024": Q1_2024,
    "in Q1": days("2026-01-01", "2026-03-31"),
    "last quarter": days("2026-07-01", "2026-09-30"),
    "in 2023": YEAR_2023,
    "the year 2023": YEAR_2023,
    "last weekend": days("2026-11-21", "2026-11-22"),
    "over the weekend": days("2026-11-21", "2026-11-22"),
    "summer 2023": days("2023-06-01", "2023-08-31"),
    "last winter": days("2025-12-01", "2026-02-28"),
    "29 February": days("2024-02-29"),
    "29 February 2024": days("2024-02-29"),
}
ITALIAN = {
    "cosa è successo ieri?": days("2026-11-24"),
    "L’ALTRO IERI": days("2026-11-23"),
    "le decisioni di oggi": days("2026-11-25"),
    "cosa è cambiato la settimana scorsa?": LAST_WEEK,
    "cosa abbiamo deciso la scorsa settimana": LAST_WEEK,
    "questa settimana": THIS_WEEK,
    "il mese scorso": LAST_MONTH,
    "questo mese": THIS_MONTH,
    "l'anno scorso": LAST_YEAR,
    "le scelte dell’anno scorso": LAST_YEAR,
    "quest'anno": THIS_YEAR,
    "3 giorni fa": days("2026-11-22"),
    "tre giorni fa": days("2026-11-22"),
    "una settimana fa": LAST_WEEK,
    "un mese fa": LAST_MONTH,
    "negli ultimi 10 giorni": LAST_TEN,
    "negli ultimi dieci giorni": LAST_TEN,
    "negli ultimi giorni": days("2026-11-18", "2026-11-25"),
    "nell'ultima settimana": days("2026-11-18", "2026-11-25"),
    "le decisioni prese a marzo 2024": MARCH_2024,
    "nel marzo del 2024": MARCH_2024,
    "a marzo": MARCH_2026,
    "a marzo dell'anno scorso": days("2025-03-01", "2025-03-31"),
    "il 2 marzo 2024": SECOND_OF_MARCH,
    "il 2/3/2024": SECOND_OF_MARCH,
    "lunedì": days("2026-11-23"),
    "da lunedi": days("2026-11-23", "2026-11-25"),
    "dal 2 marzo 2024": days("2024-03-02", "2026-11-25"),
    "mercoledì scorso": days("2026-11-18"),
    "prima del 2 marzo 2024": ("0001-01-01", "2024-03-02"),
    "fino al 2 marzo 2024": ("0001-01-01", "2024-03-03"),
    "dopo il 2 marzo 2024": days("2024-03-03", "2026-11-25"),
    "tra l'1 e il 15 marzo 2024": HALF_MARCH,
    "dal 1º al 15 marzo 2024": HALF_MARCH,
    "da marzo a maggio 2024": days("2024-03-01", "2024-05-31"),
    "primo trimestre 2024": Q1_2024,
    "nel primo trimestre del 2024": Q1_2024,
    "il trimestre scorso": days("2026-07-01", "2026-09-30"),
    "nel 2023": YEAR_2023,
    "dal 1947 al 1967, quanto è aumentato?": days("1947-01-01", "1967-12-31"),
    "lo scorso fine settimana": days("2026-11-21", "2026-11-22"),
    "l'estate scorsa": days("2026-06-01", "2026-08-31"),
    "estate 2023": days("2023-06-01", "2023-08-31"),
}
GREEK = {
    "τι έγινε χθες;": days("2026-11-24"),
    "προχθές": days("2026-11-23"),
    "ΣΗΜΕΡΑ": days("2026-11-25"),
    "τι άλλαξε την περασμένη εβδομάδα": LAST_WEEK,
    "ΤΗΝ ΠΕΡΑΣΜΕΝΗ ΕΒΔΟΜΑΔΑ": LAST_WEEK,
    "την προηγουμενη εβδομαδα": LAST_WEEK,
    "αυτή την εβδομάδα": THIS_WEEK,
    "τον περασμένο μήνα": LAST_MONTH,
    "αυτόν τον μήνα": THIS_MONTH,
    "τι αποφασίσαμε πέρυσι": LAST_YEAR,
    "πέρσι": LAST_YEAR,
    "φέτος": THIS_YEAR,
    "πριν από δύο μέρες": days("2026-11-23"),
    "πριν 3 ημέρες": days("2026-11-22"),
    "πριν από έναν μήνα": LAST_MONTH,
    "τις τελευταίες 10 μέρες": LAST_TEN,
    "τις τελευταίες δέκα ημέρες": LAST_TEN,
    "τον τελευταίο μήνα": days("2026-10-25", "2026-11-25"),
    "αποφάσεις τον Μάρτιο του 2024": MARCH_2024,
    "τον Μάρτιο": MARCH_2026,
    "ΜΑΡΤΙΟΣ 2024": MARCH_2024,
    "στις 2 Μαρτίου 2024": SECOND_OF_MARCH,
    "στις 2/3/2024": SECOND_OF_MARCH,
    "από τη Δευτέρα": days("2026-11-23", "2026-11-25"),
    "τι έγινε την Τρίτη στο deploy;": days("2026-11-24"),
    "την περασμένη Τετάρτη": days("2026-11-18"),
    "το Σάββατο": days("2026-11-21"),
    "πριν τις 2 Μαρτίου 2024": ("0001-01-01", "2024-03-02"),
    "μέχρι τις 2 Μαρτίου 2024": ("0001-01-01", "2024-03-03"),
    "μετά τις 2 Μαρτίου 2024": days("2024-03-03", "2026-11-25"),
    "μεταξύ 1 και 15 Μαρτίου 2024": HALF_MARCH,
    "από 1 έως 15 Μαρτίου 2024": HALF_MARCH,
    "από τον Μάρτιο μέχρι τον Μάιο του 2024": days("2024-03-01", "2024-05-31"),
    "πρώτο τρίμηνο του 2024": Q1_2024,
    "το 2023": YEAR_2023,
    "Πόσα interceptions είχε η άμυνα το 2015;": days("2015-01-01", "2015-12-31"),
    "το περασμένο σαββατοκύριακο": days("2026-11-21", "2026-11-22"),
    "το περασμένο καλοκαίρι": days("2026-06-01", "2026-08-31"),
}
NO_TIME = (
    "",
    "  \n",
    "🦉",
    "first week of the contract",
    "the last week of the contract",
    "l'ultima settimana del contratto",
    "302 days",
    "within 30 days",
    "version 2.2024 of the schema",
    "version 2.3.2024",
    "release 2024-03-02",
    "v2024.3.2",
    "2024",
    "port 2024 is closed",
    "2023 rows",
    "in 2023 rows",
    "over 2000 users",
    "table_2024_03",
    "10.0.2.15",
    "1/2",
    "the last name of the patient",
    "May I use tabs?",
    "we may change it",
    "31 February 2024",
    "30/2/2024",
    "2024-13-01",
    "2024-02-30",
    "29 February 2023",
    "dal 20 al 31 febbraio 2024",
    "31 Φεβρουαρίου",
    "2024-W60",
    "la seconda regola",
    "η τρίτη έκδοση",
    "την τρίτη έκδοση",
    "δεύτερη εκτέλεση",
    "0 days ago",
    "9999 years ago",
    "since 2099",
    "between 15 and 1 March 2024",
    "spring boot",
    "how to fall back",
    "le 3 ore di attesa",
    "数据库缓存",
)  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), [*ENGLISH.items(), *ITALIAN.items(), *GREEK.items()])
def test_a_time_is_read_as_it_is_meant(question: str, expected: tuple[str, str]) -> None:
    found = window_of(question, NOW)
    assert found is not None
    assert (found.start.date().isoformat(), found.end.date().isoformat()) == expected
    assert all((at.tzinfo, at.hour, at.minute, at.second) == (UTC, 0, 0, 0) for at in (found.start, found.end))


@pytest.mark.parametrize("question", NO_TIME)
def test_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert window_of(question, NOW) is None


def test_hours_end_now() -> None:
    for question in ("in the last 24 hours", "nelle ultime 24 ore", "τις τελευταίες 24 ώρες"):
        assert window_of(question, NOW) == Window(NOW - timedelta(hours=24), NOW)


def test_days_are_those_of_the_zone_that_is_passed() -> None:
    """At 23:30 UTC it is already tomorrow three hours to the east."""
    late, east = datetime(2026, 11, 24, 23, 30, tzinfo=UTC), timezone(timedelta(hours=3))
    assert window_of("today", late) == Window(datetime(2026, 11, 24, tzinfo=UTC), datetime(2026, 11, 25, tzinfo=UTC))
    assert window_of("today", late, east) == Window(
        datetime(2026, 11, 24, 21, tzinfo=UTC), datetime(2026, 11, 25, 21, tzinfo=UTC)
    )
    assert window_of("ieri", NOW.astimezone(east)) == window_of("ieri", NOW)


def test_the_first_time_that_is_named_counts() -> None:
    assert window_of("what did we say yesterday about March 2024?", NOW) == window_of("yesterday", NOW)


def test_whether_a_time_is_named_does_not_depend_on_the_day() -> None:
    assert names_a_time("since Monday")
    assert names_a_time("a marzo")
    assert not names_a_time("redis cache keys")


WORDS = sorted(
    {word for question in [*ENGLISH, *ITALIAN, *GREEK, *NO_TIME] for word in question.split()}
    | {"31", "0", "99", "2024", "'", "-", "/"}
)
MOMENTS = st.datetimes(timezones=st.just(UTC))


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)), MOMENTS)
def test_any_text_at_any_moment_gives_a_window_that_begins_before_it_ends_or_none(text: str, now: datetime) -> None:
    found = window_of(text, now)
    assert found == window_of(text, now)
    if found is not None:
        assert found.start < found.end
        assert (found.start.tzinfo, found.end.tzinfo) == (UTC, UTC)


@given(MOMENTS)
def test_the_last_days_hold_yesterday_at_any_moment(now: datetime) -> None:
    yesterday, recent = window_of("yesterday", now), window_of("the last 10 days", now)
    if yesterday is None or recent is None:
        assert now.year in (1, 9999)
    else:
        assert recent.start < yesterday.start < yesterday.end < recent.end


@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "a ",
        "in ",
        "l'",
        "1-1-",
        "dal 1 al ",
        "between 1 and ",
        "last ",
        "march of the ",
        "από τη ",
        "a" * 50,
        "2024-",
    ],
)
def test_a_long_hostile_text_is_read_in_bounded_time(piece: str) -> None:
    """What a text costs ends with the characters that are read: a text a hundred times as long costs no more."""
    text = piece * (100_000 // len(piece))
    started = time.perf_counter()
    for _ in range(3):
        window_of(text, NOW)
    assert time.perf_counter() - started < 3
