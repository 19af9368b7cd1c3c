"""Search: the index and the words nominate, the registry decides, the limit is filled after all filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.qdrant_edge import EdgeStore
from domain.memory import MemoryRecorded, Source, memory_stream
from projections.index.points import point_id
from projections.index.port import Point, VectorIndex
from projections.index.records import memory_ref
from projections.loop import rebuild
from projections.search import Hit, by_vector, by_words
from projections.similar import words_of
from tests.projections.ledgers import append
from tests.projections.memories import db_of, registry_of, retire

QUESTION = [1.0, 0.0]
NEAR = [1.0, 0.1]
FAR = [0.0, 1.0]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[VectorIndex]:
    with EdgeStore(tmp_path / "index", wait=0.0).begin(2) as made:
        yield made


def put(index: VectorIndex, ref: str, vector: list[float], *, chunk: int = 0, kind: str = "memory") -> None:
    payload = {"ref": ref, "kind": kind, "chunk": chunk, "content_hash": "h", "position": 1}
    index.upsert([Point(point_id(ref, chunk), vector, payload)])


def put_memories(index: VectorIndex, *numbers: int, vector: list[float] = NEAR) -> None:
    for number in numbers:
        put(index, f"memory:mem-{number:04d}", vector)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def many(count: int) -> list[tuple[str, str]]:
    return [(f"concept {number}", "a procedure") for number in range(1, count + 1)]


# -- by vector ---------------------------------------------------------------------------------------------------------


def test_best_first_and_ties_by_id(tmp_path: Path, index: VectorIndex) -> None:
    """S-45."""
    with registry_of(tmp_path, *many(5)) as made:
        put_memories(index, 4, 2, 5)
        put_memories(index, 1, vector=FAR)
        put_memories(index, 3, vector=QUESTION)
        first = by_vector(db_of(made), index, QUESTION, limit=5, without=())
        assert ids(first) == ["mem-0003", "mem-0002", "mem-0004", "mem-0005", "mem-0001"]
        assert {hit.voice for hit in first} == {"vector"}
        for _ in range(100):
            assert by_vector(db_of(made), index, QUESTION, limit=5, without=()) == first


def test_a_memory_counts_once_with_its_best_chunk(tmp_path: Path, index: VectorIndex) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put_memories(index, 1)
        put(index, "memory:mem-0002", FAR, chunk=0)
        put(index, "memory:mem-0002", QUESTION, chunk=1)
        hits = by_vector(db_of(made), index, QUESTION, limit=5, without=())
    assert ids(hits) == ["mem-0002", "mem-0001"]
    assert hits[0].score == pytest.approx(1.0)


def test_filters_hold_before_the_cut_so_the_limit_is_filled(tmp_path: Path, index: VectorIndex) -> None:
    """Thirty better points are of memories that are retired, unknown or decided already."""
    with registry_of(tmp_path, *many(35)) as made:
        put_memories(index, *range(1, 31), vector=QUESTION)
        put_memories(index, *range(31, 36))
        put_memories(index, 90, vector=QUESTION)
        for number in range(1, 29):
            retire(made[0], number, *many(35)[number - 1])
        hits = by_vector(db_of(made), index, QUESTION, limit=5, without=("mem-0029", "mem-0030"))
    assert ids(hits) == [f"mem-{number:04d}" for number in range(31, 36)]


def test_only_memories_are_found(tmp_path: Path, index: VectorIndex) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put(index, "memory:mem-0001", QUESTION, kind="fact")
        put_memories(index, 2)
        assert ids(by_vector(db_of(made), index, QUESTION, limit=5, without=())) == ["mem-0002"]


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_no_hits(tmp_path: Path, index: VectorIndex, limit: int) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put_memories(index, 1, 2)
        assert by_vector(db_of(made), index, QUESTION, limit=limit, without=()) == []
        assert by_words(db_of(made), "procedure", limit=limit, without=()) == []


def test_a_type_that_is_not_reusable_is_kept_as_history_and_never_found(tmp_path: Path, index: VectorIndex) -> None:
    old = MemoryRecorded(
        memory_id="mem-0002",
        type="table_promoted",
        subject="procedure table",
        detail="a procedure",
        sources=(Source(session_id="s1", seq=9),),
    )
    with registry_of(tmp_path, *many(1)) as made:
        append(made[0], memory_stream(old.subject, old.detail), old)
        put_memories(index, 1, 2)
        db = db_of(made)
        assert ids(by_vector(db, index, QUESTION, limit=5, without=())) == ["mem-0001"]
        assert ids(by_words(db, "procedure", limit=5, without=())) == ["mem-0001"]


# -- by words ----------------------------------------------------------------------------------------------------------


def test_words_rank_ties_by_id_over_a_hundred_runs_and_after_a_rebuild(tmp_path: Path) -> None:
    """S-45."""
    memories = [("alpha", "a procedure"), ("beta", "a ward"), ("gamma", "a procedure"), ("delta", "a procedure")]
    with registry_of(tmp_path, *memories) as made:
        db = db_of(made)
        first = by_words(db, "which procedure?", limit=5, without=())
        assert ids(first) == ["mem-0001", "mem-0003", "mem-0004"]
        assert len({hit.score for hit in first}) == 1
        assert all(by_words(db, "which procedure?", limit=5, without=()) == first for _ in range(100))
        rebuild(made[0], made[1], made[1].views, tmp_path / "scratch.sqlite3")
        assert by_words(made[1].db, "which procedure?", limit=5, without=()) == first


def test_more_shared_words_rank_higher(tmp_path: Path) -> None:
    with registry_of(tmp_path, ("alpha", "ward"), ("beta", "ward of the clinic"), *many(9)) as made:
        hits = by_words(db_of(made), "ward clinic", limit=5, without=())
    assert ids(hits) == ["mem-0002", "mem-0001"]
    assert hits[0].score > hits[1].score
    assert all(0 < hit.score < 1 for hit in hits)


def test_words_fill_the_limit_past_what_is_not_live_or_not_wanted(tmp_path: Path) -> None:
    with registry_of(tmp_path, *many(30)) as made:
        for number in range(1, 21):
            retire(made[0], number, *many(30)[number - 1])
        found = by_words(db_of(made), "procedure", limit=5, without=("mem-0021", "mem-0022"))
    assert ids(found) == [f"mem-{number:04d}" for number in range(23, 28)]


@pytest.mark.parametrize("odd", ["", " ", '"', 'procedure" OR "ward', "NEAR(a b)", "a:b", "^x", "{x}", "心臓", "🫀"])
def test_any_question_is_literal_words(tmp_path: Path, odd: str) -> None:
    with registry_of(tmp_path, ("alpha", "a procedure")) as made:
        expected = ["mem-0001"] if "procedure" in odd or "a" in words_of(odd) else []
        assert ids(by_words(db_of(made), odd, limit=5, without=())) == expected


def test_words_are_found_whatever_their_case_or_final_sigma(tmp_path: Path) -> None:
    with registry_of(tmp_path, ("λόγος", "ΠΕΡΊΟΔΟΣ, perché la Straße"), *many(3)) as made:
        for question in ("ΛΌΓΟΣ", "λόγος", "περίοδος", "PERCHE", "perché", "Straße"):
            assert ids(by_words(db_of(made), question, limit=5, without=())) == ["mem-0001"], question


def test_the_reference_of_a_memory_names_its_kind() -> None:
    assert memory_ref("mem-0001") == "memory:mem-0001"
