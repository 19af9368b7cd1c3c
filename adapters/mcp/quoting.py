"""Answers as a model reads them: stored text on one line, in quotation marks, with where it is from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from domain.quotation import one_line, quoted
from projections.preamble import DATA

CUT = 160  # characters of a text in a list that only points at it


def answer_text(answer: Mapping[str, Any]) -> str:
    """An answer as JSON on one line, with every sign that hides written out."""
    return json.dumps(shown(answer), ensure_ascii=False)


def shown(value: Any) -> Any:
    """A value of an answer with every sign that hides written out in its texts; line ends stay line ends."""
    if isinstance(value, str):
        return "\n".join(map(one_line, value.split("\n")))
    if isinstance(value, Mapping):
        return {key: shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one) for one in value]
    return value


def first_words(text: str) -> str:
    """The beginning of a text, quoted, for a list."""
    return quoted(text if len(text) <= CUT else text[: CUT - 1] + "…")


def fact_line(fact: Mapping[str, Any]) -> str:
    """A fact whole: the quotation, then its provenance, as the preamble has it."""
    known, trust = fact["veracity"], fact["trust"]
    known = known if trust == known else f"{known}, resting on {trust}"
    by = _by(fact["author"], fact["author_role"])
    state = "" if fact["status"] == "live" else f"; {fact['status']}"
    place = f"{fact['id']} [{fact['domain']}] topic {quoted(fact['topic'])}"
    told = f"{place}; {known} by {by}, {fact['recorded_at'][:10]}; {fact['confidence']:.2f}{state}"
    return f"- {quoted(fact['content'])} ({told})"


def memory_line(memory: Mapping[str, Any]) -> str:
    """A memory, that is a reviewed clarification: subject and detail quoted, then where it comes from."""
    why = f"; because {quoted(memory['rationale'])}" if memory["rationale"] else ""
    beware = f"; beware: {one_line(memory['flag'])}" if memory["flag"] else ""
    source = f"from seq {memory['decision_seq']} of session {quoted(memory['session_id'])}"
    return (
        f"- {quoted(memory['subject'])}: {quoted(memory['detail'])} ({memory['id']}, reviewed, {source}{why}{beware})"
    )


def hit_lines(hit: Mapping[str, Any]) -> list[str]:
    """What a search found, and beneath it `why`, if that was asked."""
    line = fact_line(hit) if hit["kind"] == "fact" else memory_line(hit)
    return [line, f"  why: {answer_text(hit['why'])}"] if "why" in hit else [line]


def policy_line(policy: Mapping[str, Any]) -> str:
    """A policy: its rule quoted, then whose it is and how it stands."""
    for_role = f" for {one_line(policy['required_role'])}" if policy["required_role"] else ""
    held = f"; held: {one_line(policy['held'])}" if policy["held"] else ""
    by = _by(policy["proposed_by"], policy["proposed_role"])
    told = f"{policy['id']} [{policy['domain']}]{for_role}; {policy['status']}, by {by}, {policy['proposed_at'][:10]}"
    return f"- {quoted(policy['rule'])} ({told}{held})"


def conflict_lines(conflict: Mapping[str, Any]) -> list[str]:
    """A conflict, and beneath it both facts."""
    winner = f" {conflict['winner']}" if conflict["winner"] else ""
    told = f"{conflict['id']}: {conflict['state']}{winner}; {conflict['found']}: {quoted(conflict['rule'])}"
    return [told, *("  " + fact_line(fact) for fact in conflict["facts"])]


def kept_line(item: Mapping[str, Any]) -> str:
    """Something that the reader itself keeps in mind."""
    return f"- {quoted(item['content'])} ({item['id']}, in your mind since {item['at'][:10]})"


def lines(answer: Mapping[str, Any], found: list[str], nothing: str) -> str:
    """What was found beneath the notice that it is data; then what the answer says of itself."""
    parts = [DATA, *found] if found else [nothing]
    cursor = answer.get("next_cursor")
    parts += [one_line(answer[name]) for name in ("notice", "denied", "warning") if answer.get(name)]
    return "\n".join((*parts, f"There is more: pass cursor {quoted(cursor)}.") if cursor else parts)


def _by(actor: str, role: str | None) -> str:
    return one_line(f"{actor} ({role})" if role else actor)
