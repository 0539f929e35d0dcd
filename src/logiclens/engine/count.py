"""Count rows where the data are: the engine of an Ibis table groups its rows, and only the counts are transferred.

The engine packs the concepts of a row into a few integers and groups by them. The result is the distinct rows with
their counts.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Cutting
from logiclens.engine.query import (
    COUNT,
    as_double,
    codes_of,
    condensed,
    counting,
    fetched,
    fitted,
    how_many,
    kind_of,
    there,
    with_parts,
)
from logiclens.errors import LogicLensError, no_column, quoted
from logiclens.formula.column_kinds import KINDS, TRUTH_VALUE, Kind
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.predicate import Predicate

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from logiclens.concepts.booleaniser import Booleaniser

BITS = 62
"""Number of concepts packed into one 64-bit integer; the sign bit and one more stay free."""
MOST_CLASSES = 1_000
"""A target with more distinct values than this is not accepted as a class."""


def classes_of(table: ir.Table, target: str, least: int = 2) -> tuple[list[Any], NDArray[np.float64]]:
    """Return the sorted classes of a target and the number of rows of each.

    Raise LogicLensError if the target is missing in some row, or has too few or too many values.
    """
    if target not in table.columns:
        raise no_column(target, list(table.columns), "the table")
    if table.schema()[target].is_decimal() or not KINDS[kind_of(table, target)].can_be_target:
        raise LogicLensError(f"the target {quoted(target)} holds {table.schema()[target]}, no classes: make it text.")
    labels = table.select(y=table[target], **counting(table))
    counted = labels.group_by("y").agg(n=how_many(labels)).limit(MOST_CLASSES + 2)
    found = fetched(counted).to_pydict()
    rows = dict(zip(found["y"], found["n"], strict=True))
    gone = sum(n for value, n in rows.items() if value is None or value != value)
    if gone:
        raise LogicLensError(f"the target {quoted(target)} is missing in {gone:,} rows: leave them out, or fill it.")
    if not rows:
        raise LogicLensError("the table has no rows.")
    if len(rows) > MOST_CLASSES:
        raise LogicLensError(f"the target {quoted(target)} has more than {MOST_CLASSES:,} values: it names no classes.")
    if len(rows) < least:
        raise LogicLensError(f"all rows have one class, {quoted(next(iter(rows)))}: at least two classes are needed.")
    if zero := [value for value in rows if isinstance(value, str) and "\0" in value]:
        raise LogicLensError(
            f"the target {quoted(target)} holds a zero byte in {quoted(zero[0])}, which no query can "
            "name: leave it out."
        )
    if any(isinstance(value, float) and not value.is_integer() for value in rows):
        raise LogicLensError(f"the target {quoted(target)} holds numbers with decimals, no classes: cut them first.")
    classes = sorted(rows)
    return classes, np.array([rows[value] for value in classes], dtype=np.float64)


def count_rows(
    table: ir.Table,
    booleaniser: Booleaniser | Cutting,
    target: str | None = None,
    classes: Sequence[Any] | None = None,
    *,
    concepts: Sequence[str] | None = None,
    at_most: int | None = None,
) -> CountedRows:
    """Return the distinct rows of concepts in a table, with the number of rows of each class.

    Args:
        table: the Ibis table; only counts leave the engine.
        booleaniser: a fitted booleaniser, or its `cutting_`, which defines each concept.
        target: the column of classes; None counts rows without classes.
        classes: the order of the classes in the counts; default: the sorted values of the target.
        concepts: the concepts to count; default: all concepts of the cutting.
        at_most: the maximum number of distinct rows; more raise `TooManyRows`.
    """
    cutting: Cutting = getattr(booleaniser, "cutting_", booleaniser)
    names = cutting.names if concepts is None else tuple(concepts)
    if classes is None:
        classes = () if target is None else classes_of(table, target, least=1)[0]
    [(_, counted)] = count_groups(table, cutting, target, classes, concepts=names, at_most=at_most)
    return counted


class TooManyRows(LogicLensError):
    """The table has more distinct rows than the caller allows."""


def count_groups(
    table: ir.Table,
    cutting: Cutting,
    target: str | None,
    classes: Sequence[Any],
    *,
    concepts: Sequence[str],
    by: str | None = None,
    at_most: int | None = None,
) -> list[tuple[Any, CountedRows]]:
    """Return counted rows for each value of the column `by`, sorted; without `by`, one entry with the value None."""
    table = _with_columns(table, cutting, concepts)
    if by is not None and by not in table.columns:
        raise no_column(by, list(table.columns), "the table")
    if COUNT not in table.columns:
        columns = [cutting.column_of(name) for name in concepts] + [name for name in (target, by) if name]
        table = condensed(table, list(dict.fromkeys(columns)))
    query = grouped(table, cutting, concepts, target, by)
    if at_most is not None:
        # The query returns a row of concepts once for each class that it has.
        query = query.limit(at_most * max(1, len(classes)) + 1)
    found = fetched(query)
    if len(found) == 0:
        raise LogicLensError("the table has no rows.")
    words = [found[name].to_numpy() for name in found.column_names if name.startswith("w")]
    bits = _unpacked(words, len(concepts))
    n = found["n"].to_numpy().astype(np.float64)
    codes = np.zeros(len(n), dtype=np.intp) if target is None else codes_of(found["y"], classes)
    groups: list[tuple[Any, Any]] = [(None, slice(None))] if by is None else _places(found["g"].to_pylist())
    counted = [
        (value, _counted(bits[rows], concepts, codes[rows], n[rows], max(1, len(classes)))) for value, rows in groups
    ]
    if at_most is not None and sum(len(rows) for _, rows in counted) > at_most:
        raise TooManyRows(f"the table has more than {at_most:,} distinct rows of {len(concepts)} concepts.")
    return counted


def _places(values: Iterable[Any]) -> list[tuple[Any, list[int]]]:
    """Return the positions of each value, sorted by value, with the missing value last."""
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(value, []).append(place)
    return sorted(places.items(), key=lambda item: (item[0] is None, item[0]))


def _counted(
    bits: NDArray[np.bool_], names: Sequence[str], codes: NDArray[np.intp], n: NDArray[np.float64], n_classes: int
) -> CountedRows:
    counts = np.zeros((len(n), n_classes))
    counts[np.arange(len(n)), codes] = n
    return CountedRows.of(bits, names, counts, n)


def grouped(
    table: ir.Table,
    cutting: Cutting,
    names: Sequence[str],
    target: str | None = None,
    by: str | None = None,
) -> ir.Table:
    """Build the GROUP BY that counts rows: packed concepts w0, w1, …, the target y, the subgroup g, and the count n.

    A date column groups rows by month.
    """
    import ibis

    words = {}
    for start in range(0, max(1, len(names)), BITS):
        by_column: dict[str, list[tuple[int, Predicate]]] = {}
        for place, name in enumerate(names[start : start + BITS]):
            predicate = cutting.predicates[name]
            by_column.setdefault(predicate.column, []).append((1 << place, predicate))
        codes = [_code(table, cutting.kinds, bits) for bits in by_column.values()]
        words[f"w{start // BITS}"] = functools.reduce(operator.add, codes) if codes else ibis.literal(0, "int64")
    more = {} if target is None else {"y": table[target]}
    if by is not None:
        more["g"] = period(table, by)
    packed = table.select(**words, **more, **counting(table))
    return packed.group_by([*words, *more]).agg(n=how_many(packed))


def _code(table: ir.Table, kinds: Mapping[str, Kind], bits: Sequence[tuple[int, Predicate]]) -> Any:
    """Return the bits of all concepts of one column as one CASE expression, so that each value is read once."""
    import ibis

    column = table[bits[0][1].column]
    gone = sum(bit for bit, predicate in bits if predicate.operator == "missing")
    others = [(bit, predicate) for bit, predicate in bits if predicate.operator != "missing"]
    operators = {predicate.operator for _, predicate in others}
    if operators == {">="}:
        # From the highest threshold down: a value that reaches one threshold reaches all lower ones.
        others.sort(key=lambda one: one[1].kind.point(one[1].value), reverse=True)
        cases = [(predicate, sum(bit for bit, _ in others[place:])) for place, (_, predicate) in enumerate(others)]
    elif operators <= {"=="}:
        cases = [(predicate, bit) for bit, predicate in others]
    else:
        each = [ibis.ifelse(holds(table, one, kinds), _whole(bit), _whole(0)) for bit, one in bits]
        return functools.reduce(operator.add, each)
    branches = [(holds(table, predicate, kinds, guarded=True), _whole(mask)) for predicate, mask in cases]
    # Some engines sort NaN as the largest number.
    guard = [(~there(column), _whole(gone))] if gone or column.type().is_floating() else []
    return ibis.cases(*guard, *branches, else_=_whole(0))


def _whole(number: int) -> Any:
    import ibis

    return ibis.literal(number, "int64")


def holds(
    table: ir.Table, predicate: Predicate, kinds: Mapping[str, Kind], *, guarded: bool = False
) -> ir.BooleanValue:
    """Return a predicate as an Ibis expression; for a missing value it is false or null, which a CASE treats as false.

    `guarded` means that the caller has already excluded NaN.
    """
    column, kind = table[predicate.column], KINDS[kinds[predicate.column]]
    if predicate.operator == "missing":
        return ~there(column)
    value: Any = predicate.value
    if isinstance(value, str):
        return _COMPARE[predicate.operator](kind.ibis_column(column), kind.ibis_bound(value))
    if kind is TRUTH_VALUE and column.type().is_boolean():
        return column if value is True else ~column
    number = float(value)
    if column.type().is_integer() and column.type().nbytes < 8 and number == round(number) and abs(number) < 2**53:
        # Compare integers as integers where a float would hold the same number exactly.
        return _COMPARE[predicate.operator](column, int(number))
    held = _COMPARE[predicate.operator](column.cast("float64"), as_double(number))
    return held & there(column) if column.type().is_floating() and not guarded else held


_COMPARE: dict[str, Any] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq,
}  # fmt: skip


def period(table: ir.Table, by: str) -> Any:
    """Return the expression that defines subgroups: the values of a column, or the months of a date column."""
    if by not in table.columns:
        raise no_column(by, list(table.columns), "the table")
    column = table[by]
    kind = KINDS[kind_of(table, by)]
    return column if kind.period_format is None else kind.ibis_column(column).strftime(kind.period_format)


def _with_columns(table: ir.Table, cutting: Cutting, names: Iterable[str]) -> ir.Table:
    """Return the table with the columns of these concepts, converted to the kinds that they had in training."""
    kinds = {}
    for name in names:
        for column in cutting.sources_of(name):
            if column not in table.columns:
                raise LogicLensError(f"the table lacks the column {quoted(column)} that {quoted(name)} is about.")
            kinds[column] = cutting.kinds[column]
    parts = dict.fromkeys(part for name in names if (part := cutting.origin_of(name)) is not None)
    return with_parts(fitted(table, kinds), parts)


def _unpacked(words: Sequence[NDArray[np.int64]], n_concepts: int) -> NDArray[np.bool_]:
    """Unpack the integers of the engine into one column of bits per concept."""
    bits = np.empty((len(words[0]), n_concepts), dtype=np.bool_)
    for place in range(n_concepts):
        bits[:, place] = words[place // BITS] >> (place % BITS) & 1
    return bits
