"""A view is shown only events of the classes that it declares: the oracle is the same view, shown every event."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent
from hypothesis import HealthCheck, given, settings

from adapters.workspace import Workspace
from domain.event import Event
from domain.session_events import PhaseEntered, SessionOpened
from projections.declared import make_views
from projections.loop import catch_up
from projections.view import View, ViewsFile
from tests.golden.samples import samples
from tests.oracle import knowledge_histories, test_knowledge_views
from tests.oracle.histories import HISTORIES, Op
from tests.oracle.test_views import after, digests
from tests.projections.ledgers import Lines, append, new_ledger, open_views, rows

EXAMPLES = settings(suppress_health_check=list(HealthCheck), max_examples=5, deadline=None)


def shown_everything(view: View) -> View:
    seeing: View = type(f"All{type(view).__name__}", (type(view),), {"concerned": (Event,), "areas": None})()
    return seeing


def replayed(workspace: Workspace, views: Iterable[View]) -> dict[str, str]:
    file = ViewsFile(None, tuple(views), workspace.ledger.chain_at(0) or "")
    try:
        catch_up(workspace.ledger, file, fail_fast=True)
        return digests(file)
    finally:
        file.close()


def check_views(workspace: Workspace) -> None:
    expected = replayed(workspace, map(shown_everything, make_views()))
    assert replayed(workspace, make_views()) == expected
    assert digests(workspace.file) == expected


@EXAMPLES
@given(HISTORIES)
def test_sessions_and_memories_are_the_same_as_with_every_event(ops: list[Op]) -> None:
    with after(ops) as history:
        check_views(history.workspace)


@EXAMPLES
@given(knowledge_histories.HISTORIES)
def test_knowledge_is_the_same_as_with_every_event(ops: list[knowledge_histories.Op]) -> None:
    with test_knowledge_views.after(ops) as (history, _):
        check_views(history.workspace)


@pytest.mark.parametrize("view", make_views(), ids=lambda view: view.name)
def test_an_event_that_a_view_does_not_declare_writes_nothing(view: View) -> None:
    """Each sample of every event, on a view that holds what the declared ones have left in it."""
    file = ViewsFile(None, [view], "")
    found = [replace(envelope, position=place) for place, envelope in enumerate(samples(), 1)]
    concerned = [one for one in found if isinstance(one.event, view.concerned)]
    for envelope in concerned:
        with suppress(ValueError):  # it is about a record that no sample makes
            view.apply(file.db, envelope)
    assert file.db.total_changes > 0, "no sample is of concern: the view declares nothing that happens"
    written = file.db.total_changes
    for envelope in found:
        if envelope not in concerned:
            view.apply(file.db, envelope)
            assert file.db.total_changes == written, envelope.event.name
    file.close()


class Openings(Lines):
    concerned = (SessionOpened,)


def test_a_view_passes_what_does_not_concern_it_and_parks_what_does_not_decode(tmp_path: Path) -> None:
    """An event that nobody here can read might be of concern: its stream is parked, as in every view."""
    with new_ledger(tmp_path / "ledger") as ledger:
        append(ledger, "session/1", SessionOpened(session_id="1", question="?"), PhaseEntered(phase="F2"))
        stored = ledger.mapper.to_stored_event(ledger.load("session/1")[1])
        newer = stored.state.replace(b'"v":1', b'"v":9')
        ledger.recorder.insert_events([StoredEvent(stored.originator_id, 3, stored.topic, newer)])
        append(ledger, "session/2", SessionOpened(session_id="2", question="?"), PhaseEntered(phase="F2"))
        view = Openings()
        file = open_views(ledger, tmp_path / "views.sqlite3", view)
        assert catch_up(ledger, file) == file.standing(view).position == 5
        assert rows(file) == [1, 4]
        assert [(one.stream, one.position) for one in file.parked()] == [("session/1", 3)]
        file.close()
