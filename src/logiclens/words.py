"""Numbers and shares in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Share(Protocol):
    """A share with its interval; `value` is None where nothing was counted."""

    @property
    def value(self) -> float | None:
        """The share."""

    @property
    def low(self) -> float:
        """The lower end of the interval."""

    @property
    def high(self) -> float:
        """The upper end of the interval."""


def count(number: float) -> str:
    """A count of rows; weights may make it a broken number.

    >>> count(1776.0), count(3), count(12.25)
    ('1,776', '3', '12.2')
    """
    return f"{int(number):,}" if float(number).is_integer() else f"{number:,.1f}"


def counted(number: float, word: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count(number)} {word}" + ("" if number == 1 else "s")


def percent(share: float | None) -> str:
    """A share in per cent; what is not all is never printed as 100%, and what is not nothing never as 0%.

    >>> percent(0.8312), percent(1.0), percent(0.9975), percent(0.99999), percent(0.0001), percent(None)
    ('83%', '100%', '99.8%', 'over 99.9%', 'under 0.1%', 'no rows')
    """
    if share is None:
        return "no rows"
    for digits in (0, 1):
        text = f"{100 * share:.{digits}f}"
        if float(text) not in (0.0, 100.0) or share in (0.0, 1.0):
            return f"{text}%"
    return "under 0.1%" if share < 0.5 else "over 99.9%"


def interval(low: float, high: float) -> str:
    """An interval of shares in per cent, with a decimal where it is narrow.

    >>> interval(0.742, 0.895), interval(0.9912, 0.9981)
    ('74–90%', '99.1–99.8%')
    """
    digits = 0 if high - low >= 0.02 else 1
    return f"{100 * low:.{digits}f}–{100 * high:.{digits}f}%"


def share_words(share: Share) -> str:
    """A share with its interval: `83% (74–90%)`."""
    if share.value is None:
        return percent(None)
    return f"{percent(share.value)} ({interval(share.low, share.high)})"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], last="or")
    ('a', 'a and b', 'a, b or c')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def sentence(text: str) -> str:
    """A text as a sentence of its own.

    >>> sentence("rows drawn again"), sentence("It is.")
    ('Rows drawn again.', 'It is.')
    """
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def cut(text: str, length: int) -> str:
    """A text on one line, cut where it would be too long for its place.

    >>> cut("worst concave points", 12), cut("two\\nlines", 12)
    ('worst conca…', 'two lines')
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
