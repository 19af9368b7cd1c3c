"""What the vector index and the embedder must offer; adapters fill these in and one contract suite tests them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

Vector = Sequence[float]

# The turn to write into an index that several processes share, asked for when there is something to write: IndexBusy
# when another has it, IndexNotWritable when it cannot be asked for. What it gives is called before each write.
Still = Callable[[], None]  # raises IndexNotWritable when it is not one's turn any more
Turn = Callable[[], AbstractContextManager[Still]]


def always() -> None:
    """The `Still` where the engine itself lets one process in at a time."""


def unshared() -> AbstractContextManager[Still]:
    """The turn there."""
    return nullcontext(always)


@dataclass(frozen=True)
class Fingerprint:
    """What a vector depends on besides its text. Equal fingerprints: vectors may stand in one index.

    `model` is a setting from which the embedder can be made again (a name or a folder).
    """

    model: str
    revision: str
    pooling: str
    normalised: bool
    dimension: int

    @property
    def key(self) -> str:
        """One line, stable, used as the key of the embedding cache and to name an index generation."""
        form = "normalised" if self.normalised else "raw"
        return f"{self.model}@{self.revision}/{self.pooling}/{form}/{self.dimension}"


class Embedder(ABC):
    """Turns texts into vectors. May raise ModelUnavailable from any method but never at construction."""

    @property
    @abstractmethod
    def fingerprint(self) -> Fingerprint: ...

    @abstractmethod
    def chunks(self, text: str) -> list[str]:
        """The text in overlapping pieces that each fit the model's window; one piece when it fits whole."""

    @abstractmethod
    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of `fingerprint.dimension` floats a text, in order; the document prompt applied."""

    @abstractmethod
    def embed_query(self, text: str) -> list[float]:
        """One vector; the query prompt applied, a text beyond the window cut to it."""


@dataclass(frozen=True)
class Point:
    """One chunk of one record. `id` is a UUID made from ref and chunk number, so writing twice is writing once."""

    id: str
    vector: Vector
    payload: Mapping[str, Any]  # at least ref, kind, domain, repo, content_hash, chunk, position


@dataclass(frozen=True)
class Within:
    """Which points a search may nominate, decided before it ranks. An empty field takes all.

    `closed` and `opened` are the domains that a reader may not, or may only, see (`projections.scope.Scope`). They
    bind facts alone: a memory has no domain and is closed by neither. An empty `opened` lets no fact through.
    """

    kinds: tuple[str, ...] = ()
    domain: str = ""
    repo: str = ""  # slug of the repository
    closed: frozenset[str] = frozenset()
    opened: frozenset[str] | None = None
    without: tuple[str, ...] = ()  # refs
    only: tuple[str, ...] = ()  # refs


@dataclass(frozen=True)
class Found:
    """A point nominated by a search. `score` is the cosine similarity; the payload has at least `ref` and `chunk`."""

    ref: str
    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """How far the index has followed the ledger, and of which ledger and embedder it is.

    `token`: another each time that one is set, so that one which was set back is none of those that stood there before.
    `made_at`: where the ledger stood when the generation was begun; what had been erased by then was never in it.
    """

    position: int
    chain: str  # the ledger's chain hash (hex) at position
    fingerprint: str  # Fingerprint.key
    model: str  # Fingerprint.model
    version: int  # version of the index projection
    token: str = ""
    made_at: int = 0

    def is_made_as(self, other: Checkpoint) -> bool:
        """Whether both are of one embedder and version, wherever they stand."""
        return (self.fingerprint, self.model, self.version) == (other.fingerprint, other.model, other.version)

    @property
    def dimension(self) -> int:
        """Of its vectors, with which the fingerprint ends."""
        return int(self.fingerprint.rpartition("/")[2])


class VectorIndex(ABC):
    """One generation of the index. Cosine. Points are durable when the checkpoint saved after them is."""

    @abstractmethod
    def checkpoint(self) -> Checkpoint | None:
        """The last saved checkpoint, kept inside the collection; it is never a search result and never counted."""

    @abstractmethod
    def save_checkpoint(self, checkpoint: Checkpoint, *, after: Checkpoint | None = None) -> None:
        """Make all points written before durable, then the checkpoint: it never speaks of points that are lost.

        `after`: the one that it follows. In an engine that several processes write to, IndexOvertaken when another
        stands there, which is then left; an engine that lets one in at a time need not look.
        """

    @abstractmethod
    def upsert(self, points: Sequence[Point]) -> None: ...

    @abstractmethod
    def delete_refs(self, refs: Sequence[str]) -> None:
        """Remove every point whose payload `ref` is one of these."""

    def replace(self, refs: Sequence[str], points: Sequence[Point], *, position: int) -> None:
        """These are the points of these refs now, as the views have them at a position.

        An engine that several processes write to leaves what was written from the same or a later position, and lets
        no record be without its points in between.
        """
        self.delete_refs(refs)
        if points:
            self.upsert(points)

    @abstractmethod
    def search(self, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        """The nearest points of those that `within` lets through, best first, ties by ref then chunk.

        The score is the cosine of the whole vectors, to six digits, so every engine gives the same answer. Of many
        points a scan may look at shortened vectors first, and at the whole ones of more than are asked for.
        """

    @abstractmethod
    def vectors(self, found: Sequence[Found]) -> dict[str, tuple[float, ...]]:
        """The vectors, of length 1, of some points that a search found, by ref, of each ref one point; without those
        that another process has deleted meanwhile."""

    def settle(self) -> None:  # noqa: B027  an engine that needs none has none
        """Put a filled generation into its engine's fastest form, before it is swapped in. May take seconds."""

    @abstractmethod
    def scan(self, *fields: str) -> Iterator[Mapping[str, Any]]:
        """The payload of every point but the checkpoint, in any order; of it these fields, where some are named."""

    @abstractmethod
    def count(self) -> int:
        """Points, the checkpoint left out."""

    @abstractmethod
    def close(self) -> None:
        """Give back files, locks and connections. Safe to call twice."""

    def __enter__(self) -> VectorIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IndexStore(ABC):
    """Where generations of the index live: at most one is current; a new one is filled beside it, then swapped in."""

    @abstractmethod
    def current(self) -> VectorIndex | None:
        """Open the current generation; None when there is none yet.

        Raises IndexBusy when another process holds it beyond the bounded wait, IndexUnavailable when it is away or
        broken.
        """

    @abstractmethod
    def is_current(self, index: VectorIndex) -> bool:
        """Whether an index that `current` gave is the current one still: another process may have swapped."""

    @abstractmethod
    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        """A new, empty generation beside the current one. Leftovers of an earlier, killed rebuild are removed first.
        Without a `dimension` it is one that stays empty.

        In an engine that several processes write to those only that were there when `still` said that it is one's turn:
        nobody's who has had it since.
        """

    @abstractmethod
    def swap(self, fresh: VectorIndex) -> None:
        """Make the generation from `begin` the current one in one step (after closing it), then remove the old one."""

    @abstractmethod
    def discard(self, fresh: VectorIndex) -> None:
        """Close and remove a generation from `begin` that will not be used."""

    @abstractmethod
    def describe(self) -> Mapping[str, str]:
        """For status and doctor: engine, where it is, what is current. Opens nothing that is locked."""

    def close(self) -> None:  # noqa: B027  most have nothing
        """Give back a connection that it made. Safe to call twice; whoever asks it again has it made anew."""
