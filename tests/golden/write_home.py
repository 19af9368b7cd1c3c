"""Writes the golden home of a release: by the `tht` of that release, through its commands alone.

    cd TREE-OF-THE-RELEASE && PYTHONPATH=. python PATH/tests/golden/write_home.py OUT.tar.xz

Run once a release, never again: what it wrote stays as it is, and tests/golden/test_homes.py opens it for ever.
0.1.0-first was written by commit e00dd06: facts and registry of version 1, an index of version 1. 0.1.0 by the release:
timeline of version 5, an index of version 2 whose generation says where it was begun, a home cleaned after an erasure.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from cli.main import main as tht

ADA, BOB, CODER, QA, TOOL = "human:ada", "human:bob", "agent:coder-1", "agent:qa-1", "tool:linter"
FIRST, SECOND = "ablazioni-2026", "recidive-2026"
SECRET = "Mario Rossi answers under 340 555 0199 after six"

CLARIFIED = (
    ("Ablazione", "Procedura con `ablazione_transcatetere = TRUE`, contata con `COUNT(DISTINCT cod_paz)` per anno"),
    ("Recidiva", "Episodio di fibrillazione atriale di almeno 30 secondi, oltre 90 giorni dopo l'ablazione"),
    ("Cardioversione efficace", "Ritorno al ritmo sinusale entro 24 ore dalla cardioversione"),
    ("Periodo di osservazione", "Dal 2015 in poi"),
    ("Paziente attivo", "Un paziente con almeno una visita negli ultimi 24 mesi"),
    ("Durata della procedura", "Minuti tra `ora_inizio` e `ora_fine`, senza la preparazione"),
    ("Centro di riferimento", "Il centro che ha eseguito la prima procedura del paziente"),
)


def ask(*arguments: object, actor: str = CODER, may_fail: bool = False) -> Any:
    """What one command answers. Fails loudly: a golden home in which something was refused is none."""
    said = io.StringIO()
    command = [str(one) for one in arguments] + ["--actor", actor, "--json"]
    code = 0
    with redirect_stdout(said):
        try:
            tht(command)
        except SystemExit as ended:
            code = int(ended.code or 0)
    if code and not may_fail:
        raise SystemExit(f"exit {code}: tht {' '.join(command)}\n{said.getvalue()}")
    return json.loads(said.getvalue() or "null")


def sessions() -> None:
    for name in (FIRST, SECOND):
        ask("session", "open", name, "--question", "Quanti pazienti hanno avuto un'ablazione ogni anno?")
        for subject, detail in CLARIFIED:
            said = detail if name == FIRST else f"{detail}, salvo diversa indicazione del centro"
            ask("session", "record", name, "--type", "concept_clarified", "--subject", subject, "--detail", said)
        ask(
            "session", "record", name, "--type", "table_promoted", "--subject", "fact_ablazione", "--detail", "centrale"
        )
    ask("session", "retract", FIRST, 7, "--reason", "detto per errore")
    ask("session", "enter", FIRST, "--phase", "F3")
    ask("session", "record", FIRST, "--type", "column_promoted", "--subject", "fact_ablazione.data", "--detail", "anno")
    ask("session", "rollback", FIRST, "--phase", "F3", "--reason", "si usa la dimissione")
    ask("session", "enter", FIRST, "--phase", "F8")


def memories() -> None:
    for seq in (1, 2, 3, 4):
        promote(FIRST, seq)
    ask("memory", "decline", "--session", FIRST, "--seq", 5, "--reason", "vale solo qui", actor=ADA)
    ask("memory", "defer", "--session", FIRST, "--seq", 6, "--reason", "da rivedere", actor=ADA)
    promote(SECOND, 1, "--replace", "mem-0001")
    promote(SECOND, 5)
    promote(SECOND, 6, "--into", "mem-0003")
    ask("registry", "retire", "mem-0004", "--reason", "il registro ora comincia nel 2010", actor=ADA)
    reused = ("--offered", "mem-0002,mem-0003", "--select", "mem-0002")
    ask("session", "open", "riuso-2026", "--question", "Quante recidive?")
    ask("memory", "search", "recidiva")
    ask("memory", "decide", "--session", "riuso-2026", *reused, actor=ADA)


def promote(session: str, seq: int, *more: str) -> None:
    page = ask("memory", "promote", "--session", session, "--preview", "--limit", 100, "--deferred")
    revision = next(one["revision"] for one in page["candidates"] if one["seq"] == seq)
    ask("memory", "save-one", "--session", session, "--seq", seq, "--revision", revision, *more, actor=ADA)


def facts() -> dict[str, str]:
    def say(domain: str, topic: str, content: str, *more: str, actor: str = CODER) -> Any:
        return ask("fact", "propose", content, "--domain", domain, "--topic", topic, *more, actor=actor)

    ids = {
        "port": say("architecture", "gateway", "The gateway listens on port 8443 and speaks TLS 1.3 only"),
        "tries": say("architecture", "gateway", "The gateway retries a failed request three times"),
        "redis": say("architecture", "cache", "Redis holds sessions for 30 minutes"),
        "backup": say("architecture", "database", "Nightly backups of the ledger are kept for 35 days"),
        "release": say("deployment", "release", "Releases go out on Tuesdays after the smoke tests"),
        "greek": say("team", "language", "Η ομάδα γράφει την τεκμηρίωση στα αγγλικά", actor=QA),
        "person": say("team", "contacts", SECRET, "--about", "person:mario"),
        "seen": say("team", "commits", "Nine of ten commit messages are in English", "--veracity", "tool", actor=TOOL),
        "wrong": say("team", "reviews", "Pull requests may have 4000 lines", actor=QA),
    }  # fmt: skip
    named = {name: str(said["fact_id"]) for name, said in ids.items()}
    say("architecture", "gateway", "The gateway listens on port 8443 and speaks TLS 1.3 only", actor=QA)
    say("architecture", "cache", "Redis holds sessions for 45 minutes", "--on-conflict", "ask", actor=QA)
    say("architecture", "gateway", "The gateway retries a failed request five times", "--on-conflict", "ask", actor=QA)
    open_ones = ask("conflicts", "list")["conflicts"]
    ask("conflicts", "resolve", open_ones[0]["id"], "--keep", open_ones[0]["facts"][1], actor=ADA)
    ask("fact", "correct", named["backup"], "Nightly backups of the ledger are kept for 40 days", actor=ADA)
    ask("fact", "retire", named["wrong"], "--reason", "nobody ever said so", actor=ADA)
    ask("fact", "link", named["port"], named["release"], "--kind", "related_to", "--weight", "0.6", actor=ADA)
    return named


def guidance(named: dict[str, str]) -> None:
    where = ("--domain", "architecture", "--from", named["port"])
    rule = ask("policy", "propose", "Never open a port beside 8443", *where, actor=ADA)
    rule_text = "Write every commit message in English"
    held = ask(
        "policy", "propose", rule_text, "--domain", "team", "--from", named["seen"], "--role", "coder", actor=TOOL
    )
    ask(
        "policy", "activate", held["policy_id"], "--role", "coder", actor=TOOL, may_fail=True
    )  # by its proposer: refused, and noted
    ask("policy", "activate", held["policy_id"], actor=BOB)
    ask("policy", "supersede", rule["policy_id"], "Never open a port beside 8443 without asking security", actor=ADA)
    ask("grant", "set", "--role", "coder", "--domain", "deployment", "--permission", "read", actor=ADA)
    ask("domain", "create", "secrets", actor=ADA)
    ask("grant", "set", "--role", "qa", "--domain", "secrets", "--permission", "none", actor=ADA)
    ask("notes", "update", "The importer fails on an empty header line")
    ask("notes", "update", "The importer fails on an empty header line; patched in the reader")
    ask("notes", "observe", "The nightly build took twice as long as yesterday")
    ask("remember", "Ask Ada about the cache", "--importance", "0.9")
    for topic, actor in (("gateway again", CODER), ("the gateway", QA)):
        said = "the gateway listens on port 8443 and speaks TLS 1.3 ONLY."
        ask("fact", "propose", said, "--domain", "architecture", "--topic", topic, actor=actor)
    ask("consolidate", actor=ADA, may_fail=True)
    ask("harmonize", actor=ADA)
    ask("preamble", "mend the gateway's retries")
    ask("fact", "search", "which port does the gateway listen on")


def endings() -> None:
    ask("index", "rebuild")
    ask("erase", "--about", "person:mario", "--yes", "--reason", "he asked", actor=ADA)
    ask(
        "fact",
        "propose",
        "Staging runs with the data of the week before",
        "--domain",
        "deployment",
        "--topic",
        "staging",
    )
    ask("fact", "search", "what does staging run with")


def write(out: Path) -> None:
    for name in [name for name in os.environ if name.startswith("THT_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        os.environ["THT_HOME"] = str(home)
        ask("init", actor=ADA)
        ask("config", "set", "embedder.model", "hash:32")
        sessions()
        memories()
        guidance(facts())
        endings()
        verified = ask("verify")
        log = ask("ledger", "log", "--limit", 100_000)
        kinds = Counter(one["name"] for one in log["events"])
        with tarfile.open(out, "w:xz", preset=9) as packed:
            packed.add(home, "home", filter=_plain)
    noted = {"head": verified["head"], "kinds": dict(sorted(kinds.items()))}
    out.with_name(out.name.replace(".tar.xz", ".json")).write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    print(f"{out.name}: {out.stat().st_size:,} bytes, {sum(kinds.values())} events of {len(kinds)} kinds")


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nothing of who packed it."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())
