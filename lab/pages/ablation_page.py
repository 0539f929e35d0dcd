"""The page docs/ablation.md, from the runs of the ablation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lab.pages.markdown import Estimate, table
from lab.runs.results import Line
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import consistency

DEFAULT = "default"
CLEAR = 2.0
"""Differences of more standard errors than this are listed."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one variant on one table, by fold or seed."""

    lines: dict[int, Line]

    def values(self, name: str, scale: float = 1.0) -> dict[int, float]:
        """Return a figure of each run."""
        return {fold: scale * line[name] for fold, line in self.lines.items()}

    @property
    def is_planted(self) -> bool:
        """Whether the truth is a given formula."""
        return any(line["planted"] for line in self.lines.values())

    @property
    def consistency(self) -> float | None:
        """How often the concepts of any fold recur, in per cent; None for seeds, whose formulas differ."""
        if self.is_planted or len(self.lines) < 2:
            return None
        used = [[_formula(names) for names in line["concepts"]] for line in self.lines.values()]
        value = consistency(used).value
        return None if np.isnan(value) else 100 * value

    @property
    def exact(self) -> float | None:
        """The share of seeds in which the planted formula is found, in per cent."""
        return 100 * float(np.mean([line["exact"] for line in self.lines.values()])) if self.is_planted else None


def _estimate(values: Sequence[float]) -> Estimate:
    """Return the estimate of some values, with an error of 0 for one value alone."""
    estimate = Estimate.of(values) or Estimate(float("nan"), None)
    return Estimate(estimate.mean, estimate.error or 0.0, estimate.n)


def _formula(names: Sequence[str]) -> DNF:
    """Return a formula that uses these concepts."""
    return DNF([Cube(Literal(name) for name in names)]) if names else DNF.false


Metric = Callable[[Runs], float | None]
METRICS: dict[str, Metric] = {
    "macro-F1": lambda runs: float(np.mean(list(runs.values("macro_f1", 100).values()))),
    "literals": lambda runs: float(np.mean(list(runs.values("literals").values()))),
    "consistency": lambda runs: runs.consistency,
    "exact": lambda runs: runs.exact,
    "CPU s": lambda runs: float(np.mean(list(runs.values("seconds").values()))),
}
"""Functions of the runs of a variant on a table; None where the metric does not apply."""


@dataclass(frozen=True, eq=False)
class Ablation:
    """All runs by table and variant, without variants that lack a split of the default."""

    runs: dict[str, dict[str, Runs]]

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Ablation:
        runs: dict[str, dict[str, dict[int, Line]]] = {}
        for line in lines:
            runs.setdefault(line["table"], {}).setdefault(line["variant"], {})[line["fold"]] = line
        splits = {(table, fold) for table, variants in runs.items() for fold in variants.get(DEFAULT, ())}
        names = dict.fromkeys(line["variant"] for line in lines)
        complete = [name for name in names if all(fold in runs[table].get(name, {}) for table, fold in splits)]
        return cls({
            table: {name: Runs({fold: runs[table][name][fold] for fold in sorted(runs[table][DEFAULT])})
                    for name in complete}
            for table in runs if DEFAULT in runs[table]
        })  # fmt: skip

    @property
    def variants(self) -> list[str]:
        return list(next(iter(self.runs.values())))

    def means(self, variant: str, metric: str) -> list[float]:
        """Return one value per table that has the metric."""
        values = [METRICS[metric](variants[variant]) for variants in self.runs.values()]
        return [value for value in values if value is not None]

    def difference(self, variant: str, metric: str) -> Estimate:
        """Return the mean difference from the default, with its standard error over tables."""
        pairs = zip(self.means(variant, metric), self.means(DEFAULT, metric), strict=True)
        return _estimate([mine - theirs for mine, theirs in pairs])

    def won_and_lost(self, variant: str) -> tuple[int, int]:
        """Count tables with macro-F1 higher, and lower, by more than one standard error of the paired folds."""
        signs = []
        for variants in self.runs.values():
            mine, theirs = (variants[name].values("macro_f1") for name in (variant, DEFAULT))
            paired = _estimate([mine[fold] - theirs[fold] for fold in mine])
            signs.append(np.sign(paired.mean) if abs(paired.mean) > (paired.error or 0.0) + 1e-12 else 0)
        return signs.count(1), signs.count(-1)


