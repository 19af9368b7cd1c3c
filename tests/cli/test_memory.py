"""`tht memory`: preview and approval through the real command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.approving import GREEK, ITALIAN, save

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

# -- preview


def test_the_preview_has_the_form_that_gates_rely_on(tht: Tht) -> None:
    tht.session("s1", ("Ablazione", "una procedura"), ("x", GREEK), ("ablazione", "«una procedura».."))
    preview = tht.json("memory", "promote", "--session", "s1", "--preview")
    assert (preview["session_id"], preview["remaining"]) == ("s1", 0)
    first, second = preview["candidates"]
    promised = ("seq", "subject", "detail", "rationale", "covers", "known_as", "similar")
    assert [first[key] for key in promised] == [1, "Ablazione", "una procedura", "", [3], None, []]
    assert len(first["revision"]) == 16
    assert second["detail"] == GREEK
    shown = tht("memory", "promote", "--session", "s1", "--preview").out
    assert first["revision"] in shown
    assert "covers seq 3" in shown


def test_the_preview_asks_for_a_way_to_decide(tht: Tht) -> None:
    tht.session("s1", ("a", "b"))
    said = tht("memory", "promote", "--session", "s1")
    assert said.code == 2
    assert "tht review" in said.err
    assert "save-one" in said.err
    assert tht("memory", "promote", "--preview").code == 2
    assert tht("memory", "promote", "--session", "s1", "--preview", "--all").code == 2
    assert tht("memory", "promote", "--session", "s1", "--all-sessions").code == 2
    assert tht.refused("memory", "promote", "--session", "nope", "--preview") == "UnknownSession"


def test_known_and_similar_memories_stand_beside_a_candidate(tht: Tht) -> None:
    """S-39: what differs in a number or a negation is shown beside it and never merged by itself."""
    tht.session("old", ("Paziente anziano", ITALIAN), ("Recidiva", "un evento entro 12 mesi dalla procedura"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("new", ("paziente anziano", f"{ITALIAN}."), ("Recidiva", "un evento entro 6 mesi dalla procedura"))
    known, near = tht.candidates("new")
    assert (known["known_as"], known["similar"]) == ("mem-0001", [])
    assert near["known_as"] is None
    assert near["similar"][0]["id"] == "mem-0002"
    assert near["similar"][0]["differs"] == ["numbers"]
    assert near["similar"][0]["score"] > 0.5
    assert "numbers differ" in tht("memory", "promote", "--session", "new", "--preview").out
    tht.json("memory", "promote", "--session", "new", "--all", "--reviewer", "ada")
    sources = {one["id"]: one["sources"] for one in tht.json("registry", "list")["memories"]}
    assert sorted(sources) == ["mem-0001", "mem-0002", "mem-0003"]
    assert [len(sources[memory_id]) for memory_id in sorted(sources)] == [2, 1, 1]


def test_whoever_approves_sees_every_sign_of_the_words(tht: Tht) -> None:
    """Formulas and SQL are full of what Markdown and HTML take for their own: nothing may vanish before an approval."""
    detail = 'Use <status> where x<b; SUM(a*b)/COUNT(*), path C:\\*\\new, name LIKE "_a_"'
    tht.session("s1", ("# of patients", detail))
    shown = " ".join(tht("memory", "promote", "--session", "s1", "--preview").out.split())
    assert "# of patients" in shown
    assert detail in shown
    asked = " ".join(tht("review", "--session", "s1", "--actor", "human:ada", stdin="q\n").out.split())
    assert detail in asked


# -- approval


def test_an_approval_answers_as_programs_expect(tht: Tht) -> None:
    tht.session("s1", ("a", GREEK))
    saved = tht.json(*save(tht, "s1", 1, "--reviewer", "ada"))
    assert (saved["memory_id"], saved["already"], saved["reviewer"]) == ("mem-0001", False, "human:ada")
    assert saved["position"] == tht.position()
    shown = tht.json("memory", "show", "mem-0001")
    assert (shown["detail"], shown["reviewer"], shown["self_reviewed"]) == (GREEK, "human:ada", False)


def test_s24_a_second_approval_names_the_first_reviewer(tht: Tht) -> None:
    """S-24: approve twice, second by another reviewer: one record, the first reviewer kept, the second a no-op."""
    tht.session("s1", ("a", "b"))
    command = save(tht, "s1", 1)
    first = tht.json(*command, "--reviewer", "human:ada")
    before = tht.position()
    again = tht.json(*command, "--reviewer", "human:bea")
    assert (again["memory_id"], again["already"], again["reviewer"]) == (first["memory_id"], True, "human:ada")
    assert "approved by human:ada" in tht(*command, "--reviewer", "human:bea").out
    assert tht.position() == before
    assert tht.json("registry", "list")["total"] == 1


@pytest.mark.parametrize("actor", ["agent:coder-1", "tool:importer"])
def test_s20_agents_and_tools_decide_nothing_whoever_they_name(tht: Tht, actor: str) -> None:
    """S-20: refused and recorded; no visible memory."""
    tht.session("s1", ("a", "b"))
    command = save(tht, "s1", 1)
    which = ("--session", "s1", "--seq", "1")
    before = tht.position()
    assert tht.refused(*command, "--reviewer", "human:ada", "--actor", actor) == "ReviewerNeeded"
    assert tht.position() == before + 1
    assert tht.refused(*command, "--reviewer", actor) == "ReviewerNeeded"
    assert tht.refused(*command, "--actor", actor) == "ReviewerNeeded"
    for verb in ("decline", "defer"):
        assert tht.refused("memory", verb, *which, "--reviewer", "ada", "--actor", actor) == "ReviewerNeeded"
    for many in (("--session", "s1", "--all"), ("--all-sessions",)):
        assert tht.refused("memory", "promote", *many, "--reviewer", "ada", "--actor", actor) == "ReviewerNeeded"
    said = tht("review", "s1", "--reviewer", "ada", "--actor", actor, stdin="p\n")
    assert (said.code, "not a person" in said.err) == (1, True)
    assert tht.refused("review", "token", "--for", "human:ada", "--actor", actor) == "ReviewerNeeded"
    assert tht.json("registry", "list")["total"] == 0
    assert len(tht.candidates("s1")) == 1


def test_s20_the_environment_names_an_agent_too(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("a", "b"))
    command = save(tht, "s1", 1)
    monkeypatch.setenv("THT_ACTOR", "agent:coder-2")
    assert tht.refused(*command, "--reviewer", "human:ada") == "ReviewerNeeded"
    monkeypatch.setenv("THT_ACTOR", "human:bea")
    assert tht.json(*command)["reviewer"] == "human:bea"


def test_s20_people_do_not_approve_their_own_words(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1")
    tht.clarify("s1", "a", "b", actor="human:Ada")
    command = save(tht, "s1", 1, "--reviewer", "ada")
    before = tht.position()
    assert tht.refused(*command) == "SelfReview"
    assert tht.position() == before + 1, "the refusal itself is recorded"
    assert tht.json("registry", "list", "--status", "all")["total"] == 0
    tht.json("config", "set", "review.allow_self", "true")
    assert tht.json(*command)["memory_id"] == "mem-0001"
    assert tht.json("registry", "show", "mem-0001")["self_reviewed"] is True


def test_s22_what_changed_meanwhile_is_not_approved(tht: Tht) -> None:
    """S-22: a stale revision: an error, nothing written, the candidate pending and the same."""
    tht.session("s1", ("a", "rev 1"))
    command = save(tht, "s1", 1, "--reviewer", "ada")
    tht.clarify("s1", "A", "rev 1.")  # the same content again: the candidate now covers it
    pending, before = tht.candidates("s1"), tht.position()
    assert tht.refused(*command) == "StaleCandidate"
    assert tht.position() == before
    assert tht.candidates("s1") == pending
    tht.json("session", "edit", "s1", "1", "--detail", "rev 2", "--actor", "agent:coder-1")
    assert tht.refused(*command) == "NotACandidate"
    assert tht.json("registry", "list")["total"] == 0


def test_s03_approvals_of_what_is_not_there_write_nothing(tht: Tht) -> None:
    """S-03: unknown session, seq, type, memory: typed errors, exit 1, no event."""
    tht.session("s1", ("a", "b"), ("fact_x", "include this table"))
    tht.json("session", "record", "s1", "--type", "table_promoted", "--subject", "t", "--detail", "")
    good, before = tht.revision("s1", 1), tht.position()

    def refused(*more: str) -> str:
        return tht.refused("memory", "save-one", "--reviewer", "ada", "--revision", good, *more)

    assert refused("--session", "nope", "--seq", "1") == "UnknownSession"
    assert refused("--session", "s1", "--seq", "99") == "UnknownDecision"
    assert refused("--session", "s1", "--seq", "-1") == "UnknownDecision"
    assert refused("--session", "s1", "--seq", "3") == "NotACandidate"
    assert refused("--session", "s1", "--seq", "2") == "NotACandidate"
    assert refused("--session", "s1", "--seq", "1", "--into", "mem-0404") == "UnknownMemory"
    assert refused("--session", "s1", "--seq", "1", "--replace", "mem-0404") == "UnknownMemory"
    assert tht.refused("memory", "decline", "--session", "s1", "--seq", "99", "--reviewer", "ada") == "UnknownDecision"
    assert tht("memory", "save-one", "--session", "s1", "--seq", "one", "--revision", good).code == 2
    both = ("--into", "mem-0001", "--replace", "mem-0001")
    assert tht("memory", "save-one", "--session", "s1", "--seq", "1", "--revision", good, *both).code == 2
    assert tht.position() == before


def test_a_candidate_is_merged_into_a_memory_or_replaces_one(tht: Tht) -> None:
    tht.session("old", ("a", "one"), ("b", "two"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("new", ("a", "one, in other words"), ("b", "not two but three"))
    assert tht.promote("new", 1, "--into", "mem-0001", "--reason", "same rule") == "mem-0001"
    assert tht.promote("new", 2, "--replace", "mem-0002") == "mem-0003"
    merged = tht.json("registry", "show", "mem-0001")
    assert [(one["session_id"], one["seq"]) for one in merged["sources"]] == [("old", 1), ("new", 1)]
    assert merged["detail"] == "one"
    replaced = tht.json("registry", "show", "mem-0002")
    assert (replaced["status"], replaced["successor"]) == ("superseded", "mem-0003")


def test_a_token_proves_who_reviews_where_that_is_asked(
    tht: Tht, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tht.session("s1", ("a", "b"))
    command = save(tht, "s1", 1, "--reviewer", "ada")
    token = tht.json("review", "token", "--for", "ada", "--actor", "human:ada")["token"]
    tht.json("config", "set", "review.require_token", "true")
    assert tht.refused(*command) == "ReviewerNeeded"
    monkeypatch.setenv("THT_REVIEWER_TOKEN", "guessed")
    assert tht.refused(*command) == "ReviewerNeeded"
    kept = tmp_path / "token"
    kept.write_text(f"{token}\n", "utf-8")
    assert tht.refused(*command, "--token-file", str(tmp_path / "none"), code=2) == "InvalidInput"
    assert tht.json(*command, "--token-file", str(kept))["memory_id"] == "mem-0001"
    assert token not in (tmp_path / "home" / "default" / "config.toml").read_text("utf-8")
