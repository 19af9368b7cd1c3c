"""The vector index over a local socket, from the side that owns it: the methods of the port can be asked, by name."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import Any

from adapters.files import replace_file
from adapters.shared_index.messages import OPERATION, decoded, encoded, receive, send
from domain.errors import IndexUnavailable, ThtError
from projections.index.port import IndexStore, VectorIndex

PATH_LIMIT = 100  # bytes of a Unix socket's path that every system takes
CONNECTIONS = 32

log = logging.getLogger("tht.serve")


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
            hello = str(receive(connection).get("hello", ""))
            if not hmac.compare_digest(hello.encode(), self._secret.encode()):
                return
            send(connection, {"hello": "tht"})
            connection.settimeout(10 * OPERATION)
            while True:
                send(connection, talk.answer(receive(connection)))
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
        if method == "is_current" and self.index is not None and not self.fresh:
            return self.store.is_current(self.index)
        if method in ("swap", "discard") and self.index is not None and self.fresh:
            ended: Callable[[VectorIndex], None] = getattr(self.store, method)
            index, self.index = self.index, None
            return ended(index)
        raise IndexUnavailable(f"the index cannot be asked for {method!r} now")
