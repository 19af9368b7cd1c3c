"""Every voice answers as of another time. S-30."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.curation import Curation
from adapters.fact_reading import NOW, Moment, moment_of
from adapters.indexing import Indexing
from adapters.workspace import Workspace
from domain.event import iso_utc
from projections.recall.question import MODES
from projections.record import Record
from tests.adapters.recalling.conftest import ADA, Clock, fact, ids, search
from tests.crash.soundness import open_session, promote_all


@pytest.mark.parametrize("mode", MODES)
def test_s30_every_voice_answers_as_of_the_past(one: Workspace, clock: Clock, mode: str) -> None:
    """S-30: what was superseded is found, by vectors too, as of when it held; and not what was not known then."""
    old = fact(one, "the owner of the rota is Ada", "on call")
    Indexing(one).rebuild()
    clock.now += timedelta(days=9)
    then = one.ledger.head().position
    new = fact(one, "the owner of the rota is Bo", "on call")
    Indexing(one).catch_up()
    clock.now += timedelta(days=30)
    for moment, expected in (
        (NOW, new),
        (Moment(at="2026-01-05T00:00:00.000000Z"), old),
        (Moment(at="2026-01-15T00:00:00.000000Z"), new),
        (Moment(position=then), old),
        (moment_of(one, known_at="2026-01-05T00:00:00Z"), old),
        (moment_of(one, known_at="2026-01-05T00:00:00Z", at="2026-02-01T00:00:00Z"), old),
    ):
        answer = search(one, "who owns the rota", mode, moment=moment)
        assert ids(answer) == [expected], moment
        assert set(answer.voices.values()) == {"ran"}
        assert (answer.hits[0].hit.why.heard.cosine is not None) == (mode != "keyword"), moment


@pytest.mark.parametrize("mode", MODES)
def test_memories_as_they_were_at_a_position(one: Workspace, mode: str) -> None:
    open_session(one, "s", ["ablation", "recurrence"])
    first, _ = promote_all(one, "s")
    Indexing(one).rebuild()
    both = one.ledger.head().position
    Curation(one).retire(first, ADA)
    assert first not in ids(search(one, "ablation", mode, kind="memory"))
    answer = search(one, "ablation", mode, kind="memory", moment=Moment(position=both))
    assert ids(answer)[0] == first
    assert isinstance(answer.hits[0].record, Record)
    assert answer.hits[0].record.subject == "ablation"


@pytest.mark.parametrize("mode", MODES)
def test_s30_a_memory_that_was_replaced_is_what_held_before(one: Workspace, clock: Clock, mode: str) -> None:
    """S-30."""
    open_session(one, "s", ["ablation", "recurrence"])
    first, second = promote_all(one, "s")
    before = iso_utc(clock.now + timedelta(days=1))
    clock.now += timedelta(days=10)
    Curation(one).supersede(first, second, ADA)
    told = search(one, "ablation recurrence", mode, kind="memory", moment=Moment(at=before))
    assert set(ids(told)) == {first, second}
    assert ids(search(one, "ablation recurrence", mode, kind="memory")) == [second]
