"""The way to a Qdrant server: made at the first use, its failures in the domain's words, its secrets shown nowhere."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adapters.qdrant_points import REBUILD
from domain.errors import IndexUnavailable, InvalidInput, ThtError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

SLOW = 1.0  # seconds after which a failure has kept somebody waiting
REST = 15.0  # seconds for which a server is then taken to be away
SERVERS = 32  # of which a process remembers that they are away
OLDEST = (1, 16)  # the first server that writes under a condition; one before it would write in any case


class Absences:
    """The servers that do not answer, for all who ask them in a process: each workspace, and each that is opened anew,
    has a way of its own, and would wait as long to find out the same.

    After the rest one tries, and until it knows, the others are told what was known. At most `SERVERS` are kept, the
    latest: who is forgotten is asked again.
    """

    def __init__(self) -> None:
        self._until: dict[tuple[str, str | None], tuple[float, str, str]] = {}  # when, message and hint
        self._lock = Lock()

    def require(self, server: tuple[str, str | None], now: float, timeout: float) -> None:
        """IndexUnavailable while the server rests. Afterwards whoever asks is the one that tries, for its `timeout`."""
        if not self._until:
            return
        with self._lock:
            if (away := self._until.get(server)) is None:
                return
            until, message, hint = away
            if now < until:
                raise IndexUnavailable(message, hint)
            self._until[server] = (now + timeout, message, hint)

    def note(self, server: tuple[str, str | None], now: float, error: IndexUnavailable) -> None:
        with self._lock:
            self._until.pop(server, None)
            self._until[server] = (now + REST, error.message, error.hint)
            while len(self._until) > SERVERS:
                del self._until[next(iter(self._until))]

    def forget(self, server: tuple[str, str | None]) -> None:
        """It has answered, or keeps nobody waiting."""
        if self._until:
            with self._lock:
                self._until.pop(server, None)


OF_THIS_PROCESS = Absences()


class Way:
    """To the server at `url`, or a `client` that the caller made and will close. `timeout`: seconds for a request."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        client: QdrantClient | None,
        timeout: int,
        monotonic: Callable[[], float] = time.monotonic,
        absences: Absences = OF_THIS_PROCESS,
    ) -> None:
        if not url and client is None:
            raise InvalidInput("a Qdrant server needs a URL")
        self.where = _without_secrets(url) if url else "the client given"
        self._url, self._api_key, self._timeout = url, api_key, timeout
        self._made: QdrantClient | None = None
        self._given = client
        self._monotonic = monotonic
        self._absences = absences if client is None else Absences()  # a client that is given may lead anywhere
        self._server = (url, api_key)

    @contextmanager
    def open(self) -> Iterator[QdrantClient]:
        """The client; whatever it raises becomes IndexUnavailable with where the server is and what to do."""
        begun, answers = self._monotonic(), True
        self._absences.require(self._server, begun, self._timeout)
        try:
            yield self._client()
        except ThtError:
            raise
        except ImportError as problem:
            raise IndexUnavailable("qdrant-client is not installed here", "pip install qdrant-client") from problem
        except Exception as problem:
            error, now = _unavailable(self.where, problem), self._monotonic()
            if _got_no_answer(problem) and now - begun >= SLOW:
                answers = False
                self._absences.note(self._server, now, error)
            raise error from problem
        finally:
            if answers:
                self._absences.forget(self._server)

    def close(self) -> None:
        """Close the connection, if it was made here. Safe to call twice."""
        if self._made is not None:
            self._made.close()
            self._made = None

    def _client(self) -> QdrantClient:
        if self._given is not None:
            return self._given
        if self._made is None:
            client = connect(self._url, self._api_key, self._timeout)
            try:
                _require_conditions(client, self.where)
            except BaseException:  # or each search while the server is away would leave a pool of connections behind
                client.close()
                raise
            self._made = client
        return self._made


def connect(url: str, api_key: str | None, timeout: int) -> QdrantClient:
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():  # about a key on plain http, which on loopback or inside a mesh is as it should be
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(url=url, api_key=api_key, timeout=timeout, check_compatibility=False)


def is_local(client: QdrantClient) -> bool:
    """Whether it is qdrant-client's own imitation of a server, which serves tests."""
    options = client.init_options
    return options.get("location") == ":memory:" or options.get("path") is not None


def _require_conditions(client: QdrantClient, where: str) -> None:
    version = client.info().version
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise IndexUnavailable(
            f"the Qdrant at {where} is of version {version}, which cannot write under a condition",
            f"bring it to {needed} or later; without it: tht config unset index.url",
        )


def _got_no_answer(problem: Exception) -> bool:
    from qdrant_client.http.exceptions import ResponseHandlingException

    return isinstance(problem, ResponseHandlingException)


def _without_secrets(url: str) -> str:
    """Scheme, host, port and path: a URL may carry a password or a key in its other parts."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def _unavailable(where: str, problem: Exception) -> IndexUnavailable:
    status = getattr(problem, "status_code", None)
    reason = (str(problem) or type(problem).__name__).splitlines()[0][:200]
    hint = f"is Qdrant running at {where}? without it: tht config unset index.url"
    if status in (401, 403):
        hint = "the server refused the API key"
    elif status == 404:  # a collection that is not there: swapped out a moment ago, or lost
        hint = f"if another has just rebuilt the index, try again; else: {REBUILD}"
    elif status == 400 or isinstance(problem, ValueError):  # another dimension
        hint = REBUILD
    return IndexUnavailable(f"the vector index at {where} failed: {reason}", hint)
