"""What kind of answer a question wants, by rules for English, Italian and Greek; `general` when none applies."""

from __future__ import annotations

import re
from typing import Literal

from domain.language import fold, words
from domain.lexicon import NEGATIONS
from projections.recall.dates import names_a_time

Intent = Literal["temporal", "factual", "entity", "preference", "procedural", "general"]
READ = 1_000  # characters of a question that are looked at


def intent_of(question: str) -> Intent:
    """The first rule that applies to the question, whatever its case, accents and apostrophes. Never raises.

    Only the first 1,000 characters are read. A question that fits two intents has the one whose voice helps it most:
    what somebody prefers before when it was said, when it was said before what it is.
    """
    text = fold(question[:READ])
    for intent, rule in _RULES:
        if rule.search(text):
            return intent
    if _asks_when(text) or names_a_time(question):
        return "temporal"
    return "factual" if _FACTUAL.search(text) else "general"


def _asks_when(text: str) -> bool:
    """`ποτέ` and `πότε` are one word once folded: beside a negation it is never, else it is when."""
    if _TEMPORAL.search(text):
        return True
    found = _GREEK_WHEN.search(text)
    return found is not None and _NOT.isdisjoint(text[: found.start()].split())


def _any(*phrases: str) -> str:
    """A pattern for one of the phrases, `_` for a space, `*` for any ending."""
    forms = sorted({form for one in phrases for form in words(one)}, key=lambda form: (-len(form), form))
    return "(?:" + "|".join(re.escape(form).replace("_", " ").replace(r"\*", r"\w*") for form in forms) + r")(?!\w)"


def _rule(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w)(?:{pattern})" for pattern in patterns))


_NOT = frozenset().union(*NEGATIONS.values()) | frozenset(words("χωρίς"))
_FIRST = r"(?<!.)[^\w]*"  # at the beginning of the text
_GREEK_WHEN = re.compile(rf"(?<!\w){_any('πότε')}")

