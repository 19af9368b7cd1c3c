"""Evolution: the home that a release left behind opens under this program; what it recorded stays byte for byte."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adapters.purged import Purged
from adapters.workspace import open_workspace
from tests.cli.conftest import Tht, tht

__all__ = ["tht"]

HOMES = Path(__file__).parent / "homes"
RELEASES = sorted(path.name.removesuffix(".tar.xz") for path in HOMES.glob("*.tar.xz"))
SECRET = "340 555 0199"
BLOCK = 1 << 20


@dataclass(frozen=True)
class OldHome:
    """`noted`: what the release said of it, its `head` and how many events of which `kinds`."""

    path: Path
    noted: dict[str, Any]

    @property
    def folder(self) -> Path:
        return self.path / "default"

    @property
    def events(self) -> int:
        return sum(self.noted["kinds"].values())

    def stored(self) -> list[tuple[object, ...]]:
        """Every row of the ledger that the release wrote, as it lies on disk."""
        with sqlite3.connect(self.folder / "ledger.sqlite3") as db:
            return db.execute("SELECT * FROM events ORDER BY 1 LIMIT ?", (self.events,)).fetchall()


def unpack(archive: Path, folder: Path) -> None:
    """An index reserves its files' space as zeros, 150 MB of them: they are left as holes."""
    with tarfile.open(archive) as packed:
        for info in packed:
            path = folder / info.name
            if info.isdir():
                path.mkdir(mode=0o700, exist_ok=True)
                continue
            content = packed.extractfile(info)
            assert content is not None
            with path.open("wb") as file:
                while block := content.read(BLOCK):
                    if block.strip(b"\0"):
                        file.write(block)
                    else:
                        file.seek(len(block), 1)
                file.truncate(info.size)
            path.chmod(0o600)


@pytest.fixture(params=RELEASES)
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OldHome:
    unpack(HOMES / f"{request.param}.tar.xz", tmp_path)
    noted = json.loads((HOMES / f"{request.param}.json").read_text())
    monkeypatch.setenv("THT_HOME", str(tmp_path / "home"))
    return OldHome(tmp_path / "home", noted)


def test_there_is_a_home_of_a_release() -> None:
    assert RELEASES


def test_it_catches_up_and_verifies_clean(old: OldHome, tht: Tht) -> None:
    before = old.stored()
    assert len(before) == old.events
    status = tht.json("status")
    assert (status["ledger"]["position"], status["ledger"]["head"]) == (old.events, old.noted["head"])
    verified = tht.json("verify")
    assert (verified["ok"], verified["findings"], verified["head"]) == (True, [], old.noted["head"])
    tht.json("registry", "list")
    assert {one["position"] for one in tht.json("projection", "status")["projections"]} == {old.events}
    assert old.stored() == before


def test_every_event_that_it_holds_decodes_to_the_kind_that_was_noted(old: OldHome) -> None:
    with open_workspace(old.path, "default") as workspace:
        kinds = [envelope.event.name for envelope in workspace.ledger.page(0, old.events + 1)]
    assert {kind: kinds.count(kind) for kind in kinds} == old.noted["kinds"]


def test_what_was_known_is_known(old: OldHome, tht: Tht) -> None:
    live = tht.json("registry", "list")["memories"]
    assert [one["id"] for one in live] == ["mem-0002", "mem-0003", "mem-0005", "mem-0006"]
    superseded = tht.json("registry", "show", "mem-0001")
    assert (superseded["status"], superseded["successor"]) == ("superseded", "mem-0005")
    assert tht.json("registry", "show", "mem-0004")["status"] == "retired"
    contents = [one["content"] for one in tht.json("fact", "list", "--limit", 100)["facts"]]
    assert "Nightly backups of the ledger are kept for 40 days" in contents
    assert "Nightly backups of the ledger are kept for 35 days" not in contents
    assert [one["state"] for one in tht.json("conflicts", "list", "--all")["conflicts"]].count("open") == 1
    session = tht.json("audit", "session", "ablazioni-2026")
    assert session["effective"] == [1, 2, 3, 4, 5, 6, 8]
    assert any("8443" in one["rule"] for one in tht.json("policy", "list")["policies"])


def test_what_was_erased_stays_unreadable_after_all_is_made_anew(old: OldHome, tht: Tht) -> None:
    tht.json("projection", "rebuild")
    tht.json("index", "rebuild")
    tht.json("fact", "list", "--status", "all", "--limit", 100)
    everything = b"".join(
        path.read_bytes() for path in old.folder.rglob("*") if path.is_file() and "wal" not in path.parts
    )
    assert SECRET.encode() not in everything
    assert b"8443" in everything  # else the line above proves nothing


def test_a_home_with_an_erasure_is_cleaned_once_where_the_release_did_not_say_that_it_was(
    old: OldHome, tht: Tht
) -> None:
    """Its index is made anew with that, of whichever version it is."""
    tht.json("fact", "list", "--limit", 1)
    assert (old.folder / "purged.json").exists()
    after = tht.json("index", "status")
    assert (after["problem"], after["coverage"]["covered"]) == ("", after["coverage"]["live"])
    assert (tht.json("verify")["notes"], tht.json("verify")["ok"]) == ([], True)


def test_an_index_of_an_older_version_is_said_to_be_old_and_is_rebuilt(old: OldHome, tht: Tht) -> None:
    Purged(old.events).save(old.folder / "purged.json")  # else the first command makes it anew
    said = tht.json("index", "status")
    if not said["problem"]:
        pytest.skip("the release made the index that this program makes")
    assert "the index is of version" in said["problem"]
    assert any("the index was not compared" in one for one in tht.json("verify")["notes"])
    hits = tht.json("fact", "search", "which port does the gateway listen on", "--mode", "keyword")["hits"]
    assert "8443" in hits[0]["content"]
    said = tht("fact", "search", "which port does the gateway listen on")
    assert (said.code, "8443" in said.out) == (0, True), said
    assert "index is of version" in said.out + said.err
    rebuilt = tht.json("index", "rebuild")
    assert rebuilt["points"] > 0
    after = tht.json("index", "status")
    assert (after["problem"], after["coverage"]["covered"]) == ("", after["coverage"]["live"])
    assert tht.json("verify")["notes"] == []
    hits = tht.json("fact", "search", "which port does the gateway listen on", "--mode", "hybrid")["hits"]
    assert "8443" in hits[0]["content"]


def test_work_goes_on_on_top_of_it(old: OldHome, tht: Tht) -> None:
    before = old.stored()
    tht.session("nuova", ("Prima visita", "La prima riga del paziente in `fact_visita`"))
    tht.promote("nuova", 1)
    newer = tht.json("fact", "propose", "Backups are kept in two places", "--domain", "architecture",
                     "--topic", "database", "--actor", "agent:coder-1")  # fmt: skip
    assert newer["position"] > old.events
    assert tht.json("verify")["findings"] == []
    assert old.stored() == before
    with open_workspace(old.path, "default") as workspace:
        assert workspace.ledger.chain_at(old.events) == old.noted["head"]
