"""Events: frozen payloads, stable names, versions and upcasters (ledger.md, "Events")."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from typing import Any

import pytest
from pydantic import ValidationError

import domain
from domain.errors import LedgerDamaged
from domain.event import (
    AREAS,
    Event,
    decode_event,
    erased_fields,
    is_private,
    iso_utc,
    registered_events,
    stream_id,
    upcaster,
)
from domain.memory import MemoryRecorded, Source
from domain.session_events import ConceptClarified
from tests.domain.spec import clarified


class Renamed(Event, name="test.thing-renamed", version=3):
    """A throwaway event whose first version had `title`, whose second had `label` and no `tags`."""

    label: str
    tags: tuple[str, ...]


@upcaster("test.thing-renamed", 1)
def _title_to_label(data: dict[str, Any]) -> dict[str, Any]:
    return {"label": data["title"]}


@upcaster("test.thing-renamed", 2)
def _without_tags(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "tags": []}


class Orphaned(Event, name="test.thing-orphaned", version=2):
    """Nobody wrote the upcaster of its first version."""

    label: str


# -- upcasters and decoding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "data"),
    [(1, {"title": "x"}), (2, {"label": "x"}), (3, {"label": "x", "tags": []})],
)
def test_every_old_version_is_lifted_to_the_current_one(version: int, data: dict[str, Any]) -> None:
    before = dict(data)
    assert decode_event("test.thing-renamed", version, data) == Renamed(label="x", tags=())
    assert data == before


@pytest.mark.parametrize(
    ("name", "version", "data", "words"),
    [
        ("test.thing-orphaned", 1, {"label": "x"}, "no upcaster lifts test.thing-orphaned from version 1"),
        ("test.thing-renamed", 4, {"label": "x", "tags": []}, "has version 4, this tht knows up to 3"),
        ("test.thing-renamed", 0, {"label": "x", "tags": []}, "has version 0"),
        ("test.thing-unheard-of", 1, {}, "unknown event"),
        ("test.thing-renamed", 3, {"label": "x"}, "tags"),
        ("test.thing-renamed", 3, {"label": "x", "tags": [], "more": 1}, "more"),
        ("test.thing-renamed", 3, {"label": ["x"], "tags": []}, "label"),
    ],
)
def test_what_does_not_decode_is_damage_and_named(name: str, version: int, data: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerDamaged) as caught:
        decode_event(name, version, data)
    assert words in caught.value.message


def test_two_classes_never_claim_one_name() -> None:
    with pytest.raises(TypeError, match=r"test\.thing-renamed"):
        type("Other", (Event,), {"__module__": __name__}, name="test.thing-renamed")


# -- payloads ----------------------------------------------------------------------------------------------------------


def test_events_are_frozen_and_hold_only_what_they_declare() -> None:
    event = clarified(1)
    with pytest.raises(ValidationError):
        event.subject = "other"
    with pytest.raises(ValidationError):
        ConceptClarified.model_validate({**event.model_dump(), "actor": "human:ada"})
    assert hash(event) == hash(clarified(1))


def test_tuples_stay_tuples_through_json() -> None:
    event = MemoryRecorded(
        memory_id="mem-0001",
        type="concept_clarified",
        subject="a",
        detail="b",
        concepts=("c",),
        sources=(Source(session_id="s", seq=1),),
    )
    again = decode_event(event.name, event.version, event.model_dump(mode="json"))
    assert again == event
    assert hash(again) == hash(event)


def test_times_are_aware_and_utc() -> None:
    rome = datetime(2026, 3, 2, 11, tzinfo=timezone(timedelta(hours=1)))
    event = clarified(1).model_validate({**clarified(1).model_dump(), "occurred_at": rome})
    assert event.occurred_at == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert event.occurred_at.tzinfo is UTC
    assert iso_utc(rome) == "2026-03-02T10:00:00.000000Z"
    with pytest.raises(ValidationError, match="needs a zone"):
        ConceptClarified.model_validate({**clarified(1).model_dump(), "occurred_at": "2026-03-02T11:00:00"})


# -- names -------------------------------------------------------------------------------------------------------------


def test_the_owners_words() -> None:
    assert (clarified(1).name, clarified(1).kind) == ("session.concept-clarified", "concept_clarified")
    owners = {"concept_clarified", "memory_promoted", "memory_promotion_declined"}
    assert owners <= {event.kind for event in registered_events().values()}


def own_events() -> dict[str, type[Event]]:
    """Every event that any module of the domain declares."""
    for module in pkgutil.walk_packages(domain.__path__, "domain."):
        import_module(module.name)
    return {name: cls for name, cls in registered_events().items() if cls.__module__.startswith("domain.")}


def test_the_area_of_an_event_says_which_module_declares_it() -> None:
    areas = {(name.partition(".")[0], cls.__module__) for name, cls in own_events().items()}
    assert areas == set(AREAS.items())


IN_A_FRESH_PROCESS = """
import json, sys
from domain.event import AREAS, erased_fields, find_event, is_private
assert not set(AREAS.values()) & sys.modules.keys()
found = {}
for name in sys.argv[1:]:
    found[name] = [is_private(name), erased_fields(name), find_event(name).__name__]
print(json.dumps(found))
"""


@pytest.mark.parametrize("area", AREAS)
def test_an_event_is_found_by_its_stored_name_alone(area: str) -> None:
    """In a process that has loaded none, with what is private in it and what can be erased."""
    expected = {name: cls for name, cls in own_events().items() if name.startswith(f"{area}.")}
    command = [sys.executable, "-c", IN_A_FRESH_PROCESS, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        name: json.loads(json.dumps([is_private(name), erased_fields(name), cls.__name__]))
        for name, cls in expected.items()
    }


def test_a_fresh_process_lists_every_event() -> None:
    script = "import json; from domain.event import registered_events; print(json.dumps(sorted(registered_events())))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == sorted(own_events())


def test_a_class_without_a_name_is_never_recorded() -> None:
    class Shared(Event):
        seq: int

    assert not hasattr(Shared, "name")
    assert Shared not in registered_events().values()


def test_a_stream_has_one_id_for_ever() -> None:
    assert str(stream_id("session/s1")) == str(stream_id("session/s1"))
    assert stream_id("session/s1") != stream_id("session/s2")
    assert str(stream_id("session/s1")) == "22fe63b8-1784-59e9-8a86-e0a8708b604c"
