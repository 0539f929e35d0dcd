"""From the arguments of `fit` to tables of concepts: the split, the cuts fitted on the training rows, the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable, checked_weight
from logiclens.concepts.splits import DistinctRows, distinct_rows, set_apart, split_groups
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
    checked_held_out,
    class_codes,
    known_labels,
    split_note,
)
from logiclens.estimator.on_engine import prepare_counted
from logiclens.explain.thresholds import sharper_cuts
from logiclens.formula.counted_rows import counting_weight
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate
from logiclens.tables.frames import Column, column_names, columns_of
from logiclens.train.committee import CutRows, GroupedRows, n_groups_for


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
) -> Prepared:
    """Check the arguments of `fit` and split the rows.

    The first of `shares` is the share of rows that is held out. For one network, the second is the share of the rest
    that chooses the epoch, unless `held_out` does. For a committee of any size but 0 the rest is split into groups; see
    `logiclens.train.committee`.
    """
    held_out = checked_held_out(held_out)
    raw = _Raw.of(rows, booleaniser is not None)
    weight = checked_weight(raw.weight if sample_weight is None else sample_weight, len(raw.columns[0]))
    if len(weight) == 0:
        # scikit-learn's tests expect the first words.
        raise LogicLensError("Found array with 0 sample(s) while a minimum of 1 is required: the table has no rows.")
    known = known_labels(labels, weight)
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
        )
        return ready if held_out is None else _with_held_out(ready, held_out)
    kinds = known.codes.reshape(len(weight), -1)
    distinct = distinct_rows(raw.columns, kinds, weight, seed=seed)
    strata = None if known.codes.ndim == 2 else known.codes[distinct.first]
    aside = set_apart(strata, distinct.weight, shares[0])
    note = split_note(known.codes[distinct.first], distinct.weight, aside, shares[0], known.names)
    if committee != 0:
        ready = replace(_in_groups(raw, known, distinct, aside, held_out, booleaniser, committee), note=note)
        if taught is None:
            return ready
        told = _over_copies(taught, distinct)
        return replace(ready, taught=told[:, distinct.weight > aside], taught_aside=told[:, aside > 0])
    held = set_apart(strata, distinct.weight - aside, shares[1]) if held_out is None else np.zeros(len(distinct))
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
        _set_aside(everything, columns, distinct, aside),
        known.classes,
        schema,
        fitted,
        note=note,
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
    n_groups = n_groups_for(committee, _rarest(codes, len(known.classes), weight), n_classes)
    groups = split_groups(strata, weight, n_groups)
    cutter = Cutter(raw, known, distinct.first[used], codes, weight, booleaniser, held_out)
    grouped = replace(cutter.grouped(groups), alone=committee == 1)
    everything, (schema, fitted) = grouped.cut, cutter.everything
    set_aside = None
    if aside.any():
        places = distinct.first
        values = raw.values[places] if fitted is None else fitted.cutting_.values([c.take(places) for c in raw.columns])
        whole = _table(schema, values, known.codes[places], distinct.weight)
        set_aside = _set_aside(whole, [column.take(places) for column in raw.columns], distinct, aside)
    return Prepared(
        everything.table, everything.table, everything.validation, set_aside, known.classes, schema, fitted, grouped
    )


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
        return CutRows(_table(schema, values, self.codes, self.weight), held, about(schema.predicates))

    def grouped(self, groups: NDArray[np.float64]) -> GroupedRows:
        """Return the rows in groups, cut on all rows, and for each group cut again without it."""
        everything = self.cut(self.weight)
        again = self.booleaniser is not None and len(groups) > 1
        without = tuple(self._cut_without(group, everything) for group in groups) if again else ()
        return GroupedRows(everything, groups, without)

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


def _rarest(codes: NDArray[Any], n_classes: int, weight: NDArray[np.float64]) -> float:
    """Return the number of rows of the rarest class; with several labels, of the rarest answer."""
    copies = weight if (weight == np.round(weight)).all() else np.ones(len(weight))
    if codes.ndim == 1:
        return float(np.bincount(codes, copies, minlength=n_classes).min())
    yes = copies @ codes
    sizes = np.concatenate([yes, copies.sum() - yes])
    # A label that all rows have, or none, cannot be in every group.
    return float(sizes[sizes > 0].min())


@dataclass(frozen=True, eq=False)
class _Raw:
    """The table given to `fit` as columns; if it holds concepts, their values too."""

    columns: tuple[Column, ...]
    values: NDArray[Any]
    names: tuple[str, ...]
    groups: Groups
    predicates: Mapping[str, Predicate]
    weight: NDArray[np.float64] | None = None
    positional: bool = False

    @classmethod
    def of(cls, rows: Any, is_raw: bool) -> _Raw:
        if is_raw:
            columns = columns_of(rows)
            names = tuple(column.name for column in columns)
            return cls(columns, np.zeros(0), names, Groups(), {}, positional=column_names(rows) is None)
        predicates = bare_predicates(rows)
        table = rows if isinstance(rows, ConceptTable) else ConceptTable(rows)
        columns = tuple(
            Column(name, "number", table.values[:, j].astype(np.float64)) for j, name in enumerate(table.names)
        )
        return cls(columns, table.values, table.names, table.groups, predicates, table.weight)

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


def _table(schema: Schema, values: NDArray[Any], codes: NDArray[Any], weight: NDArray[np.float64]) -> ConceptTable:
    groups = schema.groups
    return ConceptTable(
        values, schema.names, codes, schema.class_names, groups.exclusive, weight, groups.implied, schema.literals
    )


def _set_aside(
    everything: ConceptTable, columns: Sequence[Column], distinct: DistinctRows, aside: NDArray[np.float64]
) -> SetAside | None:
    if not aside.any():
        return None
    taken = aside > 0
    return SetAside(everything.weighing(aside), tuple(column.take(taken) for column in columns), distinct.copies(aside))


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
