"""Facts of one topic and their conflicts, step by step: nothing is edited or lost, what gave way says to what."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from adapters.conflicts import Conflicts
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from domain.errors import ThtError
from domain.propose import NewFact
from projections.scope import Reader
from tests.stateful.machine import Machine, run

SAID = tuple(
    [f"Redis holds sessions for {number} minutes" for number in (15, 30, 45)]
    + [f"The gateway listens on port {number}" for number in (8080, 8443)]
    + ["Backups run every night", "Backups do not run every night"]
)
AGENTS = st.sampled_from(["agent:coder-1", "agent:critic", "human:ada"])
CHOICES: Any = st.sampled_from(["decide", "decide", "keep_both", "ask", "ask", "supersede"])
CHOICE = st.integers(0, 1000)
OPEN = ("open", "moot")  # moot: one of the two is not live any more
PERSON, AGENT = "human:ada", "agent:coder-1"


class FactMachine(Machine):
    """`first`: what each fact said, and who, when it was first seen."""

    @initialize()
    def begin(self) -> None:
        self.first: dict[str, tuple[str, str]] = {}
        self.facts, self.conflicts = Facts(self.workspace), Conflicts(self.workspace)
        self.reading = FactReading(self.workspace, Reader(PERSON))
        for said in SAID[:2]:
            self.propose(said, AGENT, "ask")

    # -- saying

    @rule(said=st.sampled_from(SAID), actor=AGENTS, choice=CHOICES)
    def propose(self, said: str, actor: str, choice: Any) -> None:
        live = {self.first[one][0] for one, row in self._rows().items() if row.status == "live"}
        new = NewFact(said, "what holds", actor)
        answer = self.tried(actor, lambda by: self.facts.propose("architecture", new, by, on_conflict=choice))
        assert not isinstance(answer, ThtError), answer
        outcome = answer[0]
        assert (outcome.outcome == "mentioned") == (said in live), "what is live is mentioned, not said again"
        if outcome.fact_id not in self.first:
            self.first[outcome.fact_id] = (said, actor)
        assert self.first[outcome.fact_id][0] == said
        if choice in ("keep_both", "ask"):
            assert outcome.superseded == ()

    # -- what a person or an agent does to one

    @rule(old=CHOICE, new=CHOICE)
    def supersede(self, old: int, new: int) -> None:
        one, other = self._fact(old), self._fact(new)
        before = self._rows()
        answer = self.tried(PERSON, lambda by: self.facts.supersede(one, other, by))
        both_live = before[one].status == before[other].status == "live"
        assert isinstance(answer, ThtError) == (one == other or not both_live), answer
        if not isinstance(answer, ThtError):
            self._became(one, "superseded", other)

    @rule(which=CHOICE)
    def retire(self, which: int) -> None:
        fact = self._fact(which)
        before = self._rows()[fact].status
        answer = self.tried(PERSON, lambda by: self.facts.retire(fact, by))
        assert isinstance(answer, ThtError) == (before != "live")
        if not isinstance(answer, ThtError):
            self._became(fact, "retired", "")

    @rule(which=CHOICE)
    def restore(self, which: int) -> None:
        fact = self._fact(which)
        before = self._rows()[fact].status
        answer = self.tried(PERSON, lambda by: self.facts.restore(fact, by))
        assert isinstance(answer, ThtError) == (before == "live")
        if not isinstance(answer, ThtError):
            self._became(fact, "live", "")

    def _became(self, fact: str, status: str, by: str) -> None:
        row = self._rows()[fact]
        assert (row.status, row.superseded_by or "") == (status, by)

    # -- conflicts

    @precondition(lambda self: self._known())
    @rule(which=CHOICE, side=st.integers(0, 1))
    def keep(self, which: int, side: int) -> None:
        conflict = self._conflict(which)
        kept, lost = conflict.facts[side], conflict.facts[1 - side]
        answer = self.tried(PERSON, lambda by: self.conflicts.keep(conflict.id, kept, by))
        if not isinstance(answer, ThtError):
            rows = self._rows()
            assert (rows[kept].status, rows[lost].status != "live") == ("live", True)
            assert self._states()[conflict.id] == ("kept", kept)

    @precondition(lambda self: self._known())
    @rule(which=CHOICE)
    def keep_both(self, which: int) -> None:
        conflict = self._conflict(which)
        answer = self.tried(PERSON, lambda by: self.conflicts.keep_both(conflict.id, by))
        if not isinstance(answer, ThtError):
            assert {self._rows()[one].status for one in conflict.facts} == {"live"}
            assert self._states()[conflict.id][0] == "both"

    @precondition(lambda self: self._known())
    @rule(which=CHOICE)
    def reopen(self, which: int) -> None:
        conflict = self._conflict(which)
        answer = self.tried(PERSON, lambda by: self.conflicts.reopen(conflict.id, by))
        assert isinstance(answer, ThtError) == (conflict.state in OPEN), answer
        if not isinstance(answer, ThtError):
            assert self._states()[conflict.id][0] in OPEN

    @precondition(lambda self: self._known())
    @rule(which=CHOICE)
    def an_agent_decides_no_conflict(self, which: int) -> None:
        conflict = self._conflict(which)
        answer = self.tried(AGENT, lambda by: self.conflicts.keep(conflict.id, conflict.facts[0], by))
        assert isinstance(answer, ThtError)

    # -- parts

    def _rows(self) -> dict[str, Any]:
        self.workspace.caught_up()
        return {one: self.reading.row(one) for one in self.first}

    def _known(self) -> list[Any]:
        self.workspace.caught_up()
        return self.conflicts.list(Reader(PERSON), state="")[0]

    def _states(self) -> dict[str, tuple[str, str]]:
        return {one.id: (one.state, one.winner or "") for one in self._known()}

    def _fact(self, which: int) -> str:
        return list(self.first)[which % len(self.first)]

    def _conflict(self, which: int) -> Any:
        known = sorted(self._known(), key=lambda one: one.id)
        return known[which % len(known)]

    # -- what must hold

    @invariant()
    def no_fact_was_edited_and_the_loser_stays_readable(self) -> None:
        """Invariant 5."""
        for fact, row in self._rows().items():
            assert (row.content, row.author) == self.first[fact]
            if row.status == "superseded":
                history = [one.event.kind for one in self.reading.history(fact)]
                assert history[0] == "fact_proposed"
                assert "fact_superseded" in history

    @invariant()
    def whoever_gave_way_says_to_what_and_never_in_a_circle(self) -> None:
        rows = self._rows()
        for fact, row in rows.items():
            assert bool(row.superseded_by) == (row.status == "superseded")
            seen = [fact]
            while following := rows[seen[-1]].superseded_by:
                assert following not in seen
                seen.append(following)

    @invariant()
    def what_is_listed_is_what_is_live(self) -> None:
        live = {fact for fact, row in self._rows().items() if row.status == "live"}
        assert {one.id for one in self.reading.list().facts} == live

    @invariant()
    def a_pair_has_one_conflict_and_one_who_lost_it_is_not_live(self) -> None:
        rows, known = self._rows(), self._known()
        pairs = [frozenset(one.facts) for one in known]
        assert len(pairs) == len(set(pairs))
        for one in known:
            if one.state in ("kept", "decided"):
                assert {rows[fact].status for fact in one.facts} != {"live"}, one


def test_facts_and_conflicts_do_what_they_were_told_whatever_comes_next() -> None:
    run(
        FactMachine,
        "propose supersede retire restore keep keep_both reopen",
        "NothingChanged FactNotLive Refused ReviewerNeeded",
        lives=10,
    )
