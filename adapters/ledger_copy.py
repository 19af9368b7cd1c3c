"""A ledger taken to the other engine, whole: verified before and after, nothing left behind by a kill.

From a file to PostgreSQL all of it is one transaction there. From PostgreSQL to a home it goes as a backup does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from eventsourcing.persistence import IntegrityError

from adapters.backup import single_file, write_backup
from adapters.config import Config, find_setting, shown_url
from adapters.ledger_batches import batches_of
from adapters.ledger_check import require_sound
from adapters.ledger_place import is_elsewhere, postgres_recorder, without_url
from adapters.recorder import Batch, Recorder
from adapters.restore import restore_backup
from adapters.scratch import scratch_folder
from adapters.sqlite import LedgerRecorder
from adapters.user_path import user_path
from adapters.workspace import Paths, Workspace
from domain.errors import (
    AlreadyThere,
    HomeNotWritable,
    InvalidInput,
    LedgerDamaged,
    LedgerMoved,
    LostRace,
    OtherHistory,
    Refused,
)
from projections.loop import Head

Progress = Callable[[int, int], None]

_UNTOUCHED = "the ledger here was not touched; look at that home, or give another one"


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
    """To a PostgreSQL URL or to the path of another home. InvalidInput for what is neither, and for a home on the same
    engine, LedgerMoved for a copy of what is closed: it would be open again."""
    if not move and (gone := workspace.ledger.recorder.moved_to()):
        raise LedgerMoved(f"this ledger has moved to {gone}: a copy is made from there")
    if "://" in to:
        return copy_to_server(workspace, str(find_setting("ledger.url").parse(to)), move=move, progress=progress)
    if not is_elsewhere(workspace.config):
        raise InvalidInput("from file to file there is nothing to convert", "tht backup FILE, then tht restore FILE")
    return copy_to_home(workspace, _home_at(to), move=move, progress=progress)


def _home_at(path: str) -> Path:
    """A URL that lacks its slashes is no folder that somebody wants made."""
    hint = "a URL, postgresql://USER@HOST:PORT/DATABASE, or the folder of another home"
    if not path.strip() or path.startswith(("postgres:", "postgresql:", "postgres/", "postgresql/")):
        raise InvalidInput(f"{path!r} names neither a database nor a folder", hint)
    home = user_path(path)
    if home.exists() and not home.is_dir():
        raise InvalidInput(f"{home} is a file", hint)
    return home


def copy_to_server(
    workspace: Workspace, url: str, *, move: bool = False, progress: Progress = lambda done, total: None
) -> Copied:
    """The ledger of a home on PostgreSQL, in the schema of its workspace. AlreadyThere when events are there.

    With `move` nobody writes meanwhile; then the file is closed for good and the home goes over. What a kill left
    undone of that is done by the same command again.
    """
    source = workspace.ledger.recorder
    target = postgres_recorder(workspace.name, url, workspace.config.environment)
    try:
        if is_elsewhere(workspace.config):
            return _already_there(workspace, target, move)
        require_sound(source)
        with source.held() if move else nullcontext() as close_for_good:
            if move:
                _require_here(source, shown_url(url))
            if move and source.moved_to() and _has_all_of(target, source):
                head = workspace.ledger.head()  # a move that was stopped after the file was closed
            else:
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

    With `move` the ledger on the server is closed for good, for every home that has joined it. Given again, it goes on
    where it was stopped; also when the other home has been worked in meanwhile.
    """
    paths = Paths(home.resolve() / workspace.name)
    _require_home_for_a_file(workspace, paths, move)
    source = workspace.ledger.recorder
    place = str(paths.ledger)
    if move:
        _require_here(source, place)
        if source.moved_to():
            return _arrived_before(source, paths.ledger)
    require_sound(source)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise HomeNotWritable(f"{home} cannot be made: {error.strerror}", "choose another folder") from error
    with (
        scratch_folder(home) as folder,
        source.held() if move else nullcontext() as close_for_good,
    ):
        if move:
            _require_here(source, place)
        head = _taken_into(paths, workspace, folder / "copy", move, progress)
        _require_arrived(paths.ledger, source, head)
        if close_for_good is not None:
            _keep_index(workspace, paths)
            close_for_good(place)
    return Copied(head, place, move)


def _require_home_for_a_file(workspace: Workspace, paths: Paths, move: bool) -> None:
    """Not the home that is copied from, and none whose workspace has its ledger on a server: nothing would be made."""
    if paths.folder == workspace.paths.folder.resolve():
        raise InvalidInput(
            "that is the home that the ledger is copied from, which keeps its way to the server",
            "give another home: --to PATH; afterwards it can take this one's place",
        )
    config = Config.load(paths.config, without_url(workspace.config.environment))
    if is_elsewhere(config):
        raise Refused(
            f"the workspace {paths.folder} has its ledger on a server: {shown_url(str(config.value('ledger.url')))}",
            "give a home that is not there yet: --to PATH; afterwards its workspace's folder can take that one's place",
        )
    if paths.ledger.exists() and not move:  # a move that was stopped is gone on with, if it is that
        raise AlreadyThere(f"there is a ledger already: {paths.ledger}", "give another home, or --workspace NAME")
    try:
        str(paths.ledger).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the path of that home is no text", "give a home whose path is in UTF-8") from error


