"""`tht harmonize`: what several authors say is a belief, and where they contradict each other a conflict. S-41."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Tht
from tests.cli.upkeep.conftest import A1, A2, A3, FRANKFURT, idle, propose, sound, status


def test_two_authors_make_a_belief_and_a_second_run_none(tht: Tht) -> None:
    one = propose(tht, "Backups run nightly", "backups", A1)
    other = propose(tht, "Backups run nightly on the replica", "backup", A2)
    propose(tht, "Coffee is free", "coffee", A3)
    ran = tht.json("harmonize")
    (belief,) = ran["beliefs"]
    assert (belief["facts"], belief["authors"], belief["confidence"]) == ([one, other], [A1, A2], 0.8)
    idle(tht, "harmonize")
    assert tht.json("harmonize", "--list")["beliefs"] == ran["beliefs"]
    third = propose(tht, "backups run nightly", "nightly backups", A3)
    grown = tht.json("harmonize")
    assert grown["revised"] == [belief["id"]]
    assert grown["beliefs"][0]["facts"] == [one, other, third]
    for fact_id in (one, other):
        tht.json("fact", "retire", fact_id)
    gone = tht.json("harmonize")
    assert (gone["withdrawn"], gone["beliefs"]) == ([belief["id"]], [])
    sound(tht)
    for run in (gone, grown, ran):
        assert tht.json("harmonize", "--undo", run["run_id"])["left"] == []
    assert tht.json("harmonize", "--list")["beliefs"] == []
    sound(tht)


def test_a_contradiction_between_authors_is_one_open_conflict(tht: Tht) -> None:
    one = propose(tht, "The retention of the audit log is 30 days", "retention", A1)
    other = propose(tht, "The retention of the audit log is 90 days", "audit log", A2)
    ran = tht.json("harmonize")
    (conflict,) = tht.json("conflicts", "list")["conflicts"]
    assert (ran["conflicts"], conflict["facts"], conflict["found"]) == ([conflict["id"]], [one, other], "cross_agent")
    idle(tht, "harmonize")
    assert status(tht, one) == status(tht, other) == "live", "similarity alone retires nothing"
    assert tht.json("harmonize", "--undo", ran["run_id"])["left"] == []
    assert tht.json("conflicts", "list")["conflicts"] == []
    assert tht.json("harmonize")["conflicts"] == [conflict["id"]]
    assert len(tht.json("conflicts", "list", "--all")["conflicts"]) == 1
    tht.json("conflicts", "resolve", conflict["id"], "--both")
    idle(tht, "harmonize")  # a person's word stands
    sound(tht)


def test_recalled_text_makes_no_belief(tht: Tht) -> None:
    """S-41 by another road: restated under another topic by somebody who had been shown it."""
    propose(tht, "Backups run nightly", "backups", A1)
    assert tht.json("fact", "search", "backups", "--actor", A2)["hits"]
    propose(tht, "backups run nightly!", "backup", A2)
    idle(tht, "harmonize")
    assert len(tht.json("consolidate")["merged"]) == 1
    idle(tht, "harmonize")
    propose(tht, "backups run nightly.", "nightly backup", A3)
    assert tht.json("harmonize")["beliefs"][0]["authors"] == [A1, A3]


def test_agreement_outlives_a_merge(tht: Tht) -> None:
    keeper = propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    tht.json("consolidate")
    (belief,) = tht.json("harmonize")["beliefs"]
    assert (belief["facts"], belief["authors"]) == ([keeper], [A1, A2])


def test_vectors_of_the_cache_count_and_none_are_made_unasked(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    assert len(tht.json("harmonize", "--dry-run")["formed"]) == 1
    assert not (home / "default" / "vectors.sqlite3").exists()
    assert len(tht.json("harmonize", "--embed")["formed"]) == 1
    assert (home / "default" / "vectors.sqlite3").exists()
    idle(tht, "harmonize")


def test_a_role_that_is_kept_out_of_a_domain_does_no_upkeep(tht: Tht) -> None:
    """S-54, S-55: a run names what it did in every domain."""
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    tht.json("harmonize")
    tht.json("grant", "set", "--role", "qa", "--domain", "ops", "--permission", "none")
    for command in ("consolidate", "harmonize"):
        assert tht.refused(command, "--actor", A3, "--role", "qa") == "AccessDenied"
    assert tht.json("harmonize", "--list", "--actor", A3, "--role", "qa")["beliefs"] == []
    checks = tht.json("doctor", "--actor", A3, "--role", "qa")["checks"]
    assert "duplicates" not in {check["name"] for check in checks}
