"""The vector index over a local socket: whoever owns it answers, others of the home ask. JSON, one frame a message.

The methods of the port are what can be asked, by name. On POSIX a Unix socket that is its owner's only; where
there is none, or its path is too long, a port on loopback with a secret in a file that is its owner's only.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import Any

from adapters.files import replace_file
from adapters.serving.index_owner import stand_in
from domain import errors
from domain.errors import IndexUnavailable, ThtError
from projections.index.port import IndexStore, VectorIndex

PATH_LIMIT = 100  # bytes of a Unix socket's path that every system takes
FRAME_LIMIT = 256 * 2**20  # bytes
CONNECTIONS = 32
OPERATION = 120.0  # seconds that one operation may take
_LENGTH = struct.Struct(">Q")

log = logging.getLogger("tht.serve")


# -- messages ----------------------------------------------------------------------------------------------------------


def encoded(value: Any) -> Any:
    """A value of the port as JSON: its dataclasses by name, what JSON has not marked with a sign."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {one.name: encoded(getattr(value, one.name)) for one in fields(value)}
        return {"$of": f"{type(value).__module__}:{type(value).__qualname__}", "parts": parts}
    if isinstance(value, Mapping):
        return {"$map": [[encoded(key), encoded(one)] for key, one in value.items()]}
    if isinstance(value, set | frozenset):
        return {"$set": [encoded(one) for one in sorted(value)]}
    if isinstance(value, tuple):
        return {"$tuple": [encoded(one) for one in value]}
    if isinstance(value, Iterator):
        return {"$iterator": [encoded(one) for one in value]}
    if hasattr(value, "tolist"):  # vectors, whole or a number of one
        return value.tolist()
    return [encoded(one) for one in value]


