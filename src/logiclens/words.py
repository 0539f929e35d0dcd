"""Numbers and shares in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Share = Mapping[str, Any]
"""`hits` of `total`, with `value` (None where nothing was counted), `low` and `high`."""


def count_text(number: float) -> str:
    """A count of rows; weights may make it a broken number.

    >>> count_text(1776.0), count_text(3), count_text(12.25)
    ('1,776', '3', '12.2')
    """
    return f"{int(number):,}" if float(number).is_integer() else f"{number:,.1f}"


def count_with_noun(number: float, noun: str) -> str:
    """A count with its noun.

    >>> count_with_noun(1, "row"), count_with_noun(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count_text(number)} {noun}" + ("" if number == 1 else "s")


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
    if share["value"] is None:
        return percent(None)
    return f"{percent(share['value'])} ({interval(share['low'], share['high'])})"


def enumeration(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> enumeration(["a"]), enumeration(["a", "b"]), enumeration(["a", "b", "c"], last="or")
    ('a', 'a and b', 'a, b or c')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def as_sentence(text: str) -> str:
    """A text as a sentence of its own.

    >>> as_sentence("rows drawn again"), as_sentence("It is.")
    ('Rows drawn again.', 'It is.')
    """
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def shortened(text: str, length: int) -> str:
    """A text on one line, cut where it would be too long for its place.

    >>> shortened("worst concave points", 12), shortened("two\\nlines", 12)
    ('worst conca…', 'two lines')
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def who_decides(rules: Mapping[str, Any], names: Sequence[str]) -> str:
    """How the rules of all classes come to one answer, from `rules` as JSON keeps them.

    >>> who_decides({"multilabel": False, "resolve": "order", "order": [1, 0], "otherwise": 0, "classes": []}, "ab")
    'The first that applies decides: b, then a; otherwise a.'
    """
    if rules["multilabel"]:
        return "A row can have several labels: each is given where any of its rules fires."
    for entry in rules["classes"]:
        if "complement_of" in entry:
            formula = names[entry["complement_of"]]
            return f"A row is {formula} where a rule for {formula} fires, and {entry['class']} otherwise."
    if rules["resolve"] == "none":
        return "A row gets a class where the rules of exactly that class fire; otherwise it stays undecided."
    left = rules["otherwise"]
    if rules["resolve"] == "order":
        order = ", then ".join(names[place] for place in rules["order"])
        return f"The first that applies decides: {order}; " + (
            "otherwise the row stays undecided." if left is None else f"otherwise {names[left]}."
        )
    return "Where rules of several classes fire, the rule that can be trusted most decides. Where none fires, " + (
        "the row stays undecided." if left is None else f"the answer is {names[left]}."
    )
