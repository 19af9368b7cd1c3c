"""Keeps every projection at the ledger's head in the background, and the vector index too; says how far they are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread

from adapters.indexing import Indexing
from adapters.purged import Purged
from adapters.purging import Purging
from adapters.serving.feed import Feed, notices
from adapters.serving.pool import Pool
from adapters.workspace import Workspace
from domain.errors import HomeNotWritable, IndexBusy, ThtError

POLL = 0.25  # seconds between two looks at the ledger's head, when nobody here has written
FIRST_WAIT = 0.5  # seconds after a failure; doubled after each further one
LONGEST_WAIT = 60.0
INDEX_POLL = 1.0

log = logging.getLogger("tht.serve")


@dataclass(frozen=True, slots=True)
class Reached:
    """What one try brought things to, and where the ledger's head was when it began."""

    position: int
    head: int


@dataclass
class Standing:
    """How one follower does. `reached`: the position it brought things to; `since`: when it last was at the head,
    whoever had brought them there.

    Times in seconds of the server's clock; `problem` is empty while it works.
    """

    reached: int = 0
    since: float = 0.0
    failures: int = 0
    problem: str = ""

    @property
    def wait(self) -> float:
        """Seconds until the next try: bounded, the same for the same number of failures."""
        return min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(self.failures - 1, 20)) if self.failures else 0.0


class Follower:
    """One thread that does one thing again and again, and waits longer each time that it fails."""

    def __init__(
        self, name: str, work: Callable[[], Reached], clock: Callable[[], float], poll: float, stopping: Event
    ) -> None:
        self.standing = Standing(since=clock())
        self.work, self.clock, self.poll, self.stopping = work, clock, poll, stopping
        self.woken = Event()
        self.thread = Thread(target=self._run, name=name, daemon=True)

    def step(self) -> float:
        """One try; seconds to wait before the next."""
        standing = self.standing
        try:
            reached = self.work()
            standing.reached, standing.failures, standing.problem = reached.position, 0, ""
            if reached.position >= reached.head:
                standing.since = self.clock()
            return self.poll
        except Exception as error:
            told = error.message if isinstance(error, ThtError) else f"{type(error).__name__}: {error}"
            if told != standing.problem:
                log.warning("%s: %s", self.thread.name, told)
            standing.failures, standing.problem = standing.failures + 1, told
            return standing.wait

    def _run(self) -> None:
        while not self.stopping.is_set():
            wait = self.step()
            waker = self.stopping if self.standing.failures else self.woken  # a write mends nothing that fails
            waker.wait(wait)
            self.woken.clear()


class Following:
    """The followers of one server. `wake`: called after a write here, so that readers and watchers wait for nobody."""

    def __init__(self, pool: Pool, feed: Feed, clock: Callable[[], float], told: Callable[[], None]) -> None:
        self.pool, self.feed, self.told = pool, feed, told
        self.stopping = Event()
        self.views = Follower("views", self._views, clock, POLL, self.stopping)
        self.index = Follower("index", self._index, clock, INDEX_POLL, self.stopping)
        self.erasures = Follower("erasures", self._erasures, clock, INDEX_POLL, self.stopping)
        self.all = {"views": self.views, "index": self.index, "erasures": self.erasures}
        self._begun = False
        self._indexed = -1

    def start(self) -> None:
        for follower in self.all.values():
            follower.thread.start()

    def wake(self) -> None:
        self.views.woken.set()

    def stop(self) -> None:
        """Ends after what is under way; the index stops between two pages."""
        self.stopping.set()
        for follower in self.all.values():
            follower.woken.set()
            if follower.thread.is_alive():
                follower.thread.join(30.0)

    def _views(self) -> Reached:
        with self.pool.borrowed() as workspace:
            head = workspace.ledger.head().position
            if not self._begun:
                self.feed.begin(head)
                self._begun = True
            workspace.caught_up()
            while self.feed.head < head and not self.stopping.is_set():
                self.feed.add(notices(workspace, self.feed.head))
                self.told()
            return Reached(head, head)

    def _erasures(self) -> Reached:
        """The home clean of what was erased elsewhere, once the views have followed it."""
        with self.pool.borrowed() as workspace:
            head = workspace.ledger.head().position
            workspace.caught_up()
            (purging := Purging(workspace)).follow()
            if purging.due() and (problem := Purged.load(workspace.paths.purged).problem):
                raise HomeNotWritable(f"traces of what was erased may be left: {problem}", "see tht doctor")
            return Reached(head, head)

    def _index(self) -> Reached:
        """The index at the head. Where vectors are switched off there is nothing to follow."""
        with self.pool.borrowed() as workspace:
            head = workspace.ledger.head().position
            if workspace.config.value("embedder.model") == "none":
                return Reached(head, head)
            if head != self._indexed:
                self._indexed = self._caught_up(workspace)
            return Reached(self._indexed, head)

    def _caught_up(self, workspace: Workspace) -> int:
        indexing = Indexing.of(workspace)
        try:
            return indexing.catch_up(may_go_on=lambda: not self.stopping.is_set()).position
        except IndexBusy:  # another node has the turn and brings it up, for all of them
            return indexing.reached()
