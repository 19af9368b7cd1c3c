"""How much of a question's letters stand in a text: runs of five letters, weighed by how few candidates have them.

It finds what neither words nor stems do: compounds, misspellings, codes written otherwise, another language's endings.
The formula is BM25 (Robertson and Zaragoza, 2009, k1 = 1.2, b = 0.75) over letter runs, the candidates being the
collection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

RUN = 5  # letters, blanks included
RUNS = 200  # of a question
READ = 20_000  # characters of a text
_K1, _B = 1.2, 0.75


def likeness(question: str, texts: Sequence[str]) -> list[float]:
    """A score a text, 0 or more. Both are words separated by blanks, folded alike (`lexical.Lexical.words`)."""
    padded = [f" {text[:READ]} " for text in texts]
    runs = _runs(f" {question} ")
    if not runs or not texts:
        return [0.0] * len(texts)
    mean = sum(map(len, padded)) / len(padded)
    norms = [_K1 * (1 - _B + _B * len(text) / mean) for text in padded]
    scores = [0.0] * len(texts)
    for run in runs:
        counts = list(map(str.count, padded, repeat(run)))
        having = len(counts) - counts.count(0)
        if not having:
            continue
        weight = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5)) * (_K1 + 1)
        for place, count in enumerate(counts):
            if count:
                scores[place] += weight * count / (count + norms[place])
    return scores


def _runs(text: str) -> list[str]:
    return list(dict.fromkeys(text[start : start + RUN] for start in range(max(1, len(text) - RUN + 1))))[:RUNS]
