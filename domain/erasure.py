"""Erased: must not be readable any more. The one event of it, whatever kind of record it is about."""

from __future__ import annotations

from domain.event import ERASED, Event
from domain.text import memory_number

__all__ = ["ERASED", "TextErased"]


class TextErased(Event, name="erasure.text-erased"):
    """The sealed text of one record on this stream was made unreadable: with this event its keys were destroyed.

    `record` is what the sealed events call it: `mem-0001`, `SESSION:SEQ`, `session:ID`. `about`: whom it was about.
    """

    record: str
    about: str = ""

    @property
    def memory_id(self) -> str:
        """The memory that was erased, for whatever lists events by memory; "" when it is another record."""
        return self.record if memory_number(self.record) is not None else ""
