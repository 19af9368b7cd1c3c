"""What a search may nominate, decided before it ranks: every engine against a naive reference, over random filters."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from adapters.qdrant_edge import EdgeStore
from adapters.qdrant_points import EXACT_BELOW
from projections.index.port import Point, VectorIndex, Within
from tests.contracts.engines import point

EAST = [1.0, 0.0, 0.0, 0.0]
DOMAINS = ("alpha", "beta", "repo:shop/alpha", "repo:shop/gamma", "repo:ward/alpha")


def fact(ref: str, domain: str, vector: list[float], chunk: int = 0) -> Point:
    repo = domain.split("/")[0].removeprefix("repo:") if domain.startswith("repo:") else ""
    return point(ref, vector, kind="fact", chunk=chunk, domain=domain, repo=repo)


def memory(ref: str, vector: list[float], chunk: int = 0) -> Point:
    return point(ref, vector, kind="memory", chunk=chunk, domain="", repo="")


@dataclass(frozen=True)
class Told:
    ref: str
    chunk: int
    score: float


def naive(points: list[Point], asked: list[float], within: Within, limit: int) -> list[Told]:
    """The same answer by looking at every point."""
    found = [
        Told(one.payload["ref"], one.payload["chunk"], round(cosine(asked, list(one.vector)), 6))
        for one in points
        if _may(one.payload, within)
    ]
    return sorted(found, key=lambda told: (-told.score, told.ref, told.chunk))[:limit]


def _may(payload: Any, within: Within) -> bool:
    if within.kinds and payload["kind"] not in within.kinds:
        return False
    if within.domain and payload["domain"] != within.domain:
        return False
    if within.repo and payload["repo"] != within.repo:
        return False
    if within.only and payload["ref"] not in within.only:
        return False
    if payload["ref"] in within.without:
        return False
    if payload["kind"] == "memory":
        return True
    return payload["domain"] not in within.closed and (within.opened is None or payload["domain"] in within.opened)


def cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / sqrt(sum(a * a for a in one)) / sqrt(sum(b * b for b in other))


def random_within(chance: random.Random, refs: list[str]) -> Within:
    def some(names: tuple[str, ...] | list[str], most: int) -> list[str]:
        return chance.sample(names, chance.randint(0, most))

    return Within(
        kinds=chance.choice(((), ("fact",), ("memory",), ("fact", "memory"))),
        domain=chance.choice(("",) * 8 + DOMAINS[:3] + ("nowhere",)),
        repo=chance.choice(("",) * 8 + ("shop", "ward", "nowhere")),
        closed=frozenset(some(DOMAINS, 3)),
        opened=chance.choice((None, None, frozenset(some(DOMAINS, 3)))),
        without=tuple(some(refs, 12)),
        only=tuple(some(refs, 12)) if chance.random() < 0.2 else (),
    )


def random_points(chance: random.Random, count: int) -> list[Point]:
    def vector() -> list[float]:
        return [chance.gauss(0, 1) for _ in range(4)]

    points = []
    for number in range(count):
        for chunk in range(chance.choice((1, 1, 1, 3))):
            if number % 4:
                points.append(fact(f"fact:{number}", DOMAINS[number % len(DOMAINS)], vector(), chunk))
            else:
                points.append(memory(f"memory:{number}", vector(), chunk))
    return points


def told(index: VectorIndex, asked: list[float], within: Within, limit: int) -> list[Told]:
    found = index.search(asked, within, limit=limit)
    return [Told(one.ref, one.payload["chunk"], one.score) for one in found]


def test_every_engine_answers_as_a_look_at_every_point_does(index: VectorIndex) -> None:
    chance = random.Random(20)
    points = random_points(chance, 150)
    refs = sorted({str(one.payload["ref"]) for one in points})
    index.upsert(points)
    answers = 0
    for _ in range(200):
        within, limit = random_within(chance, refs), chance.choice((1, 5, 20, 400))
        asked = [chance.gauss(0, 1) for _ in range(4)]
        expected = naive(points, asked, within, limit)
        found = told(index, asked, within, limit)
        assert [(one.ref, one.chunk) for one in found] == [(one.ref, one.chunk) for one in expected], within
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=2e-6)
        answers += bool(expected)
    assert answers > 100, "most of these questions have an answer"


def test_no_filter_takes_all(index: VectorIndex) -> None:
    index.upsert([fact("fact:a", "alpha", EAST), memory("memory:b", EAST)])
    assert [one.ref for one in index.search(EAST, Within(), limit=5)] == ["fact:a", "memory:b"]


def test_s54_an_empty_list_of_open_domains_lets_no_fact_through(index: VectorIndex) -> None:
    """S-54: and memories, which have no domain, are not closed by it."""
    index.upsert([fact("fact:a", "alpha", EAST), fact("fact:b", "beta", EAST), memory("memory:c", EAST)])
    nothing: frozenset[str] = frozenset()
    assert [one.ref for one in index.search(EAST, Within(opened=nothing), limit=5)] == ["memory:c"]
    assert index.search(EAST, Within(("fact",), opened=nothing), limit=5) == []
    everything = frozenset(("alpha", "beta", ""))
    assert [one.ref for one in index.search(EAST, Within(closed=everything), limit=5)] == ["memory:c"]


def test_the_vectors_of_what_was_found_have_length_one(index: VectorIndex) -> None:
    index.upsert([fact("fact:a", "alpha", [3.0, 4.0, 0, 0]), fact("fact:b", "alpha", [0, 2.0, 0, 0])])
    found = index.search([1.0, 1.0, 0, 0], Within(), limit=1)
    assert index.vectors(found) == {"fact:a": pytest.approx((0.6, 0.8, 0.0, 0.0))}
    assert index.vectors([]) == {}
    index.delete_refs(["fact:a"])  # by another process, between the two questions
    assert index.vectors(found) == {}


def test_a_kind_is_a_filter_before_there_are_others_while_there_are_and_after(index: VectorIndex) -> None:
    """The embedded engine leaves it out where there is one kind alone."""
    index.upsert([fact("fact:a", "alpha", EAST)])
    assert [one.ref for one in index.search(EAST, Within(("fact",)), limit=5)] == ["fact:a"]
    assert index.search(EAST, Within(("memory",)), limit=5) == []
    index.upsert([memory("memory:b", EAST)])
    assert [one.ref for one in index.search(EAST, Within(("fact",)), limit=5)] == ["fact:a"]
    assert [one.ref for one in index.search(EAST, Within(("memory",)), limit=5)] == ["memory:b"]
    assert [one.ref for one in index.search(EAST, Within(("fact", "memory")), limit=5)] == ["fact:a", "memory:b"]
    index.delete_refs(["fact:a"])
    assert index.search(EAST, Within(("fact",)), limit=5) == []
    assert [one.ref for one in index.search(EAST, Within(("memory",)), limit=5)] == ["memory:b"]


class TestManyPoints:
    """Above `EXACT_BELOW` the embedded engine shortens its scan; what is near enough to matter comes out the same."""

    def test_the_first_are_the_same_whatever_the_filter_and_after_another_rebuild(self, tmp_path: Path) -> None:
        """S-45: over clustered vectors of the size that models make."""
        import numpy

        chance = numpy.random.default_rng(5)
        count, dimension = EXACT_BELOW + 500, 384
        centres = chance.normal(size=(300, dimension))
        vectors = centres[chance.integers(0, 300, count)] + 0.8 * chance.normal(size=(count, dimension))
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        domains = [DOMAINS[number % 5] for number in range(count)]
        names = [f"fact:{number:06d}" for number in range(count)]
        questions = centres[:8] + 0.8 * chance.normal(size=(8, dimension))
        filters = [
            (Within(), numpy.ones(count, bool)),
            (Within(("fact",), closed=frozenset(("alpha",))), numpy.array([one != "alpha" for one in domains])),
            (Within(("fact",), domain="repo:shop/gamma"), numpy.array([one == "repo:shop/gamma" for one in domains])),
            (Within(("fact",), repo="shop"), numpy.array([one.startswith("repo:shop/") for one in domains])),
        ]
        answers = []
        for generation in range(2):
            store = EdgeStore(tmp_path / f"index-{generation}", wait=0.0)
            fresh = store.begin(dimension)
            for start in range(0, count, 1000):
                rows = range(start, min(start + 1000, count))
                fresh.upsert([fact(names[row], domains[row], vectors[row].tolist()) for row in rows])
            fresh.settle()
            store.swap(fresh)
            current = store.current()
            assert current is not None
            with current:
                answers.append(
                    [
                        [[one.ref for one in current.search(asked.tolist(), within, limit=10)] for asked in questions]
                        for within, _ in filters
                    ]
                )
        scores = [numpy.where(allowed, vectors @ asked, -9.0) for _, allowed in filters for asked in questions]
        best = [[names[row] for row in numpy.argsort(-one)[:10]] for one in scores]
        expected = [best[start : start + len(questions)] for start in range(0, len(best), len(questions))]
        assert answers[0] == answers[1] == expected
