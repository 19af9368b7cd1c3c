"""The index over its socket: what the port can, whoever asks; with a Unix socket and with a port and a secret."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from adapters.qdrant_edge import EdgeStore
from adapters.shared_index.answering import IndexSocket
from adapters.shared_index.held import HeldStore, SharedStore
from adapters.shared_index.messages import decoded, encoded
from adapters.shared_index.remote import RemoteIndex, RemoteStore, connect
from adapters.shared_index.stand_in import StandIn
from domain.errors import IndexBusy, IndexUnavailable
from projections.index.port import Checkpoint, Point, VectorIndex, Within

CHECKPOINT = Checkpoint(7, "aa", "f", "hash", 1)


def point(number: int) -> Point:
    vector = [0.0, 0.0, 0.0, 1.0]
    vector[number % 3] = 1.0
    payload = {
        "ref": f"memory:mem-{number:04d}",
        "kind": "memory",
        "domain": "",
        "repo": "",
        "content_hash": "x",
        "chunk": 0,
        "position": number,
    }
    return Point(f"00000000-0000-0000-0000-{number:012d}", vector, payload)


@pytest.fixture(params=["unix", "port"])
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if request.param == "port":
        monkeypatch.setattr("adapters.shared_index.answering.PATH_LIMIT", 0)
    elif not hasattr(socket, "AF_UNIX"):
        pytest.skip("no Unix sockets here")
    held = HeldStore(tmp_path / "index", EdgeStore(tmp_path / "index", wait=0.1))
    path = tmp_path / "s"
    answering = IndexSocket(path, held)
    yield path
    answering.close()
    held.close()


def test_an_index_is_begun_filled_swapped_in_and_asked(served: Path) -> None:
    store = connect(served, 1.0)
    assert isinstance(store, RemoteStore)
    assert store.current() is None
    fresh = store.begin(4)
    fresh.upsert([point(n) for n in range(5)])
    fresh.save_checkpoint(CHECKPOINT)
    store.swap(fresh)
    index = store.current()
    assert index is not None
    with index:
        assert index.checkpoint() == CHECKPOINT
        assert index.count() == 5
        assert {payload["ref"] for payload in index.scan()} == {f"memory:mem-{n:04d}" for n in range(5)}
        found = index.search([1.0, 0.0, 0.0, 1.0], Within(("memory",), without=("memory:mem-0000",)), limit=2)
        assert found[0].ref == "memory:mem-0003"
        assert found[0].score == pytest.approx(1.0)
        index.delete_refs(["memory:mem-0003"])
        assert index.count() == 4
    assert store.describe()["held_by"] == "tht serve"


def test_two_clients_share_what_only_one_process_can_open(served: Path, tmp_path: Path) -> None:
    store = connect(served, 1.0)
    assert store is not None
    fresh = store.begin(4)
    fresh.save_checkpoint(CHECKPOINT)
    store.swap(fresh)
    one, other = store.current(), store.current()
    assert one is not None
    assert other is not None
    one.upsert([point(1)])
    assert other.count() == 1
    with pytest.raises(IndexBusy):
        EdgeStore(tmp_path / "index", wait=0.0).current()
    one.close()
    other.close()


def test_a_generation_whose_maker_has_gone_is_thrown_away(served: Path, tmp_path: Path) -> None:
    store = connect(served, 1.0)
    assert store is not None
    fresh = store.begin(4)
    fresh.close()  # killed before the swap
    again = store.begin(4)
    store.discard(again)
    assert store.current() is None


def test_errors_of_the_index_come_over_in_the_domains_words(served: Path) -> None:
    store = connect(served, 1.0)
    assert store is not None
    fresh = store.begin(4)
    with pytest.raises(IndexUnavailable):
        fresh.upsert([Point("no uuid", [1.0], {})])
    fresh.close()


@pytest.mark.parametrize("message", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 7 + b"\2{}"])
def test_what_is_no_tht_is_hung_up_on_and_the_next_is_served(served: Path, message: bytes) -> None:
    if not served.is_socket():
        port = json.loads(served.read_text())["port"]
        stranger = socket.create_connection(("127.0.0.1", port), 5)
    else:
        stranger = socket.socket(socket.AF_UNIX)
        stranger.settimeout(10)
        stranger.connect(str(served))
    told = b""
    with stranger, suppress(OSError):  # it may hang up before it has read all
        stranger.sendall(message)
        stranger.shutdown(socket.SHUT_WR)
        told = stranger.recv(100)
    assert told == b"" or served.is_socket()
    assert connect(served, 1.0) is not None


def test_a_port_answers_only_whoever_knows_the_secret(served: Path) -> None:
    if served.is_socket():
        pytest.skip("a Unix socket is guarded by its file's mode")
    told = json.loads(served.read_text())
    assert served.stat().st_mode & 0o077 == 0
    served.write_text(json.dumps(told | {"secret": "guessed"}))
    assert connect(served, 1.0) is None


def test_a_dead_servers_socket_stops_nobody(tmp_path: Path) -> None:
    path = tmp_path / "s"
    if hasattr(socket, "AF_UNIX"):
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(path))
        dead.close()
        assert connect(path, 0.5) is None
        path.unlink()
    path.write_text('{"port": 1, "secret": ""}')
    assert connect(path, 0.5) is None
    path.write_text("no json")
    assert connect(path, 0.5) is None
    assert connect(tmp_path / "none", 0.5) is None


def test_one_that_does_not_answer_is_given_up_in_a_bounded_time(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    path = tmp_path / "s"
    path.write_text(json.dumps({"port": listener.getsockname()[1], "secret": ""}))
    assert connect(path, 0.3) is None
    listener.close()


def test_who_needs_the_index_finds_out_anew_who_holds_it(tmp_path: Path) -> None:
    folder, path = tmp_path / "index", tmp_path / "s"
    shared = SharedStore(folder, lambda: connect(path, 0.5), EdgeStore(folder, wait=0.1))
    fresh = shared.begin(4)
    fresh.save_checkpoint(CHECKPOINT)
    shared.swap(fresh)
    assert "held_by" not in shared.describe()
    held = HeldStore(tmp_path / "elsewhere", EdgeStore(folder, wait=0.1))  # as another process would hold it
    answering = IndexSocket(path, held)
    for _ in range(2):
        index = shared.current()
        assert index is not None
        with index:
            assert index.checkpoint() == CHECKPOINT
    assert shared.describe()["held_by"] == "tht serve"
    answering.close()
    held.close()
    index = shared.current()
    assert index is not None
    with index:
        assert index.checkpoint() == CHECKPOINT
    assert "held_by" not in shared.describe()


def test_what_the_port_says_goes_over_and_comes_back_as_it_was() -> None:
    said = [CHECKPOINT, point(1), ("a", 1.5, None), frozenset({"x", "y"}), {"k": {"n": [True]}}, "é"]
    assert decoded(json.loads(json.dumps(encoded(said)))) == said
    assert list(decoded(encoded(iter([1, 2])))) == [1, 2]


@pytest.mark.parametrize(
    "hostile",
    [
        {"$of": "os:system", "parts": {}},
        {"$of": "projections.index.port:VectorIndex", "parts": {}},
        {"$of": "projections.index.port:no", "parts": {}},
        {"$of": "projections.index.port:annotations", "parts": {}},
        {"else": 1},
    ],
)
def test_nothing_else_is_made_of_what_comes_over(hostile: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        decoded(hostile)


@pytest.mark.parametrize("method", ["close", "__init__", "store", "_shard", "no_such"])
def test_only_the_ports_methods_can_be_asked(served: Path, method: str) -> None:
    store = connect(served, 1.0)
    assert store is not None
    fresh = store.begin(4)
    assert isinstance(fresh, RemoteIndex)
    with pytest.raises(IndexUnavailable):
        fresh.line.ask("index", method)
    fresh.close()


@pytest.mark.parametrize("far", [False, True])
def test_what_was_begun_in_one_generation_does_not_go_on_in_the_next(tmp_path: Path, far: bool) -> None:
    held = HeldStore(tmp_path / "index", EdgeStore(tmp_path / "index", wait=0.1))
    answering = IndexSocket(tmp_path / "s", held)
    store = connect(tmp_path / "s", 1.0) if far else held
    assert store is not None
    try:
        first = store.begin(4)
        first.save_checkpoint(CHECKPOINT)
        store.swap(first)
        index = store.current()
        assert index is not None
        index.upsert([point(1)])
        fresh = store.begin(4)  # tht index rebuild, meanwhile
        fresh.upsert([point(2), point(3)])
        fresh.save_checkpoint(CHECKPOINT)
        store.swap(fresh)
        writes: tuple[Callable[[], None], ...] = (
            lambda: index.upsert([point(4)]),
            lambda: index.delete_refs(["memory:mem-0002"]),
            lambda: index.save_checkpoint(Checkpoint(99, "bb", "f", "hash", 1)),
        )
        for write in writes:
            with pytest.raises(IndexUnavailable, match="replaced meanwhile"):
                write()
        assert not store.is_current(index)
        now = store.current()
        assert now is not None
        with now:
            assert store.is_current(now)
            assert now.checkpoint() == CHECKPOINT
            assert {payload["ref"] for payload in now.scan()} == {"memory:mem-0002", "memory:mem-0003"}
        index.close()
    finally:
        answering.close()
        held.close()


def test_a_stand_in_asks_for_whatever_the_port_has() -> None:
    """Also for what an engine may leave out, as `settle`: nothing is answered by the port's own default."""
    asked = {name for name, made in vars(VectorIndex).items() if callable(made) and not name.startswith("_")}
    assert asked - {"close"} <= set(vars(StandIn))
