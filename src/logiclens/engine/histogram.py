"""Histograms of the columns of an engine table: each is one GROUP BY, and only counts are transferred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.cuts import MOST_BINS, Histogram, Tally, bins_of
from logiclens.engine.query import as_double, counting, fetched, how_many, kind_of, there
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import KINDS, NUMBER, ColumnKind

if TYPE_CHECKING:
    import ibis.expr.types as ir


PARTS = 131_072
"""Number of intervals into which one query splits the range of a column."""
LOOKS = 16
"""Maximum number of refinements before the remaining intervals are counted value by value."""
FEW_VALUES = 1_048_576
"""Maximum number of values, or rows, that are counted one by one."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Adjacent intervals of the values of a column, none of them empty, in ascending order.

    Attributes:
        key: the number that the engine gives each interval.
        low: the smallest value in it.
        high: the largest value in it.
        rows: the number of its rows.
    """

    key: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.low)

    @classmethod
    def none(cls) -> Intervals:
        """Return the intervals of a column without values."""
        nothing = np.zeros(0)
        return cls(nothing.astype(np.int64), nothing, nothing, nothing)

    @classmethod
    def of(
        cls,
        key: NDArray[np.int64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        n: NDArray[np.float64],
    ) -> Intervals:
        """Build intervals from the counts of an engine, which may have several rows per interval."""
        keys, place = np.unique(key, return_inverse=True)
        lows, highs = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        np.minimum.at(lows, place, low)
        np.maximum.at(highs, place, high)
        rows = np.bincount(place, n, minlength=len(keys)).astype(np.float64)
        return cls(keys, lows, highs, rows).take(np.argsort(lows))

    @property
    def has_several(self) -> NDArray[np.bool_]:
        """Return a mask of the intervals with more than one value."""
        return self.low < self.high

    @property
    def least_values(self) -> int:
        """Return a lower bound of the number of values; it is exact if each interval has one value."""
        return len(self) + int(self.has_several.sum())

    def borders(self) -> NDArray[np.intp]:
        """Return how many bin edges fall inside each interval."""
        rows = self.rows
        before = np.cumsum(rows) - rows
        return np.where(self.has_several, bins_of(before + rows - 1, rows.sum()) - bins_of(before, rows.sum()), 0)

    def unsettled(self) -> NDArray[np.bool_]:
        """Return a mask of the intervals that must be refined."""
        return self.borders() > 0 if self.least_values > MOST_BINS else self.has_several

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Intervals:
        """Return some of the intervals."""
        return Intervals(self.key[which], self.low[which], self.high[which], self.rows[which])

    def replaced(self, which: NDArray[np.bool_], smaller: Intervals) -> Intervals:
        """Return the intervals with smaller ones in place of some."""
        kept = self.take(~which)
        both = (
            np.concatenate([getattr(one, name) for one in (kept, smaller)]) for name in ("key", "low", "high", "rows")
        )
        merged = Intervals(*both)
        return merged.take(np.argsort(merged.low, kind="stable"))

    def histogram(self) -> tuple[Histogram, NDArray[np.float64]]:
        """Return the bins, and the maximum error of each lower edge in rows; it is 0 if no interval must be refined."""
        rows = self.rows
        if len(self) <= MOST_BINS and not self.has_several.any():
            return Histogram(self.low, self.high, rows), np.zeros(len(self))
        bins = bins_of(np.cumsum(rows) - rows, rows.sum())
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        last = np.append(first[1:], len(self)) - 1
        unsure = np.where(self.borders() > 0, rows, 0.0)
        loose = np.append(0.0, unsure[first[1:] - 1])
        return Histogram(self.low[first], self.high[last], np.add.reduceat(rows, first)), loose


def refined(
    first: Intervals,
    part: Callable[[Intervals, NDArray[np.int64]], Intervals],
    each_value: Callable[[Intervals], Intervals | None],
) -> Intervals:
    """Refine intervals that contain bin edges until the bins are exact.

    Args:
        first: intervals of the whole range.
        part: splits intervals into the given number of parts each, and counts them.
        each_value: counts intervals value by value; returns None if they have too many values.
    """
    found = first
    for _ in range(LOOKS - 1):
        again = found.unsettled()
        opened = found.take(again)
        if opened.rows.sum() <= FEW_VALUES:
            break
        # Intervals with more bin edges are split into smaller parts.
        share = np.maximum(found.borders()[again], 1)
        found = found.replaced(again, part(opened, np.maximum(2, PARTS * share // share.sum()).astype(np.int64)))
    again = found.unsettled()
    if not again.any():
        return found
    values = each_value(found.take(again))
    return found if values is None else found.replaced(again, values)


NARROW = 65_536
"""Columns whose values need at most this many rows together are counted together, value by value."""


@dataclass(frozen=True)
class Column:
    """A column of an engine table."""

    table: ir.Table
    name: str

    @property
    def kind(self) -> ColumnKind:
        """Return the kind of the column."""
        return KINDS[kind_of(self.table, self.name)]

    @property
    def type(self) -> Any:
        """Return the engine's type of the column."""
        return self.table.schema()[self.name]

    def room(self, side: tuple[float, float] | None) -> float:
        """Return an upper bound of the number of distinct values, including the missing one."""
        if self.type.is_boolean():
            return 3
        step = self.kind.ibis_step(self.type)
        return np.inf if side is None or step is None else (side[1] - side[0]) / step + 2

    def rows(self) -> ir.Table:
        """Return the rows that have a value: the value v as the engine stores it."""
        column = self.table[self.name]
        return self.table.filter(there(column)).select(v=column, **counting(self.table))

    def comparable(self) -> ir.Table:
        """Like `rows`, but with values as they are compared: numbers as floats, as in memory."""
        rows = self.rows()
        return rows.mutate(v=self.kind.ibis_comparable(rows.v))

    def intervals(self, found: Any) -> Intervals:
        """Read what an engine counted: the number n of rows with a value v, or from low to high."""
        if "v" in found.column_names:
            low = high = self.kind.arrow_numbers(found["v"])
            key = np.unique(low, return_inverse=True)[1]
        else:
            low, high = (self.kind.arrow_numbers(found[side]) for side in ("low", "high"))
            key = found["p"].to_numpy()
        n = found["n"].to_numpy().astype(np.float64)
        return Intervals.of(key, low, high, n)

    def n_values(self) -> int:
        """Return the number of distinct values."""
        rows = self.comparable()
        return int(fetched(rows.agg(n=rows.v.nunique()))["n"][0].as_py())

    def is_whole(self) -> bool:
        """Test whether all numbers are integers, whatever their type."""
        rows = self.comparable()
        return not fetched(rows.agg(uneven=(rows.v % 1.0 != 0.0).any()))["uneven"][0].as_py()


