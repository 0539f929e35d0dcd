"""Queries to an engine: the kinds of its columns, counts, and distinct rows with their counts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.engine.failures import failed, stop
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.column_kinds import KINDS, Kind, kind_of_ibis
from logiclens.formula.date_parts import DATE, DatePart

if TYPE_CHECKING:
    import ibis.expr.types as ir


COUNT = f"logiclens_{os.urandom(6).hex()}"
"""The column with the count of each distinct row; no table of a user has a column of this name."""


def kind_of(table: ir.Table, name: str) -> Kind:
    """Return the kind of a column, from the type that the engine gives it."""
    given = table.schema()[name]
    kind = kind_of_ibis(given, table.get_backend().name)
    if kind is None:
        raise LogicLensError(f"the column {quoted(name)} holds {given}, which cannot be compared: leave it out.")
    return kind.name


def there(column: Any) -> Any:
    """Return the condition that a column has a value: it is not null and not NaN, which some engines do not know."""
    import ibis.expr.operations as ops

    if column.type().is_floating() and column.get_backend().has_operation(ops.IsNan):
        return column.notnull() & ~column.isnan()
    return column.notnull()


def fitted(table: ir.Table, kinds: Mapping[str, Kind]) -> ir.Table:
    """Return the table with columns of the kinds that they had in training; only an empty one may differ."""
    import ibis

    for column, kind in kinds.items():
        before, now = KINDS[kind], KINDS[kind_of(table, column)]
        if before is now or now.name in before.accepts:
            continue
        if fetched(table.agg(n=there(table[column]).cast("int64").sum()))["n"][0].as_py():
            raise LogicLensError(
                f"the column {quoted(column)} held {before.plural} in training and holds {now.plural} now."
            )
        table = table.mutate(**{column: ibis.null(before.ibis_type)})
    return table


def with_parts(table: ir.Table, parts: Iterable[DatePart]) -> ir.Table:
    """Return the table with parts of its dates as further columns of whole numbers."""
    made = {part.name: _part(table, part) for part in parts}
    return table.mutate(**made) if made else table


def _part(table: ir.Table, part: DatePart) -> Any:
    dates = [DATE.ibis_column(table[name]) for name in part.columns]
    if part.kind == "days":
        # Midnights are whole days apart.
        start, end = (date.truncate("D").epoch_seconds() for date in dates)
        return ((end - start) / 86_400).round().cast("int64")
    if part.kind == "weekday":
        return (dates[0].day_of_week.index() + 1).cast("int64")
    return (dates[0].month() if part.kind == "month" else dates[0].hour()).cast("int64")


def as_double(number: float) -> Any:
    """Return a number as an expression that keeps its last bit.

    Engines read decimals of up to 15 digits as the nearest double, and longer ones only if they are text.
    """
    import ibis

    return number if float(f"{number:.15g}") == number else ibis.literal(repr(number)).cast("float64")


def counting(table: ir.Table) -> dict[str, Any]:
    """Return the count column of a table as a selection, or nothing if there is none."""
    return {COUNT: table[COUNT]} if COUNT in table.columns else {}


def how_many(table: ir.Table) -> Any:
    """Return the number of rows, weighted by the count column if there is one."""
    return table[COUNT].sum() if COUNT in table.columns else table.count()


def fetched(query: ir.Table) -> Any:
    """Run a query and return an Arrow table; if the engine fails, raise an error of one line."""
    try:
        return query.to_pyarrow()
    except Exception as error:
        raise failed(query, error, f"{query.get_backend().name} cannot count this table") from error


def codes_of(labels: Any, classes: Sequence[Any]) -> NDArray[np.intp]:
    """Return the class numbers of a column of Arrow."""
    encoded = labels.combine_chunks().dictionary_encode("encode")
    places = {value: place for place, value in enumerate(classes)}
    found = encoded.dictionary.to_pylist()
    if unknown := [value for value in found if value not in places]:
        raise LogicLensError(f"the target holds {quoted(unknown[0])}, which is none of the classes to be counted.")
    known = np.array([places[value] for value in found], dtype=np.intp)
    codes: NDArray[np.intp] = known[encoded.indices.to_numpy()]
    return codes


TEXT_TABLE = "logiclens_text_"
LOOKED_AT = 100_000
"""Number of leading rows from which `condensed` estimates whether rows repeat."""
NEW = 0.1
"""Maximum share of rows seen once for which rows are taken to repeat."""


def condensed(table: ir.Table, columns: Sequence[str]) -> ir.Table:
    """Return the distinct rows of some columns with their counts; if rows hardly repeat, return the columns.

    The result is a query that has not run yet; see `kept`.
    """
    rows = table.select(*columns)
    if not _repeats(rows):
        return rows
    return rows.group_by(list(columns)).agg(**{COUNT: rows.count()})


@contextmanager
def kept(table: ir.Table, columns: Sequence[str]) -> Iterator[ir.Table]:
    """Like `condensed`, but cached for the `with` block because several queries follow; so are rows of text files."""
    rows = condensed(table, columns)
    if COUNT not in rows.columns and not is_text(rows):
        yield rows
        return
    try:
        there = rows.cache()
    except Exception as error:
        stop(error)
        # Not every user may create a table; if something else is wrong, the next query reports it.
        yield table.select(*columns)
        return
    with there as cached:
        yield cached


def is_text(table: ir.Table) -> bool:
    """Test whether each query on a table reads text files from the beginning."""
    import ibis.expr.operations as ops

    return any(node.name.startswith(TEXT_TABLE) for node in table.op().find(ops.DatabaseTable))


def _repeats(rows: ir.Table) -> bool:
    """Estimate whether the next row repeats an earlier one, from the share of rows seen once (Good, 1953)."""
    first = rows.limit(LOOKED_AT)
    each = first.group_by(list(rows.columns)).agg(**{COUNT: first.count()}).select(n=COUNT)
    found = fetched(each.agg(once=(each.n == 1).sum(), n=each.n.sum())).to_pydict()
    once, n = found["once"][0], found["n"][0]
    return bool(n) and once <= NEW * n
