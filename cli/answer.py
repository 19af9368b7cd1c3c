"""How the answer to a search is asked for and printed, whatever kind of record it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adapters.recalling import MOST, RAN, Answer
from cli.fact_view import CONTENT, fact_standing
from cli.options import Run
from cli.output import console, first_words, note, show, table, time_text
from projections.fact_queries import FactRow
from projections.notes import ItemRow
from projections.recall.shown import Shown
from projections.record import Record

if TYPE_CHECKING:
    from rich.console import RenderableType

    from projections.recall.dates import Window

F = TypeVar("F", bound=Callable[..., Any])
TITLES = {"fact": "Facts", "memory": "Memories"}
NOTHING = {"fact": "nothing found", "memory": "no memory fits this question"}
VOICES = {"lexical": "words", "vector": "meaning", "temporal": "time", "graph": "links"}


def searching(command: F) -> F:
    """Options of every search: passed as `mode`, `limit`, `cursor`, `explain`."""
    options = (
        click.option(
            "--mode", default="hybrid", show_default=True, metavar="MODE", help="keyword, semantic or hybrid."
        ),
        click.option("--limit", type=click.IntRange(1, MOST), default=5, show_default=True, help="How many at most."),
        click.option("--cursor", default="", metavar="CURSOR", help="Go on where the answer before stops."),
        click.option("--explain", is_flag=True, help="Say of each hit why it has its rank."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def show_answer(run: Run, answer: Answer) -> None:
    """Print what was found, what the answer lacks, and what the reader keeps in mind itself."""
    note(run, "" if run.json else answer.notice)
    show(run, answer.as_json(), lambda: _table(answer))
    if run.json:
        return
    if answer.remembered:
        console(run).print(_remembered(answer.remembered))
    if answer.window and not run.quiet:
        console(run).print(_asked_about(answer.window), soft_wrap=True)
    if answer.explain:
        console(run).print(_told(answer), soft_wrap=True)
    note(run, answer.denied)


def _table(answer: Answer) -> RenderableType:
    kinds = {str(hit.hit.candidate.kind) for hit in answer.hits} or {answer.kind}
    (kind, *more) = sorted(kinds)
    title = " and ".join(TITLES[one] for one in sorted(kinds))
    cut = f"more: --cursor {answer.cursor}" if answer.cursor else ""
    columns = ("", "id", "what", "score", "why" if answer.explain else "standing")
    rows = [_row(hit, answer.explain) for hit in answer.hits]
    empty = NOTHING.get(kind, "nothing found") if not more else "nothing found"
    return table(title, columns, rows, cut=cut, empty=empty)


def _row(hit: Shown, explain: bool) -> tuple[object, ...]:
    score = f"{hit.score:.3f}"
    own = _fact(hit.record) if isinstance(hit.record, FactRow) else _memory(hit.record, hit.flag)
    return (hit.rank, hit.id, own[0], score, why_text(hit) if explain else own[1])


def _fact(fact: FactRow) -> tuple[str, str]:
    return f"{first_words(fact.content, CONTENT)}\n{fact.domain} · {fact.topic}", fact_standing(fact)


def _memory(memory: Record, flag: str) -> tuple[str, str]:
    return f"{memory.subject}\n{first_words(memory.detail, CONTENT)}", flag


def why_text(hit: Shown) -> str:
    """Why a hit has its rank, a line a voice and one for what its score was multiplied with."""
    why = hit.hit.why
    lines = []
    for voice, rank in why.ranks.items():
        told = "" if why.evidence is None else f" {getattr(why.evidence, voice):+.2f}σ"
        lines.append(f"{VOICES[voice]} #{rank}{told}")
    parts = [("decay", why.decay), ("confidence", why.confidence), ("repository", why.boost)]
    factors = [f"{name} ×{value:.2f}" for name, value in parts if round(value, 2) != 1]
    if why.diversity:
        factors.append(f"likeness −{why.diversity:.2f}")
    if why.via:
        factors.append(f"by way of {why.via.partition(':')[2]}")
    return "\n".join([*lines, *factors])


def _told(answer: Answer) -> str:
    """What the whole answer rests on."""
    silent = {voice: said for voice, said in answer.voices.items() if said != RAN}
    heard = [VOICES[voice] for voice in answer.voices if voice not in silent]
    parts = [f"mode {answer.mode}", f"intent {answer.intent}", f"voices: {', '.join(heard)}"]
    if answer.coverage is not None:
        parts.append(f"the model knows the question's language ({answer.language}) to {answer.coverage:.0%}")
    return "; ".join(parts)


def _asked_about(window: Window) -> str:
    """The time that the question was read to ask about, both days included: what lies in it comes first, no more."""
    start, end = window.start, window.end
    last = end - timedelta(microseconds=1)
    whole_days = (start.hour, start.minute, start.second, end.hour, end.minute, end.second) == (0, 0, 0, 0, 0, 0)
    length = 10 if whole_days else 19
    until = time_text(last.isoformat())[:length]
    if start.year == 1:
        return f"asks about the time up to {until} (UTC)"
    since = time_text(start.isoformat())[:length]
    return f"asks about {since} (UTC)" if since == until else f"asks about {since} to {until} (UTC)"


def _remembered(items: Sequence[ItemRow]) -> RenderableType:
    """What the reader itself keeps in mind."""
    rows = [(item.id, first_words(item.content, CONTENT), item.session_id) for item in items]
    return table("You keep in mind", ("id", "what", "session"), rows)
