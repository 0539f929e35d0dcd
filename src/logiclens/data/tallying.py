"""Tallies made by an engine: how often each value of a column goes with each class, without the values of the rows.

A column of few numbers comes back value by value, one of many as at most 1,024 bins, the same that are made in memory,
and a column of text as at most 10,000 categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.asking import codes_of, fetched, how_many
from logiclens.data.looking import Column, Parting, bundles, by_value, ranges
from logiclens.data.refining import Stretches
from logiclens.data.tally import Tally

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_CATEGORIES = 10_000
"""Of a column with more categories than this the most frequent ones are looked at."""


def tallies(
    table: ir.Table, columns: Sequence[str], target: str, classes: Sequence[Any], n_of_class: NDArray[np.float64]
) -> Iterator[Tally]:
    """The tally of each column, one after another; `n_of_class` is how many rows each class has."""
    looked_at = [Column(table, name, target, classes) for name in columns]
    sides = ranges([column for column in looked_at if column.kind in ("number", "date")])
    together = {column.name: bundle for bundle in bundles(looked_at, sides) for column in bundle}
    counted: dict[str, Stretches] = {}
    for column in looked_at:
        if column.kind == "text":
            yield _of_text(column, n_of_class)
            continue
        if column.name not in counted:
            counted |= _counted(column, together.get(column.name), sides.get(column.name))
        yield _of_numbers(column, counted.pop(column.name), n_of_class)


def _counted(column: Column, bundle: Sequence[Column] | None, side: tuple[float, float] | None) -> dict[str, Stretches]:
    """A column, and those that are counted together with it."""
    if bundle is not None:
        return dict(zip([one.name for one in bundle], by_value(bundle), strict=True))
    return {column.name: Stretches.none(len(column.classes)) if side is None else Parting(column, *side).stretches()}


def _of_numbers(column: Column, stretches: Stretches, n_of_class: NDArray[np.float64]) -> Tally:
    """Numbers, dates and truth values: the bins of `Histogram.of`, to the last row."""
    missing = n_of_class - stretches.counts.sum(axis=0)
    histogram, loose = stretches.histogram()
    whole = column.kind == "number" and (
        column.type.is_integer() or (bool(missing.any()) and _is_whole(column, stretches))
    )
    return Tally(
        column.name,
        column.kind,
        missing[None],
        int(stretches.counts.sum()),
        _n_values(column, stretches, whole),
        histogram,
        whole=whole,
        loose=loose if loose.any() else None,
    )


def _is_whole(column: Column, stretches: Stretches) -> bool:
    """Whether numbers with gaps are whole ones, which a gap makes floats."""
    ends = np.concatenate([stretches.low, stretches.high])
    if (ends != np.round(ends)).any():
        return False
    return not stretches.has_several.any() or column.is_whole()


def _n_values(column: Column, stretches: Stretches, whole: bool) -> int:
    """How many values there are; at least so many, where they are certainly fewer than the rows or no whole numbers."""
    room = stretches.high - stretches.low + 1
    if not stretches.has_several.any() or not whole or (stretches.rows > room).any():
        return stretches.least_values
    return column.n_values()


def _of_text(column: Column, n_of_class: NDArray[np.float64]) -> Tally:
    """Categories, the most frequent ones where there are very many."""
    import ibis

    rows = column.rows()
    pairs = rows.group_by(["v", "y"]).agg(n=how_many(rows))
    counts = {f"n{k}": ibis.ifelse(pairs.y == value, pairs.n, 0).sum() for k, value in enumerate(column.classes)}
    values = pairs.group_by("v").agg(n=pairs.n.sum(), **counts)
    whole_table = ibis.window()
    sized = values.mutate(n_values=values.count().over(whole_table), n_rows=values.n.sum().over(whole_table))
    found = fetched(sized.order_by(sized.n.desc(), sized.v.asc()).limit(MOST_CATEGORIES)).to_pydict()
    order = sorted(range(len(found["v"])), key=found["v"].__getitem__)
    per_class = np.array([found[name] for name in counts], dtype=np.float64).T.reshape(-1, 1, len(column.classes))
    known = per_class.sum(axis=(0, 1))
    if found["n_values"] and found["n_values"][0] > len(order):
        known = _known_of_class(column)
    return Tally(
        column.name,
        column.kind,
        (n_of_class - known)[None],
        found["n_rows"][0] if order else 0,
        found["n_values"][0] if order else 0,
        categories=tuple(found["v"][place] for place in order),
        counts=per_class[order],
    )


def _known_of_class(column: Column) -> NDArray[np.float64]:
    """How many rows of each class have a value."""
    rows = column.rows()
    found = fetched(rows.group_by("y").agg(n=how_many(rows)))
    known = np.zeros(len(column.classes))
    known[codes_of(found["y"], column.classes)] = found["n"].to_numpy()
    return known
