"""The checker at the edges of its lists and limits, where a wrong number would not show elsewhere."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from logiclens.verify.predicates import predicate_name
from logiclens.verify.records import Predicate, as_moment
from logiclens.verify.report import printable


def _is_unseen(code: int) -> bool:
    """Whether Unicode calls a character a control, a format, a separator, private, or none at all."""
    if 0xFDD0 <= code <= 0xFDEF or 0x13439 <= code <= 0x1343F or code in (0x2065, 0xFFFE, 0xFFFF):
        # No characters, formats that older versions of Python do not know, and a place kept for one.
        return True
    return code != 0x20 and unicodedata.category(chr(code)) in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co"}


UNSEEN = np.array([_is_unseen(code) for code in range(0xF0000)])
EDGES = np.flatnonzero(np.diff(UNSEEN.astype(np.int8)))


def test_a_name_shows_quoted_exactly_what_unicode_hides():
    for code in sorted({0, 0xEFFFF, 0xF0000, 0x10FFFF, *EDGES.tolist(), *(EDGES + 1).tolist()}):
        text = f"x{chr(code)}x"
        named = predicate_name(Predicate("a", "==", text))
        expected = True if code >= 0xF0000 else bool(UNSEEN[code])
        assert named.startswith("a is '") == expected, hex(code)


@pytest.mark.parametrize(("digit", "is_quoted"), [("𝟎", True), ("𝟿", True), ("\U0001fbf0", False), ("٣", True)])
def test_only_settled_digits_need_quotes(digit, is_quoted):
    assert predicate_name(Predicate("a", "==", digit)).startswith("a is '") == is_quoted


@pytest.mark.parametrize("text", ["20210301", "2021-W09-1", "2021-03-01T12", "2021-03-01T12:30+00:00"])
def test_other_forms_of_dates_are_texts(text):
    assert as_moment(text) is None


def test_letters_of_the_same_looks_are_escaped_beside_latin_ones():
    assert printable("\u0430ge") == r"\u0430ge"
    assert printable("\u0430\u0433\u0435") == "\u0430\u0433\u0435"
    assert printable("\u03b1x \u0561 \ua4d0") == r"\u03b1x \u0561 \ua4d0"
