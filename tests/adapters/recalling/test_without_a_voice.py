"""What a search rests on where a model or the index is away or behind, and that it says so. S-14, S-15, S-55."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.hash_embedder import HashEmbedder
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import VOICES, Recalling
from adapters.workspace import Workspace
from domain.errors import ModelUnavailable
from projections.scope import Reader
from tests.adapters.recalling.conftest import ADA, ONLOOKER, QUESTION, fact, gates, ids, search


class Failing(HashEmbedder):
    """Answers some questions, then its model is gone."""

    def __init__(self, questions: int) -> None:
        super().__init__(64)
        self.left = questions

    def embed_query(self, text: str) -> list[float]:
        self.left -= 1
        if self.left < 0:
            raise ModelUnavailable("the model went away in the middle", "try again")
        return super().embed_query(text)


def switched_off(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    workspace.config.set("embedder.model", "none")
    return "switched off"


def not_there(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    workspace.config.set("embedder.model", str(workspace.paths.folder / "no-such-model"))
    shutil.rmtree(workspace.paths.index)
    return "no-such-model"


def gone(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("adapters.embedding.embedder_from", lambda model: Failing(0))
    return "went away in the middle"


def server_down(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    workspace.config.set("index.url", "http://127.0.0.1:9")
    return "127.0.0.1:9"


def damaged(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    victim = next(workspace.paths.index.rglob("edge_config.json"))
    victim.write_bytes(b"\xff" * 40)
    return "index"


def of_another_history(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    with workspace.open_index.use(Indexing(workspace).store) as index:
        assert index is not None
        checkpoint = index.checkpoint()
        assert checkpoint is not None
        index.save_checkpoint(replace(checkpoint, chain="0" * 64))
    return "another history"


def of_a_model_that_is_gone(workspace: Workspace, _: pytest.MonkeyPatch) -> str:
    with workspace.open_index.use(Indexing(workspace).store) as index:
        assert index is not None
        checkpoint = index.checkpoint()
        assert checkpoint is not None
        index.save_checkpoint(replace(checkpoint, model="no-such-model", fingerprint="no-such-model/x"))
    return "no-such-model"


Trouble = Callable[[Workspace, pytest.MonkeyPatch], str]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
@pytest.mark.parametrize(
    "trouble", [switched_off, not_there, gone, server_down, damaged, of_another_history, of_a_model_that_is_gone]
)
def test_without_a_voice_the_others_answer_and_it_is_said(
    one: Workspace, mode: str, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = gates(one)
    Indexing(one).rebuild()
    said = trouble(one, monkeypatch)
    answer = search(one, mode=mode)
    assert ids(answer)[0] == known[3]
    assert answer.voices["vector"].startswith("unavailable: ")
    assert {voice: told for voice, told in answer.voices.items() if voice != "vector"} == dict.fromkeys(
        [voice for voice in VOICES[mode] if voice != "vector"], "ran"
    )
    assert "answered without vectors" in answer.notice
    assert said in answer.notice
    assert (answer.index_position, answer.coverage) == (-1, None)
    told = json.loads(json.dumps(answer.as_json()))
    assert told["voices"] == answer.voices
    assert all("vector" not in hit["why"]["voices"] for hit in (hit.as_json(explain=True) for hit in answer.hits))


def test_a_model_that_fails_between_two_questions_is_asked_again(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = gates(one)
    Indexing(one).rebuild()
    monkeypatch.setattr("adapters.embedding.embedder_from", lambda model: Failing(2))
    recalling = Recalling(one, Reader(ADA.actor), Indexing(one))
    for number, ran in ((0, True), (1, True), (2, False), (3, False)):
        answer = recalling.search(f"gate {number} opens to which corridor?", ONLOOKER)
        assert (answer.voices["vector"] == "ran") == ran, number
        assert ids(answer)[0] == known[number]


def test_what_the_index_has_not_reached_is_found_by_words(one: Workspace) -> None:
    gates(one)
    Indexing(one).rebuild()
    one.config.set("index.budget", 0.0)
    late = fact(one, "The lift stands beside the greenhouse", "lift")
    answer = search(one, "where is the lift?")
    assert ids(answer)[0] == late
    assert answer.index_position < answer.ledger_position
    assert answer.voices["vector"] == "ran"
    assert "1 changed records wait" in answer.notice
    assert f"index at {answer.index_position:,} of {answer.ledger_position:,}" in answer.notice


def test_s55_how_many_closed_records_wait_for_the_index_is_not_told(one: Workspace) -> None:
    """S-55."""
    from adapters.access import Access

    gates(one)
    fact(one, "The captain earns 9000", "salary", "payroll")
    Access(one).set_grant("payroll", "qa", "none", ADA)
    Indexing(one).rebuild()
    one.config.set("index.budget", 0.0)
    for number in range(3):
        fact(one, f"The mate earns {number}", f"mate {number}", "payroll")
    limited = Recalling(one, Reader("agent:q", "qa")).search(QUESTION, By("agent:q", "qa", dry_run=True))
    assert "changed records wait" in limited.notice
    assert "3" not in limited.notice.partition(";")[2]


def test_s14_an_index_of_another_model_answers_by_its_own_until_the_new_one_is_made(one: Workspace) -> None:
    """S-14."""
    known = gates(one)
    Indexing(one).rebuild()
    one.config.set("embedder.model", "hash:128")
    before = search(one)
    assert (ids(before)[0], before.voices["vector"]) == (known[3], "ran")
    assert Indexing(one).rebuild().points == 6
    after = search(one)
    assert (ids(after)[0], after.voices["vector"]) == (known[3], "ran")
    assert Indexing(one).status().problem == ""


def test_s15_what_was_written_without_a_model_is_found_by_vectors_later(one: Workspace) -> None:
    """S-15."""
    one.config.set("embedder.model", "none")
    known = gates(one, 20)
    one.config.set("embedder.model", "hash:64")
    for number in (0, 7, 19):
        answer = search(one, f"Gate {number} opens to corridor {number}", "semantic")
        assert ids(answer)[0] == known[number]
        best = answer.hits[0].hit.why
        assert best.ranks["vector"] == 1
        assert best.heard.cosine == pytest.approx(1, abs=1e-4)


def test_without_an_engine_the_cached_vectors_are_scanned(one: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    known = gates(one)
    Indexing(one).rebuild()
    by_index = search(one, mode="semantic")
    monkeypatch.setattr("adapters.indexing.find_spec", lambda name: None)
    answer = search(one, mode="semantic")
    assert answer.voices == {"lexical": "ran", "vector": "ran"}
    assert "cached vectors were scanned" in answer.notice
    assert ids(answer) == ids(by_index)
    assert ids(answer)[0] == known[3]
