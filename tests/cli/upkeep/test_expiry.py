"""What `tht consolidate` raises out of the hot tier, lets expire and prunes, and brings back. S-43."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from adapters.consolidate import Consolidate
from adapters.ledger import By
from domain.errors import NothingChanged
from tests.cli.conftest import Tht
from tests.cli.knowledge import live_facts
from tests.cli.upkeep.conftest import A1, A2, ADA, opened, propose, sound, status


def test_items_expire_or_become_facts_of_whoever_remembered_them(tht: Tht, home: Path) -> None:
    def remember(text: str, *more: str) -> str:
        return str(tht.json("remember", text, *more, "--actor", A1)["item_id"])

    short = remember("check the log", "--ttl", "1h", "--importance", "0.9")
    durable = remember("The orders table is partitioned by month", "--importance", "0.9")
    remember("coffee", "--importance", "0.2")
    propose(tht, "x", "x", A2)
    with opened(home) as workspace:
        before = live_facts(workspace)
    with opened(home, timedelta(hours=2)) as workspace:
        ran = Consolidate(workspace).run(By(ADA))
        assert ran.did["expired"] == (short,)
        (raised,) = ran.did["raised"]
        assert isinstance(raised, tuple)
        item, fact_id = raised
        assert item == durable
    fact = tht.json("fact", "show", fact_id)
    assert (fact["domain"], fact["author"], fact["confidence"]) == ("working-memory", A1, 0.9)
    assert (fact["veracity"], fact["source_observation_ids"]) == ("inferred", [durable])
    assert in_mind(tht) == ["coffee"]
    assert tht.json("consolidate", "--undo", ran.run_id)["left"] == []
    assert sorted(in_mind(tht)) == ["The orders table is partitioned by month", "check the log", "coffee"]
    assert tht.json("fact", "show", fact_id)["ended_for"] == "undone"
    with opened(home) as workspace:
        assert live_facts(workspace) == before
    sound(tht)


def in_mind(tht: Tht) -> list[str]:
    return [one["content"] for one in tht.json("remember", "--list", "--actor", A1)["items"]]


def test_a_mention_that_came_of_raising_is_undone_too(tht: Tht, home: Path) -> None:
    text = "The orders table is partitioned by month"
    fact_id = propose(tht, text, "observation", A2, "--confidence", "0.5", domain="working-memory")
    tht.json("remember", text, "--importance", "0.9", "--type", "observation", "--actor", A1)
    with opened(home) as workspace:
        before = live_facts(workspace)
    ran = tht.json("consolidate")
    assert [fact for _, fact in ran["raised"]] == [fact_id]
    assert tht.json("fact", "show", fact_id)["independent_origins"] == 2
    assert tht.json("consolidate", "--undo", ran["run_id"])["left"] == []
    with opened(home) as workspace:
        assert live_facts(workspace) == before
    sound(tht)


def test_what_ended_or_faded_unused_is_pruned_and_comes_back(tht: Tht, home: Path) -> None:
    ended = propose(tht, "The freeze lasts a week", "freeze", A1, "--valid-until", "2030-01-01T00:00:00Z")
    faded = propose(tht, "Please look at the build", "build", A1, "--type", "request")
    used = propose(tht, "Please look at the tests", "tests", A1, "--type", "request")
    mentioned = propose(tht, "Please look at the docs", "docs", A1, "--type", "request")
    propose(tht, "please look at the docs", "docs", A2)
    wiki = propose(tht, "Please look at the wiki", "wiki", A1, "--type", "request")
    propose(tht, "please look at the wiki!", "wiki page", A2, "--type", "request")
    assert [keeper for _, keeper in tht.json("consolidate")["merged"]] == [wiki]
    lasting = propose(tht, "Ada leads the team", "team", A1, "--type", "profile")
    assert [one["id"] for one in tht.json("fact", "search", "tests", "--mode", "keyword", "--actor", A2)["hits"]] == [
        used
    ]
    with opened(home, timedelta(days=365 * 4)) as workspace:
        ran = Consolidate(workspace).run(By(ADA))
        assert set(ran.did["pruned"]) == {ended, faded}
        with pytest.raises(NothingChanged):
            Consolidate(workspace).run(By(ADA))
    assert {one: status(tht, one) for one in (used, mentioned, wiki, lasting)} == dict.fromkeys(
        (used, mentioned, wiki, lasting), "live"
    )
    causes = [tht.json("fact", "show", one)["ended_for"] for one in (ended, faded)]
    assert causes == ["expired", "decayed"]
    assert tht.json("consolidate", "--undo", ran.run_id)["left"] == []
    assert status(tht, ended) == status(tht, faded) == "live"
