"""The events of a topic: its facts, how they are mentioned, linked, superseded, retired and brought back."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict

from domain.errors import InvalidInput
from domain.event import Event, UtcTime

SupersededFor = Literal["conflict", "by_hand", "correction", "merge"]
RetiredFor = Literal["wrong", "ended", "expired", "decayed", "not_listed", "undone"]  # undone: with its run of upkeep
LinkKind = Literal["related_to", "refines", "references"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)


class FactEvent(Event):
    """What happens to one fact."""

    fact_id: str

    @property
    def record(self) -> str:
        return self.fact_id


class FactProposed(FactEvent, name="fact.fact-proposed"):
    """`author` is who knows it: the actor, unless upkeep raises what somebody else said."""

    sealed: ClassVar[tuple[str, ...]] = ("content",)

    domain: str
    topic: str  # the label as it was written
    content: str
    confidence: float
    memory_type: str
    veracity: str
    author: str
    author_role: str = ""
    source_observation_ids: tuple[str, ...] = ()
    valid_from: UtcTime | None = None
    valid_until: UtcTime | None = None
    about: str = ""  # whom it is about: `tht erase --about` makes all of it unreadable
    corrects: str = ""  # the fact that it is a correction of


class FactMentioned(FactEvent, name="fact.fact-mentioned"):
    """Said again. `echoed`: by somebody who had just been shown it, so nothing is confirmed by that."""

    veracity: str
    confidence: float  # after the mention
    author: str
    echoed: bool = False
    source_observation_ids: tuple[str, ...] = ()


class FactMentionWithdrawn(FactEvent, name="fact.fact-mention-withdrawn"):
    """The last mention is undone, with its run of upkeep: confidence and time are those before it. `forgets`: the
    author who is no origin any more, having said it only then."""

    confidence: float
    confirmed_at: UtcTime
    forgets: str = ""


class FactSuperseded(FactEvent, name="fact.fact-superseded"):
    by: str
    cause: SupersededFor


class FactRetired(FactEvent, name="fact.fact-retired"):
    cause: RetiredFor = "wrong"


class FactRestored(FactEvent, name="fact.fact-restored"):
    pass


class Link(BaseModel):
    """`weight` 0–1; for `related_to` the larger of token overlap and shared entities."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    to: str
    kind: LinkKind
    weight: float = 1.0


class FactLinked(FactEvent, name="fact.fact-linked"):
    links: tuple[Link, ...]
    by_hand: bool = False


class FactUnlinked(FactEvent, name="fact.fact-unlinked"):
    to: str
    kind_of_link: LinkKind


def accept_link_kind(text: str) -> LinkKind:
    """InvalidInput names the known kinds."""
    for known in LINK_KINDS:
        if text == known:
            return known
    raise InvalidInput(f"{text!r} is no kind of link", f"one of: {', '.join(LINK_KINDS)}")
