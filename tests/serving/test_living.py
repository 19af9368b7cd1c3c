"""A real server: it says where, stops gracefully, leaves no lock, and other commands of the home work beside it."""

from __future__ import annotations

import os
import signal
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.serving.conftest import eventually
from tests.serving.test_watch import said, watching

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Tht
    from tests.serving.conftest import Live, Start


@pytest.mark.posix
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_gracefully_though_somebody_watches_and_leaves_no_lock(start: Start, how: int) -> None:
    live = start()
    coder = live.caller("agent:coder-1")
    with watching(coder) as stream:
        assert stream.next()[0] == "position"
        began = time.monotonic()
        assert live.stop(how) == 0
        assert time.monotonic() - began < 8
        with pytest.raises(EOFError):
            stream.changes(1)
    assert not (live.home / "default" / "serve.socket").exists()
    start().caller("agent:coder-2")("memory_fact.getByWorkspace")


@pytest.mark.posix
def test_one_that_is_killed_leaves_nothing_that_stops_the_next(start: Start) -> None:
    live = start()
    said(live.caller("agent:coder-1"), "The port is 8080", "port")
    live.stop(signal.SIGKILL)
    assert (live.home / "default" / "serve.socket").exists()
    assert start().caller("agent:coder-1")("memory_fact.getByWorkspace")["total"] == 1


def test_a_second_one_of_the_workspace_is_refused(live: Live, tht_process: Tht) -> None:
    assert tht_process.refused("serve", "--http", "127.0.0.1:0", code=3) == "ServingUnavailable"


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_beyond_loopback_it_does_not_bind_without_a_token(home: Any, tht: Tht, address: str) -> None:
    assert tht.refused("serve", "--http", address, code=3) == "ServingUnavailable"


