"""Evidence: what each voice says of each candidate, on one scale, so that voices can be added up.

A voice's scores are standardised over the candidates of a question: one unit is one standard deviation, whatever the
voice counts in. Rank fusion throws that away, and with it how sure a voice is; on every set it ranked below plain BM25
(ADR 18). Few candidates that score nearly alike are not told apart by force: the deviation has a floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from projections.recall.weights import Voices

LETTERS = 0.8  # what a deviation in likeness of letters is worth beside one in words
MEANING = 0.571  # what one of the vector voice is worth, for a language that its model knows
LEAST_SPREAD = 0.1  # of the best score: the smallest deviation that counts as one
LEAST_COSINE = 0.05  # the same for cosines
IN_WINDOW = 3.0  # deviations that lie between what is in the time asked about and what is not
UNIT = 4.0  # 1 / the usual part of the lexical voice
WORTH = 0.5  # natural logarithm of relevance that a deviation is worth
STRONG = 3.0  # deviations below the best within which words or meaning alone decide


@dataclass(slots=True)
class Heard:
    """What the voices say of one candidate; None where a voice did not nominate or score it."""

    words: float = 0.0  # BM25
    letters: float = 0.0
    cosine: float | None = None
    time: float = 0.0  # 0 to 1: how recently something happened to it, or 1 within the time asked about
    in_window: bool = False
    link: float = 0.0  # 0 to 1: how strongly it is linked with what words and meaning found
    via: str = ""  # ref over which it was reached

    @property
    def told(self) -> bool:
        """Whether words or meaning speak for it, not time or links alone."""
        return self.words > 0 or self.cosine is not None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Deviations that speak for a candidate, by voice, and all together."""

    lexical: float
    vector: float
    temporal: float
    graph: float
    total: float


def weigh(heard: Sequence[Heard], voices: Voices, coverage: float) -> list[Evidence]:
    """The evidence for each candidate. `coverage`: how well the model knows the question's language, 0 to 1.

    Words, letters and meaning are added. Time lifts what words or meaning found; links, and time for the rest, lift no
    candidate among the strongest, so that what is added displaces nothing that was found.
    """
    lexical = lexical_evidence(heard)
    vector = vector_evidence(heard)
    rows = []
    for one, by_words, by_meaning in zip(heard, lexical, vector, strict=True):
        words = UNIT * voices.lexical * by_words
        meaning = UNIT * voices.vector * MEANING * coverage * by_meaning
        time = UNIT * voices.temporal * (one.time * IN_WINDOW if one.in_window else one.time)
        rows.append((one, words, meaning, time, UNIT * voices.graph * IN_WINDOW * one.link))
    found = [words + meaning + time for one, words, meaning, time, _ in rows if one.told]
    ceiling = max(found, default=math.inf) - STRONG
    return [_total(*row, ceiling) for row in rows]


def _total(one: Heard, words: float, meaning: float, time: float, link: float, ceiling: float) -> Evidence:
    own = words + meaning + (time if one.told else 0.0)
    added = link + (0.0 if one.told else time)
    total = max(own, min(own + added, ceiling)) if added else own
    return Evidence(words, meaning, time, link, total)


def lexical_evidence(heard: Sequence[Heard]) -> list[float]:
    """Deviations by words and stems, and by letters."""
    words = standardised([one.words for one in heard])
    letters = standardised([one.letters for one in heard])
    return [one + LETTERS * other for one, other in zip(words, letters, strict=True)]


def vector_evidence(heard: Sequence[Heard]) -> list[float]:
    """Deviations by meaning; what the voice did not nominate stands with the least of what it did."""
    known = [one.cosine for one in heard if one.cosine is not None]
    least = min(known, default=0.0)
    return standardised([least if one.cosine is None else one.cosine for one in heard], LEAST_COSINE)


def standardised(scores: Sequence[float], floor: float | None = None) -> list[float]:
    """Each score's distance from the mean in standard deviations, which are at least `floor`."""
    if not scores:
        return []
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((one - mean) ** 2 for one in scores) / len(scores))
    spread = max(spread, LEAST_SPREAD * max(map(abs, scores)) if floor is None else floor)
    return [(one - mean) / spread if spread else 0.0 for one in scores]


def relevance(totals: Sequence[float]) -> list[float]:
    """Evidence as relevance, 1 for the best: evidence adds, so relevance multiplies, as do decay and confidence."""
    best = max(totals, default=0.0)
    return [math.exp(WORTH * (one - best)) for one in totals]
