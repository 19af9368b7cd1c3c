"""Facts are found in every script, with what the asker alone keeps in mind. S-61, S-63."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tht
from tests.cli.facts import ADA, listed, propose, searched


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Η κατάλυση μετράται ανά έτος", ("κατάλυση", "καταλυση", "ΚΑΤΑΛΥΣΗ", "ΚΑΤΆΛΥΣΗ", "ετος")),
        ("Ο ασθενής λαμβάνει αγωγή κάθε ημέρα ως εξωτερικός", ("ΑΣΘΕΝΗΣ", "ασθενησ", "εξωτερικοσ")),
        ("Il ricovero è ordinario perché dura più notti", ("perche", "PERCHÉ", "piu notti", "perchè")),
        ("L'età del paziente all'ingresso", ("eta", "età", "l'età", "ingresso")),
        ("Москва — столица проекта", ("москва", "МОСКВА")),
        ("支付服务商是 Stripe", ("支付", "stripe", "服务商")),
        ("orders_v2 reads maxRetryCount from api.config", ("orders_v2", "orders", "maxretrycount", "retry", "config")),
    ],
)
def test_s61_texts_are_found_whatever_accents_case_and_script(tht: Tht, text: str, questions: tuple[str, ...]) -> None:
    propose(tht, text, *ADA)
    propose(tht, "something else entirely", *ADA, topic="other")
    for question in questions:
        assert searched(tht, question, "--mode", "keyword") == [text], question
        assert searched(tht, question)[0] == text, question


def test_s63_texts_are_kept_verbatim(tht: Tht) -> None:
    texts = ["Il dott. Rossi è a Χανιά", "Η Μαρία Παπαδοπούλου δουλεύει στην Acme", "王小明在北京工作"]
    for number, text in enumerate(texts):
        propose(tht, text, *ADA, topic=f"t{number}")
    assert listed(tht) == texts


@pytest.mark.parametrize(
    "question", ['"', "*", "NOT", "a'b", "C:\\x", "-", "😀", "AND OR NEAR(", "x" * 100_000, "^a", "{}"]
)
def test_any_text_is_a_question(tht: Tht, question: str) -> None:
    propose(tht, "we use redis", *ADA)
    for mode in ("keyword", "semantic", "hybrid"):
        assert isinstance(searched(tht, question, "--mode", mode), list)


def test_what_an_agent_keeps_in_mind_is_found_by_that_agent_alone(tht: Tht) -> None:
    propose(tht, "the release is on Friday", *ADA)
    tht.json("remember", "the release needs a rollback plan", "--actor", "agent:a")
    own = tht.json("fact", "search", "release", "--actor", "agent:a")
    assert [one["content"] for one in own["remembered"]] == ["the release needs a rollback plan"]
    assert "remembered" not in tht.json("fact", "search", "release", "--actor", "agent:b")
    assert "remembered" not in tht.json("fact", "search", "submarine", "--actor", "agent:a")


def test_a_small_domain_is_searched_by_its_common_words_where_the_rare_ones_stand_elsewhere(
    tht: Tht, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.lexical.MATCHES", 3)  # as if there were thousands
    for number, thing in enumerate(("gateway", "mailer", "cache", "indexer", "ledger")):
        propose(tht, f"deploys of the {thing} are watched", *ADA, topic=f"t{number}", domain="large")
    propose(tht, "a rollback takes a minute", *ADA, topic="rollback", domain="large")
    propose(tht, "deploys are announced", *ADA, domain="small")
    assert searched(tht, "deploys and rollback", "--domain", "small") == ["deploys are announced"]
    assert searched(tht, "deploys and rollback")[0] == "a rollback takes a minute"
