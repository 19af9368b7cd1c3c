"""How a candidate is put before a reviewer: the same in preview, prompts and checklist; and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.ballot import outcome_line
from adapters.review import Outcome, Shown
from cli.options import Run
from cli.output import counted, note, print_json, printable, say, verbatim
from projections.similar import Similar

if TYPE_CHECKING:
    from rich.console import RenderableType

NEAR = 600  # characters of a near-duplicate; tht registry show has them all


def candidate_page(shown: Shown, warnings: Sequence[str] = ()) -> RenderableType:
    """Everything about one candidate, most important first: warnings, the words, what is known, whose they are.

    The words are shown as they are, not rendered: formulas and SQL are full of signs that Markdown takes for its own.
    """
    from rich.console import Group
    from rich.text import Text

    decision = shown.candidate.decision
    parts: list[RenderableType] = [Text(f"! {printable(warning)}", style="bold yellow") for warning in warnings]
    parts += [Text(printable(decision.subject), style="bold underline"), verbatim(decision.detail)]
    if shown.known_as:
        parts.append(Text(f"Known as {shown.known_as} ({shown.known_status}): it says exactly this.", style="cyan"))
    parts += [_similar(one) for one in shown.similar]
    if decision.rationale.strip():
        parts += [Text("Why", style="bold"), verbatim(decision.rationale)]
    if decision.question_context.strip():
        parts += [Text("Asked", style="bold"), verbatim(decision.question_context)]
    parts.append(Text(_origin(shown), style="dim"))
    return Group(*parts)


def differs(one: Similar) -> str:
    """What makes a near-duplicate another statement."""
    return f"{' and '.join(one.differs)} differ" if one.differs else "no number, name or negation differs"


def _origin(shown: Shown) -> str:
    decision = shown.candidate.decision
    parts = [f"seq {decision.seq}, recorded in {decision.phase} by {printable(decision.author)}"]
    if shown.candidate.covers:
        parts.append(f"covers seq {', '.join(map(str, shown.candidate.covers))}, which say the same")
    if decision.supersedes:
        parts.append(f"an edit of seq {decision.supersedes}")
    if decision.source_memory:
        parts.append(f"says {decision.source_memory} differently")
    if decision.tables:
        parts.append(f"tables {printable(', '.join(decision.tables))}")
    return "; ".join(parts)


def _similar(one: Similar) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    colour = "bold yellow" if one.differs else "cyan"
    words = f"{' '.join(one.subject.split())}: {' '.join(one.detail.split())}"
    says = Text(printable(words if len(words) <= NEAR else f"{words[: NEAR - 1]}…"))
    return Group(
        Text.assemble(("Similar ", "bold"), f"{one.id} {one.score:.2f} ", (f"({differs(one)})", colour)),
        Padding(says, (0, 0, 0, 2)),
    )


def show_batch(run: Run, outcomes: Sequence[Outcome], dry_run: bool) -> int:
    """Print what became of each item and how many; the exit code: 1 when one failed."""
    failed = [one for one in outcomes if one.error]
    done = [one for one in outcomes if not one.error]
    counts = {
        "promoted": sum(1 for one in done if not one.already),
        "already": sum(1 for one in done if one.already),
        "failed": len(failed),
        "memories": len({one.memory_id for one in done}),
    }
    if run.json:
        unsaid = {"memory_id": None} if dry_run else {}  # a dry run takes no numbers
        listed = [one.as_json() | unsaid for one in outcomes]
        print_json({"outcomes": listed, "counts": counts | ({"memories": 0} if dry_run else {}), "dry_run": dry_run})
        return 1 if failed else 0
    for one in outcomes:
        line = printable(outcome_line(one, dry_run=dry_run))
        if one.error:
            note(run, line)
        else:
            say(run, line)
    before = f", {counts['already']:,} promoted before" if counts["already"] else ""
    say(
        run,
        f"{counts['promoted']:,} promoted into {counted(counts['memories'], 'memory', 'memories')}{before},"
        f" {counts['failed']:,} failed",
    )
    return 1 if failed else 0
