"""Figures computed from the table of results: means, standard errors, formulas and the Pareto front."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.pages.names import (
    BLACK_BOXES,
    METHODS,
    PROTOCOLS,
    TASKS,
    in_order,
    method_title,
)
from lab.runs.results import FORMULA, NOTE, OK, STATUS, SWEEP, TOY, Results, read_header, read_results
from logiclens.errors import FormulaSyntaxError, LogicLensError, quoted
from logiclens.formula.dnf import DNF
from logiclens.formula.text import parse
from logiclens.metrics.scores import Consistency, Metric, consistency, metric_named, standard_error


@dataclass(frozen=True, order=True)
class Entry:
    """A method on a task under a protocol: one cell of a table."""

    task: str
    protocol: str
    method: str


@dataclass(frozen=True)
class FoldRun:
    """One fold of an entry: its metrics as text, its notes and its status."""

    fold: int
    status: str
    metrics: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """A mean over folds with its standard error; a single fold has none."""

    mean: float
    standard_error: float | None
    n_folds: int


@dataclass(frozen=True, eq=False)
class Bench:
    """Every finished run of a benchmark, by entry."""

    header: Mapping[str, Any]
    entries: Mapping[Entry, tuple[FoldRun, ...]]
    _read: dict[str, DNF] = field(default_factory=dict, repr=False)
    _agreed: dict[Entry, Consistency | None] = field(default_factory=dict, repr=False)

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols of all entries, in display order."""
        return in_order((entry.protocol for entry in self.entries), PROTOCOLS)

    def tasks(self, protocol: str) -> tuple[str, ...]:
        """Return the tasks that were run under a protocol, without sweeps and the toy task."""
        found = (entry.task for entry in self.entries if entry.protocol == protocol)
        return in_order((task for task in found if task != TOY and not task.startswith(SWEEP)), TASKS)

    def methods(self, protocol: str, tasks: Iterable[str]) -> tuple[str, ...]:
        """Return the methods that were run on any of these tasks."""
        wanted = set(tasks)
        found = (entry for entry in self.entries if entry.protocol == protocol and entry.task in wanted)
        return in_order((entry.method for entry in found), METHODS)

    def runs(self, entry: Entry) -> tuple[FoldRun, ...]:
        """Return all folds of an entry, whatever their status; none if it was not run."""
        return self.entries.get(entry, ())

    def good(self, entry: Entry) -> tuple[FoldRun, ...]:
        """Return the successful folds; only these have figures."""
        return tuple(run for run in self.runs(entry) if run.status == OK)

    def planned(self, entry: Entry) -> int:
        """Return the planned number of folds: that of the header, else the largest of any method on the task."""
        stated = self.header.get("folds")
        return stated if isinstance(stated, int) else self.most_folds(entry)

    def most_folds(self, entry: Entry) -> int:
        """Return the largest number of successful folds of any method on this task and protocol."""
        same = (e for e in self.entries if (e.task, e.protocol) == (entry.task, entry.protocol))
        return max((len(self.good(e)) for e in same), default=0)

    def is_black_box(self, protocol: str, method: str) -> bool:
        """Return whether a method states no formulas; for an unknown method, its runs decide."""
        if method in METHODS:
            return method in BLACK_BOXES
        good = [r for e in self.entries if (e.protocol, e.method) == (protocol, method) for r in self.good(e)]
        return bool(good) and not any(metric.startswith(FORMULA) for run in good for metric in run.metrics)

    def is_sample(self, entry: Entry) -> bool:
        """Return whether a method was run on a sample of the classes; its figures are then not comparable."""
        return any("classes" in run.metrics for run in self.good(entry))

    def values(self, entry: Entry, metric: str) -> tuple[float, ...]:
        """Return the values of a metric in the successful folds that have it, unscaled."""
        texts = [(run, run.metrics[metric]) for run in self.good(entry) if metric in run.metrics]
        values = [_number(text, f"{metric} of {_words(entry)}, fold {run.fold}") for run, text in texts]
        return tuple(value for value in values if math.isfinite(value))

    def estimate(self, entry: Entry, metric: Metric) -> Estimate | None:
        """Return the mean of a metric in its unit; None if no fold has it."""
        if metric.key == "consistency":
            agreed = self.consistency(entry)
            known = agreed is not None and math.isfinite(agreed.value)
            return Estimate(metric.scale * agreed.value, None, len(self.good(entry))) if agreed and known else None
        return mean_of([metric.scale * value for value in self.values(entry, metric.key)])

    def consistency(self, entry: Entry) -> Consistency | None:
        """Return the consistency of the folds' formulas, over the classes of all folds; None below two folds."""
        if entry not in self._agreed:
            self._agreed[entry] = self._consistency(entry)
        return self._agreed[entry]

    def _consistency(self, entry: Entry) -> Consistency | None:
        texts = [self.formula_texts(run) for run in self.good(entry)]
        shared = [klass for klass in texts[0] if all(klass in other for other in texts)] if texts else []
        if len(texts) < 2 or not shared:
            return None
        return consistency([[self.formula(entry, held[klass]) for klass in shared] for held in texts])

    def formula_texts(self, run: FoldRun) -> dict[str, str]:
        """Return the formula of each class as text."""
        return {name.removeprefix(FORMULA): text for name, text in run.metrics.items() if name.startswith(FORMULA)}

    def formula(self, entry: Entry, text: str) -> DNF:
        """Parse a formula of an entry; each text is parsed once."""
        if text not in self._read:
            try:
                self._read[text] = DNF(parse(text))
            except FormulaSyntaxError as error:
                raise LogicLensError(
                    f"a formula of {_words(entry)} cannot be read: {error} It is {quoted(text)}."
                ) from None
        return self._read[text]


