"""Pages are made from results: figures by hand, and the published pages from the published files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.pages import ablation_page, report, results_page, scale_page, truth_page, why_page
from lab.pages.markdown import Estimate, similarity, table, with_part, write_part
from lab.pages.summary import Bench, comparisons, fold_words, front, points, published
from lab.runs import ablation, domination, planted, side_by_side
from lab.runs.paper import KEYS
from lab.runs.results import RESULTS, ROOT, Results
from lab.speed import page as speed
from lab.speed.reference import Line
from logiclens.metrics.scores import metric_named


def run(method: str, fold: int, accuracy: float, formula: str = "a", status: str = "ok", **more) -> dict:
    figures = {"model_accuracy": accuracy, "explanation_accuracy": accuracy, "complexity": 1.0, "fidelity": 1.0,
               "seconds": 2.0, "cpu_seconds": 1.5, "formulas": {"no": f"~{formula}", "yes": formula}}  # fmt: skip
    line = {"task": "mimic2", "protocol": "clean", "method": method, "fold": fold, "status": status}
    return {**line, **(figures if status == "ok" else {}), **more}


def bench(tmp_path: Path, lines: list[dict]) -> Bench:
    results = Results(tmp_path / "paper.jsonl", KEYS, {"folds": 2, "seed": 1})
    for line in lines:
        results.add(line)
    return Bench.read(tmp_path / "paper.jsonl")


@pytest.fixture
def small(tmp_path) -> Bench:
    lines = [run("minimal", 0, 0.8), run("minimal", 1, 0.9, "b"), run("tree", 0, 0.7), run("tree", 1, 0.7)]
    lines += [run("forest", 0, 0.95, formulas={}), run("forest", 1, 0.97, formulas={})]
    lines += [run("brl", 0, 0.99), run("brl", 1, 0, status="stopped: 5 s")]
    lines += [run("authors", fold, value, protocol="paper") for fold, value in enumerate((0.78, 0.80))]
    return bench(tmp_path, lines)


def test_estimates_are_means_with_their_standard_error(small):
    entry = ("mimic2", "clean", "minimal")
    estimate = small.estimate(entry, "model_accuracy")
    assert (estimate.mean, estimate.error, estimate.n) == (pytest.approx(85), pytest.approx(5), 2)
    # Of the concepts a and b each is used by one fold of two.
    assert small.estimate(entry, "consistency").mean == 50
    assert small.estimate(("mimic2", "clean", "brl"), "model_accuracy").error is None
    assert small.estimate(("mimic2", "clean", "oner"), "model_accuracy") is None


def test_differences_are_counted_in_combined_errors():
    assert Estimate(5, 3).apart(Estimate(0, 4)) == 1
    assert Estimate(5, None).apart(Estimate(0, 4)) is None
    assert Estimate(5, 0).apart(Estimate(5, 0)) == 0
    assert math.isinf(Estimate(5, 0).apart(Estimate(4, 0)))
    assert Estimate(-0.04, 0.2).text(signed=True) == "+0.0 ± 0.2"


def test_a_report_marks_the_best_and_says_what_is_missing(small, tmp_path):
    report.write_report(small, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| MIMIC-II"))
    assert "**85.00 ± 5.00**" in row
    # The best of all is a black box; a method that lacks a fold does not compete.
    assert "**96.00 ± 1.00**★" in row
    assert "99.00<br>" in row
    assert "folds 1 of 2; 1 stopped: 5 s" in row
    assert "*paper 77.53 ± 1.45*" in row
    assert "| BRL    | clean    | stopped: 5 s | MIMIC-II 1" in text
    figures = sorted(file.name for file in (tmp_path / "report").iterdir())
    assert figures == [
        "pareto-clean-mimic2.svg",
        "pareto-paper-mimic2.svg",
        "report.md",
        "time-clean.svg",
        "time-paper.svg",
    ]
    first = {file.name: file.read_bytes() for file in (tmp_path / "report").iterdir()}
    report.write_report(small, tmp_path / "report")
    assert {file.name: file.read_bytes() for file in (tmp_path / "report").iterdir()} == first


def test_the_papers_figures_stand_beside_ours(small):
    (pair,) = comparisons(small, metric_named("model_accuracy"))
    assert pair[:2] == ("mimic2", "authors")
    assert (pair[2].mean, pair[3]) == (pytest.approx(79), published("model_accuracy", "mimic2", "entropy_net"))


def test_the_front_has_what_no_other_dominates(tmp_path):
    lines = [
        run("minimal", 0, 0.9, complexity=5.0),
        run("tree", 0, 0.8, complexity=2.0),
        run("brl", 0, 0.8, complexity=5.0),
    ]
    of = bench(tmp_path, lines)
    assert [point.method for point in front(points(of, "mimic2", "clean"))] == ["tree", "minimal"]


def test_the_chosen_setting_is_best_on_validation_rows(tmp_path):
    lines = []
    for name, validation, test in (("tau=5 lambda=1e-05", 0.9, 0.5), ("tau=4 lambda=1e-05", 0.8, 1.0)):
        more = {"validation_accuracy": validation, "validation_explanation_accuracy": validation, "task": "sweep:vdem"}
        lines.append(run(name, 0, test, **more))
    assert report.chosen_setting(bench(tmp_path, lines), "sweep:vdem", "clean") == "tau=5 lambda=1e-05"


def test_tables_escape_bars_and_parts_are_replaced():
    assert table([["a"], ["x | y"]]).splitlines()[-1] == "| x \\| y |"
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert with_part(page, "x", "new") == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert with_part("no marker", "x", "new") == "no marker"
    assert fold_words([4, 0, 1, 2]) == "0–2, 4"
    assert similarity([["a"], ["a", "b"], []]) == pytest.approx(100 * (0.5 + 0 + 0) / 3)


def test_planted_targets_are_counted(monkeypatch):
    runs = pd.DataFrame(
        {"family": "f", "seed": seed, "method": method, "noise": 0.0, "macro_f1": score, "literals": 2.0,
         "exact": method == "ours" and seed < 9, "seconds": 1.0}
        for seed in range(10)
        for method, score in (("ours", 0.9), ("ripper", 0.8), ("figs", 0.95), ("boosting", 0.905))
    )  # fmt: skip
    judged = dict(reversed(verdict) for verdict in truth_page.verdicts(runs))
    assert judged == {
        "exact in 9 of 10 seeds": True, "+10.00 points of macro-F1 against ripper": True,
        "-5.00 points of macro-F1 against figs": False,
        "-0.50 points of macro-F1 against boosting, 1 allowed below": True,
    }  # fmt: skip


def test_an_ablation_compares_table_by_table():
    lines = [
        {"table": name, "fold": fold, "variant": variant, "planted": False, "macro_f1": base + gain, "literals": 2.0,
         "concepts": [["a"], ["a" if fold else "b"]], "exact": None, "seconds": 1.0, "settings": settings}
        for name, base in (("t", 0.5), ("u", 0.7))
        for fold in range(2)
        for variant, gain, settings in (("default", 0.0, {}), ("wide", 0.1, {"max_literals": 9}))
    ]  # fmt: skip
    page = ablation_page.page([*lines, {**lines[1], "variant": "partial"}])
    row = next(line for line in page.splitlines() if line.startswith("| wide"))
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["70.0 ± 10.0", "+10.0 ± 0.0", "2 / 0", "2.0 ± 0.0"]
    # Class one uses a in both folds, class two a and b in one fold each: 100 and 50.
    assert row.split("|")[7].strip().startswith("75.0")
    assert "- **wide**: `max_literals=9`" in page
    assert "partial" not in page


def test_speed_lines_hold_or_not():
    line = Line("x", "s", floor=10, ours=[1.0, 1.0], reference=[20.0, 30.0])
    assert (line.ratio, line.spread, line.verdict) == (25, (20, 30), "holds")
    assert Line("x", "s", floor=30, ours=[1.0], reference=[20.0], bounded=True).verdict == "not known: limit reached"
    assert Line("x", "s", most=0.5, ours=[0.6], reference=[1.0]).verdict == "does not hold"
    with pytest.raises(ZeroDivisionError):
        _ = Line("x", "s", ours=[0.0], reference=[1.0]).ratio


def side_runs(name: str, method: str, **other) -> list[dict]:
    """Two folds of a method on a table."""
    figures = {"rows": 10, "n_columns": 2, "majority": 0.6, "package": "1.0", "accuracy": 0.5, "macro_f1": 0.4,
               "length": 3, "seconds": 0.1, "columns": ["age"], "conditions": ["age >= 60"]}  # fmt: skip
    common = {"table": name, "method": method, **figures, **other}
    return [{**common, "fold": 0, "text": f"{method} says"}, {**common, "fold": 1, "text": None, "accuracy": 0.7}]


def test_texts_side_by_side_stand_beside_their_figures():
    lines = [line for name in ("easy", "hard") for method in why_page.NAMES for line in side_runs(name, method)]
    text = why_page.page(lines)
    assert all(text.count(f"```text\n{method} says\n```") == 2 for method in why_page.NAMES)
    assert "| tree of depth 3 | 60.0 | 40.0 | 3.0 splits | 100% | 100% | 0.10 |" in text
    assert "\n| always the most frequent class | nothing | 60 · 60 | 37 · 37 |" in why_page.readme_table(lines)
    assert "less accurate than a constant answer, which" not in text
    ours = side_runs("easy", "logiclens", majority=0.9)
    others = [x for method in why_page.NAMES if method != "logiclens" for x in side_runs("easy", method, accuracy=0.95)]
    text = why_page.page(ours + others)
    assert "Our rule is 22.5 points of accuracy behind the best. It is less accurate than a constant answer" in text
    assert why_page.figures(side_runs("easy", "ebm", conditions=None), "easy", "ebm").same_conditions is None


# The published pages -------------------------------------------------------------------------------------------------


def lines_of(name: str, keys: tuple[str, ...]) -> list[dict]:
    return list(Results(RESULTS / f"{name}.jsonl", keys))


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def paper() -> Bench:
    return Bench.read(RESULTS / "paper.jsonl")


def test_published_results_say_what_the_file_says(paper):
    assert page("results") == results_page.page(paper)
    assert with_part(page("comparison"), "exact", results_page.exact_cost(paper)) == page("comparison")


def test_published_report_is_that_of_the_file(paper, tmp_path, monkeypatch):
    # The charts take long; their bytes are compared on a small report.
    for chart in ("pareto_chart", "time_chart", "heat_map"):
        monkeypatch.setattr(report, chart, lambda *_: None)
    monkeypatch.setattr(report, "save", lambda *_: None)
    report.write_report(paper, tmp_path)
    published_text = (RESULTS / "report" / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == published_text


def test_published_truth_and_ablation_say_what_files_say():
    runs = pd.DataFrame(lines_of("domination", domination.KEYS))
    assert page("truth") == truth_page.page(pd.DataFrame(lines_of("planted", planted.KEYS)), runs)
    assert page("ablation") == ablation_page.page(lines_of("ablation", ablation.KEYS))


def test_published_side_by_side_is_complete_and_shown():
    lines = lines_of("side_by_side", side_by_side.KEYS)
    assert len(lines) == 3 * len(why_page.NAMES) * 5
    assert page("why") == why_page.page(lines)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_part(readme, "side by side", why_page.readme_table(lines)) == readme


def test_published_speed_and_scale_say_what_files_say(paper):
    measured, counted = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in ("speed", "scale")
    )
    assert (RESULTS / "speed.md").read_text(encoding="utf-8") == speed.page(measured, paper)
    assert with_part(page("comparison"), "speed", speed.comparison_table(measured, paper)) == page("comparison")
    assert with_part(page("scale"), "scale", scale_page.measured_part(counted)) == page("scale")


def test_every_part_has_markers(tmp_path):
    for name, parts in {"comparison": ("exact", "small tables", "speed"), "scale": ("scale",)}.items():
        for part in parts:
            assert page(name).count(f"<!-- {part} -->") == page(name).count(f"<!-- end of {part} -->") == 1
    copy = tmp_path / "comparison.md"
    copy.write_text(page("comparison"), encoding="utf-8")
    write_part(copy, "speed", "nothing")
    assert "<!-- speed -->\n\nnothing\n\n<!-- end of speed -->" in copy.read_text(encoding="utf-8")


def test_small_tables_average_over_tables():
    runs = pd.DataFrame(
        {"table": name, "fold": fold, "method": "ours", "accuracy": value, "macro_f1": value, "literals": 2.0}
        for name, value in (("a", 0.5), ("b", 1.0), ("bench: c", 0.0))
        for fold in range(2)
    )
    assert np.isclose(float(truth_page.small_tables(runs).splitlines()[-1].split("|")[2]), 75.0)
