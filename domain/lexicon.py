"""The words that the conflict rules know, in English, Italian and Greek. Data only: a rule learns a word here.

Every list is folded when it is read, so it is written as people write.
"""

from __future__ import annotations

from fractions import Fraction

from domain.language import stem, words


def _set(*lists: str) -> frozenset[str]:
    return frozenset(word for words_of_one in lists for word in words(words_of_one))


# -- words that carry the sentence, not the matter ---------------------------------------------------------------------

DETERMINERS = {
    "en": _set("the a an our my your its"),
    "it": _set("il lo la i gli le l un uno una nostro nostra nostri nostre mio mia suo sua c ci"),
    "el": _set("ο η το οι τα τον την τη του της των τους τις ένας μια ένα έναν μας μου σας"),
    "other": frozenset(),
}
COPULAS = _set("is are be am = == : 是", "è sono vale equivale", "είναι ισούται")
PAST_COPULAS = _set("was were been era erano ήταν")  # told from the present, so `was` is no `is`
PREPOSITIONS = _set(
    "in on at by for to from with without under over of after before during per via as into through when since until",
    "di a da in con su per tra fra senza prima dopo durante presso ad quando fino entro",
    "σε από με για χωρίς πριν μετά κατά ως μέχρι προς στο στον στη στην στα στις στους όταν",
)
CONJUNCTIONS = _set("and or but then e ed o ma oppure και ή αλλά κι")
AND = _set("and e ed και κι")
FUNCTION_WORDS = (
    PREPOSITIONS
    | CONJUNCTIONS
    | _set("we i you it they he she that this these those there which who can will has have had")
    | _set("si che noi chi cui ne ha hanno ho abbiamo può questo questa")
    | _set("must should may might can could shall would will deve devono dovrebbe possono πρέπει μπορεί μπορούν")
    | _set("που ότι θα να αυτό αυτή έχει έχουν εμείς")
)
# One form for what grammar bends: `della` is `di`, `στην` is `σε`.
PREPOSITION_FORMS = {
    form: base
    for base, forms in {
        "di": "del dello della dell dei degli delle d",
        "a": "al allo alla all ai agli alle ad",
        "da": "dal dallo dalla dall dai dagli dalle",
        "in": "nel nello nella nell nei negli nelle",
        "su": "sul sullo sulla sull sui sugli sulle",
        "σε": "στο στον στη στην στα στις στους σ",
        "απο": "απ",
    }.items()
    for form in words(forms)
}
QUESTION_WORDS = _set(
    "what how who whom whose where why when which does did",
    "cosa che come chi dove perché quando quale quali quanto quanti quante",
    "τι πώς ποιος ποια ποιο ποιοι πού γιατί πότε πόσο πόσα πόσοι πόσες",
)
# Words that say nothing about what a text is about.
FILLERS = frozenset().union(
    FUNCTION_WORDS, COPULAS, PAST_COPULAS, PREPOSITION_FORMS, QUESTION_WORDS, *DETERMINERS.values()
)
BEFORE_OF = _set("prima dopo πριν μετά massimo")  # `prima del`, `πριν από`: the second word adds nothing
OF = _set("of di")

# -- polarity ----------------------------------------------------------------------------------------------------------

NEGATIONS = {
    "en": _set("not never no neither nor"),
    "it": _set("non mai né"),
    "el": _set("δεν δε μην μη όχι ποτέ ούτε"),
    "other": frozenset(),
}
DO_SUPPORT = _set("do does did")
# Italian and Greek deny once with two words (`non … mai`, `δεν … ποτέ`): beside a negation these only stress it.
CONCORD = _set(
    "mai nessuno nessun nessuna niente nulla né affatto ποτέ κανένας κανείς καμία κανένα τίποτα ούτε καθόλου"
)
NO_LONGER = _set("più πια πλέον")
EMPHASIS = _set("always all every each ever tutti tutte tutto tutta sempre ogni πάντα πάντοτε όλοι όλες όλα κάθε")
QUANTITIES = (
    EMPHASIS
    | CONCORD
    | _set("some most many few several nobody none nothing everyone everybody everything anyone")
    | _set("alcuni alcune molti molte pochi poche qualche μερικοί μερικές μερικά πολλοί πολλές λίγοι λίγες")
)
# A text that adds one of these may take back or restrict what it repeats, so it is no plain refinement.
HEDGES = _set(
    "only except unless until if almost nearly hardly rarely sometimes maybe perhaps might may former formerly fake "
    "supposedly allegedly planned proposed deprecated obsolete wrong false forbidden optional instead other apart",
    "solo soltanto tranne eccetto salvo finché se quasi forse talvolta ex falso vietato deprecato purché invece",
    "μόνο εκτός αν εάν ίσως σχεδόν σπάνια κάποτε ενίοτε πρώην ψευδές απαγορεύεται παρά αντί",
    "nicht kein keine nie ne pas jamais aucun nunca jamás não нет не ни никогда 不 没 未 无 非 吗",
)


