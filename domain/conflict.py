"""How two facts of one topic stand to each other (knowledge.md, "Writing"): a few rules, tried in order.

A rule that does not fire says nothing (None). The first that fires decides. What no rule claims is *unsure* when the
two are close, so that a person decides, and *distinct* otherwise. Similarity alone never makes a contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from domain import lexicon
from domain.opposites import ACTION_OPPOSITES, NEGATIVE_PREFIXES, QUALITY_OPPOSITES
from domain.pair import (
    Pair,
    added_words,
    all_literal,
    common,
    holds_one_value,
    look_alike,
    names_the_subject,
    plain,
    text_of,
    turned,
)
from domain.statement import Statement, statements
from domain.tokens import Token, matter, unclear

Outcome = Literal["same", "refines", "contradicts", "unsure", "distinct"]
Side = Literal["existing", "candidate"]

DRESS = " .,;:!?…·\"'`"  # around a text, without meaning
CLOSE = 0.6  # share of common words above which two texts are close
CLOSE_WITH_ONE_SUBJECT = 0.4  # the same, where both begin with the same two words


@dataclass(frozen=True, slots=True)
class Relation:
    """What was found and why, in words for a person. `finer` is set with `refines`: which of the two says more.

    `differs`: the words that only the existing and only the candidate has, where a rule looked at them.
    """

    outcome: Outcome
    reason: str
    finer: Side | None = None
    differs: tuple[str, str] = ("", "")

    @property
    def explanation(self) -> str:
        """The reason with the words that differ: `another value: 8080 / 9090`."""
        existing, candidate = (words or "–" for words in self.differs)
        return f"{self.reason}: {existing} / {candidate}" if any(self.differs) else self.reason

    def turned(self) -> Relation:
        """The same between candidate and existing."""
        finer: Side | None = self.finer and ("existing" if self.finer == "candidate" else "candidate")
        return replace(self, finer=finer, differs=self.differs[::-1])


UNRELATED = Relation("distinct", "they share too little to be about the same thing")  # what no rule claims


def relation(existing: str, candidate: str) -> Relation:
    """How `candidate` stands to `existing`. Never raises, is linear in the length of both, and answers the same twice.

    `same`, `contradicts`, `unsure` and `distinct` hold in both directions; `refines` swaps its side.
    """
    one, other = statements(existing, candidate)
    if _place(one) <= _place(other):
        return _decided(Pair(one, other))
    return _decided(Pair(other, one)).turned()


def _place(side: Statement) -> tuple[str, str]:
    """The rules see every pair in one order, so no answer depends on which text came first."""
    return side.folded.strip(DRESS), side.folded


def _decided(pair: Pair) -> Relation:
    found = next((found for rule in RULES if (found := rule(pair)) is not None), None)
    return found or UNRELATED


# -- the rules ---------------------------------------------------------------------------------------------------------


def nothing_said(pair: Pair) -> Relation | None:
    """Fires when a text says nothing: no word, or only `is`. Two such texts are the same if they look the same."""
    one, other = pair.existing, pair.candidate
    if one.signature and other.signature:
        return None
    if one.folded.strip(DRESS) == other.folded.strip(DRESS) and one.signature == other.signature:
        return Relation("same", "neither says anything, and they look the same")
    return Relation("distinct", "there are no words to compare")


def same_words(pair: Pair) -> Relation | None:
    """Fires when both have the same words, values, periods and denials, perhaps with a phrase moved to the front."""
    one, other = pair.existing, pair.candidate
    if one.periods != other.periods or one.question is not other.question or one.denials != other.denials:
        return None
    if one.signature == other.signature:
        return Relation("same", "the same words in another writing")
    if turned(one.tokens, other.tokens) and sorted(one.values) == sorted(other.values):
        return Relation("same", "the same words, with a phrase in another place")
    return None


def a_question(pair: Pair) -> Relation | None:
    """Fires when one of them asks: a question claims nothing, so it neither refines nor contradicts."""
    if not (pair.existing.question or pair.candidate.question):
        return None
    if pair.overlap >= CLOSE_WITH_ONE_SUBJECT:
        return Relation("unsure", "one of them is a question")
    return Relation("distinct", "one of them is a question, about something else")


def another_period(pair: Pair) -> Relation | None:
    """Fires when both are limited to periods that have no day in common."""
    one, other = pair.existing.periods, pair.candidate.periods
    if one and other and all(left.apart_from(right) for left in one for right in other):
        return Relation("distinct", "they speak of different periods")
    return None


def more_said(pair: Pair) -> Relation | None:
    """Fires when one has all words of the other, in order, and more: at the end, in front, after `is`, or a period."""
    one, other = pair.existing, pair.candidate
    finer: Side = "candidate" if _size(other) > _size(one) else "existing"
    short, long = (one, other) if finer == "candidate" else (other, one)
    if _size(short) == _size(long) or (short.periods and short.periods != long.periods):
        return None
    added = added_words(short, long)
    if added is None or not short.matter:
        return None
    doubt = _doubt(added, long.language)
    if doubt:
        return Relation("unsure", doubt, differs=_sided(finer, text_of(added)))
    reason = "one says all that the other says, and more"
    return Relation("refines", reason, finer, _sided(finer, text_of(added)))


def _size(side: Statement) -> tuple[int, int]:
    return len(side.signature), len(side.periods)


def _sided(side: Side, words: str) -> tuple[str, str]:
    return ("", words) if side == "candidate" else (words, "")


def _doubt(added: Sequence[Token], language: str) -> str:
    """Why more words may not mean the same and more; empty when nothing speaks against it."""
    if language == "other":
        return "no rule reads this language: the added words may deny or restrict"
    if _hedged(added):
        return "the added words may take back or restrict the rest"
    joined = bool(added) and added[0].key in lexicon.AND
    if any(token.negated for token in added) and not joined:
        return "the added words deny something"
    if added and added[0].kind == "copula":
        return "the added words say something about the whole statement"
    return ""


def _hedged(tokens: Sequence[Token]) -> bool:
    return any(token.kind == "word" and token.key in lexicon.HEDGES for token in tokens)


def opposite_polarity(pair: Pair) -> Relation | None:
    """Fires when one denies what the other claims. A denial of only a part (`no redis for sessions`) is unsure."""
    one, other = pair.existing, pair.candidate
    if one.polarity == other.polarity and one.denials == other.denials:
        return None
    left, right = plain(one.tokens), plain(other.tokens)
    shared = common(left, right)
    if shared < min(len(left), len(right)) and not (len(left) == len(right) and turned(left, right)):
        return None
    if min(one.denials, other.denials) > 0 or max(one.denials, other.denials) > 1:
        return Relation("unsure", "they deny different parts, or deny twice")
    denied_size, claimed_size = (len(left), len(right)) if one.denials else (len(right), len(left))
    words = (text_of(one.tokens), text_of(other.tokens))
    if denied_size > claimed_size:
        return Relation("unsure", "one denies only a part of what the other claims", differs=words)
    if _hedged(max(left, right, key=len)[shared:]):
        return Relation("unsure", "one denies, the other claims with a restriction", differs=words)
    return Relation("contradicts", "one denies what the other claims", differs=words)


def opposite_words(pair: Pair) -> Relation | None:
    """Fires when they differ in one word and its opposite (`enabled` / `disabled`), and nothing is denied."""
    difference = pair.difference
    if len(difference.existing) != 1 or len(difference.candidate) != 1:
        return None
    left, right = difference.existing[0], difference.candidate[0]
    action = (left.stem, right.stem) in ACTION_OPPOSITES or (left.key, right.key) in ACTION_OPPOSITES
    if not (action or (left.stem, right.stem) in QUALITY_OPPOSITES or _negative_form(left.key, right.key)):
        return None
    if difference.in_the_subject and not action:
        return Relation("distinct", "the opposite words say what each is about", differs=difference.words)
    if difference.in_the_subject and difference.before:
        return Relation("unsure", "opposite words within what each is about", differs=difference.words)
    found = Relation("contradicts", "opposite words", differs=difference.words)
    return _if_both_cannot_hold(pair, found)


def _negative_form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and any(long == prefix + short for prefix in NEGATIVE_PREFIXES)


def another_number(pair: Pair) -> Relation | None:
    """Fires when they differ in one number or range. Where it names the subject (`issue 260`) they are distinct."""
    difference = pair.difference
    if len(difference.existing) != 1 or len(difference.candidate) != 1:
        return None
    left, right = difference.existing[0], difference.candidate[0]
    if left.amount is None or right.amount is None:
        return None
    if not matter(difference.before + difference.after):
        return Relation("unsure", "two values, and nothing that says of what", differs=difference.words)
    if names_the_subject(difference, left) and names_the_subject(difference, right):
        return Relation("distinct", "the numbers name two subjects", differs=difference.words)
    doubt = unclear(left.amount, right.amount)
    if doubt:
        return Relation("unsure", doubt, differs=difference.words)
    if left.negated and right.negated:
        return Relation("distinct", "both deny a value; both may hold", differs=difference.words)
    found = Relation("contradicts", "another value", differs=difference.words)
    return _if_both_cannot_hold(pair, found)


def another_value(pair: Pair) -> Relation | None:
    """Fires when one slot that holds one value differs: two codes or quoted texts, what an attribute *is* (`the owner
    of X is …`), where something *is* or is kept (`stored in …`, `works at …`)."""
    difference = pair.difference
    left, right = difference.existing, difference.candidate
    if not left or not right or difference.in_the_subject or pair.denied:
        return None
    literal = all_literal(difference)
    if literal and names_the_subject(difference, left[0]):
        return Relation("distinct", "the codes name two subjects", differs=difference.words)
    if not literal and (not holds_one_value(difference) or look_alike(left, right)):
        return None
    found = Relation("contradicts", "another value", differs=difference.words)
    return _if_both_cannot_hold(pair, found)


def _if_both_cannot_hold(pair: Pair, found: Relation) -> Relation:
    """A contradiction needs one time on both sides, no denial and no restriction beside it; otherwise it is unsure."""
    doubt = ""
    if pair.existing.periods != pair.candidate.periods:
        doubt = "but perhaps of another time"
    elif pair.tenses_differ:
        doubt = "but in another tense"
    elif pair.denied:
        doubt = "beside a denial"
    elif _hedged(pair.difference.extension):
        doubt = "but with a restriction"
    return replace(found, outcome="unsure", reason=f"{found.reason}, {doubt}") if doubt else found


def another_subject(pair: Pair) -> Relation | None:
    """Fires when only the subject differs: the same said about two things."""
    difference = pair.difference
    if not difference.in_the_subject:
        return None
    if any(token.key in lexicon.QUANTITIES for token in difference.existing + difference.candidate):
        return None  # `all services`, `some services`: one subject, another number of them
    exchanged = bool(matter(difference.existing)) and bool(matter(difference.candidate))
    if exchanged and difference.after and not _same_bag(pair):
        return Relation("distinct", "the same is said about two subjects", differs=difference.words)
    return None


def close(pair: Pair) -> Relation | None:
    """Fires when they share much, but no rule above knows how the rest stands: a person decides."""
    difference = pair.difference
    if _same_bag(pair):
        return Relation("unsure", "the same words in another order or form", differs=difference.words)
    if pair.overlap < CLOSE_WITH_ONE_SUBJECT:
        return None
    one_subject = common(pair.existing.matter, pair.candidate.matter) >= 2
    one_slot = bool(matter(difference.before)) and all(
        len(side) <= 3 and len(matter(side)) <= 1 for side in (difference.existing, difference.candidate)
    )
    if pair.overlap > CLOSE or one_subject or one_slot:
        return Relation("unsure", "close, but no rule says how they stand", differs=difference.words)
    return None


def _same_bag(pair: Pair) -> bool:
    return pair.existing.bag == pair.candidate.bag


RULES: tuple[Callable[[Pair], Relation | None], ...] = (
    nothing_said,
    same_words,
    a_question,
    another_period,
    more_said,
    opposite_polarity,
    opposite_words,
    another_number,
    another_value,
    another_subject,
    close,
)
