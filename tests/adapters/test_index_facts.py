"""The index holds facts beside memories: it follows both, and what has ended or was erased leaves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.access import Access
from adapters.doctor import Doctor
from adapters.erasing import Erasing
from adapters.facts import Facts
from adapters.hash_embedder import HashEmbedder
from adapters.health import Health
from adapters.indexing import Indexing
from adapters.vector_cache import CachedEmbedder
from adapters.workspace import Workspace
from domain.errors import IndexUnavailable, ModelUnavailable
from domain.propose import NewFact
from projections.fact_queries import Wanted, list_facts
from projections.index import follow
from projections.index.port import Within
from projections.index.records import changed_since
from projections.scope import Reader, everything
from tests.crash.soundness import (
    ADA,
    CODER,
    assert_index_follows,
    make_home,
    open_home,
    open_session,
    promote_all,
    search,
)

ONLY_FACTS = Within(("fact",))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


@pytest.fixture
def one(home: Path) -> Iterator[Workspace]:
    with open_home(home) as workspace:
        yield workspace


def fact(workspace: Workspace, content: str, topic: str = "ward", *, domain: str = "people", repo: str = "") -> str:
    new = NewFact(content, topic, CODER.actor)
    return Facts(workspace).propose(domain, new, CODER, repo=repo)[0].fact_id


def facts(workspace: Workspace, count: int) -> list[str]:
    return [fact(workspace, f"Gate {number} opens to corridor {number}", f"gate {number}") for number in range(count)]


def points(workspace: Workspace) -> dict[str, list[dict[str, Any]]]:
    """What the index holds, by ref."""
    found: dict[str, list[dict[str, Any]]] = {}
    with workspace.open_index.use(Indexing(workspace).store) as index:
        assert index is not None
        for payload in index.scan():
            found.setdefault(payload["ref"], []).append(dict(payload))
    return found


def nearest(workspace: Workspace, question: str, within: Within = ONLY_FACTS) -> list[str]:
    """Ids of the facts, and texts of the memories, that the index nominates, best first."""
    with Indexing(workspace).asked(question) as asked:
        return [found.ref for found in asked.index.search(asked.vector, within, limit=50)]


# -- following ---------------------------------------------------------------------------------------------------------


def test_memories_and_facts_stand_side_by_side_each_with_what_a_search_filters_by(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    (memory_id,) = promote_all(one, "s")
    Access(one).create("rooms", ADA, repo="acme/shop")
    plain, own = fact(one, "The ward has 12 beds"), fact(one, "The shop has 2 doors", domain="rooms", repo="shop")
    Indexing(one).catch_up()
    held = points(one)
    assert set(held) == {f"memory:{memory_id}", f"fact:{plain}", f"fact:{own}"}
    ((memory,), (first,), (second,)) = (held[f"memory:{memory_id}"], held[f"fact:{plain}"], held[f"fact:{own}"])
    assert (memory["kind"], memory["domain"], memory["repo"]) == ("memory", "", "")
    assert memory["subject"] == "ablation"
    assert set(first) == {"ref", "kind", "chunk", "domain", "repo", "memory_type", "content_hash", "position"}
    assert (first["kind"], first["domain"], first["repo"]) == ("fact", "people", "")
    assert (second["domain"], second["repo"]) == ("repo:shop/rooms", "shop")
    assert_index_follows(one)


def test_only_the_content_is_embedded_so_that_harmonize_shares_the_vectors(one: Workspace) -> None:
    fact(one, "The ward has 12 beds", "a topic of another name")
    Indexing(one).rebuild()
    assert set(Indexing(one).embedder.known(["The ward has 12 beds"])) == {"The ward has 12 beds"}


def test_changes_of_both_kinds_are_followed_in_the_order_of_the_ledger(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after any batch, the checkpoint says exactly what waits, and going on gives the same index."""
    monkeypatch.setattr(follow, "BATCH", 2)
    Indexing(one).catch_up()
    expected = []
    for number in range(4):
        expected.append(f"fact:{fact(one, f'Gate {number} is open', f'gate {number}')}")
        open_session(one, f"s{number}", [f"concept {number}"])
        expected += [f"memory:{memory_id}" for memory_id in promote_all(one, f"s{number}")]
    assert [ref for ref, _ in changed_since(one.caught_up(), 0)] == expected
    for done in (2, 4, 6):
        answers = iter((True, False))
        reached = Indexing(one).catch_up(may_go_on=answers.__next__)
        assert set(points(one)) == set(expected[:done])
        assert [ref for ref, _ in changed_since(one.caught_up(), reached.position)] == expected[done:]
        drift = Indexing(one).status().drift
        assert drift is not None
        assert (drift.found, len(drift.behind)) == (False, 8 - done)
    assert_index_follows(one)


