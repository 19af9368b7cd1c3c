"""`tht memory`: preview, approval, search and reuse through the real command line."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

GREEK = "Ο κωδικός AF σημαίνει κολπική μαρμαρυγή· δεν περιλαμβάνει τον πτερυγισμό"
ITALIAN = "Età di almeno 75 anni alla data della procedura"
CJK = "成功率 = 成功件数 / 全件数 🎉"


def save(tht: Tht, session_id: str, seq: int, *more: str) -> tuple[str, ...]:
    which = ("--session", session_id, "--seq", str(seq), "--revision", tht.revision(session_id, seq))
    return ("memory", "save-one", *which, *more)


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


# -- batches


def test_every_candidate_of_every_session_at_once(tht: Tht) -> None:
    tht.session("s1", ("a", GREEK), ("b", ITALIAN), ("fact_x", "a table"))
    tht.session("s2", ("A", f"{GREEK}."), ("c", CJK))
    tht.session("s3")
    tht.clarify("s3", "own", "words", actor="human:ada")
    dry = tht("memory", "promote", "--all-sessions", "--reviewer", "ada", "--dry-run", "--json")
    assert dry.json["counts"]["promoted"] == 4
    assert {one["memory_id"] for one in dry.json["outcomes"]} == {None}
    assert tht.json("registry", "list")["total"] == 0
    said = tht("memory", "promote", "--all-sessions", "--reviewer", "ada", "--json")
    assert said.code == 1
    assert said.json["counts"] == {"promoted": 4, "already": 0, "failed": 1, "memories": 3}
    outcomes = [(one["session_id"], one["seq"], one["memory_id"]) for one in said.json["outcomes"]]
    assert outcomes == [("s1", 1, "mem-0001"), ("s1", 2, "mem-0002"), ("s2", 1, "mem-0001"), ("s2", 2, "mem-0003"),
                        ("s3", 1, None)]  # fmt: skip
    assert said.json["outcomes"][-1]["error"]["type"] == "SelfReview"
    only = tht("memory", "promote", "--session", "s3", "--all", "--reviewer", "bea")
    assert (only.code, "s3 seq 1: promoted, mem-0004" in only.out) == (0, True)
    assert tht.refused("memory", "promote", "--all-sessions", "--reviewer", "ada") == "NothingChanged"


def test_s25_no_candidate_beyond_the_page_is_lost(tht: Tht) -> None:
    """S-25: nine clarifications, five a page: the session closes only when all nine are decided or deferred."""
    tht.session("s1", *((f"concept {number}", f"means {number}") for number in range(1, 10)))
    first = tht.json("memory", "promote", "--session", "s1", "--preview")
    assert ([one["seq"] for one in first["candidates"]], first["remaining"]) == ([1, 2, 3, 4, 5], 4)
    second = tht.json("memory", "promote", "--session", "s1", "--preview", "--after", "5")
    assert ([one["seq"] for one in second["candidates"]], second["remaining"]) == ([6, 7, 8, 9], 0)
    assert "4 more: --after 5 shows them" in tht("memory", "promote", "--session", "s1", "--preview").out
    for seq in range(1, 9):
        tht.promote("s1", seq)
    assert tht.refused("session", "close", "s1") == "UndecidedCandidates"
    tht.json("memory", "defer", "--session", "s1", "--seq", "9", "--reviewer", "ada", "--reason", "ask")
    tht.json("session", "close", "s1")
    assert tht.candidates("s1") == []
    assert [one["seq"] for one in tht.candidates("s1", "--deferred")] == [9]
    queue = tht.json("review")["queue"]
    assert [(one["session_id"], one["candidates"][0]["seq"]) for one in queue] == [("s1", 9)]
    assert tht.promote("s1", 9) == "mem-0009"
    assert tht.refused("memory", "defer", "--session", "s1", "--seq", "9", "--reviewer", "ada") == "NotACandidate"


def test_s26_declined_stays_declined_and_withdrawn_sources_are_flagged(tht: Tht) -> None:
    """S-26: declined in F8: not proposed again; retracted: not promotable; promoted and then retracted: flagged."""
    tht.session("s1", ("a", "declined"), ("b", "retracted"), ("c", "promoted first"))
    retracted = save(tht, "s1", 2, "--reviewer", "ada")
    tht.json("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "ada")
    tht.json("session", "retract", "s1", "2")
    assert tht.promote("s1", 3) == "mem-0001"
    tht.json("session", "retract", "s1", "3")
    tht.clarify("s1", "A", "declined!")
    assert tht.candidates("s1", "--deferred") == []
    assert tht.refused("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "bea") == "NothingChanged"
    assert tht.refused(*retracted) == "NotACandidate"
    assert tht.json("registry", "show", "mem-0001")["flag"] == "source no longer effective"
    assert tht.json("session", "summary", "s1")["memories"][0]["flag"] == "source no longer effective"
    assert "source no longer effective" in " ".join(tht("registry", "show", "mem-0001").out.split())


def test_every_real_candidate_becomes_one_memory_for_each_distinct_content(tht: Tht, shared_data: Path) -> None:
    """The 762 expert sessions: one memory per content, each with all its sources, counted straight from the file."""
    file = shared_data / "bird" / "sessions.jsonl"
    tht.json("import", file, "--actor", "tool:importer")
    expected: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for line in file.read_text("utf-8").splitlines():
        session = json.loads(line)
        linked = {plain(one["subject"]) for one in session["decisions"] if one["type"] != "concept_clarified"}
        for seq, one in enumerate(session["decisions"], 1):
            if one["type"] == "concept_clarified" and plain(one["subject"]) not in linked:
                content = (plain(one["subject"]), plain(one["detail"]))
                expected.setdefault(content, set()).add((session["session_id"], seq))
    outcome = tht.json("memory", "promote", "--all-sessions", "--reviewer", "ada")
    assert outcome["counts"]["failed"] == 0
    memories = [json.loads(line) for line in tht("registry", "export", "--all").out.splitlines()]
    found = {
        (plain(one["subject"]), plain(one["detail"])): {(each["session_id"], each["seq"]) for each in one["sources"]}
        for one in memories
    }
    assert len(memories) == len(found)
    assert found == expected
    assert tht.json("review")["candidates"] == 0


def plain(text: str) -> str:
    """Equivalent content made equal, written without the program's own rule for it."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    before = ""
    while before != text:
        before, text = text, text.strip().rstrip(".,;:!?…").strip()
        if len(text) > 1 and text[0] in "\"'`«“‘" and text[-1] in "\"'`»”’":
            text = text[1:-1]
    return text


