"""Condensing a table in an engine: where rows repeat, each is looked at once, with how often it is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from logiclens.data.asking import COUNT, fetched
from logiclens.data.faults import stop
from logiclens.data.readers import is_text

if TYPE_CHECKING:
    import ibis.expr.types as ir

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


def _repeats(rows: ir.Table) -> bool:
    """Whether the next row has probably been seen before: by how many of the first ones are there once (Good, 1953)."""
    first = rows.limit(LOOKED_AT)
    each = first.group_by(list(rows.columns)).agg(**{COUNT: first.count()}).select(n=COUNT)
    found = fetched(each.agg(once=(each.n == 1).sum(), n=each.n.sum())).to_pydict()
    once, n = found["once"][0], found["n"][0]
    return bool(n) and once <= NEW * n
