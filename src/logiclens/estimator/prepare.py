"""From the arguments of `fit` to tables of concepts: the split, the cuts fitted on the training rows, the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable, checked_weight
from logiclens.concepts.splits import DistinctRows, distinct_rows, set_apart
from logiclens.errors import LogicLensError
from logiclens.estimator.inputs import (
    CutsOn,
    Labels,
    Prepared,
    Schema,
    SetAside,
    answers_of,
    bare_predicates,
    check_groups,
    checked_held_out,
    class_codes,
    group_numbers,
    known_labels,
    latest_aside,
    lone_class_note,
    random_split_note,
    split_note,
    unit_note,
)
from logiclens.estimator.on_engine import prepare_counted
from logiclens.formula.counted_rows import counting_weight
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.target_cuts import TargetCuts, checked_numbers, cut_at, cut_at_quantiles
from logiclens.tables.frames import Column, column_names, columns_of, label_array


@dataclass(frozen=True)
class TargetSettings:
    """How a target of numbers is cut into classes: at a value, or into classes of equal size; both None: it is not."""

    above: float | None = None
    quantiles: int | None = None

    @property
    def asked(self) -> bool:
        """Whether the target is cut."""
        return self.above is not None or self.quantiles is not None

    def names(self, labels: Any, weight: NDArray[np.float64]) -> tuple[str, ...]:
        """Return the names of the classes that the target is cut into, in the order of classes."""
        numbers = checked_numbers(label_array(labels, len(weight)))[weight > 0]
        if self.above is not None:
            return tuple(sorted(cut_at(float(self.above), numbers).names))
        return tuple(sorted(cut_at_quantiles(int(self.quantiles or 0), numbers, weight[weight > 0]).names))


NO_CUTS = TargetSettings()


@dataclass(frozen=True, eq=False)
class _CutTarget:
    """A target of numbers with its cuts, and the split that they were found on.

    Rows are held out before quantiles are computed, so that held-out rows choose nothing. The split needs classes of
    about equal size, for which those of all rows serve; rows are distinct by their number, not by their class.
    """

    numbers: NDArray[np.float64]
    cuts: TargetCuts
    distinct: DistinctRows
    aside: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        labels: Any,
        weight: NDArray[np.float64],
        target: TargetSettings,
        raw: _Raw,
        *,
        share: float,
        seed: int,
        split_by_time: str | None = None,
        groups: NDArray[np.intp] | None = None,
    ) -> _CutTarget:
        numbers = checked_numbers(label_array(labels, len(weight)))
        if target.above is not None:
            cuts = cut_at(float(target.above), numbers[weight > 0])
        else:
            cuts = cut_at_quantiles(int(target.quantiles or 0), numbers[weight > 0], weight[weight > 0])
        strata = np.searchsorted(cuts.thresholds, numbers, side="right")
        kinds = strata if target.above is not None else np.unique(numbers, return_inverse=True)[1]
        dealt = raw.dealt_by(split_by_time)
        distinct = distinct_rows(dealt, kinds.reshape(-1, 1), weight, seed=seed, strata=strata, groups=groups)
        own = numbers[distinct.first]
        if split_by_time is None:
            aside = set_apart(strata[distinct.first], distinct.weight, share, distinct.unit)
        else:
            known = known_labels(cuts.labels(numbers), weight)
            aside, _ = latest_aside(raw.columns, split_by_time, known, distinct, share, by_groups=groups is not None)
        if target.quantiles is not None and aside.any():
            trains = distinct.weight > aside
            cuts = cut_at_quantiles(int(target.quantiles), own[trains], (distinct.weight - aside)[trains])
        return cls(numbers, cuts, distinct, aside)


def prepare(
    rows: Any,
    labels: Any,
    sample_weight: ArrayLike | None,
    held_out: tuple[Any, Any] | None,
    *,
    booleaniser: Booleaniser | None,
    share: float,
    seed: int,
    cuts_on: CutsOn = "train",
    teacher: Any = None,
    target: TargetSettings = NO_CUTS,
    split_by_time: str | None = None,
    groups: Any = None,
) -> Prepared:
    """Check the arguments of `fit` and split the rows.

    `share` is the share of rows that is held out. `target` says how a target of numbers is cut into classes. With
    `split_by_time` the latest rows by this column are held out. `groups`, or else rows and their copies, are on one
    side of every split.
    """
    held_out = checked_held_out(held_out)
    raw = _Raw.of(rows, booleaniser is not None)
    weight = checked_weight(raw.weight if sample_weight is None else sample_weight, len(raw.columns[0]))
    if len(weight) == 0:
        # scikit-learn's tests expect the first words.
        raise LogicLensError("Found array with 0 sample(s) while a minimum of 1 is required: the table has no rows.")
    numbers = None if groups is None else group_numbers(groups, len(weight))
    if numbers is not None and cuts_on == "all":
        raise LogicLensError('cuts_on="all" counts rows whatever their group: use cuts_on="train" with groups.')
    if target.asked:
        if cuts_on != "all":
            raw, booleaniser = raw.usable(booleaniser, checked_numbers(label_array(labels, len(weight))), weight)
        own_share = 0.0 if cuts_on == "all" else share
        cut = _CutTarget.of(
            labels, weight, target, raw, share=own_share, seed=seed, split_by_time=split_by_time, groups=numbers
        )
        labels = cut.cuts.labels(cut.numbers)
        if held_out is not None:
            held_out = (held_out[0], cut.cuts.labels(label_array(held_out[1])))
    known = known_labels(labels, weight)
    if not target.asked and cuts_on != "all":
        raw, booleaniser = raw.usable(booleaniser, known.codes, weight)
    taught = None if teacher is None else _answers(teacher, rows, known)
    if cuts_on == "all":
        if taught is not None:
            raise LogicLensError('a teacher answers raw rows, which cuts_on="all" counts: use cuts_on="train".')
        ready = prepare_counted(
            raw.columns,
            known,
            weight,
            booleaniser=booleaniser,
            share=share,
            seed=seed,
            positional=raw.positional,
            names=raw.names,
        )
        ready = replace(ready, target_cuts=cut.cuts if target.asked else None)
        return ready if held_out is None else _with_held_out(ready, held_out)
    kinds = known.codes.reshape(len(weight), -1)
    strata = None if known.codes.ndim == 2 else known.codes
    if target.asked:
        distinct, aside = cut.distinct, cut.aside
    else:
        dealt = raw.dealt_by(split_by_time)
        distinct = distinct_rows(dealt, kinds, weight, seed=seed, strata=strata, groups=numbers)
    by_time = None
    if split_by_time is not None:
        aside, by_time = latest_aside(raw.columns, split_by_time, known, distinct, share, by_groups=groups is not None)
    elif not target.asked:
        own = None if strata is None else strata[distinct.first]
        aside = set_apart(own, distinct.weight, share, distinct.unit)
    if groups is not None:
        check_groups(distinct, known, aside, share)
    if split_by_time is None and share and booleaniser is not None:
        by_time = random_split_note(raw.columns)
    note = split_note(known.codes[distinct.first], distinct.weight, aside, share, known.names)
    if note is None and groups is not None:
        note = lone_class_note(distinct, known, aside)
    recut = partial(_as_concepts, raw, known, distinct, aside, held_out)
    ready = replace(recut(booleaniser), recut=recut)
    ready = replace(
        ready, note=note, time_note=by_time, unit_note=unit_note(distinct, known, groups),
        target_cuts=cut.cuts if target.asked else None,
    )  # fmt: skip
    if taught is None:
        return ready
    answers = _over_copies(taught, distinct)
    return replace(ready, taught=answers[:, distinct.weight > aside], taught_aside=answers[:, aside > 0])


def copy_numbers(rows: Any, classes: NDArray[np.intp], booleaniser: Booleaniser | None) -> NDArray[np.intp] | None:
    """Return a number that each row of a table shares with its copies only; None if no row is a copy."""
    weight = np.ones(len(classes))
    raw, _ = _Raw.of(rows, booleaniser is not None).usable(booleaniser, classes, weight)
    distinct = distinct_rows(raw.dealt_by(None), classes.reshape(-1, 1), weight, seed=0, strata=classes)
    if not distinct.n_copies:
        return None
    unit = distinct.unit[distinct.copy_of]
    return np.where(unit >= 0, unit, len(distinct) + np.arange(len(unit)))


def _as_concepts(
    raw: _Raw,
    known: Labels,
    distinct: DistinctRows,
    aside: NDArray[np.float64],
    held_out: tuple[Any, Any] | None,
    booleaniser: Booleaniser | None,
) -> Prepared:
    """Return the rows as concepts, with the cuts found on those that are not held out."""
    train = distinct.weight - aside
    trains = train > 0
    columns = [column.take(distinct.first) for column in raw.columns]
    training = [column.take(trains) for column in columns]
    fitted = None
    if booleaniser is not None:
        fitted = booleaniser.without_near_copies(training, train[trains]).fit_columns(training, train[trains])
    schema = raw.schema(known, fitted)
    values = raw.values[distinct.first] if fitted is None else fitted.cutting_.values(columns)
    everything = _table(schema, values, known.codes[distinct.first], distinct.weight)
    ready = Prepared(
        everything.weighing(_in_rows(train, distinct.each)),
        None,
        _set_aside(everything, raw, distinct, aside),
        known.classes,
        schema,
        fitted,
        unit=distinct.unit[trains],
        columns=tuple(training),
    )
    return ready if held_out is None else _with_held_out(ready, held_out)


def _answers(teacher: Any, rows: Any, known: Labels) -> NDArray[np.float64]:
    if known.codes.ndim == 2:
        raise LogicLensError("a teacher answers with one class per row: leave it out with several labels.")
    return answers_of(teacher, rows, known.classes)


def _over_copies(taught: NDArray[np.float64], distinct: DistinctRows) -> NDArray[np.float64]:
    """Return mean probability and mean answer over the copies of each distinct row, `[2, rows, classes]`.

    A teacher may use other columns than the table has, so its answers on equal rows may differ.
    """
    said = np.eye(taught.shape[1])[taught.argmax(axis=1)]
    means = [
        [np.bincount(distinct.copy_of, distinct.each * column[distinct.places]) / distinct.weight for column in kind.T]
        for kind in (taught, said)
    ]
    return np.array(means).transpose(0, 2, 1)


def _in_rows(weight: NDArray[np.float64], each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of distinct rows as numbers of rows; weights that are not counts may have any scale.

    `each` are the weights of single rows. If all are equal, each row counts once.
    """
    scaled = weight * (counting_weight(each).sum() / each.sum())
    whole: NDArray[np.float64] = np.round(scaled)
    return whole if np.abs(scaled - whole).max() < 1e-6 else scaled


