"""What an index that several processes write to promises besides: nobody who is late spoils what another has written,
and nobody meets another tenant's points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from adapters.qdrant_collection import ServerIndex
from adapters.qdrant_connection import Way
from adapters.qdrant_points import CHECKPOINT_ID
from adapters.qdrant_server import ServerStore
from adapters.qdrant_tenants import TenantStore
from domain.errors import IndexOvertaken, IndexUnavailable
from projections.index.port import Checkpoint, IndexStore, VectorIndex, Within
from tests.contracts.engines import SHARED, TENANTS, Opener, opened_again, point, tenants

EAST, NORTH = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
FIRST = Checkpoint(10, "aa" * 32, "hash:4@1/sum/normalised/4", "hash:4", version=2, token="t1")
SECOND, THIRD = (
    replace(FIRST, position=20, chain="bb" * 32, token="t2"),
    replace(FIRST, position=30, chain="cc" * 32, token="t3"),
)


@pytest.fixture(params=SHARED)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    yield from opened_again(request.param, tmp_path)


@pytest.fixture
def store(opener: Opener) -> IndexStore:
    return opener()


@pytest.fixture
def index(store: IndexStore) -> Iterator[VectorIndex]:
    with store.begin(4) as opened:
        yield opened


of_an_older_program = {"fingerprint": FIRST.fingerprint, "model": FIRST.model, "version": FIRST.version}


def texts(index: VectorIndex) -> dict[tuple[str, int], str]:
    return {(payload["ref"], payload["chunk"]): payload["text"] for payload in index.scan()}


class TestCheckpoint:
    def test_it_moves_on_from_the_one_that_its_writer_knows(self, index: VectorIndex) -> None:
        index.save_checkpoint(FIRST)
        index.save_checkpoint(SECOND, after=FIRST)
        assert index.checkpoint() == SECOND

    def test_who_was_overtaken_is_told_and_the_later_one_stays(self, index: VectorIndex) -> None:
        index.save_checkpoint(FIRST)
        index.save_checkpoint(THIRD, after=FIRST)
        with pytest.raises(IndexOvertaken, match="at position 30"):
            index.save_checkpoint(SECOND, after=FIRST)
        assert index.checkpoint() == THIRD

    def test_of_two_that_go_on_from_the_same_one_the_second_is_told(self, index: VectorIndex) -> None:
        index.save_checkpoint(FIRST)
        index.save_checkpoint(SECOND, after=FIRST)
        with pytest.raises(IndexOvertaken, match="at position 20"):
            index.save_checkpoint(THIRD, after=FIRST)
        assert index.checkpoint() == SECOND

    def test_one_that_was_set_back_to_where_another_had_begun_is_not_what_that_one_knows(
        self, index: VectorIndex
    ) -> None:
        index.save_checkpoint(FIRST)
        index.save_checkpoint(SECOND, after=FIRST)
        back = replace(FIRST, token="t4")
        index.save_checkpoint(back, after=SECOND)
        with pytest.raises(IndexOvertaken, match="at position 10"):
            index.save_checkpoint(THIRD, after=FIRST)
        assert index.checkpoint() == back
        index.save_checkpoint(THIRD, after=back)

    def test_of_two_that_set_the_same_position_the_second_is_told(self, index: VectorIndex) -> None:
        index.save_checkpoint(FIRST)
        index.save_checkpoint(SECOND, after=FIRST)
        with pytest.raises(IndexOvertaken):
            index.save_checkpoint(replace(SECOND, token="t5"), after=FIRST)

    def test_one_that_an_older_program_set_is_followed_and_once_it_has_a_token_no_more(
        self, index: VectorIndex
    ) -> None:
        old = replace(FIRST, token="", made_at=0)
        index.save_checkpoint(FIRST)
        assert isinstance(index, ServerIndex)
        with index._way.open() as client:
            client.overwrite_payload(
                index.part.collection,
                {"checkpoint": {"position": 10, "chain": FIRST.chain, **of_an_older_program}, **index.part.marks},
                [index.part.id(CHECKPOINT_ID)],
            )
        assert index.checkpoint() == old
        index.save_checkpoint(SECOND, after=old)
        assert index.checkpoint() == SECOND
        index.save_checkpoint(FIRST, after=SECOND)
        with pytest.raises(IndexOvertaken):
            index.save_checkpoint(THIRD, after=old)

    def test_an_index_that_lost_its_points_gets_no_checkpoint_that_speaks_of_them(self, index: VectorIndex) -> None:
        with pytest.raises(IndexOvertaken, match="without a checkpoint"):
            index.save_checkpoint(SECOND, after=FIRST)
        assert index.checkpoint() is None


class TestOlderState:
    def test_what_was_written_from_a_later_position_stays(self, index: VectorIndex) -> None:
        index.replace(["a"], [point("a", EAST, text="new")], position=20)
        index.replace(["a", "b"], [point("a", NORTH, text="old"), point("b", NORTH, text="b")], position=10)
        assert texts(index) == {("a", 0): "new", ("b", 0): "b"}
        assert index.search(EAST, Within(), limit=1)[0].score == pytest.approx(1.0)
        index.replace(["a"], [], position=10)  # to a late one it was retired; since then it came back
        assert texts(index)["a", 0] == "new"

    def test_a_later_state_takes_the_place_of_all_that_was(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST, chunk=number, text="of a rebuild") for number in range(3)])
        index.replace(["a"], [point("a", EAST, text="old"), point("a", EAST, chunk=1, text="old")], position=10)
        assert texts(index) == {("a", 0): "old", ("a", 1): "old"}
        index.replace(["a"], [point("a", EAST, text="new")], position=20)
        assert texts(index) == {("a", 0): "new"}
        index.replace(["a"], [], position=30)
        assert texts(index) == {}

    def test_the_same_state_twice_is_the_same(self, index: VectorIndex) -> None:
        for _ in range(2):
            index.replace(["a"], [point("a", EAST, chunk=number, text="same") for number in range(2)], position=10)
        assert texts(index) == {("a", 0): "same", ("a", 1): "same"}

    def test_whoever_dies_in_the_middle_leaves_no_record_without_its_points(
        self, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.replace(["a"], [point("a", EAST, chunk=number, text="old") for number in range(2)], position=10)

        def cut(*_: Any) -> None:
            raise IndexUnavailable("the connection was cut")

        with monkeypatch.context() as cutting:
            cutting.setattr(ServerIndex, "_delete", cut)
            with pytest.raises(IndexUnavailable, match="was cut"):
                index.replace(["a"], [point("a", EAST, text="new")], position=20)
        assert texts(index) == {("a", 0): "new", ("a", 1): "old"}
        index.replace(["a"], [point("a", EAST, text="new")], position=20)
        assert texts(index) == {("a", 0): "new"}

    def test_when_a_point_was_written_is_not_shown(self, index: VectorIndex) -> None:
        index.replace([], [point("a", EAST)], position=10)
        (found,) = index.search(EAST, Within(), limit=1)
        assert dict(found.payload) == dict(point("a", EAST).payload) == dict(next(index.scan()))


class TestSearch:
    def test_what_another_deletes_before_its_vector_is_read_has_none(self, index: VectorIndex) -> None:
        index.upsert([point("a", EAST), point("b", EAST), point("c", NORTH)])
        found = index.search(EAST, Within(), limit=3)
        index.delete_refs(["b"])
        assert sorted(index.vectors(found)) == ["a", "c"]


class TestTwoRebuilds:
    def test_the_later_one_wins_and_the_earlier_one_is_told(self, opener: Opener) -> None:
        store = opener()
        first = store.begin(4)
        first.upsert([point("first", EAST)])
        second = store.begin(4)
        second.upsert([point("second", EAST)])
        store.swap(second)
        with suppress(IndexUnavailable):  # where its collection has gone with it
            first.upsert([point("late", EAST)])
        with pytest.raises(IndexUnavailable):
            store.swap(first)
        current = store.current()
        assert current is not None
        assert [payload["ref"] for payload in current.scan()] == ["second"]
        assert store.describe()["leftovers"] == "none"

    def test_one_that_is_late_finds_its_own_gone_and_not_the_next_one_by_its_name(self, opener: Opener) -> None:
        """Of the three the second gave up, so that its number was free again."""
        store = opener()
        late = store.begin(4)
        store.discard(store.begin(4))
        third = store.begin(4)
        third.upsert([point("third", EAST)])
        with suppress(IndexUnavailable):
            late.upsert([point("late", EAST)])
        with suppress(IndexUnavailable):
            store.discard(late)
        assert [payload["ref"] for payload in third.scan()] == ["third"]
        store.swap(third)
        current = store.current()
        assert current is not None
        assert current.count() == 1


# -- tenants -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=TENANTS)
def tenant(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], TenantStore]]:
    yield from tenants(request.param, tmp_path)


def fill(store: IndexStore, *refs: str, at: Checkpoint = FIRST) -> VectorIndex:
    fresh = store.begin(4)
    fresh.upsert([point(ref, EAST, text=f"{store.describe()['tenant']} {ref}") for ref in refs])
    fresh.save_checkpoint(at)
    store.swap(fresh)
    current = store.current()
    assert current is not None
    return current


def refs(index: VectorIndex) -> list[str]:
    return [found.ref for found in index.search(EAST, Within(), limit=10)]


Tenant = Callable[[str], TenantStore]


def test_two_tenants_of_one_collection_never_meet(tenant: Tenant) -> None:
    one, other = fill(tenant("one"), "a", "b"), fill(tenant("other"), "b", "c", at=SECOND)
    assert isinstance(one, ServerIndex)
    assert isinstance(other, ServerIndex)
    assert one.part.collection == other.part.collection
    assert (refs(one), refs(other)) == (["a", "b"], ["b", "c"])
    assert (one.count(), other.count()) == (2, 2)
    assert (one.checkpoint(), other.checkpoint()) == (FIRST, SECOND)
    assert {found.payload["text"] for found in other.search(EAST, Within(only=("b",)), limit=5)} == {"other b"}
    one.delete_refs(["b", "c"])
    one.replace(["c", "b"], [point("c", NORTH, text="one c")], position=99)
    one.save_checkpoint(THIRD, after=FIRST)
    assert texts(other) == {("b", 0): "other b", ("c", 0): "other c"}
    assert (other.checkpoint(), one.checkpoint()) == (SECOND, THIRD)


def test_a_rebuild_of_one_tenant_touches_no_other(tenant: Tenant) -> None:
    one, other = tenant("one"), tenant("other")
    old, neighbour = fill(one, "a"), fill(other, "a", at=SECOND)
    waiting = other.begin(4)  # which the other one is filling at the same time
    waiting.upsert([point("z", EAST)])
    new = fill(one, "b")
    assert not one.is_current(old)
    assert one.is_current(new)
    assert old.count() == 0
    assert (refs(new), refs(neighbour), refs(waiting)) == (["b"], ["a"], ["z"])
    assert one.describe()["leftovers"] == "none"
    assert other.describe()["leftovers"] == "1 points of other generations"
    one.discard(one.begin(4))
    other.swap(waiting)
    assert (refs(new), neighbour.checkpoint()) == (["b"], None)


def test_a_tenant_that_goes_over_to_another_length_of_vector_takes_all_of_itself_along(tenant: Tenant) -> None:
    one, other = tenant("one"), tenant("other")
    old, neighbour = fill(one, "a"), fill(other, "a")
    fresh = one.begin(8)
    fresh.upsert([point("a", [1.0] * 8)])
    one.swap(fresh)
    assert old.count() == 0
    assert old.checkpoint() is None
    assert refs(neighbour) == ["a"]
    current = one.current()
    assert current is not None
    assert [found.ref for found in current.search([1.0] * 8, Within(), limit=5)] == ["a"]
    back = fill(one, "b")
    assert refs(back) == ["b"]
    assert one.describe()["leftovers"] == "none"


def test_what_stays_empty_makes_no_collection_that_all_would_keep(tenant: Tenant) -> None:
    """A tenant that nobody knows the length of vector of any more: its index is emptied, or what is left is removed."""
    one, other = tenant("one"), tenant("other")
    old, neighbour = fill(one, "a"), fill(other, "a")
    assert isinstance(old, ServerIndex)
    with old._way.open() as client:
        before = {made.name for made in client.get_collections().collections}
        one.swap(one.begin(None))
        assert (old.count(), refs(neighbour)) == (0, ["a"])
        current = one.current()
        assert current is not None
        assert (current.checkpoint(), current.count()) == (None, 0)
        third = tenant("third")
        third.begin(4).upsert([point("left", EAST)])
        assert third.describe()["leftovers"] == "1 points of other generations"
        third.discard(third.begin(None))
        assert (third.describe()["leftovers"], third.current()) == ("none", None)
        assert {made.name for made in client.get_collections().collections} == before
    assert refs(fill(one, "b")) == ["b"]


def test_killed_between_the_pointer_and_the_clearing_the_new_one_is_current(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tenant("one")
    fill(one, "a")
    fresh = one.begin(8)
    fresh.upsert([point("b", [1.0] * 8)])

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr(TenantStore, "_clear", killed)
        with pytest.raises(KeyboardInterrupt):
            one.swap(fresh)
    current = one.current()
    assert current is not None
    assert [payload["ref"] for payload in current.scan()] == ["b"]
    assert one.describe()["leftovers"] != "none"
    one.discard(one.begin(4))
    assert one.describe()["leftovers"] == "none"
    assert one.is_current(current)


def test_an_index_that_stays_open_is_scanned_by_what_it_holds_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that began with an empty one would look at whole vectors for ever."""
    client, asked = QdrantClient(path=str(tmp_path)), list[bool]()
    made = ServerStore("tht-test", client=client).begin(4)
    assert isinstance(made, ServerIndex)
    index = ServerIndex(Way("", None, client, 10), made.part, local=False)
    real = client.query_points

    def noted(*args: Any, search_params: Any, **named: Any) -> Any:
        asked.append(search_params.exact)
        return real(*args, **named)

    monkeypatch.setattr(client, "query_points", noted)
    monkeypatch.setattr("adapters.qdrant_collection.EXACT_BELOW", 2)
    for ref in ("a", "b"):
        index.upsert([point(ref, EAST)])
        index.search(EAST, Within(), limit=5)
    assert asked == [True, False]
    client.close()
