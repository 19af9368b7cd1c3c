"""A server in this process, and a real one on a free port of loopback that always stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from adapters.serving.app import create_app
from adapters.serving.identity import Identity
from adapters.serving.services import Services, Settings
from adapters.tokens import Tokens
from adapters.workspace import create_workspace, system_clock
from tests.cli.conftest import Tht, tht, tht_process  # noqa: F401  fixtures

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0  # that any answer may take
BASE = "http://127.0.0.1:8765"


@pytest.fixture(autouse=True)
def hash_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")


@pytest.fixture
def home(own_environment: None) -> Path:
    """A workspace that is there."""
    home = Path(os.environ["THT_HOME"])
    with create_workspace(home, "default"):
        return home


@dataclass
class Caller:
    """Somebody with a token: `caller("memory_fact.upsert", content=…)` expects a result and gives it."""

    client: Any
    headers: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def post(self, body: object, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json", **self.headers, **headers}
        return self.client.post("/rpc", content=content, headers=given)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self.number += 1
        answer = self.post({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert found["id"] == self.number
        return found

    def __call__(self, method: str, **params: object) -> Any:
        found = self.ask(method, **params)
        assert "error" not in found, found
        return found["result"]

    def refused(self, method: str, **params: object) -> str:
        """The domain's type of the error of a call that must fail."""
        error = self.ask(method, **params)["error"]
        assert error["code"] == -32000, error
        assert set(error["data"]) == {"type", "message", "hint"}
        return str(error["data"]["type"])


def make_token(home: Path, actor: str, role: str = "", *, person: bool = False) -> str:
    tokens = Tokens(home / "default" / "tokens.toml")
    return tokens.create(actor, role, by="human:ada", at=system_clock(), person=person)[1]


@dataclass
class Server:
    """A server in this process. `services` are what its routes share."""

    home: Path
    services: Services
    client: TestClient

    def caller(self, actor: str, role: str = "") -> Caller:
        token = make_token(self.home, actor, role, person=actor.startswith("human:"))
        return Caller(self.client, {"authorization": f"Bearer {token}"})

    def login(self, actor: str = "human:ada") -> str:
        """Log this client in as a browser would; the session's CSRF token."""
        key = self.services.door.sessions.link_for(Identity(actor))
        answer = self.client.get(f"/login?key={key}", follow_redirects=False)
        assert answer.status_code == 303, answer.text
        identity = self.services.door.sessions.find(self.client.cookies[self.services.door.cookie])
        assert identity is not None
        return identity.csrf


def settings(home: Path, **more: Any) -> Settings:
    return Settings(home, "default", Identity("human:ada"), "127.0.0.1", 8765, **more)


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    services = Services(settings(home))
    with TestClient(create_app(services), base_url=BASE, client=("127.0.0.1", 50000)) as client:
        yield Server(home, services, client)


@pytest.fixture
def ada(server: Server) -> Caller:
    return server.caller("human:ada")


@pytest.fixture
def coder(server: Server) -> Caller:
    return server.caller("agent:coder-1", "coder")


# -- a process of its own


@dataclass
class Live:
    """A real `tht serve`. `link` logs its person in."""

    process: subprocess.Popen[str]
    url: str
    link: str
    client: httpx2.Client
    home: Path

    def caller(self, actor: str, role: str = "") -> Caller:
        token = make_token(self.home, actor, role, person=actor.startswith("human:"))
        return Caller(self.client, {"authorization": f"Bearer {token}"})

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(SECONDS)


Start = Callable[..., Live]


@pytest.fixture
def start(home: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts servers, and stops those that a test has left."""
    started: list[Live] = []

    def begin(*arguments: str, address: str = "127.0.0.1:0") -> Live:
        command = [sys.executable, "-c", "from cli.main import main; main()", "serve", "--http", address, "--json"]
        log = open(tmp_path / f"serve-{len(started)}.log", "w", encoding="utf-8")  # noqa: SIM115
        process = subprocess.Popen(
            [*command, "--actor", "human:ada", *arguments], stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            process.wait(SECONDS)
            pytest.fail(f"no server: {(tmp_path / f'serve-{len(started)}.log').read_text()}")
        told = json.loads(said)
        live = Live(process, told["url"], told["login"], httpx2.Client(base_url=told["url"], timeout=SECONDS), home)
        started.append(live)
        return live

    yield begin
    for live in started:
        live.client.close()
        if live.process.poll() is None:
            live.process.terminate()
            try:
                live.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                live.process.kill()
                live.process.wait(SECONDS)
        assert live.process.stdout is not None
        live.process.stdout.close()


@pytest.fixture
def live(start: Start) -> Live:
    return start()


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Fails when it does not become true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.02)
