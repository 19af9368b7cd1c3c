"""A record of an old `registry.jsonl`, and what it claims held against all that is known of its session."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from adapters.ledger import Draft
from adapters.old_lines import DETAIL_LOST, SUBJECT_LOST, OldSession
from domain import session as sessions
from domain.errors import InvalidInput
from domain.event import Envelope
from domain.memory import Source, memory_stream
from domain.session import Decision, NewDecision, Session
from domain.session_events import REUSABLE_TYPES, session_stream
from domain.text import (
    SUBJECT_LIMIT,
    accept_id,
    accept_text,
    content_key,
    looks_like_a_table,
    memory_number,
    normal_form,
)

LOST = "unknown"  # the session of a record that names none
IMPORTER = "tool:importer"  # who imports when nobody is named


class RegistryForm(BaseModel):
    """A line of registry.jsonl. Only what it says is needed; fields that nobody knows any more are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: Literal["concept_clarified", "table_promoted", "table_excluded", "column_promoted", "column_excluded"]
    subject: str
    detail: str | None = None
    id: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    decision_seq: int | None = None
    rationale: str | None = None
    question_context: str | None = None
    tables: list[str] | None = None
    concepts: list[str] | None = None

    def checked(self) -> Self:
        """The record, if its texts can be stored. InvalidInput names the field."""
        accept_text(self.subject, "subject", limit=SUBJECT_LIMIT, required=True)
        accept_text(self.detail or "", "detail", required=self.reusable)
        accept_text(self.rationale or "", "rationale")
        accept_text(self.question_context or "", "question_context")
        for text in (*(self.tables or ()), *(self.concepts or ())):
            accept_text(text, "tables or concepts", limit=SUBJECT_LIMIT, required=True)
        if self.session_id is not None:
            accept_id(self.session_id, "session_id")
        if self.id is not None and not 0 < (memory_number(self.id) or 0) < 2**53:
            raise InvalidInput(f"{self.id[:40]!r} is no memory id such as mem-0001")
        if self.decision_seq is not None and not 0 <= self.decision_seq < 2**53:
            raise InvalidInput(f"decision_seq {self.decision_seq} is no seq")
        return self

    @property
    def reusable(self) -> bool:
        return self.type in REUSABLE_TYPES

    @property
    def stream(self) -> str:
        """Table memories lie apart: they must not be taken for a concept of the same wording."""
        if self.reusable:
            return memory_stream(self.subject, self.detail or "")
        return f"memory/history/{self.type}/{content_key(self.subject, self.detail or '')}"


class Claims:
    """Nothing comes in by a registry that no reviewer could have approved. `told` are the sessions of this import."""

    def __init__(self, draft: Draft, told: Mapping[str, OldSession]) -> None:
        self.draft, self.told = draft, told
        self.here: dict[str, tuple[Session | None, bool]] = {}

    def source(self, form: RegistryForm) -> Source:
        """The decision with its new seq; 0 where it is not known which. InvalidInput when the session has no such."""
        session_id, seq = form.session_id or LOST, form.decision_seq
        told = self.told.get(session_id)
        if told is None or seq is None:
            return Source(session_id=session_id, seq=seq or 0)
        if seq not in told.seqs and form.reusable:
            raise InvalidInput(f"session {session_id} has no decision {seq}")
        return Source(session_id=session_id, seq=told.seqs.get(seq, 0))

    def by_old_seq(self, source: Source) -> bool:
        """Whether a source may have its old seq: its session was told before, and its file is not at hand now."""
        return source.session_id not in self.told and self._here(source.session_id)[0] is not None

    def require_marked(self, form: RegistryForm, source: Source, ids: Collection[str]) -> None:
        """Where the session's marker names one of the registry's records (`ids`), that one is meant and no other."""
        told = self.told.get(source.session_id)
        named = told.promoted_to(source.seq) if told else None
        if named in ids and named != form.id:
            raise InvalidInput(f"{source} was promoted to {named}: its marker says so")

    def require_approvable(self, form: RegistryForm, source: Source) -> None:
        """InvalidInput for a table, for what its session says otherwise, and for what is approved here or nowhere."""
        told = self.told.get(source.session_id)
        here, begun_here = self._here(source.session_id)
        if begun_here:
            raise InvalidInput(f"session {source.session_id} was held here: what it clarified is approved here")
        _require_concept(form, [one.linking_subjects for one in (told, here) if one is not None])
        for said in self._said(source):
            if said.type not in REUSABLE_TYPES:
                raise InvalidInput(f"{source} is a {said.type}, no clarification")
            if not _same(said, form):
                raise InvalidInput(f"{source} says something else than this record")
        if (told and told.declined(source.seq)) or (here and source.seq in here.declined):
            raise InvalidInput(f"{source} was declined")
        if here and (before := here.promoted.get(source.seq)):
            raise InvalidInput(f"{source} was promoted to {before.memory_id}, which says something else")

    def _said(self, source: Source) -> Iterator[NewDecision | Decision]:
        """What its decision says in the file, and in the ledger."""
        told, (here, _) = self.told.get(source.session_id), self._here(source.session_id)
        if told and (said := told.said(source.seq)):
            yield said
        if here and 1 <= source.seq <= len(here.decisions):
            yield here.decision(source.seq)

    def _here(self, session_id: str) -> tuple[Session | None, bool]:
        """The session as the ledger has it, and whether it was begun here."""
        if session_id not in self.here:
            recorded = self.draft.load(session_stream(session_id))
            self.here[session_id] = sessions.fold(recorded), begun_here(recorded)
        return self.here[session_id]


def begun_here(recorded: list[Envelope]) -> bool:
    """Whether a session was opened by a command of its own; an import opens it together with what it says."""
    if not recorded or recorded[0].actor == IMPORTER:
        return False
    return len(recorded) == 1 or recorded[0].correlation_id != recorded[1].correlation_id


def _require_concept(form: RegistryForm, linking: list[frozenset[str]]) -> None:
    if looks_like_a_table(form.subject):
        raise InvalidInput(f"the subject {form.subject[:80]!r} names a table, not a concept")
    if normal_form(form.subject) in {normal_form(subject) for subjects in linking for subject in subjects}:
        raise InvalidInput(f"the subject {form.subject[:80]!r} is a table or column of its session's schema linking")


def _same(said: NewDecision | Decision, form: RegistryForm) -> bool:
    """Whether the record has the decision's content. What the old file did not record says nothing against it."""
    pairs = ((said.subject, SUBJECT_LOST, form.subject), (said.detail, DETAIL_LOST, form.detail or ""))
    return all(told == lost or normal_form(told) == normal_form(kept) for told, lost, kept in pairs)
