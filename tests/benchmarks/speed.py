"""The speed table: each row a ratio within one run, so that it holds on a slow machine and a fast one.

    python tests/benchmarks/speed.py [--sizes 1000,10000,100000] [--parts views,facts] [--without-mem0] [--json OUT]

Sizes are events for the views, memories or facts for index and search. Not a test: nothing fails here, figures are
printed beside their goals, and how long each part took.
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.indexing import Indexing
from adapters.ledger import By, Draft
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.recall import FactsShown, reads_stream
from projections import registry
from projections.declared import make_views
from projections.loop import catch_up
from projections.record import Entry
from projections.scope import Reader
from projections.view import ViewsFile
from tests.benchmarks import vectors
from tests.benchmarks.history import EVENTS_A_SESSION, make_workspace
from tests.benchmarks.knowledge import PROPOSE, figures, make_facts, text_of
from tests.benchmarks.mem0_side import add_times
from tests.benchmarks.rows import HEADING, Row, best, growth, peak_memory, percentiles, timed
from tests.benchmarks.vectors import index_row

__all__ = ["Row", "timed"]

QUESTIONS = 60
PARTS = ("append", "views", "commands", "memories", "facts")
COMMANDS_AT = 1_000  # events of the workspace that commands are run in
MEM0_ADDS = 100
MOST_MEMORIES = 10_000  # above that their history takes longer to make than all that is measured
ASKER = By("agent:reader", dry_run=True)
BASE_IMPORT = "import click, pydantic, eventsourcing.application"
MODEL_IMPORT = f"{BASE_IMPORT}; type('Model', (pydantic.BaseModel,), {{}})"  # only its use loads pydantic
REBUILD = (
    "import sys; from pathlib import Path; from adapters.workspace import open_workspace\n"
    "with open_workspace(Path(sys.argv[1]), 'default') as workspace: workspace.rebuild_views()"
)


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


def memory_rows(small: Path, large: Path, sizes: tuple[int, int]) -> Iterator[Row]:
    """Peak memory of a process that rebuilds the views of a large ledger, against a small one."""
    peaks = [peak_memory(REBUILD, home) / 1024 for home in (small, large)]
    what = f"peak memory of a views rebuild, {sizes[0]:,} → {sizes[1]:,} events"
    yield Row(what, sizes[1], peaks[1], "MiB", f"{sizes[0]:,} events", peaks[1] / peaks[0], "flat: ≤ 1.5")


# -- index and search --------------------------------------------------------------------------------------------------


def index_rows(workspace: Workspace, memories: int) -> Iterator[Row]:
    indexing = Indexing(workspace)
    indexing.rebuild()  # fills the cache
    yield index_row("rebuild the index, vectors cached", workspace, indexing, memories, "memories/s")


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


def fact_rows(workspace: Workspace, facts: int, mem0: Mem0 | None) -> Iterator[Row]:
    """Facts, warm, in this process, each against a durable append of one event in the same workspace."""
    appending = _append_time(workspace)
    for what, (p50, p95), goals in figures(workspace):
        for name, value, goal in (("p50", p50, goals[0]), ("p95", p95, goals[1])):
            against = "a durable append of one event, p50"
            yield Row(f"{what}, {name}", facts, value, "ms", against, value / appending, goal)
        if what == PROPOSE and mem0:
            yield Row(f"{what}, and mem0", facts, 1000 / p50, "facts/s", mem0.told, mem0.add / p50, "≥ 5")


@dataclass(frozen=True)
class Mem0:
    """Milliseconds, p50 of this run, of mem0's `add(infer=False)`, and of embedding the same texts, a part of it."""

    version: str
    add: float
    embed: float

    @property
    def told(self) -> str:
        speeds = f"{1000 / self.add:,.1f} a second, p50 {self.add:.1f} ms, of which its embedding {self.embed:.1f} ms"
        return f"mem0 {self.version} add(infer=False), {MEM0_ADDS} into an empty store: {speeds}"


def mem0_times() -> Mem0:
    found = add_times([text_of(number) for number in range(MEM0_ADDS)])
    return Mem0(found["version"], statistics.median(found["ms"]), statistics.median(found["embed_ms"]))


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


@dataclass
class Run:
    """The rows of one run, printed as they are found, and the seconds that each of its parts took."""

    sizes: Sequence[int]
    folder: Path
    parts: Sequence[str]
    with_mem0: bool
    rows: list[Row] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def all(self) -> None:
        print(HEADING)
        parts = {"append": self.appends, "views": self.views, "commands": self.commands}
        parts |= {"memories": self.memories, "facts": self.facts}
        for name in self.parts:
            parts[name]()
        self.part("growth", growth(self.rows))

    def appends(self) -> None:
        self.part("append", append_rows(self.folder))

    def views(self) -> None:
        for size in self.sizes:
            self.part(f"views, {size:,} events", views_of(self.home("events", size), size))
        if len(self.sizes) > 1:
            homes = [self.home("events", size) for size in self.sizes]
            self.part("memory of a views rebuild", memory_rows(homes[0], homes[-1], (self.sizes[0], self.sizes[-1])))

    def commands(self) -> None:
        home = self.home("commands", COMMANDS_AT)
        make_workspace(home, COMMANDS_AT, together=1).close()
        self.part("commands", command_rows(home))

    def memories(self) -> None:
        for size in self.sizes:
            if size <= MOST_MEMORIES:  # each comes with ten events
                self.part(f"memories, {size:,}", memories_of(self.home("memories", size), size))

    def facts(self) -> None:
        started = time.perf_counter()
        mem0 = mem0_times() if self.with_mem0 else None
        self.took("mem0", started)
        for size in self.sizes:
            self.part(f"facts, {size:,}", facts_of(self.home("facts", size), size, mem0))

    def part(self, name: str, found: Iterable[Row]) -> None:
        started = time.perf_counter()
        for row in found:
            self.rows.append(row)
            print(row, flush=True)
        self.took(name, started)

    def took(self, name: str, started: float) -> None:
        self.seconds[name] = round(time.perf_counter() - started, 1)
        print(f"-- {name}: {self.seconds[name]:,.1f} s", flush=True)

    def home(self, what: str, size: int) -> Path:
        return self.folder / f"{what}-{size}"


def views_of(home: Path, size: int) -> Iterator[Row]:
    with make_workspace(home, size) as workspace:
        yield from view_rows(workspace, size)


def memories_of(home: Path, size: int) -> Iterator[Row]:
    with make_workspace(home, size * EVENTS_A_SESSION) as workspace:
        workspace.caught_up()
        yield from index_rows(workspace, size)
        yield from search_rows(workspace, size)


def facts_of(home: Path, size: int, mem0: Mem0 | None) -> Iterator[Row]:
    with make_facts(home, size) as workspace:
        yield from fact_rows(workspace, size, mem0)
        yield from vectors.fact_rows(workspace, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the rows")
    parser.add_argument("--sizes", default="1000,10000,100000", help="events, memories or facts, comma-separated")
    parser.add_argument("--without-mem0", action="store_true", help="do not install and measure mem0")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated; all without it: %(default)s")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--parts: {', '.join(sorted(unknown))}, where {', '.join(PARTS)} are known")
    for name in [name for name in os.environ if name.startswith("THT_")]:
        del os.environ[name]  # what is measured is what is configured here
    with tempfile.TemporaryDirectory() as folder:
        sizes = [int(size) for size in options.sizes.split(",")]
        run = Run(sizes, Path(folder), parts, not options.without_mem0)
        run.all()
    if options.json:
        found = {"rows": [asdict(row) for row in run.rows], "seconds": run.seconds}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
