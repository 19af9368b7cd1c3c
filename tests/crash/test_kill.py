"""`kill -9` at steps of writing (all of them in the long form): what was acknowledged is there, the rest follows it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.indexing import Indexing
from adapters.workspace import Workspace
from tests.crash import scripts
from tests.crash.faults import killed_everywhere
from tests.crash.soundness import (
    ADA,
    assert_goes_on,
    assert_index_follows,
    assert_sound,
    assert_views_equal_a_replay,
    make_home,
    open_home,
    open_session,
    promote_all,
    search,
)

pytestmark = pytest.mark.posix


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """Two memories, and a session with three candidates."""
    home = make_home(tmp_path / "prepared")
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        open_session(workspace, "waiting", ["recurrence", "procedure of ablation", "cardioversion by current"])
        workspace.caught_up()
    return home


def copies(prepared: Path, tmp_path: Path, *, without_views: bool = False) -> Callable[[], Path]:
    """Makes the next copy of a prepared home, in the place of the last one."""

    def copy() -> Path:
        home = tmp_path / "copy"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(prepared, home)
        if without_views:
            for file in (home / "default").glob("views.*"):
                file.unlink()
        return home

    return copy


def test_promotion(prepared: Path, tmp_path: Path) -> None:
    """New, merged and replacing memories: a memory has its marker and its number, or none of the three is there."""
    for home, promises in killed_everywhere(
        scripts.promote, copies(prepared, tmp_path), tmp_path, at_least=40, every=3
    ):
        with open_home(home) as workspace:
            assert_sound(workspace, promises)
            assert_goes_on(workspace)
    assert len(promises) == 3


def test_every_other_command(prepared: Path, tmp_path: Path) -> None:
    prepare = copies(prepared, tmp_path)
    for home, promises in killed_everywhere(scripts.work_a_session, prepare, tmp_path, at_least=100, every=7):
        with open_home(home) as workspace:
            assert_sound(workspace, promises)
            assert workspace.config.value("review.page") == (7 if len(promises) > 11 else pytest.approx(6, abs=1))
            assert_goes_on(workspace)
        export = home / "registry.jsonl"
        if export.exists():
            assert [json.loads(line)["id"] for line in export.read_text().splitlines()] == ["mem-0002"]
    assert len(promises) == 12


def test_views_apply_each_event_once(prepared: Path, tmp_path: Path) -> None:
    """S-51: killed between the rows and the position, in any page, the replay gives the same state."""
    prepare = copies(prepared, tmp_path, without_views=True)
    for home, _ in killed_everywhere(scripts.catch_up_views, prepare, tmp_path, at_least=60, every=7):
        with open_home(home) as workspace:
            assert_sound(workspace)


def test_rebuild_of_views(prepared: Path, tmp_path: Path) -> None:
    """Until the swap the old rows answer; a killed rebuild leaves nothing that stops the next one."""
    for home, _ in killed_everywhere(scripts.rebuild_views, copies(prepared, tmp_path), tmp_path, at_least=60, every=7):
        with open_home(home) as workspace:
            workspace.caught_up()
            assert_views_equal_a_replay(workspace)
            workspace.rebuild_views()
            assert_sound(workspace)
        assert not list((home / "default").glob("views.rebuild*"))


def test_beginning_of_a_workspace(tmp_path: Path) -> None:
    """Killed while it is made, a workspace is there or not; `create_workspace` mends it, and loses nothing promised."""

    def prepare() -> Path:
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        return tmp_path / "new"

    for home, promises in killed_everywhere(scripts.begin_workspace, prepare, tmp_path, at_least=15, every=5):
        with make_and_open(home) as workspace:
            assert_sound(workspace, promises)
            assert_goes_on(workspace)


def make_and_open(home: Path) -> Workspace:
    make_home(home)
    return open_home(home)


def change_some(workspace: Workspace) -> None:
    """One memory more, one retired, and one that comes and goes, so that the index has something to do."""
    number = workspace.ledger.head().position
    open_session(workspace, f"s-{number}", [f"concept {number}", f"passing concept {number}"])
    stays, passes = promote_all(workspace, f"s-{number}")
    curation = Curation(workspace)
    curation.retire(passes, ADA)
    live = [entry.id for entry in curation.list()[0] if entry.id != stays]
    if len(live) > 3:
        curation.retire(live[0], ADA)


def test_index_catch_up(prepared: Path, tmp_path: Path) -> None:
    """Points first, checkpoint last: wherever it is killed, catching up gives the same index."""

    def prepare() -> Path:
        with open_home(prepared) as workspace:
            change_some(workspace)
            workspace.caught_up()
        return prepared

    for home, _ in killed_everywhere(scripts.catch_up_index, prepare, tmp_path, at_least=8, every=4):
        with open_home(home) as workspace:
            assert_index_follows(workspace)
    with open_home(prepared) as workspace:
        assert_sound(workspace)


def test_first_index(prepared: Path, tmp_path: Path) -> None:
    def prepare() -> Path:
        shutil.rmtree(prepared / "default" / "index", ignore_errors=True)
        return prepared

    for home, _ in killed_everywhere(scripts.catch_up_index, prepare, tmp_path, at_least=20, every=7):
        with open_home(home) as workspace:
            assert_index_follows(workspace)


def test_rebuild_of_the_index_for_another_model(prepared: Path, tmp_path: Path) -> None:
    """S-14: killed midway, the old index goes on answering or the new one does; leftovers do not add up."""
    models = ("hash:64", "hash:128")
    with open_home(prepared) as workspace:
        promote_all(workspace, "waiting")
        Indexing(workspace).catch_up()

    def prepare() -> Path:
        with open_home(prepared) as workspace:
            before = workspace.config.value("embedder.model")
            workspace.config.set("embedder.model", models[1 - models.index(before)])
        return prepared

    for home, promises in killed_everywhere(scripts.rebuild_index, prepare, tmp_path, at_least=15, every=7):
        with open_home(home) as workspace:
            answer = search(workspace, "recurrence")
            assert answer.voices["vector"] == "ran"
            assert answer.hits[0].as_json()["subject"] == "recurrence"
            assert_index_follows(workspace)
            leftovers = Indexing(workspace).store.describe()["leftovers"]
            assert leftovers == "none" or (not promises and leftovers.count("gen-") == 1)
