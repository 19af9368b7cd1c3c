"""Words and values as they are read off folded text: numbers with units, ranges, identifiers, addresses, words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from domain import lexicon
from domain.language import CJK, stem, words
from domain.periods import Period

Kind = Literal["word", "copula", "number", "range", "code", "quoted", "date", "sign"]
VALUE_KINDS = frozenset({"number", "range", "code", "quoted", "date"})
_MATTER_KINDS = VALUE_KINDS | {"word"}

_LETTER = rf"[^\W{CJK}]"
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
    rf"|(?P<cjk>[{CJK}])"
    r"|(?P<sign><=|>=|!=|==|≤|≥|->|[=<>:→%+*])"
)
_IDENTIFIER = re.compile(r"[_#@\d]|::|\w\.\w|^[-/.~]\w")
_LETTER_OR_DIGIT = re.compile(r"\w")
_NUMBER = re.compile(rf"(?P<minus>-)?(?P<front>[$€£])?(?P<digits>{_DIGITS})(?: ?(?P<unit>.+))?")


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
    """A word or value; `key` decides sameness, `stem` what is a form of the same word, `text` is what was read."""

    key: str
    text: str
    kind: Kind
    stem: str
    negated: bool = False
    amount: Amount | None = None
    period: Period | None = None


Signature = tuple[tuple[str, bool], ...]


def signature(tokens: Sequence[Token]) -> Signature:
    """The words as written, with what is denied; `is`, `=` and a colon add nothing."""
    return tuple([(token.key, token.negated) for token in tokens if token.key != "="])


def matter(tokens: Sequence[Token]) -> list[Token]:
    """The words that carry the matter."""
    return [t for t in tokens if t.kind in _MATTER_KINDS and not (t.kind == "word" and t.key in lexicon.FUNCTION_WORDS)]


def scan(text: str, language: str) -> Iterator[Token]:
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


@lru_cache(maxsize=8192)
def _chunk(written: str, language: str) -> tuple[Token, ...]:
    """A run of letters, digits and joints: a word, or an identifier such as `max_conn`, `v1.2`, `eu-west-1`, `#260`."""
    if _IDENTIFIER.search(written) and _LETTER_OR_DIGIT.search(written):
        return (_code(written),)
    parts = written.split("-")
    return tuple(_word(one, language) for one in (parts if _number_word(parts[0], language) is not None else [written]))


def _word(word: str, language: str) -> Token:
    kind: Kind = "copula" if word in lexicon.COPULAS or word in lexicon.PAST_COPULAS else "word"
    word = lexicon.PREPOSITION_FORMS.get(word, word) if language in ("it", "el") else word
    return Token(word, word, kind, stem(word, language))


def _code(written: str) -> Token:
    return Token(written, written, "code", written)


@lru_cache(maxsize=1024)
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


def unclear(one: Amount, other: Amount) -> str:
    """Why two numbers that are written differently may still be one; empty when they are not."""
    if one.amount == other.other_reading or other.amount == one.other_reading:
        return "the sign in a number may part thousands or decimals"
    if one.dimension != other.dimension:
        return "numbers of different units"
    if (one.high is None) is not (other.high is None):
        low, high = (one.amount, one.high) if one.high is not None else (other.amount, other.high)
        single = other.amount if one.high is not None else one.amount
        return "one gives a value, the other a range around it" if high is not None and low <= single <= high else ""
    if one.dimension and one.written_unit != other.written_unit:
        small, large = sorted((abs(one.amount), abs(other.amount)))
        if large * 9 <= small * 10:
            return "nearly the same amount in other units"
    return ""


# -- numbers of several words ------------------------------------------------------------------------------------------


def _number_word(word: str, language: str) -> int | None:
    return lexicon.NUMBER_WORDS[language].get(word)


def join_numbers(tokens: list[Token], language: str) -> list[Token]:
    """`twenty five minutes`, `5 per cento`, `2 million` and `30 seconds` as one number each."""
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token, index = tokens[index], index + 1
        if token.kind == "word" and (value := _number_word(token.key, language)) is not None:
            if token.key in lexicon.ARTICLE_OR_ONE and index < len(tokens) and not _counts(tokens[index]):
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


def _counts(token: Token) -> bool:
    return token.key in lexicon.UNITS or token.key in lexicon.MULTIPLIERS


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
        amount, token = (
            replace(amount, amount=amount.amount * factor, high=high, other_reading=None),
            _longer(token, tokens[index]),
        )
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
    if amount is token.amount:
        return token, index
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
