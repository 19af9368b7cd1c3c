"""What `tht import` was given: a ledger, sessions, or an old home. Told by the first line that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adapters.json_lines import Line, read_lines
from adapters.ledger import By
from adapters.ledger_files import FORMAT
from adapters.ledger_import import Taken, import_ledger
from adapters.old_layout import OldLayout, import_old_layout
from adapters.purging import Purging
from adapters.session_files import Report, import_sessions
from adapters.workspace import Workspace
from domain.errors import InvalidInput
from domain.text import memory_number

Form = Literal["ledger", "sessions", "old session", "old registry", "unknown"]
REGISTRY = "registry.jsonl"
FOLDER_PATTERNS = ("*.jsonl", "sessions/*.jsonl", "ledger/*.jsonl", "*/ledger.jsonl", "sessions/*/ledger.jsonl")
PROBED = 20  # lines read to tell a form


@dataclass(frozen=True, slots=True)
class Found:
    """The files of one import, sorted by their form. `unknown` ones are reported and left alone."""

    ledger: Path | None
    sessions: tuple[Path, ...]
    old: OldLayout | None
    unknown: tuple[Path, ...] = ()

    @property
    def brings_approvals(self) -> bool:
        """A ledger and an old registry hold memories that were approved elsewhere; sessions alone hold none."""
        return self.ledger is not None or self.old is not None


def look_at(path: Path) -> Found:
    """What there is to import. InvalidInput when there is nothing."""
    if path.is_dir():
        return _look_into(path)
    if not path.is_file():
        raise InvalidInput(f"{path} is neither a file nor a folder", "tht import takes a .jsonl file or a folder")
    match form_of(path):
        case "ledger":
            return Found(path, (), None)
        case "old session":
            return Found(None, (), OldLayout(None, ((_session_id(path, path.parent), path),)))
        case "old registry":
            return Found(None, (), OldLayout(path, ()))
        case _:
            return Found(None, (path,), None)  # every line that is no session is reported with its reason


def form_of(path: Path) -> Form:
    for line, _ in zip(read_lines(path), range(PROBED), strict=False):
        if not line.error:
            return _form_of_line(line)
    return "unknown"


def import_found(
    workspace: Workspace,
    found: Found,
    by: By,
    *,
    until: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report | Taken:
    """Take in what was found. `until` is for ledgers only."""
    if found.ledger is not None:
        taken = import_ledger(workspace.ledger, found.ledger, until=until, dry_run=by.dry_run, progress=progress)
        if taken.erasures:
            Purging(workspace).run()
        return taken
    if until is not None:
        raise InvalidInput("--until is for the import of a ledger", "leave it out")
    report = Report()
    for path in found.unknown:
        report.refuse(str(path), 1, "neither sessions nor an old session: left alone")
    for path in found.sessions:
        import_sessions(workspace.ledger, path, by, report, progress)
    if found.old is not None:
        import_old_layout(workspace.ledger, found.old, by, report, progress)
    return report


def _look_into(folder: Path) -> Found:
    registry = next((one for one in (folder / "memory" / REGISTRY, folder / REGISTRY) if one.is_file()), None)
    files = {path for pattern in FOLDER_PATTERNS for path in folder.glob(pattern) if path.is_file()}
    files -= {folder / REGISTRY, folder / "memory" / REGISTRY}
    forms = {path: form_of(path) for path in sorted(files)}
    old = tuple((_session_id(path, folder), path) for path, form in forms.items() if form == "old session")
    sessions = tuple(path for path, form in forms.items() if form == "sessions")
    unknown = tuple(path for path, form in forms.items() if form not in ("old session", "sessions"))
    if not (registry or old or sessions):
        raise InvalidInput(
            f"{folder} holds no sessions and no old layout",
            "expected are memory/registry.jsonl, sessions/*.jsonl, *.jsonl or SESSION/ledger.jsonl",
        )
    return Found(None, sessions, OldLayout(registry, old) if registry or old else None, unknown)


def _session_id(path: Path, folder: Path) -> str:
    """`<session>/ledger.jsonl` is named by its folder, everything else by the file."""
    if path.name == "ledger.jsonl" and path.parent != folder:
        return path.parent.name
    return path.stem if path.name != "ledger.jsonl" else folder.resolve().name


def _form_of_line(line: Line) -> Form:
    value = line.value
    if value.get("format") == FORMAT:
        return "ledger"
    if "session_id" in value and "decisions" in value:
        return "sessions"
    identity = value.get("id")
    if isinstance(identity, str) and memory_number(identity) is not None:
        return "old registry"
    return "old session" if "type" in value else "unknown"
