"""How the checklist is drawn: long and hostile texts, small terminals, and those that cannot draw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.panes import fit
from tests.cli.reviewing import ENTER, ESCAPE, PAGE_DOWN, Open, outcomes

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.mark.posix
def test_a_long_text_scrolls_and_the_help_fits(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "\n".join(f"- line {number}" for number in range(1, 41))))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("line 1", "more lines: PgDn", without="line 30")
    review.press(*[PAGE_DOWN] * 6)
    review.sees("line 30")
    review.press("?")
    review.sees("it becomes a memory", "q Esc          quit; nothing is written here")
    review.press("x")
    review.sees("line 1", without="it becomes a memory")
    review.press(ESCAPE)
    assert review.ends() == 1


@pytest.mark.posix
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 16)])
def test_stored_text_is_shown_and_never_obeyed(tht: Tht, terminal: Open, size: tuple[int, int]) -> None:
    """What could move the cursor or turn the line about is replaced, in the list, the text and an open edit."""
    evil = "abc\u202edcba\u2066 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 Ω"
    tht.session("s1", (evil, f"{evil} detail"))
    review = terminal("review", "s1", "--actor", "human:ada", columns=size[0], rows=size[1])
    review.sees("abc�dcba�")
    row = review.line("❯")
    assert len(row.rstrip()) <= size[0]
    review.press("e")
    review.sees("Rationale")
    review.press(ESCAPE)
    review.sees("Enter submit")
    review.press("q")
    assert review.ends() == 1
    drawn = review.raw.decode()
    assert not [one for one in "\u202e\u2066" if one in drawn]


@pytest.mark.posix
def test_colours_can_be_left_out(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "`code`"))
    command = ("review", "s1", "--actor", "human:ada")
    drawn = []
    for review in (terminal(*command), terminal(*command, "--no-color"), terminal(*command, no_color="1")):
        review.sees("promote 1")
        review.press("q")
        assert review.ends() == 1
        drawn.append(re.findall(rb"\x1b\[(?:\d+;)*[349][0-7](?:;\d+)*m", review.raw))
    coloured, *plain = drawn
    assert coloured
    assert plain == [[], []]


@pytest.mark.posix
def test_a_terminal_that_cannot_draw_gets_plain_questions(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "one"))
    review = terminal("review", "s1", "--actor", "human:ada", term="dumb")
    review.sees("p promote, d decline", "p d f m r s q>")
    review.press("d vague", ENTER)
    assert review.ends() == 0
    review.sees("s1 seq 1: declined")
    assert b"\x1b[?1049h" not in review.raw


# -- lines of exactly the terminal's width


@given(st.text(max_size=60), st.integers(0, 40), st.integers(0, 3))
def test_a_line_has_exactly_its_width(text: str, width: int, indent: int) -> None:
    line = fit(text, width, indent)
    assert get_cwidth(line) == width
    assert all(character.isprintable() or character == "�" for character in line)


@pytest.mark.posix
def test_the_longest_texts_do_not_hold_the_checklist_up(tht: Tht, terminal: Open) -> None:
    tht.json("session", "open", "s1", "--question", "漢" * 90_000, "--actor", "agent:a")
    tht.clarify("s1", "語" * 2_000, "word **bold** `code`. " * 4_000)
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 1", "… ", "語語語")
    review.press(*[PAGE_DOWN] * 50, ENTER, ENTER)
    assert review.ends() == 0
    assert outcomes(tht, "s1") == ["promoted"]
