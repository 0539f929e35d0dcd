"""Strategies of hostile strings, numbers and cells, which several doors draw from."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.strategies import AWKWARD_NAMES

ESCAPES = (
    "\x1b[31mred", "\x1b]0;title\x07", "\x07", "\x9b31m", "\u202eevil", "\u2066a\u2069", "\u200b", "a\u200bb", "\ufeff",
    "\x7f", "\x85", "\r", "a\rb",
)  # fmt: skip
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "-")
MARKUP = (
    "<script>alert(1)</script>", "</script><script>x</script>", "<!--", "-->", "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)', "' onload='x", "&lt;b&gt;", "&amp;", "]]>", "<svg/onload=x>", "javascript:alert(1)",
    "{{ 7*7 }}", "{% raw %}", "<style>*{}</style>", "<a href='x'>",
)  # fmt: skip
QUERIES = ('"; DROP TABLE rows;--', "'; SELECT 1;--", "?", ":name", "$1", "%s", "%(a)s", "/* x */", "--", "`x`", "[x]")
CODE = ("__import__('os')", "'''", '"""', "\\", "\\'", "{0}", "${x}", "lambda: 0", "\n    raise SystemExit", "#")
MISSING = ("", " ", "NA", "nan", "NaN", "null", "None", "N/A", "missing", "<NA>", "-", "?", "inf", "-inf")
NUMBERS = (
    "0", "-0", "00", "007", "1e5", "1e400", "-1e-400", "9007199254740993", "18446744073709551616", "1_000", "1,5",
    "0x1F", "１２", "+1", "1.", ".5", "1e", "True", "true", "FALSE", "yes", "9" * 400,
)  # fmt: skip
DATES = (
    "2021-03-01", "2021-03-01 12:30", "2021-02-30", "0001-01-01", "9999-12-31", "2021-03-01T12:30:00Z",
    "2021-03-01T00:00:00+02:00", "1 days", "2 days 06:00:00", "12:30", "2021-13-01", "20210301",
)  # fmt: skip
WIDE = (
    "",
    "Ω",
    "e\u0301",
    "é",
    "İ",
    "ß",
    "ﬁ",
    "👩‍🔬",
    "年齢",
    "\U0010ffff",
    "\ufffe",
    "\x00",
    "a\x00b",
    "a\x00",
    "x" * 2000,
)
LONE = ("\ud800", "a\udfff")
"""Halves of surrogate pairs, which no UTF-8 file can hold but JSON can escape."""

EVERY = (*AWKWARD_NAMES, *ESCAPES, *FORMULAS, *MARKUP, *QUERIES, *CODE, *MISSING, *NUMBERS, *DATES, *WIDE)


def texts(*, lone: bool = False) -> st.SearchStrategy[str]:
    """Any text that a file or a user may hold; with `lone`, also halves of surrogate pairs."""
    drawn = st.sampled_from(EVERY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    # Longer texts are rare, because they make cases slow to read.
    drawn |= st.builds(lambda text, times: text * times, st.sampled_from(EVERY), st.sampled_from([2, 3, 50]))
    return drawn | st.sampled_from(LONE) if lone else drawn


def names(**options: bool) -> st.SearchStrategy[str]:
    """A name that is not empty."""
    return texts(**options).filter(bool)


def integers() -> st.SearchStrategy[int]:
    """Integers around the limits of int8 to uint64 and of float64."""
    edges = [edge + off for bits in (7, 8, 31, 32, 53, 63, 64) for edge in (2**bits, -(2**bits)) for off in (-1, 0, 1)]
    return st.integers(-10, 10) | st.sampled_from(edges)


def floats() -> st.SearchStrategy[float]:
    """Floats with the odd ones in front."""
    odd = [0.0, -0.0, 0.1, 1e-300, 1e300, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf")]
    return st.sampled_from(odd) | st.floats(-100, 100)


def json_values() -> st.SearchStrategy[Any]:
    """Values of JSON that a field may be replaced by."""
    leaves = st.none() | st.booleans() | integers() | floats() | texts() | st.sampled_from([10**9, 10**400, 1e308, -1])
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=4,
    )
