"""Which methods no other beats in both length and truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logiclens.report.bench_names import METRICS, method_title
from logiclens.report.bench_summary import Bench, Entry, Estimate

_METRIC = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True)
class Point:
    """A method by the length of its formulas (literals) and by their error (100 − explanation accuracy)."""

    method: str
    literals: Estimate
    error: Estimate

    def dominates(self, other: Point) -> bool:
        """Whether it is at least as good in both, and better in one."""
        mine, theirs = (self.literals.mean, self.error.mean), (other.literals.mean, other.error.mean)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def points(bench: Bench, task: str, protocol: str) -> tuple[Point, ...]:
    """A point for each method with formulas on a task."""
    found = []
    for method in bench.methods(protocol, [task]):
        entry = Entry(task, protocol, method)
        literals = bench.estimate(entry, _METRIC["complexity"])
        accuracy = bench.estimate(entry, _METRIC["explanation_accuracy"])
        if literals and accuracy and not bench.is_sample(entry):
            error = Estimate(100.0 - accuracy.mean, accuracy.standard_error, accuracy.n_folds)
            found.append(Point(method, literals, error))
    return tuple(found)


def front(all_points: Sequence[Point]) -> tuple[Point, ...]:
    """Those that no other dominates, the shortest first."""
    kept = [one for one in all_points if not any(other.dominates(one) for other in all_points)]
    return tuple(sorted(kept, key=lambda point: (point.literals.mean, point.error.mean, point.method)))


def front_words(all_points: Sequence[Point]) -> str:
    """Which methods are dominated, each by one of those that are not."""
    kept = front(all_points)
    told = f"Not dominated: {_names(kept)}."
    beaten: dict[str, list[Point]] = {}
    for one in all_points:
        # Of those that beat it, the one with the least error.
        by = [other for other in kept if other.dominates(one)]
        if by:
            beaten.setdefault(method_title(by[-1].method), []).append(one)
    said = [f"{winner} dominates: {_names(losers)}." for winner, losers in beaten.items()]
    return " ".join([told, *said]) if said else f"{told} No method is dominated."


def _names(some: Sequence[Point]) -> str:
    """Methods in a sentence; their names have commas."""
    return "; ".join(method_title(point.method) for point in some)
