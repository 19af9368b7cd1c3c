"""`tht maintain`: upkeep on a schedule, in the foreground, for those who want one. Clock and waiting are passed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from adapters.consolidate import Consolidate
from adapters.harmonize import Harmonize
from adapters.ledger import By
from adapters.locks import alone
from adapters.upkeep import Ran
from adapters.workspace import Workspace
from domain.errors import InvalidInput, NothingChanged, ThtError
from domain.event import iso_utc

SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(days=365)
_EVERY = re.compile(r"(\d{1,6})\s*([mhd])")
_UNIT = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

Open = Callable[[], AbstractContextManager[Workspace]]
Wait = Callable[[float], bool]  # for so many seconds; whether to stop


@dataclass(frozen=True, slots=True)
class Turn:
    """One run on the schedule: what it did, or why not. `at` is ISO 8601 in UTC."""

    at: str
    what: str
    ran: Ran | None
    error: ThtError | None

    @property
    def failed(self) -> bool:
        return self.error is not None and not isinstance(self.error, NothingChanged)

    @property
    def text(self) -> str:
        if self.ran is None:
            return f"{self.at} {self.what}: {self.error.message if self.error else ''}"
        did = ", ".join(f"{len(done)} {name}" for name, done in self.ran.did.items())
        return f"{self.at} {self.what}: {did} ({self.ran.run_id})"

    def as_json(self) -> dict[str, Any]:
        error = (
            {"type": self.error.type, "message": self.error.message, "hint": self.error.hint} if self.error else None
        )
        return {"at": self.at, "what": self.what, "ran": self.ran.as_json() if self.ran else None, "error": error}


@dataclass(frozen=True)
class Maintain:
    """`open_workspace` opens it anew for every turn, so that a restore or another program's rebuild is no hindrance."""

    open_workspace: Open
    by: Callable[[Workspace], By]
    clock: Callable[[], datetime]
    wait: Wait

    def turns(self, every: timedelta, *, once: bool = False) -> Iterator[Turn]:
        """Consolidate and harmonize, then wait, until told to stop. HomeNotWritable while another one maintains."""
        with self.open_workspace() as workspace:
            lock = workspace.paths.maintain_lock
        with alone(lock, "another tht maintain runs for this workspace", wait=0.0):
            while True:
                begun = self.clock()
                for what, run in (("consolidate", _consolidate), ("harmonize", _harmonize)):
                    yield self._turn(what, run)
                    if self.wait(0.0):
                        return
                left = (begun + every - self.clock()).total_seconds()
                if once or self.wait(max(0.0, left)):
                    return

    def _turn(self, what: str, run: Callable[[Workspace, By], Ran]) -> Turn:
        at = iso_utc(self.clock())
        try:
            with self.open_workspace() as workspace:
                return Turn(at, what, run(workspace, self.by(workspace)), None)
        except ThtError as error:  # told, and no reason for the other one not to run
            return Turn(at, what, None, error)


def _consolidate(workspace: Workspace, by: By) -> Ran:
    return Consolidate(workspace).run(by)


def _harmonize(workspace: Workspace, by: By) -> Ran:
    return Harmonize(workspace).run(by)


def parse_every(text: str) -> timedelta:
    """`30m`, `6h`, `2d`: from a minute to a year. InvalidInput for anything else."""
    found = _EVERY.fullmatch(text.strip().lower())
    if not found:
        raise InvalidInput(f"{text!r} is no interval", "write 30m, 6h or 2d")
    every = int(found[1]) * _UNIT[found[2]]
    if not SHORTEST <= every <= LONGEST:
        raise InvalidInput(f"{text!r} is out of reach", "from 1m to 365d")
    return every
