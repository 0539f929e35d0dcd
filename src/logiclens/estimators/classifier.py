"""EntropyClassifier: the scikit-learn face. `__init__` stores, `fit` checks and trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import validate_data

from logiclens.concepts.booleaniser import Booleaniser, How
from logiclens.concepts.concept_table import ConceptTable
from logiclens.engine.lake import in_engine, is_lake
from logiclens.errors import LogicLensError
from logiclens.estimators.budget import RESAMPLES
from logiclens.estimators.counted import prepare_in_engine
from logiclens.estimators.folder import load_classifier, save_classifier
from logiclens.estimators.inputs import seed_of
from logiclens.estimators.lakes import predict_into, score_in_engine
from logiclens.estimators.notebook import Notebook
from logiclens.estimators.prepare import prepare
from logiclens.estimators.prepared import CutsOn, Prepared
from logiclens.estimators.settings import booleaniser_of, check_settings, committee_of
from logiclens.estimators.training import Begun, Trained, concept_frequencies, train_all
from logiclens.explain.compiler import compiled_network
from logiclens.explain.own_teacher import ScoreAgainst
from logiclens.explain.result import Explanation
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import Resolve, RuleSet
from logiclens.tables.frames import as_named, check_column_names, column_names, parted


@dataclass(frozen=True, eq=False)
class BegunFit:
    """A fit whose network is not trained yet: what it was given, and what was made of that."""

    X: Any
    y: Any
    ready: Prepared
    training: Begun


class EntropyClassifier(ClassifierMixin, Notebook):  # type: ignore[misc]
    """A network that classifies by named concepts and states its reasons as formulas.

    Args:
        booleanise: how raw columns (numbers, categories, dates, gaps) become concepts, fitted on the rows that train:
            `"supervised"`, `"quantile"`, `"uniform"`, `"soft"`, a dictionary of cuts, or a `Booleaniser`. None: the
            columns are concepts in [0, 1]. Which of the two is never guessed from the values.
        exact: whether the rules answer, as a network that is compiled from them and certified to equal them on every
            possible row; see `logiclens.explain.compiler`. Else the committee answers and the rules are about it.
        committee: how many networks are trained on bags of the rows and answer together: 3, 6, 10, 15 and so on, one
            for each pair of groups of the rows; 2 and 1 have too few bags to teach, so that labels do. None is 10, or
            1 with `method="paper"`, which explains one network.
        stable: whether rules may only use concepts that recur on at least half of the bags.
        teacher: a fitted model with `predict_proba` or `predict` on the raw table, which the rules then explain: they
            match its answers in place of the committee's, and their length is chosen by fidelity to it. It stays
            fitted under `clone` and is never stored.
        resolve: which class decides where not exactly one formula fires, of more than two classes. `"order"`: the
            first in a printed order. `"confidence"`: the fired cube that can be trusted most. `"none"`: nobody.
        hidden: widths of the hidden layers of each head.
        shared_tail: whether heads share the layers behind the entropy layer.
        temperature: τ; lower values leave fewer concepts relevant.
        penalty_weight: λ, the weight of the entropy loss; higher values leave fewer concepts relevant.
        epochs: passes over the data; the best validation epoch is kept. More than 10,000 distinct rows are learned in
            mini-batches and in as many fewer passes.
        learning_rate: of AdamW.
        validation: the share of the rows of each bag that chooses the epoch.
        set_aside: the share of the rows that neither trains nor chooses anything, for `statistics()`.
        cuts_on: the rows that cuts are found on. `"train"`: those that train, and no others. `"all"`: all of them, from
            how often each value of a column goes with each class, after which rows are counted and what is counted is
            split; tables in an engine are always cut so.
        max_distinct: of a table in an engine, the most distinct rows that are taken from it. Where there are more,
            concepts are chosen on a sample, which is said, and all rows are counted by these.
        class_weight: one factor per class (a list, or a dictionary from class to factor), or `"balanced"`.
        method: how formulas are found: `"search"`, or the paper's extraction from one network, `"paper"`.
        score_against: what the search matches: the committee's out-of-bag answers (`"network"`), the labels
            (`"labels"`), or what cross-validation chooses between these (None).
        max_cubes: the most cubes in the formula of a class; None is no limit.
        max_literals: the most literals in the formula of a class; None is no limit.
        price: the macro-F1 that a literal must earn; None lets cross-validation choose it, and with it the length.
        min_support: the weight of rows of its class that each cube must be right on alone. None is 5 or 0.5% of the
            class, whichever is more. Never more than a quarter of the class is asked for.
        random_state: the seed of the initial weights and of the validation split.

    Example:
        >>> import pandas as pd
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
        committee: int | None = None,
        stable: bool = False,
        teacher: Any = None,
        hidden: Sequence[int] = (20,),
        shared_tail: bool = False,
        temperature: float = 1.0,
        penalty_weight: float = 1e-3,
        epochs: int = 500,
        learning_rate: float = 1e-2,
        validation: float = 0.2,
        set_aside: float = 0.0,
        cuts_on: CutsOn = "train",
        max_distinct: int = 1_000_000,
        class_weight: Sequence[float] | Mapping[Any, float] | Literal["balanced"] | None = None,
        method: Literal["search", "paper"] = "search",
        score_against: ScoreAgainst | None = None,
        max_cubes: int | None = None,
        max_literals: int | None = None,
        price: float | None = None,
        min_support: float | None = None,
        resolve: Resolve = "order",
        random_state: int | None = 0,
    ) -> None:
        """Store the settings; nothing is checked before `fit`."""
        self.booleanise = booleanise
        self.exact = exact
        self.committee = committee
        self.stable = stable
        self.teacher = teacher
        self.hidden = hidden
        self.shared_tail = shared_tail
        self.temperature = temperature
        self.penalty_weight = penalty_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.validation = validation
        self.set_aside = set_aside
        self.cuts_on = cuts_on
        self.max_distinct = max_distinct
        self.class_weight = class_weight
        self.method = method
        self.score_against = score_against
        self.max_cubes = max_cubes
        self.max_literals = max_literals
        self.price = price
        self.min_support = min_support
        self.resolve = resolve
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
        held_out: tuple[Any, Any] | None = None,
    ) -> EntropyClassifier:
        """Train on a table `X` and labels `y`: one per row, or a 0/1 matrix of several.

        `X` may also be the name of a CSV, Parquet or JSON lines file, and `target` (or `y`) the name of a column of
        `X`. A folder, a pattern such as `"lake/2026/*.parquet"`, or a table of Ibis is never read: the engine that
        holds it, by default DuckDB, counts its rows (see `cuts_on`).

        A weight of 2 is the same as a row that is there twice; neither that nor the order of the rows changes anything.
        With `booleanise=None` the columns are concepts in [0, 1] (a DataFrame names them; a `ConceptTable` may declare
        groups). `held_out` are rows and labels that choose the epoch, in place of a share of the rows.
        """
        begun = self._begin(X, _one_of(y, target), sample_weight, held_out)
        return self._settle(begun, train_all([begun.training])[0])

    def _begin(self, X: Any, y: Any, sample_weight: ArrayLike | None, held_out: tuple[Any, Any] | None) -> BegunFit:
        """Check and cut the rows: all that has to be done before the network is trained."""
        check_settings(self)
        if is_lake(X):
            return self._begin_counting(in_engine(X), y, sample_weight, held_out)
        X, y = parted(X, y)
        seed = seed_of(self.random_state)
        cuts = booleaniser_of(self)
        if cuts is not None:
            check_column_names([str(name) for name in column_names(X) or ()])
            validate_data(self, as_named(X), y, skip_check_array=True)
        ready = prepare(
            X,
            y,
            sample_weight,
            held_out,
            booleaniser=cuts,
            shares=(self.set_aside, self.validation),
            seed=seed,
            cuts_on=self.cuts_on,
            committee=committee_of(self),
            teacher=self.teacher,
        )
        if ready.booleaniser is not None:
            ready.booleaniser.warn(stacklevel=3)
        training = Begun(self, ready.classes, ready.train, ready.validation, seed, ready.grouped, ready.taught)
        return BegunFit(X, y, ready, training)

    def _begin_counting(self, table: Any, target: Any, sample_weight: Any, held_out: Any) -> BegunFit:
        """Count the rows of a table in an engine."""
        if sample_weight is not None or held_out is not None:
            raise LogicLensError("rows in an engine are counted as they are: leave out sample_weight and held_out.")
        if self.teacher is not None:
            raise LogicLensError("a teacher answers rows in memory, not those of an engine: read the table first.")
        seed = seed_of(self.random_state)
        ready = prepare_in_engine(
            table,
            target,
            booleaniser=booleaniser_of(self),
            shares=(self.set_aside, self.validation),
            seed=seed,
            budget=self.max_distinct,
            recurring=lambda rows, classes: concept_frequencies(self, classes, rows, RESAMPLES, seed),
            committee=committee_of(self),
        )
        names = pd.DataFrame(columns=pd.Index(ready.schema.columns, dtype=object))
        validate_data(self, names, skip_check_array=True)
        if ready.booleaniser is not None:
            ready.booleaniser.warn(stacklevel=4)
        labels = pd.Series([], name=target, dtype=object)
        return BegunFit(
            names, labels, ready, Begun(self, ready.classes, ready.train, ready.validation, seed, ready.grouped)
        )

    def _settle(self, begun: BegunFit, trained: Trained) -> EntropyClassifier:
        """Take over the trained network, with all that belongs to it."""
        ready, X, y = begun.ready, begun.X, begun.y
        table, self.network_, self.train_result_ = ready.table, trained.network, trained.result
        self.classes_, self.table_ = ready.classes, table
        held = 0 if ready.validation is None else ready.validation.n_counted
        self.parts_ = {"train": ready.train.n_counted, "validation": held}
        self.target_name_ = None if getattr(y, "name", None) is None else str(y.name)
        self.schema_, self.booleaniser_, self.set_aside_ = ready.schema, ready.booleaniser, ready.aside
        self.concept_names_ = table.names
        if ready.booleaniser is None:
            self.n_features_in_ = _n_columns(X)
            self.__dict__.pop("feature_names_in_", None)
            if hasattr(X, "columns"):
                self.feature_names_in_ = np.array([str(column) for column in X.columns], dtype=object)
        for name in ("certificate_", "soft_network_", "learned_", "teacher_fidelity_", "_rules"):
            self.__dict__.pop(name, None)
        if trained.learned is not None:
            self.learned_ = trained.learned
            explanation = self._learned_explanation(table)
            if ready.taught is not None:
                explanation = replace(explanation, answers=ready.taught[1])
            self._rules = explanation.rules
            if self.exact:
                self._compile(explanation)
        if ready.taught is not None:
            self.teacher_fidelity_ = self._fidelity_to_teacher(ready)
        return self

    def _fidelity_to_teacher(self, ready: Prepared) -> dict[str, float]:
        """The share of the training rows, and of those set aside, on which the rules decide as the teacher does."""
        parts = {"train": (ready.table, ready.taught)}
        if ready.aside is not None:
            parts["set_aside"] = (ready.aside.table, ready.taught_aside)
        found = {}
        for name, (table, answers) in parts.items():
            places = self.rules_.predict_places(PackedRows.of(table.boolean(), table.names))
            agree = np.asarray(answers)[1][np.arange(len(places)), places]
            found[name] = float(np.average(agree, weights=table.weight))
        return found

    def __sklearn_clone__(self) -> EntropyClassifier:
        """The same settings, not fitted; the teacher is shared, because it must stay fitted."""
        settings = self.get_params(deep=False)
        teacher = settings.pop("teacher")
        return type(self)(**{name: clone(value, safe=False) for name, value in settings.items()}, teacher=teacher)

    def _compile(self, explanation: Explanation) -> None:
        """Write the rules down as a network that equals them; the committee is kept beside it."""
        packed = PackedRows.of(self.table_.boolean(), self.table_.names)
        self.soft_network_ = self.network_
        agreement = self._agreement(self._rules, packed, explanation.classes[0].reading)
        compiled = compiled_network(
            self.learned_.formulas, self.table_, agreement=agreement, temperature=float(self.temperature)
        )
        self.network_, self.certificate_ = compiled.network, compiled.certificate

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; for several labels a 0/1 matrix. With `exact`, what the rules say.

        Where nobody decides (`resolve="none"`), the class is None. For a table in an engine see `predict_into`.
        """
        if is_lake(X):
            raise LogicLensError("answers for a table in an engine are not collected: use predict_into(table, out).")
        if self._is_exact:
            return self._rules.predict(self._packed(X))
        reading = self.read(X)
        if self.schema_.multilabel:
            return reading.yes.astype(np.int64)
        labels: NDArray[Any] = self.classes_[reading.logits.argmax(axis=1)]
        return labels

    def predict_into(self, X: Any, out: str | Path, *, name: str = "prediction") -> Path | str:
        """Write a table with one column more, the class that the rules give each row, by the engine that holds it.

        `X` is a folder, a pattern, or a table of Ibis; `out` is a Parquet file, or the name of a new table in the
        engine. The rules answer, as SQL: without `exact` they are about the network, and can differ from it.
        """
        self._check_fitted()
        return predict_into(self.rules_, X, out, name=name)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`.

        With `exact`, the class that the rules decide for has the confidence of the cube that decides (Wilson's lower
        bound of how often it was right), and the others share the rest: how far to trust it, not a calibrated chance.
        """
        if self._is_exact and not self.schema_.multilabel:
            return self._rules.confidence(self._packed(X))
        return self.read(X).probability

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are classed right; a row that nobody decides is not."""
        if is_lake(X):
            return score_in_engine(self, X, y)
        X, y = parted(X, y)
        answers = self.predict(X)
        truth = np.asarray(y)
        if truth.ndim == 2 and answers.ndim == 1 and truth.shape[1] == 1:
            truth = truth[:, 0]
        if truth.shape != answers.shape:
            raise LogicLensError(f"labels must have the shape {answers.shape} of the answers, got {truth.shape}.")
        right = np.equal(answers, truth).reshape(len(truth), -1).all(axis=1)
        weight = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(weight[right].sum() / weight.sum())

    def save(
        self, folder: str | Path, result: Mapping[str, Any] | None = None, *, rules: RuleSet | None = None
    ) -> Path:
        """Write the model to a folder: `model.json`, `weights.safetensors` and, with `exact`, `certificate.json`.

        No row of the data is kept, except in a `result` (see `logiclens.report.result_of`). `logiclens verify FOLDER`
        checks the certificate. `rules` are those to keep where they are not `rules_`, such as stable ones.
        """
        self._check_fitted()
        return save_classifier(self, folder, result, rules)

    @classmethod
    def load(cls, folder: str | Path) -> EntropyClassifier:
        """A model from its folder: it predicts as it did, and explains rows that are given; none are kept."""
        return load_classifier(cls, folder)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know: gaps, text and several labels are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = self.booleanise is not None
        tags.classifier_tags.multi_label = True
        return tags


def _one_of(y: Any, target: str | None) -> Any:
    if y is not None and target is not None:
        raise LogicLensError("y and target are two names of one thing: pass one of them.")
    if y is None and target is None:
        # scikit-learn's words.
        raise LogicLensError("requires y to be passed, but the target y is None: pass labels, or target='column'.")
    return target if y is None else y


def _n_columns(rows: Any) -> int:
    if isinstance(rows, ConceptTable):
        return rows.n_concepts
    return len(rows.columns) if hasattr(rows, "columns") else int(np.shape(rows)[1])
