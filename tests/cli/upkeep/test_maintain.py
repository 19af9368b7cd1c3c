"""`tht maintain` runs upkeep on a schedule, and doctor says what it would mend."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.ledger import By
from adapters.locks import alone
from adapters.maintain import Maintain, parse_every
from domain.errors import InvalidInput
from tests.cli.conftest import Tht
from tests.cli.upkeep.conftest import A1, A2, ADA, FRANKFURT, idle, opened, propose

# -- maintain


class Clock:
    """Stands still, but for waiting; asked to stop after so many waits."""

    def __init__(self, waits: int) -> None:
        self.now, self.waits, self.waited = datetime(2026, 11, 30, tzinfo=UTC), waits, list[float]()

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> bool:
        if not seconds:
            return False
        self.waited.append(seconds)
        self.now += timedelta(seconds=seconds)
        return len(self.waited) >= self.waits


def test_both_run_on_the_schedule_and_one_that_fails_stops_nothing(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    clock = Clock(waits=2)
    maintain = Maintain(lambda: opened(home), lambda workspace: By(ADA), clock, clock.wait)
    turns = list(maintain.turns(parse_every("6h")))
    assert clock.waited == [21600.0, 21600.0]
    assert [(turn.what, turn.failed, turn.ran is None) for turn in turns] == [
        ("consolidate", False, False),
        ("harmonize", False, False),
        ("consolidate", False, True),
        ("harmonize", False, True),
    ]
    with alone(home / "default" / "upkeep.lock"):
        clock = Clock(waits=1)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("adapters.upkeep.LOCK_WAIT", 0.0)
            turns = list(
                Maintain(lambda: opened(home), lambda workspace: By(ADA), clock, clock.wait).turns(parse_every("1m"))
            )
    assert [turn.failed for turn in turns] == [True, True]


def test_only_one_maintains(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    with alone(home / "default" / "maintain.lock"):
        assert tht.refused("maintain", "--once", code=3) == "HomeNotWritable"
    lines = tht("maintain", "--once").out.splitlines()
    assert [line.split(" ", 2)[1] for line in lines] == ["consolidate:", "harmonize:"]
    assert all("nothing to" in line for line in lines)


@pytest.mark.parametrize("text", ["", "6", "0h", "30s", "1000d", "-1h"])
def test_an_interval_that_is_none(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_every(text)


@pytest.mark.posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_0(tht: Tht, how: signal.Signals) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    command = [sys.executable, "-c", "from cli.main import main; main()", "maintain", "--every", "1h", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(how)
        _, err = process.communicate(timeout=30)
    assert [one["what"] for one in told] == ["consolidate", "harmonize"]
    assert (process.returncode, err) == (0, b"")


# -- doctor


def test_doctor_names_what_to_mend_and_tells_no_secret(tht: Tht) -> None:
    secret = "sk-" + "proj-" + "x9" * 12
    leaked = propose(tht, f"The key of the mailer is {secret}", "mailer", A1)
    propose(tht, FRANKFURT, "staging cluster", A1)
    loser = propose(tht, FRANKFURT, "staging", A2)
    propose(tht, "The retention of the audit log is 30 days", "retention", A1)
    propose(tht, "The retention of the audit log is 90 days", "retention", A2, "--on-conflict", "ask")
    said = tht("doctor", "--json")
    told = {check["name"]: check for check in said.json["checks"]}
    assert loser in told["duplicates"]["what"]
    assert "tht consolidate" in told["duplicates"]["mend"]
    assert leaked in told["secrets"]["what"]
    assert secret not in said.out
    assert "1 conflict is open" in told["conflicts"]["what"]
    assert {"loops", "stale", "held policies"}.isdisjoint(told)


def test_an_empty_workspace_needs_no_upkeep(tht: Tht) -> None:
    tht.json("init")
    told = {check["name"]: check["state"] for check in tht.json("doctor")["checks"]}
    assert told["knowledge"] == "ok"
    for command in ("consolidate", "harmonize"):
        idle(tht, command)
