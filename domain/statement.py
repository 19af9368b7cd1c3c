"""A text as the conflict rules read it: its words in order, what is denied, which values it holds, of which time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from domain import lexicon
from domain.language import CJK, READ, Evidence, evidence_of, fold, language_by, language_of, stem, words
from domain.periods import Period, period_of, periods_in
from domain.tokens import VALUE_KINDS, Signature, Token, join_numbers, matter, scan, signature

PLAIN = ("word", "copula", "sign")
SIGNS = 4_000  # characters of a text that show its language

_QUOTED = re.compile(r"\"([^\"]{1,200})\"|`([^`]{1,200})`|(?<![\w'])'([^']{1,200})'(?![\w'])")
_NOT = re.compile(r"\b(\w{1,20})n't\b")
_SHORT_IS = re.compile(r"\b(it|that|what|there|here|he|she|who|where)'s\b")
_POSSESSIVE = re.compile(r"(?<=\w)'(?:s\b|(?=\s|$))")
_SHORTENED = (("'re", " are"), ("'ll", " will"), ("'ve", " have"), ("'m", " am"), ("'d", " would"))
_SAID_SHORTER = {"cannot": "can not", "no one": "nobody", "no longer": "not"}
_NO_ONE = re.compile(rf"\b(?:{'|'.join(_SAID_SHORTER)})\b")
_ELIDED = re.compile(r"\b(l|un|dell|all|nell|sull|dall|d|c|s|quest|quell|dov|com|cos|σ|απ|γι)'(?=\w)")
_DATED = frozenset(
    stem(word, language)
    for word in words(
        "founded born joined left expires started starts begins ends due scheduled released launched built created "
        "dated fondata nato nata scade inizia finisce previsto pubblicato ιδρύθηκε γεννήθηκε λήγει αρχίζει ξεκινά"
    )
    for language in ("en", "it", "el")
)


@dataclass(frozen=True)
class Statement:
    """`tokens` without articles, negations (they mark the word that they deny) and the periods that limit the text.

    `denials` counts the negations, `double` says that an English text denies twice.
    """

    folded: str
    language: str
    tokens: tuple[Token, ...]
    periods: frozenset[Period]
    question: bool
    denials: int

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of its value slots, in order; not quoted words, which are the same without their quotation marks."""
        return tuple(token.key for token in self.tokens if token.kind in VALUE_KINDS - {"quoted"})

    @property
    def polarity(self) -> tuple[str, ...]:
        """The words that it denies, in order; empty when it denies nothing."""
        return tuple(token.key for token in self.tokens if token.negated)

    # what every comparison with another one asks for

    @cached_property
    def signature(self) -> Signature:
        return signature(self.tokens)

    @cached_property
    def matter(self) -> tuple[Token, ...]:
        return tuple(matter(self.tokens))

    @cached_property
    def weights(self) -> dict[str, int]:
        """How often each word that carries the matter stands in it, in any form."""
        return dict(Counter(token.stem for token in self.matter))

    @cached_property
    def bag(self) -> dict[str, int]:
        """How often each word stands in it, in any form."""
        return dict(Counter(token.stem for token in self.tokens if token.key != "="))


def statements(*texts: str) -> tuple[Statement, ...]:
    """Reads texts that are to be compared, all in the one language that they give most signs of together."""
    language = _language_of(*texts)
    return tuple(statement(text, language) for text in texts)


def _language_of(*texts: str) -> str:
    signs = [_signs(text) for text in texts]
    if sum(map(len, signs)) + len(signs) <= READ:
        return language_by(map(_evidence, texts))
    return language_of(" ".join(sorted(signs)))


@lru_cache(maxsize=4096)
def _signs(text: str) -> str:
    return fold(text)[:SIGNS]


@lru_cache(maxsize=4096)
def _evidence(text: str) -> Evidence:
    return evidence_of(_signs(text))


@lru_cache(maxsize=4096)
def statement(text: str, language: str = "") -> Statement:
    """Reads a text, in its own language when none is given; linear in its length, never raises."""
    folded = fold(text)
    language = language or language_of(folded)
    question = _is_question(folded, language)
    tokens = [token for token in _read(_unwrapped(folded), language) if token.key]
    tokens = join_numbers(tokens, language)
    tokens, periods = _split_periods(tokens)
    tokens, denials = _denied(tokens, language)
    return Statement(folded, language, tuple(_bare(tokens, language)), periods, question, denials)


def _is_question(folded: str, language: str) -> bool:
    end = folded.rstrip("\"'` .)")
    return end.endswith(("?", "？", "吗")) or (language == "el" and end.endswith(";"))


def _unwrapped(folded: str) -> str:
    """Without quotation marks around the whole text: they say nothing about what is inside."""
    while True:
        inner = folded.strip(" .,;:!?…·。")
        if len(inner) > 2 and inner[0] == inner[-1] and inner[0] in "\"'`" and inner[0] not in inner[1:-1]:
            folded = inner[1:-1]
        else:
            return folded


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(folded: str, language: str) -> Iterator[Token]:
    """The tokens in order: quoted passages, then periods, then everything else."""
    end = 0
    for found in _QUOTED.finditer(folded):
        yield from _read_periods(folded[end : found.start()], language)
        inside = scan(found[1] or found[2] or found[3], language)
        yield from (replace(token, kind="quoted", stem=token.key) if token.kind in PLAIN else token for token in inside)
        end = found.end()
    yield from _read_periods(folded[end:], language)


