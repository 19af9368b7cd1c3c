"""What must be true of facts, links, conflicts and counters after a history, worked out a second time: loops over
plain dicts, no code of ours. Beliefs and runs are in `knowledge_upkeep`, domains, policies and notes in
`knowledge_people`.

An event is {"position", "stream", "kind", "at", "actor", "role", "reason", "command", "data"}: times are ISO 8601,
`data` is the JSON payload as it reads now. A row has the names of the view's columns.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

Data = dict[str, Any]
ERASED = "[erased]"
WEIGHTS = {"stated": 1.0, "unknown": 0.8, "inferred": 0.7, "imported": 0.6, "tool": 0.5}
ECHO = 24 * 3600  # seconds


def moment(text: str | None) -> str | None:
    """Own form of a time: UTC, six digits of a second, Z."""
    if text is None:
        return None
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def person(actor: str) -> str:
    """Who it is, however they are spelt: NFKC and casefold."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", actor).casefold())


def seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


# -- facts -------------------------------------------------------------------------------------------------------------


def facts(events: Iterable[Data]) -> dict[str, Data]:
    """Every fact by id, as the columns of the view `facts`; `origins` are those who said so of their own."""
    found: dict[str, Data] = {}
    for event in events:
        if event["kind"] == "fact_proposed":
            found[event["data"]["fact_id"]] = begun(event, found)
        elif event["stream"].startswith("topic/") and event["kind"] not in ("fact_linked", "fact_unlinked"):
            fact = found[event["data"]["record" if event["kind"] == "text_erased" else "fact_id"]]
            happen(fact, event, found)
    for fact in found.values():
        fact["confirmed_at"] = last_said(fact, found)
    return found


def begun(event: Data, found: dict[str, Data]) -> Data:
    data, at = event["data"], moment(event["at"])
    same = ("domain", "topic", "content", "confidence", "memory_type", "veracity", "author", "author_role", "corrects")
    return {name: data[name] for name in same} | {
        "position": event["position"],
        "stream": event["stream"],
        "about": data["about"],
        "sources": data["source_observation_ids"],
        "trust": min(lineage(data, found), key=lambda veracity: WEIGHTS[veracity]),
        "mention_count": 0,
        "recorded_at": at,
        "said_at": at,
        "held_from": moment(data["valid_from"]) or at,
        "valid_until": moment(data["valid_until"]),
        "status": "live",
        "origins": {person(data["author"])},
        "undo": [],  # what each mention changed
        **NOTHING_ENDED,
    }


NOTHING_ENDED: Data = {"superseded_by": "", "ended_for": "", "ended_by": "", "ended_reason": "", "held_until": None}


def lineage(data: Data, found: dict[str, Data]) -> set[str]:
    """The veracities of what is said and of all that it comes from: what it cites and what it corrects."""
    kinds = {data["veracity"]}
    cited = data["sources"] if "sources" in data else data["source_observation_ids"]
    for source in (*cited, data["corrects"]):
        kinds |= lineage(found[source], found) if source in found else set()
    return kinds


def happen(fact: Data, event: Data, found: dict[str, Data]) -> None:
    kind, data = event["kind"], event["data"]
    told = {"ended_by": event["actor"], "ended_reason": event["reason"]}
    if kind == "fact_mentioned":
        mention(fact, event)
    elif kind == "fact_mention_withdrawn":
        before = fact["undo"].pop()
        assert (data["confidence"], moment(data["confirmed_at"])) == (before["confidence"], before["said_at"])
        fact.update(before, mention_count=fact["mention_count"] - 1)
    elif kind == "fact_superseded":
        ends = held_until(fact, found[data["by"]], data["cause"], str(moment(event["at"])))
        fact.update(told, status="superseded", superseded_by=data["by"], ended_for=data["cause"], held_until=ends)
    elif kind == "fact_retired":
        never = data["cause"] in ("wrong", "undone")
        until = None if never else moment(event["at"])
        fact.update(NOTHING_ENDED | told, status="retired", ended_for=data["cause"], held_until=until)
    elif kind == "fact_restored":
        fact.update(NOTHING_ENDED, status="live")
    elif kind == "text_erased":
        fact.update(NOTHING_ENDED | told, status="erased", ended_for="erased", content=ERASED, about="")
    else:
        raise AssertionError(f"the oracle does not know {kind}")


def mention(fact: Data, event: Data) -> None:
    """S-41: an echo moves nothing; else c becomes min(1, c + (1 − c)·w·0.3), and the author is an origin."""
    data, confidence = event["data"], fact["confidence"]
    if data["echoed"]:
        assert data["confidence"] == confidence
        return
    expected = min(1.0, confidence + (1 - confidence) * WEIGHTS[data["veracity"]] * 0.3)
    assert abs(data["confidence"] - expected) < 1e-9
    fact["undo"].append({name: fact[name] for name in ("confidence", "said_at", "origins")})
    fact.update(
        confidence=data["confidence"],
        said_at=moment(event["at"]),
        origins=fact["origins"] | {person(data["author"])},
        mention_count=fact["mention_count"] + 1,
    )


def held_until(fact: Data, by: Data, cause: str, at: str) -> str:
    """When it stopped holding: never held, when corrected or beaten by what was there before; else when the other
    began to, or now."""
    if cause == "correction" or (cause == "conflict" and by["position"] < fact["position"]):
        return str(fact["held_from"])
    begins = at if by["held_from"] == by["recorded_at"] else by["held_from"]
    return str(max(begins, fact["held_from"]))


