"""A node that follows a ledger: its own views brought up whenever somebody, anywhere, has recorded something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adapters.workspace import Workspace
from domain.errors import LedgerUnavailable

LOOK = 1.0  # seconds after which a follower looks whether it is to stop


@dataclass(frozen=True)
class Following:
    workspace: Workspace

    def follow(self, stopped: Callable[[], bool], reached: Callable[[int], None] = lambda position: None) -> None:
        """Bring the views up again and again, until `stopped` says so; `reached` is told each new position."""
        with self.workspace.ledger.recorder.waiting() as waiting:
            position = -1
            while not stopped():
                with self.workspace.snapshot() as (_, now):
                    pass
                self.workspace.clean_after_erasures()
                if now != position:
                    position = now
                    reached(position)
                waiting.wait(position, LOOK)

    def wait_for(self, position: int, seconds: float) -> int:
        """Read what was written elsewhere: the views, at least at a position that another node was told.

        Returns where they are; LedgerUnavailable when the ledger does not have the position in time.
        """
        with self.workspace.ledger.recorder.waiting() as waiting:
            if not waiting.wait(position - 1, seconds):
                head = self.workspace.ledger.head().position
                raise LedgerUnavailable(
                    f"the ledger is at position {head:,}, and {position:,} did not come within {seconds:g} s",
                    "look whether both nodes follow the same ledger: tht ledger head --json",
                )
        with self.workspace.snapshot() as (_, reached):
            return reached
