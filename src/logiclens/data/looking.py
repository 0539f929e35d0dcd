"""Looking at a column in an engine: each look is one GROUP BY, and only counts of values or of stretches travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.asking import as_double, codes_of, counting, fetched, how_many, kind_of, there
from logiclens.data.columns import Kind
from logiclens.data.formats import pyarrow_module
from logiclens.data.refining import FEW_VALUES, PARTS, Stretches, refined
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    import ibis.expr.types as ir

NARROW = 65_536
"""Columns that together have room for so many rows are counted together, value by value."""
DAY = 86_400.0


@dataclass(frozen=True)
class Column:
    """A column of a table in an engine, beside the target."""

    table: ir.Table
    name: str
    target: str
    classes: Sequence[Any]

    @property
    def kind(self) -> Kind:
        """What the values are."""
        return kind_of(self.table, self.name)

    @property
    def type(self) -> Any:
        """The type that the engine gives them."""
        return self.table.schema()[self.name]

    def room(self, side: tuple[float, float] | None) -> float:
        """How many values there can be from the smallest to the largest, and a gap."""
        if self.type.is_boolean():
            return 3
        if side is None or not (self.type.is_integer() or self.type.is_date()):
            return np.inf
        return (side[1] - side[0]) / (DAY if self.type.is_date() else 1.0) + 2

    def rows(self) -> ir.Table:
        """The rows with a value v, as the engine holds it, and their class y."""
        column = self.table[self.name]
        return self.table.filter(there(column)).select(v=column, y=self.table[self.target], **counting(self.table))

    def comparable(self) -> ir.Table:
        """The same with values as they are compared: numbers as floats, as they are in memory."""
        rows = self.rows()
        if self.kind == "date":
            return rows.mutate(v=rows.v.cast("timestamp"))
        # + 0.0 makes −0.0 equal to 0.0.
        return rows.mutate(v=rows.v.cast("float64") + 0.0)

    def stretches(self, found: Any) -> Stretches:
        """What an engine counted: for each class y how many rows n have a value v, or one from low to high."""
        if "v" in found.column_names:
            low = high = _as_floats(found["v"])
            key = np.unique(low, return_inverse=True)[1]
        else:
            low, high = _as_floats(found["low"]), _as_floats(found["high"])
            key = found["p"].to_numpy()
        n = found["n"].to_numpy().astype(np.float64)
        return Stretches.of(key, low, high, codes_of(found["y"], self.classes), n, len(self.classes))

    def n_values(self) -> int:
        """How many different values there are."""
        rows = self.comparable()
        return int(fetched(rows.agg(n=rows.v.nunique()))["n"][0].as_py())

    def is_whole(self) -> bool:
        """Whether all numbers are whole, whatever their type."""
        rows = self.comparable()
        return not fetched(rows.agg(uneven=(rows.v % 1.0 != 0.0).any()))["uneven"][0].as_py()


@dataclass
class Parting:
    """A column of many values, from `low` to `high`, that is counted in parts, and parts of parts."""

    column: Column
    low: float
    high: float
    levels: list[Any] = field(default_factory=list)
    """For each look after the first: which stretches were parted, and how."""

    @property
    def unit(self) -> float:
        """What values are multiplied with, so that the range is finite."""
        return 1.0 if np.isfinite(self.high - self.low) else 0.5

    def stretches(self) -> Stretches:
        """As many looks as it takes."""
        return refined(self._counted(), self._again, self._by_value)

    def _again(self, opened: Stretches, n_parts: NDArray[np.int64]) -> Stretches:
        """Count some stretches in so many parts each."""
        self.levels.append(self._level(opened, n_parts))
        return self._counted()

    def _by_value(self, opened: Stretches) -> Stretches | None:
        """Count some stretches value by value; None where they have too many."""
        self.levels.append(self._level(opened, np.ones(len(opened), dtype=np.int64)))
        rows = self._placed()
        found = fetched(rows.group_by(["v", "y"]).agg(n=how_many(rows)).limit(FEW_VALUES + 1))
        return None if len(found) > FEW_VALUES else self.column.stretches(found)

    def _level(self, opened: Stretches, n_parts: NDArray[np.int64]) -> Any:
        import ibis

        start, width = self._stretch(opened.low, opened.high)
        told = {"key": opened.key, "start": start, "width": width, "parts": n_parts.astype(np.float64),
                "offset": np.cumsum(n_parts + 1) - n_parts}  # fmt: skip
        return ibis.memtable(pyarrow_module("pyarrow").table(told))

    def _stretch(self, low: Any, high: Any) -> tuple[Any, Any]:
        """Where stretches start, among what is parted, and how wide they are."""
        # Of moments the seconds are parted: the first one may have begun before the first moment.
        start = np.floor(low) if self.column.kind == "date" else low * self.unit
        width = high * self.unit - start
        # A column of one value is not parted.
        return start, np.where(width > 0, width, 1.0)

    def _counted(self) -> Stretches:
        rows = self._placed()
        told = {"low": rows.v.min(), "high": rows.v.max(), "n": how_many(rows)}
        return self.column.stretches(fetched(rows.group_by(["p", "y"]).agg(**told)))

    def _placed(self) -> ir.Table:
        """The rows of the stretches that are looked at, with the number p of the part that each value is in."""
        rows = self.column.comparable()
        place = rows.v.epoch_seconds().cast("float64") if self.column.kind == "date" else rows.v
        rows = rows.mutate(k=place if self.unit == 1.0 else place * self.unit)
        start, width = map(float, self._stretch(np.float64(self.low), np.float64(self.high)))
        rows = rows.mutate(p=_part((rows.k - as_double(start)) / as_double(width), float(PARTS)))
        for level in self.levels:
            kept = ["v", "y", "k", *counting(rows)]
            joined = rows.inner_join(level, [("p", "key")]).select(*kept, *level.columns)
            part = _part((joined.k - joined.start) / joined.width, joined.parts)
            rows = joined.select(*kept, p=part + joined.offset)
        return rows


def by_value(columns: Sequence[Column]) -> list[Stretches]:
    """Count columns that have few values each, all of them in one look."""
    table = columns[0].table
    names = [f"v{place}" for place in range(len(columns))]
    each = {name: table[column.name] for name, column in zip(names, columns, strict=True)}
    rows = table.select(**each, y=table[columns[0].target], **counting(table))
    found = fetched(rows.group_by([*names, "y"]).agg(n=how_many(rows)))
    counted = []
    for name, column in zip(names, columns, strict=True):
        known = found.filter(found[name].is_valid())
        counted.append(column.stretches(known.select([name, "y", "n"]).rename_columns(["v", "y", "n"])))
    return counted


def bundles(columns: Sequence[Column], sides: Mapping[str, tuple[float, float]]) -> list[list[Column]]:
    """Columns of few values, those together that have few together."""
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
    """The smallest and the largest value of each column that has values, in one look; infinite ones are refused."""
    found = _sides(columns, known=False)
    # Some engines take NaN for the largest number, and looking for it takes its time.
    if unclear := [column for column in columns if np.isnan(found.get(column.name, (0.0, 0.0))).any()]:
        for column in unclear:
            del found[column.name]
        found |= _sides(unclear, known=True)
    for name, side in found.items():
        if np.isinf(side).any():
            raise LogicLensError(
                f"the column {name!r} is infinite (inf) in some rows: put the largest sensible number or a missing "
                "value."
            )
    return found


def _sides(columns: Sequence[Column], *, known: bool) -> dict[str, tuple[float, float]]:
    """The smallest and the largest value of each column that has any; with `known` among those that are no NaN."""
    if not columns:
        return {}
    told: dict[str, Any] = {}
    for place, column in enumerate(columns):
        value = column.table[column.name]
        where = there(value) if known else None
        told |= {f"low{place}": value.min(where=where), f"high{place}": value.max(where=where)}
    found = fetched(columns[0].table.agg(**told))
    each = {}
    for place, column in enumerate(columns):
        low, high = found[f"low{place}"], found[f"high{place}"]
        if low.null_count == 0:
            each[column.name] = (float(_as_floats(low)[0]), float(_as_floats(high)[0]))
    return each


def _part(share: Any, parts: Any) -> Any:
    """Which of so many parts of a stretch a value is in, by its share of the way through it; the largest is alone."""
    return (share * parts).floor().cast("int64")


def _as_floats(values: Any) -> NDArray[np.float64]:
    """A column of Arrow as the numbers that a histogram holds: seconds for dates."""
    pa = pyarrow_module("pyarrow")
    given = values.type
    if pa.types.is_date(given) or pa.types.is_timestamp(given):
        micros = values.cast(pa.timestamp("us", getattr(given, "tz", None)), safe=False).cast(pa.int64())
        return np.asarray(micros.to_numpy() / 1e6)
    if pa.types.is_boolean(given):
        values = values.cast(pa.int8())
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy() + 0.0)
