"""Two statements side by side: what they share, where they part, and what only each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from domain import lexicon
from domain.statement import Statement
from domain.tokens import Token, matter, signature

FRONTED = 10  # words: the longest phrase that may stand before or after the rest
SUBJECT = 8  # words: the longest text that counts as the subject of an `is`
COMPLEMENT = 5  # words: the longest text that counts as one value after `is`


@dataclass(frozen=True)
class Pair:
    """Two statements and where they part: a shared beginning, what only each has, a shared end."""

    existing: Statement
    candidate: Statement

    @cached_property
    def difference(self) -> Difference:
        return _difference(self.existing.tokens, self.candidate.tokens)

    @cached_property
    def overlap(self) -> float:
        """Dice coefficient, 0 to 1, over the words that carry the matter."""
        one, other = self.existing.weights, self.candidate.weights
        shared = sum(min(one[word], other[word]) for word in one.keys() & other.keys())
        total = len(self.existing.matter) + len(self.candidate.matter)
        return 2 * shared / total if total else 0.0

    @property
    def tenses_differ(self) -> bool:
        """Whether the shared beginning has an English verb once in the past, once not (`lived in`, `lives in`)."""
        both = zip(self.existing.tokens, self.candidate.tokens, strict=False)
        return any(
            one.stem == other.stem and one.key.endswith("ed") is not other.key.endswith("ed") for one, other in both
        )

    @property
    def denied(self) -> bool:
        return bool(self.existing.denials or self.candidate.denials)


@dataclass(frozen=True, slots=True)
class Difference:
    """`before` and `after` are common; `extension` follows one of the two after what they share or exchange."""

    before: tuple[Token, ...]
    existing: tuple[Token, ...]
    candidate: tuple[Token, ...]
    after: tuple[Token, ...]
    extension: tuple[Token, ...] = ()

    @property
    def words(self) -> tuple[str, str]:
        return text_of(self.existing), text_of(self.candidate)

    @property
    def in_the_subject(self) -> bool:
        """Whether it says what the statement is about: before its `is`, or at the very beginning."""
        if has_copula(self.before):
            return False
        return has_copula(self.after) or not self.before


def _difference(one: Sequence[Token], other: Sequence[Token]) -> Difference:
    start = common(one, other)
    end = common(one[start:][::-1], other[start:][::-1])
    one_end, other_end = len(one) - end, len(other) - end
    if one_end - start == 1 == other_end - start or end:
        return Difference(
            tuple(one[:start]), tuple(one[start:one_end]), tuple(other[start:other_end]), tuple(one[one_end:])
        )
    return _extended(one, other, start)


def _extended(one: Sequence[Token], other: Sequence[Token], start: int) -> Difference:
    """One word exchanged and then one text goes on (`30 seconds` / `45 seconds for uploads`), else the rest of both."""
    rest, other_rest = one[start + 1 :], other[start + 1 :]
    shared = common(rest, other_rest)
    if len(one) > start < len(other) and shared == min(len(rest), len(other_rest)):
        longer = rest if len(rest) > len(other_rest) else other_rest
        return Difference(
            tuple(one[:start]), (one[start],), (other[start],), tuple(rest[:shared]), tuple(longer[shared:])
        )
    return Difference(tuple(one[:start]), tuple(one[start:]), tuple(other[start:]), ())


def common(one: Sequence[Token], other: Sequence[Token]) -> int:
    """How many words are the same, in any form, from the beginning."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left.stem != right.stem or left.negated is not right.negated:
            break
        count += 1
    return count


def has_copula(tokens: Sequence[Token]) -> bool:
    return any(token.kind == "copula" for token in tokens)