def test_s01_what_is_superseded_retired_or_erased_leaves_the_index(one: Workspace) -> None:
    """S-01: and doctor finds zero index points without a live record."""
    stays, superseded, retired, erased = facts(one, 4)
    Indexing(one).catch_up()
    assert len(points(one)) == 4
    Facts(one).supersede(superseded, stays, ADA)
    Facts(one).retire(retired, ADA)
    Erasing(one).erase((erased,), ADA)
    assert nearest(one, "which gate opens?") == [f"fact:{stays}"]
    assert set(points(one)) == {f"fact:{stays}"}
    checks = list(Doctor(one, {}, Reader(ADA.actor)).checks())
    assert [check for check in checks if check.what == "zero index points without a live record"]
    Facts(one).restore(retired, ADA)
    assert set(nearest(one, "which gate opens?")) == {f"fact:{stays}", f"fact:{retired}"}
    assert_index_follows(one)


def test_s17_a_corrected_text_is_found_by_its_new_wording_alone(one: Workspace) -> None:
    """S-17."""
    old = fact(one, "The ward has twelve beds")
    Indexing(one).catch_up()
    new = Facts(one).correct(old, NewFact("Visits end at nineteen", "ward", CODER.actor), CODER)[0].fact_id
    for question in ("The ward has twelve beds", "Visits end at nineteen"):
        assert nearest(one, question) == [f"fact:{new}"]
    with Indexing(one).asked("Visits end at nineteen") as asked:
        assert asked.index.search(asked.vector, ONLY_FACTS, limit=1)[0].score == pytest.approx(1.0, abs=1e-5)


def test_a_long_fact_is_held_in_pieces_and_found_by_its_last_words(one: Workspace) -> None:
    words = " ".join(f"word{number}" for number in range(150))
    long, _ = fact(one, f"{words} saffron"), fact(one, "The ward has 12 beds", "beds")
    with Indexing(one).asked("saffron") as asked:
        best = asked.index.search(asked.vector, ONLY_FACTS, limit=1)[0]
    assert (best.ref, best.payload["chunk"] > 0) == (f"fact:{long}", True)
    assert len(points(one)[f"fact:{long}"]) > 2


# -- the model is away, or another one ---------------------------------------------------------------------------------


class Away(HashEmbedder):
    """A model whose files are there, and which fails whenever it is used."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        raise ModelUnavailable("the model is away")

    def embed_query(self, text: str) -> list[float]:
        raise ModelUnavailable("the model is away")


def test_s15_facts_that_were_written_while_the_model_was_away_get_their_vectors_later(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-15: all twenty are taken, coverage says what waits, and afterwards it is complete, without a zero vector."""
    facts(one, 2)
    Indexing(one).catch_up()
    with monkeypatch.context() as patched:
        patched.setattr("adapters.embedding.embedder_from", lambda model: Away(64))
        late = [fact(one, f"Lift {number} serves floor {number}", f"lift {number}") for number in range(20)]
        with pytest.raises(ModelUnavailable), Indexing(one).asked("which lift?"):
            raise AssertionError("nothing can be asked without a model")
        status = Indexing(one).status()
        assert status.drift is not None
        assert status.drift.kinds["fact"] == (2, 22)
    assert_index_follows(one)
    with Indexing(one).asked("Lift 7 serves floor 7") as asked:
        found = asked.index.search(asked.vector, ONLY_FACTS, limit=22)
        vectors = asked.index.vectors(found)
    assert found[0].ref == f"fact:{late[7]}"
    assert len(vectors) == 22
    assert all(sum(value * value for value in vector) == pytest.approx(1.0) for vector in vectors.values())


def test_s14_another_model_neither_stops_anything_nor_loses_a_fact(home: Path) -> None:
    """S-14: a hundred facts; it starts, words work, status names the stale index, the old one answers until the new one
    is swapped in; switching back embeds nothing again."""
    with open_home(home) as workspace:
        known = facts(workspace, 100)
        assert Indexing(workspace).rebuild().embedded == 100
        workspace.config.set("embedder.model", "hash:256")
    with open_home(home) as workspace:
        status = Indexing(workspace).status()
        assert "of another model (hash:64" in status.problem
        assert "tht index rebuild" in status.problem
        assert list_facts(workspace.caught_up(), Wanted("2030-01-01T00:00:00Z"), everything())[1] == 100
        later = fact(workspace, "The lift is out of order", "lift")
        assert nearest(workspace, "The lift is out of order")[0] == f"fact:{later}"
        done = Indexing(workspace).rebuild()
        assert (done.points, done.embedded) == (101, 101)
        assert Indexing(workspace).status().problem == ""
        assert nearest(workspace, "Gate 42 opens to corridor 42")[0] == f"fact:{known[42]}"
        workspace.config.set("embedder.model", "hash:64")
    with open_home(home) as workspace:
        assert (Indexing(workspace).rebuild().embedded, len(points(workspace))) == (0, 101)
        assert_index_follows(workspace)


