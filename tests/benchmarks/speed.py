"""The speed table: each row a ratio within one run, so that it holds on a slow machine and a fast one.

    python tests/benchmarks/speed.py --json OUT [--sizes 1000,10000,100000]

Sizes are events for the views, memories for index and search. Not a test: nothing fails here, figures are printed
beside their goals.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.indexing import Indexing
from adapters.ledger import By, Draft
from adapters.recalling import Recalling
from adapters.workspace import Workspace, make_views
from domain.recall import FactsShown, reads_stream
from projections import registry
from projections.index import records
from projections.index.points import points_of
from projections.loop import catch_up
from projections.record import Entry
from projections.scope import Reader
from projections.view import ViewsFile
from tests.benchmarks.history import EVENTS_A_SESSION, make_workspace
from tests.benchmarks.knowledge import figures, make_facts

QUESTIONS = 60
ASKER = By("agent:reader", dry_run=True)
BASE_IMPORT = "import click, pydantic, eventsourcing.application"
MODEL_IMPORT = f"{BASE_IMPORT}; type('Model', (pydantic.BaseModel,), {{}})"  # only its use loads pydantic


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


# -- ledger ------------------------------------------------------------------------------------------------------------


def append_rows(folder: Path) -> Iterator[Row]:
    """Appending with chain, triggers and claimed positions, against the library's stock recorder, both at FULL sync."""
    from eventsourcing.persistence import StoredEvent
    from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

    from adapters.sqlite import LedgerRecorder

    state = b'{"actor":"tool:benchmark","data":{"detail":"' + b"x" * 400 + b'"}}'
    stock = SQLiteApplicationRecorder(SQLiteDatastore(str(folder / "stock.sqlite3")), events_table_name="events")
    stock.create_table()
    ours = LedgerRecorder(folder / "ours.sqlite3")
    ours.create("benchmark")

    def save(recorder: SQLiteApplicationRecorder, batch: int, rounds: int) -> None:
        for _ in range(rounds):
            recorder.insert_events([StoredEvent(uuid4(), 1, "session.benchmark", state) for _ in range(batch)])

    for batch, rounds in ((1, 200), (100, 60)):
        speeds = []
        for recorder in (ours, stock):
            speeds.append(batch * rounds / best(partial(save, recorder, batch, rounds)))
        yield Row(
            f"append, {batch} event{'s' if batch > 1 else ''} a transaction",
            batch * rounds,
            speeds[0],
            "events/s",
            "stock recorder, same sync",
            speeds[0] / speeds[1],
            "—",
        )
    ours.close()
    stock.datastore.close()


# -- views -------------------------------------------------------------------------------------------------------------


def view_rows(workspace: Workspace, events: int) -> Iterator[Row]:
    """Rebuilding all SQL views beside the old ones, against only reading and decoding the same events."""
    head = workspace.ledger.head().position

    def read() -> None:
        after = 0
        while page := workspace.ledger.read(after):
            after = page[-1].position

    workspace.caught_up()
    reading, rebuilding = best(read), best(workspace.rebuild_views)
    yield Row(
        "rebuild all SQL views", head, head / rebuilding, "events/s", "read and decode", reading / rebuilding, "≥ 0.25"
    )
    following = best(lambda: _follow(workspace))
    yield Row(
        "catch SQL views up (no copy)", head, head / following, "events/s", "read and decode", reading / following, "—"
    )


def _follow(workspace: Workspace) -> None:
    file = ViewsFile(None, make_views(), workspace.ledger.chain_at(0) or "")
    catch_up(workspace.ledger, file)
    file.close()


def memory_row(small: Path, large: Path, sizes: tuple[int, int]) -> Row:
    """Peak memory of a process that rebuilds the views of a large ledger, against a small one."""
    peaks = [_peak_of_rebuild(home) for home in (small, large)]
    return Row(
        f"peak memory of a views rebuild, {sizes[0]:,} → {sizes[1]:,} events",
        sizes[1],
        peaks[1] / 1024,
        "MiB",
        f"{sizes[0]:,} events",
        peaks[1] / peaks[0],
        "flat: ≤ 1.5",
    )


