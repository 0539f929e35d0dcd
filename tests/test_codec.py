"""Dataclasses as plain data and back: the way there is lossless, and what does not fit is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.codec import OwnForm, from_plain, to_plain
from logiclens.errors import LogicLensError


@dataclass(frozen=True)
class Part:
    class_: str
    share: float | None
    label: float | int | bool | str


@dataclass(frozen=True)
class Whole:
    count: int
    parts: tuple[Part, ...]
    by_name: Mapping[str, float]
    colours: Annotated[frozenset[str], OwnForm(write=sorted, read=frozenset)]
    later: bool = False


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
PARTS = st.builds(Part, st.text(), st.none() | NUMBERS, NUMBERS | st.integers() | st.booleans() | st.text())
WHOLES = st.builds(
    Whole,
    st.integers(),
    st.lists(PARTS, max_size=3).map(tuple),
    st.dictionaries(st.text(), NUMBERS, max_size=3),
    st.frozensets(st.text(), max_size=3),
    st.booleans(),
)
PLAIN = {"count": 3, "parts": [{"class": "a", "share": None, "label": 1}], "by_name": {"x": 2}, "colours": ["red"]}


@given(WHOLES)
def test_what_is_written_is_read_back_equal(whole):
    assert from_plain(Whole, to_plain(whole), "the whole") == whole


def test_fields_keep_their_order_and_class_its_name():
    plain = to_plain(from_plain(Whole, PLAIN, "the whole"))
    assert list(plain) == ["count", "parts", "by_name", "colours", "later"]
    assert list(plain["parts"][0]) == ["class", "share", "label"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 3.5}, "'count' of the whole must be a whole number, got 3.5."),
        ({"count": True}, "'count' of the whole must be a whole number, got True."),
        ({"count": None}, "'count' of the whole must be a whole number, got None."),
        ({"by_name": {"x": "y"}}, "'by_name.x' of the whole must be a finite number, got 'y'."),
        ({"by_name": []}, "'by_name' of the whole must be an object, got []."),
        ({"parts": {}}, "'parts' of the whole must be a list, got {}."),
        ({"parts": [3]}, "'parts[0]' of the whole must be an object, got 3."),
        ({"parts": [{"class": "a", "share": 1}]}, "the whole lacks 'parts[0].label'."),
        ({"parts": [{**PLAIN["parts"][0], "of": 1}]}, "the whole has an unknown field 'parts[0].of'."),
        ({"parts": [{**PLAIN["parts"][0], "share": float("inf")}]},
         "'parts[0].share' of the whole must be a finite number, got inf."),
        ({"parts": [{**PLAIN["parts"][0], "label": []}]},
         "'parts[0].label' of the whole must be a finite number or a whole number or true or false or a text, got []."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str):
    with pytest.raises(LogicLensError) as caught:
        from_plain(Whole, {**PLAIN, **change}, "the whole")
    assert str(caught.value) == message
