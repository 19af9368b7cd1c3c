"""What was stored once is read for ever: one golden file an event name and version (ledger.md, "Events")."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent

import domain
from adapters.mapper import is_sealed
from adapters.sealing import KEY, Seal, SealedEvent
from domain.errors import LedgerDamaged
from domain.event import ERASED, Event, registered_events, stream_id
from tests.golden.samples import samples
from tests.golden.write import FOLDER, MAPPER, golden_path, no_chance, write_missing

FILES = sorted(FOLDER.glob("*.json"))

for _module in pkgutil.walk_packages(domain.__path__, "domain."):
    importlib.import_module(_module.name)


def released() -> dict[str, type[Event]]:
    """Every event of the domain, without those that other tests declare."""
    return {name: event for name, event in registered_events().items() if event.__module__.startswith("domain.")}


def stored(path: Path, *, keyless: bool = False) -> StoredEvent:
    """As the ledger gives it back: what is sealed with its key, unless that is destroyed."""
    name, _ = form(path)
    state = path.read_bytes()
    event = StoredEvent(stream_id(json.loads(state)["stream"]), 3, name, state)
    if keyless or not is_sealed(event):
        return event
    return SealedEvent(event.originator_id, 3, name, state, Seal(no_chance(KEY), "", ""))


def form(path: Path) -> tuple[str, int]:
    """Name and version."""
    name, _, version = path.stem.removesuffix(".sealed").rpartition(".v")
    return name, int(version)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_version_ever_stored_decodes(path: Path) -> None:
    envelope = MAPPER.to_domain_event(stored(path))
    assert envelope.event.name == stored(path).topic
    assert envelope.actor == "human:ada"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_current_version_is_stored_in_the_same_bytes(path: Path) -> None:
    before = stored(path)
    envelope = MAPPER.to_domain_event(before)
    again = MAPPER.to_stored_event(envelope)
    if path == golden_path(FOLDER, envelope):
        assert again.state == before.state
    assert MAPPER.to_domain_event(again) == envelope


@pytest.mark.parametrize("path", [path for path in FILES if ".sealed" in path.name], ids=lambda path: path.stem)
def test_without_its_key_a_sealed_event_says_erased_and_nothing_else(path: Path) -> None:
    """S-13: a text that was erased is in no sealed file, and the rest of the event still says what it said."""
    whole, erased = MAPPER.to_domain_event(stored(path)), MAPPER.to_domain_event(stored(path, keyless=True))
    assert (whole.erased, erased.erased) == (False, True)
    for name, value in whole.event.model_dump().items():
        left = erased.event.model_dump()[name]
        assert left == ((() if isinstance(value, tuple) else ERASED) if name in whole.event.sealed else value)
    for name in whole.event.sealed:
        value = getattr(whole.event, name)
        for text in value if isinstance(value, tuple) else (value,):
            assert len(text) < 4 or text.encode() not in path.read_bytes()


def test_the_record_of_a_sealed_event_is_known_without_its_text() -> None:
    for path in FILES:
        whole, erased = MAPPER.to_domain_event(stored(path)), MAPPER.to_domain_event(stored(path, keyless=True))
        assert whole.event.record_in(whole.stream) == erased.event.record_in(whole.stream)
        assert bool(whole.event.sealed) == bool(whole.event.record_in(whole.stream))


def test_every_event_has_a_golden_file_for_its_version() -> None:
    """A changed event needs a new version; then: python -m tests.golden.write"""
    expected = {
        f"{name}.v{event.version}{'.sealed' if event.sealed else ''}.json" for name, event in released().items()
    }
    assert expected - {path.name for path in FILES} == set()


def test_every_golden_file_belongs_to_an_event() -> None:
    versions = {name: event.version for name, event in released().items()}
    for path in FILES:
        name, version = form(path)
        assert 1 <= version <= versions[name]


@pytest.mark.parametrize("envelope", samples(), ids=lambda envelope: envelope.event.name)
def test_the_samples_fill_every_field(envelope: Any) -> None:
    """So that a golden file proves something about each of them."""
    empty = [name for name, value in envelope.event.model_dump().items() if value in (None, "", (), False)]
    assert empty == []


def test_a_golden_file_is_never_written_again(tmp_path: Path) -> None:
    assert len(write_missing(tmp_path)) == len(samples())
    kept = tmp_path / "session.session-closed.v1.json"
    kept.write_bytes(b"kept")
    (tmp_path / "session.phase-entered.v1.json").unlink()
    assert [path.name for path in write_missing(tmp_path)] == ["session.phase-entered.v1.json"]
    assert kept.read_bytes() == b"kept"


# -- what is stored but no event ---------------------------------------------------------------------------------------

STATE: dict[str, Any] = json.loads((FOLDER / "session.phase-entered.v1.json").read_bytes()) if FILES else {}


@pytest.mark.parametrize(
    ("topic", "state"),
    [
        ("session.phase-entered", b"{"),
        ("session.phase-entered", b"\xff\xfe"),
        ("session.phase-entered", b"[]"),
        ("session.phase-entered", json.dumps({**STATE, "data": {"phase": "F9"}}).encode()),
        ("session.phase-entered", json.dumps({**STATE, "v": 2}).encode()),
        ("session.phase-entered", json.dumps({**STATE, "v": "1"}).encode()),
        ("session.phase-entered", json.dumps({**STATE, "at": "yesterday"}).encode()),
        ("session.phase-entered", json.dumps({k: v for k, v in STATE.items() if k != "actor"}).encode()),
        ("session.phase-forgotten", json.dumps(STATE).encode()),
    ],
)
def test_what_does_not_decode_is_damage_not_a_crash(topic: str, state: bytes) -> None:
    with pytest.raises(LedgerDamaged, match="the event at position"):
        MAPPER.to_domain_event(StoredEvent(stream_id("session/s-1"), 3, topic, state))
