"""How far a home is clean of what was erased: in a file of its own, as views, index and cache may be made anew."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from adapters.files import replace_file
from domain.event import iso_utc

RETRY = timedelta(seconds=60)  # a home that cannot be cleaned now is not tried again by each command


@dataclass(frozen=True, slots=True)
class Purged:
    """Nothing of what was erased up to the position `reached` is in the home's files. `problem`: why the last try to
    get further failed, `tried_at` (ISO, UTC) when; both empty after one that did not."""

    reached: int = 0
    tried_at: str = ""
    problem: str = ""

    @classmethod
    def load(cls, path: Path) -> Purged:
        """Of a home that was never cleaned, or whose file cannot be understood: nothing is known to be clean."""
        try:
            found = json.loads(path.read_text("utf-8"))
            return cls(int(found["reached"]), str(found["tried_at"]), str(found["problem"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return cls()

    def save(self, path: Path) -> None:
        replace_file(path, json.dumps(asdict(self)).encode())

    def rests(self, now: datetime) -> bool:
        """Whether it failed a moment ago."""
        return bool(self.tried_at) and iso_utc(now - RETRY) < self.tried_at <= iso_utc(now)
