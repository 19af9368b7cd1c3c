"""The review as plain questions, where there is no terminal to draw a checklist on. Every answer is written at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

from adapters.ballot import Action, Ballot, Item
from cli.candidates import candidate_page
from cli.options import Run
from cli.output import console, printable
from domain.errors import InvalidInput
from domain.text import accept_id, accept_text

HELP = "p promote, d decline, f defer, m MEM merge, r MEM replace, s skip, q quit; a reason may follow"
ACTIONS: dict[str, Action] = {
    "p": "promote",
    "d": "decline",
    "f": "defer",
    "m": "merge",
    "r": "replace",
    "s": "leave",
}


def ask_all(run: Run, ballot: Ballot, answers: TextIO, write: Callable[[Ballot], None]) -> bool:
    """Ask about every item of a page and write each answer. False when the reviewer, or the input, ends early."""
    out = console(run)
    out.print(f"\nSession {printable(ballot.session_id)}: {printable(ballot.question)}\n{HELP}")
    for number, item in enumerate(ballot.items, 1):
        out.print(f"\n[{number} of {len(ballot.items)}]")
        out.print(candidate_page(item.shown, (*item.bars, *item.remarks)))
        if not _answered(run, item, answers):
            return False
        write(replace(ballot, items=[item]))
    return True


def _answered(run: Run, item: Item, answers: TextIO) -> bool:
    """Mark the item as the next understood answer says; False for the end."""
    while True:
        console(run).print("p d f m r s q> ", end="")
        line = answers.readline()
        if not line:
            console(run).print("")
            return False
        try:
            return take(item, line.strip())
        except InvalidInput as error:
            console(run).print(printable(f"{error.message}; {HELP}"))


def take(item: Item, answer: str) -> bool:
    """Mark the item as the answer says: `p`, `d too vague`, `m mem-0001 same rule`. False for `q`.

    Raises InvalidInput for what is not understood.
    """
    letter, _, rest = answer.partition(" ")
    if letter == "q":
        return False
    if letter not in ACTIONS:
        raise InvalidInput(f"{letter[:20]!r} is no answer")
    memory_id = ""
    if letter in "mr":
        memory_id, _, rest = rest.strip().partition(" ")
        accept_id(memory_id, "memory id")
    item.reason = accept_text(rest.strip(), "reason")
    item.mark(ACTIONS[letter], memory_id)
    return True
