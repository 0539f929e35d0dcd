"""Small pieces of text for the terminal."""

from __future__ import annotations

RECURS = 0.5
"""What is chosen in at least this share of the bags, or of the resamples, recurs."""


def bar(share: float, width: int = 20) -> str:
    """A share in [0, 1] as a bar with eighths.

    >>> bar(0.53, 10)
    '█████▎    '
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)


def recurrence_words(share: float, total: int) -> str:
    """In how many bags or resamples something was found again, with a mark where that is less than half of them.

    >>> recurrence_words(0.7, 10), recurrence_words(0.3, 10)
    ('recurs in 7 of 10', 'recurs in only 3 of 10 (less than half)')
    """
    times = f"{round(share * total)} of {total}"
    return f"recurs in {times}" if share >= RECURS else f"recurs in only {times} (less than half)"
