"""What upkeep costs and what it keeps: consolidate with planted restatements, harmonize at a size and at its double.

    python tests/benchmarks/upkeep.py [--sizes 10000,20000] [--questions 200] [--json OUT]

A fifth of the facts restate another under another label, by another author. `ratio` is value over what it is held
against, both of this run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.consolidate import Consolidate
from adapters.harmonize import Harmonize
from adapters.ledger import By
from adapters.undo import Undo
from adapters.upkeep import Ran
from adapters.workspace import Workspace, create_workspace
from domain.errors import NothingChanged
from domain.event import iso_utc
from tests.benchmarks.speed import Row, timed
from tests.cli.knowledge import Planted, answered, live_facts, planted, propose_all

ADA = By("human:ada")


def run_rows(folder: Path, size: int, questions: int, times: dict[int, float]) -> Iterator[Row]:
    """Everything at one size. `times`: what the first harmonize took of the processor (s), by size, for the next one
    to be held against."""
    story = planted(size, size // 5, questions)
    with create_workspace(folder / f"facts-{size}", "default") as workspace:
        taken = timed(lambda: propose_all(workspace, folder, story))
        yield Row("propose, from files", size, size / taken, "facts/s", "—", 1.0, "—")
        yield from consolidate_rows(workspace, story, size)
        yield from harmonize_rows(workspace, size, times)


def consolidate_rows(workspace: Workspace, story: Planted, size: int) -> Iterator[Row]:
    at = iso_utc(workspace.clock())
    before, live = answered(workspace, story.questions, at), live_facts(workspace)
    ran: list[Ran] = []
    taken = timed(lambda: ran.append(Consolidate(workspace).run(ADA)))
    (done,) = ran
    yield Row("consolidate", size, taken, "s", "—", 1.0, "—")
    merged = done.count("merged")
    yield Row("facts merged", size, merged, "facts", "restatements planted", merged / story.restated, "1")
    after = answered(workspace, story.questions, at)
    worse = sum(new < old for new, old in zip(after, before, strict=True))
    yield Row("questions answered worse", size, worse, "of them", f"{len(before)} questions", worse / len(before), "0")
    ranks = sum(after) / len(after), sum(before) / len(before)
    yield Row("mean reciprocal rank after it", size, ranks[0], "MRR@5", "before it", ranks[0] / ranks[1], "≥ 1")
    undoing = timed(lambda: Undo(workspace).run(done.run_id, ADA))
    yield Row("undo", size, undoing, "s", "consolidate", undoing / taken, "—")
    restored = live_facts(workspace)
    same = sum(restored.get(one) == value for one, value in live.items())
    extra = len(restored.keys() - live.keys())
    yield Row("live facts as before after it", size, same - extra, "facts", "before", (same - extra) / len(live), "1")


def harmonize_rows(workspace: Workspace, size: int, times: dict[int, float]) -> Iterator[Row]:
    ran: list[Ran] = []
    begun = time.process_time()  # a ratio of two moments of one run, so what else the machine does must not count
    ran.append(Harmonize(workspace).run(ADA))
    times[size] = time.process_time() - begun
    smaller = max((one for one in times if one < size), default=size)
    goal = "≤ 2.5" if size == 2 * smaller else "—"
    ratio = times[size] / times[smaller]
    yield Row("harmonize", size, times[size], "s of CPU", f"at {smaller:,} facts", ratio, goal)
    formed = ran[0].count("formed")
    yield Row("beliefs formed", size, formed, "beliefs", "restatements planted", formed / (size // 5), "—")
    rows = 0
    try:
        again = Harmonize(workspace).run(ADA)
        rows = sum(map(len, again.did.values()))
    except NothingChanged:
        pass  # as it should be
    yield Row("rows that a second run makes", size, rows, "rows", "beliefs formed", rows / max(1, formed), "0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the rows")
    parser.add_argument("--sizes", default="10000,20000", help="facts, comma-separated")
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    found: list[Row] = []
    times: dict[int, float] = {}
    print(f"{'what':<32} {'n':>8} {'value':>10} {'unit':<9} {'ratio':>7} {'goal':<6} against")
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, options.sizes.split(",")):
            for row in run_rows(Path(folder), size, options.questions, times):
                found.append(row)
                figure = f"{row.value:>10,.2f} {row.unit:<9} {row.ratio:>7.3f} {row.goal:<6}"
                print(f"{row.what:<32} {row.n:>8,} {figure} {row.against}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"rows": [asdict(row) for row in found]}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
