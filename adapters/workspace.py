"""The opened workspace: the one object that every interface uses, and where its parts are put together."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from adapters.config import Config, find_setting, without_password
from adapters.ledger import Ledger
from adapters.ledger_place import is_elsewhere, is_made, open_recorder
from adapters.locks import alone
from adapters.open_index import OpenIndex
from domain.errors import HomeNotWritable, InvalidInput, LedgerDamaged, NoHome, OtherHistory, UnknownProjection
from domain.event import iso_utc
from projections.declared import declared_tables, make_views
from projections.loop import Progress, catch_up, rebuild, remove_database
from projections.view import Tables, ViewsFile

if TYPE_CHECKING:
    from adapters.indexing import Indexing
    from adapters.vector_cache import CachedEmbedder
    from projections.index.port import Embedder

_NAME = re.compile(r"[\w][\w.-]{0,99}")


def system_clock() -> datetime:
    return datetime.now(UTC)


def new_ledger_id() -> str:
    return str(uuid4())


@dataclass(frozen=True)
class Paths:
    """What lies where in a workspace's folder."""

    folder: Path

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.sqlite3"

    @property
    def moved(self) -> Path:
        """The file of a ledger that has moved to a server, closed for good."""
        return self.folder / "ledger.moved.sqlite3"

    @property
    def views(self) -> Path:
        return self.folder / "views.sqlite3"

    @property
    def scratch(self) -> Path:
        return self.folder / "views.rebuild.sqlite3"

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def vectors(self) -> Path:
        return self.folder / "vectors.sqlite3"

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.toml"

    @property
    def socket(self) -> Path:
        """Where a running `tht serve` is reached by other commands of the same home."""
        return self.folder / "serve.socket"

    @property
    def serve_lock(self) -> Path:
        """Held by the one `tht serve` of a workspace."""
        return self.folder / "serve.lock"

    @property
    def lock(self) -> Path:
        """Held while the workspace is made, or its views are rebuilt."""
        return self.folder / "workspace.lock"

    @property
    def index_lock(self) -> Path:
        """Held by whoever writes to an index on a server, where the ledger is a file of this home."""
        return self.folder / "index.lock"

    @property
    def upkeep_lock(self) -> Path:
        return self.folder / "upkeep.lock"  # held by one run of upkeep at a time

    @property
    def purged(self) -> Path:
        return self.folder / "purged.json"  # how far the home is clean of what was erased

    @property
    def purge_lock(self) -> Path:
        return self.folder / "purge.lock"  # held by whoever erases, or cleans the home of what was erased

    @property
    def maintain_lock(self) -> Path:
        return self.folder / "maintain.lock"  # held by the one `tht maintain` of a workspace


