"""EntropyClassifier: the scikit-learn face. `__init__` stores, `fit` checks and trains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import sklearn.exceptions
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from logiclens.data.concepts import ConceptTable
from logiclens.data.splits import Split, split
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimators.inputs import class_codes, labelled_table, listed_class_weight, matched_columns, seed_of
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
        class_weight: one factor per class (a list, or a dictionary from class to factor), or `"balanced"`.
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
        class_weight: Sequence[float] | Mapping[Any, float] | Literal["balanced"] | None = None,
        method: Method = "minimal",
        score_against: ScoreAgainst = "network",
        max_cubes: int = 10,
        max_literals: int = 40,
        price: float = 0.005,
        random_state: int | None = 0,
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
        labels: Any,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: tuple[Any, Any] | None = None,
    ) -> EntropyClassifier:
        """Train on concepts in [0, 1] (a DataFrame names them) and labels: one per row, or a 0/1 matrix of several.

        `held_out` are concepts and labels that choose the epoch, in place of a share of the rows.
        """
        if self.booleanise is not None:
            raise LogicLensError(
                "booleanise must be None: this estimator takes concepts in [0, 1]. "
                "Cut raw columns with logiclens.Booleaniser first."
            )
        if self.method not in ("minimal", "paper"):
            raise LogicLensError(f"method must be 'minimal' or 'paper', got {self.method!r}.")
        if self.score_against not in ("network", "labels"):
            raise LogicLensError(f"score_against must be 'network' or 'labels', got {self.score_against!r}.")
        Limits(self.max_cubes, self.max_literals, self.price)
        seed = seed_of(self.random_state)
        table, classes = labelled_table(concepts, labels, sample_weight)
        if held_out is None:
            parts = split(table.labels, self.validation, seed=seed)  # type: ignore[arg-type]
        else:
            held_values = matched_columns(held_out[0], table.names)
            held = ConceptTable(held_values, table.names, class_codes(held_out[1], table, classes), table.class_names)
            parts = Split(np.arange(len(table)), np.arange(len(table), len(table) + len(held)))
            table = table.append(held)
        generator = torch.Generator().manual_seed(seed)
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
            class_weight=listed_class_weight(self.class_weight, classes),
        )
        if table.weight[parts.train].sum() == 0:
            raise LogicLensError("the rows that train the network all have the weight 0.")
        # Validation rows that weigh nothing cannot choose an epoch.
        chooses = table.weight[parts.validation].sum() > 0
        validation = table.take(parts.validation) if chooses else None
        result = fit(network, table.take(parts.train), config, generator, validation=validation)
        self.classes_, self.network_, self.table_, self.train_result_ = classes, network, table, result
        self.n_features_in_, self.concept_names_ = table.n_concepts, table.names
        if hasattr(concepts, "columns"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)
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

    def explain(self, concepts: Any = None, labels: Any = None) -> Explanation:
        """The formula of each class: the network's answers on the training rows, or on other rows, in logic.

        `labels` of other rows are needed with `score_against="labels"` only.
        """
        self._check_fitted()
        table = self.table_ if concepts is None else self._table(concepts, labels)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LogicLensWarning)
            explanation = explain_all(
                self.network_,
                table,
                method=self.method,
                score_against=self.score_against,
                limits=Limits(self.max_cubes, self.max_literals, self.price),
                answer=self._answer,
            )
        for warning in caught:
            # At the caller's line, not at this one.
            warnings.warn(warning.message, stacklevel=2)
        return Explanation(explanation.classes, self.train_result_.notes)

    def explain_local(
        self, concepts: Any, explanation: Explanation | None = None, *, target: str | int | None = None
    ) -> tuple[LocalExplanation, ...]:
        """For each row the concepts that made its class, reduced to a shortest reason in the class formula.

        The class is the most probable one, or `target` ("why not ICU?"). The formulas are those of `explain()`, or of
        an explanation that is already at hand. A single row may be a Series.
        """
        if getattr(concepts, "ndim", 2) == 1 and hasattr(concepts, "to_frame"):
            concepts = concepts.to_frame().T
        reading = self.read(concepts)
        known = self.explain() if explanation is None else explanation
        return explain_rows(reading, target=target, explanation=known)

    def _table(self, concepts: Any, labels: Any = None) -> ConceptTable:
        codes = None if labels is None else class_codes(labels, self.table_, self.classes_)
        return ConceptTable(
            matched_columns(concepts, self.concept_names_), self.concept_names_, codes, self.table_.class_names
        )

    def read(self, concepts: Any, labels: Any = None) -> Reading:
        """What the network says about rows, in full: outputs, answers and relevance. With labels, to be scored."""
        self._check_fitted()
        return read(self.network_, self._table(concepts, labels), self._answer)

    @property
    def _answer(self) -> Literal["argmax", "threshold"]:
        return "threshold" if self.table_.is_multilabel else "argmax"

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("this EntropyClassifier is not fitted: call fit(concepts, labels) first.")
