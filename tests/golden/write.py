"""Writes the golden files that are missing; one that is there is never touched. Run: python -m tests.golden.write

An event with sealed text has a second file, NAME.vN.sealed.json, made with a key and a nonce that are no secret. The
plain one is what was stored before texts were sealed, and decodes for ever too.
"""

from __future__ import annotations

from pathlib import Path

from adapters.mapper import EnvelopeMapper
from domain.event import Envelope
from tests.golden.samples import samples

FOLDER = Path(__file__).parent


def no_chance(count: int) -> bytes:
    """The same bytes every time: 0, 1, 2 …"""
    return bytes(range(count))


MAPPER = EnvelopeMapper(no_chance)


def golden_path(folder: Path, envelope: Envelope) -> Path:
    sealed = ".sealed" if envelope.event.sealed else ""
    return folder / f"{envelope.event.name}.v{envelope.event.version}{sealed}.json"


def write_missing(folder: Path) -> list[Path]:
    """The stored state of every sample that has no file yet, byte for byte as the ledger keeps it."""
    written = []
    for envelope in samples():
        path = golden_path(folder, envelope)
        if path.exists():
            continue
        with path.open("xb") as file:
            file.write(MAPPER.to_stored_event(envelope).state)
        written.append(path)
    return written


if __name__ == "__main__":
    for new in write_missing(FOLDER):
        print(new.name)
