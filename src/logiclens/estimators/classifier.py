"""EntropyClassifier: the scikit-learn face. `__init__` stores, `fit` checks and trains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd
import sklearn.exceptions
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from logiclens.data.concepts import ConceptTable
from logiclens.data.splits import Split, split
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.explain.classwise import Method, ScoreAgainst, explain_all
from logiclens.explain.extract import Reading, read
from logiclens.explain.local import explain_rows
from logiclens.explain.result import Explanation, LocalExplanation
from logiclens.explain.selection import Limits
from logiclens.formula.bits import as_array
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
        seed = _seed(self.random_state)
        table, classes = _labelled(concepts, labels, sample_weight)
        if held_out is None:
            parts = split(table.labels, self.validation, seed=seed)  # type: ignore[arg-type]
        else:
            held_values = _matched(held_out[0], table.names)
            held = ConceptTable(held_values, table.names, _codes(held_out[1], table, classes), table.class_names)
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
            class_weight=_class_weight(self.class_weight, classes),
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
        codes = None if labels is None else _codes(labels, self.table_, self.classes_)
        return ConceptTable(
            _matched(concepts, self.concept_names_), self.concept_names_, codes, self.table_.class_names
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


def _labelled(concepts: Any, labels: Any, sample_weight: ArrayLike | None) -> tuple[ConceptTable, NDArray[Any]]:
    """Concepts and labels as a table with class numbers, and the classes behind the numbers."""
    rows = ConceptTable(concepts, weight=sample_weight)
    y = _checked_labels(labels, len(rows))
    if y.ndim == 2:
        class_names = [str(c) for c in getattr(labels, "columns", range(y.shape[1]))]
        classes: NDArray[Any] = np.arange(y.shape[1])
    else:
        classes, y = np.unique(y, return_inverse=True)
        if len(classes) == 1:
            raise LogicLensError(f"all rows have the class {classes.tolist()[0]!r}: at least two classes are needed.")
        class_names = [str(c) for c in classes.tolist()]
    return ConceptTable(rows.values, rows.names, y, class_names, weight=rows.weight), classes


def _checked_labels(labels: Any, n_rows: int) -> NDArray[Any]:
    """Labels as an array: one for each row, none missing, all of one kind."""
    try:
        y = as_array(labels)
    except ValueError:
        raise LogicLensError("labels must be one entry for each row, or rows of one length.") from None
    if y.ndim == 2 and y.shape[1] == 1:
        # A frame with one column holds one label per row.
        y = labels = y[:, 0]
    if y.ndim not in (1, 2) or len(y) != n_rows:
        raise LogicLensError(f"labels must have one entry for each of the {n_rows} rows, got shape {y.shape}.")
    if y.dtype.kind == "f" and np.isfinite(y).all() and not (y == np.round(y)).all():
        raise LogicLensError("labels must be classes; these are numbers with decimals. Cut them into classes first.")
    missing = np.asarray(pd.isna(y)).reshape(n_rows, -1).any(axis=1)
    if missing.any():
        raise LogicLensError(f"the label of row {int(np.flatnonzero(missing)[0])} is missing.")
    kinds = {isinstance(label, str) for label in (labels if isinstance(labels, list | tuple) else y.ravel().tolist())}
    if len(kinds) > 1:
        raise LogicLensError("labels must be of one kind; these are partly text and partly not.")
    return y


def _codes(labels: Any, table: ConceptTable, classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as the class numbers of a fitted estimator."""
    y = _checked_labels(labels, len(as_array(labels)))
    if table.is_multilabel:
        return y
    unknown = y[~np.isin(y, classes)]
    if len(unknown):
        raise LogicLensError(f"the label {unknown.tolist()[0]!r} was not among the training labels.")
    return np.searchsorted(classes, y)


def _matched(concepts: Any, names: tuple[str, ...]) -> Any:
    """The columns of a frame by the names the network was trained on; a matrix by position, of the right width."""
    if isinstance(concepts, ConceptTable):
        concepts = pd.DataFrame(concepts.values, columns=list(concepts.names))
    if hasattr(concepts, "columns"):
        place = {str(column): i for i, column in enumerate(concepts.columns)}
        missing = [name for name in names if name not in place]
        if missing:
            raise LogicLensError(f"the rows lack the concept {missing[0]!r} that the network was trained on.")
        return as_array(concepts)[:, [place[name] for name in names]]
    values = as_array(concepts)
    if values.ndim == 2 and values.shape[1] != len(names):
        raise LogicLensError(f"the network was trained on {len(names)} concepts, the rows have {values.shape[1]}.")
    return values


def _class_weight(class_weight: Any, classes: NDArray[Any]) -> Any:
    """scikit-learn's dictionary from class to weight as one number per class; classes not named weigh 1."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise LogicLensError(f"class_weight names {unknown[0]!r}, which is not among the classes.")
    return [class_weight.get(label, 1.0) for label in classes.tolist()]


def _seed(random_state: Any) -> int:
    """A seed: the number given, or a fresh one for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) < 2**32:
        raise LogicLensError(f"random_state must be a whole number from 0 on, or None, got {random_state!r}.")
    return int(random_state)
