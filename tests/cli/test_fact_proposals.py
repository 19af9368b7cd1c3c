"""Facts by the file, retried and tried out: an outcome for each, and nothing recorded twice."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Tht
from tests.cli.facts import ADA, listed, propose


def test_a_file_of_facts_has_an_outcome_for_each_line(tht: Tht, tmp_path: Path) -> None:
    lines = [
        '{"content": "the port is 80", "topic": "web"}',
        '{"content": "the port is 81", "topic": "web"}',
        '{"content": "the port is 81.", "topic": "web"}',
        '{"content": "", "topic": "web"}',
        '{"content": "torn", "topic',
        '{"content": "x", "topic": "web", "colour": "red"}',
        '{"content": 5, "topic": "web"}',
        '{"content": "from a fact", "topic": "web", "source_observation_ids": ["fact-nobody"]}',
        '{"content": "in a repo", "topic": "web", "repo": "nobody/nothing"}',
    ]
    file = tmp_path / "facts.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    command = ("fact", "propose", "--file", str(file), "--domain", "d", *ADA, "--json")
    dry = tht(*command, "--dry-run")
    said = tht(*command)
    assert (dry.code, said.code) == (1, 1)
    outcomes = [one["outcome"] for one in said.json["lines"]]
    assert outcomes == ["proposed", "proposed", "mentioned", *["refused"] * 6]
    assert [one["outcome"] for one in dry.json["lines"]] == outcomes
    errors = {one["line"]: one["error"]["type"] for one in said.json["lines"] if one["outcome"] == "refused"}
    assert errors == dict.fromkeys((4, 5, 6, 7), "InvalidInput") | {8: "UnknownFact", 9: "UnknownRepoScope"}
    assert listed(tht) == ["the port is 81"]


def test_a_retried_file_with_the_same_key_says_the_same_and_records_nothing_twice(tht: Tht, tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text("\n".join(json.dumps({"content": f"port {n} is open", "topic": f"{n}"}) for n in range(5)), "utf-8")
    command = ("fact", "propose", "--file", str(file), "--domain", "d", *ADA, "--idempotency-key", "once", "--json")
    first, position = tht(*command).json, tht.position()
    again = tht(*command).json
    assert tht.position() == position
    assert [one["fact_id"] for one in again["lines"]] == [one["fact_id"] for one in first["lines"]]
    assert again["counts"] == {"proposed": 5}


def test_a_retry_of_one_proposal_tells_its_outcome_again(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    first = propose(tht, "Ada works at Beta", *ADA, "--idempotency-key", "k")
    again = propose(tht, "Ada works at Beta", *ADA, "--idempotency-key", "k")
    for field in ("outcome", "fact_id", "superseded", "conflicts", "position"):
        assert again[field] == first[field]
    assert again["already"] is True


def test_a_dry_run_tells_the_outcome_and_records_nothing(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    before = tht.position()
    told = propose(tht, "Ada works at Beta", *ADA, "--dry-run")
    assert (told["outcome"], told["dry_run"], len(told["superseded"])) == ("proposed", True, 1)
    assert (tht.position(), listed(tht)) == (before, ["Ada works at Acme"])
