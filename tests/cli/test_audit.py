"""tht audit: session, memory, actor, log, reads; now and as it was then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.workbench import ANNA, BRUNO, HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def reuse(bench: Bench, session_id: str, memory_id: str) -> None:
    """A later session of anna that applies a memory in F2."""
    bench.ok("session", "open", session_id, "--question", f"domanda di {session_id}", "--actor", ANNA)
    bench.ok(
        "memory", "decide", "--session", session_id, "--offered", memory_id, "--select", memory_id, "--actor", ANNA
    )


def rework(bench: Bench, session_id: str, memory_id: str, detail: str) -> str:
    """A session that says a memory's concept differently, and has that promoted."""
    bench.ok("session", "open", session_id, "--question", f"domanda di {session_id}", "--actor", ANNA)
    seq = bench.clarify(session_id, "ablazione", detail, "--source-memory", memory_id)
    return bench.promote(session_id, seq)


def test_a_session_tells_what_each_event_changed_and_what_followed(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("session", "retract", "s1", "1", "--reason", "definizione errata", "--actor", ANNA)
    told = bench.json("audit", "session", "s1")
    events = {event["kind"]: event for event in told["events"]}
    assert events["concept_clarified"]["made_effective"] == [1]
    promoted = events["memory_promoted"]
    assert promoted["actor"] == BRUNO
    recorded, numbered = (
        bench.json("audit", "log", "--kind", kind)["events"][0]["position"]
        for kind in ("memory_recorded", "number_taken")
    )
    assert promoted["followed"] == [
        f"memory_recorded mem-0001 at {recorded}",
        f"number_taken mem-0001 at {numbered}",
        f"in the index from position {numbered} on",
    ]
    retracted = events["decision_retracted"]
    assert retracted["made_retracted"] == [1]
    assert retracted["reason"] == "definizione errata"
    assert retracted["followed"] == ["mem-0001: source no longer effective (seq 1)"]
    assert told["effective"] == []
    assert "errata" in bench.ok("audit", "session", "s1")


def test_a_rollback_says_which_decisions_it_made_stale(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("session", "rollback", "s1", "--phase", "F1", "--reason", "domanda cambiata", "--actor", ANNA)
    last = bench.json("audit", "session", "s1")["events"][-1]
    assert (last["kind"], last["made_stale"]) == ("phase_rolled_back", [1])
    assert last["followed"] == ["mem-0001: source no longer effective (seq 1)"]


def test_a_session_as_it_was_at_a_position_and_at_a_time(bench: Bench) -> None:
    bench.one_memory()
    then = bench.json("audit", "session", "s1")
    bench.ok("session", "retract", "s1", "1", "--reason", "errata", "--actor", ANNA)
    now = bench.json("audit", "session", "s1")
    assert now["effective"] == []
    assert bench.json("audit", "session", "s1", "--at", str(then["at"])) == then
    assert bench.json("audit", "session", "s1", "--at", then["events"][-1]["at"]) == then
    assert bench.error("audit", "session", "s1", "--at", str(now["at"] + 1), code=2)["type"] == "InvalidInput"
    assert bench.error("audit", "session", "s1", "--at", "2026-03-02T10:00:00", code=2)["type"] == "InvalidInput"
    assert bench.error("audit", "session", "s1", "--at", "0")["type"] == "UnknownSession"


def test_a_memory_from_clarification_through_approval_to_reuse(bench: Bench) -> None:
    bench.one_memory()
    reuse(bench, "s2", "mem-0001")
    told = bench.json("audit", "memory", "mem-0001")
    (origin,) = told["origins"]
    assert (origin["session_id"], origin["seq"], origin["author"]) == ("s1", 1, ANNA)
    assert (origin["approved_by"], origin["self_reviewed"], origin["standing"]) == (BRUNO, False, "effective")
    assert [event["kind"] for event in told["history"]] == ["memory_promoted", "memory_recorded", "number_taken"]
    assert told["look_again"] == {"sessions": ["s2"], "decisions": ["s2:1"], "memories": []}
    assert "If mem-0001 turns out wrong, look again at: session s2" in bench.ok("audit", "memory", "mem-0001")
    assert bench.error("audit", "memory", "mem-0002")["type"] == "UnknownMemory"


def test_a_memory_tells_transitively_what_must_be_looked_at_again(bench: Bench) -> None:
    bench.one_memory()
    second = rework(bench, "s2", "mem-0001", "procedura con ablazione_transcatetere = TRUE, esclusi i reinterventi")
    reuse(bench, "s3", second)
    told = bench.json("audit", "memory", "mem-0001")
    assert [(one["session_id"], one["depth"], one["became"]) for one in told["reused"]] == [
        ("s2", 1, second),
        ("s3", 2, None),
    ]
    assert told["look_again"] == {"sessions": ["s2", "s3"], "decisions": ["s2:1", "s3:1"], "memories": [second]}


def test_a_circle_of_reuse_ends(bench: Bench) -> None:
    """s2 makes mem-0002 out of mem-0001; s3 comes back from mem-0002 to the words of mem-0001."""
    bench.one_memory()
    second = rework(bench, "s2", "mem-0001", "un'altra definizione")
    assert rework(bench, "s3", second, "procedura con ablazione_transcatetere = TRUE") == "mem-0001"
    for memory_id, other, order in (("mem-0001", second, ["s2", "s3"]), (second, "mem-0001", ["s3", "s2"])):
        again = bench.json("audit", "memory", memory_id)["look_again"]
        assert again == {"sessions": order, "decisions": [f"{one}:1" for one in order], "memories": [other]}


def test_what_rests_on_a_merged_memory_includes_the_one_that_took_its_sources(bench: Bench) -> None:
    bench.one_memory()
    bench.clarify("s1", "ablazione transcatetere", "una procedura")
    other = bench.promote("s1", 2)
    bench.ok("registry", "merge", "mem-0001", "--into", other, "--actor", BRUNO, "--reason", "la stessa cosa")
    reuse(bench, "s2", other)
    again = bench.json("audit", "memory", "mem-0001")["look_again"]
    assert again == {"sessions": ["s2"], "decisions": ["s2:1"], "memories": [other]}


def test_a_memory_as_it_was_then(bench: Bench) -> None:
    bench.one_memory()
    position = bench.json("ledger", "head")["position"]
    at = bench.json("ledger", "log", "--after", str(position - 1))["events"][0]["at"]
    reuse(bench, "s2", "mem-0001")
    bench.ok("registry", "retire", "mem-0001", "--actor", BRUNO, "--reason", "superata")
    assert bench.json("audit", "memory", "mem-0001")["memory"]["status"] == "retired"
    for moment in (str(position), at):
        then = bench.json("audit", "memory", "mem-0001", "--at", moment)
        assert then["memory"]["status"] == "live"
        assert then["look_again"]["sessions"] == []
    assert bench.error("audit", "memory", "mem-0001", "--at", "2")["type"] == "UnknownMemory"


def test_s20_a_refused_promotion_is_shown(bench: Bench) -> None:
    """S-20: who proposes does not approve, and the attempt is on record."""
    bench.ok("session", "open", "s1", "--question", "q", "--actor", ANNA)
    bench.clarify("s1", "ablazione", "una procedura")
    page = bench.json("memory", "promote", "--session", "s1", "--preview")
    chosen = ("--session", "s1", "--seq", "1", "--revision", page["candidates"][0]["revision"])
    assert bench.error("memory", "save-one", *chosen, "--reviewer", ANNA)["type"] == "SelfReview"
    bench.promote("s1", 1)
    (refused,) = bench.json("audit", "memory", "mem-0001")["refused"]
    assert (refused["actor"], refused["seq"]) == (ANNA, 1)
    assert "does not approve" in refused["reason"]
    kinds = [event["kind"] for event in bench.json("audit", "session", "s1")["events"]]
    assert "promotion_refused" in kinds
    assert "the gate refused" in bench.ok("audit", "memory", "mem-0001")


def test_a_self_review_is_marked(bench: Bench) -> None:
    bench.ok("init")
    bench.ok("config", "set", "review.allow_self", "true")
    bench.ok("session", "open", "s1", "--question", "q", "--actor", ANNA)
    bench.clarify("s1", "ablazione", "una procedura")
    bench.promote("s1", 1, by=ANNA)
    assert bench.json("audit", "memory", "mem-0001")["origins"][0]["self_reviewed"] is True
    assert "self-reviewed" in bench.ok("audit", "memory", "mem-0001")


def test_the_log_filters_by_actor_kind_time_session_and_memory(bench: Bench) -> None:
    bench.one_memory()
    everything = bench.json("audit", "log")["events"]
    assert [event["position"] for event in everything] == list(range(1, len(everything) + 1))

    def positions(*filters: str) -> list[int]:
        return [event["position"] for event in bench.json("audit", "log", *filters)["events"]]

    assert positions("--actor", "bruno") == [one["position"] for one in everything if one["actor"] == BRUNO]
    assert positions("--kind", "memory_promoted") == positions("--kind", "session.memory-promoted")
    assert positions("--session", "s1") == [one["position"] for one in everything if one["session_id"] == "s1"]
    assert positions("--memory", "mem-0001") == [one["position"] for one in everything if one["memory_id"]]
    assert positions("--since", everything[2]["at"])[0] <= 3
    assert positions("--until", everything[1]["at"])[-1] >= 2
    assert positions("--until", "2001-01-01T00:00:00Z") == []
    assert positions("--at", "2") == [1, 2]
    page = bench.json("audit", "log", "--limit", "2", "--offset", "1")
    assert ([one["position"] for one in page["events"]], page["total"]) == ([2, 3], len(everything))
    said = bench.error("audit", "log", "--kind", "memory_promotd", code=2)
    assert "memory_promoted" in said["hint"]


def test_an_edit_names_the_clarification_that_it_replaces_by_session_and_seq(bench: Bench) -> None:
    """A bare seq is the id of no record: 1 would be every session's."""
    bench.ok("init")
    for session in ("s1", "s2"):
        bench.ok("session", "open", session, "--question", "q", "--actor", ANNA)
        bench.clarify(session, "ablazione", "una procedura")
        bench.ok("session", "edit", session, "1", "--detail", "una procedura con catetere", "--actor", ANNA)

    def found(record: str) -> list[tuple[str, int]]:
        events = bench.json("audit", "log", "--record", record)["events"]
        return [(event["session_id"], event["seq"]) for event in events]

    assert found("1") == []
    assert found("s1:1") == [("s1", 1), ("s1", 1), ("s1", 2)]  # said, retracted by the edit, edited
    assert found("s2:2") == [("s2", 2)]


def test_s29_the_log_of_a_decision_shows_what_became_of_it(bench: Bench) -> None:
    """What answers, defers or retracts a clarification names it by seq; the memory, by its source."""
    bench.one_memory()
    bench.clarify("s1", "stent", "una rete")
    bench.ok("session", "retract", "s1", "2", "--actor", ANNA)

    def kinds(record: str) -> list[str]:
        return [event["kind"] for event in bench.json("audit", "log", "--record", record)["events"]]

    assert kinds("s1:1") == ["concept_clarified", "memory_promoted", "memory_recorded"]
    assert kinds("s1:2") == ["concept_clarified", "decision_retracted"]


def test_an_actor_with_what_they_did(bench: Bench) -> None:
    bench.one_memory()
    told = bench.json("audit", "actor", BRUNO)
    assert told["kinds"]["memory_promoted"] == 1
    assert {event["actor"] for event in told["events"]} == {BRUNO}
    assert bench.json("audit", "actor", BRUNO, "--at", "2")["total"] == 0
    assert "nothing recorded" in bench.ok("audit", "actor", "human:nobody")


def test_reads_tell_who_was_shown_which_memory(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("session", "open", "s2", "--question", "q2", "--actor", ANNA)
    bench.ok("memory", "search", "ablazione", "--session", "s2", "--actor", "agent:coder-1")
    bench.ok("memory", "search", "procedura", "--session", "s2", "--actor", ANNA)
    told = bench.json("audit", "reads")
    assert [(one["actor"], one["session_id"], one["refs"]) for one in told["reads"]] == [
        ("agent:coder-1", "s2", ["memory:mem-0001"]),
        (ANNA, "s2", ["memory:mem-0001"]),
    ]
    assert [one["actor"] for one in bench.json("audit", "reads", "--actor", ANNA)["reads"]] == [ANNA]
    assert bench.json("audit", "reads", "--memory", "mem-0001", "--limit", "1")["total"] == 2
    assert bench.json("audit", "reads", "--memory", "mem-0002")["reads"] == []


def test_audit_loads_neither_model_nor_index(bench: Bench) -> None:
    bench.one_memory()
    for command in (("session", "s1"), ("memory", "mem-0001"), ("log",), ("reads",)):
        assert not imported_by("audit", *command) & HEAVY
