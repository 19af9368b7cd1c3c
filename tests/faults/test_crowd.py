"""S-47: eight writers and four readers on one SQLite ledger for a while: a bounded wait, no lost write, no error."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.health import Health
from adapters.review import Review
from adapters.sessions import Sessions
from tests.concurrency.together import together
from tests.crash.soundness import CODER, assert_goes_on, assert_sound, clarification, make_home, open_home, standing

pytestmark = pytest.mark.posix
WRITERS, READERS = 8, 4
SECONDS = 60.0 if os.environ.get("CRASH_EVERY_STEP") else 3.0
LONGEST_WAIT = 30.0  # seconds: what a writer waits for a lock at most


def write_or_read(home: Path, number: int, turn: int) -> tuple[list[tuple[int, str]], float]:
    """Promises, and the longest that one command took."""
    until, promises, longest, known, count = time.monotonic() + SECONDS, [], 0.0, 0, 0
    while time.monotonic() < until:
        begun = time.monotonic()
        count += 1
        with open_home(home) as workspace:
            if number < WRITERS:
                sessions = Sessions(workspace)
                sessions.open(f"s-{number}-{count}", "who counts?", CODER)
                sessions.record(f"s-{number}-{count}", clarification(f"concept {number}-{count}"), CODER)
                promises.append(standing(workspace))
            else:
                total = Sessions(workspace).list(limit=1)[1]
                assert total >= known, "a session was there and is not any more"
                known = total
                Review(workspace).queue()
                Curation(workspace).list(limit=5)
        longest = max(longest, time.monotonic() - begun)
    return promises, longest


def test_eight_writers_and_four_readers_for_a_while(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    answers = together(write_or_read, home, processes=WRITERS + READERS)
    refused = [one for answer in answers for one in answer if isinstance(one, str)]
    assert refused == []
    promises = [(position, chain) for ((told, _),) in answers for position, chain in told]
    assert all(told for ((told, _),) in answers[:WRITERS])
    assert max(longest for ((_, longest),) in answers) < LONGEST_WAIT
    with open_home(home) as workspace:
        assert Sessions(workspace).list(limit=1)[1] == len(promises)
        assert workspace.ledger.head().position == 2 * len(promises)
        assert_sound(workspace, promises)
        assert Health(workspace).verify().ok
        assert_goes_on(workspace)
