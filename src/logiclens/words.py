"""Shares, intervals and counts as text: the only place that formats them. Conditions in words: `formula.english`.

A share that is not all is never printed as 100%, and one that is not nothing never as 0%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Protocol, TypeVar

MOST_DECIMALS = 4
"""An interval is printed with at most this many decimals."""
NARROW = 0.02
"""An interval narrower than this is printed with a decimal."""
# Control characters but tab and line feed; soft hyphen; characters that have no width, change the direction of the text
# or only look like a space; line and paragraph separators; lone surrogates; tags.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000110bd"
    "\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class ShareLike(Protocol):
    """A share with its interval, such as `logiclens.metrics.rule_statistics.Share`."""

    @property
    def value(self) -> float | None:
        """The share; None or NaN of no rows."""

    @property
    def low(self) -> float:
        """The lower end of its interval."""

    @property
    def high(self) -> float:
        """The upper end of its interval."""


def percent(share: float | None, digits: int = 0, sign: str = "%") -> str:
    """Return a share of 0 to 1 in per cent.

    Where rounding would print all or nothing for something in between, one more decimal is printed, or else the bound.

    Args:
        share: the share; None or NaN where it is unknown.
        digits: decimals; 1 for figures that are compared with each other, such as F1.
        sign: what follows the number; empty in a table whose heading has the sign.

    >>> percent(0.8312), percent(0.996), percent(0.99999), percent(0.0001), percent(1.0), percent(None)
    ('83%', '99.6%', 'over 99.9%', 'under 0.1%', '100%', 'unknown')
    >>> percent(0.8312, digits=1), percent(0.9996, digits=1), percent(0.99999, digits=1), percent(1.0, digits=1)
    ('83.1%', '99.96%', 'over 99.99%', '100.0%')
    """
    if share is None or math.isnan(share):
        return "unknown"
    for decimals in (digits, digits + 1):
        if _tells_truth(share, decimals):
            return f"{100 * share:.{decimals}f}{sign}"
    least = 0.1 ** (digits + 1)
    return f"under {least:.{digits + 1}f}{sign}" if share < 0.5 else f"over {100 - least:.{digits + 1}f}{sign}"


def interval(low: float, high: float, digits: int = 0) -> str:
    """Return an interval of shares in per cent, with more decimals where it is narrow or near 0 or 1.

    >>> interval(0.742, 0.895), interval(0.9912, 0.9981), interval(0.953, 0.996), interval(0.953, 1.0)
    ('74–90%', '99.1–99.8%', '95.3–99.6%', '95–100%')
    >>> interval(0.742, 0.895, digits=1), interval(0.98, 0.9999)
    ('74.2–89.5%', '98.00–99.99%')
    """
    decimals = _decimals(low, high, digits=digits if high - low >= NARROW else max(digits, 1))
    return f"{_rounded(low, decimals)}–{_rounded(high, decimals)}%"


def share_and_interval(share: ShareLike, digits: int = 0) -> tuple[str, str]:
    """Return a share and its interval with the same decimals; `unknown` and an empty text of no rows."""
    if share.value is None or math.isnan(share.value):
        return percent(None), ""
    narrow = share.high - share.low < NARROW
    decimals = _decimals(share.value, share.low, share.high, digits=max(digits, 1) if narrow else digits)
    return f"{_rounded(share.value, decimals)}%", interval(share.low, share.high, decimals)


def share_words(share: ShareLike, digits: int = 0) -> str:
    """Return a share and its interval: `83% (74–90%)`; `unknown` of no rows."""
    value, around = share_and_interval(share, digits)
    return f"{value} ({around})" if around else value


def times(ratio: float | None, low: float | None = None, high: float | None = None) -> tuple[str, str]:
    """Return a ratio such as lift, and its interval where that is known.

    >>> times(2.62), times(2.62, 2.1, 3.04), times(None)
    (('2.6×', ''), ('2.6×', '2.1–3.0×'), ('unknown', ''))
    """
    if ratio is None or math.isnan(ratio):
        return percent(None), ""
    return f"{ratio:.1f}×", "" if low is None or high is None else f"{low:.1f}–{high:.1f}×"


def figure(value: float | None, unit: str, *, digits: int = 1, error: float = math.nan, width: int = 0) -> str:
    """Return a figure in the unit it is read in, with its standard error where that is known.

    Args:
        value: the figure, of 0 to 100 where the unit is per cent; None or NaN where it is unknown.
        unit: what follows the number; `%` follows it at once.
        digits: decimals.
        error: the standard error.
        width: of the number, which stands to the right.

    >>> figure(98.67, "%"), figure(3, "literals"), figure(98.672, "%", digits=2, error=0.417), figure(99.97, "%")
    ('98.7%', '3.0 literals', '98.67 ± 0.42%', '99.97%')
    >>> figure(99.97, "%", error=0.03)
    '99.97 ± 0.03%'
    """
    if value is None or math.isnan(value):
        return percent(None)
    number = percent(value / 100, digits, sign="") if unit == "%" else f"{value:.{digits}f}"
    # Where the number has a further decimal, so has its error.
    spread = "" if math.isnan(error) else f" ± {error:.{len(number.partition('.')[2])}f}"
    return f"{number:>{width}}{spread}{unit if unit == '%' else f' {unit}'}"


def _tells_truth(share: float, decimals: int) -> bool:
    """Whether the rounded share is 0% or 100% only where the share is."""
    return round(100 * share, decimals) not in (0.0, 100.0) or share in (0.0, 1.0)


def _decimals(*shares: float, digits: int) -> int:
    """The fewest decimals, at least `digits`, with which all of these shares tell the truth."""
    truthful = (d for d in range(digits, MOST_DECIMALS) if all(_tells_truth(share, d) for share in shares))
    return next(truthful, MOST_DECIMALS)


def _rounded(share: float, decimals: int) -> str:
    """A share in per cent; the nearest number inside where rounding would give 0 or 100 for something in between."""
    least = 0.1**decimals
    inside = least if share < 0.5 else 100 - least
    return f"{100 * share if _tells_truth(share, decimals) else inside:.{decimals}f}"


def count_text(number: float) -> str:
    """Return a count of rows; weights may make it a fraction.

    >>> count_text(1776.0), count_text(3), count_text(12.25)
    ('1,776', '3', '12.2')
    """
    return f"{int(number):,}" if float(number).is_integer() else f"{number:,.1f}"


def count_with_noun(number: float, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> count_with_noun(1, "row"), count_with_noun(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count_text(number)} {noun}" + ("" if number == 1 else "s")


def enumeration(items: Sequence[str], last: str = "and") -> str:
    """Return items as they are listed in a sentence.

    >>> enumeration(["a"]), enumeration(["a", "b"]), enumeration(["a", "b", "c"], last="or")
    ('a', 'a and b', 'a, b or c')
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def as_sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop; the name of a file stays as it is.

    >>> as_sentence("rows drawn again"), as_sentence("It is."), as_sentence("people.csv has no rows")
    ('Rows drawn again.', 'It is.', 'people.csv has no rows.')
    """
    if not re.match(r"\S*\w[._/]\w", text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def shortened(text: str, length: int) -> str:
    """Return a text on one line, of at most `length` characters.

    >>> shortened("worst concave points", 12), shortened("two\\nlines", 12)
    ('worst conca…', 'two lines')
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def readable(text: str) -> str:
    """Return a text whose invisible and control characters are escaped; tabs and line feeds stay.

    Names and cells come from files of others: they must not move the cursor, colour or rewrite a terminal, or reverse
    the order of a sentence.

    >>> print(readable("a\\x1b[31mred\\u202e b"))
    a\\x1b[31mred\\u202e b
    """
    return _UNREADABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


Told = TypeVar("Told")


def for_reading(text: Callable[[Told], str]) -> Callable[[Told], str]:
    """Decorate the `__str__` of a result that people read, so that it is `readable`."""

    @wraps(text)
    def escaped(self: Told) -> str:
        return readable(text(self))

    return escaped
