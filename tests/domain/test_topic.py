"""Facts of one topic: what a proposal comes to, and how a fact ends and comes back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from domain import propose as proposing
from domain import topic as topics
from domain.conflict_case import ConflictFound, conflict_id
from domain.erasure import TextErased
from domain.errors import FactNotLive, InvalidInput, NothingChanged, Refused, SupersessionLoop, UnknownFact
from domain.event import ERASED, Event
from domain.ids import short_id, slug_of
from domain.propose import NewFact, OnConflict, Proposal
from domain.topic import Topic, topic_stream
from domain.topic_events import (
    FactLinked,
    FactMentioned,
    FactProposed,
    FactRestored,
    FactRetired,
    FactSuperseded,
    FactUnlinked,
    Link,
)
from tests.domain.spec import ADA, AGENT, BO, NOON, recorded

STREAM = topic_stream("arch", "cache")
FIRST, SECOND, THIRD = (short_id("fact", STREAM, str(number)) for number in (1, 2, 3))


def given_topic(*events: Event | tuple[str, Event]) -> Topic:
    return topics.fold(STREAM, recorded(STREAM, events))


def fact(content: str, fact_id: str = FIRST, *, confidence: float = 1.0, veracity: str = "stated") -> FactProposed:
    return FactProposed(
        fact_id=fact_id,
        domain="arch",
        topic="cache",
        content=content,
        confidence=confidence,
        memory_type="fact",
        veracity=veracity,
        author=ADA,
    )


def says(
    known: Topic,
    content: str,
    *,
    author: str = BO,
    veracity: str = "stated",
    at: datetime = NOON,
    shown: Collection[str] = (),
    on_conflict: OnConflict = "decide",
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> Proposal:
    new = NewFact(content, "cache", author, veracity=veracity, valid_from=valid_from, valid_until=valid_until)
    return proposing.propose(known, "arch", proposing.checked(new), at=at, shown=shown, on_conflict=on_conflict)


# -- proposing


def test_a_new_statement_becomes_a_live_fact_with_the_confidence_of_how_it_is_known() -> None:
    said = says(given_topic(), "  We use Redis.  ", author=AGENT, veracity="inferred")
    (event,) = said.events
    assert isinstance(event, FactProposed)
    assert (said.outcome, said.fact_id) == ("proposed", FIRST)
    assert (event.content, event.confidence, event.memory_type, event.author) == ("We use Redis.", 0.7, "fact", AGENT)


def test_the_same_statement_is_a_mention_that_closes_a_part_of_the_doubt() -> None:
    known = given_topic(fact("we use redis", confidence=0.5))
    said = says(known, "We use Redis.", veracity="tool", author="tool:scan")
    expected = FactMentioned(fact_id=FIRST, veracity="tool", confidence=0.5 + 0.5 * 0.5 * 0.3, author="tool:scan")
    assert (said.outcome, said.events) == ("mentioned", (expected,))
    after = given_topic(fact("we use redis", confidence=0.5), *said.events).facts[FIRST]
    assert (after.confidence, after.origins) == (0.575, (ADA, "tool:scan"))


def test_an_echo_of_what_one_was_shown_confirms_nothing() -> None:
    """S-41."""
    known = given_topic(fact("we use redis", confidence=0.5))
    said = says(known, "we use redis", shown=(FIRST,))
    assert said.echoed
    after = given_topic(fact("we use redis", confidence=0.5), *said.events).facts[FIRST]
    assert (after.confidence, after.origins, after.confirmed_at) == (0.5, (ADA,), NOON)


def test_a_refinement_lives_beside_what_it_refines_and_is_linked_with_it() -> None:
    finer = says(given_topic(fact("we use redis")), "we use redis for sessions")
    assert finer.events[1:] == (FactLinked(fact_id=SECOND, links=(Link(to=FIRST, kind="refines"),)),)
    coarser = says(given_topic(fact("we use redis for sessions")), "we use redis")
    assert coarser.events[1:] == (FactLinked(fact_id=FIRST, links=(Link(to=SECOND, kind="refines"),)),)
    assert (finer.conflicts, coarser.conflicts) == ((), ())


def test_the_later_of_two_equals_wins_a_contradiction() -> None:
    """S-35."""
    said = says(given_topic(fact("Ada works at Acme")), "Ada works at Beta")
    ended = FactSuperseded(fact_id=FIRST, by=SECOND, cause="conflict")
    assert (said.outcome, said.superseded) == ("proposed", (FIRST,))
    assert said.events[1:] == (ended,)
    row = ConflictFound(
        conflict_id=conflict_id(FIRST, SECOND),
        facts=(FIRST, SECOND),
        found="contradiction",
        rule="another value",
        winner=SECOND,
        state="decided",
    )
    assert said.conflicts == (row,)


def test_the_higher_standing_wins_whoever_was_later() -> None:
    known = given_topic(fact("the timeout is 30 seconds"))
    said = says(known, "the timeout is 40 seconds", veracity="tool")
    assert (said.outcome, said.superseded_by) == ("superseded_by_conflict", FIRST)
    assert said.events[1:] == (FactSuperseded(fact_id=SECOND, by=FIRST, cause="conflict"),)
    after = given_topic(fact("the timeout is 30 seconds"), *said.events)
    assert [one.fact_id for one in after.live] == [FIRST]


def test_one_that_loses_to_the_strongest_supersedes_nobody() -> None:
    known = given_topic(
        fact("the timeout is 30 seconds"),
        fact("the timeout is 50 seconds", SECOND, veracity="tool", confidence=0.1),
    )
    said = says(known, "the timeout is 40 seconds", veracity="inferred")
    assert (said.superseded_by, said.superseded) == (FIRST, ())


@pytest.mark.parametrize(("way", "state"), [("keep_both", "both"), ("ask", "open")])
def test_the_caller_may_keep_both_or_ask_a_person(way: OnConflict, state: str) -> None:
    said = says(given_topic(fact("Ada works at Acme")), "Ada works at Beta", on_conflict=way)
    assert (said.outcome, said.superseded, said.conflicts[0].state) == ("proposed", (), state)
    assert all(one.live for one in given_topic(fact("Ada works at Acme"), *said.events).facts.values())


def test_the_caller_may_let_the_new_one_win() -> None:
    said = says(given_topic(fact("Ada works at Acme")), "Ada works at Beta", veracity="tool", on_conflict="supersede")
    assert said.superseded == (FIRST,)


def test_unsure_stays_open_and_ends_nobody() -> None:
    """S-37, S-38, S-39: what is only close is a person's to decide."""
    said = says(given_topic(fact("Ada leads the payments team in Milan")), "the payments team in Milan has Ada as lead")
    assert [one.relation.outcome for one in said.related] == ["unsure"]
    assert (said.superseded, [one.found for one in said.conflicts], said.conflicts[0].state) == ((), ["unsure"], "open")


