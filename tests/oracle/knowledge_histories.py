"""Random histories of valid and invalid commands on workspace knowledge, carried out through the public adapters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from adapters.workspace import Workspace
from domain.errors import ReviewerNeeded, SelfReview
from tests.oracle.histories import hasty_workspace, refusal
from tests.oracle.knowledge_commands import Commands
from tests.oracle.knowledge_fact_commands import Clock
from tests.oracle.knowledge_oracle import Data

Op = tuple[str, int]

# Weights by repetition: what makes facts and brings them together is drawn most.
VERBS = (
    *("propose",) * 26,
    *("policy", "policy", "grant", *("activate",) * 5),
    *("search", "supersede", "restore", "policy", "consolidate", "harmonize", "undo") * 4,
    *("correct", "retire", "keep", "keep_both", "merge", "link", "remember", "grant", "activate") * 3,
    *("harvest", "observe", "notes", "erase", "reopen", "unlink", "policy_supersede", "deactivate") * 2,
    *("confide", "confide", "wait", "wait", "preamble", "domain", "retry", *("echo",) * 5),
)
STANDING_REFUSALS = (SelfReview, ReviewerNeeded)


def ops_of(seed: int, length: int) -> list[Op]:
    """The first `length` operations that a seed stands for: drawn evenly, and shrunk from the end."""
    chance = Random(seed)
    verbs = [*["domain"] * 2, *["propose"] * 6, *(chance.choice(VERBS) for _ in range(length - 8))]
    return [(verb, chance.randrange(2**32)) for verb in verbs]


HISTORIES = st.builds(ops_of, st.integers(0, 2**32 - 1), st.integers(40, 80))


def told(workspace: Workspace, after: int = 0) -> list[Data]:
    """The ledger as the oracle reads it."""
    return [
        {
            "position": one.position,
            "stream": one.stream,
            "kind": one.event.kind,
            "at": one.at.isoformat(),
            "actor": one.actor,
            "role": one.role,
            "reason": one.reason,
            "command": one.correlation_id,
            "data": one.event.model_dump(mode="json"),
        }
        for one in workspace.ledger.page(after, 10**6)
    ]


def workspace_with_a_clock(home: Path) -> tuple[Workspace, Clock]:
    workspace, clock = hasty_workspace(home), Clock()
    workspace.clock = workspace.ledger.clock = clock
    return workspace, clock


@dataclass
class History(Commands):
    """Carries operations out one by one and checks what each may have written, and some of what it must answer."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def run(self, ops: list[Op]) -> None:
        for verb, seed in ops:
            self.step(verb, Random(seed))

    def step(self, verb: str, chance: Random) -> None:
        """A refused command and a dry run write nothing, but that somebody tried to let a policy in."""
        self.dry = chance.randrange(12) == 0 and verb != "preamble"
        head = self.workspace.ledger.head().position
        error = refusal(getattr(self, f"_{verb}")(chance))
        written = told(self.workspace, head)
        self.events += written
        if error is None:
            self.accepted[verb] += not self.dry
            assert not (self.dry and written), f"a dry run of {verb} wrote"
            return
        self.refused[error.type] += 1
        kinds = {one["kind"] for one in written}
        noted = verb == "activate" and isinstance(error, STANDING_REFUSALS) and not self.dry
        assert kinds <= ({"policy_activation_refused"} if noted else set()), (verb, error)