@dataclass
class Parting:
    """A column with many values from `low` to `high`, which is counted in intervals that are refined where needed."""

    column: Column
    low: float
    high: float
    levels: list[Any] = field(default_factory=list)
    """For each query after the first: the intervals that were split, and how."""

    @property
    def unit(self) -> float:
        """Return the factor by which values are multiplied so that the range is finite."""
        return 1.0 if np.isfinite(self.high - self.low) else 0.5

    def intervals(self) -> Intervals:
        """Run as many queries as the exact bins need."""
        return refined(self._counted(), self._again, self._by_value)

    def _again(self, opened: Intervals, n_parts: NDArray[np.int64]) -> Intervals:
        """Split some intervals into the given number of parts each, and count them."""
        self.levels.append(self._level(opened, n_parts))
        return self._counted()

    def _by_value(self, opened: Intervals) -> Intervals | None:
        """Count some intervals value by value; return None if they have too many values."""
        self.levels.append(self._level(opened, np.ones(len(opened), dtype=np.int64)))
        rows = self._placed()
        found = fetched(rows.group_by("v").agg(n=how_many(rows)).limit(FEW_VALUES + 1))
        return None if len(found) > FEW_VALUES else self.column.intervals(found)

    def _level(self, opened: Intervals, n_parts: NDArray[np.int64]) -> Any:
        import ibis
        import pyarrow as pa

        start, width = self._interval(opened.low, opened.high)
        told = {"key": opened.key, "start": start, "width": width, "parts": n_parts.astype(np.float64),
                "offset": np.cumsum(n_parts + 1) - n_parts}  # fmt: skip
        return ibis.memtable(pa.table(told))

    def _interval(self, low: Any, high: Any) -> tuple[Any, Any]:
        """Return the start and the width of intervals, in the unit that is split."""
        start = self.column.kind.bin_start(low * self.unit)
        width = high * self.unit - start
        # A column with one value is not split.
        return start, np.where(width > 0, width, 1.0)

    def _counted(self) -> Intervals:
        rows = self._placed()
        told = {"low": rows.v.min(), "high": rows.v.max(), "n": how_many(rows)}
        return self.column.intervals(fetched(rows.group_by("p").agg(**told)))

    def _placed(self) -> ir.Table:
        """Return the rows of the intervals to count, with the number p of the part that each value falls into."""
        rows = self.column.comparable()
        place = self.column.kind.ibis_position(rows.v)
        rows = rows.mutate(k=place if self.unit == 1.0 else place * self.unit)
        start, width = map(float, self._interval(np.float64(self.low), np.float64(self.high)))
        rows = rows.mutate(p=_part((rows.k - as_double(start)) / as_double(width), float(PARTS)))
        for level in self.levels:
            kept = ["v", "k", *counting(rows)]
            joined = rows.inner_join(level, [("p", "key")]).select(*kept, *level.columns)
            part = _part((joined.k - joined.start) / joined.width, joined.parts)
            rows = joined.select(*kept, p=part + joined.offset)
        return rows


