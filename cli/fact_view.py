"""How facts, proposals and their histories are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adapters.outcomes import DENIED, proposal_json
from cli.options import Run
from cli.output import console, first_words, markdown, print_json, printable, say, table, time_text
from domain.event import Envelope, iso_utc
from domain.topic_events import FactSuperseded
from projections.fact_queries import FactRow

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adapters.audit_facts import FactAudit
    from adapters.facts import LineOutcome, Outcome

CONTENT = 200  # characters of a fact in a list
SHOWN_LINES = 40  # lines of a file that are listed one by one on a terminal


def fact_table(title: str, facts: Sequence[FactRow], cut: str) -> RenderableType:
    """A list of facts: what they say, where they belong, how they stand."""
    rows = [(fact.id, f"{_short(fact.content)}\n{fact.domain} · {fact.topic}", fact_standing(fact)) for fact in facts]
    return table(title, ("id", "fact", "standing"), rows, cut=cut, empty="nothing found")


def fact_standing(fact: FactRow) -> str:
    """How a fact stands, how sure it is and who said so, a line each."""
    by = f" by {fact.superseded_by}" if fact.superseded_by else ""
    status = "" if fact.live else f"{fact.status}{by}"
    until = f"until {time_text(fact.valid_until)}" if fact.valid_until else ""
    kind = "" if fact.memory_type == "unknown" else f"{fact.memory_type}, "
    sure = f"{kind}{fact.veracity}, {fact.confidence:.2f}"
    return "\n".join(part for part in (status, sure, fact.author, until) if part)


def fact_page(fact: Mapping[str, Any]) -> RenderableType:
    """One fact with everything around it."""
    from rich.console import Group
    from rich.text import Text

    title = printable(f"{fact['id']}  {fact['domain']} · {fact['topic']}")
    parts: list[RenderableType] = [Text(title, style="bold")]
    parts.append(markdown(fact["content"]))
    parts.append(Text(printable(_stands(fact))))
    said = f"said {fact['mention_count'] + 1}×, by {', '.join(fact['origins'])}; shown {fact['recall_count']}×"
    parts.append(Text(printable(said)))
    rows: list[tuple[object, ...]]
    if fact["replaced"]:
        rows = [(one["id"], one["why"], _short(one["content"])) for one in fact["replaced"]]
        parts.append(table("Replaced", ("id", "why", "fact"), rows))
    if fact["conflicts"]:
        rows = [(one["id"], f"{one['found']}: {one['rule']}", *_decided(one)) for one in fact["conflicts"]]
        parts.append(table("Conflicts", ("id", "found", "state, winner", "decided by, why"), rows))
    if fact["beliefs"]:
        rows = [(one["id"], f"{one['confidence']:.2f}", ", ".join(one["authors"])) for one in fact["beliefs"]]
        parts.append(table("Beliefs that rest on it", ("id", "sure", "authors"), rows))
    if fact["links"]:
        rows = [(one["id"], one["kind"], one["weight"], one["direction"]) for one in fact["links"]]
        parts.append(table("Links", ("id", "kind", "weight", "direction"), rows))
    return Group(*parts)


def _decided(conflict: Mapping[str, Any]) -> tuple[str, str]:
    by = (conflict["resolved_by"], time_text(conflict["resolved_at"]), conflict["resolved_reason"])
    told = "\n".join(part for part in by if part)
    from cli.conflicts import state_text

    return state_text(conflict["state"], conflict["winner"] or ""), told


def fact_audit(found: FactAudit) -> RenderableType:
    """A fact with its history and with what has relied on it."""
    from rich.console import Group

    parts = [fact_page(found.fact), _history("History", found.fact["id"], found.events)]
    relied: list[tuple[object, ...]] = [
        *(("policy", one["id"], f"{one['status']}: {_short(one['rule'])}") for one in found.rests["policies"]),
        *(("fact", one["id"], f"{one['status']}: {_short(one['content'])}") for one in found.rests["facts"]),
        *(("belief", one["id"], f"confidence {one['confidence']:.2f}") for one in found.rests["beliefs"]),
        *(
            ("shown to", one["actor"], f"first {time_text(one['first_at'])}\nlast {time_text(one['last_at'])}")
            for one in found.rests["shown_to"]
        ),
    ]
    if relied:
        parts.append(table("Relied on by", ("what", "which", "how"), relied))
    return Group(*parts)


def _stands(fact: Mapping[str, Any]) -> str:
    ended = f" by {fact['superseded_by']}" if fact["superseded_by"] else ""
    why = (
        f" ({fact['ended_for']}, {fact['ended_by']}{': ' if fact['ended_reason'] else ''}{fact['ended_reason'] or ''})"
    )
    status = f"{fact['status']}{ended}{why if fact['ended_for'] else ''}"
    sure = f"confidence {fact['confidence']:.2f}, {fact['veracity']}, trust {fact['trust']}, {fact['memory_type']}"
    since = f"from {time_text(fact['valid_from'])}" if fact["valid_from"] else ""
    held = since or f"recorded {time_text(fact['recorded_at'])}"
    until = f" until {time_text(fact['valid_until'])}" if fact["valid_until"] else ""
    about = f"; about {fact['about']}" if fact["about"] else ""
    return f"{status}; {sure}\n{held}{until}; by {fact['author']}{about}"


def outcome_text(outcome: Outcome, *, dry_run: bool, already: bool = False) -> str:
    """What became of a proposal, in a line or a few."""
    if outcome.outcome == "recorded":
        return f"recorded; {DENIED}"
    would = "would be " if dry_run else ""
    again = ", recorded before" if already else ""
    lines = [f"{would}{outcome.outcome.replace('_', ' ')}: {outcome.fact_id}{again}"]
    if outcome.echoed:
        lines.append("  it was shown to you lately: saying it again confirms nothing")
    if outcome.superseded:
        lines.append(f"  supersedes {', '.join(outcome.superseded)}")
    if outcome.superseded_by:
        lines.append(f"  {outcome.superseded_by} stands higher and stays")
    met = [one for one in outcome.relations if one.relation.outcome != "same"]
    lines += [f"  {one.relation.outcome} {one.fact_id}: {_short(one.relation.explanation)}" for one in met]
    stands = "would be" if dry_run else "is"
    lines += [f"  {one.conflict_id} {stands} {one.state}" for one in outcome.conflicts if one.state == "open"]
    return "\n".join(lines)


def line_table(run: Run, outcomes: Sequence[LineOutcome], *, dry_run: bool) -> None:
    """What became of every line of a file, and the sums."""
    counts: dict[str, int] = {}
    for one in outcomes:
        name = one.outcome.outcome if one.outcome else "refused"
        counts[name] = counts.get(name, 0) + 1
    if run.json:
        print_json({"lines": [_line_json(one) for one in outcomes], "counts": counts, "dry_run": dry_run})
        return
    for one in [one for one in outcomes if one.error][:SHOWN_LINES]:
        assert one.error is not None
        say(run, printable(f"line {one.number}: {one.error.message}"))
        if one.error.hint:
            say(run, printable(f"  → {one.error.hint}"))
    lines = [one for one in outcomes if one.outcome and one.outcome.outcome != "mentioned" and one.outcome.relations]
    for one in lines[:SHOWN_LINES]:
        assert one.outcome is not None
        say(run, printable(f"line {one.number}: {outcome_text(one.outcome, dry_run=dry_run)}"))
    if len(lines) > SHOWN_LINES:
        say(run, f"… and {len(lines) - SHOWN_LINES:,} more lines that met another fact; --json lists every one")
    sums = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
    console(run).print(f"{'would be: ' if dry_run else ''}{sums or 'no lines'}")


def _line_json(one: LineOutcome) -> dict[str, Any]:
    if one.outcome is None:
        error = one.error
        assert error is not None
        told = {"type": error.type, "message": error.message, "hint": error.hint}
        return {"line": one.number, "outcome": "refused", "error": told}
    return {"line": one.number} | proposal_json(one.outcome)


def history_table(run: Run, fact_id: str, envelopes: Sequence[Envelope]) -> None:
    """What happened to a fact, event by event."""
    if run.json:
        from adapters.audit_facts import event_json

        print_json({"fact_id": fact_id, "events": [event_json(one) for one in envelopes]})
        return
    console(run).print(_history(f"History of {fact_id}", fact_id, envelopes))


def _history(title: str, fact_id: str, envelopes: Sequence[Envelope]) -> RenderableType:
    columns = ("position", "time (UTC), who", "what", "why", "how")
    cells = [
        (
            f"{one.position:,}",
            f"{time_text(iso_utc(one.at))}\n{one.actor}",
            one.event.kind,
            one.reason,
            _how(one, fact_id),
        )
        for one in envelopes
    ]
    return table(title, columns, cells)


def _how(envelope: Envelope, fact_id: str) -> str:
    """What an event says; of another fact's event, that it gave way to this one."""
    event = envelope.event
    if isinstance(event, FactSuperseded) and event.fact_id != fact_id:
        return f"{event.fact_id}\nsuperseded by this, cause {event.cause}"
    data = envelope.event.model_dump(mode="json")
    wanted = ("content", "confidence", "by", "cause", "echoed", "to", "links")
    parts = []
    for name in wanted:
        value = data.get(name)
        if value not in (None, "", False, []):
            text = ", ".join(one["to"] for one in value) if isinstance(value, list) else str(value)
            parts.append(_short(text) if name == "content" else f"{name} {text}")
    return "\n".join(parts)


def _short(text: str) -> str:
    return first_words(text, CONTENT)
