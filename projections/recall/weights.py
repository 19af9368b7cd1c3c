"""How much each voice counts, by what a question wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING

from domain.errors import InvalidInput

if TYPE_CHECKING:
    from projections.recall.intent import Intent


@dataclass(frozen=True, slots=True)
class Voices:
    """The part of each voice, 0 to 1."""

    vector: float
    graph: float
    lexical: float
    temporal: float

    def __str__(self) -> str:
        return " ".join(f"{getattr(self, one.name):g}" for one in fields(self))


# Between words and meaning the proportion is the same for every intent: the data show no kind of question for which
# another one is better. What an intent changes is how much time and links count beside them.
BY_INTENT: Mapping[Intent, Voices] = MappingProxyType(
    {
        "general": Voices(0.35, 0.25, 0.25, 0.15),
        "temporal": Voices(0.35, 0.15, 0.25, 0.45),
        "factual": Voices(0.35, 0.2, 0.25, 0.05),
        "entity": Voices(0.35, 0.4, 0.25, 0.1),
        "preference": Voices(0.35, 0.2, 0.25, 0.2),
        "procedural": Voices(0.35, 0.25, 0.25, 0.1),
    }
)


INTENTS: tuple[Intent, ...] = tuple(BY_INTENT)


def parse_voices(text: str) -> Voices:
    """`0.35 0.25 0.25 0.15`: vector, graph, lexical, temporal. InvalidInput says what is taken."""
    try:
        numbers = [float(part) for part in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 4 or not all(0 <= number <= 1 for number in numbers) or not numbers[2] + numbers[0]:
        hint = "write four numbers from 0 to 1: vector, graph, lexical, temporal, as in: 0.35 0.25 0.25 0.15"
        raise InvalidInput(f"{text!r} are no weights of voices", hint)
    return Voices(*numbers)


@dataclass(frozen=True, slots=True)
class Weights:
    """The parts of the voices for each intent, and what their evidence is worth beside that of words.

    `coverage`: how well the model knows the question's language, 0 (not at all) to 1.
    """

    by_intent: Mapping[Intent, Voices] = field(default_factory=lambda: BY_INTENT)
    coverage: float = 1.0


DEFAULT = Weights()
