"""Undoing a run of upkeep: every part of it by an event of its own. What somebody changed since is left and named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.closing import Closing
from adapters.ledger import By, Committed, Draft
from adapters.topic_draft import TopicDraft
from adapters.upkeep import BATCH, Part, Ran, Upkeep
from adapters.workspace import Workspace
from domain import belief, conflict_case, hot, topic, upkeep
from domain.belief import belief_stream
from domain.conflict_case import ConflictWithdrawn, conflict_stream
from domain.erasure import TextErased
from domain.errors import Refused, UnknownRun
from domain.event import Envelope
from domain.hot import hot_stream
from domain.policy import policy_stream
from domain.policy_events import PolicyActivated
from domain.topic_events import (
    FactMentioned,
    FactMentionWithdrawn,
    FactProposed,
    FactRestored,
    FactRetired,
    FactSuperseded,
)
from domain.upkeep import Run, RunUndone, What, require_undoable, run_stream
from projections import fact_queries, policies
from projections.beliefs import list_runs
from projections.upkeep import agent_of_item

ENDING = (FactProposed, FactSuperseded, FactRetired, FactRestored, TextErased)
TELLING = (*ENDING, FactMentioned, FactMentionWithdrawn)


@dataclass
class Undoing(Part):
    """A transaction that undoes a part of a run. `commands`: those of the run; `void`: those of other runs that were
    undone, and of their undoing, which together changed nothing. `past`: what was recorded about each fact, by stream.
    """

    commands: frozenset[str] = frozenset()
    void: frozenset[str] = frozenset()
    past: dict[str, dict[str, list[Envelope]]] = field(default_factory=dict)

    def leave(self, record: str) -> None:
        if record not in self.left:
            self.left.append(record)

    def own(self, envelope: Envelope | None) -> bool:
        """Whether the run itself recorded this."""
        return envelope is not None and envelope.correlation_id in self.commands

    def standing(self, envelopes: Sequence[Envelope]) -> list[Envelope]:
        """Without what was undone already, and its undoing."""
        return [one for one in envelopes if one.correlation_id not in self.void]

    def recorded(self, fact_id: str) -> list[Envelope]:
        """What was recorded about a fact and stands, in order, links left out."""
        return self.standing(self.everything(fact_id))

    def everything(self, fact_id: str) -> list[Envelope]:
        """The same with what was undone: a fact that somebody restored may have been proposed by a run that was."""
        stream = self.topics.stream_of(self.topics.fact(fact_id))
        if stream not in self.past:
            found: dict[str, list[Envelope]] = defaultdict(list)
            for envelope in self.draft.load(stream):
                if isinstance(envelope.event, TELLING):
                    found[envelope.event.record].append(envelope)
            self.past[stream] = found
        return self.past[stream].get(fact_id, [])

    def ended_by_the_run(self, fact_id: str) -> bool:
        ends = [one for one in self.recorded(fact_id) if isinstance(one.event, ENDING)]
        return bool(ends) and self.own(ends[-1])


UndoAct = Callable[[Undoing], None]


@dataclass(frozen=True)
class Undo:
    """`token` proves the person who takes the closing of a domain back, where the workspace asks for it."""

    workspace: Workspace
    token: str = ""

    def run(self, run_id: str, by: By, what: What | None = None) -> Ran:
        """Undo a run, of the kind `what` where one is meant. UnknownRun; NothingChanged when it was undone before."""
        kept = Upkeep(self.workspace)
        kept.require_everything(by)
        with kept.alone():
            self.workspace.caught_up()
            return self._undo(run_id, by, what)

    def _undo(self, run_id: str, by: By, what: What | None) -> Ran:
        command = ("upkeep.undo", run_id)
        if by.idempotency_key and (done := self.workspace.ledger.transact(lambda draft: None, by, command)).already:
            return _told(run_id, str(what or ""), done, already=True)
        run = upkeep.fold(self.workspace.ledger.load(run_stream(run_id)))
        if run is None or (what and run.what != what):
            raise UnknownRun(f"there is no run {run_id!r}" + (f" of {what}" if what else ""))
        if run.what == "close":  # what only a person may do is undone by a person, with the same permissions
            Closing(self.workspace, self.token).require(self._domains_of(run), by)
        if run.what == "harvest":
            self._require_last(run)
        acts = list(_acts(require_undoable(run, run_id)))
        left: list[str] = []
        done = Committed(())
        void = self._void()
        for start in range(0, max(1, len(acts)), BATCH):
            last = start + BATCH >= len(acts)
            batch = acts[start : start + BATCH]
            done = self._batch(run, batch, void, left, by if last else _unkeyed(by), command, last=last)
        return _told(run_id, run.what, done, left=tuple(left))

    def _require_last(self, run: Run) -> None:
        """Refused while a later harvest of the same meeting stands: it was decided on what this one left."""
        own, later = self._topics_of(run), False
        for row in reversed(list_runs(self.workspace.file.db)):
            if row.id == run.run_id:
                later = True
            elif later and row.what == "harvest" and not row.undone_by:
                other = upkeep.fold(self.workspace.ledger.load(run_stream(row.id)))
                if other is not None and own & self._topics_of(other):
                    raise Refused(f"a later harvest of the meeting, {row.id}, stands", f"undo {row.id} first")

    def _topics_of(self, run: Run) -> set[str]:
        db = self.workspace.file.db
        facts = [fact_queries.find_fact(db, one) for part in run.parts for one in (*part.proposed, *part.retired)]
        return {fact.stream for fact in facts if fact is not None}

    def _domains_of(self, run: Run) -> list[str]:
        db = self.workspace.file.db
        rules = [policies.find_policy(db, one) for part in run.parts for one in part.deactivated]
        facts = [fact_queries.find_fact(db, one) for part in run.parts for one in part.retired]
        return list(dict.fromkeys(row.domain for row in (*rules, *facts) if row is not None))

    def _void(self) -> frozenset[str]:
        """The commands of every run that was undone, and of its undoing."""
        undone = [row.id for row in list_runs(self.workspace.file.db) if row.undone_by]
        runs = [upkeep.fold(self.workspace.ledger.load(run_stream(run_id))) for run_id in undone]
        return frozenset(command for run in runs if run for command in (*run.commands, *run.undoing))

    def _batch(
        self,
        run: Run,
        acts: Sequence[UndoAct],
        void: frozenset[str],
        left: list[str],
        by: By,
        command: Sequence[object],
        *,
        last: bool,
    ) -> Committed:
        found: list[str] = []

        def work(draft: Draft) -> None:
            part = Undoing(
                TopicDraft(self.workspace, draft), commands=run.commands, void=void | run.undoing, left=list(left)
            )
            stream = run_stream(run.run_id)
            require_undoable(upkeep.fold(draft.load(stream)), run.run_id)
            for act in acts:
                act(part)
            if last or part.draft.added:
                undone = RunUndone(run_id=run.run_id, finished=last, left=tuple(part.left) if last else ())
                draft.append(stream, (undone,))
            found[:] = part.left

        done = self.workspace.ledger.transact(work, by, command)
        left[:] = found
        return done


def _unkeyed(by: By) -> By:
    return replace(by, idempotency_key="")


def _told(run_id: str, what: str, done: Committed, *, left: tuple[str, ...] = (), already: bool = False) -> Ran:
    """What came of it; `left` as it was recorded when the run is undone already."""
    recorded = done.events(RunUndone)
    return Ran(run_id, what, {}, recorded[0].left if recorded else left, done.position, already)


# -- what is undone, the last part first -------------------------------------------------------------------------------


def _acts(run: Run) -> Iterator[UndoAct]:
    conflicts: list[str] = []
    for part in reversed(run.parts):
        items: dict[str, list[str]] = defaultdict(list)
        for item_id, fact_id in part.raised:
            items[fact_id].append(item_id)
        for fact_id, raised in items.items():
            yield partial(_take_back, fact_id, tuple(raised))
        for fact_id in part.proposed:
            yield partial(_take_back, fact_id, ())
        for fact_id in (*part.retired, *part.pruned, *(loser for loser, _ in part.merged)):
            yield partial(_bring_back, fact_id)
        for policy_id in part.deactivated:
            yield partial(_activate, policy_id)
        for item_id in part.expired:
            yield partial(_return, item_id, "expired")
        for belief_id in (*part.formed, *part.revised, *part.withdrawn):
            yield partial(_believe_as_before, belief_id)
        conflicts += part.conflicts
    for conflict_id in conflicts:
        yield partial(_withdraw, conflict_id)


def _bring_back(fact_id: str, part: Undoing) -> None:
    if part.topics.fact(fact_id).live:
        return
    if part.ended_by_the_run(fact_id):
        part.topics.restore(fact_id)
    else:
        part.leave(fact_id)


def _activate(policy_id: str, part: Undoing) -> None:
    """A policy as it was before its domain was closed, unless somebody has changed it since."""
    stream = policy_stream(policy_id)
    recorded = part.draft.load(stream)
    if recorded and part.own(recorded[-1]):
        part.draft.append(stream, (PolicyActivated(policy_id=policy_id),))
    else:
        part.leave(policy_id)


def _take_back(fact_id: str, items: Sequence[str], part: Undoing) -> None:
    """A fact that the run proposed or mentioned, for the sake of these items."""
    if _unsaid(fact_id, part):
        for item_id in items:
            _return(item_id, "raised", part)
    else:
        for record in (fact_id, *items):
            part.leave(record)


def _unsaid(fact_id: str, part: Undoing) -> bool:
    """Take a fact or its mentions back; False, and nothing done, when somebody has said or changed it since."""
    recorded = part.recorded(fact_id)
    since = next((at for at, one in enumerate(recorded) if part.own(one)), len(recorded))
    if since == len(recorded) or not all(part.own(one) for one in recorded[since:]):
        return False
    stream = part.topics.stream_of(part.topics.fact(fact_id))
    if isinstance(recorded[since].event, FactProposed):
        if part.topics.fact(fact_id).live:
            part.topics.append(stream, (topic.retire(part.topics.fact(fact_id), "undone"),))
        for other in _given_way(stream, fact_id, part):
            part.topics.restore(other)
        return True
    for at in reversed(range(since, len(recorded))):
        event = recorded[at].event
        if isinstance(event, FactMentioned) and not event.echoed:
            earlier = [one for one in part.everything(fact_id) if one.position < recorded[at].position]
            before = topic.fold(stream, earlier).facts[fact_id]
            part.topics.append(stream, (topic.withdraw_mention(part.topics.fact(fact_id), before),))
    return True


def _given_way(stream: str, to: str, part: Undoing) -> list[str]:
    """The facts of a stream that the run superseded by one that is taken back."""
    found = []
    for fact_id in part.past[stream]:
        ends = [one for one in part.recorded(fact_id) if isinstance(one.event, ENDING)]
        last = ends[-1].event if ends else None
        if isinstance(last, FactSuperseded) and last.by == to and part.own(ends[-1]) and fact_id != to:
            found.append(fact_id)
    return found


def _return(item_id: str, state: hot.State, part: Undoing) -> None:
    """An item in mind again, if it still is as the run made it."""
    stream = hot_stream(agent_of_item(part.topics.workspace.file.db, item_id))
    item = part.item(stream, item_id)
    if item.state == state:
        part.append(stream, (hot.give_back(item),))
    elif item.state != "held":
        part.leave(item_id)


def _believe_as_before(belief_id: str, part: Undoing) -> None:
    stream = belief_stream(belief_id)
    everything = part.draft.load(stream)
    recorded = part.standing(everything)
    own = [at for at, one in enumerate(recorded) if part.own(one)]
    now = belief.fold(everything)
    if now is None or not own or own[-1] != len(recorded) - 1:
        part.leave(belief_id)
        return
    earlier = [one for one in everything if one.position < recorded[own[0]].position]  # what other undoings left, too
    before = belief.fold(earlier) or replace(now, live=False)
    part.append(stream, belief.become(now, before))


def _withdraw(conflict_id: str, part: Undoing) -> None:
    """A conflict that the run found, unless somebody decided it, or one of its facts stays because of that run."""
    stream = conflict_stream(conflict_id)
    recorded = part.draft.load(stream)
    conflict = conflict_case.fold(recorded)
    if conflict is None or conflict.state == "withdrawn":
        return
    standing = part.standing(recorded)
    if not standing or not part.own(standing[-1]) or set(conflict.facts) & set(part.left):
        part.leave(conflict_id)
    else:
        part.append(stream, (ConflictWithdrawn(conflict_id=conflict_id),))
