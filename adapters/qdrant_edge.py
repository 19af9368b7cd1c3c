"""The vector index inside this process, on Qdrant Edge: one shard a generation, open in one process at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from adapters.generations import GENERATION, Generations
from adapters.qdrant_points import (
    CHECKPOINT_ID,
    EXACT_BELOW,
    INDEXED_FIELDS,
    OVERSAMPLING,
    PAGE,
    REBUILD,
    VECTOR,
    batches,
    best_first,
    checkpoint_from,
    checkpoint_payload,
    conditions,
    found_of,
    ids_of,
)
from domain.errors import IndexBusy, IndexUnavailable, Refused, ThtError
from projections.index.port import Checkpoint, Found, IndexStore, Point, Still, Vector, VectorIndex, Within, always
from projections.refs import KINDS

if TYPE_CHECKING:
    from portalocker import Lock
    from qdrant_edge import EdgeShard, FieldCondition, Filter, SearchParams, UpdateOperation

_BUSY = "WouldBlock"  # all that the engine says about a lock that is held
_LOCK = "lock"
_POLL = 0.05  # seconds between two tries for the lock


class EdgeIndex(VectorIndex):
    """One generation, open. Points are flushed to disk with the checkpoint: before it, and once more after it."""

    def __init__(self, shard: EdgeShard, path: Path, lock: Lock[Any]) -> None:
        self._shard = shard
        self.path = path
        self._lock = lock
        self._closed = False

    def checkpoint(self) -> Checkpoint | None:
        with _translated(self.path):
            found = self._shard.retrieve([CHECKPOINT_ID], True, False)
        return checkpoint_from(found[0].payload) if found else None

    def save_checkpoint(self, checkpoint: Checkpoint, *, after: Checkpoint | None = None) -> None:
        from qdrant_edge import Point as EdgePoint
        from qdrant_edge import UpdateOperation

        point = EdgePoint(CHECKPOINT_ID, {}, checkpoint_payload(checkpoint))
        self._flush()  # the engine's log outlives a killed process, not a power cut: no checkpoint before its points
        self._write([UpdateOperation.upsert_points([point])])
        self._flush()

    def upsert(self, points: Sequence[Point]) -> None:
        from qdrant_edge import Point as EdgePoint
        from qdrant_edge import UpdateOperation

        self._write(
            UpdateOperation.upsert_points(
                [EdgePoint(one.id, {VECTOR: list(one.vector)}, dict(one.payload)) for one in batch]
            )
            for batch in batches(points)
        )

    def delete_refs(self, refs: Sequence[str]) -> None:
        from qdrant_edge import FieldCondition, Filter, MatchAny, UpdateOperation

        if refs:
            condition = FieldCondition("ref", match=MatchAny(list(refs)))
            self._write([UpdateOperation.delete_points_by_filter(Filter(must=[condition]))])

    def search(self, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        from qdrant_edge import Query, QueryRequest

        chosen = _filter(self._bounded(within))
        params = _scan(self._size())

        def fetch(count: int) -> list[Found]:
            query = Query.Nearest(list(vector), using=VECTOR)
            request = QueryRequest(limit=count, query=query, filter=chosen, params=params, with_payload=True)
            with _translated(self.path):
                return [found_of(hit.score, hit.payload or {}) for hit in self._shard.query(request)]

        return best_first(fetch, limit)

    def _bounded(self, within: Within) -> Within:
        """Without the kinds where there are no others: a filter that most points meet takes longer than the scan."""
        others = tuple(kind for kind in KINDS if kind not in within.kinds)
        if not within.kinds or (others and self._has(_is_one_of("kind", others))):
            return within
        return replace(within, kinds=())

    def _has(self, condition: FieldCondition) -> bool:
        """Whether any point meets it. Many are counted roughly, which takes no time, and few exactly."""
        from qdrant_edge import CountRequest, Filter

        chosen = Filter(must=[condition])
        with _translated(self.path):
            return any(self._shard.count(CountRequest(exact=exact, filter=chosen)) for exact in (False, True))

    def vectors(self, found: Sequence[Found]) -> dict[str, tuple[float, ...]]:
        refs = ids_of(found)
        with _translated(self.path):
            there = self._shard.retrieve(list(refs), False, True)
        whole = {str(record.id): cast("dict[str, list[float]]", record.vector)[VECTOR] for record in there}
        return {refs[point]: tuple(vector) for point, vector in whole.items()}

    def _size(self) -> int:
        """Points, the checkpoint and some that were deleted among them: it need not be counted."""
        with _translated(self.path):
            return self._shard.info().points_count

    def settle(self) -> None:
        if self._size() >= EXACT_BELOW:
            with _translated(self.path):
                self._shard.optimize()

    def scan(self, *fields: str) -> Iterator[Mapping[str, Any]]:
        from qdrant_edge import PayloadSelector, ScrollRequest

        asked = PayloadSelector.Include(list(fields)) if fields else True
        start = None
        while True:
            request = ScrollRequest(offset=start, limit=PAGE, filter=_records(), with_payload=asked, with_vector=False)
            with _translated(self.path):
                page, start = self._shard.scroll(request)
            yield from (record.payload or {} for record in page)
            if start is None:
                return

    def count(self) -> int:
        from qdrant_edge import CountRequest

        with _translated(self.path):
            return self._shard.count(CountRequest(exact=True, filter=_records()))

    def close(self) -> None:
        try:
            self.close_shard()
        finally:
            self._lock.release()

    def close_shard(self) -> None:
        """Give back the engine's files and keep the lock."""
        if not self._closed:
            self._closed = True
            with _translated(self.path):
                self._shard.close()

    def _write(self, operations: Iterator[UpdateOperation] | Sequence[UpdateOperation]) -> None:
        for operation in operations:
            with _translated(self.path):
                self._shard.update(operation)

    def _flush(self) -> None:
        with _translated(self.path):
            self._shard.flush()


