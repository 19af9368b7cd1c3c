"""The hot tier: what an agent keeps in mind for a session, until it expires or is raised to a fact. Its own alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from domain.classify import memory_type as classified
from domain.decay import accept_confidence, curve_for
from domain.erasure import TextErased
from domain.errors import InvalidInput, NothingChanged, Refused, Unknown
from domain.event import ERASED, Envelope, Event, UtcTime
from domain.ids import short_id
from domain.text import accept_id, accept_text, actor_key

State = Literal["held", "expired", "raised", "erased"]
CONTENT_LIMIT = 20_000  # characters
LONGEST = timedelta(days=3_650)
IMPORTANCE = 0.5  # when nobody says
_TTL = re.compile(r"([0-9]{1,9})\s*([mhd])")
_UNIT = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class ItemEvent(Event):
    """What happens to one item."""

    item_id: str

    @property
    def record(self) -> str:
        return self.item_id


class ItemRemembered(ItemEvent, name="hot.item-remembered"):
    """`session_id`: the session that it belongs to; empty for none. `expires_at` None: until upkeep raises it."""

    sealed: ClassVar[tuple[str, ...]] = ("content",)
    private: ClassVar[bool] = True

    agent: str
    session_id: str = ""
    content: str
    memory_type: str
    importance: float  # 0–1
    expires_at: UtcTime | None = None


class ItemExpired(ItemEvent, name="hot.item-expired"):
    pass


class ItemRaised(ItemEvent, name="hot.item-raised"):
    fact_id: str


class ItemReturned(ItemEvent, name="hot.item-returned"):
    """Back in mind: an expiry or a raising is undone."""


@dataclass(frozen=True, slots=True)
class NewItem:
    """What somebody remembers, as it can be recorded (see `accept_item`)."""

    content: str
    memory_type: str
    importance: float
    session_id: str
    lasts: timedelta | None


@dataclass(frozen=True, slots=True)
class Item:
    item_id: str
    agent: str
    session_id: str
    content: str
    memory_type: str
    importance: float
    at: datetime
    expires_at: datetime | None
    state: State = "held"
    fact_id: str = ""


@dataclass(frozen=True, slots=True)
class Hot:
    """`items` by id, in the order in which they were remembered."""

    stream: str
    items: Mapping[str, Item] = field(default_factory=dict)

    def get(self, item_id: str) -> Item:
        item = self.items.get(item_id)
        if item is None:
            raise Unknown(f"there is no item {item_id!r} in mind", "tht remember --list shows your own")
        return item


def hot_stream(actor: str) -> str:
    return f"hot/{actor_key(actor)}"


def fold(stream: str, envelopes: Iterable[Envelope]) -> Hot:
    items: dict[str, Item] = {}
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, ItemRemembered):
            items[event.item_id] = Item(
                event.item_id,
                event.agent,
                event.session_id,
                event.content,
                event.memory_type,
                event.importance,
                envelope.at,
                event.expires_at,
            )
        elif (item_id := _about(event)) in items:
            items[item_id] = _changed(items[item_id], event)
    return Hot(stream, items)


def _about(event: Event) -> str:
    if isinstance(event, TextErased):
        return event.record
    return event.item_id if isinstance(event, ItemEvent) else ""


def _changed(item: Item, event: Event) -> Item:
    match event:
        case ItemExpired():
            return replace(item, state="expired")
        case ItemRaised(fact_id=fact_id):
            return replace(item, state="raised", fact_id=fact_id)
        case ItemReturned():
            return replace(item, state="held", fact_id="")
        case TextErased():
            return replace(item, state="erased", content=ERASED)
        case _:
            return item


# -- decide ------------------------------------------------------------------------------------------------------------


def accept_item(
    content: str, *, memory_type: str = "", importance: float | None = None, session_id: str = "", ttl: str = ""
) -> NewItem:
    """The item as it can be recorded: trimmed, its type classified when none is given. InvalidInput says why not."""
    text = accept_text(content, "content", limit=CONTENT_LIMIT, required=True).strip()
    kind = memory_type or classified(text)
    curve_for(kind)
    try:
        weight = accept_confidence(IMPORTANCE if importance is None else importance)
    except InvalidInput:
        raise InvalidInput(f"importance must be a number from 0 to 1, not {importance!r}") from None
    session = accept_id(session_id, "session id") if session_id else ""
    return NewItem(text, kind, weight, session, parse_ttl(ttl) if ttl else None)


def parse_ttl(text: str) -> timedelta:
    """`30m`, `6h`, `2d`. InvalidInput for anything else, for nothing, and for more than ten years."""
    found = _TTL.fullmatch(text.strip().lower())
    if not found:
        raise InvalidInput(f"{text!r} is no time to live", "write 30m, 6h or 2d")
    lasts = int(found[1]) * _UNIT[found[2]]
    if not timedelta(0) < lasts <= LONGEST:
        raise InvalidInput(f"{text!r} is out of reach", "from 1m to 3650d")
    return lasts


def remember(hot: Hot, agent: str, new: NewItem, at: datetime) -> ItemRemembered:
    """One more item of `agent`, remembered at `at`; its id follows from its place."""
    return ItemRemembered(
        item_id=short_id("item", hot.stream, str(len(hot.items) + 1)),
        agent=agent,
        session_id=new.session_id,
        content=new.content,
        memory_type=new.memory_type,
        importance=new.importance,
        expires_at=None if new.lasts is None else at + new.lasts,
    )


def expire(item: Item, at: datetime) -> ItemExpired:
    """Out of mind. Refused before its time."""
    _require_held(item)
    if item.expires_at is None or item.expires_at > at:
        when = "does not expire" if item.expires_at is None else "has not expired yet"
        raise Refused(f"{item.item_id} {when}")
    return ItemExpired(item_id=item.item_id)


def raise_to(item: Item, fact_id: str) -> ItemRaised:
    """It has become a fact, which everybody reads."""
    _require_held(item)
    return ItemRaised(item_id=item.item_id, fact_id=fact_id)


def give_back(item: Item) -> ItemReturned:
    """In mind again. NothingChanged when it is; nothing brings an erased one back."""
    if item.state == "held":
        raise NothingChanged(f"{item.item_id} is in mind already")
    if item.state == "erased":
        raise Refused(f"{item.item_id} was erased", "remember it anew")
    return ItemReturned(item_id=item.item_id)


def _require_held(item: Item) -> None:
    if item.state != "held":
        raise NothingChanged(f"{item.item_id} is {item.state} already")
