"""Counting rows where the data live: a table of Ibis becomes counted rows, and only these travel.

The concepts of a row are packed into a few whole numbers by the engine that holds the table, whichever that is, and it
groups by them: what comes back are distinct rows with their counts.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Cutting, Membership
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
)
from logiclens.errors import LogicLensError, no_column
from logiclens.formula.column_kinds import KINDS, TRUTH_VALUE, Kind
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.predicate import Predicate

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from logiclens.concepts.booleaniser import Booleaniser

BITS = 62
"""Concepts that are packed into one whole number of the engine; its highest bits stay free of the sign."""
MOST_CLASSES = 1_000
"""A target with more values than this is no class."""


def classes_of(table: ir.Table, target: str, least: int = 2) -> tuple[list[Any], NDArray[np.float64]]:
    """The classes of a target, in order, and how many rows each has; rows without one, and too few, are refused."""
    if target not in table.columns:
        raise no_column(target, list(table.columns), "the table")
    if table.schema()[target].is_decimal() or not KINDS[kind_of(table, target)].can_be_target:
        raise LogicLensError(f"the target {target!r} holds {table.schema()[target]}, no classes: make it text.")
    labels = table.select(y=table[target], **counting(table))
    counted = labels.group_by("y").agg(n=how_many(labels)).limit(MOST_CLASSES + 2)
    found = fetched(counted).to_pydict()
    rows = dict(zip(found["y"], found["n"], strict=True))
    gone = sum(n for value, n in rows.items() if value is None or value != value)
    if gone:
        raise LogicLensError(f"the target {target!r} is missing in {gone:,} rows: leave them out, or fill it.")
    if not rows:
        raise LogicLensError("the table has no rows.")
    if len(rows) > MOST_CLASSES:
        raise LogicLensError(f"the target {target!r} has more than {MOST_CLASSES:,} values: it names no classes.")
    if len(rows) < least:
        raise LogicLensError(f"all rows have one class, {next(iter(rows))!r}: at least two classes are needed.")
    if any(isinstance(value, float) and not value.is_integer() for value in rows):
        raise LogicLensError(f"the target {target!r} holds numbers with decimals, no classes: cut them first.")
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
    """The distinct rows of concepts in a table, with how many rows of each class fell on each.

    Args:
        table: of Ibis; nothing of it travels but the counts.
        booleaniser: fitted; or what each concept means, its `cutting_`.
        target: the column of classes; without one rows are only counted.
        classes: in the order of the counts; those of the target in their own order if not said.
        concepts: those to look at, all of the cutting if not said.
        at_most: the most distinct rows that may travel; `TooManyRows` where there are more.
    """
    cutting: Cutting = getattr(booleaniser, "cutting_", booleaniser)
    names = cutting.names if concepts is None else tuple(concepts)
    if classes is None:
        classes = () if target is None else classes_of(table, target, least=1)[0]
    [(_, counted)] = count_groups(table, cutting, target, classes, concepts=names, at_most=at_most)
    return counted


class TooManyRows(LogicLensError):
    """More distinct rows than may travel."""


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
    """Counted rows for each value of a column `by`, in its order; without one, a single entry for None."""
    table = _with_columns(table, cutting, concepts)
    if by is not None and by not in table.columns:
        raise no_column(by, list(table.columns), "the table")
    if COUNT not in table.columns:
        columns = [cutting.column_of(name) for name in concepts] + [name for name in (target, by) if name]
        table = condensed(table, list(dict.fromkeys(columns)))
    query = grouped(table, cutting, concepts, target, by)
    if at_most is not None:
        # A row of concepts comes once for each class that it has.
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
    """Where each value stands, in the order of the values, the missing one last."""
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
    """The GROUP BY that counts rows: packed concepts w0, w1, …, the target y, the subgroup g, and their count n.

    A column of dates tells rows apart by month.
    """
    import ibis

    words = {}
    for start in range(0, max(1, len(names)), BITS):
        by_column: dict[str, list[tuple[int, Predicate]]] = {}
        codes = []
        for place, name in enumerate(names[start : start + BITS]):
            if name in cutting.memberships:
                codes.append(ibis.ifelse(_is_among(table, cutting.memberships[name]), _whole(1 << place), _whole(0)))
                continue
            predicate = cutting.predicates[name]
            by_column.setdefault(predicate.column, []).append((1 << place, predicate))
        codes += [_code(table, cutting.kinds, bits) for bits in by_column.values()]
        words[f"w{start // BITS}"] = functools.reduce(operator.add, codes) if codes else ibis.literal(0, "int64")
    more = {} if target is None else {"y": table[target]}
    if by is not None:
        more["g"] = period(table, by)
    packed = table.select(**words, **more, **counting(table))
    return packed.group_by([*words, *more]).agg(n=how_many(packed))


def _code(table: ir.Table, kinds: Mapping[str, Kind], bits: Sequence[tuple[int, Predicate]]) -> Any:
    """The bits of all concepts of one column, as one CASE: an engine then looks at each value once."""
    import ibis

    column = table[bits[0][1].column]
    gone = sum(bit for bit, predicate in bits if predicate.operator == "missing")
    others = [(bit, predicate) for bit, predicate in bits if predicate.operator != "missing"]
    operators = {predicate.operator for _, predicate in others}
    if operators == {">="}:
        # From the highest cut down: a value that reaches one reaches all below it.
        others.sort(key=lambda one: one[1].kind.point(one[1].value), reverse=True)
        cases = [(predicate, sum(bit for bit, _ in others[place:])) for place, (_, predicate) in enumerate(others)]
    elif operators <= {"=="}:
        cases = [(predicate, bit) for bit, predicate in others]
    else:
        each = [ibis.ifelse(holds(table, one, kinds), _whole(bit), _whole(0)) for bit, one in bits]
        return functools.reduce(operator.add, each)
    branches = [(holds(table, predicate, kinds, guarded=True), _whole(mask)) for predicate, mask in cases]
    # Some engines take NaN for the largest number.
    guard = [(~there(column), _whole(gone))] if gone or column.type().is_floating() else []
    return ibis.cases(*guard, *branches, else_=_whole(0))


def _is_among(table: ir.Table, membership: Membership) -> Any:
    """Whether a column holds one of some categories; null where it is missing, which a CASE takes for false."""
    column = table[membership.column]
    if isinstance(membership.values[0], str):
        return column.isin(membership.values)
    return column.cast("float64").isin([as_double(float(value)) for value in membership.values])


def _whole(number: int) -> Any:
    import ibis

    return ibis.literal(number, "int64")


def holds(
    table: ir.Table, predicate: Predicate, kinds: Mapping[str, Kind], *, guarded: bool = False
) -> ir.BooleanValue:
    """A predicate as an expression; where the value is missing it is false or null, which a CASE takes for false.

    With `guarded` it is not asked where the value is NaN.
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
        # What a float holds exactly need not become one.
        return _COMPARE[predicate.operator](column, int(number))
    held = _COMPARE[predicate.operator](column.cast("float64"), as_double(number))
    return held & there(column) if column.type().is_floating() and not guarded else held


_COMPARE: dict[str, Any] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq,
}  # fmt: skip


def period(table: ir.Table, by: str) -> Any:
    """What rows are told apart by: the values of a column, the months of dates."""
    if by not in table.columns:
        raise no_column(by, list(table.columns), "the table")
    column = table[by]
    kind = KINDS[kind_of(table, by)]
    return column if kind.period_format is None else kind.ibis_column(column).strftime(kind.period_format)


def _with_columns(table: ir.Table, cutting: Cutting, names: Iterable[str]) -> ir.Table:
    """The table with the columns that concepts are about, of the kinds that they had in training."""
    kinds = {}
    for name in names:
        column = cutting.column_of(name)
        if column not in table.columns:
            raise LogicLensError(f"the table lacks the column {column!r} that {name!r} is about.")
        kinds[column] = cutting.kinds[column]
    return fitted(table, kinds)


def _unpacked(words: Sequence[NDArray[np.int64]], n_concepts: int) -> NDArray[np.bool_]:
    """The concepts that the engine packed into whole numbers."""
    bits = np.empty((len(words[0]), n_concepts), dtype=np.bool_)
    for place in range(n_concepts):
        bits[:, place] = words[place // BITS] >> (place % BITS) & 1
    return bits
