"""Small pieces of text for the terminal."""

from __future__ import annotations


def bar(share: float, width: int = 20) -> str:
    """A share in [0, 1] as a bar with eighths.

    >>> bar(0.53, 10)
    '█████▎    '
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)
