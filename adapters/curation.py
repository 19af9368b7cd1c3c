"""Commands on memories after their promotion: merge, supersede, retire, withdraw a source, restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.files import refuse_homes, replace_file
from adapters.ledger import By, Committed, Draft
from adapters.reviewers import require_reviewer
from adapters.sessions import load_memory
from adapters.workspace import Workspace
from domain import memory as memories
from domain.errors import InvalidInput, UnknownMemory
from domain.memory import Source
from domain.promotion import require_person
from domain.text import canonical_json
from projections import registry
from projections.record import Entry


@dataclass(frozen=True)
class Curation:
    """The registry: what a reviewer may change about it, and what it says. `token` proves the reviewer."""

    workspace: Workspace
    token: str = ""

    # -- commands

    def retire(self, memory_id: str, by: By, *, source: str = "") -> Committed:
        """Take a memory out because it was wrong; or one of its sources, `SESSION:SEQ`: the last takes it along."""

        def work(draft: Draft) -> None:
            memory = load_memory(draft, self.workspace, memory_id)
            if source:
                draft.append(memory.stream, memories.withdraw_source(memory, parse_source(source), by.reason))
            else:
                draft.append(memory.stream, memories.retire(memory, by.reason))

        return self._transact(work, by, ("registry.retire", memory_id, source))

    def supersede(self, memory_id: str, successor: str, by: By) -> Committed:
        """Let another memory take its place: it was true, now the other one is."""

        def work(draft: Draft) -> None:
            old, new = self._two(draft, memory_id, successor)
            draft.append(old.stream, memories.supersede(old, new))

        return self._transact(work, by, ("registry.supersede", memory_id, successor))

    def merge(self, memory_id: str, into: str, by: By) -> Committed:
        """End a memory that says the same as another, which takes over its sources."""

        def work(draft: Draft) -> None:
            old, target = self._two(draft, memory_id, into)
            ended, gained = memories.merge(old, target)
            draft.append(old.stream, ended)
            draft.append(target.stream, gained)

        return self._transact(work, by, ("registry.merge", memory_id, into))

    def restore(self, memory_id: str, by: By) -> Committed:
        """Undo a retirement, supersession or merge."""

        def work(draft: Draft) -> None:
            memory = load_memory(draft, self.workspace, memory_id)
            own, _ = memories.restore(memory, None, by.reason)
            draft.append(memory.stream, own)
            giver, owed = memory, None
            while giver.status == "merged":
                absorber = load_memory(draft, self.workspace, giver.successor or "")
                returned, owed = memories.give_back(absorber, giver.memory_id, to=memory_id, owed=owed)
                draft.append(absorber.stream, returned)
                giver = absorber

        return self._transact(work, by, ("registry.restore", memory_id))

    # -- queries

    def get(self, memory_id: str) -> Entry:
        entry = registry.find_entry(self.workspace.caught_up(), memory_id)
        if entry is None:
            raise UnknownMemory(f"there is no memory {memory_id!r}")
        return entry

    def list(self, *, status: str = "live", limit: int = -1, offset: int = 0) -> tuple[list[Entry], int]:
        return registry.list_entries(self.workspace.caught_up(), status=status, limit=limit, offset=offset)

    def export_lines(self, *, everything: bool = False) -> Iterator[str]:
        """`registry.jsonl`: live memories with exactly the record's fields; or all, with what the ledger adds."""
        entries, _ = self.list(status="" if everything else "live")
        for entry in entries:
            yield canonical_json(entry.as_json() if everything else entry.record.as_json())

    def export(self, path: Path, *, everything: bool = False) -> int:
        """Write the file in one step; returns how many memories."""
        lines = list(self.export_lines(everything=everything))
        replace_file(refuse_homes(path), "".join(f"{line}\n" for line in lines).encode())
        return len(lines)

    # -- parts

    def _transact(self, work: Callable[[Draft], None], by: By, command: Sequence[object]) -> Committed:
        require_person(require_reviewer(self.workspace, by, self.token))
        self.workspace.caught_up()
        return self.workspace.ledger.transact(work, by, command)

    def _two(self, draft: Draft, one: str, other: str) -> tuple[memories.Memory, memories.Memory]:
        return load_memory(draft, self.workspace, one), load_memory(draft, self.workspace, other)


def parse_source(text: str) -> Source:
    """`SESSION:SEQ`."""
    session_id, _, seq = text.rpartition(":")
    if not session_id or not seq.isdecimal():
        raise InvalidInput(f"{text!r} is no source", "write SESSION:SEQ, as in tht registry show")
    return Source(session_id=session_id, seq=int(seq))
