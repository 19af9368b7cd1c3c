"""What comes first: different facts before restatements, what links lead to, what is of the time asked about."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.cli.conftest import Tht
from tests.cli.searching import ADA, QA, earlier, ids, need_minilm, propose, search

# -- diversity

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


# -- links


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


# -- time


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