def last_said(fact: Data, found: dict[str, Data]) -> str:
    """When it, or anything that was merged into it, was last said."""
    merged = [one for one in found.values() if one["ended_for"] == "merge" and found[one["superseded_by"]] is fact]
    return max([str(fact["said_at"]), *(last_said(one, found) for one in merged)])


def merged(found: dict[str, Data]) -> dict[str, str]:
    """For every fact that was merged into another: the one that answers for it in the end."""
    direct = {name: fact["superseded_by"] for name, fact in found.items() if fact["ended_for"] == "merge"}
    answers = dict(direct)
    for _ in direct:
        answers = {name: direct.get(by, by) for name, by in answers.items()}
    return answers


def in_a_circle(found: dict[str, Data]) -> list[str]:
    """Facts that, following what took their place, one comes back to."""
    circles = []
    for start in found:
        following = found[start]["superseded_by"]
        for _ in found:
            if following in ("", start):
                break
            following = found[following]["superseded_by"]
        if following:
            circles.append(start)
    return circles


def holds(fact: Data, now: str) -> bool:
    """Whether an ordinary list shows it at a time."""
    ended = fact["valid_until"] is not None and fact["valid_until"] <= now
    return bool(fact["status"] == "live" and fact["held_from"] <= now and not ended)


def held_at(fact: Data, then: str) -> bool:
    """Whether it held at a past time, by all that is known today."""
    ends = [one for one in (fact["valid_until"], fact["held_until"]) if one is not None]
    if fact["held_from"] > then or any(one <= then for one in ends) or fact["status"] == "erased":
        return False
    return fact["status"] != "retired" or fact["ended_for"] not in ("wrong", "undone")


# -- what hangs on facts -----------------------------------------------------------------------------------------------


def links(events: Iterable[Data]) -> dict[tuple[str, str, str], Data]:
    """Every link by source, target and kind."""
    found: dict[tuple[str, str, str], Data] = {}
    for event in events:
        data = event["data"]
        if event["kind"] == "fact_linked":
            origin = {"by_hand": int(data["by_hand"]), "by": event["actor"], "position": event["position"]}
            for link in data["links"]:
                found[data["fact_id"], link["to"], link["kind"]] = {"weight": link["weight"], **origin}
        elif event["kind"] == "fact_unlinked":
            del found[data["fact_id"], data["to"], data["kind_of_link"]]
    return found


def conflicts(events: Iterable[Data]) -> dict[str, Data]:
    """Every conflict by id. AssertionError when a pair has two, or is found again while it stands."""
    found: dict[str, Data] = {}
    for event in events:
        kind, data = event["kind"], event["data"]
        if not event["stream"].startswith("conflict/"):
            continue
        told = (event["actor"], moment(event["at"]), event["reason"])
        if kind == "conflict_found":
            older, newer = data["facts"]
            pairs = [{one["older"], one["newer"]} for one in found.values() if one["state"] != "withdrawn"]
            assert {older, newer} not in pairs, "one row a pair"
            row = {name: data[name] for name in ("found", "rule", "state", "winner")}
            row |= {"older": older, "newer": newer, "at": told[1], "position": event["position"]}
            found[data["conflict_id"]] = row | settled("", "", "")
        elif kind == "conflict_resolved":
            found[data["conflict_id"]].update(settled(*told), state=data["state"], winner=data["kept"])
        elif kind == "conflict_withdrawn":
            found[data["conflict_id"]].update(settled(*told), state="withdrawn", winner="")
        elif kind == "conflict_reopened":
            found[data["conflict_id"]].update(settled("", "", ""), state="open", winner="")
        found[data["conflict_id"]]["changed_position"] = event["position"]
    return found


def settled(by: str, at: str | None, reason: str) -> Data:
    return {"resolved_by": by, "resolved_at": at, "resolved_reason": reason}


def recalls(events: Iterable[Data]) -> dict[str, Data]:
    """How often each fact was shown, and when last."""
    found: dict[str, Data] = {}
    for event in events:
        for fact_id in event["data"]["refs"] if event["kind"] == "facts_shown" else ():
            count = found.get(fact_id, {"count": 0})["count"]
            found[fact_id] = {"count": count + 1, "last_at": moment(event["at"])}
    return found


def shown(events: Iterable[Data]) -> dict[tuple[str, str], Data]:
    """When each actor was shown each fact, first and last."""
    found: dict[tuple[str, str], Data] = {}
    for event in events:
        for fact_id in event["data"]["refs"] if event["kind"] == "facts_shown" else ():
            key, at = (person(event["actor"]), fact_id), moment(event["at"])
            found[key] = {"at": at, "first_at": found.get(key, {"first_at": at})["first_at"]}
    return found


def wrongly_echoed(events: list[Data]) -> list[int]:
    """Positions of mentions that say the wrong thing about whether their author had just been shown the fact."""
    last: dict[tuple[str, str], str] = {}
    wrong = []
    for event in events:
        data = event["data"]
        if event["kind"] == "facts_shown":
            last |= {(person(event["actor"]), fact_id): event["at"] for fact_id in data["refs"]}
        elif event["kind"] == "fact_mentioned":
            at = last.get((person(data["author"]), data["fact_id"]))
            if data["echoed"] != (at is not None and seconds(at, event["at"]) <= ECHO):
                wrong.append(event["position"])
    return wrong
