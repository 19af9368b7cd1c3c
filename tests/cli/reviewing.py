"""`tht review` in a real pseudo-terminal, and what came of a review."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

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


def promoted(tht: Tht) -> list[str]:
    return [str(one["subject"]) for one in tht.json("registry", "list")["memories"]]


def outcomes(tht: Tht, session_id: str) -> list[str | None]:
    return [one["outcome"] for one in tht.json("session", "show", session_id)["decisions"]]
