"""An agent's own notes, and what it keeps in mind (knowledge.md, "Working memory and observations")."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain import hot, notes
from domain.erasure import TextErased
from domain.errors import InvalidInput, NothingChanged, Refused, Unknown
from domain.event import ERASED, Event
from domain.hot import Hot, ItemExpired, ItemRaised, ItemRemembered, ItemReturned, hot_stream
from domain.notes import Notes, NotesUpdated, ObservationRecorded, notes_record, notes_stream
from tests.domain.spec import AGENT, NOON, Story, recorded

STREAM, HOT = notes_stream(AGENT), hot_stream(AGENT)
WRITTEN = NotesUpdated(text="in the middle of it")
SEEN = ObservationRecorded(observation_id="obs-1", text="the test is flaky")
ITEM = ItemRemembered(
    item_id="item-1",
    agent=AGENT,
    content="deadline tomorrow",
    memory_type="context",
    importance=0.5,
    expires_at=NOON + timedelta(hours=6),
)
LASTING = ITEM.model_copy(update={"item_id": "item-2", "expires_at": None})
EXPIRED, RAISED, BACK = (
    ItemExpired(item_id="item-1"),
    ItemRaised(item_id="item-1", fact_id="fact-1"),
    ItemReturned(item_id="item-1"),
)


def given_notes(*events: Event) -> Story[Notes]:
    return Story(notes.fold(STREAM, recorded(STREAM, events)))


def given_hot(*events: Event) -> Story[Hot]:
    return Story(hot.fold(HOT, recorded(HOT, events)))


# -- notes -------------------------------------------------------------------------------------------------------------


def test_notes_are_replaced_verbatim() -> None:
    given_notes(WRITTEN).when(lambda held: notes.update(held, " done \n")).then(NotesUpdated(text=" done \n"))
    given_notes(WRITTEN).when(lambda held: notes.update(held, "")).then(NotesUpdated(text=""))


def test_notes_that_say_it_already_say_so() -> None:
    """S-03."""
    given_notes(WRITTEN).when(lambda held: notes.update(held, WRITTEN.text)).fails_with(NothingChanged)
    given_notes().when(lambda held: notes.update(held, "")).fails_with(NothingChanged)


def test_one_agent_has_one_stream_however_it_is_written() -> None:
    assert notes_stream("human:Ada") == notes_stream("human:ada")
    assert notes_stream("agent:a") != notes_stream("agent:b")


def test_observations_are_numbered_by_their_place() -> None:
    first = notes.observe(given_notes(WRITTEN).state, " the test is flaky ")
    again = notes.observe(given_notes(WRITTEN, first).state, "the test is flaky")
    assert first.text == again.text == "the test is flaky"
    assert first.observation_id != again.observation_id
    assert first == notes.observe(given_notes(WRITTEN, WRITTEN).state, "the test is flaky")


@pytest.mark.parametrize("text", ["", "  ", "x" * 20_001, "a\x1bb"])
def test_what_is_no_observation_is_refused(text: str) -> None:
    given_notes().when(lambda held: notes.observe(held, text)).fails_with(InvalidInput)


def test_erased_notes_may_be_written_anew() -> None:
    """S-13: even with the words that stand for what was erased."""
    gone = given_notes(WRITTEN, SEEN, TextErased(record=notes_record(AGENT)))
    assert (gone.state.text, gone.state.erased, gone.state.observations) == (ERASED, True, 1)
    gone.when(lambda held: notes.update(held, ERASED)).then(NotesUpdated(text=ERASED))


# -- in mind -----------------------------------------------------------------------------------------------------------


def test_an_item_expires_after_its_time_to_live() -> None:
    new = hot.accept_item("we decided to ship on Monday", ttl="6h", session_id="s1")
    event = hot.remember(given_hot(ITEM).state, AGENT, new, NOON)
    assert (event.memory_type, event.importance, event.session_id) == ("decision", 0.5, "s1")
    assert event.expires_at == NOON + timedelta(hours=6)
    assert event.item_id != hot.remember(given_hot().state, AGENT, new, NOON).item_id


@pytest.mark.parametrize(
    ("text", "lasts"),
    [("30m", timedelta(minutes=30)), (" 6H ", timedelta(hours=6)), ("2d", timedelta(days=2))],
)
def test_a_time_to_live_is_minutes_hours_or_days(text: str, lasts: timedelta) -> None:
    assert hot.parse_ttl(text) == lasts


@pytest.mark.parametrize("text", ["", "0h", "6", "h", "-1h", "1.5h", "6s", "3651d", "999999999d", "٦h"])
def test_what_is_no_time_to_live_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        hot.parse_ttl(text)


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan")])
def test_importance_is_between_nothing_and_all(importance: float) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        hot.accept_item("x", importance=importance)


def test_nothing_expires_before_its_time() -> None:
    mind = given_hot(ITEM, LASTING)
    mind.when(lambda held: hot.expire(held.get("item-1"), NOON)).fails_with(Refused, "not expired yet")
    mind.when(lambda held: hot.expire(held.get("item-2"), NOON)).fails_with(Refused, "does not expire")
    mind.when(lambda held: hot.expire(held.get("item-1"), NOON + timedelta(hours=6))).then(EXPIRED)


def test_what_was_raised_or_expired_comes_back() -> None:
    """S-43: every upkeep is undone by another event."""
    given_hot(ITEM).when(lambda held: hot.raise_to(held.get("item-1"), "fact-1")).then(RAISED)
    for end in (EXPIRED, RAISED):
        ended = given_hot(ITEM, end)
        ended.when(lambda held: hot.raise_to(held.get("item-1"), "fact-2")).fails_with(NothingChanged)
        ended.when(lambda held: hot.give_back(held.get("item-1"))).then(BACK)
        assert given_hot(ITEM, end, BACK).state == given_hot(ITEM).state
    given_hot(ITEM).when(lambda held: hot.give_back(held.get("item-1"))).fails_with(NothingChanged)


def test_an_erased_item_does_not_come_back() -> None:
    """S-13."""
    gone = given_hot(ITEM, LASTING, TextErased(record="item-1"))
    assert [item.content for item in gone.state.items.values()] == [ERASED, LASTING.content]
    gone.when(lambda held: hot.give_back(held.get("item-1"))).fails_with(Refused)
    gone.when(lambda held: held.get("item-9")).fails_with(Unknown)
