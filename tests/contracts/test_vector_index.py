"""What `projections.index.port` promises of an index and its store, asked of every engine we have."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import sqrt
from threading import Thread

import pytest

from adapters.qdrant_connection import REST, SERVERS, Absences, Way
from adapters.qdrant_server import ServerStore
from domain.errors import IndexUnavailable, InvalidInput, Refused, ThtError
from projections.index.port import Checkpoint, IndexStore, VectorIndex, Within
from tests.contracts.engines import Opener, point

SEEN = Checkpoint(position=1204, chain="ab" * 32, fingerprint="hash:4@1/sum/normalised/4", model="hash:4", version=3)
EAST, NORTH, NORTH_EAST, WEST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]


def refs(index: VectorIndex, vector: list[float] = EAST, *, kind: str = "fact", limit: int = 10) -> list[str]:
    return [found.ref for found in index.search(vector, Within((kind,)), limit=limit)]


class TestPoints:
    def test_an_empty_index_finds_and_counts_nothing(self, index: VectorIndex) -> None:
        assert index.search(EAST, Within(("fact",)), limit=5) == []
        assert index.count() == 0
        assert list(index.scan()) == []
        assert index.checkpoint() is None

    def test_the_score_is_the_cosine_whatever_the_length(self, index: VectorIndex) -> None:
        index.upsert([point("east", [5.0, 0, 0, 0]), point("both", NORTH_EAST), point("west", WEST)])
        scores = {found.ref: found.score for found in index.search([0.1, 0, 0, 0], Within(("fact",)), limit=5)}
        assert scores == pytest.approx({"east": 1.0, "both": 1 / sqrt(2), "west": -1.0}, abs=1e-6)

    def test_hits_carry_their_payload(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST, none=None, tags=["x", "y"], big=2**60, text="Ωμέγα 🦉")])
        (found,) = index.search(EAST, Within(("fact",)), limit=5)
        assert dict(found.payload) == dict(
            point("a", EAST, none=None, tags=["x", "y"], big=2**60, text="Ωμέγα 🦉").payload
        )

    def test_writing_twice_is_writing_once_and_the_last_one_counts(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST)])
        index.upsert([point("a", NORTH, note="new")])
        assert index.count() == 1
        assert index.search(NORTH, Within(("fact",)), limit=5)[0].score == pytest.approx(1.0, abs=1e-6)
        assert [payload["note"] for payload in index.scan()] == ["new"]

    def test_only_the_kind_asked_for_is_found(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST, kind="fact"), point("b", EAST, kind="memory")])
        assert refs(index, kind="memory") == ["b"]
        assert refs(index, kind="note") == []

    def test_refs_are_taken_as_they_are(self, index: VectorIndex) -> None:
        strange = ["fact:é", "fact:e\u0301", "факт 1", "事実", "🦉", "a'b\"c\\", "x" * 400, "fact:É", " ", "a\nb"]
        index.upsert([point(ref, EAST) for ref in strange])
        assert sorted(refs(index, limit=50)) == sorted(strange)
        index.delete_refs(["fact:é", "🦉"])
        assert sorted(refs(index, limit=50)) == sorted(set(strange) - {"fact:é", "🦉"})

    def test_delete_removes_every_chunk_of_a_ref_and_no_other(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST, chunk=number) for number in range(3)] + [point("ab", EAST), point("A", EAST)])
        index.delete_refs(["a", "unknown"])
        index.delete_refs([])
        assert refs(index) == ["A", "ab"]
        assert index.count() == 2

    def test_many_points_are_all_scanned_and_counted(self, index: VectorIndex) -> None:
        chance = random.Random(7)
        index.upsert([point(f"r{n}", [chance.gauss(0, 1) for _ in range(4)]) for n in range(700)])
        index.save_checkpoint(SEEN)
        assert index.count() == 700
        assert sorted(payload["ref"] for payload in index.scan()) == sorted(f"r{n}" for n in range(700))
        assert next(iter(index.scan("ref"))).keys() == {"ref"}
        index.delete_refs([f"r{n}" for n in range(600)])
        assert index.count() == 100

    @pytest.mark.parametrize("vector", [[float("nan"), 0, 0, 0], [float("inf"), 0, 0, 0], [1.0, 2.0]])
    def test_a_bad_vector_leaves_nothing_of_its_batch(self, index: VectorIndex, vector: list[float]) -> None:
        with pytest.raises(InvalidInput):
            index.upsert([point("good", EAST), point("bad", vector)])
        assert index.count() == 0

    def test_vectors_of_another_dimension_are_refused_whole(self, index: VectorIndex) -> None:
        with pytest.raises(IndexUnavailable, match="dim") as refused:
            index.upsert([point("a", [1.0, 0.0]), point("b", [0.0, 1.0])])
        assert refused.value.hint == "tht index rebuild"
        with pytest.raises(IndexUnavailable):
            index.search([1.0, 0.0], Within(("fact",)), limit=3)
        assert index.count() == 0


class TestOrder:
    def test_best_first_then_ref_then_chunk(self, index: VectorIndex) -> None:
        same = [("b", 1), ("c", 0), ("a", 0), ("b", 0), ("b", 10), ("b", 2)]
        index.upsert([point("z", EAST)] + [point(ref, NORTH_EAST, chunk=chunk) for ref, chunk in same])
        found = [(one.ref, one.payload["chunk"]) for one in index.search(EAST, Within(("fact",)), limit=10)]
        assert found == [("z", 0), ("a", 0), ("b", 0), ("b", 1), ("b", 2), ("b", 10), ("c", 0)]

    def test_which_of_many_equals_are_kept_does_not_depend_on_the_engine(self, index: VectorIndex) -> None:
        names = [f"r{n:03d}" for n in range(300)]
        random.Random(3).shuffle(names)
        index.upsert([point(name, NORTH_EAST) for name in names])
        assert refs(index, limit=5) == ["r000", "r001", "r002", "r003", "r004"]

    def test_scores_that_differ_only_by_rounding_are_equal(self, index: VectorIndex) -> None:
        index.upsert([point("b", EAST), point("a", [1.0, 6e-4, 0, 0])])
        assert refs(index) == ["a", "b"]

    def test_the_answer_is_the_true_nearest(self, index: VectorIndex) -> None:
        chance = random.Random(11)
        vectors = {f"r{n}": [chance.gauss(0, 1) for _ in range(4)] for n in range(400)}
        index.upsert([point(ref, vector) for ref, vector in vectors.items()])
        asked = [chance.gauss(0, 1) for _ in range(4)]
        naive = sorted(vectors, key=lambda ref: (-round(_cosine(asked, vectors[ref]), 6), ref))
        assert refs(index, asked, limit=25) == naive[:25]

    @pytest.mark.parametrize(("limit", "expected"), [(0, 0), (-1, 0), (1, 1), (3, 3), (100, 20)])
    def test_limit(self, index: VectorIndex, limit: int, expected: int) -> None:
        index.upsert([point(f"r{n:02d}", [1.0, n, 0, 0]) for n in range(20)])
        assert len(refs(index, limit=limit)) == expected

    def test_without_leaves_out_exactly_these_and_the_next_ones_move_up(self, index: VectorIndex) -> None:
        index.upsert([point(f"r{n:04d}", [1.0, n / 100, 0, 0], chunk=part) for n in range(200) for part in range(2)])
        without = [f"r{n:04d}" for n in range(0, 200, 2)] + ["never seen"]
        found = index.search(EAST, Within(("fact",), without=tuple(without)), limit=6)
        assert [one.ref for one in found] == ["r0001", "r0001", "r0003", "r0003", "r0005", "r0005"]
        assert index.search(EAST, Within(("fact",), without=tuple([f"r{n:04d}" for n in range(200)])), limit=6) == []


def _cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / sqrt(sum(a * a for a in one)) / sqrt(sum(b * b for b in other))


class TestCheckpoint:
    def test_it_comes_back_as_saved_and_the_last_one_counts(self, index: VectorIndex) -> None:
        index.save_checkpoint(SEEN)
        later = replace(SEEN, position=2**53 + 1, chain="cd" * 32, fingerprint="модель@x/mean/raw/4")
        index.save_checkpoint(later)
        assert index.checkpoint() == later

    def test_it_is_no_point(self, index: VectorIndex) -> None:
        index.save_checkpoint(SEEN)
        assert index.count() == 0
        assert list(index.scan()) == []
        for kind in ("fact", "", "checkpoint"):
            assert index.search(EAST, Within((kind,)), limit=5) == []
        index.upsert([point("a", EAST)])
        assert index.count() == 1
        assert [payload["ref"] for payload in index.scan()] == ["a"]

    def test_deleting_refs_leaves_it(self, index: VectorIndex) -> None:
        index.save_checkpoint(SEEN)
        index.upsert([point("checkpoint", EAST)])
        index.delete_refs(["checkpoint", "", "None"])
        assert index.checkpoint() == SEEN


class TestGenerations:
    def test_at_first_there_is_none(self, opener: Opener) -> None:
        store = opener()
        assert store.current() is None
        assert store.describe()["current"] == "none"

    def test_a_generation_is_current_only_after_the_swap(self, opener: Opener) -> None:
        store = opener()
        fresh = store.begin(4)
        fresh.upsert([point("a", EAST)])
        assert store.current() is None
        store.swap(fresh)
        with _current(store) as current:
            assert refs(current) == ["a"]

    def test_everything_is_there_for_the_next_process(self, opener: Opener) -> None:
        store = opener()
        fresh = store.begin(4)
        fresh.upsert([point("a", EAST), point("b", NORTH)])
        fresh.save_checkpoint(SEEN)
        store.swap(fresh)
        with _current(opener()) as current:
            assert (refs(current), current.count(), current.checkpoint()) == (["a", "b"], 2, SEEN)
            current.delete_refs(["a"])
            current.upsert([point("c", EAST)])
        with _current(opener()) as current:
            assert refs(current) == ["c", "b"]

    def test_the_old_one_answers_while_the_new_one_is_filled_and_goes_with_the_swap(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        before = store.describe()["current"]
        with _current(store) as old:
            fresh = store.begin(8)  # another embedder, another dimension
            fresh.upsert([point("new", [1.0] * 8)])
            assert refs(old) == ["old"]
            assert fresh.checkpoint() is None
        store.swap(fresh)
        assert store.describe()["current"] != before
        assert store.describe()["leftovers"] == "none"
        with _current(opener()) as current:
            assert refs(current, [1.0] * 8) == ["new"]

    def test_who_has_one_open_can_tell_that_another_was_swapped_in(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        with _current(store) as old:
            assert store.is_current(old)
            fresh = store.begin(4)
            assert not store.is_current(fresh)
            store.swap(fresh)
            assert not store.is_current(old)
        with _current(store) as new:
            assert store.is_current(new)

    def test_a_discarded_one_leaves_no_trace(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        store.discard(store.begin(4))
        assert store.describe()["leftovers"] == "none"
        with _current(opener()) as current:
            assert refs(current) == ["old"]

    def test_leftovers_of_a_killed_rebuild_go_when_the_next_one_begins(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        killed = store.begin(4)
        killed.upsert([point("half", EAST)])
        killed.close()  # as far as the lock goes, what a kill does
        store = opener()
        assert store.describe()["leftovers"] != "none"
        with store.begin(4) as fresh:
            assert fresh.count() == 0
            fresh.close()
            store.swap(fresh)
        assert store.describe()["leftovers"] == "none"

    def test_the_current_one_can_neither_be_discarded_nor_swapped_in_again(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        with _current(store) as current:
            with pytest.raises(Refused):
                store.discard(current)
            with pytest.raises(Refused):
                store.swap(current)
        with _current(opener()) as current:
            assert refs(current) == ["old"]

    def test_describe_names_the_engine_and_opens_nothing(self, opener: Opener) -> None:
        store = _with_current(opener, "old")
        with _current(store):
            told = store.describe()
        assert "Qdrant" in told["engine"]
        assert set(told) >= {"engine", "where", "current", "leftovers"}
        assert all(isinstance(value, str) for value in told.values())

    def test_a_closed_index_says_so_and_closing_twice_is_safe(self, opener: Opener) -> None:
        fresh = opener().begin(4)
        fresh.close()
        fresh.close()
        uses: list[Callable[[], object]] = [
            fresh.count,
            fresh.checkpoint,
            lambda: list(fresh.scan()),
            lambda: fresh.upsert([point("a", EAST)]),
            lambda: fresh.delete_refs(["a"]),
            lambda: fresh.save_checkpoint(SEEN),
            lambda: fresh.search(EAST, Within(("fact",)), limit=1),
        ]
        for use in uses:
            with pytest.raises(IndexUnavailable):
                use()


def _with_current(opener: Opener, ref: str) -> IndexStore:
    store = opener()
    fresh = store.begin(4)
    fresh.upsert([point(ref, EAST)])
    store.swap(fresh)
    return store


def _current(store: IndexStore) -> VectorIndex:
    current = store.current()
    assert current is not None
    return current


class TestServerAway:
    def test_no_server_is_one_clear_line_with_no_key_in_it(self) -> None:
        store = ServerStore(
            "tht-test", url="http://user:password@127.0.0.1:9/?api_key=secret", api_key="secret", timeout=2
        )
        with pytest.raises(IndexUnavailable) as away:
            store.current()
        said = f"{away.value.message} {away.value.hint} {store.describe()}"
        assert "http://127.0.0.1:9" in said
        assert "secret" not in said
        assert "password" not in said
        assert "unknown" in store.describe()["current"]
        store.close()

    def test_one_that_does_not_answer_is_waited_for_once_and_not_by_each(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            ahead = [0.0]
            way = Way(url, None, None, 1, lambda: time.monotonic() + ahead[0])

            def ask() -> float:
                begun = time.monotonic()
                with pytest.raises(IndexUnavailable, match="timed out") as away, way.open() as client:
                    client.get_collections()
                assert "is Qdrant running" in away.value.hint
                return time.monotonic() - begun

            assert ask() >= 1.0
            assert max(ask() for _ in range(5)) < 0.9
            ahead[0] = REST
            assert ask() >= 1.0, "and then again, as it may be back"
            way.close()

    def test_what_one_has_found_out_all_of_the_process_know_and_after_the_rest_one_tries(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            ahead = [0.0]
            absences = Absences()

            def ask(key: str | None = None) -> float:
                way = Way(url, key, None, 1, lambda: time.monotonic() + ahead[0], absences)
                begun = time.monotonic()
                with pytest.raises(IndexUnavailable, match="timed out"), way.open() as client:
                    client.get_collections()
                way.close()
                return time.monotonic() - begun

            assert ask() >= 1.0
            assert max(ask() for _ in range(5)) < 0.9
            assert ask("a key of another's") >= 1.0, "whom it may answer"
            ahead[0] = REST
            with ThreadPoolExecutor(4) as threads:
                waited = sorted(threads.map(lambda _: ask(), range(4)))
            assert waited[-1] >= 1.0
            assert waited[-2] < 0.9, "one of them tries"

    def test_how_many_are_remembered_is_bounded_and_one_that_answers_is_forgotten(self) -> None:
        absences, away = Absences(), IndexUnavailable("it is away", "start it")
        for number in range(3 * SERVERS):
            absences.note((f"http://{number}", None), 0.0, away)
        assert len(absences._until) == SERVERS
        last = (f"http://{3 * SERVERS - 1}", None)
        with pytest.raises(IndexUnavailable, match="it is away") as told:
            absences.require(last, REST - 1, 10.0)
        assert told.value is not away, "or its traceback would grow"
        absences.require(last, REST, 10.0)
        with pytest.raises(IndexUnavailable):
            absences.require(last, REST + 1, 10.0)
        absences.forget(last)
        absences.require(last, REST + 1, 10.0)
        absences.require(("http://0", None), 0.0, 10.0)

    @pytest.mark.parametrize(
        ("status", "hint"), [(401, "API key"), (403, "API key"), (404, "rebuild"), (500, "running")]
    )
    def test_a_server_that_refuses_is_one_clear_line(self, status: int, hint: str) -> None:
        class Refusing(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b'{"status": {"error": "no\\nthanks"}}')

            def log_message(self, format: str, *args: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Refusing) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            store = ServerStore("tht-test", url=f"http://127.0.0.1:{server.server_port}", api_key="secret")
            with pytest.raises(IndexUnavailable) as refused:
                store.current()
            server.shutdown()
        assert str(status) in refused.value.message
        assert "\n" not in refused.value.message
        assert hint in refused.value.hint
        store.close()

    @pytest.mark.parametrize("prefix", ["", "a/b", "../x", "a b", "-a"])
    def test_a_prefix_that_cannot_name_a_collection_is_refused(self, prefix: str) -> None:
        with pytest.raises(ThtError):
            ServerStore(prefix, url="http://127.0.0.1:9")
