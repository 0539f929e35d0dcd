"""EntropyClassifier: the scikit-learn face. `__init__` stores, `fit` checks and trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import sklearn.exceptions
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from logiclens.data.concepts import ConceptTable
from logiclens.data.splits import Split, split
from logiclens.errors import LogicLensError
from logiclens.explain.classwise import Method, ScoreAgainst, explain_all
from logiclens.explain.extract import Reading, read
from logiclens.explain.local import explain_rows
from logiclens.explain.result import Explanation, LocalExplanation
from logiclens.explain.selection import Limits
from logiclens.nn.networks import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit


class NotFittedError(LogicLensError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """An estimator was asked before it was fitted; scikit-learn knows it by the same name."""


class EntropyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network that classifies by named concepts and states its reasons as formulas.

    Args:
        booleanise: None: the columns are concepts in [0, 1]. Raw columns are never guessed from their values.
        hidden: widths of the hidden layers of each head.
        shared_tail: whether heads share the layers behind the entropy layer.
        temperature: τ; lower values leave fewer concepts relevant.
        penalty_weight: λ, the weight of the entropy loss; higher values leave fewer concepts relevant.
        epochs: passes over the data; the best validation epoch is kept.
        learning_rate: of AdamW.
        validation: the share of the rows that chooses the epoch.
        class_weight: one factor per class, or `"balanced"`.
        method: how formulas are chosen, `"minimal"` or `"paper"`.
        score_against: what candidate formulas are scored against, `"network"` or `"labels"`.
        max_cubes: the most cubes in the formula of a class.
        max_literals: the most literals in the formula of a class.
        price: the score a literal must earn to be worth reading.
        random_state: the seed of the initial weights and of the validation split.

    Example:
        >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
        >>> model = EntropyClassifier(epochs=300, random_state=1).fit(rows, ["same", "other", "other", "same"] * 10)
        >>> print(model.explain()["other"].formula)
        (~x0 & x1) | (x0 & ~x1)
        >>> model.predict([[0, 1]])
        array(['other'], dtype='<U5')
    """

    def __init__(
        self,
        booleanise: None = None,
        *,
        hidden: Sequence[int] = (20,),
        shared_tail: bool = False,
        temperature: float = 1.0,
        penalty_weight: float = 1e-3,
        epochs: int = 500,
        learning_rate: float = 1e-2,
        validation: float = 0.2,
        class_weight: Sequence[float] | Literal["balanced"] | None = None,
        method: Method = "minimal",
        score_against: ScoreAgainst = "network",
        max_cubes: int = 10,
        max_literals: int = 40,
        price: float = 0.005,
        random_state: int = 0,
    ) -> None:
        """Store the settings; nothing is checked before `fit`."""
        self.booleanise = booleanise
        self.hidden = hidden
        self.shared_tail = shared_tail
        self.temperature = temperature
        self.penalty_weight = penalty_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.validation = validation
        self.class_weight = class_weight
        self.method = method
        self.score_against = score_against
        self.max_cubes = max_cubes
        self.max_literals = max_literals
        self.price = price
        self.random_state = random_state

    def fit(
        self,
        concepts: Any,
        labels: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: tuple[Any, ArrayLike] | None = None,
    ) -> EntropyClassifier:
        """Train on concepts in [0, 1] (a DataFrame names them) and labels: one per row, or a 0/1 matrix of several.

        `held_out` are concepts and labels that choose the epoch, in place of a share of the rows.
        """
        if self.booleanise is not None:
            raise LogicLensError(
                "booleanise must be None: this estimator takes concepts in [0, 1]. "
                "Cut raw columns with logiclens.Booleaniser first."
            )
        n_rows = len(concepts)
        if held_out is not None:
            concepts, labels, sample_weight = _stacked(concepts, labels, sample_weight, held_out)
        table, classes = _labelled(concepts, labels, sample_weight)
        if held_out is not None:
            parts = Split(np.arange(n_rows), np.arange(n_rows, len(table)))
        else:
            parts = split(table.labels, self.validation, seed=self.random_state)  # type: ignore[arg-type]
        generator = torch.Generator().manual_seed(self.random_state)
        network = EntropyNet(
            table.n_concepts,
            len(table.class_names),
            self.hidden,
            self.shared_tail,
            temperature=self.temperature,
            generator=generator,
        )
        config = TrainConfig(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            penalty_weight=self.penalty_weight,
            class_weight=self.class_weight,
        )
        held = table.take(parts.validation) if len(parts.validation) else None
        result = fit(network, table.take(parts.train), config, generator, validation=held)
        self.classes_, self.network_, self.table_, self.train_result_ = classes, network, table, result
        self.n_features_in_, self.concept_names_ = table.n_concepts, table.names
        if hasattr(concepts, "columns"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    @property
    def history_(self) -> Any:
        """The training history, epoch by epoch."""
        self._check_fitted()
        return self.train_result_.history

    def predict(self, concepts: Any) -> NDArray[Any]:
        """The class of each row; for several labels a 0/1 matrix."""
        reading = self.read(concepts)
        if self.table_.is_multilabel:
            return reading.yes.astype(np.int64)
        labels: NDArray[Any] = self.classes_[reading.logits.argmax(axis=1)]
        return labels

    def predict_proba(self, concepts: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`."""
        return self.read(concepts).probability

    def explain(self, concepts: Any = None) -> Explanation:
        """The formula of each class: the network's answers on the training rows, or on other rows, in logic."""
        self._check_fitted()
        table = self.table_ if concepts is None else self._table(concepts)
        explanation = explain_all(
            self.network_,
            table,
            method=self.method,
            score_against=self.score_against,
            limits=Limits(self.max_cubes, self.max_literals, self.price),
            answer=self._answer,
        )
        return Explanation(explanation.classes, self.train_result_.notes)

    def explain_local(self, concepts: Any, explanation: Explanation | None = None) -> tuple[LocalExplanation, ...]:
        """For each row the concepts that made its class, reduced to a shortest reason in the class formula.

        The formulas are those of `explain()`, or of an explanation that is already at hand.
        """
        reading = self.read(concepts)
        return explain_rows(reading, explanation=self.explain() if explanation is None else explanation)

    def _table(self, concepts: Any, labels: ArrayLike | None = None) -> ConceptTable:
        if hasattr(concepts, "columns"):
            missing = [name for name in self.concept_names_ if name not in [str(c) for c in concepts.columns]]
            if missing:
                raise LogicLensError(f"the rows lack the concept {missing[0]!r} that the network was trained on.")
            if hasattr(self, "feature_names_in_"):
                concepts = concepts[list(self.concept_names_)]
        elif hasattr(concepts, "shape") and len(concepts.shape) == 2 and concepts.shape[1] != self.n_features_in_:
            raise LogicLensError(
                f"the network was trained on {self.n_features_in_} concepts, the rows have {concepts.shape[1]}."
            )
        codes = None if labels is None else self._codes(np.asarray(labels))
        return ConceptTable(concepts, self.concept_names_, codes, self.table_.class_names)

    def _codes(self, labels: NDArray[Any]) -> NDArray[Any]:
        if self.table_.is_multilabel:
            return labels
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise LogicLensError(f"the label {unknown.tolist()[0]!r} was not among the training labels.")
        return np.searchsorted(self.classes_, labels)

    def read(self, concepts: Any, labels: ArrayLike | None = None) -> Reading:
        """What the network says about rows, in full: outputs, answers and relevance. With labels, to be scored."""
        self._check_fitted()
        return read(self.network_, self._table(concepts, labels), self._answer)

    @property
    def _answer(self) -> Literal["argmax", "threshold"]:
        return "threshold" if self.table_.is_multilabel else "argmax"

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("this EntropyClassifier is not fitted: call fit(concepts, labels) first.")


def _labelled(concepts: Any, labels: ArrayLike, sample_weight: ArrayLike | None) -> tuple[ConceptTable, NDArray[Any]]:
    """Concepts and labels as a table with class numbers, and the classes behind the numbers."""
    names = [str(column) for column in concepts.columns] if hasattr(concepts, "columns") else None
    y = np.asarray(labels)
    if y.ndim == 2:
        class_names = [str(c) for c in getattr(labels, "columns", range(y.shape[1]))]
        return ConceptTable(concepts, names, y, class_names, weight=sample_weight), np.arange(y.shape[1])
    if y.ndim != 1 or len(y) != len(concepts):
        raise LogicLensError(f"labels must have one entry for each of the {len(concepts)} rows, got shape {y.shape}.")
    if len(y) == 0:
        raise LogicLensError("there are no rows: concepts must have at least one.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise LogicLensError(f"all rows have the class {classes.tolist()[0]!r}: at least two classes are needed.")
    return ConceptTable(concepts, names, codes, [str(c) for c in classes.tolist()], weight=sample_weight), classes


def _stacked(
    concepts: Any, labels: ArrayLike, sample_weight: ArrayLike | None, held_out: tuple[Any, ArrayLike]
) -> tuple[Any, ArrayLike, ArrayLike | None]:
    """Training rows with the held-out rows behind them; these weigh 1 each."""
    held_concepts, held_labels = held_out
    if hasattr(concepts, "columns"):
        if list(concepts.columns) != list(getattr(held_concepts, "columns", ())):
            raise LogicLensError("the held-out rows must have the same columns as the training rows, in one order.")
        held_concepts = held_concepts.to_numpy()
    values = np.concatenate([np.asarray(concepts), np.asarray(held_concepts)])
    stacked = type(concepts)(values, columns=concepts.columns) if hasattr(concepts, "columns") else values
    weight = None
    if sample_weight is not None:
        weight = np.concatenate([np.asarray(sample_weight, dtype=np.float64), np.ones(len(values) - len(concepts))])
    return stacked, np.concatenate([np.asarray(labels), np.asarray(held_labels)]), weight
