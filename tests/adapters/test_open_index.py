"""The index as one process has it open: asked a question, kept between two, and given back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.facts import Facts
from adapters.hash_embedder import HashEmbedder
from adapters.health import Health
from adapters.indexing import Indexing
from adapters.qdrant_edge import EdgeStore
from adapters.workspace import Workspace
from domain.errors import IndexBusy, ModelUnavailable, OtherHistory
from domain.propose import NewFact
from projections.index.port import Within
from tests.crash.soundness import CODER, make_home, open_home, open_session

ROOT = Path(__file__).parents[2]


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with open_home(make_home(tmp_path / "home")) as workspace:
        workspace.config.set("index.wait", "0")
        yield workspace


def fact(workspace: Workspace, content: str, topic: str) -> str:
    return Facts(workspace).propose("people", NewFact(content, topic, CODER.actor), CODER)[0].fact_id


def first(indexing: Indexing, question: str) -> str:
    with indexing.asked(question) as asked:
        return asked.index.search(asked.vector, Within(), limit=1)[0].ref


def is_free(workspace: Workspace) -> bool:
    """Whether another process could have the index now."""
    try:
        index = EdgeStore(workspace.paths.index, wait=0.0).current()
    except IndexBusy:
        return False
    assert index is not None
    index.close()
    return True


def saved(workspace: Workspace) -> int:
    """The position that is written down in the index."""
    with workspace.open_index.use(Indexing(workspace).store) as index:
        assert index is not None
        checkpoint = index.checkpoint()
    assert checkpoint is not None
    return checkpoint.position


# -- asked -------------------------------------------------------------------------------------------------------------


def test_a_question_makes_the_index_catches_it_up_and_brings_what_answers_it(one: Workspace) -> None:
    known = fact(one, "The ward has 12 beds", "beds")
    with Indexing(one).asked("The ward has 12 beds") as asked:
        assert asked.checkpoint.position == one.ledger.head().position
        assert asked.checkpoint.fingerprint == asked.embedder.fingerprint.key
        assert asked.vector == HashEmbedder(64).embed_query("The ward has 12 beds")
        assert asked.index.search(asked.vector, Within(), limit=3)[0].ref == f"fact:{known}"
        assert not is_free(one)
    assert is_free(one)


def test_it_is_given_back_when_the_asker_fails(one: Workspace) -> None:
    with pytest.raises(ZeroDivisionError), Indexing(one).asked("beds"):
        raise ZeroDivisionError
    assert is_free(one)


def test_catching_up_keeps_to_its_time_and_says_how_far_it_got(one: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projections.index.follow.BATCH", 2)
    positions = []
    for number in range(6):
        fact(one, f"Gate {number} is open", f"gate {number}")
        positions.append(one.ledger.head().position)
    one.config.set("index.budget", "2")
    ticks = iter((0.0, 1.0, 1.5, 9.0))  # the deadline is set, two batches are begun in time, the third is not
    with Indexing(one, lambda: next(ticks)).asked("gate") as asked:
        assert positions[2] < asked.checkpoint.position <= positions[3]  # a proposal may be several events
        assert asked.index.count() == 4
    assert first(Indexing(one), "Gate 5 is open").startswith("fact:")
    assert saved(one) == positions[5]


def test_what_does_not_concern_the_index_is_passed_over_without_writing(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each search adds an event of its own to the ledger: the next one must not wait for the disk for it."""
    fact(one, "The ward has 12 beds", "beds")
    first(Indexing(one), "beds")
    before = saved(one)
    open_session(one, "s", ["ablation"])
    with Indexing(one).asked("beds") as asked:
        assert asked.checkpoint.position == one.ledger.head().position > before
    assert saved(one) == before
    assert Health(one).verify_index().ok
    monkeypatch.setattr("adapters.indexing.IDLE", 10)
    for number in range(4):
        open_session(one, f"s{number}", ["ablation"])
    with Indexing(one).asked("beds") as asked:
        assert asked.checkpoint.position == one.ledger.head().position
    assert saved(one) == one.ledger.head().position


