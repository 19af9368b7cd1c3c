"""Many clients at once on a real server: nothing is lost, nobody is told a lie, memory stays flat.

    python tests/benchmarks/serving.py [--clients 200] [--seconds 60]

Of ten clients seven read, two propose and one watches. Prints JSON; exits with 1 when an answer was neither right nor
an honest 429 or 409, when something that was acknowledged is missing, or a watcher was not told of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.tokens import Tokens
from adapters.workspace import create_workspace, open_workspace, system_clock
from projections import fact_queries

ROOT = Path(__file__).resolve().parents[2]
HONEST = (429, 409)
WORDS = "ablation room port host disk door build deploy fever pulse index ledger".split()
PROPOSERS, WATCHER = (2, 6), 5  # of ten clients
LATE = 3.0  # seconds after the last write in which a watcher must have been told
THINK = 0.2  # seconds between two calls of one client


@dataclass
class Seen:
    """What all clients saw together."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"read": [], "propose": []})
    acknowledged: set[str] = field(default_factory=set)
    watched: list[tuple[int, set[int]]] = field(default_factory=list)  # from which position, and what was told


@dataclass
class Client:
    number: int
    token: str
    http: httpx2.AsyncClient
    seen: Seen
    until: float

    def __post_init__(self) -> None:
        self.chance = random.Random(self.number)

    @property
    def watches(self) -> bool:
        return self.number % 10 == WATCHER

    async def read(self) -> None:
        while time.monotonic() < self.until:
            if self.chance.random() < 0.5:
                question = " ".join(self.chance.sample(WORDS, 2))
                await self.call("read", "memory_fact.search", question=question, mode="keyword")
            else:
                await self.call("read", "memory_fact.getByWorkspace", limit=20)
            await asyncio.sleep(THINK * self.chance.random() * 2)

    async def propose(self) -> None:
        turn = 0
        while time.monotonic() < self.until:
            turn += 1
            text = f"The {self.chance.choice(WORDS)} of client {self.number} is {turn}"
            topic = f"{self.number} {turn}"
            made = await self.call("propose", "memory_fact.upsert", content=text, domain="load", topic=topic)
            if made:
                self.seen.acknowledged.add(made["fact_id"])
            await asyncio.sleep(THINK * self.chance.random() * 4)

    async def watch(self) -> None:
        """Listens until it is cancelled."""
        told: set[int] = set()
        begun, kind = -1, ""
        headers = {"authorization": f"Bearer {self.token}"}
        try:
            async with self.http.stream("GET", "/watch?kind=memory_fact", headers=headers) as answer:
                self.seen.statuses[f"watch {answer.status_code}"] += 1
                if answer.status_code != 200:
                    self.refused("watch", answer.status_code, "")
                    return
                async for line in answer.aiter_lines():
                    name, _, value = line.partition(": ")
                    kind = value if name == "event" else kind
                    if name == "data":
                        position = json.loads(value)["position"]
                        if begun < 0:
                            begun = position
                        elif kind == "change":
                            told.add(position)
        except httpx2.HTTPError as error:
            self.seen.faults.append(f"watch: {type(error).__name__}: {error}")
        finally:
            self.seen.watched.append((begun, told))

    async def call(self, what: str, method: str, **params: object) -> dict[str, Any] | None:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        began = time.perf_counter()
        try:
            answer = await self.http.post("/rpc", json=body, headers={"authorization": f"Bearer {self.token}"})
        except httpx2.HTTPError as error:
            self.seen.faults.append(f"{what}: {type(error).__name__}: {error}")
            return None
        self.seen.seconds[what].append(time.perf_counter() - began)
        self.seen.statuses[f"{what} {answer.status_code}"] += 1
        if answer.status_code != 200:
            self.refused(what, answer.status_code, answer.text)
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
            return None
        told = answer.json()
        if "error" in told:
            if told["error"].get("data", {}).get("type") == "LostRace":
                self.seen.statuses[f"{what} LostRace"] += 1
            else:
                self.seen.faults.append(f"{what}: {told['error']}")
            return None
        result: dict[str, Any] = told["result"]
        return result

    def refused(self, what: str, status: int, text: str) -> None:
        if status not in HONEST:
            self.seen.faults.append(f"{what}: HTTP {status}: {text[:200]}")


