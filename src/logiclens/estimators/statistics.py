"""Rule statistics of a fitted classifier, on rows that neither trained it nor chose its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from logiclens.engine.lake import is_lake
from logiclens.errors import LogicLensError
from logiclens.estimators.lakes import statistics_in_engine
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.metrics.rule_statistics import RuleStatistics, rule_statistics
from logiclens.tables.frames import column_names, parted

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


def statistics_of(
    model: EntropyClassifier, rows: Any, labels: Any, *, by: Any, per_file: bool, sample_weight: Any
) -> RuleStatistics:
    """The statistics of the rules on rows that were set aside, or that a caller hands over."""
    rules = model.rules_
    if per_file and by is not None:
        raise LogicLensError("rows are told apart by a column or by their files: leave out by or per_file.")
    if is_lake(rows):
        if sample_weight is not None:
            raise LogicLensError("rows in an engine are counted as they are: leave out sample_weight.")
        return statistics_in_engine(model, rows, labels, by, per_file=per_file)
    if per_file:
        raise LogicLensError("per_file tells the files of a folder or a pattern apart: name these as the rows.")
    if rows is not None:
        rows, labels = parted(rows, labels)
        if labels is None:
            raise LogicLensError("statistics of other rows need their labels: statistics(rows, labels).")
        by_name = by if isinstance(by, str) else None
        values = _column(rows, by) if isinstance(by, str) else by
        packed = model._packed(rows)
        source = f"{packed.n_rows:,} rows given, which must not be among those that the model was fitted on"
        return rule_statistics(rules, packed, labels, weight=sample_weight, by=values, by_name=by_name, source=source)
    return statistics_aside(model, rules, by=by)


def statistics_aside(model: EntropyClassifier, rules: RuleSet, *, by: Any = None) -> RuleStatistics:
    """The statistics of rules on the rows that were set aside when the model was fitted."""
    aside = getattr(model, "set_aside_", None)
    if aside is None:
        raise LogicLensError(
            "no rows were set aside: fit with set_aside=0.25, or pass rows and labels that the model has not seen."
        )
    table, copies, name = aside.table, aside.copies, by if isinstance(by, str) else None
    source = f"{table.n_counted:,} rows set aside before training: they neither trained the network nor chose a rule"
    weight, values = table.weight, None if name is None else aside.column(name)
    if by is not None and name is None:
        # Copies of a row may differ in a column that the model does not know.
        name, given = getattr(by, "name", None), np.asarray(by, dtype=object)
        if given.ndim != 1 or len(given) <= copies.places.max():
            raise LogicLensError("by must be the name of a column, or one value for each row that fit was given.")
        table, weight, values = table.take(copies.rows), copies.weight, given[copies.places]
    known = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
    rows = PackedRows.of(table.boolean(), table.names)
    return rule_statistics(
        rules, rows, known, weight=weight, by=values, by_name=None if name is None else str(name), source=source
    )


def _column(rows: Any, name: str) -> Any:
    if name not in (column_names(rows) or ()):
        raise LogicLensError(f"the rows have no column {name!r} to compare subgroups by.")
    return parted(rows, name)[1]