class Workspace:
    """Ledger, views, index and settings of one workspace. Use `open_workspace` or `create_workspace`."""

    def __init__(self, name: str, paths: Paths, config: Config, clock: Callable[[], datetime]) -> None:
        self.name, self.paths, self.config, self.clock = name, paths, config, clock
        self.open_index = OpenIndex()
        self.closers: list[Callable[[], None]] = [self.open_index.let_go]  # of what others opened for it
        # of a process that answers many: by model, as long as the workspace is open, and shared with its other ones
        self.embedders: dict[str, CachedEmbedder] | None = None
        self.make_embedder: Callable[[str], Embedder] | None = None
        self.indexing: Indexing | None = None  # see `Indexing.of`

    def close(self) -> None:
        while self.closers:
            self.closers.pop()()
        if self.embedders is not None:
            self.embedders.clear()
        if "file" in self.__dict__:
            self.file.close()
        if "ledger" in self.__dict__:
            self.ledger.close()

    @cached_property
    def ledger(self) -> Ledger:
        """Opened at first need, so that settings can be looked at and mended when it is out of reach."""
        return Ledger(open_recorder(self.name, self.config, self.paths.ledger), self.clock)

    def require_own_ledger(self) -> None:
        """OtherHistory when the ledger is not the one that this home belongs to; a new home takes the one it has."""
        ledger_id, recorded = self.ledger.recorder.ledger_id(), self.config.stored.get("ledger.id")
        if recorded is None:
            self.config.stored["ledger.id"] = ledger_id
            self.config.save()
        elif recorded != ledger_id:
            raise OtherHistory(
                f"the home {self.paths.folder} belongs to ledger {recorded}, but"
                f" {self.ledger.recorder.place} is {ledger_id}",
                "put the right one back, or open this one in a home of its own",
            )

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.clean_after_erasures()
        finally:
            self.close()

    def clean_after_erasures(self) -> None:
        """Once the views have followed what was erased in another home, or by a process that was killed: leave nothing
        of it in this one. To be called while nothing is read here. What fails is logged, and tried again later."""
        if "file" in self.__dict__ and self.file.is_open and self.file.erased():
            from adapters.purging import clean_quietly

            clean_quietly(self)

    # -- views

    @cached_property
    def file(self) -> ViewsFile:
        """The views' file, opened at first need, so that the ledger alone can be read when it is damaged."""
        return ViewsFile(self.paths.views, declared_tables(), self.ledger.chain_at(0) or "")

    def caught_up(self, progress: Progress | None = None) -> sqlite3.Connection:
        """The SQL views at the ledger's head: you read what you wrote."""
        catch_up(self.ledger, self.file, progress=progress)
        return self.file.db

    @contextmanager
    def snapshot(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """The SQL views caught up and held at one position, which is given with them."""
        self.caught_up()
        with self.file.reading() as db:
            yield db, min(self.file.standing(view).position for view in self.file.views)

    @contextmanager
    def as_of(self, position: int) -> Iterator[ViewsFile]:
        """All SQL views as they were at a position, replayed in memory."""
        if not 0 <= position <= self.ledger.head().position:
            raise InvalidInput(f"the ledger has positions 0 to {self.ledger.head().position}, not {position}")
        past = ViewsFile(None, make_views(), self.ledger.chain_at(0) or "")
        try:
            catch_up(self.ledger, past, until=position)
            yield past
        finally:
            past.close()

    def position_at(self, when: str) -> int:
        """A position, or the last one recorded at or before an ISO time with a zone."""
        if when.isdecimal():
            return int(when)
        from projections import timeline

        return timeline.position_at(self.caught_up(), iso_utc(until(when)))

    def views_named(self, names: tuple[str, ...]) -> list[Tables]:
        """The views of these names, all without one. UnknownProjection names the ones there are."""
        known = {view.name: view for view in self.file.views}
        for name in names:
            if name not in known:
                raise UnknownProjection(f"there is no projection {name!r}, only {', '.join(known)} and index")
        return [known[name] for name in names] or list(known.values())

    def rebuild_views(self, names: tuple[str, ...] = (), progress: Progress | None = None) -> list[Tables]:
        """Replay views from the first event beside the old ones, then swap. A damaged file is made anew.

        One process at a time, as they share the scratch copy; HomeNotWritable when another one takes too long.
        """
        with alone(self.paths.lock, "the views are being rebuilt by another process"):
            return self._rebuild_views(names, progress)

    def _rebuild_views(self, names: tuple[str, ...], progress: Progress | None) -> list[Tables]:
        if self._views_are_damaged():
            self.forget_views()
        views = self.views_named(names)
        rebuild(self.ledger, self.file, views, self.paths.scratch, progress)
        return views

    def forget_views(self) -> None:
        """Remove the views' file. Whatever asks for it next replays it from the first event."""
        if "file" in self.__dict__:
            self.file.close()
            del self.__dict__["file"]
        remove_database(self.paths.views)

    def _views_are_damaged(self) -> bool:
        """Whether the file is not as declared, or SQLite finds it unsound anywhere. A lock or a full disk is raised."""
        try:
            with self.file.transaction() as db:
                db.execute("UPDATE projections SET position = position")  # whether it can be written at all
                for table in ("projections", "parked"):
                    db.execute(f"SELECT * FROM {table}").fetchall()
                if self.file.odd_shape():
                    return True  # what somebody else put into it would outlive every rebuild
                return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
        except HomeNotWritable as error:
            if not isinstance(error.__cause__, sqlite3.OperationalError):
                return True
            said = str(error.__cause__)
            if "decode" in said or ("readonly" in said and os.access(self.paths.folder, os.W_OK)):
                return True  # a damaged header can say that the file is read-only
            raise


def parse_time(text: str, *, otherwise: str = "no time") -> datetime:
    """An ISO time with a zone. InvalidInput for a naive one: which day it means depends on where you are.

    `otherwise`: what anything else is called, where it might have been more than a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is {otherwise}", "write 2026-03-02T10:00:00Z") from None
    if moment.tzinfo is None:
        raise InvalidInput(f"the time {text!r} has no zone", f"write {moment.isoformat()}Z, or +01:00 for the Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"the time {text!r} is out of reach", "write 2026-03-02T10:00:00Z") from None


def until(when: str) -> datetime:
    """The end of an ISO time with a zone: of a whole second, as the audit shows it, its last microsecond."""
    moment = parse_time(when, otherwise="neither a position nor a time")
    return moment if "." in when or moment.microsecond else moment.replace(microsecond=999_999)


# -- opening -----------------------------------------------------------------------------------------------------------


def has_ledger(home: Path, name: str) -> bool:
    """Whether the workspace has been made here."""
    paths = Paths(home / _checked(name))
    return is_made(Config.load(paths.config), paths.ledger)


def create_workspace(
    home: Path,
    name: str,
    clock: Callable[[], datetime] = system_clock,
    *,
    environment: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Workspace:
    """Make the workspace, or open it when it is there. Folders and files are its owner's only.

    `environment`: the variables that may override settings, the process's own without it. `settings`: what a new
    workspace begins with; a ledger that is on its server already is joined.
    """
    paths = Paths(home / _checked(name))
    if "ledger.id" in Config.load(paths.config, environment).stored:
        return open_workspace(home, name, clock, environment)
    try:
        paths.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(paths.folder, 0o700)
    except OSError as error:
        raise HomeNotWritable(f"{paths.folder} cannot be made: {error.strerror}", "choose another --home") from error
    with alone(paths.lock):
        config = Config.load(paths.config, environment)
        if "ledger.id" not in config.stored:
            config.stored |= {key: find_setting(key).parse(value) for key, value in (settings or {}).items()}
        return _made(name, paths, config, clock)


def _made(name: str, paths: Paths, config: Config, clock: Callable[[], datetime]) -> Workspace:
    """Under the lock: what another process has made meanwhile, or began to make when it was killed, is kept."""
    _refuse_lost_ledger(config, paths)
    workspace = Workspace(name, paths, config, clock)
    try:
        if "ledger.id" not in config.stored:
            workspace.ledger.recorder.create(new_ledger_id())
            if not is_elsewhere(config):
                os.chmod(paths.ledger, 0o600)
            elif not config.stored.get("ledger.url"):
                config.stored["ledger.url"] = without_password(str(config.value("ledger.url")))
    except BaseException:
        workspace.close()
        raise
    return _checked_history(workspace)


def open_workspace(
    home: Path, name: str, clock: Callable[[], datetime] = system_clock, environment: Mapping[str, str] | None = None
) -> Workspace:
    """Open a workspace that is there. NoHome when it is not; OtherHistory when its ledger is not its own."""
    paths = Paths(home / _checked(name))
    config = Config.load(paths.config, environment)
    if not is_made(config, paths.ledger):
        _refuse_lost_ledger(config, paths)
        raise NoHome(f"there is no workspace {name!r} in {home}", f"tht --home {home} --workspace {name} init makes it")
    if "ledger.id" in config.stored:
        return _checked_history(Workspace(name, paths, config, clock))
    with alone(paths.lock):  # another process may be making it right now
        return _checked_history(Workspace(name, paths, Config.load(paths.config, environment), clock))


def open_settings(home: Path, name: str, clock: Callable[[], datetime] = system_clock) -> Workspace:
    """A workspace that is there, for its settings: nothing is asked of its ledger, which may be out of reach or another
    one. NoHome when it is not there."""
    paths = Paths(home / _checked(name))
    config = Config.load(paths.config)
    if "ledger.id" not in config.stored:
        return open_workspace(home, name, clock)
    return Workspace(name, paths, config, clock)


def _checked_history(workspace: Workspace) -> Workspace:
    try:
        workspace.require_own_ledger()
    except BaseException:
        workspace.close()
        raise
    return workspace


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no workspace name", "letters, digits, dots, dashes and underscores")
    return name


def _refuse_lost_ledger(config: Config, paths: Paths) -> None:
    """A home that had a ledger does not silently get a new, empty one."""
    if "ledger.id" in config.stored and not is_made(config, paths.ledger):
        raise LedgerDamaged(
            f"{paths.ledger} is missing: this home belongs to ledger {config.stored['ledger.id']}",
            "put it back, or tht restore a backup into another workspace",
        )
