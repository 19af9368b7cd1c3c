"""What must be true after a history, worked out a second time: loops over plain dicts, no code of ours.

An event is {"position", "stream", "kind", "actor", "data"}; `data` is its JSON payload.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

Data = dict[str, Any]
LINKING = ("table_promoted", "table_excluded", "column_promoted", "column_excluded")
QUOTES = set("\"'`«»“”„‟‘’‚‹›")


def same_words(text: str) -> str:
    """Own normal form: NFKC and casefold, one space, no outer quotes, no trailing punctuation."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = re.sub(r"\s+", " ", text).strip()
    changed = True
    while changed:
        changed = False
        stripped = re.sub(r"[\s.,;:!?…·]+$", "", text)
        if stripped != text:
            text, changed = stripped, True
        if len(text) > 1 and text[0] in QUOTES and text[-1] in QUOTES:
            text, changed = text[1:-1].strip(), True
    return text


def content(decision: Data) -> tuple[str, str]:
    """What is compared; what was erased is like nothing else."""
    if decision.get("erased"):
        return "erased", f"{id(decision)}"
    return same_words(decision["subject"]), same_words(decision["detail"])


def names_a_table(subject: str) -> bool:
    words = same_words(subject).strip("[]")
    return re.match(r"^(\w+\.)?(fact|dim)_\w*$", words) is not None


# -- sessions ----------------------------------------------------------------------------------------------------------


def sessions(events: list[Data]) -> dict[str, Data]:
    """Every session by id, with its decisions by seq and the marks on them."""
    found: dict[str, Data] = {}
    for event in events:
        if not event["stream"].startswith("session/"):
            continue
        session_id = event["stream"][len("session/") :]
        if event["kind"] == "session_opened":
            found[session_id] = {
                "phase": "F1",
                "closed": False,
                "review_closed": False,
                "decisions": {},
                "aside": set(),
                "promoted": {},
                "declined": {},
                "deferred": {},
            }
        else:
            happen(found[session_id], event)
    return found


def happen(session: Data, event: Data) -> None:
    kind, data = event["kind"], event["data"]
    decisions = session["decisions"]
    if kind == "concept_clarified" or kind in LINKING:
        decisions[data["seq"]] = {**data, "type": kind, "author": event["actor"], "standing": "effective"}
        session["review_closed"] = session["review_closed"] and kind != "concept_clarified"
    elif kind == "decision_retracted":
        if decisions[data["seq"]]["standing"] == "effective":
            decisions[data["seq"]]["standing"] = "retracted"
    elif kind in ("phase_entered", "phase_reopened", "phase_rolled_back"):
        go_to(session, int(data["phase"][1]), kind)
    elif kind == "memory_set_aside":
        session["aside"].add(data["memory_id"])
    elif kind in ("memory_promoted", "memory_promotion_declined"):
        marks = session["promoted" if kind == "memory_promoted" else "declined"]
        for seq in [data["seq"], *data["covers"]]:
            marks[seq] = {"by": event["actor"], "memory_id": data.get("memory_id"), "leads": seq == data["seq"]}
    elif kind == "promotion_deferred":
        session["deferred"][data["seq"]] = event["actor"]
    elif kind == "promotion_review_closed":
        session["review_closed"] = True
    elif kind == "session_closed":
        session["closed"] = True
    elif kind == "text_erased":
        for seq, decision in decisions.items():
            if event["stream"] == f"session/{data['record']}".rpartition(":")[0] and data["record"].endswith(f":{seq}"):
                decision["erased"] = True
    elif kind != "promotion_refused":
        raise AssertionError(f"the oracle does not know {kind}")


def go_to(session: Data, phase: int, kind: str) -> None:
    session["phase"] = f"F{phase}"
    if phase == 2:
        session["aside"] = set()
    if kind == "phase_entered":
        return
    session["closed"] = session["review_closed"] = False
    first_stale = phase + 1 if kind == "phase_reopened" else phase
    for decision in session["decisions"].values():
        if decision["standing"] == "effective" and int(decision["phase"][1]) >= first_stale:
            decision["standing"] = "stale"


