"""Which memory type a text is of, when its author gave none: it decides how the fact ages (see `domain.decay`).

Cues in English, Italian and Greek, in tiers: what the author does by saying it, then what it is about, then plain
statements. The first tier with a cue decides; two types in one tier are no answer, so the text stays `unknown`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from domain.language import fold

UNKNOWN = "unknown"
READ = 2_000  # characters: what a text is shows at its beginning

_WORD = re.compile(r"\w+")


def memory_type(text: str) -> str:
    """One of `domain.decay.MEMORY_TYPES`; `unknown` when no cue is found, or cues of several types."""
    start = fold(text[:READ])
    words = frozenset(_WORD.findall(start))
    for tier in _tiers():
        found = [name for name, cues in tier.items() if cues.stand_in(start, words)]
        if found:
            return found[0] if len(found) == 1 else UNKNOWN
    return UNKNOWN


@dataclass(frozen=True, slots=True)
class _Cues:
    """The cues of one type as one pattern, and as they stand in a text by their first word; `begun`: those with a `*`,
    up to it. Most texts have none of them, which costs far less to see than a search does."""

    pattern: re.Pattern[str]
    by_word: Mapping[str, tuple[str, ...]]
    begun: tuple[str, ...]

    def stand_in(self, text: str, words: frozenset[str]) -> bool:
        """Whether a text has one of the cues; `words`: all of its words."""
        maybe = any(cue in text for word in self.by_word.keys() & words for cue in self.by_word[word])
        return (maybe or any(cue in text for cue in self.begun)) and self.pattern.search(text) is not None


@cache
def _tiers() -> tuple[dict[str, _Cues], ...]:
    """The tables compiled, at first need: most commands never classify anything."""
    return tuple({name: _cues(lists) for name, lists in tier.items()} for tier in (_SAID, _ABOUT, _STATED))


def _cues(lists: Sequence[str]) -> _Cues:
    """From `word | two words | begin*` lists, folded; `*` stands for any ending, `^` for the beginning of the text."""
    cues = [cue.strip() for one in lists for cue in one.split("|")]
    pattern = re.compile("|".join(sorted(map(_cue, cues), key=len, reverse=True)))
    plain = [fold(cue.removeprefix("^")) for cue in cues]
    by_word: dict[str, list[str]] = defaultdict(list)
    for cue in plain:
        if "*" not in cue:
            by_word[_WORD.findall(cue)[0]].append(cue)
    begun = tuple(cue.partition("*")[0] for cue in plain if "*" in cue)
    return _Cues(pattern, {word: tuple(some) for word, some in by_word.items()}, begun)


def _cue(written: str) -> str:
    begins, plain = written.startswith("^"), fold(written.removeprefix("^"))
    pattern = re.escape(plain).replace(r"\*", r"\w*").replace(r"\ ", " ")
    return (r"^" if begins else r"(?<!\w)") + pattern + r"(?!\w)"


_SAID: Mapping[str, Sequence[str]] = {
    "request": (
        "please | can you | could you | would you | i need you to | we need you to",
        "per favore | per piacere | puoi | potresti | potete | vi chiedo | ti chiedo",
        "παρακαλώ | μπορείς να | μπορείτε να | θα ήθελα να | σε παρακαλώ",
    ),
    "decision": (
        "decided | we chose | we agreed | was agreed | were agreed | opted for | settled on | decision | decisions",
        "deciso | decisa | decisione | decisioni | abbiamo scelto | si è scelto | concordato | concordata",
        "αποφασίσ* | αποφασίστηκε | απόφαση | αποφάσεις | επιλέξαμε | συμφωνήσαμε | συμφωνήθηκε",
    ),
    "commitment": (
        "i will | we will | i'll | we'll | will deliver | promise* | committed to | commits to | pledge*",
        "mi impegno | ci impegniamo | si impegna | prometto | promettiamo | consegnerò | consegneremo | consegnerà",
        "δεσμεύομαι | δεσμευόμαστε | δεσμεύεται | υπόσχομαι | υποσχόμαστε | υποσχέθηκε | θα παραδώσ*",
    ),
    "preference": (
        "prefer | prefers | preferred | preference | favourite | favorite | would rather | likes | dislikes | i "
        "like | hates",
        "preferisc* | preferiamo | preferit* | preferenza | mi piace | le piace | gli piace | ci piace | detesta",
        "προτιμ* | αγαπημέν* | μου αρέσει | του αρέσει | της αρέσει | μας αρέσει | προτίμηση",
    ),
    "goal": (
        "goal | goals | objective | aim to | aims to | we aim | we want to | wants to | our target is to | plan to "
        "| plans to",
        "obiettivo | obiettivi | vogliamo | puntiamo a | miriamo a | intendiamo | lo scopo è",
        "στόχος | στόχοι | στοχεύουμε | θέλουμε να | σκοπεύουμε | σκοπός",
    ),
    "learning": (
        "learned | learnt | lesson | turned out | turns out | realised | realized | found out | discovered",
        "imparato | lezione | si è scoperto | abbiamo scoperto | ho scoperto | ho capito | abbiamo capito",
        "μάθαμε | έμαθα | αποδείχθηκε | αποδείχτηκε | ανακαλύψαμε | δίδαγμα | καταλάβαμε",
    ),
    "observation": (
        "noticed | observed | seems | seem | appears to | appear to | looks like | i saw | we saw",
        "ho notato | abbiamo notato | osservato | sembra | sembrano | pare che | si nota",
        "παρατήρησ* | παρατηρήσαμε | παρατηρήθηκε | φαίνεται | φαίνονται | μοιάζει",
    ),
}
_ABOUT: Mapping[str, Sequence[str]] = {
    "instruction": (
        "always | never | must | should | do not | don't | make sure | ensure | remember to | ^use | ^run | ^avoid "
        "| ^keep",
        "^write | ^add | ^check | ^set | ^ask | ^call | ^deploy | ^prefer",
        "sempre | mai | deve | devono | dobbiamo | bisogna | occorre | assicurati | vietato | ^usa | ^usare | "
        "^evita | ^evitare | ^non usare | ^controlla | ^scrivi | ^ricorda",
        "πάντα | ποτέ | πρέπει | απαγορεύεται | μην | φρόντισε | βεβαιώσου | να χρησιμοποιείς | να χρησιμοποιείτε | "
        "^χρησιμοποίησε",
    ),
    "error": (
        "error | errors | exception | crash* | fails | failed | failure | failing | bug | traceback | timed out | "
        "broken",
        "errore | errori | eccezione | fallisce | fallito | fallita | guasto | si blocca | bloccato | non funziona",
        "σφάλμα | σφάλματα | απέτυχε | αποτυγχάνει | αποτυχία | εξαίρεση | κατέρρευσε | δεν λειτουργεί",
    ),
    "event": (
        "yesterday | last week | last month | last night | happened | took place | was held | was released | was "
        "deployed | were deployed | launched | was merged | went live | met with",
        "ieri | la settimana scorsa | il mese scorso | è successo | è avvenut* | si è tenut* | è stato rilasciato | "
        "è stata rilasciata | è andato in produzione",
        "χθες | την περασμένη εβδομάδα | τον περασμένο μήνα | συνέβη | έγινε | πραγματοποιήθηκε | κυκλοφόρησε",
    ),
    "context": (
        "currently | right now | at the moment | working on | in progress | this week | this sprint | for now",
        "attualmente | al momento | in questo momento | stiamo lavorando | sto lavorando | in corso | per ora | "
        "questa settimana",
        "αυτή τη στιγμή | προς το παρόν | δουλεύουμε πάνω | σε εξέλιξη | αυτή την εβδομάδα | τώρα",
    ),
    "relationship": (
        "reports to | works with | works for | manages | is managed by | belongs to | married to | colleague of | "
        "manager of | friend of | member of | mentor of",
        "riporta a | lavora con | collabora con | è il capo di | fa parte di | collega di | appartiene a | dirige | "
        "sposat*",
        "αναφέρεται στον | αναφέρεται στην | συνεργάζεται με | ανήκει στ* | προϊσταμεν* | συνάδελφος | μέλος της | "
        "διευθύνει",
    ),
    "profile": (
        "my name is | i am a | i am an | years old | lives in | live in | works as | works at | was born | speaks | "
        "is an engineer | is a developer | is a doctor | is a nurse | is a designer | is a manager",
        "mi chiamo | ha anni | vive a | vive in | lavora come | lavora presso | è nato | è nata | parla | è un "
        "ingegnere | è un medico | è una dottoressa | è un'infermiera | è uno sviluppatore",
        "με λένε | ονομάζομαι | ετών | ζει στ* | μένει στ* | εργάζεται ως | εργάζεται στ* | γεννήθηκε | μιλάει | "
        "είναι μηχανικός | είναι γιατρός | είναι προγραμματιστής | είναι προγραμματίστρια",
    ),
    "artifact": (
        "the file | the document | the script | the dashboard | the notebook | the spreadsheet | the diagram | the "
        "report is at | the repository is at | pull request | the runbook",
        "il file | il documento | lo script | il cruscotto | il foglio | il diagramma | la cartella",
        "το αρχείο | το έγγραφο | το σενάριο | το διάγραμμα | ο φάκελος | το αποθετήριο",
    ),
}  # fmt: skip
_STATED: Mapping[str, Sequence[str]] = {
    "fact": (
        "is | are | was | were | has | have | means | equals | use | uses | returns | return | runs | run | listens "
        "| supports | contains | stores | stored | requires | needs | sends | reads | writes",
        "è | sono | era | erano | ha | hanno | vale | usa | usano | usiamo | contiene | richiede | si calcola | si "
        "calcolano | si conta | si contano | si usa | si usano | restituisce | significa",
        "είναι | ήταν | έχει | έχουν | σημαίνει | χρησιμοποι* | περιέχει | απαιτεί | μετράται | μετρώνται | "
        "επιστρέφει | τρέχει | τρέχουν",
    )
}