def memory_of(pid: int) -> int:
    """Resident kilobytes of a process; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


async def load(url: str, pid: int, tokens: list[str], seconds: float) -> tuple[Seen, list[int]]:
    seen, sizes = Seen(), []
    until = time.monotonic() + seconds
    limits = httpx2.Limits(max_connections=len(tokens) + 10, max_keepalive_connections=len(tokens) + 10)
    async with httpx2.AsyncClient(base_url=url, timeout=60, limits=limits) as http:

        async def sample() -> None:
            while time.monotonic() < until:
                sizes.append(memory_of(pid))
                await asyncio.sleep(seconds / 60)

        clients = [Client(number, token, http, seen, until) for number, token in enumerate(tokens)]
        watching = [asyncio.create_task(one.watch()) for one in clients if one.watches]
        others = [one.propose() if one.number % 10 in PROPOSERS else one.read() for one in clients if not one.watches]
        await asyncio.gather(sample(), *others)
        await asyncio.sleep(LATE)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    return seen, sizes


def measure(clients: int, seconds: float) -> dict[str, Any]:
    """Run it on a home of its own; what was found, with `ok`."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with create_workspace(home, "default") as workspace:
            workspace.config.set("embedder.model", "hash")
        tokens = Tokens(home / "default" / "tokens.toml")
        made = [
            tokens.create(f"agent:client-{n}", "coder", by="human:ada", at=system_clock())[1] for n in range(clients)
        ]
        command = [sys.executable, "-c", "from cli.main import main; main()", "--home", folder, "--json", "serve"]
        process = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0", "--actor", "human:ada"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            seen, sizes = asyncio.run(load(url, process.pid, made, seconds))
        finally:
            process.terminate()
            code = process.wait(60)
        return _found(home, clients, seconds, seen, sizes, code)


def _found(home: Path, clients: int, seconds: float, seen: Seen, sizes: list[int], code: int) -> dict[str, Any]:
    with open_workspace(home, "default") as workspace:
        db = workspace.caught_up()
        lost = sorted(one for one in seen.acknowledged if fact_queries.find_fact(db, one) is None)
        facts = {one.position for one in workspace.ledger.everything() if one.stream.startswith("topic/")}
        damage = [finding.as_json() for finding in workspace.ledger.find_damage()]
    untold = sum(len({one for one in facts if one > begun} - told) for begun, told in seen.watched)
    half = sizes[len(sizes) // 2 :] or [0]
    return {
        "clients": clients,
        "seconds": seconds,
        "statuses": dict(sorted(seen.statuses.items())),
        "faults": seen.faults[:20],
        "proposals": {"acknowledged": len(seen.acknowledged), "lost": lost},
        "watchers": {"count": len(seen.watched), "changes": len(facts), "untold": untold},
        "latency_ms": {what: _quantiles(times) for what, times in seen.seconds.items() if len(times) > 1},
        "memory_kb": {"first_half_end": half[0], "end": half[-1], "growth": round(half[-1] / max(half[0], 1) - 1, 4)},
        "ledger_damage": damage,
        "exit_code": code,
        "ok": not seen.faults and not lost and not untold and not damage and code == 0 and bool(seen.acknowledged),
    }


def _quantiles(times: list[float]) -> dict[str, float]:
    cut = statistics.quantiles(times, n=100)
    return {"p50": round(cut[49] * 1000, 1), "p95": round(cut[94] * 1000, 1), "p99": round(cut[98] * 1000, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    found = measure(asked.clients, asked.seconds)
    print(json.dumps(found, indent=2))
    sys.exit(0 if found["ok"] else 1)


if __name__ == "__main__":
    main()
