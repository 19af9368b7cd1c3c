"""The ids of points: made by hand, as one is made for every point of a rebuild, and those of the standard library."""

from __future__ import annotations

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from projections.index.points import POINTS, point_id


@given(st.text(st.characters(exclude_categories=("Cs",))), st.integers(0, 10_000))
def test_an_id_is_the_uuid_of_ref_and_chunk(ref: str, chunk: int) -> None:
    assert point_id(ref, chunk) == str(uuid5(POINTS, f"{ref}#{chunk}"))
