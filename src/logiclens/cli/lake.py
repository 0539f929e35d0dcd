"""Tables in an engine, as the command line names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logiclens.data.names import no_column
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    from logiclens.data.lake import Engine


@dataclass(frozen=True, eq=False)
class Lake:
    """A table in an engine, what it is called, the target, and what is to be known of it."""

    table: Any
    name: str
    target: str
    notes: tuple[str, ...]


def open_lake(
    data: str, target: str, *, engine: Engine, memory: str | None, positive: str | None, drop: Sequence[str]
) -> Lake:
    """The table that a command names, without the columns that are to be left out."""
    from logiclens.data.lake import in_engine

    table = in_engine(data, engine, memory=memory)
    for name in (target, *drop):
        if name not in table.columns:
            raise no_column(name, list(table.columns), data)
    if target in drop:
        raise LogicLensError(f"the target {target!r} cannot be left out.")
    table = table.drop(*drop) if drop else table
    notes = [f"rows were counted by {engine}: cuts were found on all of them, also on those set aside."]
    if positive is not None:
        table = table.mutate(**{target: _against_others(table, target, positive)})
    return Lake(table, data, target, tuple(notes))


def _against_others(table: Any, target: str, positive: str) -> Any:
    """One value of the target, by how it is printed, against all others."""
    import ibis

    from logiclens.data.engine import classes_of

    classes, _ = classes_of(table, target)
    chosen = [value for value in classes if str(value) == positive]
    if not chosen:
        known = ", ".join(repr(str(value)) for value in classes[:8])
        raise LogicLensError(f"{positive!r} is not a value of {target!r}; the values are {known}.")
    return ibis.ifelse(table[target] == chosen[0], positive, f"not {positive}")
