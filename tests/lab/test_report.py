"""The benchmark report, checked against the raw table with pandas and regular expressions."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from lab.pages.document import ShownFormula, slug
from lab.pages.names import METHODS, METRICS, columns_of_paper
from lab.pages.report import latex_text, markdown_text, write_bench_report
from lab.pages.sections import figure_text
from lab.pages.summary import Estimate, Point, front, read_bench
from lab.runs.paper_figures import paper_figures
from lab.runs.results import COLUMNS, Measurement, Results, write_results
from logiclens.errors import LogicLensError
from logiclens.formula.text import parse

HOSTILE = 'evil <b onclick="x">& | $_{%}~^\\ "q" \'s\' #`'
BLACK = {"forest", "mlp"}
CLASSES = {"mimic2": ["lives", "dies"], "vdem": ["no", "yes"], "cub": ["a", "b", "c"]}
WORDS = {
    "model_accuracy": 100,
    "explanation_accuracy": 100,
    "complexity": 1,
    "fidelity": 100,
    "seconds": 1,
}


# ---- a table to report on


@dataclass
class Maker:
    """Lines of a table, run by run."""

    lines: list[Measurement] = field(default_factory=list)

    def run(self, key: tuple[str, str, str, int], metrics: Iterable[tuple[str, object]], status: str = "ok") -> None:
        for name, value in [*metrics, ("status", status)]:
            self.lines.append(Measurement(*key, name, str(value)))

    def write(self, folder: Path) -> Path:
        write_results(folder, Results(tuple(self.lines)))
        return folder


def formula_text(random: np.random.Generator, literals: int) -> str:
    cubes, left = [], literals
    while left:
        size = int(min(left, random.integers(1, 3)))
        chosen = random.choice(6, size, replace=False)
        cubes.append("(" + " & ".join(f"{'~' * int(random.integers(2))}c{j}" for j in chosen) + ")")
        left -= size
    return " | ".join(cubes)


def metrics_of(random: np.random.Generator, task: str, method: str) -> list[tuple[str, object]]:
    accuracy, literals = 0.7 + 0.25 * random.random(), 30 if method == "tree" else int(random.integers(1, 6))
    found: list[tuple[str, object]] = [("model_accuracy", f"{accuracy:.6f}")]
    if method not in BLACK:
        found += [("explanation_accuracy", f"{0.6 + 0.35 * random.random():.6f}"), ("complexity", literals)]
        found += [(name, f"{random.random():.6f}") for name in ("fidelity", "fidelity_macro_f1")]
        found += [("fidelity_constant_false", 0.5), ("constant_formulas", int(random.integers(3)))]
    found.append(("seconds", f"{10 ** random.uniform(-3, 3):.6f}"))
    if method not in BLACK:
        found += [(f"formula:{klass}", formula_text(random, literals)) for klass in CLASSES[task]]
    return found


def full_table() -> Maker:
    random, maker = np.random.default_rng(7), Maker()
    methods = ("minimal", "authors", "tree", "psi", "forest", "mlp", "stump", HOSTILE)
    for protocol, task, method in itertools.product(("paper", "clean"), CLASSES, methods):
        for fold in range(4):
            maker.run((task, protocol, method, fold), metrics_of(random, task, method))
    for fold in range(2):
        maker.run(("cub", "clean", "brl", fold), metrics_of(random, "cub", "brl"))
    maker.run(("cub", "clean", "brl", 2), [("model_accuracy", 0.999)], "stopped: 600 s")
    maker.run(("cub", "clean", "brl", 3), [], "failed: ValueError: <none> left")
    for fold in range(4):
        maker.run(("cub", "clean", "ripper", fold), [("note", "a note"), ("note", "two")], "skipped: not installed")
    for tau, weight, fold in itertools.product((4, 5), ("1e-06", "0.0001"), range(4)):
        names = ("model_accuracy", "explanation_accuracy", "complexity", "validation_accuracy",
                 "validation_explanation_accuracy")  # fmt: skip
        held = [(name, f"{random.random():.6f}") for name in names]
        maker.run(("sweep:vdem", "clean", f"tau={tau} lambda={weight}", fold), held)
    add_toy(maker)
    return maker


def add_toy(maker: Maker) -> None:
    for seed in range(2):
        weights = [(f"weight:h{i}:x{j}", f"{(-1) ** i * 0.1 * j:.4f}") for i in range(5) for j in range(4)]
        maker.run(("toy", "clean", "A", seed), weights)
        for model in "BC":
            relevance = [(f"relevance:{klass}:x{j}", 0.25 * j) for klass in ("y", "z") for j in range(4)]
            told = [("recovered:minimal", 4), ("recovered:paper", 3 + seed)] if model == "C" else []
            told += [("formula:minimal:y", "x1 | x2"), ("formula:paper:y", "x1 | (x2 & x3)")] if model == "C" else []
            maker.run(("toy", "clean", model, seed), relevance + told)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = full_table().write(tmp_path_factory.mktemp("bench"))
    header = {"schema": 1, "version": "0.1.0", "folds": 4, "seed": 42, "machine": {"cores": 2}, "protocols": ["clean"]}
    (made / "bench.json").write_text(json.dumps(header))
    return made


@pytest.fixture(scope="module")
def written(folder):
    return write_bench_report(folder)


@pytest.fixture(scope="module")
def page(folder, written):
    return read_page((folder / "report" / "report.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def raw(folder):
    return pd.read_csv(folder / "results.csv", keep_default_na=False)


def figures(raw: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Fold by fold, of runs that ended well only, in the unit that is shown."""
    keys = ["task", "protocol", "method", "fold"]
    good = raw[(raw.metric == "status") & (raw.value == "ok")][keys]
    found = raw[raw.metric == metric].merge(good, on=keys)
    return found.assign(value=found.value.astype(float) * WORDS.get(metric, 1))


