"""What was shown to whom: a light event a search, ids only, on a stream of its own for each actor."""

from __future__ import annotations

from domain.event import Event


class MemoriesShown(Event, name="recall.memories-shown"):
    refs: tuple[str, ...]  # memory:mem-0001, best first
    session_id: str = ""
    mode: str = ""  # which search


class FactsShown(Event, name="recall.facts-shown"):
    refs: tuple[str, ...]  # fact ids, best first
    session_id: str = ""
    mode: str = ""  # search, show, preamble


def reads_stream(actor: str) -> str:
    return f"reads/{actor}"