class EdgeStore(IndexStore):
    """Generations under `folder` (made when needed, owner only). `wait`: seconds to wait for another process.

    A generation can be open once: close the index that `current` or `begin` gave before asking for it again.
    """

    def __init__(
        self,
        folder: Path,
        *,
        wait: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folder = Generations(folder)
        self._wait = wait
        self._clock = clock
        self._sleep = sleep

    def current(self) -> VectorIndex | None:
        with _translated(self._folder.path):
            name = self._folder.current_name()
            path = self._folder.path / name
            if name and not (GENERATION.fullmatch(name) and path.is_dir()):
                raise IndexUnavailable(f"no generation of the vector index is at {path}, though it is current", REBUILD)
        return self._open_patiently(path) if name else None

    def is_current(self, index: VectorIndex) -> bool:
        with _translated(self._folder.path):
            return isinstance(index, EdgeIndex) and index.path == self._folder.path / self._folder.current_name()

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        with _translated(self._folder.path):
            import qdrant_edge  # noqa: F401  before anything is removed

            self._folder.prepare()
            for leftover in self._folder.leftovers():
                _remove_unless_open(leftover)
            path = self._folder.add()
        return _opened(path, lambda: _create(path, dimension or 1))

    def swap(self, fresh: VectorIndex) -> None:
        """Killed before the pointer is replaced: the old one is current. After: the new one, and a leftover stays.

        The new one's lock is held until it is current, or another rebuild would take it for a leftover.
        """
        own = self._own(fresh)
        try:
            own.close_shard()
            with _translated(self._folder.path):
                old = self._folder.current_name()
                self._folder.point_to(own.path.name)
        finally:
            own.close()
        if GENERATION.fullmatch(old):
            with _translated(self._folder.path):
                _remove_unless_open(self._folder.path / old)

    def discard(self, fresh: VectorIndex) -> None:
        own = self._own(fresh)
        own.close()
        with _translated(self._folder.path):
            shutil.rmtree(own.path)

    def describe(self) -> Mapping[str, str]:
        try:
            engine = f"Qdrant Edge {version('qdrant-edge-py')}"
        except PackageNotFoundError:
            engine = "Qdrant Edge (not installed)"
        with _translated(self._folder.path):
            current = self._folder.current_name() or "none"
            leftovers = ", ".join(path.name for path in self._folder.leftovers()) or "none"
        return {"engine": engine, "where": str(self._folder.path), "current": current, "leftovers": leftovers}

    def _own(self, fresh: VectorIndex) -> EdgeIndex:
        if not isinstance(fresh, EdgeIndex) or fresh.path.parent != self._folder.path:
            raise Refused("this generation of the vector index is not from this store")
        with _translated(self._folder.path):
            if fresh.path.name == self._folder.current_name():
                raise Refused(f"{fresh.path.name} is the current generation of the vector index already")
        return fresh

    def _open_patiently(self, path: Path) -> EdgeIndex:
        deadline = self._clock() + self._wait
        while True:
            try:
                return _opened(path, lambda: _load(path))
            except IndexBusy:
                if self._clock() >= deadline:
                    raise
                self._sleep(_POLL)


def _opened(path: Path, open_shard: Callable[[], EdgeShard]) -> EdgeIndex:
    """A generation, open under its lock. The engine has a lock too, but asks for it only after it has touched the
    files: a second process that merely tries to open them damages what the first one is writing."""
    lock = _locked(path)
    try:
        return EdgeIndex(open_shard(), path, lock)
    except BaseException:
        lock.release()
        raise


def _locked(path: Path) -> Lock[Any]:
    """The generation's lock, freed by the system when its holder dies. IndexBusy when another process has it."""
    import portalocker

    lock = portalocker.Lock(path / _LOCK, mode="ab", timeout=0, fail_when_locked=True)
    with _translated(path):
        try:
            lock.acquire()
        except portalocker.exceptions.AlreadyLocked as error:  # any other failure is no other process
            raise IndexBusy(f"the vector index {path} is in use") from error
    return lock


def _load(path: Path) -> EdgeShard:
    with _translated(path):
        from qdrant_edge import EdgeShard

        return EdgeShard.load(str(path))


def _create(path: Path, dimension: int) -> EdgeShard:
    with _translated(path):
        from qdrant_edge import (
            Distance,
            EdgeConfig,
            EdgeShard,
            EdgeVectorParams,
            HnswIndexConfig,
            PayloadSchemaType,
            ScalarQuantizationConfig,
            ScalarType,
            UpdateOperation,
        )

        params = EdgeVectorParams(
            size=dimension,
            distance=Distance.Cosine,
            quantization_config=ScalarQuantizationConfig(ScalarType.Int8, quantile=0.99, always_ram=True),
            hnsw_config=HnswIndexConfig(m=0, ef_construct=16, full_scan_threshold=10),  # no graph: ADR 0007
        )
        shard = EdgeShard.create(str(path), EdgeConfig(vectors={VECTOR: params}))
        for field in INDEXED_FIELDS:
            shard.update(UpdateOperation.create_field_index(field, PayloadSchemaType.Keyword))
        return shard


def _scan(points: int) -> SearchParams:
    """How to scan: whole vectors; of many points, bytes in place of numbers first, and whole vectors of the best."""
    from qdrant_edge import QuantizationSearchParams, SearchParams

    if points < EXACT_BELOW:
        return SearchParams(exact=True)
    return SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING))


