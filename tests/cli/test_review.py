"""`tht review`: the checklist in a real pseudo-terminal, plain questions in a pipe, and the queue for programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypedDict, Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.panes import fit

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

ITALIAN = "Per ablazione si intende una procedura con **`ablazione_transcatetere = TRUE`**"
ENTER, ESCAPE, DOWN, UP, PAGE_DOWN, SAVE, TAB = "\r", "\x1b", "\x1b[B", "\x1b[A", "\x1b[6~", "\x13", "\t"


class Size(TypedDict, total=False):
    """How a terminal may differ from a usual one."""

    columns: int
    rows: int
    no_color: str
    term: str


class Terminal:
    """`tht` in a pseudo-terminal, with a screen that is drawn as a terminal draws it."""

    def __init__(
        self, *arguments: str, columns: int = 80, rows: int = 24, no_color: str = "", term: str = "xterm-256color"
    ) -> None:
        import pexpect
        import pyte

        self.gone = pexpect.EOF
        self.slow = pexpect.TIMEOUT
        environment = dict(os.environ) | {"TERM": term, "NO_COLOR": no_color}
        program = "from cli.main import main; main()"
        self.child = pexpect.spawn(
            sys.executable, ["-c", program, *arguments], env=environment, dimensions=(rows, columns), timeout=30
        )
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, containing: str) -> str:
        """The screen's first line with this text."""
        return next(line for line in self.screen.display if containing in line)

    def sees(self, *texts: str, without: str = "\0") -> None:
        """Read what is drawn until all of the texts stand on the screen."""
        for _ in range(600):
            if all(text in self.text for text in texts) and without not in self.text:
                return
            try:
                self._take(self.child.read_nonblocking(65536, timeout=0.05))
            except self.slow:
                continue
            except self.gone:
                break
        assert all(text in self.text for text in texts), self.text
        assert without not in self.text, self.text

    def press(self, *keys: str) -> None:
        for key in keys:
            self.child.send(key)

    def ends(self) -> int:
        """Read to the end; the exit code."""
        self.child.expect(self.gone)
        self._take(self.child.before)
        self.child.close()
        assert self.child.exitstatus is not None
        return int(self.child.exitstatus)

    def _take(self, drawn: bytes) -> None:
        self.raw += drawn
        self.stream.feed(drawn)


Open = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Open]:
    """Opens `tht …` in pseudo-terminals and ends those that a failed test left behind."""
    opened: list[Terminal] = []

    def start(*arguments: str, **size: Unpack[Size]) -> Terminal:
        opened.append(Terminal(*arguments, **size))
        return opened[-1]

    yield start
    for one in opened:
        one.child.close(force=True)


def promoted(tht: Tht) -> list[str]:
    return [str(one["subject"]) for one in tht.json("registry", "list")["memories"]]


def outcomes(tht: Tht, session_id: str) -> list[str | None]:
    return [one["outcome"] for one in tht.json("session", "show", session_id)["decisions"]]


# -- the checklist


