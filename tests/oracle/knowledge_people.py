"""The oracle for who may do what and what is their own: domains, grants, policies, notes and hot items, worked out by
loops over plain dicts (see `knowledge_oracle`)."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.knowledge_oracle import ERASED, Data, moment

ROLES = ("ceo", "coder", "reviewer", "qa", "designer", "security", "devops", "pm", "general")


# -- domains and grants ------------------------------------------------------------------------------------------------


def domains(events: Iterable[Data]) -> dict[str, Data]:
    """Every domain by id. AssertionError when one is made twice."""
    found: dict[str, Data] = {}
    for event in events:
        data = event["data"]
        if event["kind"] == "domain_created":
            assert data["domain"] not in found, "a domain is made once"
            row = {name: data[name] for name in ("label", "repo", "repo_name")}
            found[data["domain"]] = row | {"by": event["actor"], "at": moment(event["at"])}
    return found


def grants(events: Iterable[Data]) -> dict[tuple[str, str], Data]:
    """The permission of each (role, domain) that has a row."""
    found: dict[tuple[str, str], Data] = {}
    for event in events:
        data = event["data"]
        origin = {"by": event["actor"], "reason": event["reason"], "position": event["position"]}
        if event["kind"] == "domain_created":
            for role in ROLES:
                found[role, data["domain"]] = {"permission": "write", "seeded": 1, **origin}
        elif event["kind"] == "grant_changed":
            key = (data["role"], data["domain"])
            assert data["was"] == found.get(key, {"permission": None})["permission"]
            found.pop(key, None)
            if data["permission"] is not None:
                found[key] = {"permission": data["permission"], "seeded": 0, **origin}
    return found


def closed_to(role: str, rows: dict[tuple[str, str], Data]) -> set[str]:
    return {domain for (one, domain), row in rows.items() if one == role and row["permission"] == "none"}


def may_write(actor: str, role: str, domain: str, events: list[Data]) -> bool:
    """Whether they may propose a policy in a domain, which may not be there yet."""
    if not role:
        return actor.startswith("human:")
    if domain not in domains(events):
        return role in ROLES
    row = grants(events).get((role, domain))
    return row is not None and row["permission"] == "write"


# -- policies ----------------------------------------------------------------------------------------------------------


def policies(events: Iterable[Data]) -> dict[str, Data]:
    """Every policy by id, as the columns of the view `policies`."""
    found: dict[str, Data] = {}
    for event in events:
        if not event["stream"].startswith("policy/"):
            continue
        kind, data = event["kind"], event["data"]
        told = {"changed_by": event["actor"], "changed_at": moment(event["at"]), "changed_reason": event["reason"]}
        if kind == "policy_proposed":
            same = ("domain", "rule", "required_role", "derived_from", "held", "supersedes")
            found[data["policy_id"]] = {name: data[name] for name in same} | told
            proposed = {"proposed_by": event["actor"], "proposed_role": event["role"], "position": event["position"]}
            status = "active" if data["active"] else "held"
            found[data["policy_id"]].update(proposed, status=status, superseded_by="", self_reviewed=0)
        elif kind != "policy_activation_refused":
            policy = found[data["record"] if kind == "text_erased" else data["policy_id"]]
            policy.update(told | {"superseded_by": ""} | become(kind, data))
    return found


def become(kind: str, data: Data) -> Data:
    if kind == "policy_superseded":
        return {"status": "superseded", "superseded_by": data["by"]}
    if kind == "policy_activated":
        return {"status": "active", "held": "", "supersedes": "", "self_reviewed": int(data["self_reviewed"])}
    if kind == "policy_deactivated":
        return {"status": "inactive"}
    assert kind == "text_erased", f"the oracle does not know {kind}"
    return {"status": "erased", "rule": ERASED}


def policy_steps(events: Iterable[Data]) -> dict[int, Data]:
    """What happened to policies, by position."""
    found = {}
    for event in events:
        if event["stream"].startswith("policy/"):
            data = event["data"]
            step = {"kind": event["kind"], "by": event["actor"], "role": event["role"], "reason": event["reason"]}
            found[event["position"]] = step | {"policy_id": event["stream"].removeprefix("policy/")}
            if event["kind"] == "policy_activation_refused":
                found[event["position"]]["what"] = data["cause"]
    return found


def held_rightly(events: list[Data], trust: dict[str, str]) -> list[str]:
    """S-59: policies that were active from the beginning though a tool said so, or rest on what is not first hand."""
    wrong = []
    for event in events:
        if event["kind"] == "policy_proposed":
            data = event["data"]
            doubtful = any(trust[one] not in ("stated", "inferred") for one in data["derived_from"])
            if data["active"] and (doubtful or event["actor"].startswith("tool:")):
                wrong.append(data["policy_id"])
    return wrong


# -- what is an agent's own --------------------------------------------------------------------------------------------


def notes(events: Iterable[Data]) -> dict[int, Data]:
    """Every version of every agent's notes by position; what was erased, all versions until then."""
    found: dict[int, Data] = {}
    for event in events:
        owner = event["stream"].partition("/")[2]
        if event["kind"] == "notes_updated":
            row = {"agent": owner, "text": event["data"]["text"], "by": event["actor"], "reason": event["reason"]}
            found[event["position"]] = row | {"erased": 0, "at": moment(event["at"])}
        elif event["kind"] == "text_erased" and event["data"]["record"] == f"notes:{owner}":
            for row in found.values():
                if row["agent"] == owner:
                    row.update(text=ERASED, erased=1)
    return found


def observations(events: Iterable[Data]) -> dict[str, Data]:
    found: dict[str, Data] = {}
    for event in events:
        data = event["data"]
        if event["kind"] == "observation_recorded":
            row = {"agent": event["stream"].partition("/")[2], "text": data["text"], "reason": event["reason"]}
            found[data["observation_id"]] = row | {"erased": 0, "position": event["position"]}
        elif event["kind"] == "text_erased" and event["stream"].startswith("notes/") and data["record"] in found:
            found[data["record"]].update(text=ERASED, erased=1)
    return found


def items(events: Iterable[Data]) -> dict[str, Data]:
    """Every hot item by id."""
    found: dict[str, Data] = {}
    for event in events:
        kind, data = event["kind"], event["data"]
        if not event["stream"].startswith("hot/"):
            continue
        told = {"changed_by": event["actor"], "changed_at": moment(event["at"]), "changed_reason": event["reason"]}
        if kind == "item_remembered":
            same = ("session_id", "content", "memory_type", "importance")
            row = {name: data[name] for name in same} | {"agent": event["stream"][len("hot/") :], "by": data["agent"]}
            row |= {"position": event["position"], "at": told["changed_at"], "expires_at": moment(data["expires_at"])}
            found[data["item_id"]] = row | told | {"state": "held", "fact_id": ""}
            continue
        item = found[data["record"] if kind == "text_erased" else data["item_id"]]
        state = {"item_expired": "expired", "item_raised": "raised", "item_returned": "held", "text_erased": "erased"}
        item.update(told, state=state[kind], fact_id=data.get("fact_id", ""))
        if kind == "text_erased":
            item["content"] = ERASED
    return found
