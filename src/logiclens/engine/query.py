"""Queries to an engine: the kinds of its columns, counts, and distinct rows with their counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.engine.failures import failed, stop
from logiclens.errors import LogicLensError
from logiclens.tables.frames import PLURAL, Kind

if TYPE_CHECKING:
    import ibis.expr.types as ir


COUNT = f"logiclens_{os.urandom(6).hex()}"
"""The column of a table of distinct rows that tells how often each is there; no table has one of this name."""


def kind_of(table: ir.Table, name: str) -> Kind:
    """What the values of a column are, by the type that the engine gives it."""
    given = table.schema()[name]
    if given.is_boolean():
        return "boolean"
    if given.is_numeric():
        return "number"
    if given.is_string():
        return "text"
    if given.is_date() or given.is_timestamp():
        return "date"
    raise LogicLensError(f"the column {name!r} holds {given}, which cannot be compared: leave it out.")


def there(column: Any) -> Any:
    """Where a column has a value: not null, and no NaN, which some engines do not know."""
    import ibis.expr.operations as ops

    if column.type().is_floating() and column.get_backend().has_operation(ops.IsNan):
        return column.notnull() & ~column.isnan()
    return column.notnull()


def fitted(table: ir.Table, kinds: Mapping[str, Kind]) -> ir.Table:
    """The table with columns of the kinds that they had in training; of another kind may be what has no values."""
    for column, kind in kinds.items():
        now = kind_of(table, column)
        if kind == now or {kind, now} == {"number", "boolean"}:
            continue
        if fetched(table.agg(n=there(table[column]).cast("int64").sum()))["n"][0].as_py():
            raise LogicLensError(f"the column {column!r} held {PLURAL[kind]} in training and holds {PLURAL[now]} now.")
        table = table.mutate(**{column: _nothing(kind)})
    return table


def _nothing(kind: Kind) -> Any:
    """A missing value of a kind."""
    import ibis

    return ibis.null({"number": "float64", "boolean": "boolean", "text": "string", "date": "timestamp"}[kind])


def as_double(number: float) -> Any:
    """A number of an expression, to its last bit.

    Engines read decimals with up to 15 digits as the nearest double, and longer ones only where they are text.
    """
    import ibis

    return number if float(f"{number:.15g}") == number else ibis.literal(repr(number)).cast("float64")


def counting(table: ir.Table) -> dict[str, Any]:
    """The column that tells how often a row is there, where there is one; for selecting it beside others."""
    return {COUNT: table[COUNT]} if COUNT in table.columns else {}


def how_many(table: ir.Table) -> Any:
    """The number of rows, also of a table in which each stands for several."""
    return table[COUNT].sum() if COUNT in table.columns else table.count()


def fetched(query: ir.Table) -> Any:
    """What a query finds, as a table of Arrow; where the engine fails, what it says in one line."""
    try:
        return query.to_pyarrow()
    except Exception as error:
        raise failed(query, error, f"{query.get_backend().name} cannot count this table") from error


def codes_of(labels: Any, classes: Sequence[Any]) -> NDArray[np.intp]:
    """The numbers of the classes in a column of Arrow."""
    encoded = labels.combine_chunks().dictionary_encode("encode")
    places = {value: place for place, value in enumerate(classes)}
    found = encoded.dictionary.to_pylist()
    if unknown := [value for value in found if value not in places]:
        raise LogicLensError(f"the target holds {unknown[0]!r}, which is none of the classes to be counted.")
    known = np.array([places[value] for value in found], dtype=np.intp)
    codes: NDArray[np.intp] = known[encoded.indices.to_numpy()]
    return codes


TEXT_TABLE = "logiclens_text_"
LOOKED_AT = 100_000
"""The first rows, by which it is judged whether rows repeat."""
NEW = 0.1
"""The most rows that may be the first of their kind."""


def condensed(table: ir.Table, columns: Sequence[str]) -> ir.Table:
    """The distinct rows of some columns with their counts; where hardly a row repeats, the columns themselves.

    It is one GROUP BY, which nothing has done yet: see `kept`.
    """
    rows = table.select(*columns)
    if not _repeats(rows):
        return rows
    return rows.group_by(list(columns)).agg(**{COUNT: rows.count()})


@contextmanager
def kept(table: ir.Table, columns: Sequence[str]) -> Iterator[ir.Table]:
    """The same for several looks: the engine keeps distinct rows, and what it read from text, until they are done."""
    rows = condensed(table, columns)
    if COUNT not in rows.columns and not is_text(rows):
        yield rows
        return
    try:
        there = rows.cache()
    except Exception as error:
        stop(error)
        # Whoever may read a table may not always make one; should something else be wrong, it is told at the next look.
        yield table.select(*columns)
        return
    with there as cached:
        yield cached


def is_text(table: ir.Table) -> bool:
    """Whether each look at a table reads text files from their beginning."""
    import ibis.expr.operations as ops

    return any(node.name.startswith(TEXT_TABLE) for node in table.op().find(ops.DatabaseTable))


def _repeats(rows: ir.Table) -> bool:
    """Whether the next row has probably been seen before: by how many of the first ones are there once (Good, 1953)."""
    first = rows.limit(LOOKED_AT)
    each = first.group_by(list(rows.columns)).agg(**{COUNT: first.count()}).select(n=COUNT)
    found = fetched(each.agg(once=(each.n == 1).sum(), n=each.n.sum())).to_pydict()
    once, n = found["once"][0], found["n"][0]
    return bool(n) and once <= NEW * n