def test_what_ended_before_the_other_began_is_no_conflict() -> None:
    old = replace_valid(fact("Ada works at Acme"), None, NOON)
    assert says(given_topic(old), "Ada works at Beta", valid_from=NOON).conflicts == ()
    assert says(given_topic(old), "Ada works at Beta", at=NOON + timedelta(hours=1)).conflicts == ()


def replace_valid(event: FactProposed, start: datetime | None, end: datetime | None) -> FactProposed:
    return event.model_copy(update={"valid_from": start, "valid_until": end})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"content": "   "}, "content must not be empty"),
        ({"content": "a\ud800"}, "lone surrogate"),
        ({"content": "x" * 100_001}, "at most"),
        ({"topic": "…"}, "no letter or digit"),
        ({"topic": ""}, "topic must not be empty"),
        ({"confidence": 1.5}, "0 to 1"),
        ({"confidence": float("nan")}, "0 to 1"),
        ({"veracity": "unknown"}, "no veracity"),
        ({"memory_type": "rumour"}, "no memory type"),
        ({"valid_from": NOON, "valid_until": NOON}, "later than"),
        ({"source_observation_ids": ("a b",)}, "white space"),
    ],
)
def test_what_cannot_be_a_fact_is_refused_with_the_reason(changes: dict[str, Any], words: str) -> None:
    new = replace(NewFact("we use redis", "cache", ADA), **changes)
    with pytest.raises(InvalidInput) as caught:
        topic_stream("arch", proposing.checked(new).topic)
    assert words in caught.value.message


