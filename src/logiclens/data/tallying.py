"""Tallies made by an engine: how often each value of a column goes with each class, without the values of the rows.

A column of numbers comes back as at most 1,024 bins, the same that are made in memory, and a column of text as at most
10,000 categories. Each column is read once, together with the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.columns import Kind
from logiclens.data.cuts import MOST_BINS, Histogram
from logiclens.data.engine import fetched, kind_of, there
from logiclens.data.tally import Tally
from logiclens.errors import LogicLensError
from logiclens.formula.predicate import times_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_CATEGORIES = 10_000
"""Of a column with more categories than this the most frequent ones are looked at."""


def tallies(
    table: ir.Table, columns: Sequence[str], target: str, classes: Sequence[Any], n_of_class: NDArray[np.float64]
) -> Iterator[Tally]:
    """The tally of each column, one after another; `n_of_class` is how many rows each class has."""
    for name in columns:
        kind = kind_of(table, name)
        yield (_text if kind == "text" else _numbers)(table, name, kind, target, classes, n_of_class)


def _by_value(table: ir.Table, name: str, kind: Kind, target: str, classes: Sequence[Any]) -> ir.Table:
    """How often each value goes with each class: columns v, n0, n1, … and their sum n."""
    import ibis

    column = table[name]
    known = table.filter(there(column)).select(v=column, y=table[target])
    if column.type().is_floating():
        # Most values may differ: one grouping is enough.
        each = known.mutate(v=_comparable(known.v, kind), n=ibis.literal(1, "int64"))
    else:
        # Values as they are, and the class beside them, are what an engine counts fastest; the rest is small.
        pairs = known.group_by(["v", "y"]).agg(n=known.count())
        each = pairs.mutate(v=_comparable(pairs.v, kind))
    counts = {f"n{k}": ibis.ifelse(each.y == value, each.n, 0).sum() for k, value in enumerate(classes)}
    return each.group_by("v").agg(n=each.n.sum(), **counts)


def _comparable(column: Any, kind: Kind) -> Any:
    """A column as the values that are compared: numbers as floats, as they are in memory."""
    if kind == "date":
        return column.cast("timestamp")
    # + 0.0 makes −0.0 equal to 0.0.
    return column if kind == "text" else column.cast("float64") + 0.0


def _numbers(
    table: ir.Table, name: str, kind: Kind, target: str, classes: Sequence[Any], n_of_class: NDArray[np.float64]
) -> Tally:
    """Numbers, dates and truth values: the bins of `Histogram.of`, to the last row."""
    import ibis

    values = _by_value(table, name, kind, target, classes)
    in_order, whole_table = ibis.window(order_by="v", preceding=None, following=0), ibis.window()
    placed = values.mutate(
        before=values.n.sum().over(in_order) - values.n,
        place=ibis.row_number().over(ibis.window(order_by="v")),
        n_values=values.count().over(whole_table),
        n_rows=values.n.sum().over(whole_table),
    )
    share = placed.before.cast("float64") / placed.n_rows.cast("float64") * float(MOST_BINS)
    merged = ibis.least(share.floor().cast("int64"), ibis.literal(MOST_BINS - 1, "int64"))
    binned = placed.mutate(bin=ibis.ifelse(placed.n_values > MOST_BINS, merged, placed.place.cast("int64")))
    uneven = (binned.v % 1.0 != 0.0).cast("int64").sum() if kind == "number" else ibis.literal(0, "int64")
    counts = {f"n{k}": binned[f"n{k}"].sum() for k in range(len(classes))}
    told = {"low": binned.v.min(), "high": binned.v.max(), "n_values": binned.n_values.max(), "uneven": uneven}
    found = fetched(binned.group_by("bin").agg(**told, **counts).order_by("bin")).to_pydict()
    low, high = (_as_floats(found[side], kind, name) for side in ("low", "high"))
    if np.isinf(low).any() or np.isinf(high).any():
        raise LogicLensError(
            f"the column {name!r} is infinite (inf) in some rows: put the largest sensible number or a missing value."
        )
    per_class = np.array([found[count] for count in counts], dtype=np.float64).T.reshape(len(low), 1, len(classes))
    missing = n_of_class - per_class.sum(axis=(0, 1))
    # A gap makes whole numbers floats.
    even = kind == "number" and bool(missing.any()) and not any(found["uneven"])
    return Tally(
        name,
        kind,
        missing[None],
        int(per_class.sum()),
        found["n_values"][0] if found["n_values"] else 0,
        Histogram(low, high, per_class),
        whole=table[name].type().is_integer() or even,
    )


def _text(
    table: ir.Table, name: str, kind: Kind, target: str, classes: Sequence[Any], n_of_class: NDArray[np.float64]
) -> Tally:
    """Categories, the most frequent ones where there are very many."""
    import ibis

    values = _by_value(table, name, kind, target, classes)
    whole_table = ibis.window()
    sized = values.mutate(n_values=values.count().over(whole_table), n_rows=values.n.sum().over(whole_table))
    found = fetched(sized.order_by(sized.n.desc(), sized.v.asc()).limit(MOST_CATEGORIES)).to_pydict()
    order = sorted(range(len(found["v"])), key=found["v"].__getitem__)
    counts = np.array([found[f"n{k}"] for k in range(len(classes))], dtype=np.float64).T.reshape(-1, 1, len(classes))
    known = counts.sum(axis=(0, 1))
    if found["n_values"] and found["n_values"][0] > len(order):
        known = _known_of_class(table, name, target, classes)
    return Tally(
        name,
        kind,
        (n_of_class - known)[None],
        found["n_rows"][0] if order else 0,
        found["n_values"][0] if order else 0,
        categories=tuple(found["v"][place] for place in order),
        counts=counts[order],
    )


def _known_of_class(table: ir.Table, name: str, target: str, classes: Sequence[Any]) -> NDArray[np.float64]:
    """How many rows of each class have a value."""
    known = table.filter(there(table[name]))
    found = known.agg(**{f"n{k}": (known[target] == value).cast("int64").sum() for k, value in enumerate(classes)})
    return np.array([column[0] for column in fetched(found).to_pydict().values()], dtype=np.float64)


def _as_floats(values: Sequence[Any], kind: Kind, name: str) -> NDArray[np.float64]:
    """Values as the numbers that a histogram holds: seconds for dates."""
    if kind == "date":
        return np.asarray(times_of(list(values), name).astype(np.int64) / 1e6)
    return np.array(values, dtype=np.float64)
