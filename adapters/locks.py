"""One process at a time: a lock file that the operating system frees when its holder dies, so none is ever stale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import HomeNotWritable

WAIT = 30.0  # seconds
_POLL = 0.02  # seconds between two tries


class Held(HomeNotWritable):
    """Another process has the lock: nothing is wrong, and it will be free again."""

    @property
    def type(self) -> str:
        return HomeNotWritable.__name__


@contextmanager
def alone(path: Path, busy: str = "", *, wait: float = WAIT) -> Iterator[None]:
    """Holds the lock file, made when needed. Held says `busy` when another keeps it for `wait` seconds.

    HomeNotWritable when the file cannot be made, or locked where it is.
    """
    import portalocker

    lock = portalocker.Lock(path, mode="ab", timeout=wait, check_interval=_POLL)
    try:
        lock.acquire()
    except portalocker.exceptions.AlreadyLocked as error:
        raise Held(busy or f"{path} is held by another process", "wait for it, then try again") from error
    except portalocker.exceptions.LockException as error:  # a file system without locks
        told = f"{path} cannot be locked: {error.strerror or error}"
        raise HomeNotWritable(told, "put the home on a disk of this machine") from error
    except OSError as error:
        raise HomeNotWritable(f"{path} cannot be made: {error.strerror}", "check the disk and permissions") from error
    try:
        yield
    finally:
        lock.release()