def _filter(within: Within) -> Filter:
    from qdrant_edge import Filter

    def said(fields: Sequence[tuple[str, tuple[str, ...]]]) -> list[FieldCondition]:
        return [_is_one_of(name, values) for name, values in fields]

    asked = conditions(within)
    return Filter(
        must=[*said(asked.must), *([Filter(should=[*said(asked.either)])] if asked.either else [])],
        must_not=[*said(asked.must_not)],
    )


def _is_one_of(field: str, values: Sequence[str]) -> FieldCondition:
    from qdrant_edge import FieldCondition, MatchAny, MatchValue

    # to look for one value in a list of one takes the engine twice as long
    return FieldCondition(field, match=MatchValue(values[0]) if len(values) == 1 else MatchAny(list(values)))


def _records() -> Filter:
    """All points but the checkpoint."""
    from qdrant_edge import Filter, HasIdCondition

    return Filter(must_not=[HasIdCondition({CHECKPOINT_ID})])


def _remove_unless_open(path: Path) -> None:
    """Remove a generation, unless somebody has it open: then it stays, and the next `begin` tries again.

    What cannot be removed does no harm, and is shown by `describe`.
    """
    try:
        lock = _locked(path)
    except IndexUnavailable:
        return
    shutil.rmtree(path, ignore_errors=True)
    lock.release()
    shutil.rmtree(path, ignore_errors=True)  # Windows keeps a file that is open


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Whatever the engine or the file system raises becomes IndexUnavailable, or IndexBusy when it is the lock."""
    try:
        yield
    except ThtError:
        raise
    except Exception as problem:
        raise _unavailable(path, problem) from problem
    except BaseException as panic:  # the engine panics on some damaged files, outside Exception
        if type(panic).__name__ != "PanicException":
            raise
        raise _unavailable(path, panic) from panic


def _unavailable(path: Path, problem: BaseException) -> IndexUnavailable:
    if _BUSY in str(problem):
        return IndexBusy(f"the vector index {path} is in use")
    if isinstance(problem, ImportError):
        return IndexUnavailable("qdrant-edge-py is not installed here", "pip install qdrant-edge-py, or set index.url")
    reason = (str(problem) or type(problem).__name__).splitlines()[0][:200]
    return IndexUnavailable(f"the vector index {path} failed: {reason}", REBUILD)