def test_without_a_model_or_of_another_history_nothing_is_asked(one: Workspace) -> None:
    fact(one, "The ward has 12 beds", "beds")
    first(Indexing(one), "beds")
    with one.open_index.use(Indexing(one).store) as index:
        assert index is not None
        checkpoint = index.checkpoint()
        assert checkpoint is not None
        index.save_checkpoint(replace(checkpoint, chain="ab" * 32))
    with pytest.raises(OtherHistory, match="another history"), Indexing(one).asked("beds"):
        pass
    one.config.set("embedder.model", "none")
    with pytest.raises(ModelUnavailable), Indexing(one).asked("beds"):
        pass


def test_an_index_that_was_rebuilt_with_another_model_meanwhile_is_asked_in_its_own_terms(one: Workspace) -> None:
    known = fact(one, "The ward has 12 beds", "beds")
    asking = Indexing(one)
    assert first(asking, "beds") == f"fact:{known}"
    one.config.set("embedder.model", "hash:128")
    Indexing(one).rebuild()
    with asking.asked("beds") as asked:
        assert (len(asked.vector), asked.checkpoint.model) == (128, "hash:128")
        assert asked.index.search(asked.vector, Within(), limit=1)[0].ref == f"fact:{known}"


HOLD = """
import sys
from pathlib import Path
from adapters.qdrant_edge import EdgeStore
index = EdgeStore(Path(sys.argv[1]), wait=0.0).current()
print("ready", flush=True)
sys.stdin.read()
index.close()
"""


def test_s46_while_another_process_has_it_the_asker_is_told_so(one: Workspace) -> None:
    """S-46."""
    fact(one, "The ward has 12 beds", "beds")
    first(Indexing(one), "beds")
    command = [sys.executable, "-c", HOLD, str(one.paths.index)]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(IndexBusy), Indexing(one).asked("beds"):
            pass
        other.communicate(timeout=60)
    assert first(Indexing(one), "beds").startswith("fact:")


# -- kept open ---------------------------------------------------------------------------------------------------------


def test_kept_open_it_is_opened_once_and_whoever_asks_in_this_process_shares_it(one: Workspace) -> None:
    fact(one, "The ward has 12 beds", "beds")
    keeping = Indexing(one, keep_open=True)
    with keeping.asked("beds") as asked:
        held = asked.index
    assert not is_free(one)
    late = fact(one, "The lift is new", "lift")
    with keeping.asked("The lift is new") as asked:
        assert asked.index is held
        assert asked.index.search(asked.vector, Within(), limit=1)[0].ref == f"fact:{late}"
        assert Indexing(one).status().problem == "", "status looks while a question is answered"
    assert Health(one).verify_index().ok
    one.open_index.let_go()
    assert is_free(one)


def test_closing_the_workspace_gives_it_back(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    with open_home(home) as workspace:
        fact(workspace, "The ward has 12 beds", "beds")
        first(Indexing(workspace, keep_open=True), "beds")
        assert not is_free(workspace)
    with open_home(home) as workspace:
        assert is_free(workspace)


def test_a_rebuild_in_this_process_leaves_no_old_one_behind(one: Workspace) -> None:
    known = fact(one, "The ward has 12 beds", "beds")
    keeping = Indexing(one, keep_open=True)
    assert first(keeping, "beds") == f"fact:{known}"
    Indexing(one).rebuild()
    assert keeping.store.describe()["leftovers"] == "none"
    assert first(keeping, "beds") == f"fact:{known}"
    assert not is_free(one), "it is kept again"


def test_what_another_process_swapped_in_is_noticed_at_the_next_question(one: Workspace) -> None:
    known = fact(one, "The ward has 12 beds", "beds")
    keeping = Indexing(one, keep_open=True)
    with keeping.asked("beds") as asked:
        old = asked.index
        checkpoint = asked.checkpoint
    other = EdgeStore(one.paths.index, wait=0.0)
    fresh = other.begin(64)
    fresh.save_checkpoint(replace(checkpoint, position=0, chain=one.ledger.chain_at(0) or ""))
    other.swap(fresh)
    with keeping.asked("beds") as asked:
        assert asked.index is not old
        assert asked.index.search(asked.vector, Within(), limit=1)[0].ref == f"fact:{known}"


def test_after_an_error_it_is_opened_anew(one: Workspace) -> None:
    fact(one, "The ward has 12 beds", "beds")
    keeping = Indexing(one, keep_open=True)
    with pytest.raises(ZeroDivisionError), keeping.asked("beds"):
        raise ZeroDivisionError
    assert is_free(one)
    assert first(keeping, "beds").startswith("fact:")