def page(lines: Sequence[Line]) -> str:
    """Return the whole page."""
    ablation = Ablation.of(lines)
    parts = [
        "# What each part of the defaults is worth",
        _introduction(ablation),
        "## Means over these tables",
        _summary(ablation),
        _clear_differences(ablation),
        "## The variants",
        "\n".join(
            f"- **{name}**: {_settings(name, next(line for line in lines if line['variant'] == name))}"
            for name in ablation.variants
        ),
        "## Each table",
        *(f"### {name}\n\n{_of_table(variants)}" for name, variants in ablation.runs.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _settings(name: str, line: Line) -> str:
    """Return the settings of a variant, which its runs hold."""
    if "settings" not in line:
        return "a setting of an earlier version"
    return ", ".join(f"`{key}={value!r}`" for key, value in line["settings"].items()) or "all settings as they are"


def _introduction(ablation: Ablation) -> str:
    tables = {table: variants[DEFAULT] for table, variants in ablation.runs.items()}
    splits = [
        ", ".join(f"{table} ({len(runs.lines)})" for table, runs in tables.items() if runs.is_planted == planted)
        for planted in (False, True)
    ]
    n_runs = sum(len(runs.lines) for variants in ablation.runs.values() for runs in variants.values())
    about = f"Tables, with the number of folds: {splits[0] or 'none'}."
    about += f" Planted families, with the number of seeds: {splits[1] or 'none'}."
    return (
        "`python -m lab ablation` fills `lab/results/ablation.jsonl`, and `python -m lab pages` writes this page from "
        "it. Each variant changes one setting and keeps all other defaults.\n\n"
        f"The page covers {n_runs} runs. {about} The folds and seeds are those of [truth.md](truth.md). "
        "During development the defaults are checked on the same tables and seeds, so this "
        "comparison may flatter them. It says nothing about other tables.\n\n"
        "*Macro-F1* is that of the rules' decision on unseen rows, in per cent. *Literals* is the mean over classes; "
        "of two classes, one is the complement and counts the same. *Consistency* says how often the concepts of any "
        "fold recur in the other folds, in per cent; thresholds of one column count as one concept. If formulas have "
        "one literal, a single deviating fold of five takes consistency from 100 to 50. Each seed of a planted family "
        "has its own formula, so these families have *exact* instead: the share of seeds in which the truth is found. "
        "Other work shared the machine, so compare ratios of *CPU s*."
    )


def _summary(ablation: Ablation) -> str:
    rows = [["", "macro-F1", "difference", "higher / lower", "literals", "difference", "consistency", "difference",
             "exact", "CPU s"]]  # fmt: skip
    for name in ablation.variants:
        cells = [name]
        for metric in ("macro-F1", "literals", "consistency"):
            means = ablation.means(name, metric)
            is_default = name == DEFAULT
            cells.append(_estimate(means).text() if means else "")
            cells.append("" if is_default or not means else ablation.difference(name, metric).text(signed=True))
            if metric == "macro-F1":
                cells.append("" if is_default else "{} / {}".format(*ablation.won_and_lost(name)))
        exact = ablation.means(name, "exact")
        rows.append([*cells, f"{np.mean(exact):.0f}" if exact else "", f"{np.mean(ablation.means(name, 'CPU s')):.1f}"])
    return (
        "Figures are mean ± standard error over tables; each table counts once. Differences are from the default, "
        "table by table. *Higher / lower* counts the tables on which macro-F1 differs by more than one standard error "
        "over folds or seeds. Consistency covers tables with folds, *exact* planted families.\n\n" + table(rows)
    )


def _is_clear(difference: Estimate) -> bool:
    """Return whether a difference is away from 0 by more than two standard errors."""
    return abs(difference.mean) > CLEAR * (difference.error or 0.0) + 1e-12


def _clear_differences(ablation: Ablation) -> str:
    """List the differences beyond two standard errors, with the number expected by chance."""
    metrics = [metric for metric in ("macro-F1", "literals", "consistency") if ablation.means(DEFAULT, metric)]
    compared = [(name, metric) for name in ablation.variants if name != DEFAULT for metric in metrics]
    clear = [
        f"- {name}: {metric} {ablation.difference(name, metric).text(signed=True)}"
        for name, metric in compared
        if _is_clear(ablation.difference(name, metric))
    ]
    listed = "\n".join(clear) if clear else "- none"
    return (
        f"Differences beyond two standard errors over tables. Of {len(compared)} differences about "
        f"{0.05 * len(compared):.0f} would lie there by chance, and more with few tables:\n\n{listed}"
    )


def _of_table(variants: dict[str, Runs]) -> str:
    is_planted = variants[DEFAULT].is_planted
    rows = [["", "macro-F1", "literals", "exact" if is_planted else "consistency", "CPU s"]]
    for name, runs in variants.items():
        estimates = [_estimate(list(values.values())).text()
                     for values in (runs.values("macro_f1", 100), runs.values("literals"))]  # fmt: skip
        recurs = runs.exact if is_planted else runs.consistency
        seconds = METRICS["CPU s"](runs)
        rows.append([name, *estimates, "" if recurs is None else f"{recurs:.0f}", f"{seconds:.1f}"])
    return table(rows)
