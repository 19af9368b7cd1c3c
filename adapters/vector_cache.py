"""Remembers vectors by (embedder, text), in a SQLite file that may be deleted at any time.

The cache never breaks an answer: what it cannot read is embedded again, what it cannot write is not remembered, and
`notice` says so. A text is kept only as its SHA-256.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TypeVar
from zlib import crc32

from projections.index.port import Embedder, Fingerprint
from projections.wal import use_wal

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vector (
    fingerprint TEXT NOT NULL, text_sha256 BLOB NOT NULL, vector BLOB NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, text_sha256)
) STRICT
"""
_BATCH = 64  # texts embedded before they are stored: what a killed rebuild loses
_ASKED = 500  # texts looked up at once
_BUSY = 5.0  # seconds to wait for another process
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # the last: tables of another shape
T = TypeVar("T")


class CachedEmbedder(Embedder):
    """`inner`, with the vectors of documents kept at `path`. Queries are not cached. Vectors come back as float32.

    `hits` and `misses` count documents; `notice` is None, or one line for the user about the cache's own trouble.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self.hits = 0
        self.misses = 0
        self.notice: str | None = None
        self._inner = inner
        self._path = path
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._off = False
        self._used: set[bytes] = set()

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    def chunks(self, text: str) -> list[str]:
        return self._inner.chunks(text)

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        fingerprint = self.fingerprint
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            self._used.update(keys)
            known = self._recall(fingerprint, set(keys))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            self.misses += len(missing)
            self.hits += len(texts) - len(missing)
            waiting = list(missing.items())
            for start in range(0, len(waiting), _BATCH):
                batch = waiting[start : start + _BATCH]
                vectors = self._inner.embed_documents([text for _, text in batch])
                fresh = {key: array("f", vector) for (key, _), vector in zip(batch, vectors, strict=True)}
                self._remember(fingerprint, fresh)
                known.update(fresh)
            return [known[key].tolist() for key in keys]

    def known(self, texts: Sequence[str]) -> dict[str, list[float]]:
        """The vectors that are there already, by text. Nothing is embedded; ModelUnavailable without a model."""
        keys = {sha256(text.encode("utf-8", "surrogatepass")).digest(): text for text in texts}
        with self._lock:
            self._used.update(keys)
            return {keys[key]: vector.tolist() for key, vector in self._recall(self.fingerprint, keys).items()}

    def clear(self) -> None:
        """Forget every vector, overwriting it on disk: for `tht erase`, as a vector tells something about its text."""

        self._scrub("DELETE FROM vector")

    def forget_unused(self) -> None:
        """Forget every vector that was not asked for since this was made, overwriting it on disk: for `tht erase`."""
        self._scrub("DELETE FROM vector WHERE text_sha256 NOT IN (SELECT text_sha256 FROM temp.used)")

    def _scrub(self, statement: str) -> None:
        """Delete, write every page afresh and empty the log. `notice` says when that could not be done."""

        def scrub(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("CREATE TEMP TABLE used (text_sha256 BLOB PRIMARY KEY) WITHOUT ROWID")
            connection.executemany("INSERT INTO temp.used VALUES (?)", ((key,) for key in self._used))
            connection.execute(statement)
            connection.execute("DROP TABLE temp.used")
            connection.execute("VACUUM")
            if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                self.notice = f"the embedding cache {self._path} is being read by another process"

        with self._lock:
            self._attempt(scrub, None)

    def close(self) -> None:
        """Give back the file. Safe to call twice; a later use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _recall(self, fingerprint: Fingerprint, keys: Iterable[bytes]) -> dict[bytes, array[float]]:
        def read(connection: sqlite3.Connection) -> dict[bytes, array[float]]:
            found: dict[bytes, array[float]] = {}
            wanted, key, begun = list(keys), fingerprint.key, _begun(fingerprint)
            for start in range(0, len(wanted), _ASKED):
                asked = wanted[start : start + _ASKED]
                query = (
                    "SELECT vector, crc32, text_sha256 FROM vector"
                    f" WHERE fingerprint = ? AND text_sha256 IN ({', '.join('?' * len(asked))})"
                )
                for vector, checksum, text in connection.execute(query, (key, *asked)):
                    if len(vector) == 4 * fingerprint.dimension and checksum == _checksum(begun, text, vector):
                        found[text] = array("f", vector)
            return found

        return self._attempt(read, {})

    def _remember(self, fingerprint: Fingerprint, vectors: dict[bytes, array[float]]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            blobs = ((key, vector.tobytes()) for key, vector in vectors.items())
            begun = _begun(fingerprint)
            rows = [(fingerprint.key, key, blob, _checksum(begun, key, blob)) for key, blob in blobs]
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)

        self._attempt(write, None)

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do the work on the cache; a damaged file is started anew once, and any other trouble switches it off."""
        for retry in (True, False):
            if self._off:
                return otherwise
            try:
                return work(self._open())
            except (sqlite3.Error, OSError) as problem:
                self.close()
                damaged = getattr(problem, "sqlite_errorcode", -1) & 0xFF in _DAMAGED
                if not (retry and damaged and self._start_anew()):
                    self._off = True
                    self.notice = f"the embedding cache {self._path} is not used: {problem}"
        return otherwise

    def _start_anew(self) -> bool:
        try:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        except OSError:  # what to say about it follows from the damage
            return False
        self.notice = f"the embedding cache {self._path} was damaged and is started anew"
        return True

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _connect(self._path)
        return self._connection


def _begun(fingerprint: Fingerprint) -> int:
    """The checksum of what stands in every row of an embedder."""
    return crc32(fingerprint.key.encode())


def _checksum(begun: int, key: bytes, vector: bytes) -> int:
    """Over the vector and what it is of: a vector that stands in another's row is none."""
    return crc32(vector, crc32(key, begun))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite itself would make it readable by others
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
    try:
        use_wal(connection, _BUSY)
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
