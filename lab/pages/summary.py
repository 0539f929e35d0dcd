"""Figures computed from the runs of the paper's comparison: means, standard errors, formulas and the Pareto front."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lab.pages.markdown import Estimate
from lab.pages.names import BLACK_BOXES, METHODS, PROTOCOLS, STUDIES, TASKS, columns_of_paper, in_order, method_title
from lab.runs.paper import KEYS, SWEEP, TOY
from lab.runs.results import OK, Line, Results
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF
from logiclens.formula.text import parse
from logiclens.metrics.scores import Consistency, Metric, consistency, metric_named

Entry = tuple[str, str, str]
"""A task, a protocol and a method: one cell of a table."""


@cache
def paper_figures() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("paper_figures.json").read_text(encoding="utf-8"))
    return content


def published(metric: str, task: str, column: str) -> Estimate | None:
    """Return the figure that the paper prints, or None.

    >>> published("complexity", "mimic2", "entropy_net")
    Estimate(mean=3.5, error=0.88, n=5)
    """
    pair = paper_figures()["tables"].get(metric, {"rows": {}})["rows"].get(task, {}).get(column)
    return None if pair is None else Estimate(pair[0], pair[1], 5)


def published_setting(task: str, method: str) -> dict[str, Estimate]:
    """Return the line of the paper's grid with the settings of a sweep's method, such as `tau=5 lambda=1e-05`."""
    sweep = paper_figures()["sweep"]
    for line in sweep["rows"] if task == sweep["task"] else ():
        if f"tau={line['temperature']:g} lambda={line['penalty_weight']:g}" == method:
            names = ("model_accuracy", "explanation_accuracy", "complexity")
            return {name: Estimate(line[name][0], line[name][1], 5) for name in names}
    return {}


@dataclass(eq=False)
class Bench:
    """Every run of the comparison, by entry; each is a list of folds."""

    about: Line
    entries: dict[Entry, list[Line]]
    _parsed: dict[str, DNF] = field(default_factory=dict)
    _agreed: dict[Entry, Consistency | None] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Bench:
        results = Results(path, KEYS)
        if not results.runs:
            raise LogicLensError(f"{path} holds no run to report on: run the comparison into it first.")
        entries: dict[Entry, list[Line]] = {}
        for line in sorted(results, key=lambda line: int(line["fold"])):
            entries.setdefault((line["task"], line["protocol"], line["method"]), []).append(line)
        return cls(results.about, entries)

    @property
    def protocols(self) -> tuple[str, ...]:
        return in_order((protocol for _, protocol, _ in self.entries), PROTOCOLS)

    def tasks(self, protocol: str) -> tuple[str, ...]:
        tasks = (task for task, of, _ in self.entries if of == protocol and task != TOY and not task.startswith(SWEEP))
        return in_order(tasks, TASKS)

    def methods(self, protocol: str, tasks: Iterable[str]) -> tuple[str, ...]:
        some = set(tasks)
        return in_order((method for task, of, method in self.entries if of == protocol and task in some), METHODS)

    def runs(self, entry: Entry) -> list[Line]:
        return self.entries.get(entry, [])

    def good(self, entry: Entry) -> list[Line]:
        return [line for line in self.runs(entry) if line["status"] == OK]

    @property
    def planned(self) -> int:
        return int(self.about.get("folds", 5))

    def has_rules(self, method: str) -> bool:
        return method not in BLACK_BOXES

    def is_sample(self, entry: Entry) -> bool:
        return any("classes" in line for line in self.good(entry))

    def values(self, entry: Entry, name: str) -> list[float]:
        return [float(line[name]) for line in self.good(entry) if line.get(name) is not None]

    def estimate(self, entry: Entry, metric: Metric | str) -> Estimate | None:
        metric = metric_named(metric) if isinstance(metric, str) else metric
        if metric.key == "consistency":
            agreed = self.consistency(entry)
            is_number = agreed is not None and math.isfinite(agreed.value)
            return Estimate(100 * agreed.value, None, len(self.good(entry))) if agreed and is_number else None
        return Estimate.of(metric.scale * value for value in self.values(entry, metric.key))

    def consistency(self, entry: Entry) -> Consistency | None:
        """Return the consistency of the folds' formulas, over the classes of all folds; None below two folds."""
        if entry not in self._agreed:
            texts = [line.get("formulas", {}) for line in self.good(entry)]
            shared = [klass for klass in texts[0] if all(klass in other for other in texts)] if texts else []
            formulas = [[self.formula(text[klass]) for klass in shared] for text in texts]
            self._agreed[entry] = consistency(formulas) if len(texts) > 1 and shared else None
        return self._agreed[entry]

    def formula(self, text: str) -> DNF:
        if text not in self._parsed:
            self._parsed[text] = DNF(parse(text))
        return self._parsed[text]


def outcomes(lines: Iterable[Line]) -> dict[str, int]:
    return dict(Counter(line["status"] for line in lines if line["status"] != OK))


def fold_words(folds: Iterable[int]) -> str:
    """Return fold numbers as text, with consecutive numbers as a range.

    >>> fold_words([0, 1, 2, 4])
    '0–2, 4'
    """
    spans: list[list[int]] = []
    for fold in sorted(set(folds)):
        if spans and spans[-1][1] == fold - 1:
            spans[-1][1] = fold
        else:
            spans.append([fold, fold])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in spans)


def comparisons(bench: Bench, metric: Metric) -> list[tuple[str, str, Estimate, Estimate]]:
    pairs = []
    for task in STUDIES:
        for column, method in columns_of_paper(task).items():
            theirs, ours = published(metric.key, task, column), bench.estimate((task, "paper", method), metric)
            if theirs and ours and not bench.is_sample((task, "paper", method)):
                pairs.append((task, method, ours, theirs))
    return pairs


@dataclass(frozen=True)
class Point:
    """A method with the literals of its formulas and their error (100 − explanation accuracy)."""

    method: str
    literals: Estimate
    error: Estimate

    def dominates(self, other: Point) -> bool:
        mine, theirs = (self.literals.mean, self.error.mean), (other.literals.mean, other.error.mean)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def points(bench: Bench, task: str, protocol: str) -> list[Point]:
    listed = []
    for method in bench.methods(protocol, [task]):
        entry = (task, protocol, method)
        literals, accuracy = (bench.estimate(entry, name) for name in ("complexity", "explanation_accuracy"))
        if literals and accuracy and not bench.is_sample(entry):
            listed.append(Point(method, literals, Estimate(100.0 - accuracy.mean, accuracy.error, accuracy.n)))
    return listed


def front(all_points: Sequence[Point]) -> list[Point]:
    best = [point for point in all_points if not any(other.dominates(point) for other in all_points)]
    return sorted(best, key=lambda point: (point.literals.mean, point.error.mean, point.method))


def front_words(all_points: Sequence[Point]) -> str:
    """Say which methods no other dominates; their names are joined by semicolons, because they contain commas."""
    return f"Not dominated: {'; '.join(method_title(point.method) for point in front(all_points))}."
