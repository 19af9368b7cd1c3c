"""Pairs of words of which one denies the other, in English, Italian and Greek. Data only, as in `domain.lexicon`."""

from __future__ import annotations

from domain.lexicon import stems_of

_ACTION_PAIRS = (  # verbs and prepositions: opposite wherever they stand
    ("enable activate abilitare attivare ενεργοποιώ", "disable deactivate disabilitare disattivare απενεργοποιώ"),
    (
        "allow permit permettere consentire επιτρέπω επιτρέπεται",
        "forbid prohibit deny ban vietare απαγορεύω απαγορεύεται",
    ),
    ("accept accettare δέχομαι αποδέχομαι", "reject refuse rifiutare respingere απορρίπτω"),
    ("include includere περιλαμβάνω", "exclude escludere αποκλείω εξαιρώ"),
    ("before prima πριν", "after dopo μετά"),
    ("with con με", "without senza χωρίς"),
    ("above over", "below under"),
    ("sopra πάνω", "sotto κάτω"),
    ("start begin iniziare αρχίζω ξεκινά", "stop end finire σταματά λήγει"),
    ("increase grow aumentare αυξάνω", "decrease shrink diminuire μειώνω"),
    ("everyone everybody anyone all tutti όλοι", "nobody none nessuno κανείς κανένας"),
    ("everything tutto όλα", "nothing niente nulla τίποτα"),
    ("least almeno τουλάχιστον", "most massimo πολύ"),
    ("always sempre πάντα", "never mai ποτέ"),
    ("on", "off"),
    ("<", ">= >"),
    ("<=", "> >="),
    ("≤", "> ≥"),
    ("<", "≥"),
)
_QUALITY_PAIRS = (  # adjectives: in the subject they only say which one is meant
    ("enabled active activated attivo attivato abilitato ενεργός ενεργοποιημένος",
     "disabled inactive deactivated disattivo disattivato disabilitato inattivo ανενεργός απενεργοποιημένος"),
    ("allowed permitted permesso consentito ammesso επιτρεπτός",
     "forbidden prohibited denied banned disallowed vietato proibito απαγορευμένος"),
    ("accepted accettato αποδεκτός", "rejected refused rifiutato respinto"),
    ("included incluso compreso", "excluded escluso"),
    ("required mandatory compulsory obbligatorio υποχρεωτικός", "optional facoltativo opzionale προαιρετικός"),
    ("open aperto ανοιχτός ανοικτός", "closed chiuso κλειστός"),
    ("public pubblico δημόσιος", "private privato ιδιωτικός"),
    ("internal interno εσωτερικός", "external esterno εξωτερικός"),
    ("synchronous sincrono σύγχρονος", "asynchronous asincrono ασύγχρονος"),
    ("automatic automatico αυτόματος", "manual manuale χειροκίνητος"),
    ("manually", "automatically"),
    ("true vero αληθής αληθινός", "false falso ψευδής"),
    ("valid valido έγκυρος", "invalid άκυρος"),
    ("visible visibile ορατός", "invisible hidden invisibile nascosto αόρατος κρυφός"),
    ("new nuovo νέος", "old vecchio παλιός"),
    ("first primo πρώτος", "last ultimo τελευταίος"),
    ("high alto υψηλός", "low basso χαμηλός"),
    ("maximum max massimo μέγιστος", "minimum min minimo ελάχιστος"),
    ("fast veloce γρήγορος", "slow lento αργός"),
    ("safe sicuro ασφαλής", "unsafe insecure pericoloso επικίνδυνος"),
    ("present presente παρών", "absent assente απών"),
    ("present", "missing"),
    ("complete completo πλήρης", "incomplete incompleto ελλιπής"),
    ("mutable", "immutable"),
    ("ascending crescente αύξων", "descending decrescente φθίνων"),
    ("encrypted cifrato", "unencrypted plaintext"),
    ("correct corretto σωστός", "incorrect wrong sbagliato errato λάθος"),
    ("up", "down"),
)  # fmt: skip
NEGATIVE_PREFIXES = ("un", "dis", "non-", "non", "μη-")


def _opposites(pairs: tuple[tuple[str, str], ...]) -> frozenset[tuple[str, str]]:
    """Both directions of every pair, as stems of each language that may read the word."""
    found = set()
    for left, right in pairs:
        for one in stems_of(left):
            for other in stems_of(right):
                found.update({(one, other), (other, one)})
    return frozenset(found)


ACTION_OPPOSITES = _opposites(_ACTION_PAIRS)
QUALITY_OPPOSITES = _opposites(_QUALITY_PAIRS)