def stems_of(text: str) -> set[str]:
    """The words of a text, and their stems in each language that may read them."""
    return {stem(word, language) for word in words(text) for language in ("en", "it", "el")} | set(words(text))


# -- slots that hold one value -----------------------------------------------------------------------------------------

_ATTRIBUTES = (
    "target owner author maintainer lead leader manager reviewer contact date day time timezone deadline name title "
    "label type kind format encoding language database db store backend engine host hostname server region zone "
    "environment branch port address url email path folder directory file key id code color colour status state level "
    "mode priority severity version license default value unit currency price cost rate limit size length number "
    "threshold timeout interval frequency schedule retention style source destination capital country city role "
    "password protocol algorithm framework library provider vendor platform system editor shell compiler method "
    "separator delimiter charset ceo cto cfo president chair head sponsor customer supplier theme domain flag "
    "data ora giorno nome titolo etichetta tipo formato codifica lingua archivio motore regione ambiente ramo porta "
    "indirizzo cartella chiave codice colore stato livello priorità versione licenza valore unità valuta prezzo costo "
    "tasso limite soglia dimensione intervallo frequenza fonte origine destinazione capitale città ruolo protocollo "
    "metodo responsabile referente direttore proprietario autore reparto scadenza parametro "
    "ημερομηνία ώρα όνομα τίτλος ετικέτα τύπος μορφή κωδικοποίηση γλώσσα βάση μηχανή περιοχή περιβάλλον κλάδος θύρα "
    "διεύθυνση φάκελος κλειδί κωδικός χρώμα κατάσταση επίπεδο προτεραιότητα έκδοση άδεια τιμή μονάδα νόμισμα κόστος "
    "όριο μέγεθος διάστημα συχνότητα πηγή προορισμός πρωτεύουσα πόλη ρόλος πρωτόκολλο μέθοδος υπεύθυνος διευθυντής "
    "ιδιοκτήτης συγγραφέας προθεσμία στόχος"
)
ATTRIBUTES = frozenset(stems_of(_ATTRIBUTES))
_STATE_VERBS = (
    "work works live lives stored saved kept hosted located written encoded expressed measured based deployed owned "
    "managed maintained led recorded published set called named signed calculated computed counted represented "
    "lavora vive trova trovano conservato salvato memorizzato ospitato scritto espresso misurato gestito registrato "
    "chiamato calcolato contato situato basato "
    "δουλεύει εργάζεται ζει μένει αποθηκεύεται αποθηκεύονται φιλοξενείται γράφεται γράφονται μετράται μετρώνται "
    "ονομάζεται υπολογίζεται βρίσκεται"
)
STATE_VERBS = frozenset(stems_of(_STATE_VERBS))
STATE_PREPOSITIONS = _set("in at by on as for in a da presso su come σε από ως με")
LABELS = frozenset(
    stems_of(
        "issue ticket bug pr commit version port step phase chapter section page room build sprint release server "
        "node shard line rule case user question table figure article versione porta fase passo capitolo sezione "
        "pagina stanza riga caso regola tabella figura articolo έκδοση θύρα φάση βήμα κεφάλαιο ενότητα σελίδα "
        "δωμάτιο γραμμή κανόνας περίπτωση πίνακας άρθρο"
    )
)
QUANTIFIERS = EMPHASIS | _set(
    "at least most max min about exactly up to maximum minimum almeno massimo circa minimo τουλάχιστον πολύ περίπου"
)

# -- numbers and units -------------------------------------------------------------------------------------------------

_EN_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IT_ONES = (
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove"
)
_IT_TENS = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta"
_EL_ONES = (
    "μηδέν|ένα|δύο δυο|τρία τρεις τριών|τέσσερα τέσσερις τεσσάρων|πέντε|έξι|επτά εφτά|οκτώ οχτώ|εννέα εννιά|δέκα|"
    "έντεκα ένδεκα|δώδεκα|δεκατρία δεκατρείς|δεκατέσσερα δεκατέσσερις|δεκαπέντε|δεκαέξι|δεκαεπτά δεκαεφτά|"
    "δεκαοκτώ δεκαοχτώ|δεκαεννέα δεκαεννιά"
)
_EL_TENS = "είκοσι τριάντα σαράντα πενήντα εξήντα εβδομήντα ογδόντα ενενήντα"


