"""Write docs/ablation.md from `lab/results/ablation.json`.

.venv/bin/python -m lab.scripts.ablation_page.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lab.scripts.ablation import VARIANTS
from lab.scripts.layout import aligned
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.metrics.scores import consistency, standard_error

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "lab" / "results" / "ablation.json", ROOT / "docs" / "ablation.md"
DEFAULT = "default"
CLEAR = 2.0
"""Differences of more standard errors than this are listed."""
PARTS = {
    "committee": "The default is 10 networks on five groups of rows. The groups are also the inner folds of the "
    "cross-validation; 3, 6 and 15 networks have three, four and six groups. A single network has seen every row, so "
    "the search then matches the labels alone, in five inner folds, and there are no bags to search again.",
    "share": "The weight of the teacher in the target of the search. By default cross-validation chooses 1, 0.5 or 0.",
    "one standard error": "The default takes the shortest formula within 1.5 to 2 standard errors of the best. "
    "Without this rule, the best formula in cross-validation is taken.",
    "support": "`min_support=0`. The bound on the precision of each cube stays.",
    "stability": "*Consensus*: of equally good formulas, the one that at least half of the bags give is taken. "
    "`stable=True` uses only concepts that recur in half of the bags; it is off by default.",
}
"""A description of each part of the defaults."""

Line = dict[str, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        return cls(float(np.mean(values)), standard_error(values))

    @property
    def is_clear(self) -> bool:
        """Whether it is away from 0 by more than two standard errors."""
        return abs(self.mean) > CLEAR * self.error + 1e-12

    def text(self, *, signed: bool = False) -> str:
        # A rounded -0.0 is 0.0.
        mean = round(self.mean, 1) + 0.0
        return f"{mean:{'+' if signed else ''}.1f} ± {self.error:.1f}"


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one variant on one table, by fold or seed."""

    lines: dict[int, Line]

    def values(self, name: str, scale: float = 1.0) -> dict[int, float]:
        return {fold: scale * line[name] for fold, line in self.lines.items()}

    @property
    def is_planted(self) -> bool:
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
        found: dict[str, dict[str, dict[int, Line]]] = {}
        for line in lines:
            found.setdefault(line["table"], {}).setdefault(line["variant"], {})[line["fold"]] = line
        splits = {(table, fold) for table, variants in found.items() for fold in variants.get(DEFAULT, ())}
        complete = [name for name in VARIANTS if all(fold in found[table].get(name, {}) for table, fold in splits)]
        return cls({
            table: {name: Runs({fold: found[table][name][fold] for fold in sorted(found[table][DEFAULT])})
                    for name in complete}
            for table in found if DEFAULT in found[table]
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
        return Estimate.of([mine - theirs for mine, theirs in pairs])

    def won_and_lost(self, variant: str) -> tuple[int, int]:
        """Count tables with macro-F1 higher, and lower, by more than one standard error of the paired folds."""
        signs = []
        for variants in self.runs.values():
            mine, theirs = (variants[name].values("macro_f1") for name in (variant, DEFAULT))
            paired = Estimate.of([mine[fold] - theirs[fold] for fold in mine])
            signs.append(np.sign(paired.mean) if abs(paired.mean) > paired.error + 1e-12 else 0)
        return signs.count(1), signs.count(-1)


def page(lines: Sequence[Line]) -> str:
    """Return the whole page."""
    found = Ablation.of(lines)
    parts = [
        "# What each part of the defaults is worth",
        _introduction(found),
        "## Means over these tables",
        _summary(found),
        _clear_differences(found),
        "## The variants",
        "\n".join(f"- **{part}**: {text}" for part, text in PARTS.items()),
        "## Each table",
        *(f"### {table}\n\n{_of_table(variants)}" for table, variants in found.runs.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(found: Ablation) -> str:
    tables = {table: variants[DEFAULT] for table, variants in found.runs.items()}
    splits = [
        ", ".join(f"{table} ({len(runs.lines)})" for table, runs in tables.items() if runs.is_planted == planted)
        for planted in (False, True)
    ]
    n_runs = sum(len(runs.lines) for variants in found.runs.values() for runs in variants.values())
    about = f"Tables, with the number of folds: {splits[0] or 'none'}."
    about += f" Planted families, with the number of seeds: {splits[1] or 'none'}."
    return (
        "`lab/scripts/ablation_page.py` writes this page from `lab/results/ablation.json`; `make bench-ablation` "
        "fills that file. Each variant changes one setting and keeps all other defaults.\n\n"
        f"The page covers {n_runs} runs. {about} The folds and seeds are those of `lab/scripts/domination.py` and "
        "`lab/scripts/planted.py`. During development the defaults are checked on the same tables and seeds, so this "
        "comparison may flatter them. It says nothing about other tables.\n\n"
        "*Macro-F1* is that of the rules' decision on unseen rows, in per cent. *Literals* is the mean over classes; "
        "of two classes, one is the complement and counts the same. *Consistency* says how often the concepts of any "
        "fold recur in the other folds, in per cent; thresholds of one column count as one concept. If formulas have "
        "one literal, a single deviating fold of five takes consistency from 100 to 50. Each seed of a planted family "
        "has its own formula, so these families have *exact* instead: the share of seeds in which the truth is found. "
        "*CPU s* covers the committee, which is trained once for all searches, and the search. Other work shared "
        "the machine, so compare ratios."
    )


def _summary(found: Ablation) -> str:
    rows = [["", "macro-F1", "difference", "higher / lower", "literals", "difference", "consistency", "difference",
             "exact", "CPU s"]]  # fmt: skip
    for name in found.variants:
        cells = [name]
        for metric in ("macro-F1", "literals", "consistency"):
            known = found.means(name, metric)
            is_default = name == DEFAULT
            cells.append(Estimate.of(known).text() if known else "")
            cells.append("" if is_default or not known else found.difference(name, metric).text(signed=True))
            if metric == "macro-F1":
                cells.append("" if is_default else "{} / {}".format(*found.won_and_lost(name)))
        exact = found.means(name, "exact")
        rows.append([*cells, f"{np.mean(exact):.0f}" if exact else "", f"{np.mean(found.means(name, 'CPU s')):.1f}"])
    return (
        "Figures are mean ± standard error over tables; each table counts once. Differences are from the default, "
        "table by table. *Higher / lower* counts the tables on which macro-F1 differs by more than one standard error "
        "over folds or seeds. Consistency covers tables with folds, *exact* planted families.\n\n" + aligned(rows)
    )


def _clear_differences(found: Ablation) -> str:
    """List the differences beyond two standard errors, with the number expected by chance."""
    metrics = [metric for metric in ("macro-F1", "literals", "consistency") if found.means(DEFAULT, metric)]
    compared = [(name, metric) for name in found.variants if name != DEFAULT for metric in metrics]
    clear = [
        f"- {name}: {metric} {found.difference(name, metric).text(signed=True)}"
        for name, metric in compared
        if found.difference(name, metric).is_clear
    ]
    said = "\n".join(clear) if clear else "- none"
    return (
        f"Differences beyond two standard errors over tables. Of {len(compared)} differences about "
        f"{0.05 * len(compared):.0f} would lie there by chance, and more with few tables:\n\n{said}"
    )


def _of_table(variants: dict[str, Runs]) -> str:
    is_planted = variants[DEFAULT].is_planted
    rows = [["", "macro-F1", "literals", "exact" if is_planted else "consistency", "CPU s"]]
    for name, runs in variants.items():
        estimates = [Estimate.of(list(values.values())).text()
                     for values in (runs.values("macro_f1", 100), runs.values("literals"))]  # fmt: skip
        recurs = runs.exact if is_planted else runs.consistency
        seconds = METRICS["CPU s"](runs)
        rows.append([name, *estimates, "" if recurs is None else f"{recurs:.0f}", f"{seconds:.1f}"])
    return aligned(rows)


def main() -> None:
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
