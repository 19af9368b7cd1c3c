"""The port to a ledger's tables: what SQLite and PostgreSQL both do, and one contract suite checks.

Lost races are raised as the library's IntegrityError; everything else in the domain's words.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Self, TypeVar
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, Notification, StoredEvent

from adapters.chain import PAGE, Link, Sealed
from domain.errors import LedgerDamaged, LedgerMoved
from projections.shape import Difference

T = TypeVar("T")

MOVED = "this ledger has moved to "  # what its database says of one that is closed for good
POLL = 0.2  # seconds between two looks at the head; what wakes a waiter earlier is a convenience


def refuse_moved(error: Exception, said: str = "") -> None:
    """LedgerMoved, where an append failed because the ledger is closed for good; nothing for any other failure. `said`:
    what the engine says, where the error tells more than that."""
    _, found, where = (said or str(error)).partition(MOVED)
    if found:
        raise LedgerMoved(f"{MOVED}{where}; nothing was written") from error


def told_place(definition: str) -> str:
    """The place that the definition of what closes a ledger names, in a quoted text of SQL: its quotes are doubled, and
    in one that begins with E, as PostgreSQL writes them, its backslashes too. Empty when it names none."""
    found = re.search(rf"(E?)'{re.escape(MOVED)}((?:[^']|'')*)'", definition)
    if not found:
        return ""
    place = found[2].replace("''", "'")
    return place.replace("\\\\", "\\") if found[1] else place


def no_row(place: str, table: str) -> LedgerDamaged:
    """A table of one row that has none: somebody has worked on it."""
    return LedgerDamaged(f"{place} is damaged: its table {table} is not one row")


class Waiting:
    """Waits for the ledger to grow, by looking again and again. On PostgreSQL a NOTIFY makes it look at once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what it holds."""

    def wait(self, after: int, seconds: float) -> bool:
        """Whether the ledger has an event above position `after`, within so many seconds."""
        until = time.monotonic() + seconds
        while self._recorder.head()[0] <= after:
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._pause(min(POLL, left))
        return True

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)


Batch = tuple[Sequence[Link], Sequence[tuple[str, int, int]]]  # events, and idempotency keys with first and last


class Recorder(ApplicationRecorder):
    """A ledger's tables. `insert_events` takes two more arguments: `key`, the command's idempotency key, and `loaded`,
    the version at which it loaded each stream; it raises IntegrityError when one of them has grown since."""

    engine: str  # SQLite, PostgreSQL
    name: str  # what a finding calls it: ledger.sqlite3, schema tht_default
    place: str  # where it is, without secrets

    # -- write

    @abstractmethod
    def create(self, ledger_id: str) -> None:
        """Make the tables, once; whoever does the same at the same time finds them made."""

    @abstractmethod
    def insert_chained(self, links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        """Append events that were recorded elsewhere, at their own positions. The caller has checked the chain.

        IntegrityError when they do not begin where this ledger ends.
        """

    @abstractmethod
    def undisturbed(self, body: Callable[[], T]) -> T:
        """Run `body` while nobody else appends. What it inserts is committed at its end, or not at all."""

    @abstractmethod
    def fill(self, ledger_id: str, batches: Callable[[], Iterable[Batch]]) -> None:
        """Make the tables and take a whole ledger in, all or nothing. AlreadyThere when events are there.

        `batches` is called again for another try.
        """

    @abstractmethod
    def held(self) -> AbstractContextManager[Callable[[str], None]]:
        """Nobody appends until the end, at which all may again; unless what it gives was called: it closes the ledger
        for good, saying where it has moved to."""

    @abstractmethod
    def moved_to(self) -> str:
        """Where the ledger has gone from here, which was then closed for good; empty when it has not."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Recorder]:
        """The ledger as it is at this moment, to be read, whatever is appended or erased meanwhile."""

    @abstractmethod
    def purge(self) -> None:
        """Leave nothing of destroyed keys where this engine keeps its rows."""

    # -- read

    @abstractmethod
    def select_links(self, first: int, limit: int, stop: int | None = None) -> list[Link]:
        """At most `limit` events from position `first` to `stop`, in order, with their chain hashes."""

    @abstractmethod
    def head(self) -> tuple[int, bytes]:
        """The last position (0 when empty) and the chain hash there."""

    @abstractmethod
    def chain_at(self, position: int) -> bytes | None:
        """The chain hash at a position; None when the ledger does not have it."""

    @abstractmethod
    def find_key(self, key: str) -> tuple[int, int] | None:
        """First and last position recorded under an idempotency key."""

    @abstractmethod
    def keys(self, reached: int) -> list[tuple[str, int, int]]:
        """Idempotency keys with first and last position: those up to a position, and those of no event at all."""

    @abstractmethod
    def ledger_id(self) -> str: ...

    @abstractmethod
    def of_topic(self, topic: str) -> list[Notification]:
        """Every event of one name, in order. Reads through the whole ledger."""

    @abstractmethod
    def positions_with(self, text: str) -> list[int]:
        """Where these words stand readable in a stored event. Reads through the whole ledger."""

    @abstractmethod
    def sealed_places(self, record: str = "", about: str = "", stream: UUID | None = None) -> list[Sealed]:
        """Every event that can be opened, in order: of one record, about one subject, on one stream."""

    @abstractmethod
    def stray_seals(self) -> list[int]:
        """Positions of keys without an event."""

    @abstractmethod
    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> list[StoredEvent]:
        """As the library says, but as notifications, so that each knows its position."""

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        if topics:
            raise ValueError("projections follow every event: filtering by topic makes waiting time out")
        first = (start or 0) if inclusive_of_start else (start or 0) + 1
        return [link.notification for link in self.select_links(first, limit, stop)]

    def links(self, after: int = 0) -> Iterator[Link]:
        """Every stored event above a position with its chain hash, page by page."""
        while found := self.select_links(after + 1, PAGE):
            yield from found
            after = found[-1].notification.id

    def max_notification_id(self) -> int:
        return self.head()[0]

    def waiting(self) -> Waiting:
        """What waits for new events, to be closed afterwards."""
        return Waiting(self)

    # -- what it is made of

    @abstractmethod
    def odd_shape(self) -> list[Difference]:
        """What of its tables, triggers and the rest is not as declared; empty when all is."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """What the engine itself finds wrong; empty when nothing."""

    @abstractmethod
    def rows(self, table: str) -> int: ...

    @abstractmethod
    def close(self) -> None: ...
