"""The exact scan over cached vectors: what it finds, what it says it cannot see, and that it embeds nothing."""

from __future__ import annotations

import random
from math import sqrt
from pathlib import Path

import pytest

from adapters import exact
from adapters.exact import nearest
from adapters.hash_embedder import HashEmbedder
from adapters.vector_cache import CachedEmbedder
from domain.errors import ModelUnavailable

LETTERS = "abcdefghijklmnop"


class Closed(HashEmbedder):
    """Says what a piece of a text is, and embeds nothing."""

    def embed_documents(self, texts: object) -> list[list[float]]:
        raise ModelUnavailable("nothing may be embedded")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite3"


def reading(path: Path, dimension: int = 32) -> CachedEmbedder:
    return CachedEmbedder(Closed(dimension), path)


def remembered(path: Path, texts: list[str], dimension: int = 32) -> None:
    writing = CachedEmbedder(HashEmbedder(dimension), path)
    writing.embed_documents([chunk for text in texts for chunk in writing.chunks(text)])
    writing.close()


def random_text(chance: random.Random) -> str:
    return " ".join("".join(chance.choices(LETTERS, k=4)) for _ in range(chance.choice((3, 8, 90))))


def naive(question: list[float], texts: list[tuple[str, str]]) -> list[tuple[float, str]]:
    model = HashEmbedder(32)
    found = []
    for ref, text in texts:
        vectors = model.embed_documents(model.chunks(text))
        best = max(sum(a * b for a, b in zip(question, one, strict=True)) / _length(question) for one in vectors)
        found.append((best, ref))
    return sorted(found, key=lambda one: (-round(one[0], 6), one[1]))


def _length(vector: list[float]) -> float:
    return sqrt(sum(value * value for value in vector))


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_it_is_the_nearest_whatever_is_looked_at_at_once(
    path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "BLOCK", block)
    chance = random.Random(4)
    texts = [(f"fact:{number:03d}", random_text(chance)) for number in range(60)]
    remembered(path, [text for _, text in texts])
    for limit in (1, 5, 60, 100):
        question = [chance.gauss(0, 1) for _ in range(32)]
        found, unknown = nearest(reading(path), question, iter(texts), limit=limit)
        expected = naive(question, texts)[:limit]
        assert [one.ref for one in found] == [ref for _, ref in expected]
        assert [one.score for one in found] == pytest.approx([score for score, _ in expected], abs=2e-6)
        assert unknown == 0


def test_the_best_piece_counts_and_is_named(path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(100)) + " saffron"
    texts = [("fact:long", long), ("fact:b", "a ward of beds")]
    remembered(path, [text for _, text in texts], 256)
    found, _ = nearest(reading(path, 256), HashEmbedder(256).embed_query("saffron"), texts, limit=5)
    assert [one.ref for one in found] == ["fact:long", "fact:b"]
    assert found[0].payload["chunk"] == len(HashEmbedder(256).chunks(long)) - 1


def test_equals_stand_by_ref(path: Path) -> None:
    """S-45."""
    remembered(path, ["the same"])
    texts = [(f"fact:{letter}", "the same") for letter in "dbca"]
    found, _ = nearest(reading(path), HashEmbedder(32).embed_query("the same"), texts, limit=3)
    assert [one.ref for one in found] == ["fact:a", "fact:b", "fact:c"]


def test_a_text_without_its_vector_is_counted_and_not_embedded(path: Path) -> None:
    """One of whose pieces not all are there is left out whole: its best one might be missing."""
    long = " ".join(f"word{number}" for number in range(100))
    remembered(path, ["known", HashEmbedder(32).chunks(long)[0]])
    texts = [("fact:a", "known"), ("fact:b", "never seen"), ("fact:c", long)]
    found, unknown = nearest(reading(path), HashEmbedder(32).embed_query("known"), texts, limit=5)
    assert ([one.ref for one in found], unknown) == (["fact:a"], 2)
    assert nearest(reading(path, 64), HashEmbedder(64).embed_query("known"), texts, limit=5) == ([], 3)


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_no_hits(path: Path, limit: int) -> None:
    remembered(path, ["known"])
    assert nearest(reading(path), [1.0] * 32, [("fact:a", "known"), ("fact:b", "other")], limit=limit) == ([], 1)


def test_a_question_without_a_direction_finds_all_alike(path: Path) -> None:
    remembered(path, ["one", "two"])
    found, _ = nearest(reading(path), [0.0] * 32, [("fact:b", "one"), ("fact:a", "two")], limit=5)
    assert [(one.ref, one.score) for one in found] == [("fact:a", 0.0), ("fact:b", 0.0)]
