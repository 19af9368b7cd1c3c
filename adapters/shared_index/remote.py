"""The vector index over a local socket, from the side that asks: another process of this home owns it. See ADR 0019.

On POSIX a Unix socket that is its owner's only; where there is none, or its path is too long, a port on loopback with a
secret in a file that is its owner's only.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.shared_index.messages import OPERATION, decoded, encoded, receive, send
from adapters.shared_index.stand_in import StandIn
from domain import errors
from domain.errors import IndexUnavailable, ThtError
from projections.index.port import IndexStore, Still, VectorIndex, always


def connect(path: Path, wait: float) -> IndexStore | None:
    """The store of whoever answers at this socket; None when nobody does within `wait` seconds."""
    try:
        _dial(path, wait).close()
    except (OSError, EOFError, ValueError, KeyError):
        return None
    return RemoteStore(path, wait)


def _dial(path: Path, wait: float) -> socket.socket:
    if path.is_socket():
        connection = socket.socket(socket.AF_UNIX)
        address: Any = str(path)
        secret = ""
    else:
        told = json.loads(path.read_text("utf-8"))
        connection = socket.socket(socket.AF_INET)
        address, secret = ("127.0.0.1", int(told["port"])), str(told["secret"])
    try:
        connection.settimeout(wait)
        connection.connect(address)
        send(connection, {"hello": secret})
        if receive(connection) != {"hello": "tht"}:
            raise EOFError("this is no tht")
        connection.settimeout(OPERATION)
    except BaseException:
        connection.close()
        raise
    return connection


class _Line:
    """One connection, and one index behind it."""

    def __init__(self, path: Path, wait: float) -> None:
        try:
            self._connection = _dial(path, wait)
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise IndexUnavailable("tht serve, which holds the index, does not answer", "try again") from error

    def ask(self, target: str, method: str, *args: Any, **named: Any) -> Any:
        message = {"on": target, "method": method, "args": encoded(list(args)), "named": encoded(named)}
        try:
            send(self._connection, message)
            answer = receive(self._connection)
        except (OSError, EOFError, ValueError) as error:
            raise IndexUnavailable("tht serve, which holds the index, has gone or is too slow", "try again") from error
        if "error" in answer:
            raise _error(answer["error"])
        return decoded(answer["result"])

    def close(self) -> None:
        self._connection.close()


class RemoteStore(IndexStore):
    """The store that another process of this home holds."""

    def __init__(self, path: Path, wait: float) -> None:
        self.path, self.wait = path, wait

    def current(self) -> VectorIndex | None:
        line = _Line(self.path, self.wait)
        try:
            there = line.ask("store", "current")
        except BaseException:
            line.close()
            raise
        if there:
            return RemoteIndex(line)
        line.close()
        return None

    def is_current(self, index: VectorIndex) -> bool:
        """Whether the server would still answer for this index."""
        try:
            return isinstance(index, RemoteIndex) and bool(index.line.ask("store", "is_current"))
        except IndexUnavailable:
            return False

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        line = _Line(self.path, self.wait)
        try:
            line.ask("store", "begin", dimension)
        except BaseException:
            line.close()
            raise
        return RemoteIndex(line)

    def swap(self, fresh: VectorIndex) -> None:
        self._end("swap", fresh)

    def discard(self, fresh: VectorIndex) -> None:
        self._end("discard", fresh)

    def describe(self) -> Mapping[str, str]:
        line = _Line(self.path, self.wait)
        try:
            told: dict[str, str] = line.ask("store", "describe")
            return told | {"held_by": "tht serve"}
        finally:
            line.close()

    def _end(self, method: str, fresh: VectorIndex) -> None:
        if not isinstance(fresh, RemoteIndex):
            raise errors.Refused("this generation of the vector index is not from this store")
        try:
            fresh.line.ask("store", method)
        finally:
            fresh.close()


class RemoteIndex(StandIn):
    """An index that another process of this home has open, behind one connection."""

    def __init__(self, line: _Line) -> None:
        self.line = line

    def ask(self, method: str, *args: Any, **named: Any) -> Any:
        return self.line.ask("index", method, *args, **named)

    def close(self) -> None:
        self.line.close()


def _error(told: Mapping[str, str]) -> ThtError:
    kind = getattr(errors, told["type"], IndexUnavailable)
    usable = isinstance(kind, type) and issubclass(kind, ThtError)
    return (kind if usable else IndexUnavailable)(told["message"], told["hint"])
