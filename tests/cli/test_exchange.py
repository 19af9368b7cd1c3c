"""`tht import`, `export`, `backup`, `restore` as people and programs call them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Tht


def sessions_file(path: Path, *ids: str, torn: bool = False) -> Path:
    decision = {"type": "concept_clarified", "phase": "F1", "subject": "Ablation", "detail": "counted once"}
    lines = [json.dumps({"session_id": one, "question": "How many?", "decisions": [decision]}) for one in ids]
    path.write_text("\n".join(lines) + ('\n{"session_id": "torn' if torn else "\n"), "utf-8")
    return path


def test_import_says_what_it_took_and_again_is_a_no_op(tht: Tht, tmp_path: Path) -> None:
    file = sessions_file(tmp_path / "sessions.jsonl", "s1", "s2")
    first = tht("import", file)
    assert first.code == 0
    assert "sessions: 2 new, 0 known" in first.out
    assert "2 decisions, 2 of them clarifications" in first.out
    assert "made the workspace default" in first.err
    position = tht.position()
    again = tht("import", file)
    assert (again.code, again.err) == (0, "")
    assert "sessions: 0 new, 2 known" in again.out
    assert tht.position() == position


def test_import_as_json_with_a_bad_line(tht: Tht, tmp_path: Path) -> None:
    file = sessions_file(tmp_path / "sessions.jsonl", "s1", torn=True)
    said = tht("import", file, "--json")
    assert said.code == 1
    found = said.json
    assert found["sessions"] == {"new": 1, "extended": 0, "known": 0, "refused": 1}
    assert (found["decisions"], found["clarifications"]) == (1, 1)
    (problem,) = found["problems"]
    assert (problem["file"], problem["line"]) == (str(file), 2)
    assert problem["error"].startswith("the last line is torn")
    people = tht("import", file)
    assert people.code == 1
    assert f"{file} line 2: the last line is torn" in people.err
    assert "0 new, 1 known, 1 lines refused" in people.out


def test_a_dry_run_writes_nothing_not_even_a_home(tht: Tht, tmp_path: Path) -> None:
    file = sessions_file(tmp_path / "sessions.jsonl", "s1")
    said = tht.json("import", file, "--dry-run")
    assert (said["sessions"]["new"], said["dry_run"]) == (1, True)
    assert not Path(os.environ["THT_HOME"]).exists()
    tht("import", file)
    position = tht.position()
    assert tht.json("import", sessions_file(tmp_path / "more.jsonl", "s2"), "--dry-run")["sessions"]["new"] == 1
    assert tht.position() == position


@pytest.mark.parametrize(
    ("arguments", "environment", "actor"),
    [
        ((), None, "tool:importer"),
        (("--actor", "human:ada"), None, "human:ada"),
        ((), "agent:x", "agent:x"),
    ],
)
def test_who_imports(
    tht: Tht,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environment: str | None,
    actor: str,
) -> None:
    tht("init")
    tht("config", "set", "actor", "human:settings")
    if environment:
        monkeypatch.setenv("THT_ACTOR", environment)
    assert tht("import", sessions_file(tmp_path / "s.jsonl", "s1"), *arguments).code == 0
    exported = tht("export", "--actor", "human:ada").out.splitlines()
    assert {json.loads(line)["state"]["actor"] for line in exported[1:]} == {actor}


def test_what_cannot_be_imported(tht: Tht, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert tht.refused("import", tmp_path / "empty", code=2) == "InvalidInput"
    assert tht.refused("import", tmp_path / "missing.jsonl", code=2) == "Usage"
    file = sessions_file(tmp_path / "s.jsonl", "s1")
    assert tht.refused("import", file, "--until", "3", code=2) == "InvalidInput"
    binary = tmp_path / "x.jsonl"
    binary.write_bytes(bytes(range(256)) * 10)
    assert tht("import", binary).code == 1


def test_a_folder_of_sessions_and_of_the_old_layout(tht: Tht, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    (folder / "memory").mkdir(parents=True)
    (folder / "sessions").mkdir()
    record = {"id": "mem-0004", "type": "concept_clarified", "subject": "Dose", "detail": "mg", "session_id": "alpha",
              "decision_seq": 1}  # fmt: skip
    (folder / "memory" / "registry.jsonl").write_text(json.dumps(record) + "\n")
    decision = {"type": "concept_clarified", "subject": "Dose", "detail": "mg"}
    marker = {"type": "memory_promoted", "detail": "seq:1"}
    (folder / "sessions" / "alpha.jsonl").write_text(json.dumps(decision) + "\n" + json.dumps(marker) + "\n")
    sessions_file(folder / "sessions.jsonl", "s1", "s2")
    (folder / "notes.jsonl").write_text('{"colour": "red"}\n')
    said = tht("import", folder, "--json")
    assert said.code == 1  # notes.jsonl is of no form that is known
    assert [problem["file"] for problem in said.json["problems"]] == [str(folder / "notes.jsonl")]
    assert said.json["sessions"]["new"] == 3
    assert said.json["memories"] == {"new": 1, "known": 0}
    people = tht("import", folder)
    assert "memories: 0 new, 1 known" in people.out


def test_export_and_import_of_the_whole_ledger(tht: Tht, tmp_path: Path) -> None:
    """S-27 from the command line: A out, into an empty B, B out: byte-equal."""
    tht("import", sessions_file(tmp_path / "s.jsonl", "s1", "s2"))
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    head = tht.json("export", first)
    assert head["position"] == tht.position()
    taken = tht.json("import", first, "--workspace", "b")
    assert (taken["appended"], taken["chain"]) == (head["position"], head["chain"])
    tht("export", second, "--workspace", "b")
    assert second.read_bytes() == first.read_bytes()
    assert tht("export", "-", "--workspace", "b").out.encode() == first.read_bytes()
    again = tht("import", first, "--workspace", "b")
    assert (again.code, again.out) == (0, "nothing new: the ledger here is the same\n")
    tht("session", "open", "s3", "--question", "Why?", "--workspace", "b")
    assert "goes on from 4 to 5" in tht("import", first, "--workspace", "b").out


def test_another_or_an_edited_ledger_is_refused(tht: Tht, tmp_path: Path) -> None:
    """S-50"""
    tht("import", sessions_file(tmp_path / "s.jsonl", "s1"))
    file = tmp_path / "a.jsonl"
    tht("export", file)
    tht("session", "open", "mine", "--question", "Why?", "--workspace", "b")
    assert tht.refused("import", file, "--workspace", "b") == "OtherHistory"
    whole = file.read_text()
    file.write_text(whole.replace('"phase":"F1"', '"phase":"F2"').replace('"phase":"F3"', '"phase":"F2"'))
    assert tht.refused("import", file, "--workspace", "c") == "Refused"
    assert "line 3: the chain is broken" in tht("import", file, "--workspace", "c").err
    file.write_text(re.sub('"key":"[^"]{44}"', f'"key":"{"A" * 43}="', whole))
    assert "its sealed text does not open" in tht("import", file, "--workspace", "c").err


def test_backup_and_restore(tht: Tht, tmp_path: Path) -> None:
    """S-50"""
    tht("import", sessions_file(tmp_path / "s.jsonl", "s1"))
    file = tmp_path / "b.zip"
    made = tht.json("backup", file)
    assert made["position"] == 2
    assert tht.json("restore", file, "--workspace", "two", "--dry-run")["made"]
    assert tht.refused("session", "list", "--workspace", "two", code=3) == "NoHome"
    assert tht.json("restore", file, "--workspace", "two")["appended"] == 2
    assert tht.json("session", "list", "--workspace", "two") == tht.json("session", "list")
    assert "nothing to restore" in tht("restore", file, "--workspace", "two").out
    tht("session", "open", "s2", "--question", "Why?")
    assert tht.refused("restore", file) == "LongerHistory"
    tht("backup", file)
    assert "1 event added up to position 3" in tht("restore", file, "--workspace", "two").out
    file.write_bytes(b"no zip")
    assert tht.refused("restore", file, "--workspace", "three") == "Refused"


def test_where_nothing_is(tht: Tht, tmp_path: Path) -> None:
    assert tht.refused("export", tmp_path / "x.jsonl", code=3) == "NoHome"
    assert tht.refused("backup", tmp_path / "b.zip", code=3) == "NoHome"
    tht("init")
    assert tht.refused("export", tmp_path / "no" / "x.jsonl", code=3) == "HomeNotWritable"
    assert tht.refused("export", tmp_path / "x.jsonl", "--until", "9", code=2) == "InvalidInput"


@pytest.mark.posix
@pytest.mark.parametrize("command", [("export",), ("registry", "export"), ("backup",)])
def test_only_a_regular_file_is_ever_replaced(tht: Tht, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Writing in one step replaces the name: a device, a pipe or a folder must not be taken away by it."""
    tht.session("s1", ("Ablation", "a catheter procedure"))
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    for target in (pipe, folder):
        assert tht.refused(*command, target, code=2) == "InvalidInput"
    assert pipe.is_fifo()
    link.symlink_to(tmp_path / "kept.out")
    assert tht(*command, link).code == 0
    assert link.is_symlink()
    assert (tmp_path / "kept.out").is_file()


def test_approvals_from_elsewhere_come_in_for_a_person_only(tht: Tht, tmp_path: Path) -> None:
    """An old registry, a ledger or a backup must be no side door past the review gate."""
    record = {"id": "mem-0001", "session_id": "s1", "decision_seq": 1, "type": "concept_clarified"}
    record |= {"subject": "Ablation", "detail": "counted twice"}
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "registry.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    tht.session("s9", ("Ablation", "a catheter procedure"))
    tht.promote("s9", 1)
    tht.json("export", tmp_path / "all.jsonl")
    tht.json("backup", tmp_path / "all.backup")
    before = tht.position()
    for actor in ("agent:coder-1", "tool:importer"):
        elsewhere = ("--workspace", "elsewhere", "--actor", actor)
        assert tht.refused("import", tmp_path, "--actor", actor) == "ReviewerNeeded"
        assert tht.refused("import", tmp_path / "all.jsonl", *elsewhere) == "ReviewerNeeded"
        assert tht.refused("restore", tmp_path / "all.backup", *elsewhere) == "ReviewerNeeded"
    tht.json("config", "set", "review.require_token", "true")
    assert tht.refused("import", tmp_path, "--actor", "human:ada") == "ReviewerNeeded"
    assert tht.position() == before