def test_old_data_may_be_of_unknown_veracity() -> None:
    assert proposing.checked(NewFact("x", "y", ADA, veracity="unknown"), imported=True).confidence == 0.8


# -- how facts end and come back


def test_a_fact_gives_way_to_another_once() -> None:
    known = given_topic(fact("we use redis"), fact("we use valkey", SECOND))
    one, other = known.facts[FIRST], known.facts[SECOND]
    ended = topics.supersede(one, other, [])
    assert ended == FactSuperseded(fact_id=FIRST, by=SECOND, cause="by_hand")
    after = given_topic(fact("we use redis"), fact("we use valkey", SECOND), ended)
    with pytest.raises(NothingChanged):
        topics.supersede(after.facts[FIRST], other, [])
    with pytest.raises(SupersessionLoop):
        topics.supersede(other, after.facts[FIRST], [SECOND])
    with pytest.raises(Refused, match="own place"):
        topics.supersede(one, one, [])
    with pytest.raises(UnknownFact):
        known.get("fact-nobody")


def test_a_fact_is_retired_and_restored() -> None:
    known = given_topic(fact("we use redis"))
    assert topics.retire(known.facts[FIRST]) == FactRetired(fact_id=FIRST)
    after = given_topic(fact("we use redis"), FactRetired(fact_id=FIRST))
    with pytest.raises(NothingChanged):
        topics.retire(after.facts[FIRST])
    assert topics.restore(after.facts[FIRST]) == FactRestored(fact_id=FIRST)
    with pytest.raises(NothingChanged):
        topics.restore(known.facts[FIRST])


def test_an_erased_fact_is_gone_for_good_and_meets_nobody() -> None:
    known = given_topic(fact("we use redis"), TextErased(record=FIRST))
    assert (known.facts[FIRST].content, known.live) == (ERASED, ())
    with pytest.raises(FactNotLive):
        topics.restore(known.facts[FIRST])
    assert says(known, "we use redis").outcome == "proposed"


def test_a_link_by_hand_is_made_and_taken_away_once() -> None:
    known = given_topic(fact("we use redis"), fact("cache entries live an hour", SECOND))
    made = topics.link(known.facts[FIRST], SECOND, "related_to", 1.0)
    linked = given_topic(fact("we use redis"), fact("cache entries live an hour", SECOND), made).facts[FIRST]
    with pytest.raises(NothingChanged):
        topics.link(linked, SECOND, "related_to", 1.0)
    taken = topics.unlink(linked, SECOND, "related_to")
    assert taken == FactUnlinked(fact_id=FIRST, to=SECOND, kind_of_link="related_to")
    with pytest.raises(NothingChanged):
        topics.unlink(known.facts[FIRST], SECOND, "related_to")
    with pytest.raises(Refused):
        topics.link(known.facts[FIRST], FIRST, "related_to", 1.0)


def test_ids_follow_from_topic_and_number_and_slugs_keep_every_script() -> None:
    assert given_topic(fact("we use redis")).next_id() == SECOND != THIRD
    assert (slug_of("Data Model", "topic"), slug_of("  Καρδιολογία ", "topic")) == ("data-model", "καρδιολογία")
    assert slug_of("è/perché", "topic") == "è-perché"