def decoded(value: Any) -> Any:
    """What `encoded` was given. ValueError for what nobody of the port would say."""
    if isinstance(value, list):
        return [decoded(one) for one in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$map": pairs}:
            return {decoded(key): decoded(one) for key, one in pairs}
        case {"$set": members}:
            return frozenset(decoded(one) for one in members)
        case {"$tuple": members}:
            return tuple(decoded(one) for one in members)
        case {"$iterator": members}:
            return iter([decoded(one) for one in members])
        case {"$of": str(name), "parts": dict(parts)}:
            return _kind(name)(**{key: decoded(one) for key, one in parts.items()})
    raise ValueError("a value that is none of the port's")


def _kind(name: str) -> type[Any]:
    """The port's dataclass of this name, and no other class."""
    module, _, kind = name.partition(":")
    found = getattr(import_module(module), kind, None) if module.startswith("projections.index.") else None
    if not isinstance(found, type) or not is_dataclass(found):
        raise ValueError(f"{name} is none of the port's")
    return found


def _send(connection: socket.socket, message: Any) -> None:
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    connection.sendall(_LENGTH.pack(len(body)) + body)


def _receive(connection: socket.socket) -> Any:
    """The next message. EOFError when the other side has gone."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > FRAME_LIMIT:
        raise EOFError("a frame is too long")
    return json.loads(_exactly(connection, length))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts, left = [], count
    while left:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            raise EOFError("the other side has gone")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


# -- the side that asks ------------------------------------------------------------------------------------------------


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
        _send(connection, {"hello": secret})
        if _receive(connection) != {"hello": "tht"}:
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
            _send(self._connection, message)
            answer = _receive(self._connection)
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
        """The server's index is of whatever is current."""
        return isinstance(index, RemoteIndex)

    def begin(self, dimension: int) -> VectorIndex:
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


def _ask_remote(index: RemoteIndex, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return index.line.ask("index", method, *args, **named)


class RemoteIndex(stand_in("Remote", lambda index, *asked: _ask_remote(index, *asked))):  # type: ignore[misc]
    """An index that another process of this home has open, behind one connection."""

    def __init__(self, line: _Line) -> None:
        self.line = line

    def close(self) -> None:
        self.line.close()


def _error(told: Mapping[str, str]) -> ThtError:
    kind = getattr(errors, told["type"], IndexUnavailable)
    usable = isinstance(kind, type) and issubclass(kind, ThtError)
    return (kind if usable else IndexUnavailable)(told["message"], told["hint"])


# -- the side that answers ---------------------------------------------------------------------------------------------


class IndexSocket:
    """Answers for a store at `path` until it is closed. Whoever makes it holds the lock of the one server, so what lies
    at `path` is a dead one's."""

    def __init__(self, path: Path, store: IndexStore) -> None:
        self.path, self.store = path, store
        self._secret = ""
        self._room = BoundedSemaphore(CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._closed = False
        self._listener = self._listening()
        Thread(target=self._accept, name="index socket", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with suppress(FileNotFoundError):
            self.path.unlink()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _listening(self) -> socket.socket:
        with suppress(FileNotFoundError):
            self.path.unlink()
        if hasattr(socket, "AF_UNIX") and os.name != "nt" and len(os.fsencode(self.path)) <= PATH_LIMIT:
            listener = socket.socket(socket.AF_UNIX)
            old = os.umask(0o177)
            try:
                listener.bind(str(self.path))
            finally:
                os.umask(old)
        else:
            listener = socket.socket(socket.AF_INET)
            listener.bind(("127.0.0.1", 0))
            self._secret = secrets.token_urlsafe(32)
            told = {"port": listener.getsockname()[1], "secret": self._secret}
            replace_file(self.path, json.dumps(told).encode())
        listener.listen(CONNECTIONS)
        return listener

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            Thread(target=self._answer, args=(connection,), name="index client", daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        self._open.add(connection)
        talk = _Talk(self.store)
        try:
            connection.settimeout(5.0)
            hello = str(_receive(connection).get("hello", ""))
            if not hmac.compare_digest(hello.encode(), self._secret.encode()):
                return
            _send(connection, {"hello": "tht"})
            connection.settimeout(10 * OPERATION)
            while True:
                _send(connection, talk.answer(_receive(connection)))
        except (OSError, EOFError, ValueError, AttributeError):
            pass  # the other side has gone, or is no tht
        finally:
            talk.end()
            self._open.discard(connection)
            connection.close()
            self._room.release()


_ASKED = frozenset(one for one in vars(VectorIndex) if not one.startswith("_") and one != "close")


class _Talk:
    """What one client has opened, and what it asks."""

    def __init__(self, store: IndexStore) -> None:
        self.store = store
        self.index: VectorIndex | None = None
        self.fresh = False

    def answer(self, message: Any) -> dict[str, Any]:
        try:
            args, named = decoded(message["args"]), decoded(message["named"])
            if message["on"] == "store":
                return {"result": encoded(self._of_store(message["method"], args))}
            if self.index is None or message["method"] not in _ASKED:
                raise IndexUnavailable(f"the index cannot be asked for {message['method']!r}")
            return {"result": encoded(getattr(self.index, message["method"])(*args, **named))}
        except ThtError as error:
            return {"error": {"type": error.type, "message": error.message, "hint": error.hint}}
        except (TypeError, KeyError, ValueError, ImportError) as error:
            log.warning("a client of the index asked for what there is not: %s", error)
            return {"error": {"type": "IndexUnavailable", "message": f"not understood: {error}", "hint": "same tht?"}}

    def end(self) -> None:
        """A generation that was begun and not swapped in is thrown away, as its maker has gone."""
        index, self.index = self.index, None
        if index is None:
            return
        with suppress(ThtError):
            if self.fresh:
                self.store.discard(index)
            else:
                index.close()

    def _of_store(self, method: str, args: list[Any]) -> Any:
        if method == "describe":
            return dict(self.store.describe())
        if method in ("current", "begin") and self.index is None:
            self.index = self.store.current() if method == "current" else self.store.begin(*args)
            self.fresh = method == "begin"
            return self.index is not None
        if method in ("swap", "discard") and self.index is not None and self.fresh:
            ended: Callable[[VectorIndex], None] = getattr(self.store, method)
            index, self.index = self.index, None
            return ended(index)
        raise IndexUnavailable(f"the index cannot be asked for {method!r} now")
