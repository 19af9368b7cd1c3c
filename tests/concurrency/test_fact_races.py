"""Races between real processes over facts: two that contradict each other cannot both miss it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.health import Health
from adapters.ledger import By
from adapters.workspace import Workspace
from domain.access import DomainCreated
from domain.conflict_case import ConflictFound
from domain.propose import NewFact
from domain.topic_events import FactMentioned, FactProposed, FactSuperseded
from projections.conflicts import list_conflicts
from projections.fact_queries import FactRow
from projections.scope import Reader, everything
from tests.concurrency import fact_rounds
from tests.concurrency.together import together
from tests.crash.soundness import assert_views_equal_a_replay, make_home, open_home

pytestmark = pytest.mark.posix
RACES = 12


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


@pytest.fixture
def after(home: Path) -> Iterator[Workspace]:
    """The workspace as it is opened when the processes are done, and sound when the test is."""
    with open_home(home) as workspace:
        yield workspace
        workspace.caught_up()
        assert_views_equal_a_replay(workspace)
        assert Health(workspace).verify(with_index=False).findings == ()


def facts_of(workspace: Workspace, topic: str, status: str = "") -> list[FactRow]:
    found = FactReading(workspace, Reader("human:ada")).list(status=status).facts
    return [fact for fact in found if fact.topic == topic]


def test_s35_of_two_that_contradict_each_other_one_is_live(home: Path, after: Workspace) -> None:
    """S-35: whoever comes second meets the first: the later wins the tie, and the pair has one conflict."""
    one, other = together(fact_rounds.contradict, home, processes=2, rounds=RACES)
    assert {outcome for outcome, _ in (*one, *other)} == {"proposed"}
    for turn in range(RACES):
        first, second = facts_of(after, f"api {turn}")
        assert {first.id, second.id} == {one[turn][1], other[turn][1]}
        assert (first.status, first.superseded_by, second.status) == ("superseded", second.id, "live")
    rows, total = list_conflicts(after.file.db, everything())
    assert total == RACES
    assert {row.winner for row in rows} == {facts_of(after, f"api {turn}", "live")[0].id for turn in range(RACES)}
    events = [envelope.event for envelope in after.ledger.everything()]
    counts = {kind: sum(isinstance(event, kind) for event in events) for kind in (FactProposed, FactSuperseded)}
    assert counts == {FactProposed: 2 * RACES, FactSuperseded: RACES}
    assert sum(isinstance(event, ConflictFound) for event in events) == RACES


def test_two_that_say_the_same_are_one_fact_with_one_mention(home: Path, after: Workspace) -> None:
    one, other = together(fact_rounds.say_the_same, home, processes=2, rounds=RACES)
    for turn in range(RACES):
        assert sorted((one[turn][0], other[turn][0])) == ["mentioned", "proposed"]
        assert one[turn][1] == other[turn][1]
        (fact,) = facts_of(after, f"sessions {turn}")
        assert (fact.id, fact.status, fact.mention_count) == (one[turn][1], "live", 1)
        assert FactReading(after, Reader("human:ada")).get(fact.id)["independent_origins"] == 2
    mentions = [one for one in after.ledger.everything() if isinstance(one.event, FactMentioned)]
    assert len(mentions) == RACES


def test_ten_that_propose_to_a_new_domain_make_it_once(home: Path, after: Workspace) -> None:
    answers = together(fact_rounds.begin_a_domain, home, processes=10, rounds=3)
    assert {answer[0] for one in answers for answer in one} == {"proposed"}
    assert len({answer[1] for one in answers for answer in one}) == 30
    made = [one.event.domain for one in after.ledger.everything() if isinstance(one.event, DomainCreated)]
    assert sorted(made) == ["new-0", "new-1", "new-2"]
    assert FactReading(after, Reader("human:ada")).list().total == 30


def test_two_facts_are_not_put_in_the_place_of_each_other(home: Path, after: Workspace) -> None:
    """Across topics as well: one is superseded, the other is told why not, and no circle comes of it."""
    by = By("human:ada")
    for turn in range(RACES):
        pair = [
            Facts(after).propose("ops", NewFact(text, f"{topic} {turn}", by.actor), by)[0].fact_id
            for topic, text in (("rota", "Ada has the rota"), ("pager", "Bo carries the pager"))
        ]
        after.config.path.with_name(f"pair-{turn}").write_text(" ".join(pair))
    one, other = together(fact_rounds.supersede_each_other, home, processes=2, rounds=RACES)
    for turn in range(RACES):
        told = sorted(answer.partition(":")[0] for answer in (one[turn], other[turn]))
        assert told in (["FactNotLive", "superseded"], ["SupersessionLoop", "superseded"])
        both = facts_of(after, f"rota {turn}") + facts_of(after, f"pager {turn}")
        assert sorted(fact.status for fact in both) == ["live", "superseded"]
