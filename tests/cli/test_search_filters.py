"""What a search may never show, however well it fits: and limits are filled after that is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.facts import Facts
from adapters.ledger import By
from adapters.workspace import create_workspace
from tests.cli.conftest import Tht
from tests.cli.searching import ADA, MODES, QA, ids, propose, search

# -- limits are filled after filters


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


# -- what was taken back


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