def read_bench(folder: Path) -> Bench:
    """Read the runs and the header of a folder."""
    results = read_results(folder)
    if not results.lines:
        raise LogicLensError(f"{folder} holds no finished run to report on: run the benchmark into it first.")
    return Bench(read_header(folder), _entries(results))


def mean_of(values: Sequence[float]) -> Estimate | None:
    """Return the mean and standard error of some values; None if there are none."""
    if not values:
        return None
    error = standard_error(values) if len(values) > 1 else None
    return Estimate(math.fsum(values) / len(values), error, len(values))


def status_words(status: str) -> str:
    """Return the status of a run in words.

    >>> status_words("stopped: 600 s"), status_words("skipped: not installed"), status_words("failed: no rows")
    ('stopped after 600 s', 'not installed', 'failed: no rows')
    """
    kind, colon, told = status.partition(":")
    told = told.strip()
    if kind == "stopped" and (told[:1].isdigit() or told.startswith("after ")):
        return f"stopped after {told.removeprefix('after ')}"
    if kind == "skipped" and told:
        return told
    return f"{kind}: {told}" if colon and told else kind


def outcomes(runs: Iterable[FoldRun]) -> tuple[tuple[str, int], ...]:
    """Return each status of unsuccessful runs in words, with the number of runs, in order of appearance."""
    return tuple(Counter(status_words(run.status) for run in runs if run.status != OK).items())


def fold_words(folds: Sequence[int]) -> str:
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


def setting_of(method: str) -> tuple[float, float] | None:
    """Return the temperature and entropy weight in the id of a sweep; None for any other id.

    >>> setting_of("tau=4 lambda=1e-06")
    (4.0, 1e-06)
    """
    found = re.fullmatch(r"tau=([\d.eE+-]+) lambda=([\d.eE+-]+)", method)
    return (_number(found[1], method), _number(found[2], method)) if found else None


def _entries(results: Results) -> dict[Entry, tuple[FoldRun, ...]]:
    notes: dict[Any, list[str]] = {}
    for line in results:
        if line.metric == NOTE:
            notes.setdefault(line.run, []).append(line.value)
    found: dict[Entry, list[FoldRun]] = {}
    for run, metrics in results.runs.items():
        told = {name: value for name, value in metrics.items() if name not in (STATUS, NOTE)}
        one = FoldRun(run.fold, metrics[STATUS].strip(), told, tuple(dict.fromkeys(notes.get(run, ()))))
        found.setdefault(Entry(run.task, run.protocol, run.method), []).append(one)
    return {entry: tuple(sorted(runs, key=lambda run: run.fold)) for entry, runs in found.items()}


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise LogicLensError(f"{where} must be a number, got {quoted(text)}: put the table of results right.") from None


def _words(entry: Entry) -> str:
    return f"{entry.method!r} on {entry.task!r} under {entry.protocol!r}"


@dataclass(frozen=True)
class Point:
    """A method with the literals of its formulas and their error (100 − explanation accuracy)."""

    method: str
    literals: Estimate
    error: Estimate

    def dominates(self, other: Point) -> bool:
        """Return whether it is at least as good in both and better in one."""
        mine, theirs = (self.literals.mean, self.error.mean), (other.literals.mean, other.error.mean)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def points(bench: Bench, task: str, protocol: str) -> tuple[Point, ...]:
    """Return one point per method with formulas on a task."""
    found = []
    for method in bench.methods(protocol, [task]):
        entry = Entry(task, protocol, method)
        literals = bench.estimate(entry, metric_named("complexity"))
        accuracy = bench.estimate(entry, metric_named("explanation_accuracy"))
        if literals and accuracy and not bench.is_sample(entry):
            error = Estimate(100.0 - accuracy.mean, accuracy.standard_error, accuracy.n_folds)
            found.append(Point(method, literals, error))
    return tuple(found)


def front(all_points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that no other dominates, the shortest first."""
    kept = [one for one in all_points if not any(other.dominates(one) for other in all_points)]
    return tuple(sorted(kept, key=lambda point: (point.literals.mean, point.error.mean, point.method)))


def front_words(all_points: Sequence[Point]) -> str:
    """Say which methods are dominated, and by which method of the front."""
    kept = front(all_points)
    told = f"Not dominated: {_names(kept)}."
    beaten: dict[str, list[Point]] = {}
    for one in all_points:
        # Of the points that dominate it, the one with the least error.
        by = [other for other in kept if other.dominates(one)]
        if by:
            beaten.setdefault(method_title(by[-1].method), []).append(one)
    said = [f"{winner} dominates: {_names(losers)}." for winner, losers in beaten.items()]
    return " ".join([told, *said]) if said else f"{told} No method is dominated."


def _names(some: Sequence[Point]) -> str:
    """Join the names of methods by semicolons, because names contain commas."""
    return "; ".join(method_title(point.method) for point in some)