@dataclass(frozen=True, eq=False)
class _Raw:
    """The table given to `fit` as columns; if it holds concepts, their values too.

    Named columns are in the order of their names, since their order in the table must not matter; `names` are in the
    order of the table. `left_out` are columns that become no concepts, and by which rows are not dealt out.
    """

    columns: tuple[Column, ...]
    values: NDArray[Any]
    names: tuple[str, ...]
    groups: Groups
    predicates: Mapping[str, Predicate]
    weight: NDArray[np.float64] | None = None
    positional: bool = False
    left_out: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rows: Any, is_raw: bool) -> _Raw:
        if is_raw:
            columns = columns_of(rows)
            names, positional = tuple(column.name for column in columns), column_names(rows) is None
            if not positional:
                columns = tuple(sorted(columns, key=_name))
            return cls(columns, np.zeros(0), names, Groups(), {}, positional=positional)
        predicates = bare_predicates(rows)
        table = rows if isinstance(rows, ConceptTable) else ConceptTable(rows)
        columns = tuple(
            Column(name, "number", table.values[:, j].astype(np.float64)) for j, name in enumerate(table.names)
        )
        positional = not isinstance(rows, ConceptTable) and column_names(rows) is None
        return cls(columns, table.values, table.names, table.groups, predicates, table.weight, positional)

    def usable(
        self, booleaniser: Booleaniser | None, labels: NDArray[Any], weight: NDArray[np.float64]
    ) -> tuple[_Raw, Booleaniser | None]:
        """Return the table, and the booleaniser, with the columns that can become no concepts left out."""
        if booleaniser is None:
            there = weight > 0
            constant = (column.name for column in self.columns if len(np.unique(column.values[there])) < 2)
            return replace(self, left_out=frozenset(constant)), None
        kinds = np.unique(labels, return_inverse=True, axis=0)[1].reshape(-1, 1)
        reasons: dict[str, str] = {}
        while True:
            # Without an identifier rows are equal that were not, and another column may identify these.
            left = [column for column in self.columns if column.name not in reasons]
            distinct = distinct_rows(left, kinds, weight, seed=0)
            found = booleaniser.unusable([column.take(distinct.first) for column in self.columns], distinct.weight)
            if found.keys() <= reasons.keys():
                return replace(self, left_out=frozenset(reasons)), booleaniser.leaving_out(reasons)
            reasons = found | reasons

    def dealt_by(self, time: str | None) -> list[Column]:
        """Return the columns that rows are dealt out by: those that learning may use, and the column of time."""
        dealt = [column for column in self.columns if column.name not in self.left_out or column.name == time]
        return dealt if self.positional else sorted(dealt, key=_name)

    def schema(self, known: Labels, fitted: Booleaniser | None) -> Schema:
        multilabel = known.codes.ndim == 2
        if fitted is None:
            return Schema(self.names, known.names, self.groups, multilabel, self.predicates)
        cutting = fitted.cutting_
        return Schema(
            cutting.names,
            known.names,
            cutting.groups,
            multilabel,
            cutting.predicates,
            cutting,
            self.names,
            self.positional,
        )


def _name(column: Column) -> str:
    return column.name


def _table(schema: Schema, values: NDArray[Any], codes: NDArray[Any], weight: NDArray[np.float64]) -> ConceptTable:
    groups = schema.groups
    return ConceptTable(values, schema.names, codes, schema.class_names, groups.exclusive, weight, groups.implied)


def _set_aside(
    everything: ConceptTable, raw: _Raw, distinct: DistinctRows, aside: NDArray[np.float64]
) -> SetAside | None:
    if not aside.any():
        return None
    copies = distinct.copies(aside)
    columns = tuple(column.take(copies.places) for column in raw.columns)
    return SetAside(everything.weighing(aside), columns, copies, distinct.worth(aside))


def _with_held_out(ready: Prepared, held_out: tuple[Any, Any]) -> Prepared:
    """Return the prepared rows with validation rows that the caller passed."""
    codes = class_codes(held_out[1], ready.schema.multilabel, ready.classes)
    held = ready.schema.table(held_out[0], codes)
    return replace(ready, validation=held)


def as_frame(table: ConceptTable, index: Any = None) -> pd.DataFrame:
    """Return a table of concepts as a frame."""
    return pd.DataFrame(table.values, columns=list(table.names), index=index)