def by_value(columns: Sequence[Column]) -> list[Intervals]:
    """Count columns with few values each in one query."""
    table = columns[0].table
    names = [f"v{place}" for place in range(len(columns))]
    each = {name: table[column.name] for name, column in zip(names, columns, strict=True)}
    rows = table.select(**each, **counting(table))
    found = fetched(rows.group_by(names).agg(n=how_many(rows)))
    counted = []
    for name, column in zip(names, columns, strict=True):
        known = found.filter(found[name].is_valid())
        counted.append(column.intervals(known.select([name, "n"]).rename_columns(["v", "n"])))
    return counted


def bundles(columns: Sequence[Column], sides: Mapping[str, tuple[float, float]]) -> list[list[Column]]:
    """Group columns with few values, so that each group has few values together."""
    made: list[list[Column]] = []
    left = 0.0
    for column in columns:
        room = column.room(sides.get(column.name))
        if room > NARROW:
            continue
        if room > left:
            made.append([])
            left = NARROW
        made[-1].append(column)
        left /= room
    return made


def ranges(columns: Sequence[Column]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of each column that has values, in one query; raise for infinite values."""
    found = _sides(columns, known=False)
    # Some engines sort NaN as the largest number, and looking for it takes time.
    if unclear := [column for column in columns if np.isnan(found.get(column.name, (0.0, 0.0))).any()]:
        for column in unclear:
            del found[column.name]
        found |= _sides(unclear, known=True)
    for name, side in found.items():
        if np.isinf(side).any():
            raise LogicLensError(
                f"the column {quoted(name)} is infinite (inf) in some rows: put the largest sensible number or a "
                "missing value."
            )
    return found


def _sides(columns: Sequence[Column], *, known: bool) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of each column that has any; `known` ignores NaN."""
    if not columns:
        return {}
    told: dict[str, Any] = {}
    for place, column in enumerate(columns):
        given = column.table[column.name]
        value, where = column.kind.ibis_ordered(given), there(given) if known else None
        told |= {f"low{place}": value.min(where=where), f"high{place}": value.max(where=where)}
    found = fetched(columns[0].table.agg(**told))
    each = {}
    for place, column in enumerate(columns):
        low, high, numbers = found[f"low{place}"], found[f"high{place}"], column.kind.arrow_numbers
        if low.null_count == 0:
            each[column.name] = (float(numbers(low)[0]), float(numbers(high)[0]))
    return each


def date_spans(table: ir.Table, columns: Sequence[str]) -> dict[str, float]:
    """Return for each column of dates, from the earliest on, how many days its dates span."""
    dates = [column for name in columns if (column := Column(table, name)).kind.name == "date"]
    sides = ranges(dates)
    in_time = sorted(sides.items(), key=lambda side: side[1][0])
    return {name: (high - low) / 86_400 for name, (low, high) in in_time}


def _part(share: Any, parts: Any) -> Any:
    """Return the part that a value falls into, by its position; the largest value is a part of its own."""
    return (share * parts).floor().cast("int64")


MOST_CATEGORIES = 10_000
"""For a column with more categories than this, only the most frequent ones are counted."""


def tallies(table: ir.Table, columns: Sequence[str], n_rows: float) -> Iterator[Tally]:
    """Yield the tally of each column of a table with `n_rows` rows."""
    looked_at = [Column(table, name) for name in columns]
    sides = ranges([column for column in looked_at if ">=" in column.kind.operators])
    together = {column.name: bundle for bundle in bundles(looked_at, sides) for column in bundle}
    counted: dict[str, Intervals] = {}
    for column in looked_at:
        if column.kind.is_nominal:
            yield _of_text(column, n_rows)
            continue
        if column.name not in counted:
            counted |= _counted(column, together.get(column.name), sides.get(column.name))
        yield _of_numbers(column, counted.pop(column.name), n_rows)


def _counted(column: Column, bundle: Sequence[Column] | None, side: tuple[float, float] | None) -> dict[str, Intervals]:
    """A column, and the columns that are counted together with it."""
    if bundle is not None:
        return dict(zip([one.name for one in bundle], by_value(bundle), strict=True))
    return {column.name: Intervals.none() if side is None else Parting(column, *side).intervals()}


def _of_numbers(column: Column, intervals: Intervals, n_rows: float) -> Tally:
    """Tally numbers, dates, durations and truth values: the bins equal those of `Histogram.of`."""
    missing = float(n_rows - intervals.rows.sum())
    histogram, loose = intervals.histogram()
    whole = column.kind is NUMBER and (column.type.is_integer() or (missing > 0 and _is_whole(column, intervals)))
    return Tally(
        column.name,
        column.kind.name,
        missing,
        int(intervals.rows.sum()),
        _n_values(column, intervals, whole),
        histogram,
        whole=whole,
        loose=loose if loose.any() else None,
    )


def _is_whole(column: Column, intervals: Intervals) -> bool:
    """Test whether numbers with missing values are integers, which the missing values turned into floats."""
    ends = np.concatenate([intervals.low, intervals.high])
    if (ends != np.round(ends)).any():
        return False
    return not intervals.has_several.any() or column.is_whole()


def _n_values(column: Column, intervals: Intervals, whole: bool) -> int:
    """Return the number of values; only a lower bound if they are fewer than the rows, or not integers."""
    room = intervals.high - intervals.low + 1
    if not intervals.has_several.any() or not whole or (intervals.rows > room).any():
        return intervals.least_values
    return column.n_values()


def _of_text(column: Column, n_rows: float) -> Tally:
    """Tally categories; only the most frequent ones if there are very many."""
    import ibis

    rows = column.rows()
    values = rows.group_by("v").agg(n=how_many(rows))
    whole_table = ibis.window()
    sized = values.mutate(n_values=values.count().over(whole_table), n_rows=values.n.sum().over(whole_table))
    found = fetched(sized.order_by(sized.n.desc(), sized.v.asc()).limit(MOST_CATEGORIES)).to_pydict()
    order = sorted(range(len(found["v"])), key=found["v"].__getitem__)
    n_there = found["n_rows"][0] if order else 0
    return Tally(
        column.name,
        column.kind.name,
        float(n_rows - n_there),
        n_there,
        found["n_values"][0] if order else 0,
        categories=tuple(found["v"][place] for place in order),
        counts=np.array([found["n"][place] for place in order], dtype=np.float64),
    )
