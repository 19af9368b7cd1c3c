"""Which languages an embedding model knows, found out by asking it: part of an embedder's description.

A model's card claims; a probe shows. In each language there are ten statements, each with a question that shares few
words with it. A model that knows the language finds the right statement by meaning; one that does not, by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul

from adapters.vector_cache import CachedEmbedder
from projections.index.port import Embedder

# Statement and question, general matters on purpose: no name, number or code by which the right one could be told.
PROBES: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": (
        ("The shop opens early in the morning.", "At what hour can customers come in?"),
        ("He broke his leg while skiing.", "What injury did he suffer on the slopes?"),
        ("The soup is too salty to eat.", "Why did nobody finish the first course?"),
        ("Her brother repairs bicycles.", "Who can mend a flat tyre?"),
        ("The river floods every spring.", "When does the water leave its bed?"),
        ("Children must be accompanied by an adult.", "May kids enter alone?"),
        ("The train was cancelled because of snow.", "What stopped the railway in winter?"),
        ("She plays the violin in an orchestra.", "Which instrument does the musician use?"),
        ("The contract ends at the close of the year.", "How long is the agreement valid?"),
        ("This medicine makes people sleepy.", "What side effect do the pills have?"),
    ),
    "it": (
        ("Il negozio apre la mattina presto.", "A che ora possono entrare i clienti?"),
        ("Si è rotto una gamba sciando.", "Quale infortunio ha avuto sulla neve?"),
        ("La minestra è troppo salata.", "Perché nessuno ha finito il primo piatto?"),
        ("Suo fratello ripara biciclette.", "Chi sa aggiustare una gomma bucata?"),
        ("Il fiume straripa ogni primavera.", "Quando l'acqua esce dagli argini?"),
        ("I bambini devono essere accompagnati da un adulto.", "I piccoli possono venire da soli?"),
        ("Il treno è stato cancellato per la nevicata.", "Che cosa ha fermato la ferrovia d'inverno?"),
        ("Lei suona il violino in orchestra.", "Quale strumento usa la musicista?"),
        ("Il contratto scade alla fine dell'anno.", "Fino a quando vale l'accordo?"),
        ("Questo farmaco fa venire sonno.", "Che effetto collaterale hanno le pillole?"),
    ),
    "el": (
        ("Το μαγαζί ανοίγει νωρίς το πρωί.", "Ποια ώρα μπορούν να μπουν οι πελάτες;"),
        ("Έσπασε το πόδι του κάνοντας σκι.", "Τι τραυματισμό είχε στο χιόνι;"),
        ("Η σούπα είναι πολύ αλμυρή.", "Γιατί κανείς δεν τελείωσε το πρώτο πιάτο;"),
        ("Ο αδελφός της επισκευάζει ποδήλατα.", "Ποιος ξέρει να φτιάξει ένα σκασμένο λάστιχο;"),
        ("Το ποτάμι πλημμυρίζει κάθε άνοιξη.", "Πότε βγαίνει το νερό από την κοίτη;"),
        ("Τα παιδιά πρέπει να συνοδεύονται από ενήλικα.", "Μπορούν οι μικροί να έρθουν μόνοι;"),
        ("Το τρένο ακυρώθηκε λόγω χιονόπτωσης.", "Τι σταμάτησε τον σιδηρόδρομο τον χειμώνα;"),
        ("Παίζει βιολί σε ορχήστρα.", "Ποιο όργανο χρησιμοποιεί η μουσικός;"),
        ("Το συμβόλαιο λήγει στο τέλος του χρόνου.", "Μέχρι πότε ισχύει η συμφωνία;"),
        ("Αυτό το φάρμακο φέρνει υπνηλία.", "Ποια παρενέργεια έχουν τα χάπια;"),
    ),
}


def probe(embedder: Embedder, language: str) -> float:
    """How well the model knows a language of `PROBES`, 0 (as by chance) to 1 (every statement found).

    Twenty short texts, whose vectors are cached like all others. Raises ModelUnavailable.
    """
    pairs = PROBES[language]
    vectors = embedder.embed_documents([text for pair in pairs for text in pair])
    return _found(vectors[0::2], vectors[1::2])


def probed(embedder: CachedEmbedder, language: str) -> float | None:
    """The same from vectors that are cached already, else None. Loads no model."""
    texts = [text for pair in PROBES[language] for text in pair]
    known = embedder.known(texts)
    if len(known) < len(set(texts)):
        return None
    return _found([known[one] for one, _ in PROBES[language]], [known[one] for _, one in PROBES[language]])


def coverage(embedder: Embedder, language: str) -> float:
    """How well the model knows a question's language, 0 to 1; for one that is not probed, as the least known one."""
    if language in PROBES:
        return probe(embedder, language)
    return min(probe(embedder, one) for one in PROBES)


def _found(statements: Sequence[Sequence[float]], questions: Sequence[Sequence[float]]) -> float:
    """The part of the questions whose statement is the nearest, less what chance would give."""
    right = 0
    for number, question in enumerate(questions):
        cosines = [sum(map(mul, question, statement)) for statement in statements]
        right += max(range(len(cosines)), key=lambda one: (cosines[one], -one)) == number
    chance = 1 / len(statements)
    return max(0.0, (right / len(statements) - chance) / (1 - chance))
