"""What one event costs as a workspace grows: appended, projected, rebuilt; and one search and one preamble in it.

    python tests/benchmarks/scale.py [--most 1000000] [--json OUT] [--quick]

From 10³ events to `--most`, by tens; `--quick` stops at 10⁴. Not a test: nothing fails here. Times are of the process's
CPU, so that what else the machine does does not count, but for the append that waits for the disk. Every figure is of
one run on one machine; what holds elsewhere is the shape of a line, flat or rising, and that is what page.py draws.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.facts import Facts
from adapters.ledger import By, Draft
from adapters.preamble import preamble
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.propose import NewFact
from domain.recall import FactsShown, reads_stream
from projections.scope import Reader
from tests.benchmarks.drawing import Line, plot
from tests.benchmarks.history import make_workspace, phrase

ASKED = 40
FACTS = 200  # the same few at every size: what a preamble pushes is bounded, what it must look through is not
READER = By("agent:reader", dry_run=True)


def peak_mib() -> float:
    """The most that this process has held so far."""
    import resource  # POSIX has it; the pages that are drawn from a file of figures need none

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


@dataclass(frozen=True)
class Size:
    """Figures of one size: microseconds an event, milliseconds an answer (medians), bytes an event, MiB at most."""

    events: int
    append_us: float
    append_many_us: float
    project_us: float
    rebuild_us: float
    search_ms: float
    preamble_ms: float
    ledger_bytes: float
    views_bytes: float
    peak_mib: float


MEANING = {
    "append_us": "append, one event a transaction, p50 with the disk, µs an event",
    "append_many_us": "append, 1,000 events a transaction, CPU µs an event",
    "project_us": "catch every SQL view up, CPU µs an event",
    "rebuild_us": "rebuild every SQL view beside the old, CPU µs an event",
    "search_ms": "search by words, p50, CPU ms",
    "preamble_ms": "preamble, p50, CPU ms",
    "ledger_bytes": "ledger on disk, bytes an event",
    "views_bytes": "views on disk, bytes an event",
    "peak_mib": "peak memory of this process until here, MiB",
}


def timed(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    work()
    return clock() - started


def median_ms(work: Callable[[int], object], clock: Callable[[], float] = time.process_time) -> float:
    work(0)
    return statistics.median(timed(partial(work, number), clock) for number in range(ASKED)) * 1000


def measured(folder: Path, events: int) -> Size:
    """A workspace of so many events, each figure taken in it."""
    made: list[Workspace] = []
    many = timed(lambda: made.append(make_workspace(folder, events)))
    with made[0] as workspace:
        head = workspace.ledger.head().position
        ledger_bytes = pages(workspace.paths.ledger) / head
        following = timed(workspace.caught_up)
        rebuilding = timed(workspace.rebuild_views)
        views_bytes = pages(workspace.paths.views) / head
        some_facts(workspace)
        return Size(
            head,
            median_ms(partial(append, workspace), time.perf_counter) * 1000,
            many / head * 1e6,
            following / head * 1e6,
            rebuilding / head * 1e6,
            median_ms(searching(workspace, events)),
            median_ms(lambda number: preamble(workspace, f"mend how {phrase(number, 4)} is counted", READER)),
            ledger_bytes,
            views_bytes,
            peak_mib(),
        )


def pages(path: Path) -> int:
    """Bytes of a database, whether they stand in its file yet or in the log beside it."""
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA page_count").fetchone()[0] * db.execute("PRAGMA page_size").fetchone()[0])


def append(workspace: Workspace, number: int) -> None:
    """One event and what is written with it, durably."""

    def work(draft: Draft) -> None:
        stream = reads_stream("tool:benchmark")
        draft.last(stream)
        draft.append(stream, [FactsShown(refs=(f"fact-{number}",), mode="benchmark")])

    workspace.ledger.transact(work, By("tool:benchmark"), ("scale", number, time.perf_counter_ns()))


def some_facts(workspace: Workspace) -> None:
    by = By("agent:coder")
    for number in range(FACTS):
        new = NewFact(f"{phrase(3 * number, 8)} is {number}", f"topic {number}", by.actor)
        Facts(workspace).propose("architecture", new, by)
    workspace.caught_up()


def searching(workspace: Workspace, events: int) -> Callable[[int], object]:
    """Questions in words of memories from everywhere in the workspace."""
    chance, recalling = Random(7), Recalling(workspace, Reader(READER.actor))
    questions = [f"How is {phrase(chance.randrange(1, max(2, events // 10)), 2)} counted?" for _ in range(ASKED)]
    return lambda number: recalling.search(questions[number % ASKED], READER, kind="memory", mode="keyword")


def sizes(most: int) -> list[int]:
    found, size = [], 1_000
    while size <= most:
        found.append(size)
        size *= 10
    return found


def table(rows: Sequence[Size]) -> Iterator[str]:
    """Markdown, one line a figure, one column a size."""
    yield f"| what | {' | '.join(f'{row.events:,}' for row in rows)} |"
    yield f"|---|{'---:|' * len(rows)}"
    for name, meaning in MEANING.items():
        yield f"| {meaning} | {' | '.join(f'{getattr(row, name):,.1f}' for row in rows)} |"


def plots(rows: Sequence[Size]) -> Iterator[tuple[str, str]]:
    """Title and SVG: what an event costs, and what an answer costs, by the number of events."""
    for unit, title in (("_us", "Microseconds an event"), ("_ms", "Milliseconds an answer")):
        names = [one.name for one in fields(Size) if one.name.endswith(unit)]
        lines = [
            Line(MEANING[name].rpartition(",")[0], tuple((row.events, getattr(row, name)) for row in rows))
            for name in names
        ]
        yield title, plot(title, "events in the workspace", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=100_000, help="the largest number of events")
    parser.add_argument("--quick", action="store_true", help="stop at 10,000")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("THT_")]:
        del os.environ[name]  # what is measured is what is configured here
    rows: list[Size] = []
    for size in sizes(min(options.most, 10_000) if options.quick else options.most):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(Path(folder), size))
        print(f"{size:,} events measured", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_json(rows), encoding="utf-8")


def as_json(rows: Sequence[Size]) -> str:
    return json.dumps({"rows": [asdict(row) for row in rows], "meaning": MEANING}, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
