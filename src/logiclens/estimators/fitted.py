"""What every fitted classifier has, and how it reads rows."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
import sklearn.exceptions
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable
from logiclens.engine.lake import is_lake
from logiclens.errors import LogicLensError
from logiclens.estimators.inputs import class_codes
from logiclens.estimators.lakes import table_in_engine
from logiclens.estimators.prepare import as_frame
from logiclens.estimators.prepared import Schema, SetAside
from logiclens.explain.certificate import Certificate
from logiclens.explain.extract import Reading, read
from logiclens.explain.length import LearnedRules
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.nn.networks import EntropyNet
from logiclens.tables.frames import as_named, column_names, opened
from logiclens.train.committee import Committee
from logiclens.train.history import History, TrainResult


class NotFittedError(LogicLensError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """An estimator was asked before it was fitted; scikit-learn knows it by the same name."""


class Fitted(BaseEstimator):  # type: ignore[misc]
    """A network with what is known of the rows it was trained on.

    Attributes:
        network_: answers rows of concepts.
        schema_: concepts and their groups, classes, and how raw columns are cut.
        classes_: the labels.
        table_: the distinct rows that trained and chose; a loaded model has none.
        set_aside_: the rows that did neither, or None.
        booleaniser_: what cuts raw columns, or None.
        parts_: how many rows train and how many choose the epoch.
        target_name_: the name of the target, where it had one.
        train_result_: how the network was trained.
        certificate_: with `exact`, that the network equals its formulas.
        soft_network_: with `exact`, the committee that taught the rules.
        teacher_fidelity_: with a teacher, the share of rows on which the rules decide as it does.
        learned_: the formulas that were searched, and how each was chosen; a loaded model has none.
    """

    exact: bool
    network_: EntropyNet | Committee
    schema_: Schema
    classes_: NDArray[Any]
    table_: ConceptTable
    set_aside_: SetAside | None
    booleaniser_: Booleaniser | None
    parts_: dict[str, int]
    target_name_: str | None
    train_result_: TrainResult
    certificate_: Certificate
    soft_network_: EntropyNet | Committee
    learned_: LearnedRules
    teacher_fidelity_: dict[str, float]
    teacher: Any
    _rules: RuleSet

    @property
    def n_rows_(self) -> int:
        """How many rows the model was fitted on, with those set aside."""
        self._check_fitted()
        aside = 0 if self.set_aside_ is None else self.set_aside_.table.n_counted
        return self.table_.n_counted + aside

    @property
    def history_(self) -> History:
        """The training history, epoch by epoch."""
        self._check_fitted()
        if not hasattr(self, "train_result_"):
            raise LogicLensError("a loaded model keeps no training history: fit it to see one.")
        return self.train_result_.history

    def concepts(self, rows: Any) -> pd.DataFrame:
        """Rows as the concepts that the network sees: raw columns cut, or concepts in the order of training."""
        index = getattr(rows, "index", None)
        return as_frame(self._table(rows), index if isinstance(index, pd.Index) else None)

    def read(self, X: Any, y: Any = None) -> Reading:
        """What the network says about rows, in full: outputs, answers and relevance. With labels, to be scored."""
        table, exact = self._table(X, y), self._is_exact
        return read(self.network_, table.hard() if exact else table, self._answer, exact=exact)

    def _table(self, rows: Any, labels: Any = None) -> ConceptTable:
        self._check_fitted()
        if is_lake(rows):
            return table_in_engine(self, rows, labels)
        codes = None if labels is None else class_codes(labels, self.schema_.multilabel, self.classes_)
        rows = opened(rows, self.schema_.columns or self.schema_.names)
        if self.schema_.cutting is not None and not isinstance(rows, ConceptTable):
            if column_names(rows) is None:
                # Among lists NumPy would make a text of every cell where one is a text.
                rows = check_array(rows, dtype=None if hasattr(rows, "dtype") else object, ensure_all_finite=False)
            validate_data(self, as_named(rows), skip_check_array=True, reset=False)
        return self.schema_.table(rows, codes)

    def _packed(self, rows: Any) -> PackedRows:
        """Rows as the Boolean concepts that the heads see, which is what the rules speak of."""
        table = self._table(rows)
        return PackedRows.of(table.boolean(), table.names)

    @property
    def _answer(self) -> Literal["argmax", "threshold"]:
        return "threshold" if self.schema_.multilabel or self._is_exact else "argmax"

    @property
    def _is_exact(self) -> bool:
        self._check_fitted()
        if bool(self.exact) != hasattr(self, "certificate_"):
            raise NotFittedError("exact was changed after the model was fitted: call fit(X, y) again.")
        return bool(self.exact)

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("this EntropyClassifier is not fitted: call fit(X, y) first.")
