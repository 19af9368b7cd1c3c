"""What surely fits a model's window need not be counted, which for short texts takes most of a rebuild's time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import example, given
from hypothesis import strategies as st

from adapters import model_folder
from adapters.embedding import SentenceTransformerEmbedder


@cache
def counter() -> Callable[[str], int]:
    count = model_folder.token_counter(model_folder.find_model(model_folder.MINILM))
    assert count is not None
    return count


@given(st.text(max_size=60))
@example("İİ ﷺ ﬃ ΐ 각각 漢字 𝔘𝔫𝔦 \ud800 ½ ‰ \u0344\u0344")
@example("")
def test_no_tokenizer_makes_more_of_a_text_than_is_assumed(text: str) -> None:
    count = counter()
    safe = text.encode("utf-8", "replace").decode()  # tokenizers refuse half of a surrogate pair
    assert count(safe) - count("") <= model_folder.most_tokens(text)


def test_a_text_that_may_not_fit_is_counted() -> None:
    embedder = SentenceTransformerEmbedder("minilm")
    assert len(embedder.chunks("it " * 200)) == 1  # 600 characters, 202 tokens
    assert len(embedder.chunks("0x1f " * 110)) > 1  # 550 characters, more tokens than the window has