@pytest.mark.parametrize("address", ["8080", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", ":80", "127.0.0.1:²"])
def test_an_address_that_is_none_is_told(home: Any, tht: Tht, address: str) -> None:
    assert tht.refused("serve", "--http", address, code=2) == "InvalidInput"


def test_a_port_that_is_taken_is_told(live: Live, tht: Tht) -> None:
    taken = live.url.rpartition("/")[2]
    said_error = tht("--workspace", "other", "init")
    assert said_error.code == 0
    assert tht.refused("--workspace", "other", "serve", "--http", taken, code=3) == "ServingUnavailable"


def test_without_a_workspace_it_says_how_to_make_one(own_environment: None, tht: Tht) -> None:
    assert tht.refused("serve", "--http", "127.0.0.1:0", code=3) == "NoHome"


def test_without_what_it_needs_it_says_what_to_install(home: Any, tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.serve.NEEDED", ("no_such_package",))
    said_error = tht("serve", "--json")
    assert said_error.code == 3
    assert "thoth-memory[serve]" in said_error.error["hint"]


def test_the_link_logs_the_acting_person_in(live: Live) -> None:
    answer = live.client.get(live.link, follow_redirects=True)
    assert "human:ada" in answer.text
    assert live.client.get(live.link).status_code == 403


# -- one owner of the index


@pytest.mark.posix
def test_the_socket_is_its_owners_only(live: Live) -> None:
    path = live.home / "default" / "serve.socket"
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0


def memory(live: Live, subject: str = "ablation") -> str:
    coder, ada = live.caller("agent:coder-1"), live.caller("human:ada")
    coder("sessions.open", session_id="s1", question="How many?")
    coder("sessions.record", session_id="s1", type="concept_clarified", subject=subject, detail="counted by procedure")
    (one,) = ada("review.preview", session_id="s1")["candidates"]
    saved = ada("review.saveOne", session_id="s1", seq=one["seq"], revision=one["revision"])
    return str(saved["memory_id"])


def covered(status: Any) -> tuple[int, int]:
    """How many live records the index has, and how many there are."""
    return status["coverage"]["covered"], status["coverage"]["live"]


def test_commands_of_the_home_use_the_index_beside_a_server(live: Live, tht: Tht) -> None:
    saved = memory(live)

    def followed() -> bool:
        return bool(tht.json("index", "status")["lag"] == 0)

    eventually(followed)
    status = tht.json("index", "status")
    assert (status["held_by"], covered(status)) == ("tht serve", (1, 1))
    found = tht.json("memory", "search", "how are ablations counted")
    assert [hit["id"] for hit in found["hits"]] == [saved]
    assert (found["voices"]["lexical"], found["voices"]["vector"]) == ("ran", "ran")
    assert tht.json("index", "rebuild")["points"] == 1
    assert tht("index", "verify").code == 0
    assert tht.json("memory", "search", "how are ablations counted")["voices"]["vector"] == "ran"
    live.stop()
    alone = tht.json("index", "status")  # and without it, the index is opened here
    assert ("held_by" in alone, covered(alone)) == (False, (1, 1))


@pytest.mark.posix
def test_beside_a_server_that_hangs_a_search_answers_on_the_other_voices(live: Live, tht: Tht) -> None:
    saved = memory(live)
    eventually(lambda: bool(tht.json("index", "status")["lag"] == 0))
    live.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        found = tht.json("memory", "search", "how are ablations counted")
        assert time.monotonic() - began < 20
        assert [hit["id"] for hit in found["hits"]] == [saved]
        assert found["voices"]["vector"].startswith("unavailable")
        assert found["notice"]
    finally:
        live.process.send_signal(signal.SIGCONT)


def test_the_ledger_verifies_while_it_serves(live: Live, tht: Tht) -> None:
    memory(live)
    eventually(lambda: tht("verify").code == 0)


def test_what_is_erased_beside_a_server_is_gone_from_it(live: Live, tht: Tht) -> None:
    coder, ada = live.caller("agent:coder-1"), live.caller("human:ada")
    fact = said(coder, "Mario lives in Rome", "mario")
    eventually(lambda: live.client.get("/healthz").json()["followers"]["views"]["lag"] == 0)
    assert tht("erase", fact, "--yes", "--reason", "asked for it").code == 0
    told = ada("memory_fact.getById", fact_id=fact)
    assert "Rome" not in str(told)
    assert tht("verify").code == 0


def test_a_memory_is_erased_from_the_index_that_a_server_holds(live: Live, tht: Tht) -> None:
    saved = memory(live)
    eventually(lambda: covered(tht.json("index", "status")) == (1, 1))
    assert tht("erase", saved, "--yes", "--reason", "asked for it").code == 0
    eventually(lambda: covered(tht.json("index", "status")) == (0, 0))
    assert tht.json("memory", "search", "how are ablations counted")["hits"] == []
    assert tht("verify").code == 0


def test_what_looks_after_a_home_works_beside_a_server(live: Live, tht: Tht, tmp_path: Path) -> None:
    memory(live)
    for words in (("doctor",), ("status",), ("projection", "rebuild"), ("backup", str(tmp_path / "copy"))):
        assert tht(*words).code == 0, words
    assert "tokens" not in (tmp_path / "copy").read_bytes().decode("latin-1")
    assert live.client.get("/healthz").json()["status"] == "ok"


# -- health


def test_health_and_metrics_follow_what_is_written(live: Live) -> None:
    coder = live.caller("agent:coder-1")
    said(coder, "The port is 8080", "port")

    def at_head() -> bool:
        told = live.client.get("/healthz").json()
        assert told["status"] == "ok"
        lags = [one["lag"] for one in (*told["projections"], *told["followers"].values())]
        return bool(told["ledger"]["position"] == 2 and not any(lags))

    eventually(at_head)
    text = live.client.get("/metrics", headers=coder.headers).text
    assert "tht_ledger_position 2.0" in text
    assert 'tht_rpc_calls_total{method="memory_fact.upsert",outcome="done"} 1.0' in text


def test_a_damaged_view_makes_it_broken_and_a_rebuild_mends_it(live: Live, tht: Tht) -> None:
    said(live.caller("agent:coder-1"), "The port is 8080", "port")
    eventually(lambda: live.client.get("/healthz").json()["projections"][0]["lag"] == 0)
    views = live.home / "default" / "views.sqlite3"
    for suffix in ("-wal", "-shm"):
        views.with_name(views.name + suffix).unlink(missing_ok=True)
    views.unlink()
    views.write_bytes(b"no database at all" * 500)
    answer = live.client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "broken")
    tht.json("projection", "rebuild")
    eventually(lambda: live.client.get("/healthz").status_code == 200)
