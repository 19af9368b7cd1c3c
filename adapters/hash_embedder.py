"""An embedder for tests: no model, the same vector everywhere and always, near when words or their parts are shared.

It knows no meaning: "car" and "automobile" are strangers. Do not use it for people's memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import sqrt

from adapters.chunking import pieces
from projections.index.port import Embedder, Fingerprint

WINDOW = 40  # words that it sees; small, so that tests meet chunks
OVERLAP = 8
_PART_WEIGHT = 0.5  # of a group of three letters, against 1 for a whole word


class HashEmbedder(Embedder):
    """Signed feature hashing of words and of groups of three letters, L2-normalised."""

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = dimension

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(f"hash:{self._dimension}", "1", "sum", True, self._dimension)

    def chunks(self, text: str) -> list[str]:
        return pieces(text, lambda part: len(part.split()) <= WINDOW, words=WINDOW, overlap=OVERLAP)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        sums = [0.0] * self._dimension
        for word in text.casefold().split()[:WINDOW]:
            for number, weight in _features(word):
                sums[(number >> 1) % self._dimension] += weight if number & 1 else -weight
        length = sqrt(sum(value * value for value in sums))
        if length == 0.0:  # no word at all, or signs that cancel out
            return [1.0] + [0.0] * (self._dimension - 1)
        return [value / length for value in sums]


@lru_cache(maxsize=50_000)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    return tuple((_number(feature), weight) for feature, weight in _parts(word))


def _parts(word: str) -> Iterator[tuple[str, float]]:
    yield f"word {word}", 1.0
    framed = f"^{word}$"
    for start in range(len(framed) - 2):
        yield f"part {framed[start : start + 3]}", _PART_WEIGHT


def _number(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
