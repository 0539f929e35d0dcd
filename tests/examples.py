"""How many examples hypothesis draws: a part by default, all of them with `--hypothesis-profile=full`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FULL = 100
QUICK = 15
FEWEST = 10


def register_profiles() -> None:
    """Register both profiles and load the quick one. Examples are the same in every run."""
    settings.register_profile("full", deadline=None, derandomize=True, max_examples=FULL)
    settings.register_profile("quick", settings.get_profile("full"), max_examples=QUICK)
    settings.load_profile("quick")


def examples(count: int, **others: Any) -> settings:
    """Settings of a test that draws `count` examples in the full profile, and its share of them in the quick one."""
    return settings(max_examples=scaled(count), **others)


def scaled(count: int) -> int:
    """Return how many cases stand for `count` in the loaded profile. Loops without hypothesis use it too."""
    return max(min(count, FEWEST), round(count * settings().max_examples / FULL))
