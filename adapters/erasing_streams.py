"""What one erasure asks the ledger: each stream is decoded once for it, and the whole ledger at most once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cached_property

from adapters.chain import Sealed
from adapters.ledger import Draft
from domain.erasure import TextErased
from domain.errors import UnknownRecord
from domain.event import Envelope, Event, stream_id
from domain.session_events import PREFIX

NAMED = 3  # subjects that a message about an unknown one names


class Streams:
    """A command's reading while it is being decided; another attempt at the command reads anew."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._ledger = draft.ledger
        self._loaded: dict[str, list[Envelope]] = {}
        self._erased: dict[str, frozenset[str]] = {}
        self._unsealed: dict[str, dict[str, list[int]]] = {}

    def load(self, stream: str) -> list[Envelope]:
        """The recorded events of a stream, which nobody may append to before this command does."""
        if stream not in self._loaded:
            self._loaded[stream] = self._draft.load(stream)
        return self._loaded[stream]

    def is_erased(self, record: str, stream: str) -> bool:
        """Whether an erasure of the record stands on the stream."""
        if stream not in self._erased:
            events = (one.event for one in self.load(stream))
            self._erased[stream] = frozenset(one.record for one in events if isinstance(one, TextErased))
        return record in self._erased[stream]

    def unsealed(self, record: str, stream: str) -> list[int]:
        """Positions on the stream that hold the record's text in the clear."""
        if stream not in self._unsealed:
            self._unsealed[stream] = self._ledger.unsealed(stream)
        return self._unsealed[stream].get(record, [])

    def keys(self, record: str, stream: str) -> list[Sealed]:
        """Where the record's text on the stream can still be read."""
        return self._ledger.recorder.sealed_places(record, stream=stream_id(stream))

    def events_at(self, positions: Collection[int]) -> list[Event]:
        """The events at positions of streams that were loaded."""
        wanted = frozenset(positions)
        return [one.event for loaded in self._loaded.values() for one in loaded if one.position in wanted]

    def holding(self, record: str) -> list[str]:
        """The streams, other than sessions, that hold a text of a record, or held one. UnknownRecord where none does.

        Where no key of it is left and no erasure tells, the whole ledger is asked.
        """
        streams = {self._ledger.at(one.position).stream for one in self._ledger.recorder.sealed_places(record)}
        streams |= self._erasures.get(record, set())
        found = {one for one in streams or self._anywhere.get(record, set()) if not one.startswith(PREFIX)}
        if not found:
            raise UnknownRecord(f"there is no record {record!r}")
        return sorted(found)

    def about(self, subject: str) -> tuple[str, ...]:
        """Every record about a subject, erased ones included. UnknownRecord names subjects that are written alike."""
        held = [one.record for one in self._ledger.recorder.sealed_places(about=subject)]
        found = tuple(dict.fromkeys((*held, *self._gone.get(subject, ()))))
        if not found:
            raise UnknownRecord(f"nothing is recorded about {subject!r}", self._near(subject))
        return found

    def _near(self, subject: str) -> str:
        known = dict.fromkeys((*(one.about for one in self._ledger.recorder.sealed_places() if one.about), *self._gone))
        forms: dict[str, str] = {}
        for one in known:  # as it is written, and by its name alone
            for form in (one.casefold(), one.rpartition(":")[2].casefold()):
                forms.setdefault(form, one)
        close = get_close_matches(subject.casefold(), forms, n=NAMED)
        close += get_close_matches(subject.rpartition(":")[2].casefold(), forms, n=NAMED)
        named = list(dict.fromkeys(forms[form] for form in close))[:NAMED]
        hint = f"did you mean {' or '.join(named)}? " if named else ""
        return f"{hint}subjects are compared as they were written"

    @cached_property
    def _told(self) -> list[tuple[Envelope, TextErased]]:
        return self._ledger.erasures()

    @cached_property
    def _erasures(self) -> Mapping[str, set[str]]:
        """By record: the streams on which it was erased."""
        found: dict[str, set[str]] = defaultdict(set)
        for envelope, erasure in self._told:
            found[erasure.record].add(envelope.stream)
        return found

    @cached_property
    def _gone(self) -> Mapping[str, list[str]]:
        """By subject: the records about it that were erased."""
        found: dict[str, list[str]] = defaultdict(list)
        for _, erasure in self._told:
            if erasure.about:
                found[erasure.about].append(erasure.record)
        return found

    @cached_property
    def _anywhere(self) -> Mapping[str, set[str]]:
        """By record: the streams with sealed events of it."""
        found: dict[str, set[str]] = defaultdict(set)
        for one in self._ledger.everything():
            found[one.event.record_in(one.stream)].add(one.stream)
        return found
