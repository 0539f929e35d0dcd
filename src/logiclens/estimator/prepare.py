"""From the arguments of `fit` to tables of concepts: the split, the cuts fitted on the training rows, the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable, checked_weight
from logiclens.concepts.splits import DistinctRows, Parcels, distinct_rows, set_apart, split_groups
from logiclens.errors import LogicLensError, NoConcepts
from logiclens.estimator.inputs import (
    CutsOn,
    Labels,
    Prepared,
    Schema,
    SetAside,
    about,
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
from logiclens.explain.thresholds import sharper_cuts
from logiclens.formula.counted_rows import counting_weight
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.formula.target_cuts import TargetCuts, checked_numbers, cut_at, cut_at_quantiles
from logiclens.progress import Progress
from logiclens.tables.frames import Column, column_names, columns_of, label_array
from logiclens.train.committee import CutRows, GroupedRows, n_groups_for

CUTTING = "cutting columns"
"""What progress calls the cutting of raw columns into concepts."""


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
    shares: tuple[float, float],
    seed: int,
    cuts_on: CutsOn = "train",
    committee: int | None = 0,
    teacher: Any = None,
    target: TargetSettings = NO_CUTS,
    split_by_time: str | None = None,
    groups: Any = None,
) -> Prepared:
    """Check the arguments of `fit` and split the rows.

    The first of `shares` is the share of rows that is held out. For one network, the second is the share of the rest
    that chooses the epoch, unless `held_out` does. For a committee of any size but 0 the rest is split into groups; see
    `logiclens.train.committee`. `target` says how a target of numbers is cut into classes. With `split_by_time` the
    latest rows by this column are held out. `groups`, or else rows and their copies, are on one side of every split.
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
        share = 0.0 if cuts_on == "all" else shares[0]
        cut = _CutTarget.of(
            labels, weight, target, raw, share=share, seed=seed, split_by_time=split_by_time, groups=numbers
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
            shares=shares,
            seed=seed,
            positional=raw.positional,
            committee=committee,
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
        aside, by_time = latest_aside(
            raw.columns, split_by_time, known, distinct, shares[0], by_groups=groups is not None
        )
    elif not target.asked:
        own = None if strata is None else strata[distinct.first]
        aside = set_apart(own, distinct.weight, shares[0], distinct.unit)
    if groups is not None:
        check_groups(distinct, known, aside, shares[0])
    if split_by_time is None and shares[0] and booleaniser is not None:
        by_time = random_split_note(raw.columns)
    note = split_note(known.codes[distinct.first], distinct.weight, aside, shares[0], known.names)
    if note is None and groups is not None:
        note = lone_class_note(distinct, known, aside)
    ready = _split(raw, known, distinct, aside, held_out, booleaniser, committee, shares[1])
    ready = replace(
        ready, note=note, time_note=by_time, unit_note=unit_note(distinct, known, groups),
        target_cuts=cut.cuts if target.asked else None,
    )  # fmt: skip
    if taught is None or committee == 0:
        return ready
    told = _over_copies(taught, distinct)
    return replace(ready, taught=told[:, distinct.weight > aside], taught_aside=told[:, aside > 0])


def copy_numbers(rows: Any, classes: NDArray[np.intp], booleaniser: Booleaniser | None) -> NDArray[np.intp] | None:
    """Return a number that each row of a table shares with its copies only; None if no row is a copy."""
    weight = np.ones(len(classes))
    raw, _ = _Raw.of(rows, booleaniser is not None).usable(booleaniser, classes, weight)
    distinct = distinct_rows(raw.dealt_by(None), classes.reshape(-1, 1), weight, seed=0, strata=classes)
    if not distinct.n_copies:
        return None
    unit = distinct.unit[distinct.copy_of]
    return np.where(unit >= 0, unit, len(distinct) + np.arange(len(unit)))


def _split(
    raw: _Raw,
    known: Labels,
    distinct: DistinctRows,
    aside: NDArray[np.float64],
    held_out: tuple[Any, Any] | None,
    booleaniser: Booleaniser | None,
    committee: int | None,
    validation: float,
) -> Prepared:
    """Return the rows that are not held out as concepts: in groups for a committee, else with validation rows."""
    if committee != 0:
        return _in_groups(raw, known, distinct, aside, held_out, booleaniser, committee)
    kinds = known.codes.reshape(len(known.codes), -1)
    strata = None if known.codes.ndim == 2 else known.codes[distinct.first]
    held = np.zeros(len(distinct))
    if held_out is None:
        held = set_apart(strata, distinct.weight - aside, validation, distinct.unit)
    train = distinct.weight - aside - held
    columns = [column.take(distinct.first) for column in raw.columns]
    classes = kinds[distinct.first]
    fitted = None
    if booleaniser is not None:
        trains = train > 0
        n_classes = 2 if known.codes.ndim == 2 else len(known.classes)
        parts = [column.take(trains) for column in columns]
        fitted = booleaniser.fit_columns(parts, classes[trains], n_classes, train[trains])
    schema = raw.schema(known, fitted)
    codes = known.codes[distinct.first]
    values = raw.values[distinct.first] if fitted is None else fitted.cutting_.values(columns)
    everything = _table(schema, values, codes, distinct.weight)
    ready = Prepared(
        everything.weighing(train + held),
        everything.weighing(train),
        everything.weighing(held) if held.any() else None,
        _set_aside(everything, raw, distinct, aside),
        known.classes,
        schema,
        fitted,
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


def _in_groups(
    raw: _Raw,
    known: Labels,
    distinct: DistinctRows,
    aside: NDArray[np.float64],
    held_out: tuple[Any, Any] | None,
    booleaniser: Booleaniser | None,
    committee: int | None,
) -> Prepared:
    """Return rows in groups for a committee, and held-out rows."""
    weight = distinct.weight - aside
    used = np.flatnonzero(weight > 0)
    codes, weight = known.codes[distinct.first[used]], _in_rows(weight[used], distinct.each)
    strata = None if codes.ndim == 2 else codes
    # With several labels each is a yes/no question.
    n_classes = len(known.classes) if strata is not None else 2
    unit = distinct.unit[used]
    n_groups = min(
        n_groups_for(committee, _rarest(codes, len(known.classes), weight, unit), n_classes),
        max(1, int(Parcels.of(None, weight, unit).size.sum())),
    )
    groups = split_groups(strata, weight, n_groups, unit)
    cutter = Cutter(raw, known, distinct.first[used], codes, weight, booleaniser, held_out)
    grouped = replace(cutter.grouped(groups), alone=committee == 1, unit=unit)
    everything, (schema, fitted) = grouped.cut, cutter.everything
    set_aside = None
    if aside.any():
        places = distinct.first
        values = raw.values[places] if fitted is None else fitted.cutting_.values([c.take(places) for c in raw.columns])
        whole = _table(schema, values, known.codes[places], distinct.weight)
        set_aside = _set_aside(whole, raw, distinct, aside)
    return Prepared(
        everything.table, everything.table, everything.validation, set_aside, known.classes, schema, fitted, grouped
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Cutter:
    """Cuts training rows into concepts, fitted on all of them or without some.

    Attributes:
        raw: the table given to `fit`.
        known: its labels.
        places: the positions of the rows in the table.
        codes: the classes of the rows.
        weight: the weights of the rows.
        booleaniser: the booleaniser to fit; None if columns are concepts.
        held_out: rows and labels that choose the epoch. Default: None.
    """

    raw: _Raw
    known: Labels
    places: NDArray[np.intp]
    codes: NDArray[Any]
    weight: NDArray[np.float64]
    booleaniser: Booleaniser | None
    held_out: tuple[Any, Any] | None = None

    @cached_property
    def columns(self) -> list[Column]:
        """The raw columns of the rows."""
        return [column.take(self.places) for column in self.raw.columns]

    def fitted(self, train: NDArray[np.float64]) -> tuple[Schema, Booleaniser | None]:
        """Return the cuts fitted on the rows of positive weight only."""
        made = None
        if self.booleaniser is not None:
            trains = train > 0
            parts = [column.take(trains) for column in self.columns]
            kinds = self.codes.reshape(len(self.weight), -1)[trains]
            n_classes = 2 if self.codes.ndim == 2 else len(self.known.classes)
            made = clone(self.booleaniser).fit_columns(parts, kinds, n_classes, train[trains])
            parts = made.with_parts(parts)
            sharper = sharper_cuts(made, parts, kinds, n_classes, train[trains])
            made = made.sharpened(sharper, parts, kinds, n_classes, train[trains])
        return self.raw.schema(self.known, made), made

    @cached_property
    def everything(self) -> tuple[Schema, Booleaniser | None]:
        """The cuts fitted on all rows."""
        return self.fitted(self.weight)

    def cut(self, train: NDArray[np.float64]) -> CutRows:
        """Return all rows as concepts fitted on the rows of positive weight."""
        schema, made = self.everything if train is self.weight else self.fitted(train)
        values = self.raw.values[self.places] if made is None else made.cutting_.values(self.columns)
        held = None
        if self.held_out is not None:
            codes = class_codes(self.held_out[1], schema.multilabel, self.known.classes)
            held = schema.table(self.held_out[0], codes)
        return CutRows(_table(schema, values, self.codes, self.weight), held, about(schema.predicates), schema.cutting)

    def grouped(self, groups: NDArray[np.float64]) -> GroupedRows:
        """Return the rows in groups, cut on all rows, and for each group cut again without it."""
        again = self.booleaniser is not None and len(groups) > 1
        without: list[CutRows] = []
        with Progress(1 + len(groups) if again else 1, CUTTING) as progress:
            everything = self.cut(self.weight)
            for group in groups if again else ():
                progress.update(1 + len(without))
                without.append(self._cut_without(group, everything))
        return GroupedRows(everything, groups, tuple(without))

    def _cut_without(self, group: NDArray[np.float64], everything: CutRows) -> CutRows:
        try:
            return self.cut(self.weight - group)
        except NoConcepts:
            # Without these rows no column varies, so there is no concept for a rule.
            table, held = everything.table, everything.validation
            return CutRows(table.naming(()), None if held is None else held.naming(()), everything.about)


def _in_rows(weight: NDArray[np.float64], each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of distinct rows as numbers of rows; weights that are not counts may have any scale.

    `each` are the weights of single rows. If all are equal, each row counts once.
    """
    scaled = weight * (counting_weight(each).sum() / each.sum())
    whole: NDArray[np.float64] = np.round(scaled)
    return whole if np.abs(scaled - whole).max() < 1e-6 else scaled


def _rarest(codes: NDArray[Any], n_classes: int, weight: NDArray[np.float64], unit: NDArray[np.intp]) -> float:
    """Return the number of rows, or of units, of the rarest class; with several labels, of the rarest answer."""
    parcels = Parcels.of(None, weight, unit)
    if codes.ndim == 1:
        return min(parcels.count(codes == klass) for klass in range(n_classes))
    sizes = [parcels.count(column == answer) for column in codes.T for answer in (0, 1)]
    # A label that all rows have, or none, cannot be in every group.
    return min(size for size in sizes if size > 0)


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
    return ConceptTable(
        values, schema.names, codes, schema.class_names, groups.exclusive, weight, groups.implied, schema.literals
    )


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
    if ready.grouped is not None:
        grouped = replace(ready.grouped, cut=replace(ready.grouped.cut, validation=held))
        return replace(ready, validation=held, grouped=grouped)
    return replace(ready, table=ready.table.append(held), validation=held)


def as_frame(table: ConceptTable, index: Any = None) -> pd.DataFrame:
    """Return a table of concepts as a frame."""
    return pd.DataFrame(table.values, columns=list(table.names), index=index)
