"""Published results agree with the table of results: the report, the page, and the reasons."""

from __future__ import annotations

from types import ModuleType

import pytest

from lab.pages.names import METRICS
from lab.pages.report import bench_document, render
from lab.pages.sections import comparisons
from lab.pages.summary import Bench, read_bench
from tests.scripts import ROOT, benchmark_script

RESULTS = ROOT / "lab" / "results"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return read_bench(RESULTS)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return benchmark_script("results_page")


@pytest.mark.slow
def test_the_report_is_made_from_the_table_beside_it(bench: Bench) -> None:
    document = bench_document(bench)
    assert (RESULTS / "report" / "report.md").read_text(encoding="utf-8") == render(document, "md")
    assert (RESULTS / "report" / "report.tex").read_text(encoding="utf-8") == render(document, "tex")


def test_the_page_in_plain_words_says_what_the_table_says(bench: Bench, script: ModuleType) -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == script.page(bench)


def test_every_figure_that_does_not_reproduce_has_a_reason(bench: Bench, script: ModuleType) -> None:
    reasons = script.REASONS
    far = {
        (metric.key, one.task, one.method)
        for metric in METRICS
        for one in comparisons(bench, metric)
        if one.is_far and metric.key != "seconds"
    }
    assert far <= set(reasons)
    assert set(reasons) <= far, "a reason for a figure that does reproduce"


def test_every_run_that_is_published_ended_or_says_why_not(bench: Bench) -> None:
    statuses = {run.status.split(":")[0] for runs in bench.entries.values() for run in runs}
    assert statuses <= {"ok", "failed", "stopped", "skipped"}
    assert "ok" in statuses
