"""A ledger taken to the other engine, whole: verified before and after, nothing left behind by a kill.

From a file to PostgreSQL all of it is one transaction there. From PostgreSQL to a home it goes as a backup does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.backup import single_file, write_backup
from adapters.config import Config, find_setting, shown_url
from adapters.ledger_batches import batches_of
from adapters.ledger_check import find_damage
from adapters.ledger_place import is_elsewhere, postgres_recorder, without_url
from adapters.mapper import EnvelopeMapper
from adapters.recorder import Batch, Recorder
from adapters.restore import restore_backup
from adapters.scratch import scratch_folder
from adapters.sqlite import LedgerRecorder
from adapters.workspace import Paths, Workspace
from domain.errors import AlreadyThere, HomeNotWritable, InvalidInput, LedgerDamaged, OtherHistory, Refused
from projections.loop import Head

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied where: `to` without secrets; `moved` tells that the home has gone over to it."""

    head: Head
    to: str
    moved: bool

    def as_json(self) -> dict[str, object]:
        return {"position": self.head.position, "chain": self.head.chain, "to": self.to, "moved": self.moved}


def copy_ledger_to(
    workspace: Workspace, to: str, *, move: bool = False, progress: Progress = lambda done, total: None
) -> Copied:
    """To a PostgreSQL URL or to the path of another home. InvalidInput for a home on the same engine."""
    if "://" in to:
        return copy_to_server(workspace, str(find_setting("ledger.url").parse(to)), move=move, progress=progress)
    if not is_elsewhere(workspace.config):
        raise InvalidInput("from file to file there is nothing to convert", "tht backup FILE, then tht restore FILE")
    return copy_to_home(workspace, Path(to).expanduser(), move=move, progress=progress)


def copy_to_server(
    workspace: Workspace, url: str, *, move: bool = False, progress: Progress = lambda done, total: None
) -> Copied:
    """The ledger of a home on PostgreSQL, in the schema of its workspace. AlreadyThere when events are there.

    With `move` nobody writes meanwhile; then the file is closed for good and the home goes over. What a kill left
    undone of that is done by the same command again.
    """
    source = workspace.ledger.recorder
    target = postgres_recorder(workspace.name, url, workspace.config.environment)
    if is_elsewhere(workspace.config):
        return _already_there(workspace, target.place, move)
    try:
        require_sound(source)
        with source.held() if move else nullcontext() as close_for_good:
            if move:
                _require_here(source, shown_url(url))
            head = _fill_or_continue(source, target, move, progress)
            require_sound(target)
            if close_for_good is not None:
                close_for_good(shown_url(url))
    finally:
        target.close()
    if move:
        _go_over(workspace, url)
    return Copied(head, target.place, move)


def copy_to_home(
    workspace: Workspace, home: Path, *, move: bool = False, progress: Progress = lambda done, total: None
) -> Copied:
    """The ledger as a file, with the settings, in the workspace of the same name of another home.

    With `move` the ledger on the server is closed for good, for every home that has joined it.
    """
    paths = Paths(home.absolute() / workspace.name)
    if paths.folder.absolute() == workspace.paths.folder.absolute():
        raise InvalidInput(
            "that is the home that the ledger is copied from, which keeps its way to the server",
            "give another home: --to PATH; afterwards it can take this one's place",
        )
    if paths.ledger.exists() and not move:  # a move that was stopped is gone on with, if it is that
        raise AlreadyThere(f"there is a ledger already: {paths.ledger}", "give another home, or --workspace NAME")
    source = workspace.ledger.recorder
    require_sound(source)
    if paths.ledger.exists():
        there = LedgerRecorder(paths.ledger)
        try:
            _require_open(there)
        finally:
            there.close()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        scratch_folder(home) as folder,
        source.held() if move else nullcontext() as close_for_good,
    ):
        if move:
            _require_here(source, str(paths.ledger))
        manifest = write_backup(workspace, folder / "copy", progress)
        restore_backup(folder / "copy", paths.folder, environment=without_url(workspace.config.environment))
        if close_for_good is not None:
            close_for_good(str(paths.ledger.absolute()))
    return Copied(Head(manifest.position, manifest.chain), str(paths.ledger), move)


def _already_there(workspace: Workspace, place: str, move: bool) -> Copied:
    """A move that was done, or stopped at its very end, and is given again. InvalidInput for any other."""
    source = workspace.ledger.recorder
    if not move or source.place != place:
        raise InvalidInput(f"the ledger is on a server already: {source.place}", "give a home as a path: --to PATH")
    head = workspace.ledger.head()
    _put_away(workspace.paths.ledger)
    return Copied(head, place, moved=True)


def _require_open(target: Recorder) -> None:
    """A ledger does not go back to where it was closed: it would be closed at both ends, and nobody could write."""
    if gone := target.moved_to():
        raise Refused(
            f"the ledger in {target.place} was closed when it moved to {gone}",
            "name another place; or first remove what was closed there, after tht ledger verify here",
        )


def _require_here(source: Recorder, to: str) -> None:
    """What has moved elsewhere does not move again from here: it goes on there. A move that was stopped after it had
    closed the ledger goes on to the same place."""
    if (gone := source.moved_to()) not in ("", to):
        raise Refused(f"this ledger has moved to {gone}", "open the workspace there, and move it from there")


def require_sound(recorder: Recorder) -> None:
    """LedgerDamaged names the first thing that does not hold."""
    found = next(find_damage(recorder, EnvelopeMapper()), None)
    if found:
        raise LedgerDamaged(f"the ledger {recorder.place} does not verify: {found.where}: {found.what}", found.mend)


def _fill_or_continue(source: Recorder, target: Recorder, move: bool, progress: Progress) -> Head:
    with source.snapshot() as frozen:
        position, chain = frozen.head()
        ledger_id = frozen.ledger_id()

        def batches() -> Iterable[Batch]:
            return batches_of(frozen, progress=progress)

        try:
            target.fill(ledger_id, batches)
        except AlreadyThere:
            if not move or target.ledger_id() != ledger_id:
                raise
            _require_open(target)
            _continue(frozen, target, progress)
        if target.head() != (position, chain):
            raise LedgerDamaged(f"the copy in {target.place} does not end where the ledger does")
        return Head(position, chain.hex())


def _continue(source: Recorder, target: Recorder, progress: Progress) -> None:
    """A move that was stopped after the copy: what was recorded here since is added to it."""
    reached, chain = target.head()
    if source.chain_at(reached) != chain:
        raise OtherHistory(f"{target.place} tells another history than the ledger here", "name another database")
    for links, keys in batches_of(source, reached, progress):
        target.insert_chained(links, keys)


def _go_over(workspace: Workspace, url: str) -> None:
    """The settings first: with them a file that is closed for good does no harm, and without them says where to go."""
    paths = workspace.paths
    config = Config.load(paths.config, workspace.config.environment)
    config.stored["ledger.url"] = url
    config.save()
    workspace.close()
    _put_away(paths.ledger)


def _put_away(ledger: Path) -> None:
    """Another process may have it open: then it stays where it is, closed for good."""
    if not ledger.exists():
        return
    with suppress(HomeNotWritable, OSError):
        single_file(ledger)
        ledger.rename(ledger.with_name("ledger.moved.sqlite3"))
