"""The page docs/ablation.md, from the runs of the ablation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab.pages.markdown import Estimate, mean_text, table
from lab.runs.results import Line
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import consistency

DEFAULT = "default"
CLEAR = 2.0
"""Differences of more standard errors than this are listed."""
METRICS = ("macro-F1", "literals", "consistency", "exact", "CPU s")


def page(lines: Sequence[Line]) -> str:
    runs = pd.DataFrame(lines)
    runs["place"] = list(zip(runs["table"], runs["fold"], strict=True))
    places = set(runs.loc[runs["variant"] == DEFAULT, "place"])
    variants = [str(name) for name, of in runs.groupby("variant", sort=False) if places <= set(of["place"])]
    variants.sort(key=lambda name: name != DEFAULT)
    runs = runs[runs["place"].isin(places) & runs["variant"].isin(variants)]
    figures = {
        (str(name), str(variant)): _figures(of)
        for name, of_table in runs.groupby("table", sort=False)
        for variant, of in of_table.groupby("variant", sort=False)
    }
    tables = list(dict.fromkeys(name for name, _ in figures))
    differences = {
        (variant, metric): _difference(figures, tables, variant, metric)
        for variant in variants
        for metric in METRICS[:3]
    }
    settings = (f"- **{name}**: {_settings(next(x for x in lines if x['variant'] == name))}" for name in variants)
    parts = [
        "# What each part of the defaults is worth", _introduction(runs), "## Means over these tables",
        _summary(runs, figures, differences, tables, variants), _clear(differences), "## The variants",
        "\n".join(settings), "## Each table",
        *(f"### {name}\n\n{_of_table(runs[runs['table'] == name], figures, name, variants)}" for name in tables),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _settings(line: Line) -> str:
    if "settings" not in line:
        return "a setting of an earlier version"
    return ", ".join(f"`{key}={value!r}`" for key, value in line["settings"].items()) or "all settings as they are"


def _figures(runs: pd.DataFrame) -> dict[str, float]:
    """Return the figures of one variant on one table, NaN where the metric does not apply.

    How often the concepts of any fold recur is for tables with folds, how often the truth is found for planted ones.
    """
    planted, recurs = bool(runs["planted"].any()), math.nan
    if not planted and len(runs) > 1:
        used = [[_formula(names) for names in concepts] for concepts in runs["concepts"]]
        recurs = 100 * consistency(used).value
    exact = 100 * float(np.mean(runs["exact"].astype(bool))) if planted else math.nan
    means = [100 * runs["macro_f1"].mean(), runs["literals"].mean(), recurs, exact, runs["seconds"].mean()]
    return dict(zip(METRICS, means, strict=True))


def _formula(names: Sequence[str]) -> DNF:
    return DNF([Cube(Literal(name) for name in names)]) if names else DNF.false


def _difference(figures: Any, tables: Sequence[str], variant: str, metric: str) -> Estimate | None:
    return Estimate.of(figures[name, variant][metric] - figures[name, DEFAULT][metric] for name in tables)


def _introduction(runs: pd.DataFrame) -> str:
    default = runs[runs["variant"] == DEFAULT]
    lists = []
    for planted in (False, True):
        of = default[default["planted"] == planted].groupby("table", sort=False)["fold"].nunique()
        lists.append(", ".join(f"{name} ({n})" for name, n in of.items()) or "none")
    return (
        "`python -m lab ablation` fills `lab/results/ablation.jsonl`, and `python -m lab pages` writes this page from "
        "it. Each variant changes one setting and keeps all other defaults.\n\n"
        f"The page covers {len(runs)} runs. Tables, with the number of folds: {lists[0]}. Planted families, with the "
        f"number of seeds: {lists[1]}. The folds and seeds are those of [truth.md](truth.md). During development the "
        "defaults are checked on the same tables and seeds, so this comparison may flatter them. It says nothing about "
        "other tables.\n\n"
        "*Macro-F1* is that of the rules' decision on unseen rows, in per cent. *Literals* is the mean over classes; "
        "of two classes, one is the complement and counts the same. *Consistency* says how often the concepts of any "
        "fold recur in the other folds, in per cent; thresholds of one column count as one concept. If formulas have "
        "one literal, a single deviating fold of five takes consistency from 100 to 50. Each seed of a planted family "
        "has its own formula, so these families have *exact* instead: the share of seeds in which the truth is found. "
        "Other work shared the machine, so compare ratios of *CPU s*."
    )


def _summary(runs: pd.DataFrame, figures: Any, differences: Any, tables: Sequence[str], variants: Sequence[str]) -> str:
    rows = [["", "macro-F1", "difference", "higher / lower", "literals", "difference", "consistency", "difference",
             "exact", "CPU s"]]  # fmt: skip
    for name in variants:
        cells = [name]
        for metric in METRICS[:3]:
            apart = differences[name, metric]
            cells.append(mean_text(figures[of, name][metric] for of in tables))
            cells.append("" if name == DEFAULT or apart is None else apart.text(signed=True))
            if metric == "macro-F1":
                cells.append("" if name == DEFAULT else _won_and_lost(runs, name))
        exact, seconds = (np.array([figures[of, name][metric] for of in tables]) for metric in METRICS[3:])
        exact_text = "" if np.isnan(exact).all() else f"{np.nanmean(exact):.0f}"
        rows.append([*cells, exact_text, f"{seconds.mean():.1f}"])
    return (
        "Figures are mean ± standard error over tables; each table counts once. Differences are from the default, "
        "table by table. *Higher / lower* counts the tables on which macro-F1 differs by more than one standard error "
        "over folds or seeds. Consistency covers tables with folds, *exact* planted families.\n\n" + table(rows)
    )


def _won_and_lost(runs: pd.DataFrame, variant: str) -> str:
    scores = runs.pivot_table(index=["table", "fold"], columns="variant", values="macro_f1")
    signs = []
    for _, paired in (scores[variant] - scores[DEFAULT]).groupby("table"):
        estimate = Estimate.of(paired)
        clear = estimate is not None and abs(estimate.mean) > (estimate.error or 0.0) + 1e-12
        signs.append(float(np.sign(estimate.mean)) if clear and estimate else 0.0)
    return f"{signs.count(1)} / {signs.count(-1)}"


def _clear(differences: dict[tuple[str, str], Estimate | None]) -> str:
    compared = {key: one for key, one in differences.items() if key[0] != DEFAULT and one is not None}
    clear = [
        f"- {name}: {metric} {one.text(signed=True)}"
        for (name, metric), one in compared.items()
        if abs(one.mean) > CLEAR * (one.error or 0.0) + 1e-12
    ]
    return (
        f"Differences beyond two standard errors over tables. Of {len(compared)} differences about "
        f"{0.05 * len(compared):.0f} would lie there by chance, and more with few tables:\n\n"
        + ("\n".join(clear) or "- none")
    )


def _of_table(runs: pd.DataFrame, figures: Any, name: str, variants: Sequence[str]) -> str:
    last = "exact" if runs["planted"].any() else "consistency"
    rows = [["", "macro-F1", "literals", last, "CPU s"]]
    for variant in variants:
        of = runs[runs["variant"] == variant]
        recurs, seconds = (figures[name, variant][metric] for metric in (last, "CPU s"))
        means = (mean_text(100 * of["macro_f1"]), mean_text(of["literals"]))
        rows.append([variant, *means, "" if math.isnan(recurs) else f"{recurs:.0f}", f"{seconds:.1f}"])
    return table(rows)
