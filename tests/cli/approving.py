"""Texts of candidates, and the command that approves one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

GREEK = "Ο κωδικός AF σημαίνει κολπική μαρμαρυγή· δεν περιλαμβάνει τον πτερυγισμό"
ITALIAN = "Età di almeno 75 anni alla data della procedura"
CJK = "成功率 = 成功件数 / 全件数 🎉"


def save(tht: Tht, session_id: str, seq: int, *more: str) -> tuple[str, ...]:
    which = ("--session", session_id, "--seq", str(seq), "--revision", tht.revision(session_id, seq))
    return ("memory", "save-one", *which, *more)