def _italian_compounds() -> dict[str, int]:
    """ventuno, ventidue … novantanove: the ten loses its vowel before uno and otto."""
    ones = words(_IT_ONES)
    return {
        (ten[:-1] if ones[unit][0] in "uo" else ten) + ones[unit]: 10 * place + unit
        for place, ten in enumerate(words(_IT_TENS), 2)
        for unit in range(1, 10)
    }


def _tens(text: str) -> dict[str, int]:
    return {word: 10 * place for place, word in enumerate(words(text), 2)}


TENS = _tens(_EN_TENS) | _tens(_EL_TENS)  # may be followed by a word for one to nine
NUMBER_WORDS = {
    "en": {word: value for value, word in enumerate(words(_EN_ONES))} | _tens(_EN_TENS),
    "it": {word: value for value, word in enumerate(words(_IT_ONES))}
    | _tens(_IT_TENS) | _italian_compounds() | {"cento": 100, "mille": 1000},
    "el": {word: value for value, forms in enumerate(_EL_ONES.split("|")) for word in words(forms)}
    | _tens(_EL_TENS) | {"εκατο": 100, "χιλια": 1000, "χιλιεσ": 1000},
    "other": {},
}  # fmt: skip
ARTICLE_OR_ONE = _set("uno ένα")  # a number only before a unit or at the end
MULTIPLIERS = {
    word: factor
    for factor, forms in {
        100: "hundred",
        1_000: "thousand k mila χιλιάδες",
        1_000_000: "million millions milione milioni mln εκατομμύριο εκατομμύρια",
        1_000_000_000: "billion billions miliardo miliardi δισεκατομμύριο δισεκατομμύρια",
    }.items()
    for word in words(forms)
}
_MONTH = Fraction(36525, 1200)  # days: the mean month, so that it never equals a count of days
_UNITS: dict[tuple[str, Fraction], str] = {
    ("s", Fraction(1, 1_000_000)): "µs microsecond microseconds microsecondi",
    ("s", Fraction(1, 1_000)): "ms millisecond milliseconds millisecondi χιλιοστά",
    ("s", Fraction(1)): "s sec secs second seconds secondo secondi δευτ δευτερόλεπτο δευτερόλεπτα δευτερολέπτων",
    ("s", Fraction(60)): "min mins minute minutes minuto minuti λεπτό λεπτά λεπτών",
    ("s", Fraction(3_600)): "h hr hrs hour hours ora ore ώρα ώρες ωρών",
    ("s", Fraction(86_400)): "d day days giorno giorni ημέρα ημέρες ημερών μέρα μέρες",
    ("s", Fraction(604_800)): "week weeks settimana settimane εβδομάδα εβδομάδες",
    ("s", 86_400 * _MONTH): "month months mese mesi μήνας μήνες μηνών μήνα",
    ("s", 86_400 * _MONTH * 12): "year years anno anni έτος έτη χρόνια χρόνος ετών",
    ("byte", Fraction(1)): "byte bytes",
    ("byte", Fraction(10**3)): "kb kilobyte kilobytes",
    ("byte", Fraction(10**6)): "mb megabyte megabytes",
    ("byte", Fraction(10**9)): "gb gigabyte gigabytes",
    ("byte", Fraction(10**12)): "tb terabyte terabytes",
    ("byte", Fraction(2**10)): "kib",
    ("byte", Fraction(2**20)): "mib",
    ("byte", Fraction(2**30)): "gib",
    ("%", Fraction(1)): "% percent percento pct",
    ("eur", Fraction(1)): "€ eur euro euros ευρώ",
    ("usd", Fraction(1)): "$ usd dollar dollars dollari dollaro δολάρια",
    ("gbp", Fraction(1)): "£ gbp pound pounds sterline",
    ("g", Fraction(1, 1_000)): "mg milligrams milligrammi",
    ("g", Fraction(1)): "g gram grams grammi γραμμάρια",
    ("g", Fraction(1_000)): "kg kilogram kilograms kilo chili κιλά",
    ("metre", Fraction(1, 1_000)): "mm",
    ("metre", Fraction(1, 100)): "cm",
    ("metre", Fraction(1_000)): "km kilometers kilometres chilometri χιλιόμετρα",
    ("metre", Fraction(1)): "meters metres metri μέτρα",
    ("litre", Fraction(1, 1_000)): "ml",
    ("litre", Fraction(1)): "l liter litre liters litres litri λίτρα",
    ("hz", Fraction(1)): "hz",
    ("px", Fraction(1)): "px pixel pixels",
    ("m", Fraction(1)): "m",  # minutes, metres or millions: left as written
}
UNITS: dict[str, tuple[str, Fraction]] = {word: unit for unit, forms in _UNITS.items() for word in words(forms)}