@pytest.mark.posix
def test_everything_is_preselected_and_one_is_deselected(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("Ablazione", ITALIAN), ("Μαρμαρυγή", "κολπική"), ("成功率 🎉", "成功 / 全件"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("Review of s1: 3 candidates", "human:ada", "❯ [x] promote    1  Ablazione", "promote 3")
    review.sees("**`ablazione_transcatetere =")  # the very words that will be approved
    review.press(DOWN, " ")
    review.sees("❯ [ ] decline    2  Μαρμαρυγή", "promote 2, decline 1")
    review.press("j")
    review.sees("❯ [x] promote    3", "成功 / 全件")
    review.press(ENTER)
    review.sees("Do this now? promote 2, decline 1")
    review.press(ENTER)
    assert review.ends() == 0
    review.sees(
        "s1 seq 1: promoted, mem-0001", "s1 seq 2: declined", "s1 seq 3: promoted, mem-0002", "3 done, 0 failed"
    )
    assert outcomes(tht, "s1") == ["promoted", "declined", "promoted"]
    assert promoted(tht) == ["Ablazione", "成功率 🎉"]
    assert tht.json("registry", "show", "mem-0001")["reviewer"] == "human:ada"


@pytest.mark.posix
@pytest.mark.parametrize("leave", ["q", ESCAPE, "\x03"])
def test_leaving_writes_nothing(tht: Tht, terminal: Open, leave: str) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"))
    before = tht.position()
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    review.press(" ")
    review.sees("decline 1")
    review.press(leave)
    assert review.ends() == 1
    review.sees("nothing was written")
    assert tht.position() == before


@pytest.mark.posix
def test_the_question_before_writing_can_be_taken_back(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "one"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 1")
    review.press(ENTER)
    review.sees("Do this now? promote 1")
    review.press("n")
    review.sees("Enter submit", without="Do this now?")
    review.press("d", ENTER)
    review.sees("Do this now? defer 1")
    review.press("y")
    assert review.ends() == 0
    assert outcomes(tht, "s1") == ["deferred"]


@pytest.mark.posix
def test_merge_replace_and_a_note(tht: Tht, terminal: Open) -> None:
    tht.session("old", ("Recidiva", "un evento entro 12 mesi"), ("Anziano", "almeno 75 anni alla data della procedura"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("new", ("Recidiva", "un evento entro 6 mesi"), ("Anziano", "almeno 80 anni alla data della procedura"))
    review = terminal("review", "new", "--actor", "human:bea", columns=120, rows=40)
    review.sees("≈ mem-0001", "numbers differ")
    review.press("m")
    review.sees("Merge into", "1 mem-0001", "numbers differ: Recidiva — un evento entro 12 mesi")
    review.press("mem-0404", ENTER)
    review.sees("there is no memory 'mem-0404'")
    review.press(*["\x7f"] * 8, "1", ENTER)
    review.sees("[x] merge      1  Recidiva", "→ mem-0001")
    review.press("n", "stessa regola, città", ENTER)
    review.sees("Note: stessa regola, città")
    review.press("j", "r", "mem-0002", ENTER)
    review.sees("[x] replace    2  Anziano", "merge 1, replace 1")
    review.press(ENTER, "y")
    assert review.ends() == 0
    review.sees("new seq 1: merged into mem-0001", "new seq 2: promoted, mem-0003 replaces mem-0002")
    assert [one["session_id"] for one in tht.json("registry", "show", "mem-0001")["sources"]] == ["old", "new"]
    assert tht.json("registry", "show", "mem-0002")["successor"] == "mem-0003"
    reasons = {event["kind"]: event["reason"] for event in tht.json("memory", "history", "mem-0001")["events"]}
    assert reasons["source_added"] == "stessa regola, città"


@pytest.mark.posix
def test_an_edit_waits_for_somebody_else(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("Ablazione", "una procedura"), ("b", "two"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    review.press("e")
    review.sees("Subject", "Detail", "Rationale", "somebody else approves")
    review.press(TAB, " con 漢字 è", SAVE)
    review.sees("[e] edit", "una procedura con 漢字 è", "another reviewer has to promote them")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    review.sees("s1 seq 1: edited, now seq 3; it waits in the queue for another reviewer", "s1 seq 2: promoted")
    old, _, new = tht.json("session", "show", "s1")["decisions"]
    assert (old["standing"], new["detail"], new["author"]) == ("retracted", "una procedura con 漢字 è", "human:ada")
    assert promoted(tht) == ["b"]
    again = terminal("review", "s1", "--actor", "human:ada")
    again.sees("[-] leave      3  Ablazione", "not by you", "Your own words: another reviewer has to promote them.")
    again.press(" ")
    again.sees("[ ] decline")
    again.press(" ")
    again.sees("[-] leave")
    again.press(ENTER)
    again.sees("Nothing is marked")
    again.press("q")
    assert again.ends() == 1
    other = terminal("review", "s1", "--actor", "human:bea")
    other.sees("[x] promote    3  Ablazione")
    other.press(ENTER, ENTER)
    assert other.ends() == 0
    assert promoted(tht) == ["b", "Ablazione"]


@pytest.mark.posix
def test_a_solo_workspace_promotes_an_edit_at_once(tht: Tht, terminal: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("a", "one"))
    tht.json("config", "set", "review.allow_self", "true")
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 1")
    review.press("e", TAB, " two", SAVE)
    review.sees("promoted as self-reviewed")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    shown = tht.json("registry", "show", "mem-0001")
    assert (shown["detail"], shown["self_reviewed"]) == ("one two", True)


@pytest.mark.posix
def test_s25_pages_follow_each_other_and_sessions_too(tht: Tht, terminal: Open) -> None:
    """S-25: nine clarifications, five a page: all nine are put before the reviewer."""
    tht.session("s1", *((f"concept {number}", f"means {number}") for number in range(1, 10)))
    tht.session("s2", ("last", "one"))
    review = terminal("review", "--actor", "human:ada")
    review.sees("Review of s1: 5 candidates, 4 more after them", "concept 5")
    review.press(ENTER, ENTER)
    review.sees("Review of s1: 4 candidates", "concept 9")
    review.press("s", TAB)
    review.sees("Review of s2: 1 candidate (session 2 of 2)", "last")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    assert outcomes(tht, "s1") == ["promoted"] * 5 + [None] * 4, "Tab writes nothing"
    assert outcomes(tht, "s2") == ["promoted"]


@pytest.mark.posix
def test_the_gate_is_asked_again_for_each_item(tht: Tht, terminal: Open) -> None:
    """S-22: what changed while the checklist was open fails alone; the others are written; exit 1."""
    tht.session("s1", ("a", "one"), ("b", "two"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    tht.clarify("s1", "A", "one.")  # seq 1 now covers seq 3: another revision
    review.press(ENTER, ENTER)
    assert review.ends() == 1
    review.sees("s1 seq 1: FAILED, StaleCandidate", "s1 seq 2: promoted, mem-0001", "1 done, 1 failed")
    assert outcomes(tht, "s1") == [None, "promoted", None]


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
def test_deferred_candidates_are_marked_and_not_preselected(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "one"))
    tht.json("memory", "defer", "--session", "s1", "--seq", "1", "--reviewer", "ada", "--reason", "ask the ward")
    tht.json("session", "close", "s1")
    review = terminal("review", "s1", "--actor", "human:bea")
    review.sees("[-] leave      1  a", "deferred", "Deferred by human:ada: ask the ward")
    review.press("d")
    review.sees("It is deferred already")
    review.press(" ", ENTER, ENTER)
    assert review.ends() == 0
    assert promoted(tht) == ["a"]


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


# -- plain questions


def test_plain_questions_take_every_answer(tht: Tht) -> None:
    tht.session("old", ("known", "one rule"), ("older", "another rule"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("s1", *((f"concept {number}", f"means thing {number}") for number in range(1, 8)))
    answers = "p\nd too vague\nwhat\nf\nm mem-0001 same rule, città\nr mem-0002\ns\nq\n"
    said = tht("review", "s1", "--actor", "human:bea", stdin=answers)
    assert said.code == 0, said
    assert "'what' is no answer" in said.out
    for line in ("s1 seq 1: promoted, mem-0003", "s1 seq 2: declined", "s1 seq 3: deferred", "merged into mem-0001",
                 "mem-0004 replaces mem-0002", "5 done, 0 failed"):  # fmt: skip
        assert line in said.out
    expected = ["promoted", "declined", "deferred", "promoted", "promoted", None, None]
    assert outcomes(tht, "s1") == expected
    summary = {one["seq"]: one["reason"] for one in tht.json("session", "summary", "s1")["memories"]}
    assert (summary[2], summary[4]) == ("too vague", "same rule, città")


def test_the_end_of_the_input_leaves_the_rest_untouched(tht: Tht) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"), ("c", "three"))
    assert tht("review", "s1", "--actor", "human:ada", stdin="p").code == 0
    assert outcomes(tht, "s1") == ["promoted", None, None]
    before = tht.position()
    for nothing in ("", "q\n", "s\ns\n", "\n\n"):
        said = tht("review", "s1", "--actor", "human:ada", stdin=nothing)
        assert (said.code, "nothing was written" in said.err) == (1, True)
    assert tht.position() == before


def test_a_failed_item_does_not_touch_the_others(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    tht.clarify("s1", "b", "two", actor="human:ada")
    tht.clarify("s1", "c", "three")
    said = tht("review", "s1", "--actor", "human:ada", stdin="m mem-0404\np\np\n")
    assert said.code == 1
    assert "Your own words" in said.out
    assert "s1 seq 1: FAILED, UnknownMemory" in said.err
    assert "s1 seq 2: FAILED, SelfReview" in said.err
    assert "s1 seq 3: promoted, mem-0001" in said.out
    assert outcomes(tht, "s1") == [None, None, "promoted"]


def test_answers_that_are_no_text_are_refused(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    said = tht("review", "s1", "--actor", "human:ada", stdin=b"d caf\xe9\nd bell \x07\nd fine\n")
    assert said.code == 0
    assert "lone surrogate" in said.out
    assert "\x07" not in said.out
    assert tht.json("session", "summary", "s1")["memories"][0]["reason"] == "fine"


def test_a_dry_run_writes_nothing(tht: Tht) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"))
    before = tht.position()
    said = tht("review", "s1", "--actor", "human:ada", "--dry-run", stdin="p\nd\n")
    assert "s1 seq 1: would promote" in said.out
    assert tht.position() == before


# -- the queue, tokens and closing


def test_the_queue_for_programs(tht: Tht) -> None:
    tht.session("s1", ("a", ITALIAN), ("fact_x", "a table"))
    tht.session("s2")
    tht.session("s3", ("b", "two"))
    tht.json("memory", "defer", "--session", "s3", "--seq", "1", "--reviewer", "ada")
    found = tht.json("review")
    assert found["candidates"] == 2
    first, second = found["queue"]
    assert (first["session_id"], first["candidates"][0]["detail"], first["refused"][0]["seq"]) == ("s1", ITALIAN, 2)
    assert (second["session_id"], second["candidates"][0]["deferred"]) == ("s3", True)
    assert [one["session_id"] for one in tht.json("review", "--session", "s3")["queue"]] == ["s3"]
    assert tht.refused("review", "nope") == "UnknownSession"
    assert tht("review", "s1", "--session", "s3").code == 2
    assert "nothing waits for review" in tht("review", "s2", "--actor", "human:ada").out


def test_a_session_named_like_a_command_is_meant_by_its_option(tht: Tht) -> None:
    tht.session("token", ("a", "one"))
    assert tht.json("review", "--session", "token")["queue"][0]["session_id"] == "token"
    assert tht.json("review", "queue", "token")["queue"][0]["session_id"] == "token"
    assert tht("review", "token").code == 2, "the command token needs --for"
    assert tht("--json", "review", "--actor", "human:ada", "--session", "token").json["candidates"] == 1


def test_the_help_names_queue_options_and_commands(tht: Tht) -> None:
    shown = tht("review", "--help")
    assert shown.code == 0
    for text in ("--session", "--reviewer", "token", "close", "is meant by"):
        assert text in shown.out


def test_a_reviewer_without_a_token_is_told_before_the_work(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("a", "one"))
    token = tht.json("review", "token", "--for", "ada", "--actor", "human:ada")["token"]
    tht.json("config", "set", "review.require_token", "true")
    said = tht("review", "s1", "--actor", "human:ada", stdin="p\n")
    assert (said.code, "has not shown a valid reviewer's token" in said.err, said.out) == (1, True, "")
    monkeypatch.setenv("THT_REVIEWER_TOKEN", token)
    assert tht("review", "s1", "--actor", "human:bea", stdin="p\n").code == 1
    assert tht("review", "s1", "--actor", "human:ada", stdin="p\n").code == 0
    assert promoted(tht) == ["a"]


def test_a_token_is_printed_once(tht: Tht) -> None:
    tht.session("s1")
    said = tht("review", "token", "--for", "human:ada", "--actor", "human:ada")
    assert said.code == 0
    assert len(said.out.strip()) >= 32
    assert "not shown again" in said.err
    assert tht.refused("review", "token", "--for", "agent:coder-1", "--actor", "human:ada") == "ReviewerNeeded"


def test_a_review_closes_when_everything_is_decided(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    assert tht.refused("review", "close", "s1") == "UndecidedCandidates"
    assert tht("review", "s1", "--actor", "human:ada", stdin="d\n").code == 0
    assert tht.json("session", "show", "s1")["review"] == "closed"
    assert tht.refused("review", "close", "s1") == "NothingChanged"
    tht.session("s2")
    assert tht.json("review", "close", "s2")["session_id"] == "s2"


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
