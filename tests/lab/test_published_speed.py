"""Published speeds agree with the recorded run: the tables, and those of the README."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from tests.scripts import ROOT, benchmark_script

RESULTS = ROOT / "lab" / "results"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return benchmark_script("bench_speed")


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))


def test_the_tables_say_what_was_measured(script: ModuleType, found: dict[str, object]) -> None:
    assert (RESULTS / "speed.md").read_text(encoding="utf-8") == script.markdown(found)


def test_the_comparison_shows_every_ratio_as_measured(script: ModuleType, found: dict[str, object]) -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert script.page_with(page, found) == page


def test_the_guide_to_scale_says_what_was_measured() -> None:
    told = json.loads((RESULTS / "scale.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert benchmark_script("scale_page").page_with(page, told) == page
    assert {one["form"] for one in told["measurements"]} == {"few", "measured", "worst"}
    assert max(one["rows"] for one in told["measurements"]) == 10**8


def test_every_part_was_measured(found: dict[str, object]) -> None:
    assert {"peers", "fits", "growth", "evaluation", "gpu", "machine", "versions", "date"} <= set(found)
