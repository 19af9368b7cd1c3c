"""An exported ledger taken in: the whole file is verified before anything is written, and only ever continues what
is here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eventsourcing.persistence import IntegrityError
from pydantic import ValidationError

from adapters.chain import GENESIS, Link, next_link
from adapters.json_lines import Line, misfit, read_lines
from adapters.ledger import Ledger
from adapters.ledger_check import keys_of
from adapters.ledger_files import BATCH, FORMAT, VERSION, EventForm, HeaderForm, Progress, same_command
from adapters.mapper import EnvelopeMapper
from domain.errors import InvalidInput, LedgerDamaged, LostRace, OtherHistory, Refused
from domain.event import Envelope, stream_id
from projections.loop import Head

Told = tuple[Link, Envelope]


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import of a ledger did: events written, erasures among them, where file and local history end."""

    appended: int
    file_position: int
    position: int
    chain: str
    erasures: int = 0

    @property
    def local_is_longer(self) -> bool:
        return self.position > self.file_position

    def as_json(self) -> dict[str, object]:
        return {
            "appended": self.appended,
            "file_position": self.file_position,
            "position": self.position,
            "chain": self.chain,
        }


def is_ledger_file(first: Line | None) -> bool:
    return first is not None and first.value.get("format") == FORMAT


def import_ledger(
    ledger: Ledger,
    path: Path,
    *,
    until: int | None = None,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> Taken:
    """Continue the local history with an export. Refused names the line that is not what was exported; OtherHistory
    the position where the two part. Nothing is written then.

    Written in batches of whole commands: after a kill the same import goes on where it stopped. What was erased there
    is erased here, and what was erased here stays so.
    """
    local = ledger.head()
    end, size = _verify_file(ledger, path, until, progress)
    if end <= local.position or dry_run:
        return Taken(max(0, end - local.position), end, local.position, local.chain)
    written, erasures = local.position, 0
    for batch in _batches(path, local, end):
        _append(ledger, batch)
        erasures += sum(1 for link, _ in batch if link.erases)
        written = batch[-1][0].notification.id
        progress(size + written, size + end)
    head = ledger.head()
    return Taken(written - local.position, end, head.position, head.chain, erasures)


def _verify_file(ledger: Ledger, path: Path, until: int | None, progress: Progress) -> tuple[int, int]:
    """Reads it all, checks each line and compares it with the local history. Returns the last position wanted, and
    the file's size in bytes."""
    size, end = path.stat().st_size, 0
    local = ledger.links()
    for link, _, read in _checked(path, until):
        end = link.notification.id
        mine = next(local, None)
        if mine is not None and mine.chain != link.chain:
            raise OtherHistory(
                f"{path.name} tells another history from position {end} on: nothing was imported",
                "import it into a workspace of its own: --workspace NAME",
            )
        if end % BATCH == 0:
            progress(read, 2 * size)
    return end, size


def _batches(path: Path, local: Head, until: int) -> Iterator[list[Told]]:
    """What lies beyond the local head, in batches that end where a command ends."""
    batch: list[Told] = []
    for link, envelope, _ in _checked(path, until):
        if link.notification.id == local.position and link.chain.hex() != local.chain:
            raise OtherHistory(f"{path.name} has changed since it was verified")
        if link.notification.id <= local.position:
            continue
        if len(batch) >= BATCH and not same_command(batch[-1][1], envelope):
            yield batch
            batch = []
        batch.append((link, envelope))
    if batch:
        yield batch


def _append(ledger: Ledger, batch: Sequence[Told]) -> None:
    try:
        ledger.recorder.insert_chained([link for link, _ in batch], keys_of(envelope for _, envelope in batch))
    except IntegrityError as error:
        raise LostRace("another command was recorded during the import; what came before is kept") from error


def _checked(path: Path, until: int | None) -> Iterator[tuple[Link, Envelope, int]]:
    """Every event of the file up to a position with its envelope and the bytes read, or Refused with the line."""
    checks = _Checks(path, until)
    for line in read_lines(path):
        found = checks.next(line)
        if found is not None:
            yield (*found, line.end)
        if checks.complete:
            break
    checks.finish()


class _Checks:
    """What must hold from one line to the next: places, stream versions, the chain, whole commands."""

    def __init__(self, path: Path, until: int | None) -> None:
        self.path, self.until = path, until
        self.header: HeaderForm | None = None
        self.position, self.chain = 0, GENESIS
        self.versions: dict[str, int] = {}
        self.before: Envelope | None = None
        self.whole = 0  # the last position known to end a command
        self.complete = False
        self.mapper = EnvelopeMapper()

    def next(self, line: Line) -> tuple[Link, Envelope] | None:
        """The next event; None for the header and for the line after the last one wanted."""
        if line.error:
            raise self._refused(line.number, line.error)
        try:
            if self.header is None:
                self._begin(HeaderForm.model_validate(line.value))
                return None
            form = EventForm.model_validate(line.value)
            self._require_order(line.number, form)
            link, envelope = form.opened(self.mapper)
        except ValidationError as error:
            raise self._refused(line.number, misfit(error)) from error
        except (ValueError, LedgerDamaged) as error:
            raise self._refused(line.number, str(error)) from error
        self._require_place(line.number, form, link, envelope)
        if self.before is None or not same_command(self.before, envelope):
            self.whole = self.position
        if self.until is not None and form.position > self.until:
            self._end_at(self.until)
            return None
        self.position, self.chain, self.before = form.position, link.chain, envelope
        self.versions[form.stream] = form.version
        return link, envelope

    def finish(self) -> None:
        if self.header is None:
            raise Refused(f"{self.path.name} is empty: no export of a ledger")
        if self.complete:
            return
        end = Head(self.position, self.chain.hex())
        if end != Head(self.header.position, self.header.chain):
            what = f"the file ends at position {end.position}, its header promises {self.header.position}"
            raise self._refused(self.position + 2, what)

    def _begin(self, header: HeaderForm) -> None:
        if header.version != VERSION:
            raise ValueError(f"version {header.version} of the export is not known, only {VERSION}: upgrade tht")
        if self.until is not None and not 0 <= self.until <= header.position:
            raise InvalidInput(f"{self.path.name} has positions 0 to {header.position}, not {self.until}")
        self.header = header
        if self.until == header.position:
            self.until = None

    def _require_order(self, line: int, form: EventForm) -> None:
        if form.position != self.position + 1:
            raise self._refused(line, f"position {form.position} where {self.position + 1} was expected")
        if form.version != self.versions.get(form.stream, 0) + 1:
            raise self._refused(line, f"version {form.version} of its stream is out of order")

    def _require_place(self, line: int, form: EventForm, link: Link, envelope: Envelope) -> None:
        if stream_id(envelope.stream).hex != form.stream:
            raise self._refused(line, f"stands in a stream that is not its own ({envelope.stream})")
        if next_link(self.chain, link.notification) != link.chain:
            raise self._refused(line, "the chain is broken: this line or one before it is not what was exported")

    def _end_at(self, until: int) -> None:
        if self.whole != until:
            raise InvalidInput(f"position {until} is inside a command", f"--until {self.whole} takes what is before it")
        self.complete = True

    def _refused(self, line: int, what: str) -> Refused:
        hint = f"--until {self.whole} takes what is sound before it" if self.whole else "export it again"
        return Refused(f"{self.path.name} line {line}: {what}; nothing was imported", hint)