# ---- reading a page


@dataclass
class PageTable:
    caption: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[dict[str, object]]] = field(default_factory=list)
    marked: list[bool] = field(default_factory=list)

    def cell(self, head: str, column: str) -> dict[str, object]:
        (row,) = [row for row in self.rows if row[0]["text"] == head]
        return row[self.columns.index(column)]


class Reader(HTMLParser):
    """The tables, ids, texts and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, PageTable] = {}
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.table: PageTable | None = None
        self.place: list[str] = []
        self.small = False

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.tags.append((tag, held))
        self.ids += [held["id"]] if "id" in held else []
        if tag == "table":
            self.table = self.tables.setdefault(held["id"], PageTable())
        if self.table is not None:
            if tag == "tr":
                self.table.rows.append([])
                self.table.marked.append(held.get("class") == "marked")
            if tag in ("th", "td"):
                self.table.rows[-1].append({"text": "", "small": [], "bold": False, "star": False})
            if tag == "strong":
                self.table.rows[-1][-1]["bold"] = True
            if tag == "span" and "small" in (held.get("class") or "").split():
                self.table.rows[-1][-1]["small"].append("")
                self.small = True
            if tag == "span" and held.get("class") == "star":
                self.table.rows[-1][-1]["star"] = True
        self.place.append(tag)

    def handle_endtag(self, tag):
        while self.place and self.place.pop() != tag:
            pass
        if tag == "span":
            self.small = False
        if tag == "table":
            self.table.columns = [cell["text"].strip() for cell in self.table.rows.pop(0)]
            self.table.marked.pop(0)
            for row in self.table.rows:
                for cell in row:
                    cell["text"] = " ".join(cell["text"].replace("★", "").split())
            self.table = None

    def handle_data(self, data):
        self.text.append(data)
        if self.table is None:
            return
        if "caption" in self.place:
            self.table.caption += data
        elif self.small:
            self.table.rows[-1][-1]["small"][-1] += data
        elif self.table.rows and self.table.rows[-1]:
            self.table.rows[-1][-1]["text"] += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def metric_tables(page: Reader, protocol: str, metric: str) -> list[PageTable]:
    return [table for key, table in page.tables.items() if re.fullmatch(f"{protocol}-{metric}-[123]", key)]


def named(method: str, metric: str) -> str:
    title = METHODS.get(method, " ".join(method.split()))
    return f"{title} (black box)" if metric == "model_accuracy" and method in BLACK else title


TITLES = {"mimic2": "MIMIC-II", "vdem": "V-Dem", "cub": "CUB"}


def cell_of(page: Reader, metric: str, key: tuple[str, str, str]) -> dict[str, object]:
    task, protocol, method = key
    column = named(method, metric)
    (table,) = [table for table in metric_tables(page, protocol, metric) if column in table.columns]
    return table.cell(TITLES[task], column)


# ---- the six tables


@pytest.mark.parametrize("metric", ["model_accuracy", "explanation_accuracy", "complexity", "fidelity"])
def test_every_mean_and_standard_error_is_that_of_pandas(page, raw, metric):
    found = figures(raw, metric)
    found = found[found.task.isin(TITLES)]
    judged = found.groupby(["task", "protocol", "method"]).value.agg(["mean", "sem"])
    assert len(judged) > 30
    for key, row in judged.iterrows():
        assert cell_of(page, metric, key)["text"] == f"{row['mean']:.2f} ± {row['sem']:.2f}", key
    shown_cells = [c for p in ("paper", "clean") for t in metric_tables(page, p, metric) for r in t.rows for c in r[1:]]
    assert sum("±" in cell["text"] for cell in shown_cells) == len(judged)


def test_times_keep_the_digits_that_matter(page, raw):
    found = figures(raw, "seconds")
    judged = found[found.task.isin(TITLES) & ~found.method.isin(BLACK)].groupby(["task", "protocol", "method"]).value
    for key, mean in judged.mean().items():
        text = cell_of(page, "seconds", key)["text"].partition(" ")[0]
        assert math.isclose(float(text), mean, abs_tol=0.005 + 1e-9 if mean >= 0.1 else 0.06 * mean), key
    assert figure_text(0.00123, 0.0004, METRICS[5]) == "0.0012 ± 0.0004"
    assert figure_text(0.0, 0.0, METRICS[5]) == "0.00 ± 0.00"


@pytest.mark.parametrize("metric", ["model_accuracy", "explanation_accuracy", "complexity", "fidelity"])
def test_the_best_of_a_group_is_bold_and_overall_starred(page, raw, metric):
    found = figures(raw, metric)
    sign = -1 if metric == "complexity" else 1
    for (task, protocol), part in found[found.task.isin(TITLES)].groupby(["task", "protocol"]):
        table = part.groupby("method").value.agg(["mean", "count"])
        means = (sign * table[table["count"] == 4]["mean"]).round(2)
        groups = [means[means.index.isin(BLACK)], means[~means.index.isin(BLACK)]]
        best = {m for group in groups if len(group) for m in group[group == group.max()].index}
        cells = {method: cell_of(page, metric, (task, protocol, method)) for method in table.index}
        assert {method for method, cell in cells.items() if cell["bold"]} == best
        overall = set(means[means == means.max()].index) if metric == "model_accuracy" else set()
        assert {method for method, cell in cells.items() if cell["star"]} == overall


def test_who_lacks_folds_says_so_and_does_not_compete(page):
    cell = cell_of(page, "model_accuracy", ("cub", "clean", "brl"))
    assert cell["small"][-1] == "folds 2 of 4; 1 stopped after 600 s; 1 failed: ValueError: <none> left"
    assert not cell["bold"]


def test_the_best_on_too_few_folds_is_not_the_best(tmp_path):
    maker = Maker()
    for fold in range(2):
        maker.run(("wine", "clean", "tree", fold), [("model_accuracy", 0.5)])
        maker.run(("wine", "clean", "stump", fold), [("model_accuracy", 0.500001)])
    maker.run(("wine", "clean", "brl", 0), [("model_accuracy", 0.9)])
    write_bench_report(maker.write(tmp_path))
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    # Those that are printed alike share it.
    assert "| Wine | **50.00 ± 0.00** ★ | 90.00<br>folds 1 of 2 |" in text
    assert "| Wine | **50.00 ± 0.00** ★ |\n" in text


def test_the_papers_figures_stand_beside_ours(page):
    assert cell_of(page, "model_accuracy", ("mimic2", "clean", "authors"))["small"] == ["paper 79.05 ± 1.35"]
    assert cell_of(page, "complexity", ("vdem", "paper", "tree"))["small"] == ["paper 30.20 ± 1.20"]
    assert cell_of(page, "model_accuracy", ("vdem", "paper", "mlp"))["small"] == ["paper 94.53 ± 1.17"]
    # On images the paper's neural network is the encoder, so a plain network has no figure beside it.
    assert cell_of(page, "model_accuracy", ("cub", "paper", "mlp"))["small"] == []
    assert cell_of(page, "model_accuracy", ("mimic2", "clean", "minimal"))["small"] == []
    assert cell_of(page, "consistency", ("cub", "paper", "psi"))["small"] == ["paper 41.43"]


def test_fidelity_has_its_companions(page, raw):
    key = ("vdem", "clean", "minimal")
    mean = {
        name: figures(raw, name).groupby(["task", "protocol", "method"]).value.mean()[key]
        for name in ("fidelity_macro_f1", "fidelity_constant_false", "constant_formulas")
    }
    assert cell_of(page, "fidelity", key)["small"] == [
        f"macro-F1 {100 * mean['fidelity_macro_f1']:.2f}",
        "constant False 50.00",
        f"constant formulas {mean['constant_formulas']:.1f}",
    ]


def test_consistency_is_counted_from_the_names_in_the_texts(page, raw):
    formulas = raw[raw.metric.str.startswith("formula:") & raw.task.isin(TITLES)]
    used = formulas.assign(names=[set(re.findall(r"c\d", text)) for text in formulas.value])
    for key, part in used.groupby(["task", "protocol", "method"]):
        shares = []
        for _, runs in part.groupby("metric"):
            concepts = set().union(*runs.names)
            shares.append(np.mean([sum(c in names for names in runs.names) / len(runs) for c in concepts]))
        assert cell_of(page, "consistency", key)["text"] == f"{100 * np.mean(shares):.2f}", key


def test_tasks_and_methods_stand_in_the_order_of_their_names(page):
    (first, small, further) = metric_tables(page, "clean", "explanation_accuracy")
    assert [row[0]["text"] for row in first.rows] == ["MIMIC-II", "V-Dem", "CUB"]
    assert first.columns[1:] == [METHODS[m] for m in ("minimal", "authors", "tree", "brl", "psi")]
    assert small.columns[1:] == ["One literal"]
    assert further.columns[1:] == ["RIPPER", HOSTILE]


def test_black_boxes_are_in_the_table_of_models_only(page):
    for metric in WORDS:
        columns = {c for p in ("paper", "clean") for t in metric_tables(page, p, metric) for c in t.columns}
        assert any("Random forest" in column for column in columns) == (metric == "model_accuracy")


# ---- status


STATUSES = {
    "failed: no rows": "failed: no rows",
    "stopped: 600 s": "stopped after 600 s",
    "stopped: after 9 s": "stopped after 9 s",
    "stopped: memory ran out": "stopped: memory ran out",
    "skipped: not installed": "not installed",
    "failed": "failed",
    "lost": "lost",
}


def test_every_status_stands_in_its_cell_and_in_the_list(tmp_path):
    maker = Maker()
    maker.run(("wine", "clean", "tree", 0), [("model_accuracy", 0.5)])
    for place, status in enumerate(STATUSES):
        # Figures that a run left behind before it failed are not shown.
        maker.run(("wine", "clean", f"m{place}", 0), [("model_accuracy", 0.123)], status)
    write_bench_report(maker.write(tmp_path))
    page = read_page((tmp_path / "report" / "report.html").read_text("utf-8"))
    tables = metric_tables(page, "clean", "model_accuracy")
    listed = {row[0]["text"]: [cell["text"] for cell in row[1:]] for row in page.tables["unfinished-runs"].rows}
    for place, (status, words) in enumerate(STATUSES.items()):
        (table,) = [table for table in tables if f"m{place}" in table.columns]
        assert table.cell("Wine", f"m{place}")["text"] == words
        kind, _, reason = status.partition(": ")
        assert listed[f"m{place}"] == ["clean", kind, reason or "–", "Wine 0"]
    assert "12.30" not in "".join(page.text)
    assert (tables[0].cell("Wine", METHODS["tree"])["text"]) == "50.00"


def test_failures_and_notes_are_listed_with_their_folds(page):
    rows = [[cell["text"] for cell in row] for row in page.tables["unfinished-runs"].rows]
    assert rows == [
        ["BRL", "clean", "stopped", "600 s", "CUB 2"],
        ["BRL", "clean", "failed", "ValueError: <none> left", "CUB 3"],
        ["RIPPER", "clean", "skipped", "not installed", "CUB 0–3"],
    ]
    notes = [[cell["text"] for cell in row] for row in page.tables["notes-table"].rows]
    assert notes == [["RIPPER", "clean", "a note", "CUB 0–3"], ["RIPPER", "clean", "two", "CUB 0–3"]]


def test_not_run_is_told_from_having_no_such_figure(tmp_path):
    maker = Maker()
    maker.run(("wine", "clean", "tree", 0), [("model_accuracy", 0.5)])
    maker.run(("iris", "clean", "tree", 0), [("model_accuracy", 0.5)])
    maker.run(("iris", "clean", "brl", 0), [("model_accuracy", 0.4)])
    maker.run(("cub", "clean", "tree", 0), [("model_accuracy", 0.5)])
    # A method that explains a sample of the classes has no accuracy as a model.
    maker.run(("cub", "clean", "brl", 0), [("complexity", 2)])
    maker.run(("cub", "clean", "brl", 1), [], "stopped: 9 s")
    write_bench_report(maker.write(tmp_path))
    page = read_page((tmp_path / "report" / "report.html").read_text("utf-8"))
    (table,) = metric_tables(page, "clean", "model_accuracy")
    assert [table.cell(task, "BRL")["text"] for task in ("Wine", "Iris", "CUB")] == ["not run", "40.00", "–"]


# ---- reproduction, sweep, toy


def test_differences_from_the_paper_are_in_combined_standard_errors(page, raw):
    typed = {("mimic2", "authors"): (79.05, 1.35), ("vdem", "forest"): (93.08, 0.44), ("cub", "psi"): (91.92, 0.27)}
    found = figures(raw, "model_accuracy")
    table = page.tables["reproduction-model_accuracy"]
    for (task, method), (mean, error) in typed.items():
        values = found[(found.task == task) & (found.protocol == "paper") & (found.method == method)].value
        difference = values.mean() - mean
        apart = difference / math.sqrt(values.sem() ** 2 + error**2)
        place = next(
            i for i, row in enumerate(table.rows) if [row[0]["text"], row[1]["text"]] == [TITLES[task], METHODS[method]]
        )
        texts = [cell["text"].replace("−", "-") for cell in table.rows[place]]
        assert texts[3] == f"{mean:.2f} ± {error:.2f}"
        assert texts[4] == f"{difference:+.2f}"
        assert texts[5].split() == [f"{apart:+.1f}", *["◀"] * int(abs(apart) > 2)]
        assert table.marked[place] == (abs(apart) > 2)
    assert len(table.rows) == 5 + 5 + 4


def test_consistency_is_compared_without_errors(page):
    table = page.tables["reproduction-consistency"]
    assert {row[5]["text"] for row in table.rows} == {"–"}
    assert "±" not in "".join(cell["text"] for row in table.rows for cell in row)
    assert not any(table.marked)


def test_how_many_figures_are_near_is_counted(page):
    tables = [table for key, table in page.tables.items() if key.startswith("reproduction-")]
    judged = [(r, m) for t in tables for r, m in zip(t.rows, t.marked, strict=True) if r[5]["text"] != "–"]
    near = sum(not marked for _, marked in judged)
    assert f"Of {len(judged)} figures with a standard error on both sides, {near} lie within 2" in "".join(page.text)


def test_the_sweep_marks_what_the_validation_rows_choose(page, raw):
    part = raw[raw.task == "sweep:vdem"]
    part = part[part.metric.str.startswith("validation")]
    sums = part.assign(value=part.value.astype(float)).groupby(["method", "metric"]).value.mean().unstack().sum(axis=1)
    table = page.tables["sweep-vdem-clean"]
    tau, weight = re.fullmatch(r"tau=(\d) lambda=(.*)", sums.idxmax()).groups()
    chosen = [row[0]["text"] for row, marked in zip(table.rows, table.marked, strict=True) if marked]
    exponent = round(math.log10(float(weight)))
    assert chosen == [f"τ = {tau}, λ = 1e{exponent} ← chosen"]
    assert [row[0]["text"].split(" ←")[0] for row in table.rows] == [
        f"τ = {t}, λ = 1e{w}" for t in (4, 5) for w in (-6, -4)
    ]
    first = table.rows[0]
    assert [cell["small"] for cell in first[1:]] == [
        ["paper 94.15 ± 0.53"], ["paper 89.68 ± 0.36"], ["paper 1.70 ± 0.20"], [], []
    ]  # fmt: skip
    values = figures(raw, "complexity").query("task == 'sweep:vdem' and method == 'tau=4 lambda=1e-06'").value
    assert first[3]["text"] == f"{values.mean():.2f} ± {values.sem():.2f}"


def test_the_toy_comparison_counts_what_was_recovered(page, folder):
    table = page.tables["toy-clean-recovered"]
    assert table.columns == ["seed", METHODS["minimal"], METHODS["paper"]]
    assert [[cell["text"] for cell in row] for row in table.rows] == [
        ["seed 0", "4 of 4", "3 of 4"], ["seed 1", "4 of 4", "4 of 4"], ["seeds with all four", "2 of 2", "1 of 2"]
    ]  # fmt: skip
    assert page.tables["toy-clean-formulas"].cell("y", METHODS["paper"])["text"] == "x1 ∨ (x2 ∧ x3)"
    drawn = (folder / "report" / "toy-clean-A.svg").read_text("utf-8")
    assert "-0.30" in drawn
    assert drawn.count(">0.30<") >= 1
    assert {f"toy-clean-{model}.png" for model in "ABC"} <= {path.name for path in (folder / "report").iterdir()}


# ---- length against error


def test_the_front_is_that_of_brute_force(page, raw):
    means = {
        name: figures(raw, name).groupby(["task", "protocol", "method"]).value.mean()
        for name in ("complexity", "explanation_accuracy")
    }
    text = "".join(page.text)
    both = pd.DataFrame(means).dropna()
    for (task, protocol), part in both[both.index.get_level_values(0).isin(TITLES)].groupby(level=[0, 1]):
        points = {key[2]: (row.complexity, -row.explanation_accuracy) for key, row in part.iterrows()}
        free = {
            method
            for method, (x, y) in points.items()
            if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
        }
        told = text[text.index(f"{TITLES[task]} under '{protocol}'. Not dominated: ") :]
        kept = told.partition("Not dominated: ")[2].partition(".")[0]
        assert set(kept.split("; ")) == {named(method, "") for method in free}


def test_equal_points_do_not_dominate_each_other():
    def point(method: str, x: float, y: float) -> Point:
        return Point(method, Estimate(x, None, 1), Estimate(y, None, 1))

    points = [point("a", 1, 5), point("b", 1, 5), point("c", 1, 6), point("d", 0, 9), point("e", 2, 5)]
    assert [p.method for p in front(points)] == ["d", "a", "b"]


def test_figures_show_every_method_and_the_mark_of_nine(folder, written):
    drawn = (folder / "report" / "pareto-clean-cub.svg").read_text("utf-8")
    texts = ["".join(node.itertext()) for node in ElementTree.fromstring(drawn).iter() if node.tag.endswith("text")]
    for wanted in ("9 literals", "not dominated", "hollow: the paper", METHODS["minimal"], METHODS["stump"], "BRL"):
        assert wanted in texts
    assert METHODS["forest"] not in texts
    assert "hollow: the paper" in texts
    time = (folder / "report" / "time-clean.svg").read_text("utf-8")
    assert METHODS["forest"] in time
    assert "mathdefault" not in time + drawn


# ---- formulas


def test_formulas_are_shortened_with_their_true_length(page, raw):
    table = page.tables["clean-formulas-mimic2"]
    first = raw[(raw.task == "mimic2") & (raw.protocol == "clean") & (raw.fold == 0) & (raw.metric == "formula:lives")]
    for _, line in first.iterrows():
        formula, literals = table.cell(named(line.method, ""), "formula"), len(re.findall(r"c\d", line.value))
        assert table.cell(named(line.method, ""), "literals")["text"] == str(parse(line.value).n_literals)
        assert (literals > 12) == formula["text"].endswith("∨ …")
        assert len(re.findall(r"c\d", formula["text"])) <= 12
    assert table.caption == "MIMIC-II under 'clean': the formula of 'lives' on the first fold of each method."


def test_the_first_cube_is_never_cut_away():
    long = parse("(" + " & ".join(f"c{i}" for i in range(20)) + ") | d")
    cut = ShownFormula.cut(long, 12)
    assert cut.is_cut
    assert cut.text == " ∧ ".join(f"c{i}" for i in range(20)) + " ∨ …"
    assert ShownFormula.cut(parse("False"), 12).text == "⊥"
    assert not ShownFormula.cut(parse("a | b"), 2).is_cut


def test_rules_say_how_many_folds_agree(tmp_path):
    maker = Maker()
    for fold, text in enumerate(["a & b | c", "c | (b & a)", "c", "a & b"]):
        maker.run(("wine", "clean", "minimal", fold), [("fidelity", 0.9), ("formula:k", text), ("formula:l", "True")])
    write_bench_report(maker.write(tmp_path))
    page = read_page((tmp_path / "report" / "report.html").read_text("utf-8"))
    rows = [[cell["text"] for cell in row] for row in page.tables["clean-rules-wine"].rows]
    assert rows == [["k", "(a ∧ b) ∨ c", "3", "2 of 4"], ["l", "⊤", "0", "4 of 4"]]


@pytest.mark.parametrize(("fidelity", "sign"), [("0.93", "≈"), ("1.000000", "↔"), ("nan", "≈")])
def test_case_studies_are_sentences_and_equal_only_where_nothing_differs(tmp_path, fidelity, sign):
    maker = Maker()
    maker.run(("mimic2", "paper", "minimal", 0), [("fidelity", 1), ("formula:dies", "young")])
    maker.run(("mimic2", "clean", "minimal", 0), [], "failed: x")
    maker.run(("mimic2", "clean", "minimal", 1), [("fidelity", fidelity), ("formula:dies", "old & ~fit")])
    write_bench_report(maker.write(tmp_path))
    page = read_page((tmp_path / "report" / "report.html").read_text("utf-8"))
    study = page.tables["study-mimic2-rules"]
    assert study.cell("dies", "rule")["text"] == f"∀x: dies(x) {sign} old(x) ∧ ¬fit(x)"
    assert study.caption.startswith("Entropy net, logiclens, under 'clean', fold 1")
    assert ("agree on" in study.caption) == (fidelity != "nan")


# ---- the files


def test_the_page_needs_nothing_else_and_is_well_made(page, folder):
    assert len(page.ids) == len(set(page.ids))
    links = [held.get(name) for _, held in page.tags for name in ("src", "href", "xlink:href") if held.get(name)]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "b"}
    assert not [held for _, held in page.tags if any(name.startswith("on") for name in held)]
    tables = [held for tag, held in page.tags if tag == "table"]
    assert sum(tag == "caption" for tag, _ in page.tags) == len(tables) > 20
    assert all(held.get("scope") in ("col", "row") for tag, held in page.tags if tag == "th")
    drawings = [held for tag, held in page.tags if tag == "svg"]
    assert len(drawings) == len(list((folder / "report").glob("*.png"))) > 8
    assert all(held["role"] == "img" and held["aria-label"] for held in drawings)
    assert sum(tag == "style" for tag, _ in page.tags) == 1


def test_names_are_shown_as_they_are(page, folder):
    assert " ".join(HOSTILE.split()) in "".join(page.text)
    assert HOSTILE in {row[0]["text"] for row in page.tables["clean-formulas-cub"].rows}
    lines = (folder / "report" / "report.md").read_text("utf-8").splitlines()
    tables = [list(rows) for is_table, rows in itertools.groupby(lines, lambda line: line.startswith("|")) if is_table]
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert not re.search(r"(?<!\\)<(?!br>)", "\n".join(lines))
    assert markdown_text("*a*\n_b_") == r"\*a\* \_b\_"


def test_latex_is_balanced_and_escaped(folder):
    text = (folder / "report" / "report.tex").read_text("utf-8")
    body = re.sub(r"^%.*\n", "", text, flags=re.MULTILINE).replace("{%\n", "{\n")
    assert not re.search(r"(?<!\\)[%#]", body)
    plain = re.sub(r"\\.", "", body)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    depth = list(itertools.accumulate({"{": 1, "}": -1}.get(letter, 0) for letter in plain))
    assert min(depth) == 0
    begun, open_now = [], []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            begun.append(name)
            open_now.append(name)
        else:
            assert open_now.pop() == name
    assert open_now == []
    assert {"table", "tabular", "longtable", "figure", "itemize", "description"} == set(begun)
    assert not re.search("[±τλ≈∨∧¬∞◀←…−]", body)
    assert latex_text(HOSTILE) in text
    assert latex_text("a_b\\{}") == r"a\_b\textbackslash{}\{\}"


def test_every_line_of_a_latex_table_has_every_column(folder):
    text = (folder / "report" / "report.tex").read_text("utf-8")
    found = re.findall(r"\\begin\{tabular\}\{(l+)\}\n(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(found) > 20
    for columns, body in found:
        for line in body.splitlines():
            if not line.endswith("rule"):
                assert line.endswith(r"\\")
                assert len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1, line
    assert r"\textbf{" in text
    assert r"\quad\textit{paper} &" in text
    assert all(piece in text for piece in (r"\toprule", r"\midrule", r"\bottomrule", r"79.05 \ensuremath{\pm} 1.35"))


def test_latex_keeps_small_print_apart_and_escapes_bars(tmp_path):
    maker = Maker()
    held = [("fidelity", 0.75), ("fidelity_macro_f1", 0.5), ("constant_formulas", 1), ("formula:k", '"a|b" & c')]
    maker.run(("mimic2", "clean", "minimal", 0), held)
    maker.run(("mimic2", "clean", "tree", 0), [("fidelity", 1)])
    write_bench_report(maker.write(tmp_path))
    latex = (tmp_path / "report" / "report.tex").read_text("utf-8")
    lines = latex[latex.index("tab:clean-fidelity-1") :].splitlines()
    start = lines.index(r"\midrule")
    assert lines[start + 1 : start + 6] == [
        r"MIMIC-II & 75.00 & \textbf{100.00} \\",
        r"\quad\textit{paper} & \textit{79.11 \ensuremath{\pm} 2.02} &  \\",
        r"\quad\textit{macro-F1} & \textit{50.00} &  \\",
        r"\quad\textit{constant formulas} & \textit{1.0} &  \\",
        r"\bottomrule",
    ]
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert r'| k | `"a\|b" ∧ c` | 2 | 1 of 1 |' in text


def test_all_languages_have_the_same_tables(folder, page):
    md = (folder / "report" / "report.md").read_text("utf-8")
    latex = (folder / "report" / "report.tex").read_text("utf-8")
    for key, table in page.tables.items():
        assert markdown_text(table.caption) in md
        assert latex_text(table.caption) in latex
        assert f"\\label{{tab:{key}}}" in latex


def test_the_same_table_gives_the_same_bytes(tmp_path):
    """In another process too, where sets have another order and matplotlib other settings, and over an older report."""
    maker, random = Maker(), np.random.default_rng(3)
    for method, fold in itertools.product(("minimal", "tree", "forest", "b", "a"), range(2)):
        maker.run(("cub", "paper", method, fold), metrics_of(random, "cub", method))
    add_toy(maker)
    here, there = (maker.write(tmp_path / name) for name in ("here", "there"))
    (there / "report").mkdir()
    (there / "report" / "report.md").write_text("old")
    code = (
        "import sys; from pathlib import Path; from lab.pages.report import write_bench_report; "
        "import matplotlib; matplotlib.rcParams['xtick.labelsize'] = 20; write_bench_report(Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12", "OMP_NUM_THREADS": "1", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", code, str(there)], check=True, env=environment, capture_output=True)
    written = write_bench_report(here)
    for path in written:
        assert (there / "report" / path.name).read_bytes() == path.read_bytes(), path.name
    assert sorted(path.name for path in (there / "report").iterdir()) == sorted(path.name for path in written)
    assert {path.suffix for path in written} == {".md", ".tex", ".html", ".svg", ".png"}
    assert [path.name for path in written[:3]] == ["report.md", "report.tex", "report.html"]


def test_what_the_header_says_is_shown(page):
    text = "".join(page.text)
    for wanted in ("0.1.0", "cores 2", "42"):
        assert wanted in text
    good = 2 * 3 * 8 * 4 + 2 + 2 * 2 * 4 + 2 * 3
    assert f"{good + 6:,}, of which {good:,} succeeded" in text


@pytest.mark.parametrize(("folds", "told"), [(3, "50.00 ± 0.00<br>folds 2 of 3 |"), (2, "50.00 ± 0.00** ★ |")])
def test_the_header_says_how_many_folds_there_should_be(tmp_path, folds, told):
    maker = Maker()
    for fold in range(2):
        maker.run(("wine", "clean", "tree", fold), [("model_accuracy", 0.5)])
    maker.write(tmp_path)
    (tmp_path / "bench.json").write_text(json.dumps({"folds": folds}))
    write_bench_report(tmp_path)
    assert told in (tmp_path / "report" / "report.md").read_text("utf-8").replace("** ★<br>", "<br>")


@pytest.mark.parametrize(("protocol", "leaks"), [("paper", True), ("clean", False)])
def test_remarks_are_on_what_was_run(tmp_path, protocol, leaks):
    maker = Maker()
    for task in ("vdem", "cub"):
        maker.run((task, protocol, "tree", 0), [("model_accuracy", 0.5)])
    write_bench_report(maker.write(tmp_path))
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "almost define it" in text
    assert "release v12; the paper had v10" in text
    assert ("The encoder has seen most test images" in text) == leaks
    assert ("What the authors' scripts do" in text) == leaks
    assert ("LeakyReLU" in text) == leaks
    assert "icu" not in text


# ---- what is there, and what is wrong


def test_without_a_finished_run_there_is_no_report(tmp_path):
    message = f"{tmp_path} holds no finished run to report on: run the benchmark into it first."
    with pytest.raises(LogicLensError) as caught:
        write_bench_report(tmp_path)
    assert str(caught.value) == message
    (tmp_path / "results.csv").write_text(",".join(COLUMNS) + "\nwine,clean,tree,0,model_accuracy,0.5\n")
    with pytest.raises(LogicLensError) as caught:
        write_bench_report(tmp_path)
    assert str(caught.value) == message
    assert not (tmp_path / "report").exists()


def sections(folder: Path) -> list[str]:
    return re.findall(r"^## (.*)$", (folder / "report" / "report.md").read_text("utf-8"), re.MULTILINE)


def test_only_a_sweep(tmp_path):
    maker = Maker()
    maker.run(("sweep:wine", "clean", "tau=1 lambda=0.001", 0), [("model_accuracy", 0.5)])
    maker.run(("sweep:wine", "clean", "tau=2 lambda=0.001", 0), [], "failed: no")
    assert len(write_bench_report(maker.write(tmp_path))) == 3
    assert sections(tmp_path) == ["Sweep of settings", "Runs that failed, were stopped or skipped"]
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "chosen |" not in text
    assert "| τ = 2, λ = 1e-3 | failed: no | failed: no | failed: no | – | – |" in text


def test_only_the_toy(tmp_path):
    maker = Maker()
    add_toy(maker)
    maker.lines = [line for line in maker.lines if line.method == "B"]
    assert len(write_bench_report(maker.write(tmp_path))) == 5
    assert sections(tmp_path) == ["Toy comparison of entropy and L1"]


def test_only_one_task_with_one_fold_has_no_standard_errors(tmp_path):
    maker = Maker()
    held = [("model_accuracy", 0.5), ("explanation_accuracy", 0.25), ("complexity", 2), ("formula:k", "a | b")]
    maker.run(('a/../"><b>', "other", "mine", 0), held)
    files = write_bench_report(maker.write(tmp_path))
    assert sections(tmp_path) == ["Results under 'other'", "Formulas under 'other'"]
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert r'| a/../"\>\<b\> | **50.00** ★ |' in text
    page = read_page((tmp_path / "report" / "report.html").read_text("utf-8"))
    assert "b" not in {tag for tag, _ in page.tags}
    assert [held["aria-label"] for tag, held in page.tags if tag == "svg"] == [
        'Literals against explanation error on a/../"><b> under other: 1 method'
    ]
    assert "### Consistency" not in text
    assert all(path.parent == tmp_path / "report" and path.exists() for path in files)
    assert slug("a/../b") != slug("a-..-b")


def test_a_run_done_again_counts_once_as_it_ended(tmp_path):
    maker = Maker()
    maker.run(("wine", "clean", "tree", 0), [], "failed: once")
    maker.run(("wine", "clean", "tree", 0), [("model_accuracy", 0.75)])
    write_bench_report(maker.write(tmp_path))
    assert "| Wine | **75.00** ★ |" in (tmp_path / "report" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("metric", "value", "message"),
    [
        ("model_accuracy", "high",
         "model_accuracy of 'tree' on 'wine' under 'clean', fold 0 must be a number, got 'high': put the table of "
         "results right."),
        ("formula:k", "a & (b",
         "a formula of 'tree' on 'wine' under 'clean' cannot be read: column 7: expected ')' to close the '(' at "
         "column 5, but the text ends. It is 'a & (b'."),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_table_is_said(tmp_path, metric, value, message):
    maker = Maker()
    for fold in range(2):
        maker.run(("wine", "clean", "tree", fold), [(metric, value)])
    with pytest.raises(LogicLensError) as caught:
        write_bench_report(maker.write(tmp_path))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON: put the header of the benchmark there, or take it away."),
        ("[]", "must hold an object with schema 1: it was written by another version."),
        ('{"schema": 2}', "must hold an object with schema 1: it was written by another version."),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path, text, message):
    maker = Maker()
    maker.run(("wine", "clean", "tree", 0), [("model_accuracy", 0.5)])
    maker.write(tmp_path)
    (tmp_path / "bench.json").write_text(text)
    with pytest.raises(LogicLensError) as caught:
        read_bench(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'bench.json'} {message}"


# ---- the paper's figures


def test_published_figures_are_those_of_the_paper():
    """Typed by hand from the tables of the paper, a corner of each."""
    paper = paper_figures()
    typed = {
        ("model_accuracy", "mnist", "random_forest"): (99.96, 0.01),
        ("model_accuracy", "cub", "neural_network"): (93.10, 0.51),
        ("explanation_accuracy", "vdem", "psi_net"): (67.08, 9.68),
        ("complexity", "mnist", "brl"): (1352.30, 292.62),
        ("fidelity", "cub", "entropy_net"): (99.86, 0.01),
        ("consistency", "mimic2", "tree"): (40.49, None),
        ("seconds", "cub", "brl"): (264678.29, 56521.40),
    }
    for place, pair in typed.items():
        figure = paper.figure(*place)
        assert figure is not None
        assert (figure.mean, figure.standard_error) == pair
    sizes = {metric: sum(len(row) for row in table.rows.values()) for metric, table in paper.tables.items()}
    assert sizes == {
        "model_accuracy": 24, "explanation_accuracy": 16, "complexity": 16, "fidelity": 8, "consistency": 16,
        "seconds": 16,
    }  # fmt: skip
    assert paper.figure("fidelity", "cub", "tree") is None
    assert paper.figure("else", "cub", "tree") is None
    assert [len(paper.sweep), paper.sweep_task] == [12, "vdem"]
    setting = paper.setting("vdem", 6.0, 0.001)
    assert setting is not None
    assert (setting.complexity.mean, setting.complexity.standard_error) == (2.12, 0.43)
    assert paper.setting("mimic2", 6.0, 0.001) is None
    assert {column for table in paper.tables.values() for row in table.rows.values() for column in row} == set(
        columns_of_paper("cub")
    )


def test_a_sample_of_the_classes_is_marked_and_not_ranked(tmp_path):
    maker = Maker()
    for fold in range(2):
        every = [("explanation_accuracy", 0.6), ("complexity", 9.0), ("seconds", 5.0), ("formula:a", "x & y")]
        sample = [("explanation_accuracy", 0.9), ("complexity", 1.0), ("seconds", 0.1), ("formula:a", "x")]
        maker.run(("cub", "paper", "minimal", fold), every)
        maker.run(("cub", "paper", "brl", fold), [*sample, ("classes", 10)])
    write_bench_report(maker.write(tmp_path))
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    page = read_page(text)
    for metric in ("explanation_accuracy", "complexity", "seconds"):
        ours, theirs = (cell_of(page, metric, ("cub", "paper", method)) for method in ("minimal", "brl"))
        assert ours["bold"]
        assert not theirs["bold"]
        assert "classes 10" in theirs["small"]
    assert "BRL dominates" not in text
    assert not any("reproduction" in key for key in page.tables)
