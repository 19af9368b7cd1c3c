"""Events: frozen payloads with a stable name and an integer version, the envelope around them, and upcasters.

The stored name is declared, never derived from a class or module, so code can be renamed and old ledgers still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, get_origin
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from domain.errors import LedgerDamaged

STREAMS = uuid5(NAMESPACE_URL, "tht:stream")
ERASED = "[erased]"  # what is read where a text was, once it was erased

# the area of an event's name, and the module that declares its events: imported when the first of them is looked up
AREAS = {
    "belief": "domain.belief",
    "conflict": "domain.conflict_case",
    "domain": "domain.access",
    "erasure": "domain.erasure",
    "fact": "domain.topic_events",
    "hot": "domain.hot",
    "memory": "domain.memory",
    "notes": "domain.notes",
    "numbering": "domain.memory",
    "policy": "domain.policy_events",
    "recall": "domain.recall",
    "session": "domain.session_events",
    "upkeep": "domain.upkeep",
}

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs a zone: write 2026-03-02T10:00:00Z or +01:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time must be within the years 1 to 9999 in UTC") from None


UtcTime = Annotated[datetime, AfterValidator(_utc)]


class Event(BaseModel):
    """A payload and nothing else; who, when and why stand in the envelope."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: ClassVar[str]
    version: ClassVar[int]
    follows: ClassVar[bool] = False  # it may follow from another event of the same command, whose reason is not its own
    kind: ClassVar[str]  # the owner's word for it: `session.concept-clarified` is a `concept_clarified`
    sealed: ClassVar[
        tuple[str, ...]
    ] = ()  # its fields that hold personal text: stored sealed, so that it can be erased
    private: ClassVar[bool] = False  # its sealed text is for its own agent alone: no log opens it, whoever asks

    def record_in(self, stream: str) -> str:
        """The id of the record whose text its sealed fields are, as `tht erase` names it; "" without sealed fields."""
        return str(getattr(self, "record", "")) if self.sealed else ""

    @property
    def subject_of_text(self) -> str:
        """Whom the text is about (`person:mario`), where the event says so."""
        return str(getattr(self, "about", "")) if self.sealed else ""

    def __init_subclass__(cls, *, name: str = "", version: int = 1, **kwargs: Any) -> None:
        """Without a name the class only holds fields that several events share and is never recorded."""
        super().__init_subclass__(**kwargs)
        if not name:
            return
        if name in _REGISTRY:
            raise TypeError(f"two event classes claim the name {name}")
        cls.name, cls.version = name, version
        cls.kind = name.partition(".")[2].replace("-", "_")
        _REGISTRY[name] = cls


_REGISTRY: dict[str, type[Event]] = {}
_UPCASTERS: dict[tuple[str, int], Upcaster] = {}


def registered_events() -> Mapping[str, type[Event]]:
    """Every event class, by stored name."""
    for area in AREAS:
        _load(area)
    return dict(_REGISTRY)


def find_event(name: str) -> type[Event] | None:
    """The event class of a stored name; None when this program knows none."""
    area = name.partition(".")[0]
    if area in AREAS:
        _load(area)
    return _REGISTRY.get(name)


@cache
def _load(area: str) -> None:
    import_module(AREAS[area])


def is_private(name: str) -> bool:
    """Whether the text of such events is for their own agent alone."""
    cls = find_event(name)
    return cls is not None and cls.private


def erased_fields(name: str) -> dict[str, Any]:
    """What stands in the sealed fields of an event once its text is erased."""
    cls = find_event(name)
    if cls is None:
        return {}
    lists = {field for field in cls.sealed if get_origin(cls.model_fields[field].annotation) is tuple}
    return {field: () if field in lists else ERASED for field in cls.sealed}


def upcaster(name: str, from_version: int) -> Callable[[Upcaster], Upcaster]:
    """Declare the pure function that lifts a payload of `name` from `from_version` to the next version."""

    def declare(lift: Upcaster) -> Upcaster:
        _UPCASTERS[name, from_version] = lift
        return lift

    return declare


def decode_event(name: str, version: int, data: dict[str, Any]) -> Event:
    """The event stored as (name, version, data), lifted to the current version, then validated.

    Raises LedgerDamaged when the name is not known, the version is newer than this program, or the data do not fit.
    """
    cls = find_event(name)
    if cls is None:
        raise LedgerDamaged(f"unknown event {name!r}", "a newer tht may have written it: upgrade")
    if version > cls.version or version < 1:
        raise LedgerDamaged(f"{name} has version {version}, this tht knows up to {cls.version}", "upgrade tht")
    for step in range(version, cls.version):
        lift = _UPCASTERS.get((name, step))
        if lift is None:
            raise LedgerDamaged(f"no upcaster lifts {name} from version {step}")
        data = lift(data)
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise LedgerDamaged(f"{name} version {version} does not decode: {_first_problem(error)}") from error


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One recorded event: where it stands, who did it, when and why.

    `version` counts the stream from 1, `position` the whole ledger from 1 (0: not recorded yet). `erased`: its sealed
    text cannot be read any more, and the event says ERASED instead.
    """

    stream: str
    version: int
    position: int
    at: datetime
    actor: str
    role: str
    reason: str
    correlation_id: str
    idempotency_key: str
    event: Event
    erased: bool = False

    @property
    def originator_id(self) -> UUID:
        return stream_id(self.stream)

    @property
    def originator_version(self) -> int:
        return self.version


@lru_cache(maxsize=4096)
def stream_id(stream: str) -> UUID:
    """The id under which a stream is stored: the same name is always the same stream."""
    return uuid5(STREAMS, stream)


def iso_utc(moment: datetime) -> str:
    """UTC with microseconds and Z: the one form in which times are stored and shown to programs."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
