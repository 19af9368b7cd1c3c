"""The review as one checklist on a terminal: keyboard only, preselected; nothing is written before it is submitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    AnyContainer,
    ConditionalContainer,
    Dimension,
    DynamicContainer,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import TextArea

from adapters.ballot import Action, Ballot, Item, Words
from cli import panes
from cli.output import printable
from domain.errors import InvalidInput
from domain.text import SUBJECT_LIMIT, accept_text

Outcome = Literal["submit", "next", "leave"]
Mode = Literal["list", "help", "confirm", "edit", "merge", "replace", "note"]

KEYS: dict[Mode, str] = {
    "list": " space promote/decline  e edit  m merge  r replace  d defer  n note  s leave\n"
    " Enter submit  q quit  ? help  ↑↓ move  PgUp/PgDn scroll  Tab next page",
    "help": "\n PgUp/PgDn scroll   any other key goes back to the list",
    "confirm": "\n Enter or y write it   n or Esc back to the list",
    "edit": " The new words are yours: somebody else approves them.\n Tab next field   Ctrl-S keep   Esc drop the edit",
    "merge": " It becomes one more source of that memory, whose words stay.\n a number or an id, Enter   Esc back",
    "replace": " It is promoted, and that memory is superseded by it.\n a number or an id, Enter   Esc back",
    "note": " Kept as the reason for what you decide about this candidate.\n Enter keep   Esc back",
}

LIST_ROWS = 8  # at most; the list scrolls, so that the candidate's text keeps its room

COLOURS = Style.from_dict(
    {
        "title": "bold reverse",
        "faint": "ansibrightblack",
        "yes": "ansigreen",
        "no": "ansired",
        "later": "ansiyellow",
        "tags": "ansicyan",
        "here": "bold",
        "message": "bold",
        "label": "bold",
    }
)
PLAIN = Style.from_dict({"title": "bold reverse", "here": "bold", "message": "bold", "label": "bold"})


class Printable(Processor):
    """Stored text in a field is shown, never obeyed."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        return Transformation([(one[0], printable(one[1])) for one in transformation_input.fragments])