def text_of(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def plain(tokens: Sequence[Token]) -> list[Token]:
    """Without marks of denial and without `always`, `all`, `every`: what is claimed or denied."""
    kept = [t for t in tokens if t.key != "=" and not (t.kind == "word" and t.key in lexicon.EMPHASIS)]
    return [replace(token, negated=False) for token in kept]


def is_preposition(token: Token) -> bool:
    return token.kind == "word" and token.key in lexicon.PREPOSITIONS


def turned(short: Sequence[Token], long: Sequence[Token]) -> bool:
    """Whether a phrase that stands before the rest in one stands after it in the other (`in production we use X`)."""
    return _fronted(short, long) or _fronted(long, short)


def _fronted(fronted: Sequence[Token], plain: Sequence[Token]) -> bool:
    if not fronted or not is_preposition(fronted[0]):
        return False
    one, other = signature(fronted), signature(plain)
    return any(one[k:] + one[:k] == other for k in range(1, min(FRONTED, len(one) - 1) + 1))


def added_words(short: Statement, long: Statement) -> tuple[Token, ...] | None:
    """What `long` has beyond `short`; None when it does not hold all of it, or holds it as another subject."""
    few, many = short.signature, long.signature
    if many[: len(few)] == few:
        return _after_words(long.tokens, len(few))
    extra = len(many) - len(few)
    if many[extra:] == few and extra <= FRONTED and is_preposition(_without_copulas(long)[0]):
        return tuple(_without_copulas(long)[:extra])
    start = next((at for at, (left, right) in enumerate(zip(few, many, strict=False)) if left != right), len(few))
    if many[start + extra :] != few[start:]:
        return None
    inserted = _without_copulas(long)[start : start + extra]
    if all(token.key in lexicon.EMPHASIS for token in inserted) or has_copula(_up_to(long.tokens, start)):
        return tuple(inserted)
    return None


def _without_copulas(side: Statement) -> list[Token]:
    """The tokens of its signature: `is`, `=` and a colon are left out."""
    return [token for token in side.tokens if token.key != "="]


def _after_words(tokens: Sequence[Token], count: int) -> tuple[Token, ...]:
    """The tokens after the first `count` that are more than a copula."""
    for at, token in enumerate(tokens):
        if count == 0:
            return tuple(tokens[at:])
        count -= token.key != "="
    return ()


def _up_to(tokens: Sequence[Token], count: int) -> Sequence[Token]:
    return tokens[: len(tokens) - len(_after_words(tokens, count))]


def names_the_subject(difference: Difference, number: Token) -> bool:
    """Whether a number or code says which one is meant: `port 8080 is open`, `version 3 supports …`, `the 2024 budget
    is …`; not `2 reviewers approve …`, `limit: 3`."""
    before, after = difference.before, difference.after
    if has_copula(before) or not after:
        return False
    if before and any(before[-1].key in group for group in (lexicon.QUANTIFIERS, lexicon.PREPOSITIONS)):
        return False
    is_a_year = number.amount is not None and not number.amount.dimension and 1900 <= number.amount.amount < 2100
    if has_copula(after):
        return bool(before) or is_a_year
    labelled = bool(before) and before[-1].stem in lexicon.LABELS and len(before) <= 2
    return labelled and not is_preposition(after[0])


def holds_one_value(difference: Difference) -> bool:
    """Whether it stands where a statement has one value: after `is` of an attribute, or where something is kept."""
    before = difference.before
    sides = difference.existing, difference.candidate
    if not before or any(len(side) > COMPLEMENT or any(map(is_preposition, side)) for side in sides):
        return False
    copula = max((at for at, token in enumerate(before) if token.kind == "copula"), default=-1)
    if 0 < copula <= SUBJECT and len(before) - copula <= 3 and not any(map(is_preposition, before[copula:])):
        subject = before[:copula]
        return (
            any(t.stem in lexicon.ATTRIBUTES or t.key in lexicon.OF for t in subject)
            and len(matter(before[copula:])) < 2
        )
    placed = len(before) > 1 and before[-1].key in lexicon.STATE_PREPOSITIONS
    return placed and (before[-2].kind == "copula" or before[-2].stem in lexicon.STATE_VERBS)


def all_literal(difference: Difference) -> bool:
    """Whether both sides are codes, dates or quoted words, and one value each: not words of a long quotation."""
    sides = difference.existing, difference.candidate
    if not all(token.kind in ("code", "quoted", "date") for side in sides for token in side):
        return False
    around = _quoted_run(difference.before[::-1]) + _quoted_run(difference.after)
    return max(map(len, sides)) + around <= COMPLEMENT


def _quoted_run(tokens: Sequence[Token]) -> int:
    return next((at for at, token in enumerate(tokens) if token.kind != "quoted"), len(tokens))


def look_alike(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether two words may be one, spelt in two ways: three quarters of their letters agree from the ends."""
    if len(one) != 1 or len(other) != 1:
        return False
    short, long = sorted((one[0].key, other[0].key), key=len)
    start = _agreeing(short, long)
    return (start + _agreeing(short[start:][::-1], long[start:][::-1])) * 4 >= len(long) * 3


def _agreeing(one: str, other: str) -> int:
    return next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), len(one))