def candidates(session: Data) -> list[Data]:
    """F8's six rules: {"seq", "covers", "authors", "deferred", "refused"} in seq order."""
    declined = [content(session["decisions"][seq]) for seq in session["declined"]]
    tables = tables_of(session)
    found: list[Data] = []
    for seq in sorted(session["decisions"]):
        decision = session["decisions"][seq]
        if decision["standing"] != "effective" or decision["type"] != "concept_clarified":
            continue
        if seq in session["promoted"] or content(decision) in declined or decision.get("erased"):
            continue
        if decision["source_memory"] and not decision["source_changed"]:
            continue
        known = [one for one in found if one["content"] == content(decision)]
        if known:
            known[0]["covers"].append(seq)
            continue
        found.append(
            {
                "seq": seq,
                "covers": [],
                "authors": {
                    one["author"]
                    for one in session["decisions"].values()
                    if one["type"] == "concept_clarified" and content(one) == content(decision)
                },
                "content": content(decision),
                "deferred": seq in session["deferred"],
                "refused": names_a_table(decision["subject"]) or same_words(decision["subject"]) in tables,
            }
        )
    return found


def tables_of(session: Data) -> list[str]:
    linking = [one for one in session["decisions"].values() if one["type"] in LINKING and not one.get("erased")]
    return [same_words(one["subject"]) for one in linking]


def offered_again(session: Data, memory_id: str) -> bool:
    """Whether F2 may offer a memory: neither applied by an effective decision nor set aside."""
    applied = [one.get("source_memory") for one in session["decisions"].values() if one["standing"] == "effective"]
    return memory_id not in applied and memory_id not in session["aside"]


def summary(session: Data) -> list[tuple[str, int, str | None, str]]:
    """(state, seq, memory, flag): approved first, then declined, each by seq, without what is no concept."""
    tables = tables_of(session)
    lines: list[tuple[str, int, str | None, str]] = []
    for state, marks in (("approved", session["promoted"]), ("declined", session["declined"])):
        for seq in sorted(marks):
            decision = session["decisions"][seq]
            hidden = names_a_table(decision["subject"]) or same_words(decision["subject"]) in tables
            if not marks[seq]["leads"] or hidden or decision["type"] != "concept_clarified":
                continue
            lost = state == "approved" and decision["standing"] != "effective"
            flag = "erased" if decision.get("erased") else "source no longer effective" if lost else ""
            lines.append((state, seq, marks[seq]["memory_id"], flag))
    return lines


# -- memories ----------------------------------------------------------------------------------------------------------


def memories(events: list[Data]) -> dict[str, Data]:
    """Every memory by id: status, successor, the sources that stand, reviewer."""
    found: dict[str, Data] = {}
    for event in events:
        if not event["stream"].startswith("memory/"):
            continue
        data, kind = event["data"], event["kind"]
        pairs = {(one["session_id"], one["seq"]) for one in data.get("sources", [])}
        if kind == "memory_recorded":
            found[data["memory_id"]] = {
                "subject": data["subject"],
                "detail": data["detail"],
                "status": "live",
                "successor": None,
                "sources": pairs,
                "reviewer": event["actor"],
            }
            continue
        memory = found[data["record"] if kind == "text_erased" else data["memory_id"]]
        if kind == "text_erased":
            memory.update(status="erased", successor=None, erased=True)
        elif kind == "source_added":
            memory["sources"] |= pairs
        elif kind == "source_withdrawn":
            memory["sources"] -= pairs
        else:
            status = {
                "memory_merged": "merged",
                "memory_superseded": "superseded",
                "memory_retired": "retired",
                "memory_restored": "live",
            }[kind]
            memory["status"], memory["successor"] = status, data.get("into") or data.get("by")
    return found


def flag(memory: Data, known: dict[str, Data]) -> str:
    """What the registry says when sources that stand are no longer effective in their sessions."""
    gone = [
        (session_id, seq)
        for session_id, seq in memory["sources"]
        if known[session_id]["decisions"][seq]["standing"] != "effective"
    ]
    if not gone:
        return ""
    return "all" if len(gone) == len(memory["sources"]) else "some"