class Checklist:
    """One page of candidates. `why_not` tells why a memory cannot be merged into or replaced."""

    def __init__(self, ballot: Ballot, why_not: Callable[[str], str], *, no_color: bool) -> None:
        self.ballot, self.why_not = ballot, why_not
        self.mode: Mode = "list"
        self.current = self.scroll = 0
        self.page = 1  # lines that the body has, as last drawn
        self.message = ""
        self.rendered: tuple[tuple[object, ...], panes.Lines] | None = None
        self.list = Window(
            panes.Pane(lambda width, height: panes.rows(ballot, self.current, width, height), focusable=True),
            height=Dimension.exact(min(LIST_ROWS, len(ballot.items))),
        )
        self.body = Window(panes.Pane(self._body, focusable=True), height=Dimension(min=1, weight=1))
        self.line = _field(multiline=False)
        self.fields = (_field(multiline=False), _field(height=Dimension(min=1, weight=2)), _field())
        self.app: Application[Outcome] = Application(
            Layout(self._layout(), focused_element=self.list),
            key_bindings=self._keys(),
            full_screen=True,
            style=PLAIN if no_color else COLOURS,
            color_depth=ColorDepth.DEPTH_1_BIT if no_color else None,
        )
        self.app.ttimeoutlen = 0.05  # seconds that Esc waits to see whether it begins another key

    def run(self) -> Outcome:
        """Draw it until the reviewer submits, goes on to the next page, or leaves. Marks stand in the ballot."""
        return self.app.run()

    @property
    def item(self) -> Item:
        return self.ballot.items[self.current]

    # -- what is drawn

    def _layout(self) -> HSplit:
        ruler = Window(height=1, char="─", style="class:faint")
        head = Window(panes.Pane(lambda width, _: panes.header(self.ballot, width)), height=2)
        foot = Window(panes.Pane(self._footer), height=3)
        items = ConditionalContainer(HSplit([self.list, ruler]), Condition(lambda: self.mode != "help"))
        return HSplit([head, items, DynamicContainer(self._middle), ruler, foot])

    def _middle(self) -> AnyContainer:
        if self.mode == "edit":
            labels = ("Subject", "Detail", "Rationale")
            return HSplit([one for name, area in zip(labels, self.fields, strict=True) for one in (_label(name), area)])
        if self.mode in ("merge", "replace"):
            height = Dimension.exact(max(1, len(panes.known(self.item))))
            known = Window(panes.Pane(lambda width, _: panes.choices(self.item, width)), height=height)
            title = "Merge into" if self.mode == "merge" else "Replace"
            return HSplit([_label(title), known, self.line, self.body])
        if self.mode == "note":
            return HSplit([_label("Note"), self.line, self.body])
        return self.body

    def _body(self, width: int, height: int) -> panes.Lines:
        lines = panes.help_lines() if self.mode == "help" else self._details(width)
        self.page = height
        self.scroll = max(0, min(self.scroll, len(lines) - height))
        below = len(lines) - self.scroll - height
        shown = lines[self.scroll : self.scroll + height]
        if below > 0 and len(shown) > 1:
            shown[-1] = [("class:faint", f" … {below + 1} more lines: PgDn")]
        return shown

    def _details(self, width: int) -> panes.Lines:
        """The current candidate, rendered once: a long text takes longer to render than to scroll."""
        wanted = (self.current, width, self.item.reason, self.item.words)
        if self.rendered is None or self.rendered[0] != wanted:
            self.rendered = (wanted, panes.details(self.item, width))
        return self.rendered[1]

    def _footer(self, width: int, _: int) -> panes.Lines:
        said = self.message or f"{self.current + 1} of {len(self.ballot.items)}: {self.ballot.counted()}"
        if self.mode == "confirm":
            said = f"Do this now? {self.ballot.counted()}"
        keys = KEYS[self.mode].split("\n")
        lines: panes.Lines = [[("class:message", panes.fit(said, width, 1))]]
        lines.extend([("class:faint", key)] for key in keys)
        return lines

    # -- what keys do

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        in_list, in_help = self._when("list"), self._when("help")
        in_confirm, in_edit = self._when("confirm"), self._when("edit")
        on_line = self._when("merge", "replace", "note")

        def bind(names: tuple[str, ...], when: Filter, act: Callable[[], None]) -> None:
            for name in names:
                keys.add(name, filter=when, eager=True)(lambda event: act())

        bind(("up", "k"), in_list, lambda: self._move(-1))
        bind(("down", "j"), in_list, lambda: self._move(1))
        bind(("home",), in_list, lambda: self._move(-len(self.ballot.items)))
        bind(("end",), in_list, lambda: self._move(len(self.ballot.items)))
        bind(("pagedown",), self._when("list", "help"), lambda: self._scroll(1))
        bind(("pageup",), self._when("list", "help"), lambda: self._scroll(-1))
        bind((" ",), in_list, self._toggle)
        bind(("d",), in_list, lambda: self._mark("defer"))
        bind(("s",), in_list, lambda: self._mark("leave"))
        bind(("e",), in_list, self._begin_edit)
        bind(("m",), in_list, lambda: self._begin_line("merge", ""))
        bind(("r",), in_list, lambda: self._begin_line("replace", ""))
        bind(("n",), in_list, lambda: self._begin_line("note", self.item.reason))
        bind(("?",), in_list, lambda: self._switch("help"))
        bind(("enter",), in_list, self._ask)
        bind(("tab",), in_list, lambda: self.app.exit(result="next"))
        bind(("q", "escape"), in_list, lambda: self.app.exit(result="leave"))
        bind(("<any>", "escape", "enter"), in_help, lambda: self._switch("list"))
        bind(("enter", "y"), in_confirm, lambda: self.app.exit(result="submit"))
        bind(("n", "q", "escape"), in_confirm, lambda: self._switch("list"))
        bind(("tab",), in_edit, lambda: self.app.layout.focus_next())
        bind(("s-tab",), in_edit, lambda: self.app.layout.focus_previous())
        bind(("c-s",), in_edit, self._keep_edit)
        bind(("enter",), on_line, self._keep_line)
        bind(("escape",), in_edit | on_line, lambda: self._switch("list"))
        bind(("c-c",), Condition(lambda: True), lambda: self.app.exit(result="leave"))
        return keys

    def _when(self, *modes: Mode) -> Condition:
        return Condition(lambda: self.mode in modes)

    def _switch(self, mode: Mode, message: str = "") -> None:
        self.mode, self.scroll, self.message = mode, 0, message
        targets: dict[Mode, TextArea | Window] = {
            "help": self.body,
            "edit": self.fields[0],
            "merge": self.line,
            "replace": self.line,
            "note": self.line,
        }
        self.app.layout.focus(targets.get(mode, self.list))

    def _move(self, by: int) -> None:
        self.current = max(0, min(len(self.ballot.items) - 1, self.current + by))
        self.scroll, self.message = 0, ""

    def _scroll(self, pages: int) -> None:
        self.scroll += pages * max(1, self.page - 1)

    def _toggle(self) -> None:
        self.item.toggle()
        self.message = self.item.bars[0] if self.item.bars else ""

    def _mark(self, action: Action) -> None:
        deferred = self.item.shown.candidate.deferred
        if action == "defer" and deferred:
            self.message = "It is deferred already: leave it, or decide."
            return
        self.item.mark(action)
        self.message = ""

    def _ask(self) -> None:
        if self.ballot.writes:
            self._switch("confirm")
        else:
            self.message = "Nothing is marked: decide about a candidate, or go on with Tab."

    def _begin_edit(self) -> None:
        words = self.item.own_words
        for area, text in zip(self.fields, (words.subject, words.detail, words.rationale), strict=True):
            _fill(area.buffer, text)
        self._switch("edit")

    def _keep_edit(self) -> None:
        subject, detail, rationale = (area.text for area in self.fields)
        words = Words(subject, detail, rationale)
        try:
            accept_text(subject, "subject", limit=SUBJECT_LIMIT, required=True)
            accept_text(detail, "detail", required=True)
            accept_text(rationale, "rationale")
        except InvalidInput as error:
            self.message = error.message
            return
        decision = self.item.shown.candidate.decision
        if words == Words(decision.subject, decision.detail, decision.rationale):
            self._switch("list", "Nothing was changed.")
            return
        self.item.mark("edit", words=words)
        own = self.ballot.reviewer.allow_self
        follows = "promoted as self-reviewed" if own else "another reviewer has to promote them"
        self._switch("list", f"Edited: the words are yours now; {follows}.")

    def _begin_line(self, mode: Mode, text: str) -> None:
        _fill(self.line.buffer, text)
        self._switch(mode)

    def _keep_line(self) -> None:
        text = self.line.text.strip()
        if self.mode == "note":
            self.item.reason = text
            self._switch("list")
            return
        near = [memory_id for memory_id, _ in panes.known(self.item)]
        chosen = near[int(text) - 1] if text.isdecimal() and 0 < int(text[:4]) <= len(near) else text
        problem = self.why_not(chosen) or self._own_words()
        if problem:
            self.message = printable(problem)
            return
        self.item.mark("merge" if self.mode == "merge" else "replace", chosen)
        self._switch("list")

    def _own_words(self) -> str:
        written = self.item.shown.candidate.written_by(self.ballot.reviewer.actor)
        return "Your own words: somebody else approves them." if written and not self.ballot.reviewer.allow_self else ""


def _label(text: str) -> Window:
    return Window(panes.Pane(lambda width, _: [[("class:label", panes.fit(text, width, 1))]]), height=1)


def _field(*, multiline: bool = True, height: Dimension | int | None = None) -> TextArea:
    given = 1 if not multiline else height or Dimension(min=1, weight=1)
    return TextArea(multiline=multiline, height=given, prompt=" ", input_processors=[Printable()], wrap_lines=multiline)


def _fill(buffer: Buffer, text: str) -> None:
    buffer.text = text
    buffer.cursor_position = len(text)
