"""Why a figure of the paper is not met, each found out by looking; and what differs from the original throughout."""

from __future__ import annotations

REASONS: dict[tuple[str, str, str], str] = {}
"""By metric, task and method."""

DIFFERS: tuple[str, ...] = ()