def _peak_of_rebuild(home: Path) -> int:
    """KiB. On Linux the process's own high-water mark: what getrusage says begins with that of the parent."""
    script = (
        "import resource, sys; from pathlib import Path; from adapters.workspace import open_workspace\n"
        "with open_workspace(Path(sys.argv[1]), 'default') as workspace: workspace.rebuild_views()\n"
        "status = Path('/proc/self/status')\n"
        "marks = [line for line in status.read_text().splitlines() if 'VmHWM' in line] if status.exists() else []\n"
        "print(marks[0].split()[1] if marks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=True)
    return int(done.stdout)


# -- index and search --------------------------------------------------------------------------------------------------


def index_rows(workspace: Workspace, memories: int) -> Iterator[Row]:
    """Rebuilding the index with every vector cached, against plain Qdrant Edge upserts of the same points."""
    indexing = Indexing(workspace)
    indexing.rebuild()  # fills the cache
    rebuilding = timed(indexing.rebuild)
    plain = _plain_upserts(workspace, indexing)
    yield Row(
        "rebuild the index, vectors cached",
        memories,
        memories / rebuilding,
        "memories/s",
        "plain Qdrant Edge upserts of the same points",
        plain / rebuilding,
        "≥ 0.5",
    )


def _plain_upserts(workspace: Workspace, indexing: Indexing) -> float:
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeVectorParams, UpdateOperation
    from qdrant_edge import Point as EdgePoint

    points = points_of(list(records.live(workspace.caught_up())), indexing.embedder)
    with tempfile.TemporaryDirectory() as folder:
        shard = EdgeShard.create(
            folder, EdgeConfig(vectors={"text": EdgeVectorParams(size=384, distance=Distance.Cosine)})
        )

        def upsert() -> None:
            for start in range(0, len(points), 64):
                batch = [
                    EdgePoint(point.id, {"text": list(point.vector)}, dict(point.payload))
                    for point in points[start : start + 64]
                ]
                shard.update(UpdateOperation.upsert_points(batch))
            shard.flush()

        taken = timed(upsert)
        shard.close()
    return taken


def search_rows(workspace: Workspace, memories: int) -> Iterator[Row]:
    """Searching memories, warm, in this process."""
    indexing = Indexing(workspace, keep_open=True)
    questions = [f"How is {entry.record.subject} counted?" for entry in _some(workspace)]
    recalling = Recalling(workspace, Reader(ASKER.actor), indexing)

    def search(number: int, mode: str) -> None:
        recalling.search(questions[number % len(questions)], ASKER, kind="memory", mode=mode)

    words = percentiles(partial(search, mode="keyword"), QUESTIONS)
    model = indexing.embedder.fingerprint.model
    search(0, "hybrid")  # loads the model, opens the index
    whole = percentiles(partial(search, mode="hybrid"), QUESTIONS)[0]
    embedder = indexing.embedder
    embedding = percentiles(lambda number: embedder.embed_query(questions[number % len(questions)]), QUESTIONS)[0]
    asked = f"embedding the question with {model}, p50"
    yield Row("search by words, p50", memories, words[0], "ms", asked, words[0] / embedding, "≤ 5 ms")
    yield Row("search by words, p95", memories, words[1], "ms", asked, words[1] / embedding, "≤ 15 ms")
    yield Row(
        f"memory search, hybrid, index open, p50 ({model})",
        memories,
        whole,
        "ms",
        "embedding the question",
        whole / embedding,
        "≤ 2",
    )


def _some(workspace: Workspace) -> Sequence[Entry]:
    entries, _ = registry.list_entries(workspace.caught_up(), limit=QUESTIONS)
    return entries


# -- facts -------------------------------------------------------------------------------------------------------------


def fact_rows(workspace: Workspace, facts: int) -> Iterator[Row]:
    """Facts, warm, in this process, each against a durable append of one event in the same workspace."""
    appending = _append_time(workspace)
    for what, (p50, p95), goal in figures(workspace):
        for name, value in (("p50", p50), ("p95", p95)):
            against = "a durable append of one event, p50"
            yield Row(f"{what}, {name}", facts, value, "ms", against, value / appending, goal)


def _append_time(workspace: Workspace) -> float:
    def append(number: int) -> None:
        def work(draft: Draft) -> None:
            stream = reads_stream("tool:benchmark")
            draft.last(stream)
            draft.append(stream, [FactsShown(refs=(f"fact-{number}",), mode="benchmark")])

        workspace.ledger.transact(work, By("tool:benchmark"), ("bench", number))

    return percentiles(append, QUESTIONS)[0]


# -- command line ------------------------------------------------------------------------------------------------------


def command_rows(home: Path) -> Iterator[Row]:
    """Whole processes, cold, against the bare imports that any such command needs."""
    tht = [sys.executable, "-c", "from cli.main import main; main()"]
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(home / "bytecode")}  # compiled, as an installed program is
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def cold(command: list[str]) -> float:
        run = partial(subprocess.run, command, check=True, capture_output=True, env=environment)
        run()
        return best(run, 9)

    bases = {script: cold([sys.executable, "-c", script]) for script in (BASE_IMPORT, MODEL_IMPORT)}
    for what, arguments in (
        ("tht --help", ["--help"]),
        ("tht audit session, cold", ["--home", str(home), "audit", "session", "bench-000001"]),
    ):
        taken = cold([*tht, *arguments])
        yield Row(what, 1, taken * 1000, "ms", f'python -c "{BASE_IMPORT}"', taken / bases[BASE_IMPORT], "≤ 2")
        yield Row(what, 1, taken * 1000, "ms", "the same, and one pydantic model", taken / bases[MODEL_IMPORT], "—")


# -- the run -----------------------------------------------------------------------------------------------------------


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    yield from append_rows(folder)
    homes = []
    for size in sizes:
        home = folder / f"events-{size}"
        homes.append(home)
        with make_workspace(home, size) as workspace:
            yield from view_rows(workspace, size)
    if len(homes) > 1:
        yield memory_row(homes[0], homes[-1], (sizes[0], sizes[-1]))
    yield from command_rows(homes[0])
    for size in sizes:
        with make_workspace(folder / f"memories-{size}", size * EVENTS_A_SESSION) as workspace:
            workspace.caught_up()
            yield from index_rows(workspace, size)
            yield from search_rows(workspace, size)
    for size in sizes:
        with make_facts(folder / f"facts-{size}", size) as workspace:
            yield from fact_rows(workspace, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the rows")
    parser.add_argument("--sizes", default="1000,10000,100000", help="events or memories, comma-separated")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("THT_")]:
        del os.environ[name]  # what is measured is what is configured here
    sizes = [int(size) for size in options.sizes.split(",")]
    found = []
    print(f"{'what':<62} {'n':>8} {'value':>12} {'unit':<10} {'ratio':>7} {'goal':<12} against")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(sizes, Path(folder)):
            found.append(row)
            figure = f"{row.value:>12,.1f} {row.unit:<10} {row.ratio:>7.3f} {row.goal:<12}"
            print(f"{row.what:<62} {row.n:>8,} {figure} {row.against}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"rows": [asdict(row) for row in found]}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
