"""Memories: sources, endings and their undoing. Each is an event; none deletes anything (sessions.md, "Registry")."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given as random
from hypothesis import strategies as st

from domain import memory as memories
from domain.errors import MemoryNotLive, NothingChanged, Refused, UnknownDecision
from domain.event import Event
from domain.memory import (
    Memory,
    MemoryMerged,
    MemoryRestored,
    MemoryRetired,
    MemorySuperseded,
    SourceAdded,
    SourceWithdrawn,
)
from tests.domain.spec import given_memory, recorded, remembered, source

ONE, TWO = "mem-0001", "mem-0002"
OTHER = given_memory(memory_id=TWO, seq=2).state
SHARED = SourceAdded(memory_id=ONE, sources=(source(5, "s2"),))
RETIRED = MemoryRetired(memory_id=ONE)
MERGED = MemoryMerged(memory_id=ONE, into=TWO)
SUPERSEDED = MemorySuperseded(memory_id=ONE, by=TWO)
RESTORED = MemoryRestored(memory_id=ONE)


# -- sources -----------------------------------------------------------------------------------------------------------


def test_only_new_sources_are_added() -> None:
    story = given_memory()
    story.when(lambda m: memories.add_sources(m, (source(1), source(9)), self_reviewed=False)).then(
        SourceAdded(memory_id=ONE, sources=(source(9),))
    )
    story.when(lambda m: memories.add_sources(m, (source(1),), self_reviewed=False)).then()


def test_withdrawing_one_of_two_sources_keeps_the_memory_alive() -> None:
    """S-08: the same clarification from sessions A and B; A's is withdrawn."""
    story = given_memory(SHARED)
    story.when(lambda m: memories.withdraw_source(m, source(1), "wrong")).then(
        SourceWithdrawn(memory_id=ONE, sources=(source(1),), reason="wrong")
    )
    after = given_memory(SHARED, SourceWithdrawn(memory_id=ONE, sources=(source(1),))).state
    assert after.live
    assert after.sources == (source(5, "s2"),)


def test_the_last_source_takes_the_memory_with_it() -> None:
    """S-08: removed only with the last source."""
    story = given_memory(SHARED, SourceWithdrawn(memory_id=ONE, sources=(source(1),)))
    story.when(lambda m: memories.withdraw_source(m, source(5, "s2"), "wrong too")).then(
        SourceWithdrawn(memory_id=ONE, sources=(source(5, "s2"),), reason="wrong too"),
        MemoryRetired(memory_id=ONE, reason="wrong too"),
    )


def test_a_source_that_is_not_there_cannot_be_withdrawn() -> None:
    """S-03: another session's id, and one that was withdrawn before."""
    given_memory().when(lambda m: memories.withdraw_source(m, source(1, "s2"), "")).fails_with(UnknownDecision)
    gone = given_memory(SHARED, SourceWithdrawn(memory_id=ONE, sources=(source(1),)))
    gone.when(lambda m: memories.withdraw_source(m, source(1), "")).fails_with(UnknownDecision)


def test_a_withdrawn_source_that_is_promoted_again_stands_again() -> None:
    back = SourceAdded(memory_id=ONE, sources=(source(1),))
    memory = given_memory(SHARED, SourceWithdrawn(memory_id=ONE, sources=(source(1),)), back).state
    assert set(memory.sources) == {source(1), source(5, "s2")}
    assert memory.withdrawn == ()


# -- endings -----------------------------------------------------------------------------------------------------------


def test_retire_supersede_and_merge_a_live_memory() -> None:
    story = given_memory()
    story.when(lambda m: memories.retire(m, "wrong")).then(MemoryRetired(memory_id=ONE, reason="wrong"))
    story.when(lambda m: memories.supersede(m, OTHER)).then(SUPERSEDED)
    story.when(lambda m: itertools.chain(*memories.merge(m, OTHER))).then(
        MERGED, SourceAdded(memory_id=TWO, sources=(source(1),), merged_from=ONE)
    )


def test_what_has_happened_already_changes_nothing() -> None:
    """S-03."""
    given_memory(RETIRED).when(lambda m: memories.retire(m, "")).fails_with(NothingChanged)
    given_memory(SUPERSEDED).when(lambda m: memories.supersede(m, OTHER)).fails_with(NothingChanged)
    given_memory(MERGED).when(lambda m: itertools.chain(*memories.merge(m, OTHER))).fails_with(NothingChanged)
    given_memory().when(lambda m: itertools.chain(*memories.restore(m, None, ""))).fails_with(NothingChanged)
    given_memory(RETIRED, RESTORED).when(lambda m: itertools.chain(*memories.restore(m, None, ""))).fails_with(
        NothingChanged
    )


@pytest.mark.parametrize("ending", [RETIRED, MERGED, SUPERSEDED])
def test_a_memory_that_has_ended_takes_no_source_loses_none_and_does_not_end_again(ending: Event) -> None:
    story = given_memory(ending)
    third = given_memory(memory_id="mem-0003", seq=3).state
    story.when(lambda m: memories.add_sources(m, (source(9),), self_reviewed=False)).fails_with(MemoryNotLive)
    story.when(lambda m: memories.withdraw_source(m, source(1), "")).fails_with(MemoryNotLive)
    story.when(lambda m: memories.supersede(m, third)).fails_with(MemoryNotLive)
    story.when(lambda m: itertools.chain(*memories.merge(m, third))).fails_with(MemoryNotLive)
    if ending is not RETIRED:
        story.when(lambda m: memories.retire(m, "")).fails_with(MemoryNotLive, TWO)


