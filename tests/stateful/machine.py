"""What the state machines share: a workspace that does not wait for the disk, and what must hold after every step."""

from __future__ import annotations

import inspect
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from adapters.health import Health
from adapters.ledger import By
from domain.errors import ThtError
from projections.invariants import broken_invariants
from tests.oracle.histories import hasty_workspace, refusal

T = TypeVar("T")

# A failing history is printed as it was found, of at most 25 steps: to shorten it takes minutes.
BOUNDED = settings(
    stateful_step_count=25,
    phases=(Phase.generate,),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


class Machine(RuleBasedStateMachine):
    """`tried` carries a command out twice under one key: a refusal writes nothing, a retry writes nothing again."""

    accepted: ClassVar[Counter[str]]
    refused: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = hasty_workspace(Path(self.folder.name))
        self.keys = itertools.count()

    def teardown(self) -> None:
        try:
            assert Health(self.workspace).verify(with_index=False).findings == ()
        finally:
            self.workspace.close()
            self.folder.cleanup()

    def tried(self, actor: str, command: Callable[[By], T], role: str = "", noted: str = "") -> T | ThtError:
        """The answer or the refusal. `noted`: the kind of event that may record that somebody was refused."""
        by = By(actor, role, "", f"key-{next(self.keys)}")
        frame = inspect.currentframe()
        verb = frame.f_back.f_code.co_name if frame and frame.f_back else ""
        answers: list[T] = []
        before = self.workspace.ledger.head()
        error = refusal(lambda: answers.append(command(by)))
        if error is not None:
            written = [one.event.kind for one in self.workspace.ledger.page(before.position)]
            assert written in ([], [noted]), error
            self.refused[error.type] += 1
            return error
        assert self.workspace.ledger.head().position > before.position, "accepted, and nothing recorded"
        after = self.workspace.ledger.head()
        command(by)
        assert self.workspace.ledger.head() == after, "a retry recorded something"
        self.accepted[verb] += 1
        return answers[0]

    @invariant()
    def the_invariants_of_the_ledger_hold(self) -> None:
        assert list(broken_invariants(self.workspace.ledger.page(0, 100_000))) == []


def run(machine: type[Machine], rules: str, refusals: str, *, lives: int = 20) -> None:
    """Some short lives of the machine; each of these rules was accepted in one, and each refusal happened, else they
    prove little."""
    machine.accepted, machine.refused = Counter(), Counter()
    run_state_machine_as_test(machine, settings=settings(BOUNDED, max_examples=lives))
    assert set(rules.split()) - set(machine.accepted) == set(), machine.accepted
    assert set(refusals.split()) - set(machine.refused) == set(), machine.refused