# -- search and reuse


def test_the_search_answers_as_programs_expect(tht: Tht) -> None:
    tht.session("s1", ("Κολπική μαρμαρυγή", GREEK), ("Paziente anziano", ITALIAN))
    tht.json("memory", "promote", "--session", "s1", "--all", "--reviewer", "ada")
    tht.session("s2")
    answer = tht.json("memory", "search", "τι σημαίνει κολπική μαρμαρυγή", "--session", "s2")
    hit = answer["hits"][0]
    assert (hit["id"], hit["detail"], hit["session_id"], hit["decision_seq"]) == ("mem-0001", GREEK, "s1", 1)
    assert hit["score"] > 0
    assert answer["index"]["position"] <= answer["index"]["ledger"]
    assert set(answer["voices"]) == {"lexical", "vector", "temporal", "graph"}
    assert len(tht.json("memory", "search", "anziano", "--limit", "1")["hits"]) == 1
    assert "mem-0002" in tht("memory", "search", "paziente anziano").out
    assert tht.refused("memory", "search", "x", "--session", "nope") == "UnknownSession"
    assert tht.refused("memory", "search", "  ", code=2) == "InvalidInput"
    assert tht.refused("memory", "search", "x\x00y", code=2) == "InvalidInput"
    assert tht("memory", "search", "x", "--limit", "0").code == 2


def test_s21_nothing_pending_is_found(tht: Tht) -> None:
    """S-21: waiting, deferred and declined candidates are in the queue only, never in a search."""
    tht.session("s1", ("waiting", "ablation wave"), ("deferred", "ablation tide"), ("declined", "ablation storm"))
    tht.json("memory", "defer", "--session", "s1", "--seq", "2", "--reviewer", "ada")
    tht.json("memory", "decline", "--session", "s1", "--seq", "3", "--reviewer", "ada")
    assert tht.json("memory", "search", "ablation wave tide storm")["hits"] == []
    assert tht.json("memory", "list")["memories"] == []
    assert "no memory fits" in tht("memory", "search", "ablation").out
    assert [one["seq"] for one in tht.json("review", "s1")["queue"][0]["candidates"]] == [1, 2]


