"""What is known once rows are checked and cut: the schema of the concepts, and the parts of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Copies
from logiclens.errors import LogicLensError
from logiclens.estimators.inputs import matched_columns
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.tables.frames import Column, columns_of
from logiclens.train.committee import GroupedRows

CutsOn: TypeAlias = Literal["train", "all"]


@dataclass(frozen=True)
class Schema:
    """What a trained network knows of its rows: concepts and their groups, classes, and how raw columns are cut.

    `columns` are the raw columns in the order of training, `positional` says that they had no names of their own;
    `cutting` is None where the columns are concepts.
    """

    names: tuple[str, ...]
    class_names: tuple[str, ...]
    groups: Groups
    multilabel: bool
    predicates: Mapping[str, Predicate]
    cutting: Cutting | None = None
    columns: tuple[str, ...] = ()
    positional: bool = False

    @property
    def literals(self) -> tuple[str, ...] | None:
        """The concepts that rules may name; None where these are all."""
        return None if self.cutting is None else self.cutting.literals

    def named(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Columns under the names of training; by position where these had none, as in scikit-learn."""
        if not self.positional:
            return columns
        return [replace(column, name=name) for column, name in zip(columns, self.columns, strict=True)]

    def table(self, rows: Any, codes: Any = None) -> ConceptTable:
        """Other rows as the concepts that the network was trained on."""
        if self.cutting is not None and not isinstance(rows, ConceptTable):
            rows = self.cutting.values(self.named(columns_of(rows, self.columns)))
        else:
            rows = matched_columns(rows, self.names)
        groups = self.groups
        return ConceptTable(
            rows, self.names, codes, self.class_names, groups.exclusive, None, groups.implied, self.literals
        )


@dataclass(frozen=True, eq=False)
class SetAside:
    """Distinct rows that neither train nor choose anything: as concepts and raw columns, and where they stand."""

    table: ConceptTable
    columns: tuple[Column, ...] = field(repr=False)
    copies: Copies = field(repr=False)

    @property
    def places(self) -> NDArray[np.intp]:
        """The places of all copies in the table that was given."""
        return self.copies.places

    def column(self, name: str) -> NDArray[np.object_]:
        """The values of a raw column, None where missing."""
        for column in self.columns:
            if column.name == name:
                gone = column.missing.tolist()
                cells = [None if gone[row] else column.cell(row) for row in range(len(column))]
                return np.array(cells, dtype=object)
        known = ", ".join(repr(column.name) for column in self.columns[:8])
        raise LogicLensError(f"there is no column {name!r}; the columns are {known}.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """The distinct rows as concepts, the parts of them that train and that choose, and what is set aside.

    `grouped` are the rows in groups, for a committee; None where one network is trained. `taught` are the probabilities
    that another teacher gives them, `taught_aside` those of the rows set aside.
    """

    table: ConceptTable
    train: ConceptTable
    validation: ConceptTable | None
    aside: SetAside | None
    classes: NDArray[Any]
    schema: Schema
    booleaniser: Booleaniser | None
    grouped: GroupedRows | None = None
    taught: NDArray[np.float64] | None = None
    taught_aside: NDArray[np.float64] | None = None


def about(predicates: Mapping[str, Predicate]) -> dict[str, tuple[str, str, object]]:
    """What each concept is about: its column and how it is compared; of thresholds not which one."""
    return {
        name: (meant.column, meant.operator, None if meant.operator in (">=", ">", "<", "<=") else meant.value)
        for name, meant in predicates.items()
    }
