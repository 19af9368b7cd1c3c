"""The full-text tables: how common a term is, whatever was guessed; and that one which grows stays in few segments."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from projections import lexical as lexical_module
from projections.lexical import MATCHES, REMEMBERED, _standing, lexical, query_of
from projections.view import MERGING, ViewsFile
from tests.projections.ledgers import Lines2

RECORDS = MATCHES + 200


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """`running` in nearly all, `runs` in three; both have the stem `run`."""
    made = sqlite3.connect(":memory:")
    made.row_factory = sqlite3.Row
    made.execute("CREATE VIRTUAL TABLE t USING fts5(words, stems)")
    for number in range(1, RECORDS + 1):
        text = f"runs {number}" if number % 500 == 0 else f"running {number}"
        found = lexical(text if number % 2 else f"{text} halfway")
        made.execute("INSERT INTO t (rowid, words, stems) VALUES (?, ?, ?)", (number, found.words, found.stems))
    yield made
    made.close()


TERMS = ['words : "runs"', 'stems : "run"', 'words : "running"', 'words : "halfway"', 'stems : "7"', 'words : "no"']


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("limit", [2, REMEMBERED])
def test_what_is_remembered_of_a_term_changes_nothing(
    db: sqlite3.Connection, term: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical_module, "REMEMBERED", limit)
    known = []
    for remembered in (set(), {("t", term)}, {("t", one) for one in TERMS}, {("other", term)}):
        monkeypatch.setattr(lexical_module, "_COMMON", remembered)
        known += [_standing(db, "t", term), _standing(db, "t", term)]
        assert len(remembered) <= max(limit, len(TERMS))
    assert len(set(known)) == 1
    count = db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (term,)).fetchone()[0]
    assert known[0].count == min(count, MATCHES + 1)


def test_a_term_that_has_become_rare_counts_as_rare(db: sqlite3.Connection) -> None:
    term = 'words : "running"'
    assert _standing(db, "t", term).count == MATCHES + 1
    db.execute("DELETE FROM t WHERE rowid > 600")
    assert _standing(db, "t", term).count == db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (term,)).fetchone()[0]


def test_the_stem_of_a_rare_word_may_be_common(db: sqlite3.Connection) -> None:
    terms = ['words : "runs"', 'stems : "run"']
    assert [_standing(db, "t", term).count for term in terms] == [2, MATCHES + 1]
    found = query_of(db, "t", terms)
    assert (found.text, found.whole) == (terms[0], " OR ".join(terms))


def test_a_table_that_grows_record_by_record_stays_in_few_segments() -> None:
    """Every segment is asked about every word. By default there would be up to sixteen of single records alone."""
    file = ViewsFile(None, [Lines2()], "00")
    (table,) = Lines2.derived
    seen = []
    for number in range(1, 301):
        file.db.execute(
            f"INSERT INTO {table} (rowid, stream) VALUES (?, ?)", (number, f"line {number} of {number % 7}")
        )
        seen.append(file.db.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").fetchone()[0])
    file.close()
    assert max(seen) <= 10
    assert sum(seen) / len(seen) < 6


def test_a_table_of_before_is_merged_so_once_it_is_rebuilt() -> None:
    db = sqlite3.connect(":memory:")
    for statement in Lines2.schema:
        db.execute(statement)
    Lines2().refresh_derived(db)
    set_so = dict(db.execute("SELECT k, v FROM lines_v2_text_config WHERE k <> 'version'").fetchall())
    db.close()
    assert set_so == dict(MERGING)
