"""Any text is a question, in every script and with every sign."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.text import accept_text
from tests.cli.conftest import Tht
from tests.cli.searching import ADA, MODES, ids, propose, search

SYNTAX = (
    '"', '""', "*", "NOT", "a'b", "C:\\x", "-", "--", "(", ")", "words : x", "stems:x OR words:y", "NEAR(a b)", "^a",
    "{}", "AND OR NOT", 'x" OR "y', "a AND", "+", "😀", "👩\u200d👩\u200d👧", "the of a", "il di che", "το και", ";",
    "'; DROP TABLE x; --", "\u200b\u200f", "\x01\x02", "%", "_", "___", "a_b_", "\ufeffx",
    "x" * 100_000, "слово " * 20_000, "心" * 30_000, "é" * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_no_syntax_breaks_a_question(tht: Tht, mode: str) -> None:
    fact = propose(tht, "We use redis, x and y", "store")
    for question in SYNTAX:
        said = tht("fact", "search", "--mode", mode, "--json", *ADA, "--", question)
        if said.code == 2:  # refused as no text, in words
            assert said.error["type"] == "InvalidInput"
            with pytest.raises(Exception, match="question"):
                accept_text(question, "the question", required=True)
            continue
        assert said.code == 0, (question[:40], said)
        if mode != "keyword":
            assert ids(said.json) == [fact], question[:40]
    for odd in ("", " ", "\n\t ", "x\x00y"):
        assert tht.refused("fact", "search", odd, "--mode", mode, code=2) == "InvalidInput"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(question=st.text(max_size=60), mode=st.sampled_from(MODES))
def test_any_text_is_a_question(tht: Tht, question: str, mode: str) -> None:
    propose(tht, "we use redis")
    said = tht("fact", "search", "--mode", mode, "--json", *ADA, "--", question)
    assert said.code in (0, 2), said
    assert said.code == 0 or said.error["type"] == "InvalidInput"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "questions"),
    [
        (
            "Το COUNT(DISTINCT cod_paz) μετρά τους ασθενείς",
            ("COUNT(DISTINCT cod_paz)", "cod_paz", "cod paz", "ΑΣΘΕΝΕΙΣ"),
        ),
        ("La tabella fact_ricovero unisce l'utente", ("fact_ricovero", "ricovero", "utente", "L’UTENTE", "tabelle")),
        ("getCustomerById reads orders_v2", ("getCustomerById", "getcustomerbyid", "customer by id", "orders")),
        ("Perché è così: l'età dell'utente", ("perche", "PERCHE'", "dell utente", "eta'")),
        ("Ο λόγος είναι ο άνθρωπος", ("ΛΟΓΟΣ", "λογοσ", "άνθρωποι", "ΑΝΘΡΩΠΟΣ")),
        ("支付服务商是 Stripe", ("支付", "服务商是谁", "STRIPE")),
    ],
)
def test_s61_every_script_and_every_identifier(tht: Tht, mode: str, text: str, questions: tuple[str, ...]) -> None:
    """S-61: with other facts around, whatever the mode, what shares the question's words is first."""
    wanted = propose(tht, text, "wanted")
    for number, other in enumerate(("the mailer sleeps at night", "Η βροχή πέφτει", "La nave parte domani")):
        propose(tht, other, f"other {number}")
    for question in questions:
        assert ids(search(tht, question, "--mode", mode))[0] == wanted, question


def test_s66_adding_and_asking_by_words_load_no_model(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-66."""
    from tests.cli.workbench import HEAVY, imported_by

    monkeypatch.delenv("THT_EMBEDDER_MODEL")
    add = ("fact", "propose", "x is y", "--domain", "d", "--topic", "t", *ADA)
    assert not imported_by(*add) & HEAVY
    assert not imported_by("fact", "search", "x", "--mode", "keyword", *ADA) & HEAVY
