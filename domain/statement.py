"""A text as the conflict rules read it: its words in order, what is denied, which values it holds, of when it speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from domain import lexicon
from domain.language import fold, language_of, stem, words
from domain.periods import PERIOD, Period, period_of

Kind = Literal["word", "copula", "number", "range", "code", "quoted", "date", "sign"]
VALUE_KINDS = frozenset({"number", "range", "code", "quoted", "date"})

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_LETTER = rf"[^\W{_CJK}]"
_DIGITS = r"(?:\d{1,3}(?:[ ,.']\d{3}){1,5}(?![\d])|\d{1,18}(?!\d))(?:[.,]\d{1,12}(?!\d))?"
_SUFFIX = "|".join(sorted(map(re.escape, {*lexicon.UNITS, "k", "%"}), key=len, reverse=True))
_AMOUNT = rf"[$€£]?{_DIGITS}(?: ?[%€$£]|(?:{_SUFFIX}))?"
_FROM = "|".join(words("between from tra fra da από μεταξύ"))
_TO = "|".join(words("and to e a ed ad έως ως και μέχρι"))
_SCAN = re.compile(
    rf"(?P<url>https?://[^\s\"'`<>]{{1,2000}})"
    rf"|(?P<email>[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}})"
    rf"|(?P<range>(?<![\w.-])(?:(?:{_FROM}) (?P<low>{_AMOUNT}) (?:{_TO}) (?P<high>{_AMOUNT})"
    rf"|(?P<low2>{_AMOUNT}) ?(?:-|\.\.\.?|…) ?(?P<high2>{_AMOUNT}))(?![\w]|[.-]\w))"
    rf"|(?P<number>(?<![\w.])-?{_AMOUNT}(?!{_LETTER}|[.,:/-]\d|\.\w))"
    rf"|(?P<code>--?[a-z][\w-]{{0,80}}|[#@/.~]?{_LETTER}+(?:(?:[._/@-]|::|:(?=\d)){_LETTER}+){{0,60}})"
    rf"|(?P<cjk>[{_CJK}])"
    r"|(?P<sign><=|>=|!=|==|≤|≥|->|[=<>:→%+*])"
)
_NUMBER = re.compile(rf"(?P<minus>-)?(?P<front>[$€£])?(?P<digits>{_DIGITS})(?: ?(?P<unit>.+))?")
_QUOTED = re.compile(r"\"([^\"]{1,200})\"|`([^`]{1,200})`|(?<![\w'])'([^']{1,200})'(?![\w'])")
_NOT = re.compile(r"\b(\w{1,20})n't\b")
_SHORT_IS = re.compile(r"\b(it|that|what|there|here|he|she|who|where)'s\b")
_POSSESSIVE = re.compile(r"(?<=\w)'(?:s\b|(?=\s|$))")
_SHORTENED = (("'re", " are"), ("'ll", " will"), ("'ve", " have"), ("'m", " am"), ("'d", " would"))
_ELIDED = re.compile(r"\b(l|un|dell|all|nell|sull|dall|d|c|s|quest|quell|dov|com|cos|σ|απ|γι)'(?=\w)")
_DATED = frozenset(
    stem(word, language)
    for word in words(
        "founded born expires started starts begins ends due scheduled released launched built created dated "
        "fondata nato nata scade inizia finisce previsto pubblicato ιδρύθηκε γεννήθηκε λήγει αρχίζει ξεκινά"
    )
    for language in ("en", "it", "el")
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit: `amount` in the base unit of its dimension (seconds, bytes, grams; "" for none).

    `other_reading` is what `1.000` would be where the sign means the other thing. A range has a `high` as well.
    """

    dimension: str
    amount: Fraction
    high: Fraction | None
    written_unit: str
    other_reading: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A word or value; `key` decides sameness, `stem` whether it is a form of the same word, `text` is what was read."""

    key: str
    text: str
    kind: Kind
    stem: str
    negated: bool = False
    amount: Amount | None = None
    period: Period | None = None


@dataclass(frozen=True, slots=True)
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
        """The keys of its value slots, in order."""
        return tuple(token.key for token in self.tokens if token.kind in VALUE_KINDS)

    @property
    def polarity(self) -> tuple[str, ...]:
        """The words that it denies, in order; empty when it denies nothing."""
        return tuple(token.key for token in self.tokens if token.negated)


@lru_cache(maxsize=256)
def statement(text: str) -> Statement:
    """Reads a text; linear in its length, never raises."""
    folded = fold(text)
    language = language_of(folded)
    question = _is_question(folded, language)
    tokens = [token for token in _read(_unwrapped(folded), language) if token.key]
    tokens = _joined_numbers(tokens, language)
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
        inside = _scan(found[1] or found[2] or found[3], language)
        yield from (replace(token, kind="quoted", stem=token.key) if token.kind != "number" else token for token in inside)
        end = found.end()
    yield from _read_periods(folded[end:], language)


def _read_periods(text: str, language: str) -> Iterator[Token]:
    text, end = _spelled_out(text, language), 0
    for found in PERIOD.finditer(text):
        period = period_of(found)
        if period is None:
            continue
        yield from _scan(text[end : found.start()], language)
        key = f"{period.first}–{period.last}" + (" yearly" if period.yearless else "")
        yield Token(key, found[0], "date", key, period=period)
        end = found.end()
    yield from _scan(text[end:], language)


def _spelled_out(text: str, language: str) -> str:
    """Contractions and elisions as whole words: `don't`, `it's`, `l'età`."""
    if "'" in text:
        text = text.replace("can't", "can not").replace("won't", "will not").replace("shan't", "shall not")
        text = _SHORT_IS.sub(r"\1 is", _NOT.sub(r"\1 not", text))
        for short, long in _SHORTENED:
            text = re.sub(rf"(?<=\w){short}\b", long, text)
        text = _ELIDED.sub(r"\1 ", _POSSESSIVE.sub("", text))
    return re.sub(r"\bcannot\b", "can not", text) if language == "en" else text


def _scan(text: str, language: str) -> Iterator[Token]:
    for found in _SCAN.finditer(text):
        written = found[0]
        match found.lastgroup:
            case "number":
                amount = _amount(written, language)
                yield Token(_amount_key(amount), written, "number", _amount_key(amount), amount=amount)
            case "range" | "low" | "high" | "low2" | "high2":
                yield _range(found, language)
            case "url" | "email":
                yield _code(written.rstrip(".,;:!?)"))
            case "code":
                yield from _chunk(written, language)
            case "cjk":
                kind: Kind = "copula" if written in lexicon.COPULAS else "word"
                yield Token(written, written, kind, written)
            case _:
                yield Token(written, written, "copula" if written in lexicon.COPULAS else "sign", written)


def _chunk(written: str, language: str) -> Iterator[Token]:
    """One run of letters, digits and joints: a word, or an identifier such as `max_conn`, `v1.2`, `eu-west-1`, `#260`."""
    if re.search(r"[_#@\d]|::|\w\.\w|^[-/.~]\w", written) and re.search(r"\w", written):
        yield _code(written)
        return
    for word in written.split("-") if _number_word(written.split("-")[0], language) is not None else [written]:
        kind: Kind = "copula" if word in lexicon.COPULAS or word in lexicon.PAST_COPULAS else "word"
        word = lexicon.PREPOSITION_FORMS.get(word, word) if language in ("it", "el") else word
        yield Token(word, word, kind, stem(word, language))


def _code(written: str) -> Token:
    return Token(written, written, "code", written)


def _amount(written: str, language: str) -> Amount:
    found = _NUMBER.fullmatch(written.strip())
    if found is None:  # the scanner's pattern is built from the same parts
        raise AssertionError(f"not a number: {written!r}")
    amount, other = _number(found["digits"], language)
    unit = (found["unit"] or found["front"] or "").strip()
    if unit == "k":
        amount, other, unit = amount * 1000, None, ""
    dimension, factor = lexicon.UNITS.get(unit, ("", Fraction(1)))
    sign = -1 if found["minus"] else 1
    return Amount(dimension, sign * amount * factor, None, unit, None if other is None else sign * other * factor)


def _number(digits: str, language: str) -> tuple[Fraction, Fraction | None]:
    """The value, and the other reading where one sign before three digits leaves it open (`1.000`, `1,000`)."""
    plain = re.sub("[ ']", "", digits)
    comma_groups, point_groups = ((",", "."), (".", ","))[language in ("it", "el")]
    groups, point = comma_groups, point_groups
    if plain.count(point) == 1 and groups not in plain and not re.fullmatch(rf"\d+{re.escape(point)}\d{{3}}", plain):
        return Fraction(plain.replace(point, ".")), None
    if re.fullmatch(rf"\d{{1,3}}[{point}]\d{{3}}", plain):
        return Fraction(plain.replace(point, ".")), Fraction(plain.replace(point, ""))
    if re.fullmatch(rf"\d{{1,3}}[{groups}]\d{{3}}", plain):
        return Fraction(plain.replace(groups, "")), Fraction(plain.replace(groups, "."))
    whole, _, part = _last_sign_is_the_point(plain, groups, point)
    return Fraction(f"{whole or 0}.{part or 0}"), None


def _last_sign_is_the_point(plain: str, groups: str, point: str) -> tuple[str, str, str]:
    """`1,234.5`, `1.234,5`, `1.234.567` and `1,5` split into whole and part, whoever wrote them."""
    last = max(plain.rfind(","), plain.rfind("."))
    if last < 0 or plain.count(plain[last]) > 1 or (plain[last] == groups and len(plain) - last == 4):
        return re.sub("[.,]", "", plain), "", ""
    return re.sub("[.,]", "", plain[:last]), point, plain[last + 1 :]


def _range(found: re.Match[str], language: str) -> Token:
    low = _amount(found["low"] or found["low2"], language)
    high = _amount(found["high"] or found["high2"], language)
    if not low.dimension and high.dimension:
        factor = lexicon.UNITS[high.written_unit][1]
        low = Amount(high.dimension, low.amount * factor, None, high.written_unit)
    amount = Amount(high.dimension, low.amount, high.amount, high.written_unit)
    return Token(_amount_key(amount), found[0], "range", _amount_key(amount), amount=amount)


def _amount_key(amount: Amount) -> str:
    high = "" if amount.high is None else f"…{amount.high}"
    return f"{amount.amount}{high} {amount.dimension}".strip()


# -- numbers of several words ------------------------------------------------------------------------------------------


def _number_word(word: str, language: str) -> int | None:
    return lexicon.NUMBER_WORDS[language].get(word)


def _joined_numbers(tokens: list[Token], language: str) -> list[Token]:
    """`twenty five minutes`, `5 per cento`, `2 million` and `30 seconds` as one number each."""
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token, index = tokens[index], index + 1
        if token.kind == "word" and (value := _number_word(token.key, language)) is not None:
            if token.key in lexicon.ARTICLE_OR_ONE and index < len(tokens) and tokens[index].key not in lexicon.UNITS:
                joined.append(token)
                continue
            token = _counted(token, Fraction(value))
            unit = _number_word(tokens[index].key, language) if index < len(tokens) else None
            if token.text in lexicon.TENS and unit is not None and 1 <= unit <= 9:
                token, index = _counted(token, Fraction(value + unit), f"{token.text} {tokens[index].text}"), index + 1
        if token.kind in ("number", "range"):
            token, index = _with_unit(token, tokens, index)
        joined.append(token)
    return joined


def _counted(token: Token, value: Fraction, text: str = "") -> Token:
    amount = Amount("", value, None, "")
    return Token(_amount_key(amount), text or token.text, "number", _amount_key(amount), amount=amount)


def _with_unit(token: Token, tokens: list[Token], index: int) -> tuple[Token, int]:
    """The number with the multiplier and unit that follow it, and where reading goes on."""
    amount = token.amount
    if amount is None or amount.written_unit:
        return token, index
    while index < len(tokens) and tokens[index].kind == "word" and tokens[index].key in lexicon.MULTIPLIERS:
        factor = lexicon.MULTIPLIERS[tokens[index].key]
        high = None if amount.high is None else amount.high * factor
        amount, token = replace(amount, amount=amount.amount * factor, high=high, other_reading=None), _longer(token, tokens[index])
        index += 1
    following = tuple(other.key for other in tokens[index : index + 2])
    unit, length = _unit_at(following)
    if length:
        dimension, factor_of_unit = lexicon.UNITS[unit]
        amount = Amount(
            dimension,
            amount.amount * factor_of_unit,
            None if amount.high is None else amount.high * factor_of_unit,
            unit,
            None if amount.other_reading is None else amount.other_reading * factor_of_unit,
        )
        for other in tokens[index : index + length]:
            token = _longer(token, other)
        index += length
    key = _amount_key(amount)
    return replace(token, key=key, stem=key, amount=amount), index


def _unit_at(following: tuple[str, ...]) -> tuple[str, int]:
    if following[:1] and following[0] in lexicon.UNITS and following[0] not in ("d", "l", "m"):
        return following[0], 1
    if following in (("per", "cento"), ("per", "cent"), ("τοισ", "εκατο"), ("per", "100"), ("τοισ", "100")):
        return "%", 2
    return "", 0


def _longer(token: Token, other: Token) -> Token:
    return replace(token, text=f"{token.text} {other.text}")


# -- periods, negation, articles ---------------------------------------------------------------------------------------


def _split_periods(tokens: list[Token]) -> tuple[list[Token], frozenset[Period]]:
    """Periods that limit the text apart from dates that are its value (`founded in 2010`, `the deadline is 2024-03-01`)."""
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
    concord = language in ("it", "el") and any(_negates(tokens, at, negations - lexicon.CONCORD) for at in range(len(tokens)))
    kept: list[Token] = []
    pending, denials = False, 0
    for at, token in enumerate(tokens):
        if concord and token.kind == "word" and token.key in lexicon.CONCORD:
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
    if pending and kept:
        kept[-1] = replace(kept[-1], negated=True)
    return kept, denials


def _negates(tokens: list[Token], at: int, negations: frozenset[str]) -> bool:
    token = tokens[at]
    if token.key == "!=":
        return True
    if token.kind != "word" or token.key not in negations:
        return False
    numbered = token.key == "no" and at + 1 < len(tokens) and tokens[at + 1].kind in ("number", "code")
    return not numbered  # `issue no. 5` denies nothing


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
