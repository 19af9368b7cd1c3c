"""An agent's own notes: one free text that it replaces, and observations that it adds. Nobody else reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from domain.erasure import TextErased
from domain.errors import NothingChanged
from domain.event import ERASED, Envelope, Event
from domain.ids import short_id
from domain.text import accept_text, actor_key

NOTES_LIMIT = 20_000  # characters: every dispatch carries them
OBSERVATION_LIMIT = 20_000
PREFIX = "notes/"


class NotesUpdated(Event, name="notes.notes-updated"):
    """The whole text anew; empty takes it away."""

    sealed: ClassVar[tuple[str, ...]] = ("text",)
    private: ClassVar[bool] = True

    text: str

    def record_in(self, stream: str) -> str:
        return notes_record(stream.removeprefix(PREFIX))


class ObservationRecorded(Event, name="notes.observation-recorded"):
    """Something seen on the way. Its id can be named as the source of a fact."""

    sealed: ClassVar[tuple[str, ...]] = ("text",)
    private: ClassVar[bool] = True

    observation_id: str
    text: str

    @property
    def record(self) -> str:
        return self.observation_id


@dataclass(frozen=True, slots=True)
class Notes:
    """`observations`: how many there ever were. `erased`: the text was erased, which is not the same as empty."""

    stream: str
    text: str = ""
    observations: int = 0
    erased: bool = False


def notes_stream(actor: str) -> str:
    return f"{PREFIX}{actor_key(actor)}"


def notes_record(actor: str) -> str:
    """How an erasure names an agent's text, all of its versions so far; observations are records of their own."""
    return f"notes:{actor_key(actor)}"


def fold(stream: str, envelopes: Iterable[Envelope]) -> Notes:
    text, observations, erased = "", 0, False
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, NotesUpdated):
            text, erased = event.text, envelope.erased
        elif isinstance(event, ObservationRecorded):
            observations += 1
        elif isinstance(event, TextErased) and event.record == notes_record(stream.removeprefix(PREFIX)):
            text, erased = ERASED, True
    return Notes(stream, text, observations, erased)


def update(notes: Notes, text: str) -> NotesUpdated:
    """The notes with another text, verbatim. NothingChanged when they say it already."""
    accepted = accept_text(text, "notes", limit=NOTES_LIMIT)
    if accepted == notes.text and not notes.erased:
        raise NothingChanged("the notes say this already")
    return NotesUpdated(text=accepted)


def observe(notes: Notes, text: str) -> ObservationRecorded:
    """One more observation, whose id follows from its place."""
    accepted = accept_text(text, "observation", limit=OBSERVATION_LIMIT, required=True).strip()
    number = str(notes.observations + 1)
    return ObservationRecorded(observation_id=short_id("obs", notes.stream, number), text=accepted)
