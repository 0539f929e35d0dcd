"""Booleaniser: a raw table as named concepts, such as `age >= 72.5`, `unit is MICU`, `bmi is missing`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from logiclens.data.columns import Column, Kind, as_named, column_names, columns_of
from logiclens.data.concepts import checked_weight
from logiclens.data.cuts import (
    Histogram,
    counting_weight,
    quantile_cuts,
    short_date,
    short_number,
    supervised_cuts,
    told_by_each,
    uniform_cuts,
)
from logiclens.data.cutting import Cutting
from logiclens.data.parts import distinct_rows
from logiclens.data.sources import opened, parted
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate, Scalar

How: TypeAlias = Literal["supervised", "quantile", "uniform", "soft"]
HOW: tuple[How, ...] = ("supervised", "quantile", "uniform", "soft")

CONSTANT = "it has one value only"
FEW_ROWS = 20
"""With fewer rows a column of distinct values is no sign of an identifier."""


class Booleaniser(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a raw table into named concepts, fitted on the rows that train.

    Numbers and dates are cut, categories become one concept each, truth values stay, and a column with gaps gets a
    concept for them. A missing value lies above no cut and in no category, and neither does a category that was not
    there when this was fitted.

    Args:
        cuts: where numbers and dates are cut. `"supervised"`: at the few places that matter for the target;
            `"quantile"`: at equal shares of the rows; `"uniform"`: at equal steps; `"soft"`: nowhere, they are rescaled
            to [0, 1] (a formula then speaks of the middle). A dictionary gives columns their own: a list of numbers,
            dates or categories, or one of these words; columns that it does not name are cut supervised.
        n_cuts: the number of cuts of a column; for `"supervised"` the most.
        max_categories: the most concepts for the categories of a column; those that tell most about the target are
            taken, or without one the most frequent.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.2, 45.9, 58.1, 77.7], "unit": ["CCU", "MICU", None, "MICU"]})
    >>> made = Booleaniser("quantile", n_cuts=1).set_output(transform="pandas").fit_transform(frame)
    >>> made[["age >= 50", "unit is MICU", "unit is missing"]]
       age >= 50  unit is MICU  unit is missing
    0      False         False            False
    1      False          True            False
    2       True         False             True
    3       True          True            False
    """

    def __init__(
        self,
        cuts: How | Mapping[str, How | Sequence[Scalar]] = "supervised",
        *,
        n_cuts: int = 3,
        max_categories: int = 20,
    ) -> None:
        """Store the settings; nothing is checked before `fit`."""
        self.cuts = cuts
        self.n_cuts = n_cuts
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Booleaniser:
        """Find the concepts of a table. `y` is the target, one entry a row, which `"supervised"` needs."""
        X, y = parted(X, y)
        columns = columns_of(X)
        validate_data(self, as_named(X), skip_check_array=True)
        n_rows = len(columns[0])
        if n_rows == 0:
            raise LogicLensError("cuts need several rows that differ, got 0 samples.")
        classes, n_classes = np.zeros((n_rows, 1), dtype=np.intp), 1
        if y is not None:
            labels = np.asarray(y)
            if len(labels) != n_rows:
                raise LogicLensError(f"the target must have one entry for each of {n_rows} rows, got {len(labels)}.")
            labels = labels.reshape(n_rows, -1)
            each = [np.unique(labels[:, task], return_inverse=True) for task in range(labels.shape[1])]
            classes = np.stack([codes for _, codes in each], axis=1)
            n_classes = max(len(known) for known, _ in each)
        elif any(_how(self.cuts, column) == "supervised" for column in columns):
            raise LogicLensError(
                'cuts="supervised" requires y to be passed, but the target y is None; cuts="quantile" needs none.'
            )
        # A row that weighs 2 is a row that is there twice.
        rows = distinct_rows(columns, classes, checked_weight(sample_weight, n_rows), seed=0)
        return self.fit_columns(
            [column.take(rows.first) for column in columns], classes[rows.first], n_classes, rows.weight
        )

    def fit_columns(
        self, columns: Sequence[Column], classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]
    ) -> Booleaniser:
        """Find the concepts of columns whose rows differ; `classes` holds class numbers `[rows, tasks]`."""
        self._check_settings(columns)
        if len(weight) < 2:
            raise LogicLensError(f"cuts need several rows that differ, got {len(weight)} sample.")
        found, dropped = _Found(), {}
        scaled = counting_weight(weight)
        for column in columns:
            reason = _fit_column(found, column, _how(self.cuts, column), self, classes, n_classes, scaled)
            if reason is not None:
                dropped[column.name] = reason
        notes = [*(f"the column {name!r} is left out: {reason}." for name, reason in dropped.items()), *found.notes]
        if noted := [note for note in notes if CONSTANT not in note]:
            warnings.warn(" ".join(noted), LogicLensWarning, stacklevel=3)
        if not found.predicates:
            raise LogicLensError("every column has one value only on these rows: there is nothing to tell rows apart.")
        self.cutting_ = Cutting(found.kinds, found.predicates, Groups(found.exclusive, found.implied), found.scales)
        self._columns = tuple(column.name for column in columns)
        self.dropped_ = dropped
        self.notes_ = tuple(notes)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The concepts of each row: Boolean, with `"soft"` numbers in [0, 1]. See also `set_output`."""
        check_is_fitted(self)
        X = opened(X, self._columns)
        if column_names(X) is None:
            X = check_array(X, dtype=None if hasattr(X, "dtype") else object, ensure_all_finite=False)
        validate_data(self, as_named(X), skip_check_array=True, reset=False)
        columns = columns_of(X, self._columns)
        if not hasattr(self, "feature_names_in_"):
            # Fitted without names: by position, as scikit-learn does.
            columns = tuple(replace(column, name=name) for column, name in zip(columns, self._columns, strict=True))
        return self.cutting_.values(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the concepts."""
        check_is_fitted(self)
        return np.array(list(self.cutting_.predicates), dtype=object)

    @property
    def predicates_(self) -> Mapping[str, Predicate]:
        """What each concept means on the raw table."""
        check_is_fitted(self)
        return self.cutting_.predicates

    @property
    def groups_(self) -> Groups:
        """Which concepts exclude or imply each other."""
        check_is_fitted(self)
        return self.cutting_.groups

    def _check_settings(self, columns: Sequence[Column]) -> None:
        if not isinstance(self.cuts, Mapping) and self.cuts not in HOW:
            raise LogicLensError(f"cuts must be one of {', '.join(HOW)}, or a dictionary, got {self.cuts!r}.")
        for name in ("n_cuts", "max_categories"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise LogicLensError(f"{name} must be a whole number from 1 on, got {value!r}.")
        if isinstance(self.cuts, Mapping):
            known = [column.name for column in columns]
            for name, how in self.cuts.items():
                if name not in known:
                    raise LogicLensError(f"cuts are given for {name!r}, which is not a column of the table.")
                if isinstance(how, str) and how not in HOW:
                    raise LogicLensError(
                        f"the cuts of {name!r} must be a list or one of {', '.join(HOW)}, got {how!r}."
                    )

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know: gaps and text are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # Concepts are Boolean, whatever the table holds.
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = isinstance(self.cuts, Mapping) or self.cuts == "supervised"
        return tags


def _how(cuts: Any, column: Column) -> Any:
    """How a column is cut."""
    return cuts.get(column.name, "supervised") if isinstance(cuts, Mapping) else cuts


@dataclass
class _Found:
    """What is known of the concepts so far."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    exclusive: list[list[str]] = field(default_factory=list)
    implied: list[list[str]] = field(default_factory=list)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, predicate: Predicate, name: str | None = None) -> str:
        name = str(predicate) if name is None or name in self.predicates else name
        if name in self.predicates:
            raise LogicLensError(f"two concepts would be called {name!r}: rename the column of that name.")
        self.predicates[name] = predicate
        return name


def _fit_column(
    found: _Found,
    column: Column,
    how: How | Sequence[Scalar],
    settings: Booleaniser,
    classes: NDArray[np.intp],
    n_classes: int,
    weight: NDArray[np.float64],
) -> str | None:
    """Add the concepts of a column; why there are none, where there are none."""
    missing = column.missing
    has_missing = bool(missing.any() and not missing.all())
    if missing.all():
        return CONSTANT
    given = None if isinstance(how, str) else list(dict.fromkeys(how))
    if given == []:
        return "no cuts are given for it"
    if given is None and _is_identifier(column, weight):
        return "every row has another value, as an identifier has"
    exclusive: list[str] = []
    if column.is_nominal:
        chosen, note = _categories(column, given, settings.max_categories, classes, n_classes, weight)
        found.notes += note
        present = len(set(column.places.tolist()) - {-1})
        if given is None and present == 2 and not has_missing:
            # The one is the negation of the other.
            chosen = chosen[-1:]
        if present > 1 or has_missing or given is not None:
            exclusive = [found.add(Predicate(column.name, "==", category)) for category in chosen]
    elif column.kind == "boolean":
        if len(np.unique(column.values[~missing])) > 1 or has_missing:
            exclusive = [found.add(Predicate(column.name, "==", True), column.name)]
    else:
        exclusive = _cut(found, column, how if given is None else given, settings.n_cuts, classes, n_classes, weight)
    if not exclusive and not has_missing:
        return CONSTANT
    if has_missing:
        exclusive = [*exclusive, found.add(Predicate(column.name, "missing"))]
    if len(exclusive) > 1:
        found.exclusive.append(exclusive)
    found.kinds[column.name] = column.kind
    return None


def _cut(
    found: _Found,
    column: Column,
    how: How | Sequence[Scalar],
    n_cuts: int,
    classes: NDArray[np.intp],
    n_classes: int,
    weight: NDArray[np.float64],
) -> list[str]:
    """Add the cuts of numbers or dates; the name of the lowest, which all others imply."""
    numbers = column.numbers
    histogram = Histogram.of(numbers, weight, classes, n_classes)
    if not isinstance(how, str):
        asked = sorted((_at(column, cut) for cut in how), key=lambda predicate: _seconds(predicate.value))
        names = [found.add(predicate) for predicate in asked]
    elif len(histogram) < 2:
        return []
    elif how == "soft":
        gap, half = histogram.gap(uniform_cuts(histogram, 1)[0]), (histogram.low[0] + histogram.high[-1]) / 2
        cut = short_date(*gap) if column.kind == "date" else short_number(*gap, near=float(half))
        names, middle = [found.add(Predicate(column.name, ">=", cut))], _seconds(cut)
        reach = max(middle - float(histogram.low[0]), float(histogram.high[-1]) - middle)
        found.scales[names[0]] = (middle, reach)
    elif column.kind == "number" and histogram.low.tolist() == [0.0, 1.0]:
        # A flag written as a number.
        return [found.add(Predicate(column.name, "==", 1))]
    else:
        finder = {"supervised": supervised_cuts, "quantile": quantile_cuts, "uniform": uniform_cuts}[how]
        gaps = (histogram.gap(place) for place in finder(histogram, n_cuts))
        names = [found.add(_between(column, low, high)) for low, high in gaps]
    if len(names) > 1:
        found.implied.append(names)
    return names[:1]


def _between(column: Column, low: float, high: float) -> Predicate:
    """The cut between two values, as a person would write it."""
    return Predicate(column.name, ">=", short_date(low, high) if column.kind == "date" else short_number(low, high))


def _seconds(value: Scalar) -> float:
    """A cut as the number that it is compared with."""
    if isinstance(value, str):
        return float(np.datetime64(value, "us").astype(np.int64)) / 1e6
    return float(value)


def _at(column: Column, cut: Any) -> Predicate:
    """The cut that a user asked for."""
    if column.kind == "date":
        if not isinstance(cut, str | date | np.datetime64):
            raise LogicLensError(f"the cuts of {column.name!r} must be dates, got {cut!r}.")
        return Predicate(column.name, ">=", cut.isoformat() if isinstance(cut, date) else str(cut))
    if not isinstance(cut, Real) or isinstance(cut, bool):
        raise LogicLensError(f"the cuts of {column.name!r} must be numbers, got {cut!r}.")
    return Predicate(column.name, ">=", float(cut))


def _categories(
    column: Column,
    given: list[Any] | None,
    most: int,
    classes: NDArray[np.intp],
    n_classes: int,
    weight: NDArray[np.float64],
) -> tuple[list[Scalar], list[str]]:
    """The categories that become concepts, in order, and what to tell the user."""
    if given is not None:
        if wrong := [cut for cut in given if isinstance(cut, str) != (column.kind == "text")]:
            kind = "text" if column.kind == "text" else "numbers"
            raise LogicLensError(f"the categories of {column.name!r} must be {kind}, got {wrong[0]!r}.")
        return given, []
    codes = column.places
    known = codes >= 0
    n_tasks = classes.shape[1]
    counts = np.zeros((len(column.categories), n_tasks, n_classes))
    places = codes[known] * n_classes
    for task in range(n_tasks):
        flat = np.bincount(places + classes[known, task], weight[known], minlength=len(column.categories) * n_classes)
        counts[:, task] = flat.reshape(-1, n_classes)
    size = counts[:, 0].sum(axis=1)
    present = np.flatnonzero(size)
    if len(present) <= most:
        return [column.categories[i] for i in present], []
    told = told_by_each(counts) if n_classes > 1 else np.zeros(len(size))
    # What tells most, then what is most frequent, then by name.
    order = np.lexsort((np.arange(len(size)), -size, -np.round(told, 9)))[:most]
    note = (
        f"the column {column.name!r} has {len(present):,} categories: the {most} that tell most become concepts, "
        "the others are in none of them."
    )
    return [column.categories[i] for i in np.sort(order)], [note]


def _is_identifier(column: Column, weight: NDArray[np.float64]) -> bool:
    """Whether a column names rows: text or whole numbers that are close together, no two of them equal."""
    if (weight == np.round(weight)).all() and weight.max() > 1:
        # Some rows are there several times; of rows that differ, a column that decides all others differs too.
        return False
    values = column.values[~column.missing]
    if len(values) < FEW_ROWS or not (column.is_nominal or column.whole):
        return False
    if len(np.unique(values)) < len(values):
        return False
    return column.is_nominal or float(np.ptp(values)) < 2 * len(values)
