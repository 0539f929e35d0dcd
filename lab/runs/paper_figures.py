"""The figures that the paper prints, copied from its tables with their source, for comparison with ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

Column = str
"""A column of the paper's tables: entropy_net, tree, brl, psi_net, neural_network or random_forest."""


@dataclass(frozen=True)
class PublishedFigure:
    """A mean over five folds in the paper's unit, with its standard error if one is printed."""

    mean: float
    standard_error: float | None


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper: a figure per task and column."""

    source: str
    unit: str
    rows: Mapping[str, Mapping[Column, PublishedFigure]]


@dataclass(frozen=True)
class PublishedSetting:
    """One line of the paper's grid of temperature and entropy weight."""

    temperature: float
    penalty_weight: float
    model_accuracy: PublishedFigure
    explanation_accuracy: PublishedFigure
    complexity: PublishedFigure


@dataclass(frozen=True)
class PaperFigures:
    """All figures that are compared: six tables by metric, and the grid on one task."""

    source: str
    note: str
    tables: Mapping[str, PublishedTable]
    sweep_source: str
    sweep_task: str
    sweep: tuple[PublishedSetting, ...]

    def figure(self, metric: str, task: str, column: Column) -> PublishedFigure | None:
        """Return the figure that the paper prints, or None.

        >>> paper_figures().figure("complexity", "mimic2", "entropy_net")
        PublishedFigure(mean=3.5, standard_error=0.88)
        """
        table = self.tables.get(metric)
        return table.rows.get(task, {}).get(column) if table else None

    def setting(self, task: str, temperature: float, penalty_weight: float) -> PublishedSetting | None:
        """Return the line of the grid with these settings, or None."""
        wanted = (temperature, penalty_weight)
        lines = self.sweep if task == self.sweep_task else ()
        return next((line for line in lines if (line.temperature, line.penalty_weight) == wanted), None)


@cache
def paper_figures() -> PaperFigures:
    """Read the paper's figures, once."""
    held = json.loads(resources.files(__package__).joinpath("paper_figures.json").read_text("utf-8"))
    tables = {
        metric: PublishedTable(
            table["source"],
            table["unit"],
            {task: {column: _figure(pair) for column, pair in row.items()} for task, row in table["rows"].items()},
        )
        for metric, table in held["tables"].items()
    }
    sweep = held["sweep"]
    lines = tuple(
        PublishedSetting(
            float(line["temperature"]),
            float(line["penalty_weight"]),
            *(_figure(line[metric]) for metric in ("model_accuracy", "explanation_accuracy", "complexity")),
        )
        for line in sweep["rows"]
    )
    return PaperFigures(held["source"], held["note"], tables, sweep["source"], sweep["task"], lines)


def _figure(pair: Any) -> PublishedFigure:
    mean, error = pair
    return PublishedFigure(float(mean), None if error is None else float(error))
