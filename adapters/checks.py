"""One thing that `tht doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "warn", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, how it is, and what to do about it."""

    name: str
    state: State
    what: str
    mend: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}
