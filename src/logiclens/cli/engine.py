"""Options that name a table in an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logiclens.errors import LogicLensError, no_column
from logiclens.tables.formats import DATABASES, names_several

if TYPE_CHECKING:
    from logiclens.cli.options import Engines
    from logiclens.engine.lake import Engine


@dataclass(frozen=True)
class Counting:
    """Which table a command has counted, by which engine, and how much memory that may take."""

    source: str
    engine: Engine = "duckdb"
    memory: str | None = None

    def table(self, *, per_file: bool = False) -> Any:
        """The table, of Ibis."""
        # Here, because a command that reads a table should not wait for an engine.
        from logiclens.engine.lake import in_engine

        return in_engine(self.source, self.engine, memory=self.memory, per_file=per_file)


def counting(
    data: str, engine: Engines | None, memory: str | None, refused: Mapping[str, object], *, what: str = "counts"
) -> Counting | None:
    """How a table is counted that is not to be read, or None for one that is.

    `refused` are options that only rows in memory take, by how they are written; `what` is what the engine does.
    """
    if engine is None and not names_several(data):
        if data.endswith(DATABASES):
            raise LogicLensError(f"{data} is a database, which is not read but counted: say --engine duckdb.")
        if memory is not None:
            raise LogicLensError("--memory is for rows that DuckDB counts: say --engine duckdb as well.")
        return None
    if wrong := [option for option, given in refused.items() if given]:
        raise LogicLensError(f"rows that an engine {what} take no {wrong[0]}.")
    return Counting(data, "duckdb" if engine is None else engine.value, memory)


@dataclass(frozen=True, eq=False)
class Lake:
    """A table in an engine, what it is called, the target, and what is to be known of it."""

    table: Any
    name: str
    target: str
    notes: tuple[str, ...]


def open_lake(asked: Counting, target: str, *, positive: str | None, drop: Sequence[str]) -> Lake:
    """The table to learn from, without the columns that are to be left out and the rows without a class."""
    table, name = asked.table(), asked.source
    for column in (target, *drop):
        check_column(table, column, name)
    if target in drop:
        raise LogicLensError(f"the target {target!r} cannot be left out.")
    # A database counts its rows itself, whatever was asked.
    engine = table.get_backend().name.removeprefix("py")
    notes = [f"rows were counted by {engine}: cuts were found on all of them, also on those set aside."]
    table, n_gone = labelled(table.drop(*drop) if drop else table, target)
    table = _with_whole(table, target)
    if n_gone:
        notes.append(f"{n_gone:,} rows have no value of {target!r} and are left out.")
    if positive is not None:
        table = table.mutate(**{target: _against_others(table, target, positive)})
    return Lake(table, name, target, tuple(notes))


def check_column(table: Any, column: str, name: str, why: str = "") -> None:
    """Refuse a column that is not there, with the nearest name that is; `why` says who asks for it."""
    if column not in table.columns:
        raise no_column(column, list(table.columns), name, why)


def labelled(table: Any, target: str) -> tuple[Any, int]:
    """The rows that have a class, and how many have none."""
    from logiclens.engine.query import fetched, there

    known = there(table[target])
    [found] = fetched(table.agg(n=table.count(), gone=(~known).cast("int64").sum())).to_pylist()
    if not found["gone"]:
        return table, 0
    if found["gone"] == found["n"]:
        raise LogicLensError(f"the target {target!r} has no value in any row.")
    return table.filter(known), int(found["gone"])


def _against_others(table: Any, target: str, positive: str) -> Any:
    """One value of the target, by how it is printed, against all others."""
    import ibis

    from logiclens.engine.count import classes_of
    from logiclens.engine.query import fetched

    labels = table[target]
    is_positive = labels == positive if labels.type().is_string() else labels.cast("string") == positive
    if labels.type().is_boolean():
        is_positive = labels == (positive == "True") if positive in ("True", "False") else ibis.literal(False)
    if not fetched(table.agg(n=is_positive.cast("int64").sum()))["n"][0].as_py():
        known = ", ".join(repr(str(value)) for value in classes_of(table, target)[0][:8])
        raise LogicLensError(f"{positive!r} is not a value of {target!r}; the values are {known}.")
    return ibis.ifelse(is_positive, positive, f"not {positive}")


def _with_whole(table: Any, target: str) -> Any:
    """The table with whole classes, which gaps make floats, as they are of rows in memory."""
    from logiclens.engine.query import fetched

    labels = table[target]
    if not labels.type().is_floating():
        return table
    uneven = (labels % 1.0 != 0.0) | (labels.abs() >= 2.0**53)
    if fetched(table.agg(n=uneven.cast("int64").sum()))["n"][0].as_py():
        return table
    return table.mutate(**{target: labels.cast("int64")})
