"""The words for times in English, Italian and Greek, as patterns over folded text. Data only: a rule learns here."""

from __future__ import annotations

import re

from domain.language import words
from domain.lexicon import NUMBER_WORDS


def either(*lists: str) -> str:
    """A pattern for one of the words; a `_` in a word stands for a space. Longer ones are tried first."""
    forms = {form.replace("_", " ") for one in lists for form in words(one)}
    return "(?:" + "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form))) + ")"


def named(table: dict[int, str]) -> dict[str, int]:
    return {form.replace("_", " "): number for number, forms in table.items() for form in words(forms)}


MONTHS = named(
    {
        1: "january jan gennaio ιανουάριος ιανουάριο ιανουαρίου γενάρης γενάρη",
        2: "february feb febbraio φεβρουάριος φεβρουάριο φεβρουαρίου φλεβάρης φλεβάρη",
        3: "march mar marzo μάρτιος μάρτιο μαρτίου μάρτης μάρτη",
        4: "april apr aprile απρίλιος απρίλιο απριλίου απρίλης απρίλη",
        5: "may maggio μάιος μάιο μαΐου μάης μάη",
        6: "june jun giugno ιούνιος ιούνιο ιουνίου ιούνης ιούνη",
        7: "july jul luglio ιούλιος ιούλιο ιουλίου ιούλης ιούλη",
        8: "august aug agosto αύγουστος αύγουστο αυγούστου",
        9: "september sept sep settembre σεπτέμβριος σεπτέμβριο σεπτεμβρίου σεπτέμβρης σεπτέμβρη",
        10: "october oct ottobre οκτώβριος οκτώβριο οκτωβρίου οκτώβρης οκτώβρη",
        11: "november nov novembre νοέμβριος νοέμβριο νοεμβρίου νοέμβρης νοέμβρη",
        12: "december dec dicembre δεκέμβριος δεκέμβριο δεκεμβρίου δεκέμβρης δεκέμβρη",
    }
)
# Short for a month, or a verb: a month only beside a number or after a word that leads to a time.
DOUBTFUL_MONTHS = frozenset(words("may mar jan feb apr jun jul aug sept sep oct nov dec"))
WEEKDAYS = named(
    {
        0: "monday lunedì δευτέρα",
        1: "tuesday martedì τρίτη",
        2: "wednesday mercoledì τετάρτη",
        3: "thursday giovedì πέμπτη",
        4: "friday venerdì παρασκευή",
        5: "saturday sabato σάββατο",
        6: "sunday domenica κυριακή",
    }
)
ORDINAL_WEEKDAYS = frozenset(words("δευτέρα τρίτη τετάρτη πέμπτη"))  # they also mean second, third, fourth, fifth
SEASONS = named(
    {
        3: "spring primavera άνοιξη άνοιξης",
        6: "summer estate καλοκαίρι καλοκαιριού",
        9: "autumn fall autunno φθινόπωρο φθινοπώρου",
        12: "winter inverno χειμώνα χειμώνας",
    }
)
UNITS = {
    form: unit
    for unit, forms in {
        "minute": "minute minutes minuto minuti λεπτό λεπτά λεπτών",
        "hour": "hour hours ora ore ώρα ώρες ωρών",
        "day": "day days giorno giorni μέρα μέρες ημέρα ημέρες ημερών",
        "week": "week weeks settimana settimane εβδομάδα εβδομάδες εβδομάδων",
        "month": "month months mese mesi μήνα μήνας μήνες μηνών",
        "quarter": "quarter quarters trimestre trimestri τρίμηνο τρίμηνα τριμήνου",
        "year": "year years anno anni χρόνο χρόνος χρόνια χρόνων έτος έτη ετών",
    }.items()
    for form in words(forms)
}
COUNTS = (
    {word: number for forms in NUMBER_WORDS.values() for word, number in forms.items() if number <= 99}
    | dict.fromkeys(words("a an un una una' un' ένας έναν μία μια ενός μίας μιας"), 1)
    | named({2: "a_couple_of couple_of couple un_paio_di", 3: "a_few few qualche alcuni alcune λίγες λίγα λίγους"})
)
ORDINALS = named(
    {
        1: "first 1st primo πρώτο πρώτου 1ο",
        2: "second 2nd secondo δεύτερο δευτέρου 2ο",
        3: "third 3rd terzo τρίτο τρίτου 3ο",
        4: "fourth 4th quarto τέταρτο τετάρτου 4ο",
    }
)
DAYS_FROM_TODAY = named(
    {
        0: "today oggi stamattina stamani stasera this_morning this_afternoon tonight σήμερα απόψε",
        -1: "yesterday ieri last_night stanotte χθες χτες εχθές",
        -2: "the_day_before_yesterday day_before_yesterday l'altro_ieri altroieri avantieri προχθές προχτές",
        1: "tomorrow domani αύριο",
    }
)
# `this` and `the one before` whole periods that are one word or bend with their noun.
_PERIODS = {
    ("week", 0): "this_week questa_settimana αυτή_την_εβδομάδα αυτήν_την_εβδομάδα τρέχουσα_εβδομάδα",
    ("week", 1): "last_week previous_week settimana_scorsa settimana_passata scorsa_settimana settimana_precedente "
    "περασμένη_εβδομάδα προηγούμενη_εβδομάδα περασμένης_εβδομάδας",
    ("month", 0): "this_month questo_mese αυτόν_τον_μήνα αυτό_τον_μήνα τρέχοντα_μήνα",
    ("month", 1): "last_month previous_month mese_scorso mese_passato scorso_mese mese_precedente "
    "περασμένο_μήνα προηγούμενο_μήνα περασμένου_μήνα",
    ("quarter", 0): "this_quarter questo_trimestre αυτό_το_τρίμηνο",
    ("quarter", 1): "last_quarter previous_quarter trimestre_scorso scorso_trimestre περασμένο_τρίμηνο "
    "προηγούμενο_τρίμηνο",
    ("year", 0): "this_year quest'anno questo_anno anno_corrente φέτος αυτό_το_έτος αυτόν_τον_χρόνο αυτή_τη_χρονιά",
    ("year", 1): "last_year previous_year anno_scorso anno_passato scorso_anno anno_precedente πέρυσι πέρσι "
    "περασμένο_χρόνο περασμένο_έτος προηγούμενο_έτος περασμένη_χρονιά περασμένου_έτους",
    ("year", 2): "year_before_last πρόπερσι",
    ("weekend", 0): "this_weekend questo_weekend questo_fine_settimana αυτό_το_σαββατοκύριακο",
    ("weekend", 1): "last_weekend previous_weekend scorso_weekend weekend_scorso scorso_fine_settimana "
    "fine_settimana_scorso περασμένο_σαββατοκύριακο προηγούμενο_σαββατοκύριακο",
}
PERIODS = {period: either(forms) for period, forms in _PERIODS.items()}
# A question without any of these, and without a digit, names no time.
TIME_WORDS = frozenset(
    part
    for forms in (
        MONTHS,
        WEEKDAYS,
        SEASONS,
        UNITS,
        DAYS_FROM_TODAY,
        words(" ".join(_PERIODS.values()).replace("_", " ")),
    )
    for form in forms
    for part in form.replace("'", " ").split()
)
THIS = either("this questo questa αυτό αυτή αυτήν αυτόν")
LAST = either("last scorso scorsa passato passata περασμένο περασμένη περασμένου προηγούμενο προηγούμενη")
RECENT = either(
    "last past ultimi ultime ultimo ultima ultim' τελευταίες τελευταία τελευταίους τελευταίο τελευταίων τελευταίος"
)
RECENT_ALONE = either("past ultimo ultima τελευταίο τελευταία")  # `the past week`; `last week` is the one before
ARTICLE = (
    f"(?:(?:{either('the il lo la i gli le ο η το τη την τον τις τους τα του της των στις στην στη στον στο')} |l'))?"
)
OF_WHAT = either("of di del dello della dell' dei του της")  # `the last week of the contract` is another one
AT = either(
    "in on during throughout for of from",
    "a ad in nel nello nella nell' di del dello della dell' durante per al allo alla all'",
    "το τον την τη του της σε στο στον στην στη κατά",
)
SINCE = either(
    "since ever_since starting_from starting_in as_of dal dalla dallo dall' dai dagli dalle da a_partire_da "
    "a_partire_dal από"
)
BEFORE = either("before prior_to earlier_than prima_di prima_del prima_della prima_dello prima_dell' πριν_από πριν")
UNTIL = either("until till up_to fino_a fino_al fino_alla fino_allo fino_all' entro entro_il μέχρι έως ως")
AFTER = either("after later_than dopo dopo_il dopo_la dopo_lo dopo_l' μετά_από μετά")
BETWEEN = either("between from tra fra dal dalla dallo dall' da μεταξύ από")
AND_TO = either("and to until till through e ed al allo alla all' a fino_al fino_a και ως έως μέχρι") + "|-"
AGO = either("ago fa back πριν")
AGO_FIRST = either("πριν_από πριν")
FOR_NOW = either("εδώ_και")
THE_WEEKEND = either(
    "the_weekend over_the_weekend il_weekend nel_weekend il_fine_settimana nel_fine_settimana το_σαββατοκύριακο"
)
SOME = either("ultimi ultime τελευταίες τελευταίους τελευταία")  # `negli ultimi giorni`: not said how many
DAYS_OR_MORE = words("giorni settimane mesi anni ore μέρες ημέρες εβδομάδες μήνες χρόνια ώρες")
QUARTER = either("quarter trimestre τρίμηνο τριμήνου")
THE_YEAR = either("year anno έτος")
VERSION = either("version versione release build v έκδοση έκδοσης")
# A year is no year when it counts something.
COUNTED = either(
    "ms s sec seconds minutes hours days weeks months rows files tables records events facts patients users tokens "
    "items times attempts retries requests calls bytes kb mb gb euro euros dollars "
    "secondi minuti ore giorni righe file tabelle pazienti volte tentativi richieste utenti "
    "γραμμές αρχεία πίνακες ημέρες μέρες ώρες ασθενείς φορές ευρώ"
)