@pytest.mark.parametrize("ending", [RETIRED, MERGED, SUPERSEDED])
def test_a_memory_that_has_ended_is_nobodys_successor(ending: Event) -> None:
    """S-03: a known id with a replacement that does not stand."""
    ended = given_memory(ending).state
    given_memory(memory_id="mem-0003", seq=3).when(lambda m: memories.supersede(m, ended)).fails_with(MemoryNotLive)
    given_memory(memory_id="mem-0003", seq=3).when(lambda m: itertools.chain(*memories.merge(m, ended))).fails_with(
        MemoryNotLive
    )


def test_a_memory_does_not_take_its_own_place() -> None:
    given_memory().when(lambda m: memories.supersede(m, m)).fails_with(Refused)
    given_memory().when(lambda m: itertools.chain(*memories.merge(m, m))).fails_with(Refused)


# -- coming back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [RETIRED, SUPERSEDED])
def test_retirement_and_supersession_are_undone(ending: Event) -> None:
    given_memory(ending).when(lambda m: itertools.chain(*memories.restore(m, None, "it held"))).then(
        MemoryRestored(memory_id=ONE, reason="it held")
    )
    back = given_memory(ending, RESTORED).state
    assert (back.status, back.successor, back.sources) == ("live", None, (source(1),))


def test_a_memory_whose_sources_were_all_withdrawn_gets_the_last_back() -> None:
    gone = (SourceWithdrawn(memory_id=ONE, sources=(source(1),)), RETIRED)
    given_memory(*gone).when(lambda m: itertools.chain(*memories.restore(m, None, ""))).then(
        MemoryRestored(memory_id=ONE), SourceAdded(memory_id=ONE, sources=(source(1),))
    )


def absorbing(*events: Event) -> Memory:
    """mem-0002, into which mem-0001 was merged."""
    gained = SourceAdded(memory_id=TWO, sources=(source(1),), merged_from=ONE)
    return given_memory(gained, *events, memory_id=TWO, seq=2).state


def given_back(*back: int) -> SourceWithdrawn:
    return SourceWithdrawn(
        memory_id=TWO,
        sources=tuple(source(seq) for seq in back),
        reason="given back to mem-0001, which was restored",
    )


def test_restoring_a_merged_memory_gives_it_its_sources_back() -> None:
    own, returned = memories.restore(given_memory(MERGED).state, absorbing(), "")
    assert own == (RESTORED,)
    assert returned == (given_back(1),)
    assert absorbing(given_back(1)).sources == (source(2),)


def test_merging_and_restoring_a_second_time_gives_each_source_back_once() -> None:
    again = SourceAdded(memory_id=TWO, sources=(source(1),), merged_from=ONE)
    merged_again = given_memory(MERGED, RESTORED, MERGED).state
    _, returned = memories.restore(merged_again, absorbing(given_back(1), again), "")
    assert returned == (given_back(1),)


def test_a_source_that_the_other_had_of_its_own_is_not_given_back() -> None:
    both = given_memory(SourceAdded(memory_id=TWO, sources=(source(1),)), memory_id=TWO, seq=2).state
    _, (gained,) = memories.merge(given_memory().state, both)
    assert gained.sources == ()
    own, returned = memories.restore(given_memory(MERGED).state, both, "")
    assert (own, returned) == ((RESTORED,), ())


def test_an_absorber_left_without_a_source_retires() -> None:
    """No memory is live without a source, whichever way it lost the last."""
    bare = absorbing(SourceWithdrawn(memory_id=TWO, sources=(source(2),)))
    _, returned = memories.restore(given_memory(MERGED).state, bare, "")
    reason = "its last source was given back to mem-0001, which was restored"
    assert returned == (given_back(1), MemoryRetired(memory_id=TWO, reason=reason))


# -- many memories -----------------------------------------------------------------------------------------------------


@random(st.lists(st.tuples(st.sampled_from(["supersede", "merge", "restore", "retire"]), *[st.integers(0, 3)] * 2)))
def test_successors_never_form_a_loop(moves: list[tuple[str, int, int]]) -> None:
    """Whatever is tried in whatever order: following successors always ends at a memory that has none."""
    streams: list[list[Event]] = [[remembered(f"mem-{number:04d}", number)] for number in range(4)]

    def state(number: int) -> Memory:
        memory = memories.fold(recorded(f"memory/{number}", streams[number]))
        assert memory is not None
        return memory

    for move, one, other in moves:
        try:
            perform(move, streams, state(one), state(other), one, other)
        except Refused:
            continue
    successors = {state(number).memory_id: state(number).successor for number in range(4)}
    for start in successors:
        seen, at = {start}, successors[start]
        while at is not None:
            assert at not in seen
            seen.add(at)
            at = successors[at]


def perform(move: str, streams: list[list[Event]], old: Memory, new: Memory, one: int, other: int) -> None:
    if move == "supersede":
        streams[one] += memories.supersede(old, new)
    elif move == "retire":
        streams[one] += memories.retire(old, "")
    elif move == "merge":
        ended, gained = memories.merge(old, new)
        streams[one] += ended
        streams[other] += gained
    else:
        streams[one] += memories.restore(old, None, "")[0]


def test_a_stream_that_does_not_begin_with_its_recording_is_refused() -> None:
    assert memories.fold([]) is None
    with pytest.raises(Refused):
        memories.fold(recorded("memory/x", [RETIRED]))
