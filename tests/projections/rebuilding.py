"""The next version of the view `lines`, filled by a process of its own: python -m tests.projections.rebuilding …

It stops in the middle, says so by a file `half`, and goes on when there is a file `go`.
"""

from __future__ import annotations

import signal
import sys
import time
from datetime import datetime
from pathlib import Path

from adapters.ledger import Ledger
from domain.event import Envelope
from projections.loop import catch_up, rebuild
from tests.projections.ledgers import Lines2, open_views

EVENTS, HALF = 1_200, 700  # three pages; in the middle of the second
PATIENCE = 60.0  # seconds, so that a failed test leaves no process behind


def main(folder: Path, how: str) -> None:
    def wait(envelope: Envelope) -> None:
        if envelope.position != HALF:
            return
        (folder / "half").touch()
        until = time.monotonic() + PATIENCE
        while not (folder / "go").exists() and time.monotonic() < until:
            time.sleep(0.005)

    ledger = Ledger(folder / "ledger" / "ledger.sqlite3", nothing_is_recorded)
    view = Lines2(wait)
    file = open_views(ledger, folder / "views.sqlite3", view)
    if how == "rebuild":
        rebuild(ledger, file, [view], folder / "scratch.sqlite3")
    else:
        catch_up(ledger, file)


def nothing_is_recorded() -> datetime:
    raise AssertionError("a projection asks for the time")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
    main(Path(sys.argv[1]), sys.argv[2])
