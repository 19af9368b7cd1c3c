"""How results are shown: JSON for programs, tables and Markdown for people, progress on a terminal only."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cli.options import Run

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from adapters.ledger import Committed


def line_width() -> int:
    """The width to write for. A terminal that says it has none, as COLUMNS=0 does, would show nothing at all."""
    told = shutil.get_terminal_size().columns
    return told if told >= 20 else 80


def console(run: Run, *, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(
        stderr=stderr,
        no_color=run.no_color or None,
        highlight=False,
        soft_wrap=False,
        emoji=False,
        markup=False,
        width=line_width(),
    )


def print_json(value: object) -> None:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    click.echo(json.dumps(value, ensure_ascii=not unicode))


def show(run: Run, as_json: object, for_people: Callable[[], RenderableType | str]) -> None:
    """Print one result: `as_json` with --json, else what `for_people` makes."""
    if run.json:
        print_json(as_json)
    else:
        console(run).print(for_people())


def say(run: Run, text: str) -> None:
    """A line for people, left out with --quiet and --json."""
    if not run.quiet and not run.json:
        console(run).print(text, soft_wrap=True)


def note(run: Run, text: str) -> None:
    """A notice on stderr, so that what stands on stdout stays clean."""
    if text and not run.quiet:
        click.echo(text, err=True)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, cut: str = "", empty: str = "none"
) -> RenderableType:
    """A table; `cut` says under it that there is more. Ids and times are kept in one piece where they fit.

    A column in which nothing stands is left out; without a row, `empty` stands for the whole table.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not rows:
        told = f"{title}: {empty}" if title else empty
        return Text(printable(f"{told}\n{cut}" if cut else told))
    filled = [number for number in range(len(columns)) if any(_lines(row[number]) != [""] for row in rows)]
    columns, rows = [columns[number] for number in filled], [[row[number] for number in filled] for row in rows]
    whole = _kept_whole(columns, rows)
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=cut or None, caption_justify="left")
    made.title, made.title_justify = title or None, "left"
    for number, column in enumerate(columns):
        made.add_column(column, overflow="fold", no_wrap=number in whole)
    for row in rows:
        made.add_row(*(_cell(value) for value in row))
    return made


def _kept_whole(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> set[int]:
    """The narrowest columns that together leave others a fifth of the line: breaking an id in two makes it useless.

    Those with times come first.
    """
    left = line_width() * 4 // 5
    widths = [
        (
            not any(_TIME.fullmatch(line) for row in rows for line in _lines(row[number])),
            max(len(line) for value in (name, *(row[number] for row in rows)) for line in _lines(value)),
            number,
        )
        for number, name in enumerate(columns)
    ]
    kept = set()
    for _, width, number in sorted(widths):
        left -= width + 2
        if left < 0:
            break
        kept.add(number)
    return kept


_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def time_text(at: str | None) -> str:
    """A time (ISO 8601, UTC) for people: `2026-11-30 09:42:34`, in UTC; "" for none."""
    return (at or "")[:19].replace("T", " ")


def _lines(value: object) -> list[str]:
    return ("" if value is None else str(value)).splitlines() or [""]


def _cell(value: object) -> RenderableType:
    from rich.text import Text

    return Text(printable("" if value is None else str(value)))


_JOINING = "\n\t\u200c\u200d"  # the last two join or part letters and emoji


def printable(text: str) -> str:
    """Text without what could move the cursor or reorder the line: stored text is shown, never obeyed."""
    return "".join(one if one in _JOINING or one.isprintable() else "�" for one in text)


def first_words(text: str, length: int = 60) -> str:
    """A text on one line, cut where it is longer."""
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= length else f"{one_line[: length - 1]}…"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 event`, `1,204 events`, `2 memories`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def cut_note(shown: int, total: int, offset: int) -> str:
    """Says when a list is cut, and how to see the rest."""
    if offset + shown >= total:
        return ""
    return f"{shown:,} of {total:,} shown; go on with --offset {offset + shown}"


def markdown(text: str) -> RenderableType:
    """Rendered Markdown in which nothing gets lost: HTML is shown as text, and a line's end is one."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    made = Markdown("", hyperlinks=False)
    made.markup = printable(text)
    made.parsed = MarkdownIt("commonmark", {"html": False}).enable("table").parse(made.markup)
    for inline in made.parsed:
        for token in inline.children or ():
            token.type = "hardbreak" if token.type == "softbreak" else token.type
    return made


def verbatim(text: str) -> RenderableType:
    """The words exactly as they are recorded: whoever approves them sees every sign of them."""
    from rich.text import Text

    return Text(printable(text))


def show_committed(
    run: Run, done: Committed, text: str, *, dry_run: bool, would: str | None = None, **more: object
) -> None:
    """The acknowledgement of a command: one line for people. `would`: what a dry run says, else the kinds of events."""
    if run.json:
        from adapters.outcomes import committed_json

        print_json(committed_json(done, **more) | ({"dry_run": True} if dry_run else {}))
    elif dry_run:
        kinds = ", ".join(envelope.event.kind for envelope in done.envelopes)
        say(run, would or f"would record: {kinds or 'nothing'}")
    else:
        say(run, f"{text} (position {done.position:,})" + (", recorded before" if done.already else ""))


@contextmanager
def progress(run: Run, what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal, silence elsewhere. The callback takes what is done and what there is to do."""
    if run.json or run.quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(run, stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
