"""From what a caller hands to `fit` to a table of concepts: cuts fitted on the rows that train, labels, the split."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.data.booleanise import Booleaniser, cut
from logiclens.data.concepts import ConceptTable
from logiclens.data.splits import Split, split
from logiclens.errors import LogicLensError
from logiclens.estimators.inputs import (
    bare_predicates,
    class_codes,
    concept_table,
    known_labels,
    matched_columns,
)
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.train.objective import class_factors


@dataclass(frozen=True)
class Schema:
    """What a trained network knows of its rows: concepts and their groups, classes, and how raw columns are cut."""

    names: tuple[str, ...]
    class_names: tuple[str, ...]
    groups: Groups
    multilabel: bool
    predicates: Mapping[str, Predicate]
    is_raw: bool

    def table(self, rows: Any, codes: Any = None) -> ConceptTable:
        """Other rows as the concepts that the network was trained on."""
        if self.is_raw and not hasattr(rows, "columns") and not isinstance(rows, ConceptTable):
            raise LogicLensError(f"this model cuts raw columns by name: pass a DataFrame, got {type(rows).__name__}.")
        if self.is_raw and hasattr(rows, "columns") and not set(self.names) <= {str(name) for name in rows.columns}:
            rows = cut(rows, self.predicates)
        return ConceptTable(
            matched_columns(rows, self.names),
            self.names,
            codes,
            self.class_names,
            self.groups.exclusive,
            implied=self.groups.implied,
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """All rows as concepts, which of them train and which choose the epoch, and how raw columns became concepts."""

    table: ConceptTable
    parts: Split
    classes: NDArray[Any]
    schema: Schema

    @property
    def train(self) -> ConceptTable:
        """The rows that train the network."""
        return self.table.take(self.parts.train)

    @property
    def validation(self) -> ConceptTable | None:
        """The rows that choose the epoch; None where these weigh nothing."""
        weighs = self.table.weight[self.parts.validation].sum() > 0
        return self.table.take(self.parts.validation) if weighs else None


def prepare(
    rows: Any,
    labels: Any,
    sample_weight: ArrayLike | None,
    held_out: tuple[Any, Any] | None,
    *,
    booleaniser: Booleaniser | None,
    share: float,
    seed: int,
) -> Prepared:
    """Check everything that `fit` was given; `share` of the rows choose the epoch unless `held_out` rows do."""
    if booleaniser is None:
        # Concepts are checked before the labels: a table that is none makes no sense of either.
        predicates, rows = bare_predicates(rows), rows if isinstance(rows, ConceptTable) else ConceptTable(rows)
    elif not hasattr(rows, "columns"):
        raise LogicLensError(f"raw columns are cut by name: pass a DataFrame, got {type(rows).__name__}.")
    known = known_labels(labels, len(rows))
    parts = split(known.codes, share, seed=seed) if held_out is None else Split(np.arange(len(rows)), np.arange(0))
    cuts = None if booleaniser is None else copy.deepcopy(booleaniser).fit(rows.iloc[parts.train])
    if cuts is not None:
        predicates, rows = cuts.predicates(), ConceptTable(cuts.transform(rows), implied=cuts.implied())
    table = concept_table(rows, known, sample_weight)
    schema = Schema(table.names, table.class_names, table.groups, table.is_multilabel, predicates, cuts is not None)
    if held_out is not None:
        held = schema.table(held_out[0], class_codes(held_out[1], table.is_multilabel, known.classes))
        parts = Split(parts.train, np.arange(len(table), len(table) + len(held)))
        table = table.append(held)
    if table.weight[parts.train].sum() == 0:
        raise LogicLensError("the rows that train the network all have the weight 0.")
    return Prepared(table, parts, known.classes, schema)


def weighed_by_class(table: ConceptTable, class_weight: Sequence[float] | Literal["balanced"] | None) -> ConceptTable:
    """The table with each row weighing as much as its class: for heads that are trained one by one."""
    if class_weight is None or table.is_multilabel:
        return table
    factors = class_factors(class_weight, table)[table.labels]
    return ConceptTable(
        table.values,
        table.names,
        table.labels,
        table.class_names,
        table.exclusive,
        table.weight * factors,
        table.groups.implied,
    )