def test_s66_proposing_neither_loads_a_model_nor_embeds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-66."""

    def refuse(model: str) -> None:
        raise AssertionError(f"{model} was asked for")

    monkeypatch.setattr("adapters.embedding.embedder_from", refuse)
    with open_home(home) as workspace:
        facts(workspace, 3)
        assert not workspace.paths.vectors.exists()
        assert not workspace.paths.index.exists()


# -- an index of an older version --------------------------------------------------------------------------------------


def make_older(workspace: Workspace) -> None:
    """As the version before left it: without facts."""
    with workspace.open_index.use(Indexing(workspace).store) as index:
        assert index is not None
        checkpoint = index.checkpoint()
        assert checkpoint is not None
        index.delete_refs([ref for ref in points(workspace) if ref.startswith("fact:")])
        index.save_checkpoint(replace(checkpoint, version=1))


def test_an_index_of_version_1_is_not_searched_and_catching_up_makes_it_anew_beside(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    promote_all(one, "s")
    fact(one, "The ward has 12 beds")
    Indexing(one).rebuild()
    make_older(one)
    before = Indexing(one).store.describe()["current"]
    with pytest.raises(IndexUnavailable, match=r"version 1, and this program makes version 2") as refused:
        nearest(one, "beds")
    assert refused.value.hint == "tht index rebuild"
    answer = search(one, "ablation")
    assert (answer.voices["lexical"], len(answer.hits)) == ("ran", 1)
    assert "version 1" in answer.notice
    assert "version 1" in Indexing(one).status().problem
    report = Health(one).verify_index()
    assert report.ok
    assert "version 1" in report.notes[0]
    Indexing(one).catch_up()
    assert Indexing(one).store.describe()["current"] != before
    assert Indexing(one).embedder.misses == 0, "its vectors were cached"
    assert_index_follows(one)


# -- status, verify ----------------------------------------------------------------------------------------------------


def test_status_counts_both_kinds_and_verify_names_a_fact(one: Workspace) -> None:
    open_session(one, "s", ["ablation", "recurrence"])
    promote_all(one, "s")
    known = facts(one, 3)
    Indexing(one).catch_up()
    late = fact(one, "The lift is out of order", "lift")
    coverage = Indexing(one).status().as_json(0)["coverage"]
    assert coverage == {
        "covered": 5,
        "live": 6,
        "memories": {"covered": 2, "live": 2},
        "facts": {"covered": 3, "live": 4},
    }
    assert any("waiting for it: 1 fact" in note for note in Health(one).verify_index().notes)
    Indexing(one).catch_up()
    with one.open_index.use(Indexing(one).store) as index:
        assert index is not None
        index.delete_refs([f"fact:{late}", f"fact:{known[1]}"])
    (finding,) = Health(one).verify_index().findings
    assert (finding.where, finding.mend) == ("missing", "tht index rebuild")
    assert f"fact:{known[1]}" in finding.what


# -- erase -------------------------------------------------------------------------------------------------------------


def cached(workspace: Workspace) -> set[bytes]:
    from sqlite3 import connect

    db = connect(workspace.paths.vectors)
    try:
        return {row[0] for row in db.execute("SELECT text_sha256 FROM vector")}
    finally:
        db.close()


def test_every_piece_of_an_erased_fact_is_forgotten_and_no_other(one: Workspace) -> None:
    """Vectors of facts that have ended stay: questions about the past look at them."""
    text = " ".join(f"quux{number}" for number in range(120))
    gone, ended, stays = (
        fact(one, text),
        fact(one, "The lift is new", "lift"),
        fact(one, "The ward has 12 beds", "beds"),
    )
    Indexing(one).catch_up()
    Facts(one).retire(ended, ADA)
    Indexing(one).catch_up()
    embedder = Indexing(one).embedder
    pieces = embedder.chunks(text)
    assert len(pieces) > 2
    assert set(embedder.known(pieces)) == set(pieces)
    assert len(cached(one)) == len(pieces) + 2
    done = Erasing(one).erase((gone,), ADA)
    assert done.index == "rebuilt"
    assert set(points(one)) == {f"fact:{stays}"}
    fresh = Indexing(one).embedder
    assert fresh.known(pieces) == {}
    assert set(fresh.known(["The lift is new", "The ward has 12 beds"])) == {"The lift is new", "The ward has 12 beds"}
    assert len(cached(one)) == 2
    assert isinstance(fresh, CachedEmbedder)


def test_an_erasure_cleans_an_index_that_this_process_keeps_open(one: Workspace) -> None:
    keeping = Indexing(one, keep_open=True)
    gone, stays = fact(one, "Mario Quux lives in Fano", "mario"), fact(one, "The ward has 12 beds")
    with keeping.asked("Quux") as asked:
        assert asked.index.search(asked.vector, ONLY_FACTS, limit=1)[0].ref == f"fact:{gone}"
    assert Erasing(one).erase((gone,), ADA).index == "rebuilt"
    with keeping.asked("Quux") as asked:
        assert [found.ref for found in asked.index.search(asked.vector, ONLY_FACTS, limit=9)] == [f"fact:{stays}"]
    assert keeping.store.describe()["leftovers"] == "none"
