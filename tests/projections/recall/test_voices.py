"""What each voice nominates among memories: words and vectors nominate, the registry decides what is live, and the
limit is filled after all filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from adapters.hash_embedder import HashEmbedder
from adapters.indexing import Asked
from adapters.ledger import Ledger
from adapters.meaning import IndexMeaning, within
from adapters.qdrant_edge import EdgeStore
from domain.memory import MemoryRecorded, Source, memory_stream
from projections.fact_queries import Wanted
from projections.index.points import point_id
from projections.index.port import Checkpoint, Point, VectorIndex
from projections.loop import rebuild
from projections.recall.engine import Ranking, rank
from projections.recall.question import Mode, Question
from projections.refs import memory_ref
from projections.scope import everything
from projections.similar import words_of
from projections.view import ViewsFile
from tests.projections.ledgers import append
from tests.projections.memories import db_of, registry_of, retire

ASKED = [1.0, 0.0]
NEAR = [1.0, 0.1]
FAR = [0.0, 1.0]
NOW = "2026-03-02T12:00:00.000000Z"
WORDLESS = "…?"  # the lexical voice is silent: what is found is found by vectors

Made = tuple[Ledger, ViewsFile]


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


def asked(text: str, mode: Mode, limit: int = 5, without: Sequence[str] = ()) -> Question:
    refs = frozenset(memory_ref(one) for one in without)
    return Question(text, Wanted(NOW), everything(), mode, ("memory",), limit, without=refs)


def by_words(made: Made, text: str, limit: int = 5, without: Sequence[str] = ()) -> Ranking:
    return rank(db_of(made), asked(text, "keyword", limit, without))


def by_vector(made: Made, index: VectorIndex, limit: int = 5, without: Sequence[str] = ()) -> Ranking:
    question = asked(WORDLESS, "semantic", limit, without)
    meaning = IndexMeaning(Asked(index, ASKED, Checkpoint(0, "", "", "", 0), HashEmbedder(2)), within(question))
    return rank(db_of(made), question, meaning)


def ids(ranking: Ranking) -> list[str]:
    return [hit.candidate.id for hit in ranking.hits]


def many(count: int) -> list[tuple[str, str]]:
    return [(f"concept {number}", "a procedure") for number in range(1, count + 1)]


# -- by vector ---------------------------------------------------------------------------------------------------------


def test_best_first_and_ties_by_id(tmp_path: Path, index: VectorIndex) -> None:
    """S-45."""
    with registry_of(tmp_path, *many(5)) as made:
        put_memories(index, 4, 2, 5)
        put_memories(index, 1, vector=FAR)
        put_memories(index, 3, vector=ASKED)
        first = by_vector(made, index)
        assert ids(first) == ["mem-0003", "mem-0002", "mem-0004", "mem-0005", "mem-0001"]
        assert [hit.why.ranks for hit in first.hits] == [{"vector": number} for number in range(1, 6)]
        for _ in range(100):
            assert by_vector(made, index) == first


def test_a_memory_counts_once_with_its_best_chunk(tmp_path: Path, index: VectorIndex) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put_memories(index, 1)
        put(index, "memory:mem-0002", FAR, chunk=0)
        put(index, "memory:mem-0002", ASKED, chunk=1)
        found = by_vector(made, index)
    assert ids(found) == ["mem-0002", "mem-0001"]
    assert found.hits[0].why.heard.cosine == pytest.approx(1.0)


def test_filters_hold_before_the_cut_so_the_limit_is_filled(tmp_path: Path, index: VectorIndex) -> None:
    """S-04: better points are of memories that are retired, unknown or decided already."""
    with registry_of(tmp_path, *many(125)) as made:
        put_memories(index, *range(1, 121), vector=ASKED)
        put_memories(index, *range(121, 126))
        put_memories(index, 190, vector=ASKED)
        for number in range(1, 119):
            retire(made[0], number, *many(125)[number - 1])
        found = by_vector(made, index, without=("mem-0119", "mem-0120"))
    assert ids(found) == [f"mem-{number:04d}" for number in range(121, 126)]
    assert not found.more


def test_only_the_kinds_that_are_asked_for_are_found(tmp_path: Path, index: VectorIndex) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put(index, "memory:mem-0001", ASKED, kind="fact")
        put_memories(index, 2)
        assert ids(by_vector(made, index)) == ["mem-0002"]


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_no_hits(tmp_path: Path, index: VectorIndex, limit: int) -> None:
    with registry_of(tmp_path, *many(2)) as made:
        put_memories(index, 1, 2)
        assert ids(by_vector(made, index, limit)) == []
        assert ids(by_words(made, "procedure", limit)) == []


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
        assert ids(by_vector(made, index)) == ["mem-0001"]
        assert ids(by_words(made, "procedure")) == ["mem-0001"]


# -- by words ----------------------------------------------------------------------------------------------------------


def test_words_rank_ties_by_id_over_a_hundred_runs_and_after_a_rebuild(tmp_path: Path) -> None:
    """S-45."""
    memories = [("alpha", "a procedure"), ("betas", "a ward"), ("gamma", "a procedure"), ("delta", "a procedure")]
    with registry_of(tmp_path, *memories) as made:
        first = by_words(made, "which procedure?")
        assert ids(first) == ["mem-0001", "mem-0003", "mem-0004"]
        assert len({hit.score for hit in first.hits}) == 1
        assert all(by_words(made, "which procedure?") == first for _ in range(100))
        rebuild(made[0], made[1], made[1].views, tmp_path / "scratch.sqlite3")
        assert by_words(made, "which procedure?") == first


def test_more_shared_words_rank_higher(tmp_path: Path) -> None:
    with registry_of(tmp_path, ("alpha", "ward"), ("beta", "ward of the clinic"), *many(9)) as made:
        found = by_words(made, "ward clinic")
    assert ids(found) == ["mem-0002", "mem-0001"]
    best, second = found.hits
    assert 0 < second.score < best.score == 1
    assert best.why.evidence is not None
    assert best.why.evidence.vector == best.why.evidence.temporal == best.why.evidence.graph == 0


def test_words_fill_the_limit_past_what_is_not_live_or_not_wanted(tmp_path: Path) -> None:
    with registry_of(tmp_path, *many(30)) as made:
        for number in range(1, 21):
            retire(made[0], number, *many(30)[number - 1])
        found = by_words(made, "procedure", without=("mem-0021", "mem-0022"))
    assert ids(found) == [f"mem-{number:04d}" for number in range(23, 28)]
    assert found.more


@pytest.mark.parametrize("odd", ["", " ", '"', 'procedure" OR "ward', "NEAR(a b)", "a:b", "^x", "{x}", "心臓", "🫀"])
def test_any_question_is_literal_words(tmp_path: Path, odd: str) -> None:
    with registry_of(tmp_path, ("alpha", "a procedure")) as made:
        expected = ["mem-0001"] if "procedure" in words_of(odd) else []
        assert ids(by_words(made, odd)) == expected


def test_words_are_found_whatever_their_case_or_final_sigma(tmp_path: Path) -> None:
    """S-61."""
    with registry_of(tmp_path, ("λόγος", "ΠΕΡΊΟΔΟΣ, perché la Straße"), *many(3)) as made:
        for question in ("ΛΌΓΟΣ", "λόγος", "περίοδος", "PERCHE", "perché", "Straße"):
            assert ids(by_words(made, question)) == ["mem-0001"], question


def test_the_reference_of_a_memory_names_its_kind() -> None:
    assert memory_ref("mem-0001") == "memory:mem-0001"
