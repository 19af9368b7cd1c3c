"""One order, the same each time and on whatever pages; filters make no more hits. S-45."""

from __future__ import annotations

import json

import pytest

from adapters.indexing import Indexing
from adapters.projecting import Projecting
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.errors import InvalidInput
from projections.recall.question import MODES
from projections.scope import Reader
from tests.adapters.recalling.conftest import ADA, CODER, ONLOOKER, QUESTION, fact, gates, ids, search

# -- the same each time


@pytest.mark.parametrize("mode", MODES)
def test_s45_a_hundred_runs_and_a_rebuild_say_the_same(one: Workspace, mode: str) -> None:
    """S-45: to the last digit."""
    gates(one, 12)
    indexing = Indexing(one, keep_open=True)
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def told() -> str:
        answer = recalling.search(QUESTION, ONLOOKER, mode=mode, limit=20, explain=True)
        return json.dumps(answer.as_json() | {"index": None}, sort_keys=True)

    first = told()
    assert {told() for _ in range(99)} == {first}
    Projecting(one).rebuild()
    indexing.rebuild()
    assert told() == first


def test_ties_are_broken_by_id(one: Workspace) -> None:
    """S-45."""
    texts = ("Doors open", "doors: open", "Doors, open", "«Doors» open")
    known = [fact(one, text, f"t{n}", f"d{n}") for n, text in enumerate(texts)]
    found = search(one, "doors open", "keyword")
    assert len({hit.score for hit in found.hits}) == 1
    assert ids(found) == sorted(known)


# -- pages


@pytest.mark.parametrize("mode", MODES)
def test_pages_of_any_size_are_parts_of_one_order(one: Workspace, mode: str) -> None:
    """Nothing twice, nothing left out, however far one goes: more records than any voice nominates at once."""
    for number in range(130):
        fact(one, f"Gate {number} opens to corridor {number % 7} of {'abcdefghijk'[number % 11] * 6}", f"gate {number}")
    indexing = Indexing(one, keep_open=True)
    indexing.rebuild()
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def pages(limit: int) -> list[str]:
        found: list[str] = []
        cursor = ""
        while True:
            answer = recalling.search("gate to corridor 3 of cccccc", ONLOOKER, mode=mode, limit=limit, cursor=cursor)
            assert [hit.rank for hit in answer.hits] == list(range(len(found) + 1, len(found) + len(answer.hits) + 1))
            found += ids(answer)
            assert answer.truncated == bool(answer.cursor)
            if not answer.truncated:
                return found
            cursor = answer.cursor

    whole = pages(1_000)
    assert sorted(whole) == sorted(set(whole))
    assert len(whole) == 130
    for limit in (7, 10, 60):
        assert pages(limit) == whole, limit


def test_a_cursor_reaches_no_further_than_what_is_ranked(one: Workspace) -> None:
    with pytest.raises(InvalidInput, match="only the best"):
        search(one, "anything", "keyword", cursor="999999")


# -- filters


def test_filters_that_are_not_known_are_refused_by_name(one: Workspace) -> None:
    gates(one)
    with pytest.raises(InvalidInput, match="'colour' is no filter") as refused:
        search(one, colour="red")
    assert refused.value.hint == "one of domain, repo, topic, author"
    assert search(one, topic="gate 3").facts[0].topic == "gate 3"
    assert len(search(one, topic="gate 3").hits) == 1
    assert len(search(one, author=CODER.actor, limit=100).hits) == 6
    assert search(one, author="human:nobody").hits == ()
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInput, match="limit"):
            search(one, limit=limit)


def test_what_shares_a_common_word_comes_after_the_one_that_has_the_rare_word(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter never makes more hits: the common words fill the answer with it and without."""
    monkeypatch.setattr("projections.lexical.MATCHES", 10)  # as if there were thousands
    monkeypatch.setattr("projections.lexical.NEWEST", 8)
    for number in range(30):
        fact(one, f"report {number} is kept in room {number}", f"room {number}")
    rare = fact(one, "zebra report of the year", "animals")
    everywhere = search(one, "zebra report", "keyword", limit=5)
    in_its_domain = search(one, "zebra report", "keyword", limit=5, domain="people")
    assert len(everywhere.hits) == len(in_its_domain.hits) == 5
    assert ids(everywhere)[0] == ids(in_its_domain)[0] == rare
