"""Words as they are compared: folded, guessed to be of a language, and stemmed lightly.

Nothing here is stored or shown: texts are kept verbatim (S-63); these are the forms in which two of them meet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

READ = 8_000  # characters of a text that show its language

# Italian and Greek words that another word differs from by its accent alone, so that it stays: `è` is no `e`.
_ACCENT_MATTERS = {
    "e": "è", "ne": "né", "si": "sì", "la": "là", "li": "lì", "da": "dà", "se": "sé",
    "meta": "metà", "papa": "papà", "pero": "però", "η": "ή",
}  # fmt: skip
CJK = "\u3040-\u30ff\u3400-\u9fff"  # signs that stand without spaces between words
_QUOTES = str.maketrans(
    {**dict.fromkeys("’‘ʼ′‛", "'"), **dict.fromkeys("“”„‟«»「」『』", '"'), "−": "-", "–": "-", "—": "-"}
)
_UNEQUAL = re.compile("≠|=\u0338")
_ACCENTED = re.compile("([^\\W\\d_])[\u0300-\u036f]+")
_APOSTROPHE_ACCENT = re.compile(r"(?<!\w)(e|ne|po|si|la|li|da|[^\W\d_]{2,30}[aeiou])'(?![\w'])")
_ACCENT_FROM_APOSTROPHE = str.maketrans("aeiou", "àèìòù")
_OPEN_QUOTE = re.compile(r"(?<![\w'])'(?=\w)")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_LATIN = re.compile("[a-z]")
_WORD = re.compile(r"[^\W\d_]+")

_ITALIAN = frozenset(
    "il lo la gli le di del della dello dei delle degli che è non si un una uno nel nella nei nelle al alla ai alle "
    "dal dalla per con su sul sulla sono ha hanno ogni più e ed come da tra fra mai vale anche questo questa prima "
    "dopo senza almeno ad era erano fino perche preferisco dobbiamo abbiamo mi ho l dell all nell dall sull".split()
)
_ENGLISH = frozenset(
    "the of and is are was to on for with not we it that by at an be do does has have from as this all never "
    "always our my must should will or when before after".split()
)

_ENGLISH_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("zes", "z"))
_GREEK_ENDINGS = tuple(
    sorted(
        "ουσ ησ οσ ασ εσ ων οι ου ο η α ι υ ε ω ει εισ ουμε ετε ουν εται ονται ομαι μενοσ μενη μενο μενοι μενα μενεσ "
        "ματα ματοσ ματων εωσ εων αμε ατε αν ηκε ηκαν".split(),
        key=len,
        reverse=True,
    )
)


def fold(text: str) -> str:
    """The text as it is compared: case, width, accents, final sigma, quotation marks and spaces do not count.

    `e'`, `e’` and `é` are the Italian `è`; an accent that tells two short words apart stays (`è` and `e`, `ή` and `η`).
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_QUOTES)
    text = _UNEQUAL.sub("!=", text)
    if "'" in text and not _OPEN_QUOTE.search(text):
        text = _APOSTROPHE_ACCENT.sub(
            lambda found: found[1][:-1] + found[1][-1].translate(_ACCENT_FROM_APOSTROPHE), text
        )
    if not text.isascii():
        text = _WORD.sub(_without_accents, text)
    return " ".join(text.split())


def _without_accents(found: re.Match[str]) -> str:
    word = found[0]
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", word)))
    return _ACCENT_MATTERS.get(plain, plain) if plain != word else word


def words(text: str) -> tuple[str, ...]:
    """The words of a written list, folded: how the tables of the lexicon are read."""
    return tuple(fold(text).split())


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a text shows of its language: scripts, how many short words of two languages, how many longer words and how
    many of these end as Italian words do. Of several texts, it adds up."""

    greek: bool
    latin: bool
    words: int
    italian: int
    english: int
    longer: int
    vowel_endings: int


def language_of(folded: str) -> str:
    """`el`, `it`, `en`, or `other` for a script that no rule here reads; a Latin text is English when nothing tells.

    Decided by script, then by counting the short words of each language; on a tie Italian words all end in a vowel.
    """
    return language_by((evidence_of(folded),))


def evidence_of(folded: str) -> Evidence:
    start = folded[:READ]
    if _GREEK.search(start):
        return _GREEK_TEXT
    found = _WORD.findall(start)
    longer = [word[-1] for word in found if len(word) > 2]
    return Evidence(
        greek=False,
        latin=_LATIN.search(start) is not None,
        words=len(found),
        italian=len([word for word in found if word in _ITALIAN]),
        english=len([word for word in found if word in _ENGLISH]),
        longer=len(longer),
        vowel_endings=len([last for last in longer if last in "aeio"]),
    )


_GREEK_TEXT = Evidence(True, False, 0, 0, 0, 0, 0)  # that decides, whatever else is in it


def language_by(parts: Iterable[Evidence]) -> str:
    """The language of one or more texts by their evidence together: see `language_of`."""
    latin, found, italian, english, longer, vowel_endings = False, 0, 0, 0, 0, 0
    for one in parts:
        if one.greek:
            return "el"
        latin = latin or one.latin
        found += one.words
        italian += one.italian
        english += one.english
        longer += one.longer
        vowel_endings += one.vowel_endings
    if not latin:
        return "other" if found else "en"
    if italian != english:
        return "it" if italian > english else "en"
    return "it" if longer > 1 and longer == vowel_endings else "en"


def stem(word: str, language: str) -> str:
    """A folded word without its commonest endings: enough to meet `use` and `uses`, `ricovero` and `ricoveri`,
    `έκδοση` and `έκδοσης`. Light on purpose: stems decide what is the same subject, never what is the same fact."""
    if language == "el":
        return _greek_stem(word)
    if language == "it":
        return _italian_stem(word)
    return _english_stem(word) if language == "en" else word


def _english_stem(word: str) -> str:
    if len(word) < 4 or not word.isascii():
        return word.removesuffix("e") if len(word) == 3 else word
    for ending, instead in _ENGLISH_ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word.removesuffix("s")
    for ending in ("ing", "ed"):
        shorter = word.removesuffix(ending)
        if shorter != word and len(shorter) >= 2 and re.search("[aeiouy]", shorter):
            word = shorter[:-1] if len(shorter) > 3 and shorter[-1] == shorter[-2] not in "ls" else shorter
            break
    return word.removesuffix("e")


def _italian_stem(word: str) -> str:
    if len(word) < 4:
        return word
    if len(word) > 5 and word.endswith(("ano", "ono")):
        word = word.removesuffix("no")  # approva, approvano
    shorter = word.rstrip("aeiouàèìòù")
    return shorter.removesuffix("h") if len(shorter) >= 3 else word


def _greek_stem(word: str) -> str:
    for ending in _GREEK_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
