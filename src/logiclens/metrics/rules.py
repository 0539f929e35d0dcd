"""How far a rule can be trusted: confidence with its interval."""

from __future__ import annotations

import math

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95%."""


def wilson_interval(hits: float, total: float, z: float = Z) -> tuple[float, float]:
    """The interval of a share, after Wilson: honest for few rows and near 0 or 1. Nothing is known of no rows.

    >>> low, high = wilson_interval(9, 10)
    >>> f"{low:.3f} {high:.3f}"
    '0.596 0.982'
    >>> wilson_interval(0, 0)
    (0.0, 1.0)
    """
    if total <= 0:
        return 0.0, 1.0
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