_MEANING = _rule(
    _any("define definisci definire definizione_di definition_of meaning_of significato_di όρισε ορισμός ορισμό"),
    _any("vuol_dire vogliono_dire che_significa cosa_significa cosa_significano τι_σημαίνει τι_σημαίνουν σημασία"),
    r"what do(?:es)? (?:[^ ]+ ){1,8}(?:mean|stand for)(?!\w)",
    _any("how_many how_much quanto quanta quanti quante πόσο πόσος πόση πόσα πόσοι πόσες πόσους πόσων"),
)
_PREFERENCE = _rule(
    _any("prefer prefers preferred preference preferences favourite favorite favourites favorites would_rather"),
    _any("should_i should_we recommended recommend recommends best_practice is_it_better better_to you_rather"),
    _any("preferi* preferenz* meglio conviene consigliat* consigliamo raccomandat* dovrei dovremmo"),
    rf"{_FIRST}[\w-]+ (?:or|o|oppure|η|ή) [\w-]+\W*$",
    _any("προτιμ* καλύτερα καλύτερο να_προτιμ* συνιστάται συνιστ* προτείν*"),
)
_ENTITY = _rule(
    r"(?:tell me|talk)(?: \w+)? (?:about|of)(?!\w)",
    rf"{_any('everything anything all_we_know what_we_know information info details')} "
    rf"(?:(?:that )?we know |there is )?{_any('about regarding concerning on')}",
    rf"what do (?:we|you) know {_any('about of')}",
    rf"who(?: is|'s) (?!{_any('the a an our my your in on at responsible owning allowed able it this that')})\w",
    rf"{_any('parlami parlaci raccontami raccontaci')} (?:di|de|su|da)",
    r"(?:dimmi|dicci) (?:tutto|di piu|qualcosa|quello che)(?!\w)",
    r"(?:che )?(?:cosa|quello che|tutto quello che) sappiamo (?:di|de|su|riguardo)",
    rf"{_any('informazioni tutto qualcosa dettagli')} (?:su|sul\w*|sull'\w*|riguardo|di)(?!\w)",
    r"riguardo (?:a|al\w*)(?!\w)",
    rf"chi [eè] (?!{_any('il lo la l i un una responsabile')})\w",
    rf"{_any('μίλησε μίλα πες μίλησέ')} (?:μου|μας) (?:για|τα παντα|οσα)(?!\w)",
    r"(?:τι|οσα|ο,τι) (?:ξερουμε|γνωριζουμε) (?:για|σχετικα)",
    rf"{_any('όλα τα_πάντα πληροφορίες οτιδήποτε')} (?:για|σχετικα με)(?!\w)",
)
_PROCEDURAL = _rule(
    rf"how (?:do|can|could|should|would|must|to|shall) (?!{_any('it they the this these those that')})\w|how to(?!\w)",
    rf"{_any('steps')} (?:to|for|of|in)(?!\w)|{_any('step_by_step set_up procedure_for instructions walk_me_through')}",
    _any("guide_to guide_for how-to howto tutorial way_to"),
    rf"come (?:si (?!{_any('chiama chiamano intitola')})|posso|possiamo|faccio|fare|facciamo|devo|dobbiamo|potrei)",
    r"come \w{2,30}(?:are|ere|ire|arre|orre|urre|arlo|arla|erlo|irlo|arsi|ersi|irsi)(?!\w)",
    _any("passi_per passaggi_per procedura_per procedura_di istruzioni guida_per guida_a guida_alla passo_passo"),
    r"πωσ (?:να |μπορω |μπορουμε |θα |πρεπει |γινεται )",
    r"πωσ (?:το |τα |τον |την |τη )?(?!ειναι)\w{2,30}(?:ω|ουμε|αμε)(?!\w)",
    _any("βήματα οδηγίες διαδικασία_για βήμα_βήμα οδηγός_για"),
)
_TEMPORAL = _rule(
    r"when (?:was|were|is|are|am|did|do|does|will|would|has|have|had|should|can|exactly|and|precisely|last)(?!\w)",
    rf"{_FIRST}when\W*$|{_any('since_when until_when how_long_ago how_recently')}",
    rf"{_any('what which at_what on_what on_which in_which in_what')} "
    rf"(?:time|date|day|month|year|week|hour)(?= (?:was|were|did|do|does|is|are|will|has|have)(?!\w))",
    _any(
        "recently lately recent_changes recent_decisions latest_changes latest_decisions last_changed last_updated_on"
    ),
    r"what (?:\w+ )?(?:happened|changed)(?!\w)|what has changed|what's new|what is new|what was new",
    _any("history_of timeline changelog chronology cronologia_di cronologia_del* storia_delle_modifiche χρονολόγιο"),
    rf"{_FIRST}(?:e )?(?:(?:da|fino a|di|per) )?quando(?!\w)(?! (?:si|il|lo|la|i|gli|le|un|una) [^,?]{{1,80}},)",
    _any("da_quando fino_a_quando in_che_data in_quale_data in_che_anno in_quale_anno che_giorno quanto_tempo_fa"),
    _any("di_recente recentemente ultimamente recente recenti ultime_modifiche ultime_decisioni"),
    r"(?:che )?cosa (?:è|e|e'|sia) (?:successo|cambiato|accaduto)|che è successo",
    _any("πρόσφατα πρόσφατες πρόσφατη πρόσφατο τελευταία_φορά ιστορικό_του ιστορικό_της ποια_χρονιά ποια_ημερομηνία"),
    _any("τι_άλλαξε τι_έγινε τι_συνέβη"),
)
_FACTUAL = _rule(
    _any("what which who whose whom where why what's who's where's explain"),
    rf"{_FIRST}(?:how|come|che|is|are|was|were|does|do|did|has|have|can|may|must|will)(?!\w)",
    r"(?:che )?cos(?:a|'è|'e|'e')(?!\w)",
    _any("chi dove perché qual quale quali spiega spiegami"),
    _any("τι ποιος ποια ποιο ποιοι ποιες ποιον ποιαν ποιους ποιου πού γιατί εξήγησε πώς"),
)
_RULES: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    ("procedural", _rule(r"tell me how(?!\w)|dimmi come(?!\w)|πεσ μου πωσ(?!\w)")),
    ("entity", _ENTITY),
    ("factual", _MEANING),
    ("preference", _PREFERENCE),
    ("procedural", _PROCEDURAL),
)