def test_s26_the_choice_of_f2_is_recorded_once_and_may_be_offered_again(tht: Tht) -> None:
    """S-26: deselected in F2 is set aside, not deleted: after F2 is opened again it is offered again."""
    tht.session("s1", ("a", "the rule of ablation"), ("b", "the rule of relapse"))
    tht.json("memory", "promote", "--session", "s1", "--all", "--reviewer", "ada")
    tht.session("s2")
    chosen = tht.json("memory", "decide", "--session", "s2", "--offered", "mem-0001,mem-0002", "--select", "mem-0002")
    assert [event["type"] for event in chosen["events"]] == ["phase_entered", "concept_clarified", "memory_set_aside"]
    (applied,) = tht.json("session", "show", "s2")["decisions"]
    assert (applied["source_memory"], applied["detail"]) == ("mem-0002", "the rule of relapse")
    assert "mem-0002" in applied["rationale"]
    assert tht.json("memory", "search", "rule", "--session", "s2")["hits"] == []
    assert tht.candidates("s2") == [], "reused unchanged, it is no new candidate"
    tht.json("session", "reopen", "s2", "--phase", "F2")
    assert [hit["id"] for hit in tht.json("memory", "search", "rule", "--session", "s2")["hits"]] == ["mem-0001"]
    before = tht.position()
    decide = ("memory", "decide", "--session", "s2")
    assert tht.refused(*decide, "--offered", "mem-0001", "--select", "mem-0009", code=2) == "InvalidInput"
    assert tht.refused(*decide, "--offered", "mem-0404") == "UnknownMemory"
    assert tht.refused(*decide, "--offered", "mem-0002", "--select", "mem-0002") == "NothingChanged"
    assert tht(*decide, "--offered", " , ").code == 2
    assert tht.position() == before


def test_the_history_of_a_memory_names_everyone(tht: Tht) -> None:
    tht.session("s1", ("a", "b"))
    tht.promote("s1", 1, "--reason", "as agreed")
    tht.json("registry", "retire", "mem-0001", "--actor", "human:bea", "--reason", "wrong")
    tht.json("registry", "restore", "mem-0001", "--actor", "human:cia", "--reason", "right after all")
    history = tht.json("memory", "history", "mem-0001")
    assert [(event["kind"], event["actor"], event["reason"]) for event in history["events"] if event["reason"]][
        -2:
    ] == [
        ("memory_retired", "human:bea", "wrong"),
        ("memory_restored", "human:cia", "right after all"),
    ]
    assert {"memory_promoted", "memory_recorded", "number_taken"} <= {event["kind"] for event in history["events"]}
    assert "memory_retired" in tht("memory", "history", "mem-0001").out
    assert tht.refused("memory", "history", "mem-0404") == "UnknownMemory"


def test_whoever_approves_sees_every_sign_of_the_words(tht: Tht) -> None:
    """Formulas and SQL are full of what Markdown and HTML take for their own: nothing may vanish before an approval."""
    detail = 'Use <status> where x<b; SUM(a*b)/COUNT(*), path C:\\*\\new, name LIKE "_a_"'
    tht.session("s1", ("# of patients", detail))
    shown = " ".join(tht("memory", "promote", "--session", "s1", "--preview").out.split())
    assert "# of patients" in shown
    assert detail in shown
    asked = " ".join(tht("review", "--session", "s1", "--actor", "human:ada", stdin="q\n").out.split())
    assert detail in asked


def test_what_html_there_is_in_a_summary_is_shown_as_text(tht: Tht) -> None:
    tht.session("s1", ("tag", "first <div>hidden</div>\nsecond **bold**"))
    tht.promote("s1", 1)
    for command in (("session", "summary", "s1"), ("registry", "show", "mem-0001")):
        lines = [line.strip() for line in tht(*command).out.splitlines()]
        assert "first <div>hidden</div>" in lines
        assert "second bold" in lines


def test_an_index_behind_does_not_hide_what_the_words_find(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors fill every list; a memory that has none yet must still come in by its words."""
    tht.session("s1", *((f"filler {number}", f"nothing much {number}") for number in range(8)))
    for seq in range(1, 9):
        tht.promote("s1", seq)
    tht.json("memory", "search", "filler")
    tht.session("s2", ("June of 2013", "date between the first and the last of June"))
    late = tht.promote("s2", 1)
    monkeypatch.setenv("THT_INDEX_BUDGET", "0")
    answer = tht.json("memory", "search", "June of 2013", "--limit", "3")
    assert answer["index"]["position"] < answer["index"]["ledger"]
    assert late in [hit["id"] for hit in answer["hits"]]
    assert "wait for it" in answer["notice"]
