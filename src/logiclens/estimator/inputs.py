"""Validation of what `fit` and `predict` are given: tables, labels, a teacher; and the schema of the concepts."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Copies, DistinctRows, latest_rows
from logiclens.errors import LogicLensError, no_column, quoted, quoted_names
from logiclens.formula.column_kinds import KINDS, NUMBER, TRUTH_VALUE, Scalar, is_missing
from logiclens.formula.condition import CONCEPT, ZERO_ONE
from logiclens.formula.groups import Groups
from logiclens.formula.packed_rows import as_array
from logiclens.formula.predicate import Predicate
from logiclens.formula.target_cuts import (
    MOST_CLASSES,
    ROWS_PER_VALUE,
    TargetCuts,
    is_measurement,
    number_text,
    suggested_cut,
)
from logiclens.metrics.rule_statistics import coded
from logiclens.tables.frames import Column, column_names, columns_of, label_array, named_frame, parted
from logiclens.words import count_with_noun, percent


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as class numbers (or a 0/1 matrix), the classes they stand for, and their names."""

    codes: NDArray[Any]
    classes: NDArray[Any]
    names: tuple[str, ...]


def known_labels(labels: Any, weight: NDArray[np.float64]) -> Labels:
    """Return the labels of the training rows; the classes are those of rows with a positive weight."""
    y = _checked_labels(labels, len(weight))
    if y.ndim == 2:
        names = tuple(str(name) for name in column_names(labels) or range(y.shape[1]))
        return Labels(y, np.arange(y.shape[1]), names)
    classes = np.unique(y[weight > 0])
    _check_few(y, len(classes))
    # A label that only rows of weight 0 have gets an arbitrary code.
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if len(classes) == 1:
        only = quoted(classes.tolist()[0])
        raise LogicLensError(f"all rows have one class, {only}: at least two classes are needed.")
    return Labels(codes, classes, tuple(str(c) for c in classes.tolist()))


def bare_predicates(concepts: Any) -> dict[str, Predicate]:
    """Return the meaning of concepts that are Boolean columns; others are true from 0.5 on and need no entry."""
    if not isinstance(concepts, pd.DataFrame):
        return {}
    return {
        str(name): Predicate(str(name), "==", True)
        for name, kind in zip(concepts.columns, concepts.dtypes, strict=True)
        if pd.api.types.is_bool_dtype(kind)
    }


def _checked_labels(labels: Any, n_rows: int | None = None) -> NDArray[Any]:
    """Return labels as an array: one class for each row, or a matrix of 0 and 1."""
    y = label_array(labels, n_rows)
    if y.ndim == 2 and y.shape[1] == 1:
        # A frame with one column holds one label per row.
        warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, stacklevel=4)
        y = y[:, 0]
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y).reshape(len(y), -1).all(axis=1))[0])
        raise LogicLensError(f"the label of row {row} is infinite: labels must be classes.")
    numbers = _as_numbers(y)
    if numbers is not None and is_measurement(numbers):
        cut = number_text(suggested_cut(numbers))
        example = number_text(float(next((value for value in numbers if value != np.round(value)), numbers[0])))
        # scikit-learn's tests expect the first words.
        raise LogicLensError(
            f"Unknown label type: continuous. Labels must be classes, these are measurements such as {example}: cut "
            f"them with EntropyClassifier(above={cut}) (at least {cut}, or below), or with quantiles=3 (three classes "
            "of equal size)."
        )
    if y.dtype.kind == "f" and not (y == np.round(y)).all():
        raise LogicLensError("several labels per row must be a matrix of 0 and 1, with one column for each label.")
    if y.ndim == 1:
        return y
    if y.shape[1] == 0 or y.dtype.kind not in "biufO" or not np.isin(y, (0, 1)).all():
        raise LogicLensError("several labels per row must be a matrix of 0 and 1, with one column for each label.")
    return y if y.dtype.kind in "biu" else y.astype(np.int64)