def _read_periods(text: str, language: str) -> Iterator[Token]:
    text, end = _spelled_out(text, language), 0
    for found in periods_in(text):
        period = period_of(found)
        if period is None:
            continue
        yield from scan(text[end : found.start()], language)
        key = f"{period.first}–{period.last}" + (" yearly" if period.yearless else "")
        yield Token(key, found[0], "date", key, period=period)
        end = found.end()
    yield from scan(text[end:], language)


def _spelled_out(text: str, language: str) -> str:
    """Contractions and elisions as whole words: `don't`, `it's`, `l'età`."""
    if "'" in text:
        text = text.replace("can't", "can not").replace("won't", "will not").replace("shan't", "shall not")
        text = _SHORT_IS.sub(r"\1 is", _NOT.sub(r"\1 not", text))
        for short, long in _SHORTENED:
            text = re.sub(rf"(?<=\w){short}\b", long, text)
        text = _ELIDED.sub(r"\1 ", _POSSESSIVE.sub("", text))
    return _NO_ONE.sub(lambda found: _SAID_SHORTER[found[0]], text) if language == "en" else text


# -- periods, negation, articles ---------------------------------------------------------------------------------------


def _split_periods(tokens: list[Token]) -> tuple[list[Token], frozenset[Period]]:
    """Periods that limit the text apart from dates that are its value (`founded in 2010`, `the date is 2024-03-01`)."""
    kept: list[Token] = []
    periods: set[Period] = set()
    for token in tokens:
        is_value = bool(kept) and (kept[-1].kind == "copula" or kept[-1].stem in _DATED)
        if token.period is None or is_value:
            kept.append(token)
        else:
            periods.add(token.period)
    if not any(token.kind in ("word", "code", "quoted") for token in kept):
        return tokens, frozenset()
    return kept, frozenset(periods)


def _denied(tokens: list[Token], language: str) -> tuple[list[Token], int]:
    """The tokens without negations; the word after one is marked. Italian and Greek deny once with two words."""
    negations = lexicon.NEGATIONS[language]
    concord = language in ("it", "el") and any(
        _negates(tokens, at, negations - lexicon.CONCORD) for at in range(len(tokens))
    )
    kept: list[Token] = []
    pending, denials = False, 0
    for at, token in enumerate(tokens):
        if concord and token.kind == "word" and (token.key in lexicon.CONCORD or _no_longer(tokens, at)):
            continue
        if _negates(tokens, at, negations):
            denials += 1
            pending = True
            if kept and kept[-1].kind == "word" and kept[-1].key in lexicon.DO_SUPPORT and language == "en":
                kept.pop()
            if token.key == "!=":
                kept.append(Token("=", "!=", "copula", "="))
            continue
        if pending and token.kind != "copula" and token.key not in lexicon.DETERMINERS[language]:
            token, pending = replace(token, negated=True), False
        kept.append(token)
    last = next((at for at in range(len(kept) - 1, -1, -1) if kept[at].kind != "copula"), None)
    if pending and last is not None:
        kept[last] = replace(kept[last], negated=True)
    return kept, denials


def _negates(tokens: list[Token], at: int, negations: frozenset[str]) -> bool:
    token = tokens[at]
    if token.key == "!=":
        return True
    if token.kind != "word" or token.key not in negations:
        return False
    numbered = token.key == "no" and at + 1 < len(tokens) and tokens[at + 1].kind in ("number", "code")
    return not numbered  # `issue no. 5` denies nothing


def _no_longer(tokens: list[Token], at: int) -> bool:
    """`non … più`, but not `non più di 5`."""
    return tokens[at].key in lexicon.NO_LONGER and not (at + 1 < len(tokens) and tokens[at + 1].key in ("di", "απο"))


def _bare(tokens: list[Token], language: str) -> Iterator[Token]:
    """Without articles; copulas of the present in one form; `prima del` as `prima`."""
    before = ""
    for token in tokens:
        if token.kind == "copula":
            key = "was" if token.key in lexicon.PAST_COPULAS else "="
            token = replace(token, key=key, stem=key)
        doubled = before in lexicon.BEFORE_OF and token.key in ("di", "απο")
        if not (token.kind == "word" and (token.key in lexicon.DETERMINERS[language] or doubled)):
            yield token
        before = token.key


# -- entities ----------------------------------------------------------------------------------------------------------

_WORDS = re.compile(rf"[^\W_{CJK}]+")
_SENTENCE_END = re.compile(r"(?:^|[.!?;:…\n])[\s\"'«“(]*$")
_NAME_LIMIT = 4  # words


def entities(text: str) -> frozenset[str]:
    """What a text names, folded, for links between facts: identifiers, addresses, quoted and capitalised words.

    A capital at the beginning of a sentence is no name, unless the word is written in capitals throughout (`UTC`).
    The rules of `domain.conflict` do not look at capitals: there case never counts.
    """
    literal = {token.key for token in statement(text).tokens if token.kind in ("code", "quoted")}
    return frozenset(literal | {fold(name) for name in _names(text)})


def _names(text: str) -> Iterator[str]:
    """Runs of at most four capitalised words, as written."""
    run: list[re.Match[str]] = []
    for found in _WORDS.finditer(text):
        follows = bool(run) and text[run[-1].end() : found.start()] in (" ", "-") and len(run) < _NAME_LIMIT
        if run and not (follows and _is_capitalised(found, text)):
            yield text[run[0].start() : run[-1].end()]
            run = []
        if _is_capitalised(found, text):
            run.append(found)
    if run:
        yield text[run[0].start() : run[-1].end()]


def _is_capitalised(found: re.Match[str], text: str) -> bool:
    word = found[0]
    if not word[0].isupper():
        return False
    in_capitals = word.isupper() and len(word) > 1
    return in_capitals or not _SENTENCE_END.search(text[max(0, found.start() - 20) : found.start()])
