"""Words, values and periods as they are compared, in English, Italian and Greek (S-39, S-61, S-63)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.language import evidence_of, fold, language_by, language_of, stem
from domain.periods import EVER, PERIOD, Period, periods_in
from domain.statement import entities, statement

# -- folding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Η κατάλυση", "η καταλυση"),
        ("ΚΑΤΑΛΥΣΗ", "κατάλυση"),
        ("λόγος", "ΛΟΓΟΣ"),  # final sigma
        ("ΛΟΓΟΣ", "λογοσ"),
        ("ϊδρυση", "ιδρυση"),
        ("è", "e'"),
        ("È", "E’"),
        ("perché", "perche'"),
        ("perchè", "perché"),  # both accents are written
        ("città", "citta"),
        ("l’età", "l'eta'"),
        ("“Deploy”", '"deploy"'),
        ("«λόγος»", '"λογος"'),
        ("ＡＢＣ１２３", "abc123"),
        ("a ≠ b", "a != b"),
        ("e\u0301", "é"),
        ("a\u00a0 b\n", "a b"),
    ],
)
def test_writings_that_fold_to_one(one: str, other: str) -> None:
    """S-61: accents, upper case, final sigma, apostrophes."""
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("è", "e"),  # is, and
        ("né", "ne"),
        ("sì", "si"),
        ("metà", "meta"),
        ("ή", "η"),  # or, the
        ("が", "か"),  # a voiced sound is no accent
        ("a = b", "a != b"),
        ("-5", "5"),
        ("max_conn", "max conn"),
    ],
)
def test_writings_that_stay_apart(one: str, other: str) -> None:
    """S-39."""
    assert fold(one) != fold(other)


def test_a_quotation_mark_is_no_accent() -> None:
    assert fold("stato 'chiuso' e") == "stato 'chiuso' e"
    assert fold("'la modalita' è") == "'la modalita' è"


@given(st.text())
def test_what_is_folded_stays_as_it_is(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_case_is_folded(text: str) -> None:
    assert fold(text.casefold()) == fold(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the limit is five", "en"),
        ("il limite è cinque", "it"),
        ("rossi firma i referti", "it"),
        ("το οριο ειναι redis", "el"),
        ("we use redis", "en"),
        ("redis", "en"),
        ("数据库", "other"),
        ("8080", "en"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "use uses used using"),
        ("en", "tag tags tagged tagging"),
        ("en", "query queries"),
        ("it", "ricovero ricoveri"),
        ("it", "approva approvano"),
        ("it", "banca banche"),
        ("el", "εκδοση εκδοσησ"),
        ("el", "πολιτικη πολιτικεσ"),
    ],
)
def test_forms_of_one_word_have_one_stem(language: str, forms: str) -> None:
    assert len({stem(form, language) for form in forms.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("status", "stat"), ("class", "clas"), ("ring", "r"), ("is", "i")])
def test_other_words_keep_another_stem(one: str, other: str) -> None:
    assert stem(one, "en") != stem(other, "en")


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("the limit is 1,000 rows", ["1000"]),
        ("the limit is 1,234,567.5", ["2469135/2"]),
        ("il limite è 1.000 righe", ["1000"]),
        ("il limite è di 1.234,5 righe", ["2469/2"]),
        ("il limite è 1,5", ["3/2"]),
        ("the limit is 10k", ["10000"]),
        ("revenue was 2 million euro", ["2000000 eur"]),
        ("the timeout is 30s", ["30 s"]),
        ("the timeout is 30 seconds", ["30 s"]),
        ("the timeout is 500 ms", ["1/2 s"]),
        ("il tasso è 4 per cento", ["4 %"]),
        ("το ποσοστό είναι 4 τοις εκατό", ["4 %"]),
        ("the price is €5", ["5 eur"]),
        ("temperature is -5", ["-5"]),
        ("we keep twenty five copies", ["25"]),
        ("we keep twenty-five copies", ["25"]),
        ("we keep one hundred copies", ["100"]),
        ("ogni reparto ha ventuno letti", ["21"]),
        ("ogni reparto ha novantotto letti", ["98"]),
        ("κάθε κλινική έχει τριάντα δύο κλίνες", ["32"]),
        ("κάθε κλινική έχει εκατό κλίνες", ["100"]),
        ("retries take 5-10 minutes", ["300…600 s"]),
        ("retries take between 5 and 10 minutes", ["300…600 s"]),
        ("i letti sono da 5 a 10", ["5…10"]),
        ("set max_conn to 5", ["max_conn", "5"]),
        ("needs v1.2", ["v1.2"]),
        ("needs 1.2.3", ["1.2.3"]),
        ("see issue #260", ["#260"]),
        ("hosted in eu-west-1", ["eu-west-1"]),
        ("mail ops@example.org or see https://example.org/a?b=1.", ["ops@example.org", "https://example.org/a?b=1"]),
        ("the file is /etc/app.toml", ["/etc/app.toml"]),
        ("the label is “in progress”", []),
        ("the flag is `on` and not `a_b`", ["a_b"]),
        ("founded in 2010", ["733773–734137"]),
        ("issue no. 5", ["5"]),
        ("nothing here", []),
        ("a read-only file", []),
    ],
)
def test_value_slots(text: str, values: list[str]) -> None:
    assert list(statement(text).values) == values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30s", "30 minutes"), ("5", "5%"), ("1.5 h", "15 h"), ("v1.2", "v1.20"), ("-5", "5"), ("5-10", "5-20"),
        ("$5", "€5"), ("venti", "ventuno"), ("πέντε", "δέκα"), ("1.000", "1"), ("a_b", "a_c"), ("1 KiB", "1 KB"),
    ],
)  # fmt: skip
def test_values_that_differ(one: str, other: str) -> None:
    """S-39."""
    assert statement(f"il valore è {one}").values != statement(f"il valore è {other}").values


# -- polarity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("we do not deploy on fridays", ["deploy"]),
        ("we don't deploy", ["deploy"]),
        ("reports cannot be deleted", ["deleted"]),
        ("flags are not required", ["required"]),
        ("we never squash", ["squash"]),
        ("we no longer squash", ["squash"]),
        ("no tests are skipped", ["tests"]),
        ("a != 5", ["5"]),
        ("non si contano", ["si"]),
        ("non si usa mai il fax", ["si"]),  # denied once
        ("non usiamo più il fax", ["usiamo"]),
        ("οι αναγνώσεις δεν ελέγχονται", ["ελεγχονται"]),
        ("δεν το κάνουμε ποτέ", ["κανουμε"]),
        ("ποτέ squash", ["squash"]),
        ("deploys happen without review", []),
        ("the label is 'not started'", []),  # quoted
        ("issue no. 5 is open", []),
        ("we use redis", []),
    ],
)
def test_what_a_text_denies(text: str, denied: list[str]) -> None:
    assert list(statement(text).polarity) == denied


@pytest.mark.parametrize(
    ("text", "asks"),
    [("is it open?", True), ("«Is it open?»", True), ("είναι ανοιχτή;", True), ("είναι ανοιχτή\u037e", True),
     ("open; closed;", False), ("it is open", False)],
)  # fmt: skip
def test_questions(text: str, asks: bool) -> None:
    assert statement(text).question is asks


# -- periods -----------------------------------------------------------------------------------------------------------


def days(first: str, last: str) -> Period:
    return Period(date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal())


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("in 2020 the rate was 4", days("2020-01-01", "2020-12-31")),
        ("nel 2020 il tasso era 4", days("2020-01-01", "2020-12-31")),
        ("το 2023 το όριο ήταν 5", days("2023-01-01", "2023-12-31")),
        ("a marzo 2024 i letti erano 20", days("2024-03-01", "2024-03-31")),
        ("τον Μάρτιο 2024 είχαμε 20", days("2024-03-01", "2024-03-31")),
        ("τον Φεβρουάριο του 2024 είχαμε 20", days("2024-02-01", "2024-02-29")),
        ("in Q3 2024 revenue was 5", days("2024-07-01", "2024-09-30")),
        ("in the third quarter of 2024 revenue was 5", days("2024-07-01", "2024-09-30")),
        ("nel terzo trimestre 2024 i letti erano 5", days("2024-07-01", "2024-09-30")),
        ("on 2024-03-01 the price was 5", days("2024-03-01", "2024-03-01")),
        ("on 3 March 2024 the price was 5", days("2024-03-03", "2024-03-03")),
        ("on March 3, 2024 the price was 5", days("2024-03-03", "2024-03-03")),
        ("from 2020 to 2022 Ada led", days("2020-01-01", "2022-12-31")),
        ("dal 2020 al 2022 il capo era Rossi", days("2020-01-01", "2022-12-31")),
        ("dal 2024 il capo è Rossi", Period(date(2024, 1, 1).toordinal(), EVER)),
        ("από το 2024 το όριο είναι 5", Period(date(2024, 1, 1).toordinal(), EVER)),
        ("fino al 2023 il capo era Rossi", Period(0, date(2023, 12, 31).toordinal())),
        ("in March the rate was 4", Period(date(1, 3, 1).toordinal(), date(1, 3, 31).toordinal(), yearless=True)),
    ],
)
def test_periods(text: str, period: Period) -> None:
    assert statement(text).periods == {period}


@pytest.mark.parametrize(
    "text",
    [
        "port 2020 is open",
        "the limit is 2000 rows",
        "we may march",
        "on 2024-13-45 nothing was",  # no date of the calendar
        "the deadline is in 2024",  # the date is the value
        "founded in 2010",
        "in 2020% of cases",
    ],
)
def test_what_is_no_period(text: str) -> None:
    assert statement(text).periods == frozenset()


def test_periods_that_have_no_day_in_common() -> None:
    assert days("2020-01-01", "2020-12-31").apart_from(days("2021-01-01", "2021-12-31"))
    assert not days("2020-01-01", "2020-12-31").apart_from(days("2020-12-31", "2021-12-31"))
    assert not days("2020-01-01", "2020-12-31").apart_from(Period(60, 90, yearless=True))  # nobody can say


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The API of Acme Corp uses `max_conn`", {"api", "acme corp", "max_conn"}),
        ("Η βάση της Μαρίας είναι στην Αθήνα", {"μαριασ", "αθηνα"}),
        ("il reparto di Rossi usa cod_paz", {"rossi", "cod_paz"}),
        ("数据库是Postgres", {"postgres"}),
        ("Nothing. Nobody here", set()),
    ],
)
def test_what_a_text_names(text: str, named: set[str]) -> None:
    """S-63: names in any language."""
    assert entities(text) == named


_WORDS = "the of il è non limite redis casa vero to e με το οριο 数据库 8080 a x zuppa".split()


@given(st.lists(st.lists(st.sampled_from(_WORDS) | st.text(max_size=5)).map(" ".join), min_size=1, max_size=4))
def test_what_several_texts_show_of_their_language_adds_up(texts: list[str]) -> None:
    folded = [fold(text) for text in texts]
    assert language_by(map(evidence_of, folded)) == language_of(" ".join(folded))


_PARTS_OF_PERIODS = [
    *"in since until dal march marzo μαρτιο may q3 h1 first quarter of".split(),
    *"2024 1999 2024-03-01 12 , - / 19 20 19th".split(),
    "from 2019 to 2021",
    "το πρωτο τριμηνο 2024",
]


@given(st.lists(st.sampled_from(_PARTS_OF_PERIODS) | st.text(max_size=4)).map(" ".join))
def test_no_period_is_passed_over(text: str) -> None:
    folded = fold(text)
    assert [one.span() for one in periods_in(folded)] == [one.span() for one in PERIOD.finditer(folded)]
