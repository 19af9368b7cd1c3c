"""Recall for every interface: commands, agents' tools and pages ask this one function, and get the same ranking."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from adapters.fact_reading import NOW, FactReading, Moment, Seen, log_shown
from adapters.indexing import Indexing
from adapters.knowledge import curves, named_repo, scope_for
from adapters.ledger import By
from adapters.meaning import IndexMeaning, ScanMeaning, within
from adapters.session_history import session_as_told
from adapters.workspace import Workspace
from domain.errors import InvalidInput, OtherHistory, Unavailable
from domain.event import iso_utc
from domain.language import fold, language_of
from projections.fact_queries import FactRow
from projections.index.port import Embedder
from projections.index.records import changed_since
from projections.notes import ItemRow
from projections.recall.dates import Window
from projections.recall.engine import Meaning, Ranking, rank
from projections.recall.intent import Intent, intent_of
from projections.recall.question import Question, accept_kinds, accept_mode
from projections.recall.shown import Shown, with_records
from projections.recall.weights import BY_INTENT, Weights, parse_voices
from projections.refs import memory_ref
from projections.scope import Reader

MOST = 1_000  # hits of one answer
FURTHEST = 1_000  # hits that a cursor may pass over
VOICES = {
    "keyword": ("lexical",),
    "semantic": ("lexical", "vector"),
    "hybrid": ("lexical", "vector", "temporal", "graph"),
}
RAN = "ran"
FILTERS = ("topic", "author")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found, and what it rests on.

    `voices`: of each that the mode has, that it ran, or why not. `index_position` is -1 when no index was asked.
    `cursor` asks for what comes after these hits, empty when nothing does. `coverage`: how well the model knows the
    question's language, 0 to 1; None when no model was asked. `remembered`: what the reader itself keeps in mind.
    """

    hits: tuple[Shown, ...]
    kind: str
    mode: str
    intent: Intent
    window: Window | None
    voices: dict[str, str]
    index_position: int
    ledger_position: int
    language: str
    coverage: float | None
    truncated: bool
    cursor: str
    denied: str
    notice: str
    explain: bool = False
    remembered: tuple[ItemRow, ...] = ()

    @property
    def facts(self) -> tuple[FactRow, ...]:
        return tuple(hit.record for hit in self.hits if isinstance(hit.record, FactRow))

    def as_json(self) -> dict[str, Any]:
        span = self.window and {"from": iso_utc(self.window.start), "until": iso_utc(self.window.end)}
        return {
            "hits": [hit.as_json(explain=self.explain) for hit in self.hits],
            "kind": self.kind,
            "mode": self.mode,
            "intent": self.intent,
            "window": span,
            "voices": self.voices,
            "language": {"question": self.language, "coverage": self.coverage},
            "index": {"position": self.index_position, "ledger": self.ledger_position},
            "truncated": self.truncated,
            "cursor": self.cursor or None,
            "denied": self.denied or None,
            "notice": self.notice,
        } | ({"remembered": [item.as_json() for item in self.remembered]} if self.remembered else {})


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of the views for one answer: hits and their records as they stood at one position."""

    ranking: Ranking
    hits: tuple[Shown, ...]
    remembered: tuple[ItemRow, ...]
    denied: str


@dataclass(frozen=True, slots=True)
class VectorVoice:
    """How the vector voice fared: how far the index was that was asked (-1: none), how well its model knows the
    language, or why it is silent."""

    position: int = -1
    coverage: float | None = None
    silent: str = ""
    hint: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recalling:
    """Searches a workspace for one reader. `indexing`: kept by a process that answers many questions."""

    workspace: Workspace
    reader: Reader
    indexing: Indexing | None = None

    def search(
        self,
        question: str,
        by: By,
        *,
        kind: str = "fact",
        mode: str = "hybrid",
        limit: int = 5,
        cursor: str = "",
        domain: str = "",
        repo: str = "",
        session_id: str = "",
        moment: Moment = NOW,
        explain: bool = False,
        **wanted: str,
    ) -> Answer:
        """The records that a question is about, best first, after all filters; ids of what was shown are recorded.

        `kind`: fact, memory or all; `mode`: keyword, semantic or hybrid. `repo` (slug or owner/name) puts a
        repository's facts first. `session_id`: leave out the memories that session has decided about. `wanted`:
        `topic`, `author` of facts. InvalidInput for what is not known, AccessDenied for a domain that is closed.
        """
        kinds, accepted = accept_kinds(kind), accept_mode(mode)
        if not 1 <= limit <= MOST:
            raise InvalidInput(f"limit is a number from 1 to {MOST:,}, not {limit}")
        _require_filters(wanted)
        wanted = {name: value for name, value in (wanted | {"domain": domain}).items() if value}
        if wanted and "fact" not in kinds:
            raise InvalidInput(f"memories have no {' and no '.join(wanted)}", "leave it out, or ask for facts")
        reading = FactReading(self.workspace, self.reader)
        without = self._decided(session_id)
        slug = named_repo(self.workspace, repo, scope_for(self.workspace, self.reader)) if repo else ""
        if wanted:
            kinds = ("fact",)
        with reading.opened(moment, **reading.named(wanted, repo)) as seen:
            asked = Question(
                question, seen.wanted, seen.scope, accepted, kinds, limit, _offset(cursor), explain, slug, without,
                curves(self.workspace), intent=intent_of(question),
            )  # fmt: skip
            answer = self._answer(asked, seen, moment)
        if answer.hits and not by.dry_run:
            unsaid = self._log(answer, by, session_id)
            answer = replace(answer, notice="; ".join(filter(None, (answer.notice, unsaid))))
        return answer

    # -- parts

    def _answer(self, asked: Question, seen: Seen, moment: Moment) -> Answer:
        language = language_of(fold(asked.text[:1_000]))
        read, heard = self._ranked(asked, seen, moment, language)
        voices = dict.fromkeys(VOICES[asked.mode], RAN)
        notices = list(heard.notices)
        if "vector" in voices and heard.silent:
            voices["vector"] = f"unavailable: {heard.silent}"
            notices.append(f"answered without vectors: {heard.silent}" + (f" ({heard.hint})" if heard.hint else ""))
        return Answer(
            read.hits,
            "all" if len(asked.kinds) > 1 else asked.kinds[0],
            asked.mode,
            asked.intent or "general",
            read.ranking.window,
            voices,
            heard.position,
            self.workspace.ledger.head().position,
            language,
            heard.coverage,
            read.ranking.more,
            str(until) if read.ranking.more and (until := asked.offset + asked.limit) <= FURTHEST else "",
            read.denied if "fact" in asked.kinds else "",
            "; ".join(notices),
            asked.explain,
            read.remembered,
        )

    def _ranked(self, asked: Question, seen: Seen, moment: Moment, language: str) -> tuple[Read, VectorVoice]:
        """By every voice of the mode; by the others where the model or the index fails, at whatever step."""
        weights = Weights(self._by_intent())
        indexing, heard = self.indexing or Indexing.of(self.workspace), VectorVoice()
        if asked.mode != "keyword":
            try:
                with self._meaning(asked, seen, moment, indexing) as (meaning, heard, embedder):
                    heard = replace(heard, coverage=indexing.coverage(embedder, language))
                    known = replace(weights, coverage=heard.coverage or 0.0)
                    read = self._read(replace(asked, weights=known), seen, moment, meaning)
                    return read, _scanned(meaning, heard) if isinstance(meaning, ScanMeaning) else heard
            except (Unavailable, OtherHistory) as error:
                heard = VectorVoice(silent=error.message, hint=error.hint)
        return self._read(replace(asked, weights=weights), seen, moment), heard

    def _read(self, asked: Question, seen: Seen, moment: Moment, meaning: Meaning | None = None) -> Read:
        """Hits and records of one position, held when model and index are ready: the index follows the views in
        transactions of its own."""
        reading = FactReading(self.workspace, self.reader)
        with reading.held(seen) as held:
            ranking = rank(held.db, replace(asked, scope=held.scope), meaning)
            remembers = moment == NOW and "fact" in asked.kinds
            return Read(
                ranking,
                tuple(with_records(held.db, ranking.hits, held.scope, asked.offset + 1)),
                reading.remembered(held, asked.text) if remembers else (),
                held.scope.denied,
            )

    @contextmanager
    def _meaning(
        self, asked: Question, seen: Seen, moment: Moment, indexing: Indexing
    ) -> Iterator[tuple[Meaning, VectorVoice, Embedder]]:
        """The vector voice, open while it is asked: the index; cached vectors as of another time, or without engine."""
        if moment != NOW or not indexing.has_engine:
            embedder = indexing.embedder
            scan = ScanMeaning(embedder, embedder.embed_query(asked.text), seen.db, asked)
            engine = () if moment != NOW else ("no vector engine on this platform: the cached vectors were scanned",)
            yield scan, VectorVoice(notices=engine), embedder
            return
        with indexing.asked(asked.text) as found:
            standing = self._standing(found.checkpoint.position, asked.scope.limited)
            with IndexMeaning.begun(found, within(asked)) as meaning:
                yield meaning, standing, found.embedder

    def _standing(self, position: int, limited: bool) -> VectorVoice:
        """`limited`: something is closed to the reader, who is not told how many records there are of it."""
        head = self.workspace.ledger.head().position
        late = len(changed_since(self.workspace.file.db, position)) if position < head else 0
        if not late:
            return VectorVoice(position)
        many = "" if limited else f"{late:,} "
        waiting = f"{many}changed records wait for it, found by words (tht index rebuild)"
        return VectorVoice(position, notices=(f"index at {position:,} of {head:,}", waiting))

    def _by_intent(self) -> dict[Intent, Any]:
        config = self.workspace.config
        return {intent: parse_voices(config.value(f"recall.weights.{intent}")) for intent in BY_INTENT}

    def _decided(self, session_id: str) -> frozenset[str]:
        if not session_id:
            return frozenset()
        decided = session_as_told(self.workspace.ledger, session_id).decided_memories
        return frozenset(map(memory_ref, decided))

    def _log(self, answer: Answer, by: By, session_id: str) -> str:
        facts = [hit.id for hit in answer.hits if hit.hit.candidate.kind == "fact"]
        memories = [hit.ref for hit in answer.hits if hit.hit.candidate.kind == "memory"]
        return log_shown(self.workspace, by, facts, "search", session_id, memories=memories)


def _scanned(meaning: ScanMeaning, heard: VectorVoice) -> VectorVoice:
    """With what a scan had to leave out."""
    if not meaning.unknown:
        return heard
    if not meaning.known:
        return replace(heard, silent="nothing that may answer has a vector yet", hint="tht index rebuild")
    left_out = f"{meaning.unknown:,} records have no vector yet, found by words"
    return replace(heard, notices=(*heard.notices, left_out))


def _require_filters(wanted: Collection[str]) -> None:
    unknown = sorted(set(wanted) - set(FILTERS))
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no filter of a search", f"one of domain, repo, {', '.join(FILTERS)}")


def _offset(cursor: str) -> int:
    """How many hits a cursor passes over. InvalidInput for what no answer gave."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 6):
        raise InvalidInput(f"{cursor!r} is no cursor", "give the one of the answer before, and the same question")
    if int(cursor) > FURTHEST:
        raise InvalidInput(f"only the best {FURTHEST + MOST:,} are ranked", "narrow the question, or tht fact list")
    return int(cursor)
