"""Near-duplicates are shown to the reviewer, never merged: least of all where numbers, names or negation differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.loop import rebuild
from projections.similar import SHOWN, closeness, differences, similar
from tests.projections.memories import db_of, registry_of, retire

ABLATION = ("ablation", "a procedure counted once a year for each patient")


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("counted 5 times a year", "counted 50 times a year", ("numbers",)),
        ("a dose of 1.5 mg", "a dose of 15 mg", ("numbers",)),
        ("counted once a year", "not counted once a year", ("negation",)),
        ("procedura conteggiata", "procedura non conteggiata", ("negation",)),
        ("η πράξη μετράει", "η πράξη δεν μετράει", ("negation",)),
        ("ασθενείς με πίεση", "ασθενείς χωρίς πίεση", ("negation",)),
        ("ΜΕΤΡΑ ΟΛΟΥΣ", "ΜΕΤΡΑ ΟΛΟΥΣ ΕΚΤΟΣ ενός", ("negation",)),
        ("it is counted", "it isn’t counted", ("negation",)),
        ("it does count", "it doesn't count", ("negation",)),
        ("patients with stroke", "patients without stroke", ("negation",)),
        ("treated in Rome", "treated in Milan", ("names",)),
        ("where `cod_paz` is set", "where `cod_med` is set", ("names",)),
        ("code I48 alone", "code I49 alone", ("numbers", "names")),
        ("counted once", "counted once.", ()),
        ("Counted once a year", "counted  once a year", ()),
    ],
)
def test_what_makes_it_another_statement_is_named(one: str, other: str, differs: tuple[str, ...]) -> None:
    """S-39."""
    assert set(differences(one, other)) >= set(differs)
    if not differs:
        assert differences(one, other) == ()
    assert differences(one, other) == differences(other, one)


@pytest.mark.parametrize("detail", ["a procedure counted 2 times a year for each patient", f"not {ABLATION[1]}"])
def test_a_near_duplicate_that_differs_is_offered_with_the_difference(tmp_path: Path, detail: str) -> None:
    """S-39: never merged by itself, offered to the reviewer."""
    with registry_of(tmp_path, ABLATION) as made:
        (found,) = similar(db_of(made), "ablation", detail)
    assert (found.id, found.subject, found.detail) == ("mem-0001", *ABLATION)
    assert 0.5 <= found.score < 1
    assert found.differs


def test_only_the_nearest_are_shown_best_first_and_ties_by_id(tmp_path: Path) -> None:
    twins = [("ablation", f"a procedure counted once a year for each patient {letter}") for letter in "dcbaexyz"]
    with registry_of(tmp_path, *twins) as made:
        found = similar(db_of(made), *ABLATION)
    assert [one.id for one in found] == ["mem-0001", "mem-0002", "mem-0003"]
    assert len({one.score for one in found}) == 1
    assert len(found) == SHOWN


def test_the_order_is_the_same_over_a_hundred_runs_and_after_a_rebuild(tmp_path: Path) -> None:
    """S-45."""
    many = [("ablation", f"a procedure counted {word} a year for each patient") for word in ["once", "twice", "never"]]
    with registry_of(tmp_path, *many, *[("stroke", f"event {number} of the brain") for number in range(20)]) as made:
        db = db_of(made)
        first = similar(db, *ABLATION)
        assert [one.score for one in first] == sorted((one.score for one in first), reverse=True)
        assert all(similar(db, *ABLATION) == first for _ in range(100))
        ledger, file = made
        rebuild(ledger, file, file.views, tmp_path / "scratch.sqlite3")
        assert similar(file.db, *ABLATION) == first


def test_what_is_not_live_or_not_wanted_or_not_near_is_left_out(tmp_path: Path) -> None:
    near = ("ablation", "a procedure counted once a year")
    far = ("revenue", "sum of the invoices that were paid for each patient")
    with registry_of(tmp_path, ABLATION, near, far) as made:
        db = db_of(made)
        assert [one.id for one in similar(db, *ABLATION)] == ["mem-0001", "mem-0002"]
        assert [one.id for one in similar(db, *ABLATION, without=["mem-0001"])] == ["mem-0002"]
        retire(made[0], 2, *near)
        assert [one.id for one in similar(db_of(made), *ABLATION)] == ["mem-0001"]


@pytest.mark.parametrize("odd", ['"', "'; DROP TABLE x; --", "AND OR NOT NEAR(", "*", "…", "-", "心", "col:word"])
def test_any_text_is_a_literal_query(tmp_path: Path, odd: str) -> None:
    with registry_of(tmp_path, ABLATION) as made:
        similar(db_of(made), odd, odd)
        assert [one.id for one in similar(db_of(made), *ABLATION)] == ["mem-0001"]


@given(st.text(min_size=1), st.text(min_size=1))
def test_closeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert closeness(one, other) == closeness(other, one)
    assert 0 <= closeness(one, other) <= 1


@given(st.from_regex(r"\w\w+( \w\w+)*", fullmatch=True))
def test_the_same_text_is_as_close_as_can_be_and_differs_in_nothing(text: str) -> None:
    assert closeness(text, text) in (1.0, 0.5)  # 0.5: no words at all, as for a lone underscore
    assert differences(text, text) == ()
