"""EntropyClassifier: the scikit-learn face. `__init__` stores, `fit` checks and trains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import sklearn.exceptions
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, validate_data

from logiclens.data.booleanise import Booleaniser, How
from logiclens.data.columns import check_column_names
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimators.folder import load_classifier, save_classifier
from logiclens.estimators.inputs import class_codes, seed_of
from logiclens.estimators.prepare import as_frame, prepare
from logiclens.estimators.settings import booleaniser_of, check_settings, limits_of
from logiclens.estimators.statistics import statistics_of
from logiclens.estimators.training import resampled_formulas, train
from logiclens.explain.certified import certify, explain_exact
from logiclens.explain.classwise import Method, ScoreAgainst, explain_all
from logiclens.explain.extract import Reading, read
from logiclens.explain.local import LocalExplanation, explain_rows
from logiclens.explain.result import Explanation
from logiclens.explain.stability import Stability, selection_frequencies, stable_explanation
from logiclens.formula.bits import PackedRows
from logiclens.formula.ruleset import Resolve, RuleSet
from logiclens.formula.why import Why
from logiclens.metrics.scores import accuracy
from logiclens.metrics.statistics import RuleStatistics
from logiclens.render.figures import plot_history, plot_relevance, require_matplotlib
from logiclens.render.html import model_html, percent

if TYPE_CHECKING:
    from logiclens.render.figures import Axes


class NotFittedError(LogicLensError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """An estimator was asked before it was fitted; scikit-learn knows it by the same name."""


class EntropyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network that classifies by named concepts and states its reasons as formulas.

    Args:
        booleanise: how raw columns (numbers, categories, dates, gaps) become concepts, fitted on the rows that train:
            `"supervised"`, `"quantile"`, `"uniform"`, `"soft"`, a dictionary of cuts, or a `Booleaniser`. None: the
            columns are concepts in [0, 1]. Which of the two is never guessed from the values.
        exact: whether the network is made to equal its formulas on every possible row; see `logiclens.explain.exact`.
            The classes are then predicted by the formulas.
        max_concepts: with `exact`, the most concepts a class may depend on, at most 20.
        resolve: with `exact`, who decides where not exactly one formula fires: `"confidence"` or `"none"`.
        hidden: widths of the hidden layers of each head.
        shared_tail: whether heads share the layers behind the entropy layer.
        temperature: τ; lower values leave fewer concepts relevant.
        penalty_weight: λ, the weight of the entropy loss; higher values leave fewer concepts relevant.
        epochs: passes over the data; the best validation epoch is kept. More than 10,000 distinct rows are learned in
            mini-batches and in as many fewer passes.
        learning_rate: of AdamW.
        validation: the share of the rows that chooses the epoch.
        set_aside: the share of the rows that neither trains nor chooses anything, for `statistics()`.
        class_weight: one factor per class (a list, or a dictionary from class to factor), or `"balanced"`.
        method: how formulas are chosen, `"minimal"` or `"paper"`.
        score_against: what candidate formulas are scored against, `"network"` or `"labels"`.
        max_cubes: the most cubes in the formula of a class.
        max_literals: the most literals in the formula of a class; None is 9 with `exact` (what a person can hold) and
            40 without.
        price: the score a literal must earn to be worth reading.
        random_state: the seed of the initial weights and of the validation split.

    Example:
        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10, "unit": ["CCU", "MICU"] * 20})
        >>> model = EntropyClassifier().fit(table, ["well", "well", "ill", "ill"] * 10)
        >>> print(model.explain()["ill"])
        ∀x: ill(x) ↔ "age >= 50"(x)
        >>> model.predict(pd.DataFrame({"age": [80], "unit": ["CCU"]}))
        array(['ill'], dtype='<U4')
    """

    def __init__(
        self,
        booleanise: How | Mapping[str, Any] | Booleaniser | None = "supervised",
        *,
        exact: bool = False,
        max_concepts: int = 12,
        hidden: Sequence[int] = (20,),
        shared_tail: bool = False,
        temperature: float = 1.0,
        penalty_weight: float = 1e-3,
        epochs: int = 500,
        learning_rate: float = 1e-2,
        validation: float = 0.2,
        set_aside: float = 0.0,
        class_weight: Sequence[float] | Mapping[Any, float] | Literal["balanced"] | None = None,
        method: Method = "minimal",
        score_against: ScoreAgainst = "network",
        max_cubes: int = 10,
        max_literals: int | None = None,
        price: float = 0.005,
        resolve: Resolve = "confidence",
        random_state: int | None = 0,
    ) -> None:
        """Store the settings; nothing is checked before `fit`."""
        self.booleanise = booleanise
        self.exact = exact
        self.max_concepts = max_concepts
        self.hidden = hidden
        self.shared_tail = shared_tail
        self.temperature = temperature
        self.penalty_weight = penalty_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.validation = validation
        self.set_aside = set_aside
        self.class_weight = class_weight
        self.method = method
        self.score_against = score_against
        self.max_cubes = max_cubes
        self.max_literals = max_literals
        self.price = price
        self.resolve = resolve
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: tuple[Any, Any] | None = None,
    ) -> EntropyClassifier:
        """Train on a table `X` and labels `y`: one per row, or a 0/1 matrix of several.

        A weight of 2 is the same as a row that is there twice; neither that nor the order of the rows changes anything.
        With `booleanise=None` the columns are concepts in [0, 1] (a DataFrame names them; a `ConceptTable` may declare
        groups). `held_out` are rows and labels that choose the epoch, in place of a share of the rows.
        """
        check_settings(self)
        seed = seed_of(self.random_state)
        cuts = booleaniser_of(self)
        if cuts is not None:
            check_column_names([str(name) for name in getattr(X, "columns", ())])
            validate_data(self, X, y, skip_check_array=True)
        ready = prepare(
            X, y, sample_weight, held_out, booleaniser=cuts, shares=(self.set_aside, self.validation), seed=seed
        )
        trained = train(self, ready.classes, ready.train, ready.validation, seed)
        table, self.network_, self.train_result_ = ready.table, trained.network, trained.result
        self.classes_, self.table_ = ready.classes, table
        self.parts_ = {"train": ready.train.n_counted, "validation": table.n_counted - ready.train.n_counted}
        self.target_name_ = None if getattr(y, "name", None) is None else str(y.name)
        self.schema_, self.booleaniser_, self.set_aside_ = ready.schema, ready.booleaniser, ready.aside
        self.concept_names_ = table.names
        if cuts is None:
            self.n_features_in_ = _n_columns(X)
            self.__dict__.pop("feature_names_in_", None)
            if hasattr(X, "columns"):
                self.feature_names_in_ = np.array([str(column) for column in X.columns], dtype=object)
        for name in ("certificate_", "alternatives_", "soft_network_", "_rules"):
            self.__dict__.pop(name, None)
        if trained.exact is not None:
            for sentence in table.group_warnings():
                warnings.warn(f"{sentence} The certificate does not speak of them.", LogicLensWarning, stacklevel=2)
            # The soft network is kept beside the exact one.
            self.soft_network_, self.network_ = self.network_, trained.exact.network
            self.certificate_ = certify(trained.exact, table.class_names)
            self.alternatives_ = tuple(head.alternatives for head in trained.exact.heads)
            self._rules = self._labelled(explain_exact(self.network_, self.certificate_, table)).rules
        return self

    def _labelled(self, explanation: Explanation, **more: Any) -> Explanation:
        """An explanation that knows the labels and what the concepts mean."""
        return replace(
            explanation,
            labels=() if self.schema_.multilabel else tuple(self.classes_.tolist()),
            predicates=self.schema_.predicates,
            resolve=self._rules.resolve if hasattr(self, "_rules") else self.resolve,
            **more,
        )

    @property
    def history_(self) -> Any:
        """The training history, epoch by epoch."""
        self._check_fitted()
        return self.train_result_.history

    @property
    def rules_(self) -> RuleSet:
        """The formulas of all classes with what their concepts mean: they predict from a raw table, without a network.

        With `exact` these are the model; else they are about it.
        """
        self._check_fitted()
        if not hasattr(self, "_rules"):
            # Read off the network once; the next call finds them.
            self._rules = self.explain().rules
        return self._rules

    @property
    def relevance_(self) -> pd.DataFrame:
        """How much each class leans on each concept: 1 for what it leans on most, one row for each class."""
        self._check_fitted()
        relevance = self.network_.entropy.relevance().detach().double().numpy()
        return pd.DataFrame(relevance, index=list(self.schema_.class_names), columns=list(self.schema_.names))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; for several labels a 0/1 matrix. With `exact`, what the rules say.

        Where nobody decides (`resolve="none"`), the class is None.
        """
        if self._is_exact:
            return self._rules.predict(self._packed(X))
        reading = self.read(X)
        if self.schema_.multilabel:
            return reading.yes.astype(np.int64)
        labels: NDArray[Any] = self.classes_[reading.logits.argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`.

        With `exact`, the class that the rules decide for has the confidence of the cube that decides (Wilson's lower
        bound of how often it was right), and the others share the rest: how far to trust it, not a calibrated chance.
        """
        if self._is_exact and not self.schema_.multilabel:
            return self._rules.confidence(self._packed(X))
        return self.read(X).probability

    def explain(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exclusive: bool = True,
        stability: int | None = None,
        stable: bool = False,
    ) -> Explanation:
        """The formula of each class: the network's answers on the training rows, or on other rows, in logic.

        The labels `y` of other rows are needed with `score_against="labels"` only. With `exclusive=False` formulas
        spell out exclusive groups, such as the categories of a column, instead of relying on them.

        With `stability` the model is trained again on so many resamples of its rows, and the explanation says how often
        each concept and cube is chosen; with `stable=True` its formulas are made of those that recur.
        """
        self._check_fitted()
        if X is None and not hasattr(self, "table_"):
            raise LogicLensError("a loaded model keeps no rows: pass the rows to explain, explain(rows).")
        table = self.table_ if X is None else self._table(X, y)
        if self._is_exact:
            if not exclusive:
                raise LogicLensError("the formulas of an exact model are certified as they are: leave out exclusive.")
            if stable:
                raise LogicLensError("the formulas of an exact model are certified as they are: leave out stable.")
            return replace(self._explain_exact(table), stability=self._stability(stability))
        if stable and stability is None:
            raise LogicLensError("stable=True needs resamples: say how many, for example stability=20.")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LogicLensWarning)
            explanation = explain_all(
                self.network_,
                table,
                method=self.method,
                score_against=self.score_against,
                limits=limits_of(self),
                answer=self._answer,
                exclusive=exclusive,
            )
        for warning in caught:
            # At the caller's line, not at this one.
            warnings.warn(warning.message, stacklevel=2)
        told = replace(self._labelled(explanation, notes=self._notes), stability=self._stability(stability))
        return stable_explanation(told, told.stability, limits_of(self)) if stable and told.stability else told

    def _stability(self, n_resamples: int | None) -> Stability | None:
        if n_resamples is None:
            return None
        if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 2:
            raise LogicLensError(f"stability must be a number of resamples from 2 on, got {n_resamples!r}.")
        if not hasattr(self, "table_"):
            raise LogicLensError("a loaded model keeps no rows to draw again: fit it first.")
        seed = seed_of(self.random_state)
        runs = list(resampled_formulas(self, self.classes_, self.table_, int(n_resamples), seed))
        return selection_frequencies(self.schema_.class_names, runs)

    def statistics(self, X: Any = None, y: Any = None, *, by: Any = None, sample_weight: Any = None) -> RuleStatistics:
        """Support, coverage, confidence and lift of every rule, with intervals, on rows that chose nothing.

        These are the rows given, which must not be among those that the model was fitted on, or else the rows that
        `set_aside` kept from training. `by` is a column (its name, or one value a row): the same for each value of it.
        """
        return statistics_of(self, X, y, by=by, sample_weight=sample_weight)

    def _explain_exact(self, table: ConceptTable) -> Explanation:
        explanation = explain_exact(self.network_, self.certificate_, table, alternatives=self.alternatives_)
        notes = [f"{head.name}: {head.note}" for head in self.certificate_.heads if head.note]
        if not hasattr(self, "soft_network_"):
            notes.append("a model folder does not keep the soft network: gap() starts from the exact one.")
        notes += [f"{sentence} The certificate does not speak of them." for sentence in table.group_warnings()]
        return self._labelled(
            explanation,
            notes=(*self._notes, *notes),
            soft_agreement=self.soft_agreement(table),
            model_rules=self._rules,
            soft_network=getattr(self, "soft_network_", None),
        )

    def soft_agreement(self, rows: Any) -> float | None:
        """The share of rows on which the rules predict what the soft network did; None where that is not kept."""
        if not self._is_exact or not hasattr(self, "soft_network_"):
            return None
        table = rows if isinstance(rows, ConceptTable) else self._table(rows)
        packed = PackedRows.of(table.boolean(), table.names)
        if self.schema_.multilabel:
            agree = (read(self.soft_network_, table, "threshold").yes == self._rules.fires(packed)).mean(axis=1)
        else:
            soft = read(self.soft_network_, table, "argmax").logits.argmax(axis=1)
            agree = self._rules.predict_places(packed) == soft
        return float(np.average(agree, weights=table.weight))

    def explain_local(
        self, X: Any, explanation: Explanation | None = None, *, target: str | int | None = None
    ) -> tuple[LocalExplanation, ...]:
        """For each row the concepts that made its class, reduced to a shortest reason in the class formula.

        The class is the predicted one, or `target` ("why not ICU?"). The formulas are those of `explain()`, or of
        an explanation that is already at hand. A single row may be a Series.
        """
        if getattr(X, "ndim", 2) == 1 and hasattr(X, "to_frame"):
            # A Series of one row has one type for all columns; each finds its own again.
            X = X.to_frame().T.infer_objects()
        reading = self.read(X)
        known = explanation or (self.explain() if hasattr(self, "table_") else self.explain(X))
        if not self._is_exact or self.schema_.multilabel:
            return explain_rows(reading, target=target, explanation=known)
        packed = PackedRows.of(reading.bits, reading.table.names)
        local = explain_rows(reading, target=target, explanation=known, probability=self._rules.confidence(packed))
        if target is not None:
            return local
        fired = self._rules.fires(packed).sum(axis=1)
        return tuple(replace(row, by_default=bool(n == 0)) for row, n in zip(local, fired, strict=True))

    def why(self, row: Any) -> Why:
        """Which rule decides on one raw row, which fire, and what each other one lacks: the reason codes.

        `row` is a dictionary from column to value, a Series, or a table with one row. With `exact` the rules are the
        model; else they are about it, and `explain_local` tells what the network itself leaned on.
        """
        return self.rules_.why(row)

    def save(self, folder: str | Path, result: Mapping[str, Any] | None = None) -> Path:
        """Write the model to a folder: `model.json`, `weights.safetensors` and, with `exact`, `certificate.json`.

        No row of the data is kept, except in a `result` (see `logiclens.report.result_of`). `logiclens verify FOLDER`
        checks the certificate.
        """
        self._check_fitted()
        return save_classifier(self, folder, result)

    @classmethod
    def load(cls, folder: str | Path) -> EntropyClassifier:
        """A model from its folder: it predicts as it did, and explains rows that are given; none are kept."""
        return load_classifier(cls, folder)

    @property
    def _notes(self) -> tuple[str, ...]:
        # A loaded model was not trained here.
        return self.train_result_.notes if hasattr(self, "train_result_") else ()

    def concepts(self, rows: Any) -> pd.DataFrame:
        """Rows as the concepts that the network sees: raw columns cut, or concepts in the order of training."""
        index = getattr(rows, "index", None)
        return as_frame(self._table(rows), index if isinstance(index, pd.Index) else None)

    def _table(self, rows: Any, labels: Any = None) -> ConceptTable:
        self._check_fitted()
        codes = None if labels is None else class_codes(labels, self.schema_.multilabel, self.classes_)
        if self.schema_.cutting is not None and not isinstance(rows, ConceptTable):
            if not hasattr(rows, "columns"):
                rows = check_array(rows, dtype=None, ensure_all_finite=False)
            validate_data(self, rows, skip_check_array=True, reset=False)
        return self.schema_.table(rows, codes)

    def _packed(self, rows: Any) -> PackedRows:
        """Rows as the Boolean concepts that the heads see, which is what the rules speak of."""
        table = self._table(rows)
        return PackedRows.of(table.boolean(), table.names)

    def read(self, X: Any, y: Any = None) -> Reading:
        """What the network says about rows, in full: outputs, answers and relevance. With labels, to be scored."""
        table, exact = self._table(X, y), self._is_exact
        return read(self.network_, table.hard() if exact else table, self._answer, exact=exact)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are classed right; a row that nobody decides is not."""
        truth = np.asarray(y)
        right = np.equal(self.predict(X), truth).reshape(len(truth), -1).all(axis=1)
        weight = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(weight[right].sum() / weight.sum())

    def plot_relevance(self, target: Any = None, *, axes: Axes | None = None) -> Axes:
        """How much the network leans on each concept, class under class, or for the class `target` only.

        Drawn on `axes`, or on those of a new figure, which are returned; see `Explanation.plot_relevance`.
        """
        require_matplotlib()
        known = self.rules_
        asked = None if target is None else known.rule(target)
        relevance = {
            rule.name: dict(zip(self.schema_.names, shares, strict=True))
            for rule, shares in zip(known.rules, self.relevance_.to_numpy().tolist(), strict=True)
            if asked in (None, rule)
        }
        return plot_relevance(relevance, {rule.name: rule.formula.concepts for rule in known.rules}, axes)

    def plot_history(self, *, axes: Axes | None = None) -> Axes:
        """Loss and accuracy epoch by epoch, with the epoch that was kept; drawn on `axes` or a new figure's."""
        self._check_fitted()
        if not hasattr(self, "train_result_"):
            raise LogicLensError("a loaded model keeps no training history: fit it to draw one.")
        return plot_history(self.history_, axes)

    def plot_pareto(
        self,
        X: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        score: Literal["f1", "accuracy"] = "f1",
        axes: Axes | None = None,
    ) -> Axes:
        """What score each number of literals would buy, with the formulas chosen ringed; see `Explanation.plot_pareto`.

        Scored on the rows `X` and their labels `y`, or, which is flattering, on those that the model was fitted on.
        """
        require_matplotlib()
        if hasattr(self, "table_"):
            return self.explain().plot_pareto(X, y, target=target, score=score, axes=axes)
        return self.explain(X, y).plot_pareto(target=target, score=score, axes=axes)

    def _repr_html_inner(self) -> str:
        """What a notebook shows: scikit-learn's diagram before `fit`, the rules after it."""
        if not hasattr(self, "network_"):
            return str(super()._repr_html_inner())
        with warnings.catch_warnings():
            # Who asks for the rules is warned, then or later: a look keeps nothing.
            warnings.simplefilter("ignore")
            try:
                known = self._rules if hasattr(self, "_rules") else self.explain().rules
                rules: RuleSet | None = known
                facts = _facts(self, known)
            except Exception as error:  # Settings may have been changed since: a look at the model says so.
                rules, facts = None, [f"The rules cannot be shown: {error}"]
        return model_html(type(self).__name__, _changed_settings(self), rules, facts)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for notebooks, which ask here first; `sklearn.set_config(display="text")` leaves the HTML out."""
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else shown

    @property
    def _answer(self) -> Literal["argmax", "threshold"]:
        return "threshold" if self.schema_.multilabel or self._is_exact else "argmax"

    @property
    def _is_exact(self) -> bool:
        self._check_fitted()
        if bool(self.exact) != hasattr(self, "certificate_"):
            raise NotFittedError("exact was changed after the model was fitted: call fit(X, y) again.")
        return bool(self.exact)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know: gaps, text and several labels are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = self.booleanise is not None
        tags.classifier_tags.multi_label = True
        return tags

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("this EntropyClassifier is not fitted: call fit(X, y) first.")


def _changed_settings(model: EntropyClassifier) -> dict[str, Any]:
    """The settings that are not the defaults, told apart as they are printed: an array has no plain `==`."""
    defaults = EntropyClassifier().get_params(deep=False)
    given = {
        # A model folder keeps a list where the default is a tuple.
        name: tuple(value) if isinstance(value, list) else value
        for name, value in model.get_params(deep=False).items()
    }
    return {name: value for name, value in given.items() if repr(value) != repr(defaults.get(name))}


def _facts(model: EntropyClassifier, rules: RuleSet) -> list[str]:
    """What the rules are to the model, and how often both are right on rows that were set aside."""
    exact = model._is_exact
    facts = [
        "The rules are about the network: explain() says how faithful each is; with exact=True they are the model."
    ]
    if exact:
        facts = ["The rules are the model: on every possible row the network equals its formulas, as certified."]
    if model.set_aside_ is not None:
        table = model.set_aside_.table
        truth = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
        told = f"accuracy {percent(model.score(table, truth, table.weight))}"
        if not exact:
            by_rules = accuracy(truth, rules.predict(PackedRows.of(table.boolean(), table.names)), table.weight)
            told = f"{told}, of the rules alone {percent(by_rules)}"
        facts.append(f"On the {table.n_counted:,} rows set aside before training: {told}.")
    return facts


def _n_columns(rows: Any) -> int:
    if isinstance(rows, ConceptTable):
        return rows.n_concepts
    return len(rows.columns) if hasattr(rows, "columns") else int(np.shape(rows)[1])