def _arrived_before(source: Recorder, ledger: Path) -> Copied:
    """A move that was done, or stopped at its very end, and is given again. What has gone from there is not made anew:
    it would be two."""
    head = _head(source)
    if not ledger.exists():
        raise Refused(
            f"this ledger has moved to {ledger}, which is not there any more",
            "open it where it was put; if it is lost, tht backup FILE here, and tht restore FILE into a new home",
        )
    _require_arrived(ledger, source, head, "tht backup FILE here, and tht restore FILE there adds what it lacks")
    return Copied(head, str(ledger), moved=True)


def _taken_into(paths: Paths, workspace: Workspace, scratch: Path, move: bool, progress: Progress) -> Head:
    """The head of what has been copied. What a move that was stopped has left there is gone on with."""
    source = workspace.ledger.recorder
    if paths.ledger.exists():
        there = LedgerRecorder(paths.ledger)
        try:
            _require_open(there)
            if move and _has_all_of(there, source):
                return _head(source)
        finally:
            there.close()
    manifest = write_backup(workspace, scratch, progress)
    restore_backup(scratch, paths.folder, environment=without_url(workspace.config.environment))
    return Head(manifest.position, manifest.chain)


def _require_arrived(ledger: Path, source: Recorder, head: Head, mend: str = _UNTOUCHED) -> None:
    """LedgerDamaged unless the file is there, sound, and has all up to this head: only then is the other one closed."""
    if not ledger.exists():
        raise LedgerDamaged(f"the copy is not there: {ledger}", mend)
    there = LedgerRecorder(ledger)
    try:
        require_sound(there)
        if there.ledger_id() != source.ledger_id() or there.chain_at(head.position) != bytes.fromhex(head.chain):
            raise LedgerDamaged(f"{ledger} is not the copy that was made", mend)
    finally:
        there.close()


def _keep_index(workspace: Workspace, paths: Paths) -> None:
    """A copy gets an index of its own, as two homes would fight over one; a move goes on with the shared one."""
    config = Config.load(paths.config, without_url(workspace.config.environment))
    if "index.url" in workspace.config.stored and "index.url" not in config.stored:
        config.stored["index.url"] = workspace.config.stored["index.url"]
        config.save()


def _has_all_of(target: Recorder, source: Recorder) -> bool:
    """Whether it is the same ledger, and has all of the source, and perhaps more."""
    position, chain = source.head()
    return target.ledger_id() == source.ledger_id() and target.chain_at(position) == chain


def _head(recorder: Recorder) -> Head:
    position, chain = recorder.head()
    return Head(position, chain.hex())


def _already_there(workspace: Workspace, target: Recorder, move: bool) -> Copied:
    """A move that was done, or stopped at its very end, and is given again. InvalidInput for any other."""
    source = workspace.ledger.recorder
    if not move or source.place != target.place or not _has_all_of(target, source):
        raise InvalidInput(f"the ledger is on a server already: {source.place}", "give a home as a path: --to PATH")
    head = workspace.ledger.head()
    _put_away(workspace.paths.ledger, workspace.paths.moved)
    return Copied(head, target.place, moved=True)


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
        if target.chain_at(position) != chain:
            raise LedgerDamaged(f"the copy in {target.place} does not end where the ledger does")
        return Head(position, chain.hex())


def _continue(source: Recorder, target: Recorder, progress: Progress) -> None:
    """A move that was stopped after the copy: what was recorded here since is added to it. Who had joined it there may
    have gone on: then there is nothing to add."""
    if _has_all_of(target, source):
        return
    reached, chain = target.head()
    if source.chain_at(reached) != chain:
        raise OtherHistory(f"{target.place} tells another history than the ledger here", "name another database")
    try:
        for links, keys in batches_of(source, reached, progress):
            target.insert_chained(links, keys)
    except IntegrityError as error:
        raise LostRace(f"something was recorded in {target.place} meanwhile; the ledger here stays open") from error


def _go_over(workspace: Workspace, url: str) -> None:
    """The settings first: with them a file that is closed for good does no harm, and without them says where to go."""
    paths = workspace.paths
    config = Config.load(paths.config, workspace.config.environment)
    config.stored["ledger.url"] = url
    config.save()
    workspace.close()
    _put_away(paths.ledger, paths.moved)


def _put_away(ledger: Path, moved: Path) -> None:
    """Another process may have it open: then it stays where it is, closed for good."""
    if not ledger.exists():
        return
    with suppress(HomeNotWritable, OSError):
        single_file(ledger)
        ledger.rename(moved)
