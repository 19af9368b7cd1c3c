"""Files of sessions taken in: each at most once, extended when the file goes on, and every bad line with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.ledger import By
from adapters.session_files import Report, import_sessions
from adapters.session_history import session_envelopes
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace

IMPORTER = By("tool:importer")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path / "home", "default", lambda: datetime(2026, 3, 2, tzinfo=UTC)) as made:
        yield made


def concept(subject: str, phase: str = "F1", **more: object) -> dict[str, object]:
    return {"type": "concept_clarified", "phase": phase, "subject": subject, "detail": f"{subject} is so"} | more


def table(subject: str, phase: str = "F3") -> dict[str, object]:
    return {"type": "table_promoted", "phase": phase, "subject": subject, "detail": "used", "rationale": ""}


def session(session_id: str, *decisions: dict[str, object], question: str = "How many?") -> dict[str, object]:
    return {"session_id": session_id, "question": question, "database": "db", "decisions": list(decisions)}


def taken(workspace: Workspace, tmp_path: Path, *lines: object, by: By = IMPORTER) -> Report:
    """Import these lines: objects are written as JSON, bytes as they are."""
    file = tmp_path / "sessions.jsonl"
    file.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    report = Report()
    import_sessions(workspace.ledger, file, by, report)
    return report


def counts(report: Report) -> tuple[int, int, int, int]:
    return report.new, report.extended, report.known, report.refused


def kinds(workspace: Workspace, session_id: str) -> list[str]:
    return [envelope.event.kind for envelope in session_envelopes(workspace.ledger, session_id)]


def test_a_session_walks_through_the_phases_that_its_decisions_demand(workspace: Workspace, tmp_path: Path) -> None:
    report = taken(workspace, tmp_path, session("s1", concept("Ablation"), table("fact_x"), concept("Late", "F1")))
    assert counts(report) == (1, 0, 0, 0)
    assert (report.decisions, report.clarifications) == (3, 2)
    assert kinds(workspace, "s1") == [
        "session_opened",
        "concept_clarified",
        "phase_entered",
        "table_promoted",
        "concept_clarified",
    ]
    assert [decision.phase for decision in Sessions(workspace).get("s1").decisions] == ["F1", "F3", "F1"]
    assert {envelope.actor for envelope in session_envelopes(workspace.ledger, "s1")} == {"tool:importer"}


def test_each_session_is_a_command_of_its_own_in_the_audit(workspace: Workspace, tmp_path: Path) -> None:
    taken(workspace, tmp_path, session("s1", concept("A")), session("s2", concept("B")))
    correlations = [
        {envelope.correlation_id for envelope in session_envelopes(workspace.ledger, one)} for one in ("s1", "s2")
    ]
    assert [len(one) for one in correlations] == [1, 1]
    assert correlations[0] != correlations[1]


def test_importing_again_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    lines = [session(f"s{number}", concept(f"C{number}"), table("t")) for number in range(250)]
    assert counts(taken(workspace, tmp_path, *lines)) == (250, 0, 0, 0)
    head = workspace.ledger.head()
    again = taken(workspace, tmp_path, *lines)
    assert counts(again) == (0, 0, 250, 0)
    assert again.decisions == 0
    assert workspace.ledger.head() == head


def test_a_longer_file_extends_what_is_known_also_after_a_review(workspace: Workspace, tmp_path: Path) -> None:
    taken(workspace, tmp_path, session("s1", concept("A")))
    Sessions(workspace).enter("s1", "F8", By("human:ada"))
    report = taken(workspace, tmp_path, session("s1", concept("A"), concept("B"), table("t")))
    assert counts(report) == (0, 1, 0, 0)
    assert report.decisions == 2
    assert [decision.subject for decision in Sessions(workspace).get("s1").decisions] == ["A", "B", "t"]
    assert counts(taken(workspace, tmp_path, session("s1", concept("A")))) == (0, 0, 1, 0)  # a shorter one is known


@pytest.mark.parametrize(
    "other",
    [
        session("s1", concept("Other")),
        session("s1", concept("A", "F2")),
        session("s1", concept("A", rationale="because")),
        session("s1", concept("A", concepts=["a"])),
        session("s1", concept("A"), question="Another?"),
    ],
)
def test_other_content_under_a_known_id_is_refused_and_the_rest_taken(
    workspace: Workspace, tmp_path: Path, other: dict[str, object]
) -> None:
    taken(workspace, tmp_path, session("s1", concept("A")))
    report = taken(workspace, tmp_path, session("s0", concept("Z")), other, session("s2", concept("B")))
    assert counts(report) == (2, 0, 0, 1)
    assert report.problems[0].line == 2
    assert report.problems[0].error.startswith("SessionExists: session s1 exists with")
    assert kinds(workspace, "s1") == ["session_opened", "concept_clarified"]


def test_a_closed_session_takes_no_more_decisions(workspace: Workspace, tmp_path: Path) -> None:
    taken(workspace, tmp_path, session("s1", table("t", "F1")))
    Sessions(workspace).close("s1", By("human:ada"))
    report = taken(workspace, tmp_path, session("s1", table("t", "F1"), concept("A")))
    assert report.problems[0].error.startswith("SessionIsClosed")


@pytest.mark.parametrize("dry_run", [True, False])
def test_one_id_twice_in_a_file_follows_the_same_rule(workspace: Workspace, tmp_path: Path, dry_run: bool) -> None:
    """Within one transaction and across two; a dry run says the same and writes nothing."""
    filler = [session(f"f{number}", table("t")) for number in range(150)]
    lines = [
        session("s1", concept("A")),
        session("s1", concept("A"), concept("B")),
        *filler,
        session("s1", concept("A")),
        session("s1", concept("X")),
    ]
    report = taken(workspace, tmp_path, *lines, by=By("tool:importer", dry_run=dry_run))
    assert counts(report) == (151, 1, 1, 1)
    assert report.decisions == 152
    assert report.problems[0].line == 154
    assert (workspace.ledger.head().position == 0) is dry_run


def test_line_ends_marks_and_blank_lines_are_no_fault(workspace: Workspace, tmp_path: Path) -> None:
    line = json.dumps(session("s1", concept("A"))).encode()
    other = json.dumps(session("s2", concept("B"))).encode()
    report = taken(workspace, tmp_path, b"\xef\xbb\xbf" + line + b"\r\n", b"\r\n", b"   \n", other)
    assert counts(report) == (2, 0, 0, 0)
    assert Sessions(workspace).get("s1").decisions[0].subject == "A"


def bad(**changes: Any) -> dict[str, object]:
    return session("bad", concept("A")) | changes


def bad_decision(**changes: Any) -> dict[str, object]:
    return session("bad", concept("A") | changes)


def without(line: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in line.items() if key != name}


BAD_LINES: dict[str, tuple[object, str]] = {
    "not JSON": (b"hello\n", "no JSON"),
    "cut in the middle": (b'{"session_id": "bad", "quest\n', "no JSON"),
    "a list": ([1], "a JSON object was expected, not list"),
    "a number": (7, "a JSON object was expected, not int"),
    "null": (None, "a JSON object was expected, not NoneType"),
    "no id": (without(bad(), "session_id"), "session_id: Field required"),
    "no decisions": (without(bad(), "decisions"), "decisions: Field required"),
    "extra field": (bad(colour="red"), "colour: Extra inputs"),
    "extra field in a decision": (bad_decision(colour="red"), "decisions.0.colour: Extra inputs"),
    "decision without a detail": (
        session("bad", without(concept("A"), "detail")),
        "decisions.0.detail: Field required",
    ),
    "decisions no list": (bad(decisions={}), "decisions: Input should be a valid list"),
    "a decision is text": (bad(decisions=["x"]), "decisions.0"),
    "subject a number": (bad_decision(subject=7), "decisions.0.subject: Input should be a valid string"),
    "subject true": (bad_decision(subject=True), "decisions.0.subject: Input should be a valid string"),
    "concepts a text": (bad_decision(concepts="abc"), "decisions.0.concepts: Input should be a valid list"),
    "unknown type": (bad_decision(type="memory_promoted"), "decisions.0.type: Input should be 'concept_clarified'"),
    "unknown phase": (bad_decision(phase="F9"), "decisions.0.phase: Input should be 'F1'"),
    "lower-case phase": (bad_decision(phase="f1"), "decisions.0.phase: Input should be 'F1'"),
    "empty id": (bad(session_id=""), "session id must not be empty"),
    "id with a space": (bad(session_id="a b"), "must be printable and without white space"),
    "id too long": (bad(session_id="x" * 201), "at most 200 are taken"),
    "no question": (bad(question="  "), "question must not be empty"),
    "empty subject": (bad_decision(subject=" "), "decision 1: subject must not be empty"),
    "clarification of nothing": (bad_decision(detail=""), "decision 1: detail must not be empty"),
    "1 MB of text": (bad_decision(detail="x" * 2**20), "decision 1: detail has 1,048,576 characters"),
    "control character": (bad_decision(detail="a\x1b[31m"), "decision 1: detail contains the control character U+001B"),
    "null character": (bad(question="a\x00b"), "question contains the control character U+0000"),
    "lone surrogate": (
        json.dumps(bad_decision(detail="X")).replace('"X"', '"\\ud800"').encode() + b"\n",
        "decision 1: detail contains a lone surrogate (U+D800)",
    ),
    "lone surrogate in a name": (json.dumps(bad()).replace('"database"', '"\\udfff"').encode() + b"\n", "unicode"),
    "NaN": (json.dumps(bad()).replace('"db"', "NaN").encode() + b"\n", "NaN is no JSON number"),
    "a field twice": (json.dumps(bad()).replace('"database"', '"question"').encode() + b"\n", "stands there twice"),
    "a huge number": (b'{"session_id": ' + b"9" * 5000 + b"}\n", "no JSON"),
    "deep nesting": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", "nested too deeply"),
    "no UTF-8": (b'{"session_id": "\xff"}\n', "no valid UTF-8 at byte 17"),
    "UTF-16": ('{"session_id": "bad"}'.encode("utf-16-le") + b"\n", "no JSON"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_reported_and_the_others_are_taken(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    line, reason = BAD_LINES[kind]
    report = taken(workspace, tmp_path, session("s1", concept("A")), line, session("s2", concept("B")))
    assert counts(report) == (2, 0, 0, 1)
    assert report.problems[0].line == 2
    assert reason in report.problems[0].error
    report.problems[0].error.encode("utf-8")
    assert len(report.problems[0].error) <= 300
    assert kinds(workspace, "s1") == kinds(workspace, "s2") == ["session_opened", "concept_clarified"]


def test_a_torn_last_line_is_named_as_such(workspace: Workspace, tmp_path: Path) -> None:
    report = taken(workspace, tmp_path, session("s1", concept("A")), b'{"session_id": "s2", "que')
    assert counts(report) == (1, 0, 0, 1)
    assert report.problems[0].line == 2
    assert report.problems[0].error.startswith("the last line is torn: ")


def test_a_line_beyond_all_measure_is_passed_over(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.json_lines.LINE_LIMIT", 2**20)
    huge = b'{"a": "' + b"x" * (3 * 2**20) + b'"}\n'
    report = taken(workspace, tmp_path, huge, session("s2", concept("B")))
    assert counts(report) == (1, 0, 0, 1)
    assert (report.problems[0].line, report.problems[0].error) == (1, "longer than 1 MB")


def test_so_many_problems_are_counted_not_kept(workspace: Workspace, tmp_path: Path) -> None:
    report = taken(workspace, tmp_path, *([b"x\n"] * 1_200))
    assert (report.refused, len(report.problems), report.problems_left_out) == (1_200, 1_000, 200)
    assert not report.clean


def test_unicode_in_every_field_comes_back_as_it_was(workspace: Workspace, tmp_path: Path) -> None:
    text = "Ἡ κατάλυση — perché 😀 e\u0301 \u202e שלום"
    line = session("σ1", concept(text, question_context=text, rationale=text, concepts=[text], tables=[text]))
    assert counts(taken(workspace, tmp_path, line | {"question": text})) == (1, 0, 0, 0)
    kept = Sessions(workspace).get("σ1")
    assert (kept.question, kept.decisions[0].subject, kept.decisions[0].concepts) == (text, text, (text,))
