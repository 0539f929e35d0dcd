"""Too many distinct rows: concepts are chosen on a sample, and what was chosen is counted on all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logiclens.concepts.booleaniser import Cutting
from logiclens.engine.count import TooManyRows, count_rows
from logiclens.engine.query import fetched
from logiclens.formula.counted_rows import CountedRows

SAMPLE = 50_000
"""The rows, about, that concepts are chosen on."""
RESAMPLES = 10
"""How often these are drawn again, to see which concepts recur."""


@dataclass(frozen=True, eq=False)
class Within:
    """Counted rows that are within the budget, the cutting of their concepts, and what was done to get there.

    `seen` are those of them that concepts were chosen on, where these had to be chosen.
    """

    counted: CountedRows
    cutting: Cutting
    seen: CountedRows | None = None
    note: str | None = None


def within_budget(
    table: Any,
    cutting: Cutting,
    target: str,
    classes: Sequence[Any],
    *,
    n_rows: int,
    budget: int,
    most: float,
    recurring: Callable[[CountedRows], Mapping[str, float]],
    seed: int,
) -> Within:
    """Count all rows of a table; with fewer concepts where their distinct rows would be more than the budget.

    `recurring` tells from counted rows of a sample how often each concept is chosen on resamples of it; the sample is
    at most the share `most` of the rows.
    """
    try:
        return Within(count_rows(table, cutting, target, classes, at_most=budget), cutting)
    except TooManyRows:
        pass
    looked_at = count_rows(_sampled(table, most, seed), cutting, target, classes)
    frequency = recurring(looked_at)
    places = {name: place for place, name in enumerate(cutting.names)}
    chosen = sorted((name for name in places if frequency.get(name, 0) > 0), key=lambda name: -frequency[name])
    # A network that leans on nothing still needs something to look at.
    kept = chosen or list(places)[:1]
    while True:
        names = tuple(sorted(kept, key=places.__getitem__))
        fewer = only(cutting, names)
        try:
            counted = count_rows(table, fewer, target, classes, at_most=budget)
            break
        except TooManyRows:
            kept = kept[: max(1, len(kept) * 2 // 3)]
    told = ", ".join(f"{name} {frequency.get(name, 0):.0%}" for name in chosen) or "none is"
    note = (
        f"the table has more than {budget:,} distinct rows of {len(places)} concepts: concepts were chosen on a sample "
        f"of {int(looked_at.total.sum()):,} of its {n_rows:,} rows, by how often each is used in {RESAMPLES} resamples "
        f"of it ({told}); kept are {', '.join(names)}, and of these all {n_rows:,} rows are counted. No row of the "
        "sample is set aside."
    )
    return Within(counted, fewer, looked_at.project(names), note)


def _sampled(table: Any, most: float, seed: int) -> Any:
    """A share of the rows, each with what it counts for; not every engine takes a seed."""
    import ibis.expr.operations as ops
    from ibis.common.exceptions import IbisError

    share = min(SAMPLE / max(1, fetched(table.agg(n=table.count()))["n"][0].as_py()), most)
    if share >= 1:
        return table
    seeded = table.sample(share, seed=seed)
    try:
        table.get_backend().compile(seeded)
    except IbisError:
        return table.sample(share) if table.get_backend().has_operation(ops.RandomScalar) else table.limit(SAMPLE)
    return seeded


def only(cutting: Cutting, names: Sequence[str]) -> Cutting:
    """A cutting with some of its concepts."""
    predicates = {name: cutting.predicates[name] for name in names if name in cutting.predicates}
    memberships = {name: cutting.memberships[name] for name in names if name in cutting.memberships}
    columns = {cutting.column_of(name) for name in names}
    kinds = {column: kind for column, kind in cutting.kinds.items() if column in columns}
    groups = cutting.groups.among(names)
    return replace(cutting, kinds=kinds, predicates=predicates, groups=groups, memberships=memberships)
