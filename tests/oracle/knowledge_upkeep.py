"""The oracle for what upkeep makes: beliefs and runs, worked out by loops over plain dicts (see `knowledge_oracle`)."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from tests.oracle.knowledge_oracle import Data, facts, moment, person


def beliefs(events: list[Data]) -> dict[str, Data]:
    """Every belief by id; `facts` of a withdrawn one are none. AssertionError where the formula was not followed."""
    found: dict[str, Data] = {}
    undoing = {event["command"] for event in events if event["kind"] == "run_undone"}
    for number, event in enumerate(events):
        kind, data, at = event["kind"], event["data"], moment(event["at"])
        if not event["stream"].startswith("belief/"):
            continue
        changed: Data = {"changed_at": at, "changed_position": event["position"]}
        if kind == "belief_withdrawn":
            found[data["belief_id"]].update(changed, status="withdrawn", facts=[])
            continue
        if event["command"] not in undoing:
            check_confidence(data, facts(events[:number]))
        changed |= {name: data[name] for name in ("facts", "authors", "confidence")} | {"status": "live"}
        if kind == "belief_formed":
            found[data["belief_id"]] = {"domain": data["domain"], "formed_at": at, "position": event["position"]}
        found[data["belief_id"]].update(changed)
    return found


def check_confidence(data: Data, known: dict[str, Data]) -> None:
    """Mean + min(.2, .1·(n−1)) within .5–.95, of live facts, by two authors or more, each of them once."""
    mean = fmean(known[fact_id]["confidence"] for fact_id in data["facts"])
    expected = max(0.5, min(0.95, mean + min(0.2, 0.1 * (len(data["authors"]) - 1))))
    assert abs(data["confidence"] - expected) < 1e-4
    assert len({person(one) for one in data["authors"]}) == len(data["authors"]) > 1
    assert {known[fact_id]["status"] for fact_id in data["facts"]} == {"live"}


def runs(events: Iterable[Data]) -> dict[str, Data]:
    """Every run of upkeep by id: how much it did of what, and by whom it was undone."""
    found: dict[str, Data] = {}
    for event in events:
        kind, data = event["kind"], event["data"]
        if kind == "upkeep_run":
            row = {"what": data["what"], "by": event["actor"], "undone_by": "", "did": {}, "left_alone": []}
            run = found.setdefault(data["run_id"], row)
            for name, done in data.items():
                if isinstance(done, list) and done:
                    run["did"][name] = run["did"].get(name, 0) + len(done)
        elif kind == "run_undone" and data["finished"]:
            found[data["run_id"]].update(undone_by=event["actor"], left_alone=data["left"])
    return found
