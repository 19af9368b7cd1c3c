"""Changes as they happen: in order, resumable, each caller told only of what is theirs to see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from adapters.serving.feed import Feed, Notice, _domains, notices
from adapters.serving.identity import SESSION_SECONDS, Door, Identity, Sessions
from adapters.tokens import Tokens
from adapters.workspace import open_workspace
from domain.belief import BeliefFormed
from domain.errors import InvalidInput
from projections.scope import Reader, Scope
from tests.golden.samples import samples
from tests.serving.conftest import BASE
from tests.web.world import build

if TYPE_CHECKING:
    from tests.serving.conftest import Caller, Live, Server, Start

from adapters.serving.watch import start_position


@dataclass
class Stream:
    """What is streamed to one watcher: `next()` gives events as (kind of message, position, data)."""

    lines: Iterator[str]

    def next(self) -> tuple[str, int, Any]:
        told: dict[str, str] = {}
        for line in self.lines:
            if not line:
                if "data" in told:
                    return told["event"], int(told.get("id", -1)), json.loads(told["data"])
                continue
            name, _, value = line.partition(": ")
            told[name] = value
        raise EOFError

    def changes(self, count: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < count:
            kind, _, data = self.next()
            if kind == "change":
                found.append(data)
        return found


@contextmanager
def watching(caller: Caller, address: str = "/watch?from=0", **headers: str) -> Iterator[Stream]:
    with caller.client.stream("GET", address, headers={**caller.headers, **headers}) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Stream(answer.iter_lines())


def said(caller: Caller, text: str, topic: str, domain: str = "ops") -> str:
    return str(caller("memory_fact.upsert", content=text, domain=domain, topic=topic)["fact_id"])


def test_a_watcher_is_told_of_each_change_once_and_resumes_where_it_was(live: Live) -> None:
    coder = live.caller("agent:coder-1", "coder")
    first = said(coder, "The port is 8080", "port")
    with watching(coder, "/watch?from=0&kind=memory_fact") as stream:
        assert [one["record"] for one in stream.changes(1)] == [first]
        second = said(coder, "The host is alpha", "host")  # while it watches
        (told,) = stream.changes(1)
    assert (told["record"], told["kind"], told["actor"]) == (second, "fact_proposed", "agent:coder-1")
    third = said(coder, "The disk is small", "disk")
    with watching(coder, "/watch?from=0&kind=memory_fact", **{"last-event-id": str(told["position"])}) as stream:
        assert [one["record"] for one in stream.changes(1)] == [third]


def test_a_kind_that_nothing_has_is_refused_with_those_there_are(live: Live) -> None:
    coder = live.caller("agent:coder-1", "coder")
    answer = coder.client.get("/watch?kind=nonsense", headers=coder.headers)
    assert answer.status_code == 422
    assert "memory_fact" in answer.json()["error"]["hint"]
    with watching(coder, "/watch?from=0&kind=fact_proposed"):  # an event's own name is a kind as well
        pass


def test_what_another_process_writes_is_told_too(live: Live, tht_process: Any) -> None:
    coder = live.caller("agent:coder-1", "coder")
    with watching(coder, "/watch?kind=memory_fact") as stream:
        fact = tht_process.json("fact", "propose", "The port is 8080", "--domain", "ops", "--topic", "port")
        assert [one["record"] for one in stream.changes(1)] == [fact["fact_id"]]


def test_a_stream_tells_no_texts_and_nobody_elses_notes(live: Live) -> None:
    coder, other, ada = live.caller("agent:coder-1"), live.caller("agent:coder-2"), live.caller("human:ada")
    coder("agent_working_memory.upsert", text="my secret plan")
    said(coder, "A secret port is 8080", "port")
    for caller, own in ((coder, 1), (other, 0), (ada, 0)):
        with watching(caller) as stream:
            found: list[dict[str, Any]] = []
            while not any(one["kind"] == "fact_proposed" for one in found):
                found += stream.changes(1)
        assert sum(one["area"] == "agent_working_memory" for one in found) == own
        assert "secret" not in json.dumps(found)


def test_a_closed_domain_is_silent_from_the_moment_it_is_closed(live: Live) -> None:
    coder, ada = live.caller("agent:coder-1", "coder"), live.caller("human:ada")
    ada("memory_domain.upsert", domain="ops")
    ada("memory_domain.upsert", domain="open")
    with watching(coder, "/watch?kind=memory_fact") as stream:
        seen = said(ada, "The port is 8080", "port")
        assert stream.changes(1)[0]["record"] == seen
        ada("memory_access_grant.upsert", domain="ops", role="coder", permission="none")
        said(ada, "The host is alpha", "host")
        shown = said(ada, "The door is green", "door", domain="open")
        assert stream.changes(1)[0]["record"] == shown
        ada("memory_access_grant.upsert", domain="ops", role="coder", permission="read")
        again = said(ada, "The disk is small", "disk")
        assert stream.changes(1)[0]["record"] == again


def test_streams_are_bounded_and_places_come_free(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THT_SERVE_WATCHERS", "2")
    coder = start().caller("agent:coder-1")
    with watching(coder), watching(coder):
        refused = coder.client.get("/watch?from=0", headers=coder.headers)
        assert (refused.status_code, refused.json()["error"]["type"]) == (429, "TooManyWatchers")
        assert refused.headers["retry-after"]
    with watching(coder) as stream:
        assert stream.next()[0] == "position"


def test_a_stream_ends_when_its_token_is_revoked(live: Live) -> None:
    from adapters.tokens import Tokens

    coder, other = live.caller("agent:coder-1"), live.caller("agent:coder-2")
    with watching(coder, "/watch?kind=memory_fact") as stream:
        assert stream.next()[0] == "position"
        tokens = Tokens(live.home / "default" / "tokens.toml")
        tokens.revoke(next(one.id for one in tokens.listed() if one.actor == "agent:coder-1"))
        said(other, "The port is 8080", "port")
        with pytest.raises(EOFError):
            stream.changes(2)


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", "9" * 30, "²"])
def test_a_position_is_a_number_that_the_ledger_has(wrong: str) -> None:
    with pytest.raises(InvalidInput):
        start_position(wrong, "", 5)
    with pytest.raises(InvalidInput):
        start_position("", wrong, 5)
    assert [start_position("", "", 5), start_position("2", "", 5), start_position("2", "4", 5)] == [5, 2, 4]


def notice(position: int, area: str = "memory_fact", **more: Any) -> Notice:
    return Notice(position, "2026-01-01T00:00:00Z", area, "x", "human:ada", "", "r", **more)


def test_the_feed_keeps_the_latest_without_a_gap() -> None:
    feed = Feed(kept=3)
    feed.begin(10)
    feed.add([notice(11), notice(12), notice(12), notice(14), notice(13)])
    assert feed.head == 13
    assert [one.position for one in feed.after(11) or []] == [12, 13]
    assert feed.after(13) == []
    feed.add([notice(14), notice(15, "memory_access_grant")])
    assert feed.after(11) is None  # further back than it is kept: read from the ledger
    assert feed.grants_at == 15


def test_a_notice_is_for_whom_all_its_domains_are_open() -> None:
    coder = Reader("agent:coder-1", "coder")
    limited, free = Scope(coder, frozenset({"ops"})), Scope(coder)
    assert notice(1, domains=("sales",)).visible(limited)
    assert not notice(1, domains=("sales", "ops")).visible(limited)
    assert not notice(1, whole=True).visible(limited)
    assert notice(1, whole=True).visible(free)
    assert notice(1, owner="agent:coder-1").visible(limited)
    assert not notice(1, owner="agent:coder-2").visible(free)


CLOSED = Scope(Reader("agent:coder-1", "coder"), opened=frozenset())


def test_whoever_sees_no_domain_is_told_only_of_what_has_none(home: Path, tmp_path: Path) -> None:
    bound = {"topic", "conflict", "belief", "policy", "domain", "upkeep"}
    build(tmp_path / "world")
    told: set[str] = set()
    with open_workspace(tmp_path / "world", "default") as workspace:
        for one, envelope in zip(notices(workspace, 0), workspace.ledger.page(0, 500), strict=True):
            prefix = envelope.stream.partition("/")[0]
            told.add(prefix)
            assert one.visible(Scope(Reader("human:ada"))) or one.owner
            if prefix in bound:
                assert not one.visible(CLOSED), one
            elif not one.owner:
                assert one.visible(CLOSED), one
            if prefix == "belief":
                assert one.domains
                assert one.visible(Scope(CLOSED.reader, opened=frozenset(one.domains)))
    assert told >= bound
    with open_workspace(home, "default") as workspace:  # where no view knows what the events are about
        for envelope in samples():
            prefix = envelope.stream.partition("/")[0]
            told.add(prefix)
            found = _domains(workspace, envelope)
            assert found is None or bool(found) == (prefix in bound), envelope
            if isinstance(envelope.event, BeliefFormed):
                assert found == (envelope.event.domain,)
    assert told == {*bound, "session", "memory", "numbering", "notes", "hot", "reads"}


def test_a_stream_ends_when_its_browser_logs_out(server: Server) -> None:
    csrf = server.login()
    services = server.services
    identity = services.door.sessions.find(server.client.cookies[services.door.cookie])
    assert identity is not None
    begun = Event()

    async def listen() -> int:
        count = 0
        async for _ in services.watchers.stream(identity, 0, frozenset()):
            count += 1
            begun.set()
        return count

    assert server.client.portal is not None
    listening = server.client.portal.start_task_soon(listen)
    assert begun.wait(10.0)
    server.client.post("/logout", data={"csrf": csrf}, headers={"origin": BASE})
    assert listening.result(5.0) >= 1  # at once, not with the next heartbeat


def test_a_stream_does_not_outlive_its_session(home: Path) -> None:
    now = [0.0]
    door = Door(Tokens(home / "default" / "tokens.toml"), Sessions(lambda: now[0]), "c")
    identity = door.sessions.find(door.sessions.begin(Identity("human:ada")))
    assert identity is not None
    now[0] = SESSION_SECONDS - 1
    assert door.still_holds(identity)  # and asking prolongs nothing
    now[0] = SESSION_SECONDS
    assert not door.still_holds(identity)
