"""What the checklist draws: the list, one candidate, the help, the lines above and below. Text in, styled lines out."""

from __future__ import annotations

import io
from collections.abc import Callable

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.layout.controls import UIContent, UIControl
from prompt_toolkit.utils import get_cwidth

from adapters.ballot import Action, Ballot, Item, Words
from cli.candidates import candidate_page, differs
from cli.output import printable
from projections.similar import Similar

Lines = list[StyleAndTextTuples]

LONGEST = 4_000  # characters that a single line looks at; no terminal is wider

BOX: dict[Action, str] = {
    "promote": "[x]",
    "merge": "[x]",
    "replace": "[x]",
    "decline": "[ ]",
    "defer": "[>]",
    "edit": "[e]",
    "leave": "[-]",
}
STYLE: dict[Action, str] = {
    "promote": "class:yes",
    "merge": "class:yes",
    "replace": "class:yes",
    "decline": "class:no",
    "defer": "class:later",
    "edit": "class:later",
    "leave": "class:faint",
}
HELP = """\
 [x] promote    it becomes a memory        [ ] decline   not proposed again
 [>] defer      it stays in the queue      [-] leave     nothing is written
 [x] merge      into a known memory        [x] replace   a known memory by it
 [e] edit       your new words take its place

 ↑ ↓ or k j     go to another candidate    PgUp PgDn     scroll its text
 space          promote or decline         d             defer
 m              merge: one more source of a known memory, whose words stay
 r              replace: it is promoted, a known memory is superseded by it
 e              edit: the words are yours then, and somebody else approves them
 n              a note: the reason that is kept with your decision
 s              leave this candidate as it is
 Enter          submit this page, after a question
 Tab            go on to the next page; nothing is written here
 q Esc          quit; nothing is written here"""


class Pane(UIControl):
    """A window's content, made anew for the width and height that it has."""

    def __init__(self, draw: Callable[[int, int], Lines], *, focusable: bool = False) -> None:
        self.draw, self.focusable = draw, focusable

    def create_content(self, width: int, height: int) -> UIContent:
        lines = self.draw(width, height)
        return UIContent(lambda number: lines[number], line_count=len(lines), show_cursor=False)

    def is_focusable(self) -> bool:
        return self.focusable


def fit(text: str, width: int, indent: int = 0) -> str:
    """One line of exactly `width` columns: cut with … or filled; wide characters take two."""
    line = " " * indent + " ".join(printable(text[:LONGEST]).split())
    kept, columns = "", 0
    for character in line:
        if columns + get_cwidth(character) > width:
            return _cut(kept, width)
        kept, columns = kept + character, columns + get_cwidth(character)
    return kept + " " * (width - columns)


def _cut(kept: str, width: int) -> str:
    while kept and get_cwidth(kept) > width - 1:
        kept = kept[:-1]
    return (kept + "…" if width > 0 else "") + " " * (width - 1 - get_cwidth(kept))


def header(ballot: Ballot, width: int) -> Lines:
    more = f", {ballot.remaining} more after them" if ballot.remaining else ""
    count = f"{len(ballot.items)} candidate{'s' if len(ballot.items) > 1 else ''}"
    title = f"Review of {ballot.session_id}: {count}{more}{ballot.place}"
    who = printable(ballot.reviewer.actor)
    room = max(0, width - get_cwidth(who) - 2)
    return [
        [("class:title", f"{fit(title, room, 1)} {fit(who, width - room - 1)}")],
        [("class:faint", fit(ballot.question, width, 1))],
    ]


def rows(ballot: Ballot, current: int, width: int, height: int) -> Lines:
    """The items around the current one, as many as there is room for."""
    first = max(0, min(current - height // 2, len(ballot.items) - height))
    shown = ballot.items[first : first + height]
    return [_row(item, first + number == current, width) for number, item in enumerate(shown)]


def _row(item: Item, current: bool, width: int) -> StyleAndTextTuples:
    tags = fit(_tags(item), min(get_cwidth(_tags(item)), width // 2))
    lead = f"{'❯' if current else ' '} {BOX[item.action]} {item.action:<8}{item.seq:>4}  "
    room = max(0, width - get_cwidth(lead) - get_cwidth(tags) - 2)
    here = " class:here" if current else ""
    return [
        (STYLE[item.action] + here, lead),
        ("class:words" + here, fit(item.own_words.subject, room)),
        ("class:tags" + here, f" {tags} "),
    ]


def _tags(item: Item) -> str:
    tags = []
    if item.memory_id:
        tags.append(f"→ {item.memory_id}")
    if item.shown.candidate.deferred:
        tags.append("deferred")
    if item.bars:
        tags.append("not by you")
    if item.shown.known_as and not item.memory_id:
        tags.append(f"= {item.shown.known_as}")
    elif item.shown.similar and not item.memory_id:
        tags.append(_nearest(item.shown.similar[0]))
    if item.reason:
        tags.append("note")
    return " ".join(tags)


def _nearest(one: Similar) -> str:
    return f"≈ {one.id} {one.score:.2f}" + (f" {'/'.join(one.differs)} differ" if one.differs else "")


def details(item: Item, width: int) -> Lines:
    """The current candidate, rendered as everywhere else, with the reviewer's own note and edit above."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    parts = [Text(f"Note: {printable(item.reason)}", style="bold")] if item.reason else []
    if item.words:
        parts.append(Text("Your edit, not written yet:", style="bold"))
        parts.append(Text(_edited(item.words)))
        parts.append(Text("Recorded now:", style="bold"))
    page = Group(*parts, candidate_page(item.shown, (*item.bars, *item.remarks)))
    target = io.StringIO()
    console = Console(
        file=target, width=max(20, width), force_terminal=True, color_system="standard", highlight=False, emoji=False
    )
    console.print(Padding(page, (0, 1)))
    return list(split_lines(to_formatted_text(ANSI(target.getvalue().rstrip("\n")))))


def _edited(words: Words) -> str:
    return printable("\n".join(text for text in (words.subject, words.detail, words.rationale) if text.strip()))


def choices(item: Item, width: int) -> Lines:
    """The memories that a candidate may be merged into or replace, numbered."""
    shown = known(item)
    if not shown:
        return [[("", " No known memory is like it; type an id (tht registry list shows them).")]]
    return [[("class:words", fit(f"{number}  {text}", width, 1))] for number, (_, text) in enumerate(shown, 1)]


def known(item: Item) -> list[tuple[str, str]]:
    """Memories near this candidate, the one that says the same first: id, and a line about it."""
    found = []
    if item.shown.known_as:
        found.append((item.shown.known_as, f"{item.shown.known_as}  says exactly this ({item.shown.known_status})"))
    for one in item.shown.similar:
        found.append((one.id, f"{one.id}  {one.score:.2f}, {differs(one)}: {one.subject} — {one.detail}"))
    return found


def help_lines() -> Lines:
    return [[("", line)] for line in HELP.split("\n")]
