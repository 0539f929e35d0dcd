"""Booleaniser: a raw table as named concepts, such as `age >= 72.5`, `unit is MICU`, `bmi is missing`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from logiclens.data.columns import Column, as_named, column_names, columns_of
from logiclens.data.concepts import checked_weight
from logiclens.data.finding import CONSTANT, Finding, How, is_identifier
from logiclens.data.parts import distinct_rows
from logiclens.data.reference import NO_REFERENCE, Reference, ReferenceCut, find_reference
from logiclens.data.sources import opened, parted
from logiclens.data.tally import Tally
from logiclens.errors import LogicLensError, LogicLensWarning, NoConcepts
from logiclens.formula.counted import counting_weight
from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate, Scalar

HOW: tuple[How, ...] = ("supervised", "quantile", "uniform", "soft")


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
        n_cuts: the number of cuts of a column; for `"supervised"` the most. None: 3; for `"supervised"` up to 8, where
            trees on all columns say that they matter (see `logiclens.data.reference`).
        max_categories: the most concepts for the categories of a column; those that tell most about the target are
            taken, or without one the most frequent. With `"supervised"`, a network also sees groups of all categories,
            by how often they go with a class; no rule names them.

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
        n_cuts: int | None = None,
        max_categories: int = 20,
    ) -> None:
        """Store the settings; nothing is checked before `fit`."""
        self.cuts = cuts
        self.n_cuts = n_cuts
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Booleaniser:
        """Find the concepts of a table, or of the file that `X` names.

        `y` is the target, which `"supervised"` needs: one entry a row, or the name of a column of `X`.
        """
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
        elif any(_how(self.cuts, column.name) == "supervised" for column in columns):
            raise LogicLensError(
                'cuts="supervised" requires y to be passed, but the target y is None; cuts="quantile" needs none.'
            )
        # A row that weighs 2 is a row that is there twice.
        rows = distinct_rows(columns, classes, checked_weight(sample_weight, n_rows), seed=0)
        parts = [column.take(rows.first) for column in columns]
        self.fit_columns(parts, classes[rows.first], n_classes, rows.weight).warn(stacklevel=2)
        return self

    def fit_columns(
        self, columns: Sequence[Column], classes: NDArray[np.intp], n_classes: int, weight: NDArray[np.float64]
    ) -> Booleaniser:
        """Find the concepts of columns whose rows differ; `classes` holds class numbers `[rows, tasks]`."""
        if len(weight) < 2:
            raise NoConcepts(f"cuts need several rows that differ, got {len(weight)} sample.")
        counts = counting_weight(weight)
        tallies = [Tally.of(column, classes, n_classes, counts) for column in columns]
        self._check_settings(tallies)
        supervised = [
            column
            for column, tally in zip(columns, tallies, strict=True)
            if isinstance(how := _how(self.cuts, column.name), str) and how == "supervised" and not is_identifier(tally)
        ]
        reference = NO_REFERENCE
        if supervised and n_classes > 1:
            reference = find_reference(supervised, classes, n_classes, counts, max_categories=self.max_categories)
        return self._fit(tallies, reference)

    def sharpened(
        self,
        cuts: Mapping[str, Sequence[ReferenceCut]],
        columns: Sequence[Column],
        classes: NDArray[np.intp],
        n_classes: int,
        weight: NDArray[np.float64],
    ) -> Booleaniser:
        """Fit again to the columns that `fit_columns` had, with some more cuts; these come first."""
        if not cuts:
            return self
        tallies = [Tally.of(column, classes, n_classes, counting_weight(weight)) for column in columns]
        known = self.reference_
        more = {name: (*cuts.get(name, ()), *known.cuts.get(name, ())) for name in {**known.cuts, **cuts}}
        return self._fit(tallies, replace(known, cuts=more))

    def fit_tallies(self, columns: Sequence[Tally]) -> Booleaniser:
        """Find the concepts of columns by how often each value goes with each class, wherever that was counted.

        Cuts that matter only together with other columns cannot be seen this way.
        """
        self._check_settings(columns)
        return self._fit(columns, NO_REFERENCE)

    def _fit(self, columns: Sequence[Tally], reference: Reference) -> Booleaniser:
        self.reference_ = reference
        found = Finding(self.n_cuts, self.max_categories, reference)
        found.keep_within(columns)
        for column in columns:
            found.look_at(column, _how(self.cuts, column.name))
        if not found.predicates:
            raise NoConcepts(_nothing_left(found.dropped))
        self.cutting_ = found.cutting()
        self._columns = tuple(column.name for column in columns)
        self.dropped_ = found.dropped
        left_out = [f"the column {name!r} is left out: {reason}." for name, reason in found.dropped.items()]
        self.notes_ = (*left_out, *found.notes)
        return self

    def warn(self, stacklevel: int) -> None:
        """Warn of what was left out, other than columns with one value."""
        if noted := [note for note in self.notes_ if CONSTANT not in note]:
            warnings.warn(" ".join(noted), LogicLensWarning, stacklevel=stacklevel + 1)

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
        return np.array(self.cutting_.names, dtype=object)

    @property
    def predicates_(self) -> Mapping[str, Predicate]:
        """What each concept means on the raw table; without those that only a network sees."""
        check_is_fitted(self)
        return self.cutting_.predicates

    @property
    def groups_(self) -> Groups:
        """Which concepts exclude or imply each other."""
        check_is_fitted(self)
        return self.cutting_.groups

    def _check_settings(self, columns: Sequence[Tally]) -> None:
        if not isinstance(self.cuts, Mapping) and self.cuts not in HOW:
            raise LogicLensError(f"cuts must be one of {', '.join(HOW)}, or a dictionary, got {self.cuts!r}.")
        for name in ("n_cuts", "max_categories"):
            value = getattr(self, name)
            if name == "n_cuts" and value is None:
                continue
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


def _nothing_left(dropped: Mapping[str, str]) -> str:
    """Why no column can tell rows apart."""
    others = [(name, reason) for name, reason in dropped.items() if reason != CONSTANT]
    if not others:
        return "every column has one value only on these rows: there is nothing to tell rows apart."
    name, reason = others[0]
    return f"no column is left to tell rows apart: {name!r} is left out, since {reason}; give it cuts of its own."


def _how(cuts: Any, column: str) -> Any:
    """How a column is cut."""
    return cuts.get(column, "supervised") if isinstance(cuts, Mapping) else cuts
