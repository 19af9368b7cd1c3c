"""One process at a time: a lock file that the operating system frees when its holder dies, so none is ever stale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import HomeNotWritable

WAIT = 30.0  # seconds
_POLL = 0.02  # seconds between two tries


@contextmanager
def alone(path: Path, busy: str = "", *, wait: float = WAIT) -> Iterator[None]:
    """Holds the lock file, made when needed. HomeNotWritable says `busy` when another keeps it for `wait` seconds."""
    import portalocker

    lock = portalocker.Lock(path, mode="ab", timeout=wait, check_interval=_POLL)
    try:
        lock.acquire()
    except portalocker.exceptions.LockException as error:
        raise HomeNotWritable(busy or f"{path} is held by another process", "wait for it, then try again") from error
    except OSError as error:
        raise HomeNotWritable(f"{path} cannot be made: {error.strerror}", "check the disk and permissions") from error
    try:
        yield
    finally:
        lock.release()