def _as_numbers(labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return labels that are all numbers, whatever holds them; None for any others."""
    if labels.ndim != 1 or labels.dtype.kind in "iuf":
        return labels if labels.ndim == 1 else None
    cells = labels.tolist() if labels.dtype.kind == "O" else []
    is_numeric = all(isinstance(cell, Real | Decimal) and not isinstance(cell, bool) for cell in cells)
    return np.array(list(map(float, cells))) if cells and is_numeric else None


def _check_few(labels: NDArray[Any], n_classes: int) -> None:
    """Refuse texts or dates of which nearly every row has another one."""
    if _as_numbers(labels) is None and n_classes > MOST_CLASSES and len(labels) < ROWS_PER_VALUE * n_classes:
        told = f"labels must be classes: these are {n_classes:,} different values in {len(labels):,} rows, such as"
        raise LogicLensError(
            f"{told} {quoted(labels.tolist()[0])}. Sum them up in a few classes; numbers that are texts need to be "
            "numbers first, then EntropyClassifier(above=...) or quantiles=3 cuts them."
        )


def class_codes(labels: Any, multilabel: bool, classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as the class numbers of a fitted estimator."""
    y = _checked_labels(labels)
    if multilabel:
        return y
    unknown = _not_among(y, classes) if y.ndim == 1 else y
    if len(unknown):
        raise LogicLensError(f"the label {quoted(unknown.tolist()[0])} was not among the training labels.")
    return np.searchsorted(classes, y)


def _not_among(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    if "O" not in (labels.dtype.kind, classes.dtype.kind):
        return labels[~np.isin(labels, classes)]
    # NumPy would compare objects with texts without the NULs at their end.
    known = set(classes.tolist())
    return labels[[label not in known for label in labels.tolist()]]


def checked_held_out(held_out: Any) -> tuple[Any, Any] | None:
    """Return rows and labels that choose the epoch; refuse anything but a pair. The labels may be a column name."""
    if held_out is None:
        return None
    if not isinstance(held_out, tuple | list) or len(held_out) != 2 or any(part is None for part in held_out):
        raise LogicLensError(f"held_out must be a pair of rows and labels, (rows, labels), got {quoted(held_out)}.")
    return parted(held_out[0], held_out[1])


def group_numbers(groups: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the number of the group of each row; refuse a row without a group."""
    if isinstance(groups, str):
        raise LogicLensError(
            f"groups must have one entry for each row, got {quoted(groups)}: pass the column itself, and leave it out "
            "of the table."
        )
    known, numbers = coded(groups, n_rows, "group")
    if (gone := np.array([is_missing(group) for group in known], dtype=np.bool_)[numbers]).any():
        raise LogicLensError(
            f"the group of row {int(np.flatnonzero(gone)[0])} is missing: give every row a group, or leave out the "
            "rows without one."
        )
    return numbers


def unit_note(distinct: DistinctRows, known: Labels, groups: Any) -> str | None:
    """Return a sentence on the groups, or on the copies, that stay on one side of every split."""
    if groups is not None:
        name = getattr(groups, "name", None)
        of = "" if name is None else f" ({quoted(str(name))})"
        n_groups = distinct.unit.max() + 1
        n_given = len(pd.unique(pd.Series(np.asarray(groups))))
        joined = f", {n_given:,} before those that hold copies of one row were joined" if n_given > n_groups else ""
        note = (
            f"the rows are of {n_groups:,} groups{of}{joined}, and a group stays on one side of every split; "
            "intervals count rows, which may say too much where the rows of a group are alike."
        )
        if distinct.n_divided:
            note += (
                f" {distinct.n_divided:,} rows are copies of rows in other groups, so that held-out figures may be too "
                "good."
            )
        return note
    notes = []
    if distinct.n_copies:
        verb = "is a copy of another" if distinct.n_copies == 1 else "are copies of others"
        notes.append(
            f"{distinct.n_copies:,} of {len(distinct.places):,} rows {verb}, equal in the target and in all columns "
            "that rules may use: copies stay on one side of every split, and intervals do not count them as further "
            "rows."
        )
    divided = (distinct.unit < 0) & (np.bincount(distinct.copy_of) > 1)
    if known.codes.ndim == 1 and divided.any() and (distinct.unit >= 0).any():
        names = quoted_names([known.names[klass] for klass in np.unique(known.codes[distinct.first[divided]])])
        notes.append(f"all rows of class {names} are equal, so its held-out rows are not new to the rules.")
    return " ".join(notes) or None


def check_groups(distinct: DistinctRows, known: Labels, aside: NDArray[np.float64], share: float) -> None:
    """Refuse groups that are too few to be split, and held-out groups that have all rows of a class."""
    n_groups, least = int(distinct.unit.max()) + 1, 3 if share else 2
    if n_groups < least:
        held = " beside the held-out ones" if share else ""
        raise LogicLensError(
            f"the rows are of {count_with_noun(n_groups, 'group')}: at least {least} are needed, so that rules are "
            f"learned from one and chosen on another{held}."
        )
    check_classes_train(distinct, known, aside, "in the groups that are held out")


def lone_class_note(distinct: DistinctRows, known: Labels, aside: NDArray[np.float64]) -> str | None:
    """Return a sentence if all rows of a class that train are of one group, so that no inner split can hold it out."""
    trains = distinct.weight > aside
    codes, unit = known.codes[distinct.first][trains], distinct.unit[trains]
    yes = codes > 0 if codes.ndim == 2 else codes[:, None] == np.arange(len(known.names))
    lone = [name for name, rows in zip(known.names, yes.T, strict=True) if len(np.unique(unit[rows])) == 1]
    if not lone:
        return None
    return (
        f"all rows of class {quoted(lone[0])} that train are of one group: rules are chosen on the rows that they were "
        "learned from, and may be too long."
    )


def check_classes_train(distinct: DistinctRows, known: Labels, aside: NDArray[np.float64], where: str) -> None:
    """Refuse held-out rows that are all rows of a class; `where` says which rows they are."""
    codes, left = known.codes[distinct.first], distinct.weight - aside
    yes = codes if codes.ndim == 2 else np.eye(len(known.names))[codes]
    if len(gone := np.flatnonzero((left @ yes == 0) & (distinct.weight @ yes > 0))):
        raise LogicLensError(
            f"all rows of class {quoted(known.names[gone[0]])} are {where}: hold out a smaller share, or at random."
        )


FEW_TO_TRAIN = 5
"""A class with fewer training rows than this is hardly learned: the default of `min_support` asks for as many."""


def split_note(
    codes: NDArray[Any], weight: NDArray[np.float64], aside: NDArray[np.float64], share: float, names: Sequence[str]
) -> str | None:
    """Return a sentence if holding out rows leaves hardly any of a class to train on, or holds out none at all."""
    if share == 0:
        return None
    asked = f"set_aside={share:g} (--set-aside {share:g})"
    if not aside.any():
        return f"{asked} holds out no row of this table: set a larger share, or 0."
    whole = bool((weight == np.round(weight)).all())
    n_rows, n_aside = (weight, aside) if whole else ((weight > 0).astype(float), (aside > 0).astype(float))
    yes = codes if codes.ndim == 2 else np.eye(len(names))[codes]
    total, taken = n_rows @ yes, n_aside @ yes
    short = np.flatnonzero((taken > total / 2) & (total - taken < FEW_TO_TRAIN))
    if len(short) == 0:
        return None
    left = count_with_noun(int(total[short[0]] - taken[short[0]]), "row")
    return (
        f"{asked} leaves {left} of class {quoted(names[short[0]])} to train on, and holds out "
        f"{int(taken[short[0]]):,}: rules from so few rows mean little; set a smaller share."
    )


def random_split_note(columns: Sequence[Column]) -> str | None:
    """Return a sentence if rows were held out at random although a column of dates orders them."""
    dates = [column for column in columns if column.kind == "date" and len(np.unique(column.values)) >= FEW_MOMENTS]
    if not dates:
        return None
    name = dates[0].name
    return (
        f"rows were held out at random although {quoted(name)} orders them in time: if what holds changes over time, "
        f"later rows will be decided worse than measured here. split_by_time={name!r} (--split-by-time "
        f"{shlex.quote(name)}) holds out the latest rows instead."
    )


RARE = 0.1
"""A class of two is rare if fewer of the rows have it; of more classes, correspondingly fewer."""


def rarest_class(trained: ConceptTable) -> int | None:
    """Return the rarest class of the training rows, if it is rare."""
    weights = trained.class_weights()
    shares = weights / weights.sum()
    rare = int(shares.argmin())
    return rare if 0 < shares[rare] < RARE * 2 / len(shares) else None


def rarity_note(
    trained: ConceptTable, rare: int, table: ConceptTable, answers: NDArray[np.intp], rows: str, *, balanced: bool
) -> str | None:
    """Return how often a rare class is found, beside always giving the frequent answer, and what balancing trades.

    Args:
        trained: the training rows.
        rare: the rare class.
        table: the rows that are measured.
        answers: the class that the model gives each of them.
        rows: plural noun for them.
        balanced: whether the classes are weighted.

    Returns:
        One sentence; None where nothing is left to trade: all rows of the rare class are found, or all rows are right.
    """
    labels, weight, names = np.asarray(table.labels), table.weight, table.class_names
    weights = trained.class_weights()
    common, is_rare = int(weights.argmax()), labels == rare
    if (answers == labels)[... if balanced else is_rare].all():
        return None
    right = percent(float(np.average(answers == labels, weights=weight)))
    found = percent(float(np.average(answers[is_rare] == rare, weights=weight[is_rare])))
    always = percent(float(np.average(labels == common, weights=weight)))
    trade = 'with class_weight="balanced" (--balanced) a model usually finds more of them and is right less often'
    if balanced:
        trade = (
            'without class_weight="balanced" (--balanced) a model usually is right more often and finds fewer of them'
        )
    return (
        f"{quoted(names[rare])} is rare, {percent(float(weights[rare] / weights.sum()))} of the training rows: this "
        f"model is right on {right} of the {rows} and finds {found} of {quoted(names[rare])}; always answering "
        f"{quoted(names[common])} is right on {always} and finds none; {trade}."
    )


FEW_MOMENTS = 10
"""A column of dates with fewer values than this does not order rows."""


def latest_aside(
    columns: Sequence[Column], name: str, known: Labels, distinct: DistinctRows, share: float, *, by_groups: bool
) -> tuple[NDArray[np.float64], str]:
    """Return the weights of the latest rows, which are held out, and a sentence that says which they are.

    Groups are held out whole, from their latest row on.
    """
    column = next((column for column in columns if column.name == name), None)
    if column is None:
        raise no_column(name, [column.name for column in columns], "the table")
    kind = KINDS[column.kind]
    if column.is_nominal or kind is TRUTH_VALUE:
        raise LogicLensError(
            f"rows are split by time along dates or numbers, and {quoted(name)} holds {kind.plural}: name a column of "
            "dates."
        )
    latest = latest_rows(column.numbers[distinct.first], distinct.weight, share, distinct.unit)
    check_classes_train(distinct, known, latest.aside, f"among the latest {share:g} by {quoted(name)}")
    start = kind.plain(column.values[distinct.first][column.numbers[distinct.first] == latest.start][0])
    shown = kind.shown_cell(np.datetime64(str(start))) if column.kind == "date" else kind.shown_cell(start)
    note = f"the rows held out are the latest by {quoted(name)}, from {shown} on; all rows before it train."
    if by_groups:
        note = (
            f"the groups held out are those with a row from {shown} on by {quoted(name)}, the latest; all rows that "
            "train are before it."
        )
    if latest.n_missing:
        rows = count_with_noun(int(latest.n_missing), "row")
        note += f" {rows} without a value there {'trains' if latest.n_missing == 1 else 'train'} too."
    return latest.aside, note


def matched_columns(concepts: Any, names: tuple[str, ...]) -> Any:
    """Return the columns of a frame by the names of training; those of a matrix by position."""
    if isinstance(concepts, ConceptTable):
        concepts = pd.DataFrame(concepts.values, columns=list(concepts.names))
    concepts = named_frame(concepts)
    if hasattr(concepts, "columns"):
        place = {str(column): i for i, column in enumerate(concepts.columns)}
        missing = [name for name in names if name not in place]
        if missing:
            raise LogicLensError(f"the rows lack the concept {quoted(missing[0])} that the network was trained on.")
        return as_array(concepts)[:, [place[name] for name in names]]
    values = as_array(concepts)
    if values.ndim == 2 and values.shape[1] != len(names):
        raise LogicLensError(f"the network was trained on {len(names)} concepts, the rows have {values.shape[1]}.")
    return values


def listed_class_weight(class_weight: Any, classes: NDArray[Any]) -> Any:
    """Return a dictionary from class to weight as one number per class; classes not named weigh 1."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise LogicLensError(f"class_weight names {quoted(unknown[0])}, which is not among the classes.")
    return [class_weight.get(label, 1.0) for label in classes.tolist()]


CutsOn: TypeAlias = Literal["train", "all"]


@dataclass(frozen=True)
class Schema:
    """The schema of the rows of a network: concepts and their groups, classes, and how raw columns are cut.

    `columns` are the raw columns in the order of training, `positional` says that they had no names; `cutting` is None
    if the columns are concepts.
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
    def column_kinds(self) -> dict[str, str]:
        """The kinds of the columns that conditions can be about, as `formula.condition` knows them."""
        if self.cutting is None:
            return dict.fromkeys(self.names, CONCEPT)
        kinds = {column: kind for column, kind in self.cutting.kinds.items() if column in self.columns}
        asked = self.predicates.values()
        bits = {one.column for one in asked if one.operator == "==" and one.kind is NUMBER and one.value in (0, 1)}
        return {column: ZERO_ONE if column in bits else kind for column, kind in kinds.items()}

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The raw columns, or concepts, that rows must have: those of training that a concept is about."""
        if self.cutting is None:
            return self.names
        return tuple(column for column in self.columns if column in self.cutting.kinds)

    def named(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return columns under the names of training; by position if these had none, as in scikit-learn."""
        if not self.positional:
            return columns
        return [replace(column, name=name) for column, name in zip(columns, self.columns, strict=True)]

    def table(self, rows: Any, codes: Any = None) -> ConceptTable:
        """Return rows as the concepts that the network was trained on."""
        if self.cutting is not None and not isinstance(rows, ConceptTable):
            rows = self.cutting.values(self.named(columns_of(rows, self.columns)))
        else:
            rows = matched_columns(rows, self.names)
        groups = self.groups
        return ConceptTable(rows, self.names, codes, self.class_names, groups.exclusive, None, groups.implied)


@dataclass(frozen=True, eq=False)
class SetAside:
    """Distinct held-out rows as concepts, and all held-out rows as raw columns with their positions in the table.

    `worth` is how many independent rows a row is worth in intervals: less than 1 where rows are copies of others.
    """

    table: ConceptTable
    columns: tuple[Column, ...] = field(repr=False)
    copies: Copies = field(repr=False)
    worth: float = 1.0

    @property
    def _first(self) -> NDArray[np.intp]:
        """The first copy of each distinct row."""
        return np.unique(self.copies.rows, return_index=True)[1]

    @property
    def measured_places(self) -> NDArray[np.intp]:
        """The positions of the rows that figures count where rows have no weights: of copies that stay together one."""
        return self.places[self._first] if self.worth < 1 else self.places

    @property
    def places(self) -> NDArray[np.intp]:
        """The positions of all held-out rows in the table given to `fit`."""
        return self.copies.places

    def column(self, name: str) -> NDArray[np.object_]:
        """Return the values of a raw column, None for missing ones."""
        for column in self.columns:
            if column.name == name:
                gone = column.missing.tolist()
                cells = [None if gone[row] else column.cell(row) for row in range(len(column))]
                return np.array(cells, dtype=object)
        known = ", ".join(repr(column.name) for column in self.columns[:8])
        raise LogicLensError(f"there is no column {quoted(name)}; the columns are {known}.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """The distinct rows as concepts, split into training and held-out rows.

    `table` are the training rows, `columns` their raw columns, and `validation` rows that the caller passed to choose
    the epoch of a network. `taught` are the probabilities that another teacher gives the rows, `taught_aside` those of
    the held-out rows. `note` says what is wrong with the split, `time_note` how it treats time, `unit_note` which rows
    it keeps together. `target_cuts` are the cuts of a target of numbers. `unit` are the units of the rows of `table`;
    None: its rows are separate observations. `recut` makes the rows again with another booleaniser.
    """

    table: ConceptTable
    validation: ConceptTable | None
    aside: SetAside | None
    classes: NDArray[Any]
    schema: Schema
    booleaniser: Booleaniser | None
    taught: NDArray[np.float64] | None = None
    taught_aside: NDArray[np.float64] | None = None
    note: str | None = None
    target_cuts: TargetCuts | None = None
    time_note: str | None = None
    unit_note: str | None = None
    unit: NDArray[np.intp] | None = None
    columns: tuple[Column, ...] = ()
    recut: Callable[[Booleaniser | None], Prepared] | None = None

    def with_cuts(self, cuts: Mapping[str, Sequence[Scalar]]) -> Prepared:
        """Return the same rows cut at further thresholds too."""
        if self.recut is None or self.booleaniser is None:
            return self
        made = self.recut(self.booleaniser.adding(cuts))
        return replace(
            self, table=made.table, validation=made.validation, aside=made.aside, schema=made.schema,
            booleaniser=made.booleaniser,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Recorded answers of a model, such as a column of a table, used as a teacher in its place.

    Args:
        answers: one for each row, in the order of the table given to `fit`: labels, or probabilities of `positive`.
        classes_: the classes of the target.
        positive: the class whose probability the numbers are. Default: None, the answers are labels.
        name: the name of the answers in messages. Default: "recorded answers".
    """

    answers: NDArray[Any]
    classes_: NDArray[Any]
    positive: Any = None
    name: str = "recorded answers"

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return the probability of each class on each row."""
        if len(rows) != len(self.answers):
            raise LogicLensError(f"there are {len(self.answers)} recorded answers for {len(rows)} rows.")
        if self.positive is None:
            return _as_probabilities(self.answers, self.classes_, self.name)
        place = self.classes_.tolist().index(self.positive)
        chance = _checked(np.asarray(self.answers, dtype=np.float64), self.name)
        both = np.empty((len(chance), 2))
        both[:, place], both[:, 1 - place] = chance, 1 - chance
        return both


def teacher_name(teacher: Any) -> str:
    """Return the name of a teacher for messages."""
    if isinstance(teacher, RecordedAnswers):
        return teacher.name
    inner = getattr(teacher, "estimator", teacher) if type(teacher).__name__ == "FrozenEstimator" else teacher
    return type(inner).__name__


def answers_of(teacher: Any, rows: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability that a fitted model gives each class on each raw row, in the order of `classes`."""
    name = teacher_name(teacher)
    if hasattr(teacher, "predict_proba"):
        probability = np.asarray(teacher.predict_proba(rows))
        known = _classes_of(teacher, classes, probability.shape[1] if probability.ndim == 2 else 0)
        if probability.ndim != 2 or probability.shape != (len(rows), len(known)):
            raise LogicLensError(
                f"the teacher {name} must give a probability of each class on each row, got shape {probability.shape}."
            )
        _check_classes(known, classes, name)
        place = {label: j for j, label in enumerate(known)}
        columns = [place.get(label, -1) for label in classes.tolist()]
        given = np.column_stack([probability, np.zeros(len(probability))])[:, columns]
        return _checked(np.asarray(given, dtype=np.float64), name)
    return _as_probabilities(np.asarray(teacher.predict(rows)), classes, name)


def _classes_of(teacher: Any, classes: NDArray[Any], n_columns: int) -> list[Any]:
    if hasattr(teacher, "classes_"):
        return list(np.asarray(teacher.classes_).tolist())
    # A model without `classes_` has those of the target, if their number is the same.
    return classes.tolist() if n_columns == len(classes) else list(range(n_columns))


def _check_classes(known: Sequence[Any], classes: NDArray[Any], name: str) -> None:
    other = [label for label in known if label not in set(classes.tolist())]
    if other:
        shown = ", ".join(repr(label) for label in classes.tolist()[:8])
        raise LogicLensError(f"the teacher {name} answers {quoted(other[0])}, which is not among the classes {shown}.")


def _as_probabilities(answers: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return labels as probabilities of 0 and 1."""
    _check_classes(np.unique(answers).tolist(), classes, name)
    return np.asarray(answers[:, None] == classes[None], dtype=np.float64)


def _checked(probability: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    bad = ~((probability >= 0) & (probability <= 1))
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise LogicLensError(
            f"the teacher {name} must give probabilities from 0 to 1, got {probability[bad].flat[0]:g} in row {row}."
        )
    return probability
