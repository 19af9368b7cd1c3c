"""One line of a table of figures, and how its figures are taken."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_PEAK = (
    "\nimport resource; from pathlib import Path\n"
    "status = Path('/proc/self/status')\n"
    "marks = [line for line in status.read_text().splitlines() if 'VmHWM' in line] if status.exists() else []\n"
    "print(marks[0].split()[1] if marks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


@dataclass(frozen=True)
class Row:
    """One line of the table. `ratio` is value over what it is held `against`, both in `unit`, both of this run."""

    what: str
    n: int
    value: float
    unit: str
    against: str
    ratio: float
    goal: str

    def __str__(self) -> str:
        figure = f"{self.value:>12,.1f} {self.unit:<10} {self.ratio:>7.3f} {self.goal:<12}"
        return f"{self.what:<62} {self.n:>8,} {figure} {self.against}"


HEADING = f"{'what':<62} {'n':>8} {'value':>12} {'unit':<10} {'ratio':>7} {'goal':<12} against"


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(work: Callable[[], object], runs: int = 3) -> float:
    """The median of a few runs, seconds."""
    return statistics.median(timed(work) for _ in range(runs))


def percentiles(work: Callable[[int], object], runs: int) -> tuple[float, float]:
    """p50 and p95 in milliseconds."""
    taken = sorted(timed(lambda number=number: work(number)) * 1000 for number in range(runs))
    return taken[len(taken) // 2], taken[int(len(taken) * 0.95)]


def peak_memory(script: str, *arguments: object) -> int:
    """KiB that a Python process needs for a script. On Linux its own high-water mark: what getrusage says begins with
    that of the parent."""
    command = [sys.executable, "-c", script + _PEAK, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"what was to be measured failed:\n{done.stderr}")
    return int(done.stdout.splitlines()[-1])


def growth(found: Sequence[Row]) -> Iterator[Row]:
    """How each cost that was measured at several sizes grows, from the smallest to the largest; 1: as the size does."""
    by_what: dict[str, list[Row]] = {}
    for row in found:
        by_what.setdefault(row.what, []).append(row)
    for what, measured in by_what.items():
        small, large = min(measured, key=lambda row: row.n), max(measured, key=lambda row: row.n)
        if small.n == large.n:
            continue
        a_second = small.unit.endswith("/s")  # of so many in a second, each costs the inverse, and all of them n times
        costs = [row.n / row.value if a_second else row.value for row in (small, large)]
        size = large.n / small.n
        grown = costs[1] / costs[0]
        against = f"{size:,.0f} times the size ({small.n:,} → {large.n:,})"
        yield Row(f"growth: {what}", large.n, grown, "times", against, grown / size, "—")
