"""Labelled pairs through `tht fact propose`: the shared ones and twice as many of our own, in three languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tht
from tests.conftest import SHARED_DATA, skip_or_fail

OWN = Path(__file__).parents[1] / "domain" / "conflict_cases.jsonl"
SHARED = SHARED_DATA / "conflicts" / "cases.jsonl"


def cases(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


@pytest.mark.parametrize("file", [SHARED, OWN], ids=["shared", "own"])
def test_every_case_comes_out_as_labelled(tht: Tht, tmp_path: Path, file: Path) -> None:
    if not file.is_file():
        skip_or_fail("no ../shared/data; name its folder in THT_SHARED_DATA")
    labelled = cases(file)
    lines = [
        json.dumps({"content": case[side], "topic": f"case {number}"}, ensure_ascii=False)
        for side in ("existing", "candidate")
        for number, case in enumerate(labelled)
    ]
    facts = tmp_path / "facts.jsonl"
    facts.write_text("\n".join(lines), "utf-8")
    told = tht.json("fact", "propose", "--file", str(facts), "--domain", "cases", "--actor", "human:ada")["lines"]
    second = told[len(labelled) :]
    for case, one in zip(labelled, second, strict=True):
        found = (one["relations"] or [{"relation": "distinct"}])[0]["relation"]
        assert found in case["expect"].split(" or "), case
        assert one["outcome"] == ("mentioned" if found == "same" else "proposed")
        assert bool(one["superseded"]) == (found == "contradicts")
        states = {"contradicts": ["decided"], "unsure": ["open"]}
        assert [row["state"] for row in one["conflicts"]] == states.get(found, [])


def test_our_own_cases_are_twice_as_many_and_in_three_languages() -> None:
    if not SHARED.is_file():
        skip_or_fail("no ../shared/data; name its folder in THT_SHARED_DATA")
    shared, own = cases(SHARED), cases(OWN)
    assert len(own) >= 2 * len(shared)
    assert {"en", "it", "el"} <= {case["language"] for case in own}
    assert {case["expect"] for case in own} >= {case["expect"] for case in shared}
    pairs = {(case["existing"], case["candidate"]) for case in shared}
    assert not any((case["existing"], case["candidate"]) in pairs for case in own)
