"""EntropyClassifier: the scikit-learn estimator. `__init__` stores, `fit` validates and trains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import sklearn.exceptions
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import validate_data

from logiclens.concepts.booleaniser import Booleaniser, How
from logiclens.concepts.concept_table import ConceptTable, checked_weight, data_notes
from logiclens.constraints import flag
from logiclens.engine.lake import in_engine
from logiclens.errors import LogicLensError, collected_warnings, quoted, warn, within_memory
from logiclens.estimator.adoption import adopted
from logiclens.estimator.inputs import (
    CutsOn,
    Prepared,
    Schema,
    SetAside,
    class_codes,
    known_labels,
    rarest_class,
    rarity_note,
    teacher_name,
)
from logiclens.estimator.knowledge import (
    bound_knowledge,
    broken,
    knowing,
    learnable,
    note_of,
    proofs_of,
    protected_values,
    without_columns,
)
from logiclens.estimator.learning import Learned, concept_frequencies, factors_of, learned
from logiclens.estimator.on_engine import (
    COUNTING,
    predict_into,
    prepare_in_engine,
    score_in_engine,
    statistics_in_engine,
    table_in_engine,
)
from logiclens.estimator.persistence import classifier_files, load_classifier, origin_of
from logiclens.estimator.prepare import TargetSettings, as_frame, prepare
from logiclens.estimator.refit import refitted
from logiclens.estimator.settings import (
    booleaniser_of,
    check_positive,
    check_settings,
    place_of_positive,
    seed_of,
)
from logiclens.explain.certificate import Certificate
from logiclens.explain.choice import SEARCHING, LearnedRules
from logiclens.explain.decision import idle_cubes
from logiclens.explain.exact import compiled_network, explain_exact
from logiclens.explain.learned import explain_learned
from logiclens.explain.local import LocalExplanation, explain_rows
from logiclens.explain.reading import Reading, read_formulas
from logiclens.explain.result import Explanation
from logiclens.explain.stability import Stability, known_recurrence, stability_of
from logiclens.explain.weights import NetworkWeights
from logiclens.formula.check import Check, Property
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.edits import Note
from logiclens.formula.english import TableFacts
from logiclens.formula.flip import Flip
from logiclens.formula.knowledge import BoundKnowledge, Knowledge, Proof
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import Resolve, RuleSet
from logiclens.formula.target_cuts import TargetCuts, many_numbers_note
from logiclens.formula.why import Why
from logiclens.metrics.rule_statistics import RuleStatistics, coded, rule_statistics, wilson_interval
from logiclens.metrics.scores import accuracy
from logiclens.progress import Callback, working
from logiclens.render.figures import plot_history, plot_relevance
from logiclens.render.html import model_html
from logiclens.storage import ModelFolder
from logiclens.tables.formats import is_lake
from logiclens.tables.frames import (
    as_named,
    checked_matrix,
    column_names,
    label_array,
    named_frame,
    opened,
    parted,
    sentences_of_sklearn,
)
from logiclens.train.config import STEP, History, TrainResult
from logiclens.words import enumeration, percent

if TYPE_CHECKING:
    from logiclens.nn.layers import EntropyNet
    from logiclens.nn.rule_net import RuleNet
    from logiclens.render.figures import Axes

LOW_FIDELITY = 0.8
"""Share of rows on which rules and network agree; `fit` warns if the share, with its interval, is below.

Measured on held-out rows of normal noise in which a sum of columns decides: 82 and 86% for 200 rows of 10 columns, but
59, 74 and 55% for 500 rows of 100, 300 and 3,000 columns, where the rules are no better than a coin. On the training
rows, where no rows are held out, it was 85 and 91%, and 67, 72 and 62%.
"""

PLAN = {COUNTING: 1.0, STEP: 5.0, SEARCHING: 10.0}
"""The steps that a fit may have, and their usual shares of its time."""


class NotFittedError(LogicLensError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """An estimator was used before it was fitted; also an error of scikit-learn's class of this name.

    >>> try:
    ...     EntropyClassifier().predict([[70], [30]])
    ... except NotFittedError as error:
    ...     print(error)
    this EntropyClassifier is not fitted: call fit(X, y) first.
    """


def statistics_of(
    model: EntropyClassifier, rows: Any, labels: Any, *, by: Any, per_file: bool, sample_weight: Any
) -> RuleStatistics:
    """Return the statistics of the rules on the held-out rows, or on rows that the caller passes."""
    rules = model.rules_
    flag().check("per_file", per_file)
    if per_file and by is not None:
        raise LogicLensError("rows are told apart by a column or by their files: leave out by or per_file.")
    if is_lake(rows):
        if sample_weight is not None:
            raise LogicLensError("rows in an engine are counted as they are: leave out sample_weight.")
        return statistics_in_engine(model, rows, labels, by, per_file=per_file)
    if per_file:
        raise LogicLensError("per_file tells the files of a folder or a pattern apart: name these as the rows.")
    if rows is not None:
        rows, labels = parted(rows, labels)
        if labels is None:
            raise LogicLensError("statistics of other rows need their labels: statistics(rows, labels).")
        by_name = by if isinstance(by, str) else None
        values = _column(rows, by) if isinstance(by, str) else by
        packed, labels = model._packed(rows), model._in_classes(labels)
        source = f"{packed.n_rows:,} rows given, which must not be among those that the model was fitted on"
        return rule_statistics(rules, packed, labels, weight=sample_weight, by=values, by_name=by_name, source=source)
    return statistics_aside(model, rules, by=by)


def statistics_aside(model: EntropyClassifier, rules: RuleSet, *, by: Any = None) -> RuleStatistics:
    """Return the statistics of rules on the rows held out by `set_aside`."""
    aside = getattr(model, "set_aside_", None)
    if aside is None and model.set_aside and not hasattr(model, "table_"):
        raise LogicLensError(
            "a model keeps its held-out rows only where it was fitted: pass rows and labels that it has not seen, "
            "statistics(rows, labels). The figures on the held-out rows are in its report."
        )
    if aside is None:
        raise LogicLensError(
            "no rows were held out: fit with set_aside=0.25, or pass rows and labels that the model has not seen."
        )
    table, copies, name = aside.table, aside.copies, by if isinstance(by, str) else None
    source = f"{table.n_counted:,} rows held out before training: nothing was learned from them"
    weight, values = table.weight, None
    if by is not None:
        values = None if name is None else aside.column(name)
        if values is None:
            name, given = getattr(by, "name", None), np.asarray(by, dtype=object)
            if given.ndim != 1 or len(given) <= copies.places.max():
                raise LogicLensError("by must be the name of a column, or one value for each row that fit was given.")
            values = given[copies.places]
        # Rows that are equal to the model may differ here; those that do not are one row, as without subgroups.
        pair = np.stack([copies.rows, coded(values, len(values), "subgroup")[1]])
        _, first, of = np.unique(pair, axis=1, return_index=True, return_inverse=True)
        weight = np.bincount(of, copies.weight)
        table, values = table.take(copies.rows[first]), values[first]
    known = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
    rows = PackedRows.of(table.boolean(), table.names)
    return rule_statistics(
        rules,
        rows,
        known,
        weight=weight,
        by=values,
        by_name=None if name is None else str(name),
        source=source,
        worth=aside.worth,
    )


def _column(rows: Any, name: str) -> Any:
    if name not in (column_names(rows) or ()):
        raise LogicLensError(f"the rows have no column {quoted(name)} to compare subgroups by.")
    return parted(rows, name)[1]


def _changed_settings(model: EntropyClassifier) -> dict[str, Any]:
    """Return the settings that differ from the defaults, compared as printed because `==` of arrays is an array."""
    defaults = type(model)().get_params(deep=False)
    given = {
        # A loaded model has a list where the default is a tuple.
        name: tuple(value) if isinstance(value, list) else value
        for name, value in model.get_params(deep=False).items()
    }
    return {name: value for name, value in given.items() if repr(value) != repr(defaults.get(name))}


def _facts(model: EntropyClassifier, rules: RuleSet) -> list[str]:
    """Say how rules and model relate, and the accuracy of both on the held-out rows."""
    exact = model._is_exact
    facts = [
        "The rules are about the network: explain() says how faithful each is; with exact=True they are the model."
    ]
    if exact:
        facts = ["The rules are the model: on every possible row the network equals its formulas, as certified."]
    if model.set_aside_ is not None:
        table = model.set_aside_.table
        truth = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
        told = f"accuracy {percent(model.score(table, truth, table.weight), 1)}"
        if not exact:
            by_rules = accuracy(truth, rules.predict(PackedRows.of(table.boolean(), table.names)), table.weight)
            told = f"{told}, of the rules alone {percent(by_rules, 1)}"
        facts.append(f"On the {table.n_counted:,} rows held out before training: {told}.")
    return facts


@dataclass(frozen=True, eq=False)
class BegunFit:
    """A fit before anything is learned: the data given, the prepared rows, and what is known of them."""

    X: Any
    y: Any
    ready: Prepared
    seed: int
    bound: BoundKnowledge | None = None
    protected: dict[str, NDArray[np.object_]] = field(default_factory=dict)


class EntropyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network that classifies by named concepts and states its reasons as formulas.

    Args:
        booleanise: how raw columns (numbers, categories, dates, missing values) become concepts, fitted on the training
            rows: `"round"`, `"quantile"`, `"uniform"`, `"soft"`, a dictionary of cuts, or a `Booleaniser`. None: the
            columns already are concepts in [0, 1]. Default: `"round"`.
        exact: whether the rules are the model: they are learned from the labels, and compiled into a network that is
            certified to equal them on every possible row; see `logiclens.explain.exact`. If False, a network predicts
            and the rules explain it. Default: None, which is True unless `teacher`, `method="paper"` or concepts
            between 0 and 1 are given.
        teacher: a fitted model with `predict_proba` or `predict` on the raw table. The rules then explain it: they
            match its answers instead of the labels, and say how often. `clone` keeps it fitted; `save` does not store
            it. Default: None.
        hidden: the widths of the hidden layers of each head. Default: (20,).
        temperature: τ; lower values leave fewer concepts relevant. Default: 1.
        penalty_weight: λ, the weight of the entropy loss; higher values leave fewer concepts relevant. Default: 0.001.
        epochs: passes over the data; the best validation epoch is kept. More than 10,000 distinct rows are learned in
            mini-batches, with proportionally fewer passes. Default: 500.
        learning_rate: the learning rate of AdamW. Default: 0.01.
        validation: the share of the training rows that chooses the epoch of a network. Default: 0.2.
        set_aside: the share of the rows that is held out: it neither trains nor chooses anything, and `statistics()`
            measures on it. Default: 0.
        split_by_time: the column of dates or numbers by which the latest rows are held out, instead of rows drawn at
            random; rows of one time stay together, and rows without a time train. Needs `set_aside`. Default: None.
        cuts_on: the rows on which cuts are found. `"train"`: the training rows only. `"all"`: all rows, by counting how
            often each value of a column occurs with each class; rows are then counted and split afterwards. Tables in
            an engine are always cut on all rows. Default: `"train"`.
        max_distinct: the most distinct rows that are taken from a table in an engine. If there are more, concepts are
            chosen on a sample, and a note says so; all rows are then counted by these. Default: 1,000,000.
        class_weight: one factor per class (a list, or a dictionary from class to factor), or `"balanced"`. Default:
            None.
        knowledge: what is known before learning: columns, conditions and rules that are forbidden or required,
            directions, costs and protected columns; see `logiclens.Knowledge`. It binds the rules, and with `exact` the
            model. Default: None.
        method: how formulas are found: `"search"`, or `"paper"`, the paper's extraction from one network. Default:
            `"search"`.
        max_literals: the most literals in the formula of a class. Default: None, no limit.
        min_support: the weight of rows of its class that each cube must cover alone, at most a quarter of the class.
            Default: None, which is 5 or 0.5% of the class, whichever is more.
        positive: the class that is stated, by its name: of two classes its rules are printed, and the other one is
            "otherwise"; of more (with `resolve="order"`) its rules come first and decide first. Default: None: of two
            classes yes, true or 1, or else the rarer one, unless the other has a clearly better formula.
        resolve: which class decides if not exactly one formula of more than two classes fires. `"order"`: the first in
            a printed order. `"confidence"`: the class of the most trusted cube that fires. `"none"`: no class.
            Default: `"order"`.
        above: cut a target of numbers into two classes, "at least" and "below" this value. Default: None, the labels
            are classes.
        quantiles: cut a target of numbers into so many classes of about equal size, found on the training rows.
            Default: None.
        random_state: random seed for the initial weights and the validation split. Default: 0.
        verbose: whether `fit` shows a bar with the time left, in a terminal or a notebook; nothing is written
            elsewhere, for example into a pipe. 0 or False: no bar. It changes no result and is not saved. Default:
            True.

    Attributes:
        weights_: the weights of the network of an exact or loaded model, as arrays.
        schema_: the concepts with their groups, the classes, and the cuts of raw columns.
        classes_: the labels.
        table_: the distinct training and validation rows; a loaded model has none.
        set_aside_: the held-out rows, or None.
        booleaniser_: the fitted `Booleaniser`, or None.
        target_name_: the name of the target, or None.
        train_result_: how the network was trained, if one was.
        certificate_: with `exact`, the certificate that the network equals its formulas.
        teacher_fidelity_: with a teacher, the share of rows on which the rules decide as the teacher does.
        target_cuts_: with `above` or `quantiles`, the cuts of the target; labels may then be numbers everywhere.
        learned_: the formulas found by the search and how each was chosen; a loaded model has none.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10, "unit": ["CCU", "MICU"] * 20})
        >>> model = EntropyClassifier().fit(table, ["well", "well", "ill", "ill"] * 10)
        >>> print(model.explain()["ill"])
        ∀x: ill(x) ↔ "age >= 50"(x)
        >>> model.predict(pd.DataFrame({"age": [80], "unit": ["CCU"]}))
        array(['ill'], dtype='<U4')
    """

    schema_: Schema
    classes_: NDArray[Any]
    table_: ConceptTable
    set_aside_: SetAside | None
    booleaniser_: Booleaniser | None
    target_name_: str | None
    train_result_: TrainResult
    certificate_: Certificate
    learned_: LearnedRules
    teacher_fidelity_: dict[str, float]
    target_cuts_: TargetCuts | None
    weights_: NetworkWeights
    _rules: RuleSet
    _readings: tuple[Reading, ...]
    _fit_notes: tuple[str, ...]
    _asked_notes: tuple[str, ...]
    _loaded: Mapping[str, Any]
    _origin: Mapping[str, Any]
    _bound: BoundKnowledge | None
    _protected: dict[str, NDArray[np.object_]]

    def __init__(
        self,
        booleanise: How | Mapping[str, Any] | Booleaniser | None = "round",
        *,
        exact: bool | None = None,
        teacher: Any = None,
        hidden: Sequence[int] = (20,),
        temperature: float = 1.0,
        penalty_weight: float = 1e-3,
        epochs: int = 500,
        learning_rate: float = 1e-2,
        validation: float = 0.2,
        set_aside: float = 0.0,
        split_by_time: str | None = None,
        cuts_on: CutsOn = "train",
        max_distinct: int = 1_000_000,
        class_weight: Sequence[float] | Mapping[Any, float] | Literal["balanced"] | None = None,
        knowledge: Knowledge | None = None,
        method: Literal["search", "paper"] = "search",
        max_literals: int | None = None,
        min_support: float | None = None,
        positive: Any = None,
        resolve: Resolve = "order",
        above: float | None = None,
        quantiles: int | None = None,
        random_state: int | None = 0,
        verbose: bool | int = True,
    ) -> None:
        """Store the settings. `fit` checks them."""
        self.booleanise = booleanise
        self.exact = exact
        self.teacher = teacher
        self.hidden = hidden
        self.temperature = temperature
        self.penalty_weight = penalty_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.validation = validation
        self.set_aside = set_aside
        self.split_by_time = split_by_time
        self.cuts_on = cuts_on
        self.max_distinct = max_distinct
        self.class_weight = class_weight
        self.knowledge = knowledge
        self.method = method
        self.max_literals = max_literals
        self.min_support = min_support
        self.positive = positive
        self.resolve = resolve
        self.above = above
        self.quantiles = quantiles
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        target: str | None = None,
        held_out: tuple[Any, Any] | None = None,
        groups: ArrayLike | None = None,
        progress: Callback | None = None,
    ) -> EntropyClassifier:
        """Train on a table and its labels, and return the model itself.

        A weight of 2 means the same as two equal rows, and the order of the rows does not matter. So multiplying
        whole-number weights by 3 is three times the evidence, and rules may become longer; weights that are not all
        whole numbers are scaled, so that a common factor changes no formula.

        Args:
            X: a table, or the name of a CSV, Parquet or JSON lines file. A folder, a pattern such as
                `"lake/2026/*.parquet"`, or a table of Ibis is never read: the engine that holds it, by default DuckDB,
                counts its rows (see `cuts_on`). With `booleanise=None` the columns are concepts in [0, 1]; a frame
                names them, and a `ConceptTable` may declare groups.
            y: the labels, one per row, a 0/1 matrix of several, or the name of a column of `X`. Default: None, for
                `target`.
            sample_weight: what each row counts for. Default: None, 1 for each.
            target: the name of a column of `X` with the labels, in place of `y`. Default: None.
            held_out: rows and labels that choose the epoch instead of a share of the rows. Default: None.
            groups: the group of each row, such as its patient. All rows of a group are on one side of every split, as
                with `GroupKFold` of scikit-learn. Default: None, rows stay together with their copies only.
            progress: a function that is called with a `logiclens.ProgressState` as the fit proceeds, in place of a bar
                (see `verbose`). An exception that it raises ends the fit, and the model is as it was before. Default:
                None.

        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10})
        >>> steps = []
        >>> _ = EntropyClassifier().fit(table, [0, 0, 1, 1] * 10, progress=lambda state: steps.append(state.step))
        >>> list(dict.fromkeys(steps))
        ['searching rules']
        """
        if progress is not None and not callable(progress):
            raise LogicLensError(
                f"progress must be a function that takes one ProgressState, got {quoted(progress)}: set verbose to "
                "show or hide the bar."
            )
        before = self.__dict__.copy()
        try:
            y = _one_of(y, target)
            check_settings(self)
            with within_memory(), working(progress or bool(self.verbose), _plan(self, X)):
                self._settle(self._begin(X, y, sample_weight, held_out, groups))
        except BaseException:
            # Whoever stops a fit keeps the model as it was.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        for note in self._fit_notes:
            warn(note, stacklevel=2)
        return self

    def _begin(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        held_out: tuple[Any, Any] | None,
        groups: Any = None,
        *,
        is_part: bool = False,
    ) -> BegunFit:
        """Check the input and turn rows into concepts: everything before training.

        The rows of a fold are a part of the table, which may have categories that the part lacks.
        """
        check_settings(self)
        if is_lake(X):
            if groups is not None:
                raise LogicLensError("an engine counts rows whatever their group: leave out groups, or read the table.")
            return self._begin_counting(in_engine(X), y, sample_weight, held_out)
        X, y = parted(X, y)
        label_name = getattr(y, "name", None)
        given, X = X, learnable(self, X, None if label_name is None else str(label_name))
        time = self.split_by_time
        if time is not None and getattr(y, "name", None) == time and time not in map(str, column_names(X) or ()):
            raise LogicLensError(
                f"{quoted(time)} is the target, which new rows do not have yet: split by another column of dates or "
                "numbers."
            )
        seed = seed_of(self.random_state)
        cuts, bound = booleaniser_of(self), None
        if self.positive is not None and not is_part:
            multilabel, names = self._classes_of(y, sample_weight)
            check_positive(self, names, label_name, multilabel=multilabel)
        if self.knowledge is not None:
            bound = self._bound_to(given, y, sample_weight, is_part=is_part)
            cuts = knowing(cuts, bound)
        if cuts is not None and isinstance(X, ConceptTable):
            raise LogicLensError("a ConceptTable holds concepts, which are not cut again: set booleanise=None.")
        if cuts is not None:
            with sentences_of_sklearn():
                validate_data(self, as_named(X), y, skip_check_array=True)
        else:
            X = named_frame(X)
        ready = prepare(
            X,
            y,
            sample_weight,
            held_out,
            booleaniser=cuts,
            share=self.set_aside,
            seed=seed,
            cuts_on=self.cuts_on,
            teacher=self.teacher,
            target=TargetSettings(self.above, self.quantiles),
            split_by_time=self.split_by_time,
            groups=groups,
        )
        if ready.booleaniser is not None:
            ready.booleaniser.warn(stacklevel=3)
        protected = {} if self.knowledge is None else protected_values(self.knowledge, given)
        return BegunFit(X, y, ready, seed, bound, protected)

    def _bound_to(self, rows: Any, y: Any, sample_weight: ArrayLike | None, *, is_part: bool) -> BoundKnowledge:
        """Return the knowledge on the columns of a table and the classes of its target."""
        assert self.knowledge is not None  # noqa: S101
        multilabel, names = self._classes_of(y, sample_weight)
        bound = bound_knowledge(
            self.knowledge, rows, names, multilabel=multilabel, bare=self.booleanise is None, is_part=is_part
        )
        if bound.stated is not None and place_of_positive(self, names) == 1 - bound.stated:
            raise LogicLensError(
                f"the knowledge requires rules of {quoted(names[bound.stated])}, which are stated then: leave out "
                f"positive={self.positive!r}."
            )
        return bound

    def _classes_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[bool, tuple[str, ...]]:
        """Return whether a row may have several labels, and the names of the classes."""
        weight = checked_weight(sample_weight, len(y))
        if self.above is not None or self.quantiles is not None:
            return False, TargetSettings(self.above, self.quantiles).names(label_array(y), weight)
        known = known_labels(y, weight)
        return known.codes.ndim == 2, known.names

    def _begin_counting(self, table: Any, target: Any, sample_weight: Any, held_out: Any) -> BegunFit:
        """Count the rows of a table in an engine."""
        if sample_weight is not None or held_out is not None:
            raise LogicLensError("rows in an engine are counted as they are: leave out sample_weight and held_out.")
        if self.split_by_time is not None:
            raise LogicLensError("rows that an engine counts have no order in time: leave out split_by_time.")
        if self.teacher is not None:
            raise LogicLensError("a teacher answers rows in memory, not those of an engine: read the table first.")
        if self.knowledge is not None:
            raise LogicLensError("knowledge is about rows in memory, not those of an engine: read the table first.")
        if self.above is not None or self.quantiles is not None:
            raise LogicLensError(
                "above and quantiles cut a target in memory, not in an engine: add a column with the classes there."
            )
        seed = seed_of(self.random_state)
        ready = prepare_in_engine(
            table,
            target,
            booleaniser=booleaniser_of(self),
            share=self.set_aside,
            seed=seed,
            budget=self.max_distinct,
            recurring=lambda rows: concept_frequencies(self, rows),
        )
        check_positive(self, ready.schema.class_names, target)
        names = pd.DataFrame(columns=pd.Index(ready.schema.columns, dtype=object))
        validate_data(self, names, skip_check_array=True)
        if ready.booleaniser is not None:
            ready.booleaniser.warn(stacklevel=4)
        labels = pd.Series([], name=target, dtype=object)
        return BegunFit(names, labels, ready, seed)

    def _settle(self, begun: BegunFit) -> EntropyClassifier:
        """Learn the rules, train a network if one predicts or is explained, and store both."""
        X, y, ready = begun.X, begun.y, begun.ready
        by_network = self.method == "paper" or not self._rules_decide(ready.table)
        found = None if self.method == "paper" else learned(self, ready, begun.bound, _answers_in(ready))
        ready = ready if found is None else found.ready
        table = ready.table
        for name in (
            "certificate_", "learned_", "teacher_fidelity_", "_rules", "_readings", "_loaded", "_origin", "weights_",
            "network_", "train_result_",
        ):  # fmt: skip
            self.__dict__.pop(name, None)
        self.classes_, self.table_ = ready.classes, table
        self.target_name_ = None if getattr(y, "name", None) is None else str(y.name)
        self.target_cuts_ = ready.target_cuts
        self.schema_, self.booleaniser_, self.set_aside_ = ready.schema, ready.booleaniser, ready.aside
        self.concept_names_ = table.names
        if ready.booleaniser is not None:
            ready.booleaniser.fitted_within(self, self.target_name_)
        else:
            self.n_features_in_ = _n_columns(X)
            self.__dict__.pop("feature_names_in_", None)
            if hasattr(X, "columns"):
                self.feature_names_in_ = np.array([str(column) for column in X.columns], dtype=object)
        self._bound, self._protected = begun.bound, begun.protected
        reading = None
        if by_network:
            reading = self._train(ready, begun.seed, found)
            if found is not None:
                # The rules explain the network, so they match its answers, over the concepts that it has.
                found = learned(self, replace(ready, recut=None), begun.bound, reading.yes.astype(np.float64))
        if found is not None:
            self._store(found, reading)
        if ready.taught is not None:
            self.teacher_fidelity_ = self._fidelity_to_teacher(ready)
        many = None
        # The labels of a table in an engine are not here, and are not cut.
        if not table.is_multilabel and not (isinstance(y, pd.Series) and y.empty):
            many = many_numbers_note(self.target_name_, self.classes_, table.class_weights())
        # Numbers of which each is a class are all rare, and `many` says what to do.
        rarity = None if many else self._rarity_note()
        # Nobody needs a warning of what was asked for.
        told = [
            *((note, False) for note in data_notes(table)),
            (many, False),
            (ready.note, False),
            (self._support_note(), False),
            (self._fidelity_note(), False),
            (rarity, self.class_weight is not None),
            (ready.time_note, self.split_by_time is not None),
            (ready.unit_note, True),
        ]
        self._fit_notes = tuple(note for note, is_asked in told if note is not None and not is_asked)
        self._asked_notes = tuple(note for note, is_asked in told if note is not None and is_asked)
        return self

    def _rules_decide(self, table: ConceptTable) -> bool:
        """Return whether the rules are the model; by default they are unless concepts lie between 0 and 1.

        With a teacher no network is trained: the teacher is the model that the rules explain.
        """
        if self.teacher is not None:
            return True
        return table.is_boolean if self.exact is None else self.exact

    def _train(self, ready: Prepared, seed: int, found: Learned | None) -> Reading:
        """Train the network, and return its answers on the training rows."""
        from logiclens.estimator.training import trained

        rules, bounds = (None, None) if found is None else (found.rules, found.config.bounds)
        made = trained(self, ready, seed, rules, bounds)
        self.network_, self.train_result_ = made.network, made.result
        reading = self._read_soft(ready.table)
        # The report asks for it again.
        self._readings = (reading,)
        return reading

    def _store(self, found: Learned, reading: Reading | None) -> None:
        """Store rules, without those that decide no row; certify them if they are the model."""
        table = found.ready.table
        self.learned_ = found.rules
        explanation = self._decided_explanation(found.ready, reading)
        idle = idle_cubes(explanation.rules, PackedRows.of(table.boolean(), table.names), table.weight)
        if idle:
            self.learned_ = found.rules.without(idle, found.config)
            # No answer on these rows changes, so the order of the classes stays.
            order, otherwise = explanation.rules.order, explanation.rules.otherwise
            explanation = replace(self._decided_explanation(found.ready, reading), order=order, otherwise=otherwise)
        self._rules = explanation.rules
        proofs = self.knowledge_proofs()
        if not all(proof.holds for proof in proofs):
            raise broken(proofs)
        if reading is None:
            compiled = compiled_network(self.learned_.formulas, table, temperature=float(self.temperature))
            self.weights_, self.certificate_ = compiled.weights, compiled.certificate

    def _decided_explanation(self, ready: Prepared, reading: Reading | None) -> Explanation:
        """Return the formulas found by the search on the training rows, with what chooses the order of the classes."""
        formulas, choices = self.learned_.formulas, self.learned_.choices
        answers = reading or read_formulas(formulas, ready.schema.class_names, ready.table)
        explanation = self._labelled(explain_learned(answers, formulas, choices), stability=self._on_bags())
        explanation = replace(explanation, factors=factors_of(self, ready))
        if ready.taught is not None:
            explanation = replace(explanation, answers=ready.taught[1])
        if self._bound is not None:
            explanation = replace(explanation, costs=self._bound.costs, without_rest=self._bound.without_rest)
        return explanation

    def knowledge_proofs(self) -> tuple[Proof, ...]:
        """Prove on all possible rows that the rules keep to `knowledge`: one entry per constraint, none without it.

        >>> from logiclens import ClassKnowledge, Knowledge
        >>> known = Knowledge(classes={"ill": ClassKnowledge(increasing=["age"])})
        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10})
        >>> model = EntropyClassifier(knowledge=known, exact=True).fit(table, ["well", "well", "ill", "ill"] * 10)
        >>> print(*model.knowledge_proofs())
        a higher 'age' never takes ill from a row: yes, where it holds, it still holds where 'age' is higher
        """
        self._check_fitted()
        return proofs_of(self)

    def _support_note(self) -> str | None:
        """Return a sentence if `min_support` is more than the search asks for, a quarter of the class."""
        if self.min_support is None or not hasattr(self, "learned_"):
            return None
        weights, names = self.table_.class_weights(), self.schema_.class_names
        searched = sorted({choice.klass for choice in self.learned_.choices})
        capped = [klass for klass in searched if self.min_support > weights[klass] / 4]
        if not capped:
            return None
        # A quarter of a row more is a whole row, unless rows have weights.
        whole = bool((weights == np.round(weights)).all())
        least = [math.ceil(weights[klass] / 4) if whole else weights[klass] / 4 for klass in capped[:5]]
        told = [f"{rows:,.4g} for {quoted(names[klass])}" for rows, klass in zip(least, capped[:5], strict=True)]
        listed = enumeration(told)
        more = f" and {len(capped) - 5} more classes" if len(capped) > 5 else ""
        return (
            f"min_support={self.min_support:g} (--min-support {self.min_support:g}) is more than a quarter of a class, "
            f"which is the most that is asked of a rule: it is lowered to {listed}{more}."
        )

    def _fidelity_note(self) -> str | None:
        """Return a sentence if the rules tell too little of the network's answers, or less than one constant answer.

        Measured on the held-out rows, or without any on the training rows, where the rules agree rather more often.
        """
        if not hasattr(self, "learned_") or self._is_exact:
            return None
        table = self.table_ if self.set_aside_ is None else self.set_aside_.table
        reading = self._read_soft(table)
        # The report asks for it again.
        self._readings = (*self._readings, reading)
        agreement = self._agreement(self._rules, PackedRows.of(table.boolean(), table.names), reading)
        n_rows = table.n_counted * (1.0 if self.set_aside_ is None else self.set_aside_.worth)
        most = wilson_interval(agreement * n_rows, n_rows)[1]
        rows = "training rows" if self.set_aside_ is None else "held-out rows"
        low = most < LOW_FIDELITY
        share = percent(agreement, 0 if low else 1)
        told = f"the rules decide as the network does on only {share} of the {table.n_counted:,} {rows}"
        if low:
            return (
                f"{told}, so they hardly explain it: pass fewer columns or more rows, or leave out "
                "exact=False (--soft), so that the rules decide."
            )
        if self.schema_.multilabel:
            return None
        answers = np.bincount(reading.logits.argmax(axis=1), table.weight, minlength=len(self.classes_))
        constant = float(answers.max() / answers.sum())
        if most >= constant:
            return None
        return (
            f"{told}, and always answering {quoted(self.classes_[answers.argmax()])} would on {percent(constant, 1)}, "
            "so a constant answer tells its answers better: leave out exact=False (--soft), so that the rules decide."
        )

    def _rarity_note(self) -> str | None:
        """Return a sentence on a rare class, if there is one: how often it is found, and what balancing trades.

        Measured on the held-out rows, or where none has the class on the training rows.
        """
        trained, aside = self.table_, None if self.set_aside_ is None else self.set_aside_.table
        # Costs weigh the classes already, and exclude class_weight.
        if trained.is_multilabel or (self._bound is not None and self._bound.costs is not None):
            return None
        rare = rarest_class(trained)
        if rare is None:
            return None
        table = trained if aside is None or not aside.class_weights()[rare] else aside
        if self._is_exact:
            answers = self._rules.predict_places(PackedRows.of(table.boolean(), table.names))
        else:
            answers = self.read(table).logits.argmax(axis=1)
        rows = "training rows" if table is trained else "held-out rows"
        return rarity_note(trained, rare, table, answers, rows, balanced=self.class_weight is not None)

    def _fidelity_to_teacher(self, ready: Prepared) -> dict[str, float]:
        """Return the share of training rows, and of held-out rows, on which the rules decide as the teacher does."""
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
        """Return an unfitted copy. The teacher is shared, because it must stay fitted."""
        settings = self.get_params(deep=False)
        teacher = settings.pop("teacher")
        return type(self)(**{name: clone(value, safe=False) for name, value in settings.items()}, teacher=teacher)

    @within_memory()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; for several labels a 0/1 matrix. With `exact`, the rules decide.

        A row that no class decides (`resolve="none"`) gets None.

        Args:
            X: a table with the columns of `fit`, or the name of a file. For a table in an engine use `predict_into`.
        """
        if is_lake(X):
            raise LogicLensError("answers for a table in an engine are not collected: use predict_into(table, out).")
        if not self._is_exact:
            return self._answers_of(self.read(X))
        packed = self._packed(X)
        if not self.schema_.multilabel and ((places := self._rules.predict_places(packed)) >= 0).all():
            # Rules keep labels as Python values, which dates and durations of NumPy are not.
            labels: NDArray[Any] = self.classes_[places]
            return labels
        return self._rules.predict(packed)

    def _answers_of(self, reading: Reading) -> NDArray[Any]:
        """Return the class that the network gives each row of a reading; for several labels a 0/1 matrix."""
        if self.schema_.multilabel:
            return reading.yes.astype(np.int64)
        labels: NDArray[Any] = self.classes_[reading.logits.argmax(axis=1)]
        return labels

    @within_memory()
    def predict_into(self, X: Any, out: str | Path, *, name: str = "prediction") -> Path | str:
        """Let the engine write a table with one more column, the class that the rules give each row; return its place.

        The rules decide, as SQL; without `exact` the network may answer differently.

        Args:
            X: a folder, a pattern, or a table of Ibis.
            out: a Parquet file, or the name of a new table in the engine.
            name: the name of the new column. Default: `"prediction"`.
        """
        self._check_fitted()
        return predict_into(self.rules_, X, out, name=name)

    @within_memory()
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`.

        With `exact`, the predicted class has the trust of the deciding cube (the lower Wilson bound of the share of
        rows on which it was right), or an even share where its trust is less, so that it stays the most probable class;
        the other classes share the rest. That is a measure of trust, not calibrated.

        Args:
            X: a table as in `predict`.
        """
        if self._is_exact and not self.schema_.multilabel:
            return self._rules.confidence(self._packed(X))
        return self.read(X).probability

    @within_memory()
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; a row that no class decides counts as wrong.

        Args:
            X: a table as in `fit`.
            y: the labels, or the name of their column; for a table in an engine the name.
            sample_weight: what each row counts for. Default: None, 1 for each.
        """
        if is_lake(X):
            return score_in_engine(self, X, y)
        X, y = parted(X, y)
        answers = self.predict(X)
        truth = self._in_classes(label_array(y))
        if truth.ndim == 2 and answers.ndim == 1 and truth.shape[1] == 1:
            truth = truth[:, 0]
        if truth.shape != answers.shape:
            raise LogicLensError(f"labels must have the shape {answers.shape} of the answers, got {truth.shape}.")
        if answers.dtype.kind != truth.dtype.kind and "U" in (answers.dtype.kind, truth.dtype.kind):
            # Text may be held as objects, and an undecided row as None; numbers and texts have no common type.
            answers, truth = answers.astype(object), truth.astype(object)
            if not any(isinstance(label, str) for label in truth.flat):
                raise LogicLensError(f"labels must be text as in training, got {quoted(truth.flat[0])}.")
        right = np.equal(answers, truth).reshape(len(truth), -1).all(axis=1)
        weight = checked_weight(sample_weight, len(right))
        return float(weight[right].sum() / weight.sum())

    @within_memory()
    def save(self, folder: str | Path, result: Any = None, *, rules: RuleSet | None = None) -> Path:
        """Write the model to a folder, and return the path of the folder.

        It holds `model.json`, `weights.safetensors` and, with `exact`, `certificate.json`, which `logiclens verify
        FOLDER` checks. No row of the data is stored, except in a `result`.

        Args:
            folder: the folder.
            result: what the report shows; see `logiclens.report.result_of`. Default: None.
            rules: the rules to store in place of `rules_`. Default: None.
        """
        self._check_fitted()
        return classifier_files(self, result, rules).write(folder)

    @classmethod
    @within_memory()
    def load(cls, folder: str | Path | ModelFolder) -> EntropyClassifier:
        """Return the model of a folder. It predicts as before, and explains rows that are passed to it.

        Args:
            folder: a folder that `save` wrote.
        """
        return load_classifier(cls, folder)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing values, text and several labels are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = self.booleanise is not None
        tags.classifier_tags.multi_label = True
        return tags

    @within_memory()
    def adopt(self, rules: RuleSet, *, with_knowledge: bool = True) -> EntropyClassifier:
        """Return an exact model of edited rules: on every row it answers as they do, and its certificate says so.

        The certificate records the history of the rules. The new model keeps no rows; this model stays as it is.

        Args:
            rules: those of `rules_` after edits (see `RuleSet.with_rule`); they may ask new conditions of the columns
                of the model.
            with_knowledge: whether rules that do not keep to the knowledge of the model are refused; without it the new
                model has none. Default: True.

        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10, "unit": ["CCU", "MICU"] * 20})
        >>> model = EntropyClassifier().fit(table, ["well", "well", "ill", "ill"] * 10)
        >>> adopted = model.adopt(model.rules_.with_threshold("age >= 50", 65, why="as the guideline says"))
        >>> adopted.predict(pd.DataFrame({"age": [60, 70], "unit": ["CCU", "CCU"]}))
        array(['well', 'ill'], dtype='<U4')
        """
        self._check_fitted()
        return adopted(self, rules, origin_of(self), with_knowledge=with_knowledge)

    @within_memory()
    def refit(
        self,
        X: Any,
        y: Any = None,
        *,
        pinned: RuleSet | None = None,
        target: str | None = None,
        groups: ArrayLike | None = None,
        why: str | None = None,
        who: str | None = None,
        when: Any = None,
    ) -> EntropyClassifier:
        """Search rules again around pinned ones, and return an exact model in whose formulas each of these is.

        Pinned rules (`RuleSet.pin`) decide some rows already: a new network and a new search, with the settings of this
        model, see the others.

        Args:
            X: a table as in `fit`.
            y: one label per row, or the name of their column. Default: None, for `target`.
            pinned: rules of which some are pinned. Default: None, those of `rules_`.
            target: the name of the column of labels, in place of `y`. Default: None.
            groups: the group of each row, as in `fit`. Default: None.
            why: the reason, for the history. Default: None.
            who: the person, for the history. Default: None.
            when: the moment, for the history; nothing reads a clock. Default: None.

        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10, "flu": [0, 1, 0, 0] * 10})
        >>> model = EntropyClassifier().fit(table, ["well", "ill", "ill", "ill"] * 10)
        >>> rules = model.rules_.with_rule("ill", "age >= 70")
        >>> again = model.refit(table, ["well", "ill", "ill", "ill"] * 10, pinned=rules.pin("ill: age >= 70"))
        >>> "age >= 70" in again.rules_.concepts
        True
        """
        self._check_fitted()
        rules = self.rules_ if pinned is None else pinned
        return refitted(self, X, _one_of(y, target), rules, Note(why, who, when), groups)

    @property
    def n_rows_(self) -> int:
        """The number of rows given to `fit`, including held-out rows."""
        self._check_fitted()
        aside = 0 if self.set_aside_ is None else self.set_aside_.table.n_counted
        return self.table_.n_counted + aside

    @property
    def history_(self) -> History:
        """The training history per epoch."""
        self._check_fitted()
        if not hasattr(self, "train_result_"):
            raise LogicLensError(
                "there is no training history: rules that are the model train no network, and a loaded one keeps none."
            )
        return self.train_result_.history

    @within_memory()
    def concepts(self, rows: Any) -> pd.DataFrame:
        """Return rows as the concepts that the network sees: raw columns cut, or concepts in training order.

        Args:
            rows: a table as in `predict`.
        """
        index = getattr(rows, "index", None)
        return as_frame(self._table(rows), index if isinstance(index, pd.Index) else None)

    @within_memory()
    def read(self, X: Any, y: Any = None) -> Reading:
        """Return the network's outputs, answers and relevance on rows; with labels they can be scored.

        Args:
            X: a table as in `predict`.
            y: the labels, or the name of their column. Default: None.
        """
        is_known = y is None and any(X is known.table for known in getattr(self, "_readings", ()))
        table = X if is_known else self._table(X, y)
        if not self._is_exact:
            return self._read_soft(table)
        return self.certificate_.reading(table)

    def _table(self, rows: Any, labels: Any = None) -> ConceptTable:
        self._check_fitted()
        if is_lake(rows):
            return table_in_engine(self, rows, labels)
        labels = labels if labels is None else self._in_classes(labels)
        codes = None if labels is None else class_codes(labels, self.schema_.multilabel, self.classes_)
        rows = opened(rows, self.schema_.needed_columns)
        if self.schema_.cutting is not None and not isinstance(rows, ConceptTable):
            names = column_names(rows)
            if names is None:
                rows = checked_matrix(rows)
            elif self.target_name_ in names and self.target_name_ not in self.schema_.columns:
                # A table that was fitted with its target by name is predicted as it is.
                rows, _ = parted(rows, self.target_name_)
            if self.knowledge is not None:
                # New rows need not have these columns, and may.
                rows = without_columns(rows, [n for n in self.knowledge.removed if n not in self.schema_.columns])
            with sentences_of_sklearn():
                validate_data(self, self._as_trained(rows), skip_check_array=True, reset=False)
        return self.schema_.table(rows, codes)

    def _as_trained(self, rows: Any) -> Any:
        """Return an empty frame with the columns of rows, and with those of training that no concept is about."""
        head = as_named(rows)
        if not isinstance(head, pd.DataFrame) or not hasattr(self, "feature_names_in_"):
            return head
        names, needed = [str(name) for name in head.columns], {*self.schema_.needed_columns}
        for place, name in enumerate(self.feature_names_in_):
            if name not in needed and name not in names:
                names.insert(place, name)
        return pd.DataFrame(columns=pd.Index(names, dtype=object))

    def _in_classes(self, labels: Any) -> Any:
        """Return labels as classes: numbers are cut as the target of training was."""
        return labels if self.target_cuts_ is None else self.target_cuts_.labels(label_array(labels))

    def _packed(self, rows: Any) -> PackedRows:
        """Return rows as Boolean concepts, which the rules are made of."""
        table = self._table(rows)
        return PackedRows.of(table.boolean(), table.names)

    @property
    def _is_exact(self) -> bool:
        self._check_fitted()
        is_exact = hasattr(self, "certificate_")
        if self.exact is not None and self.teacher is None and self.exact != is_exact:
            raise NotFittedError("exact was changed after the model was fitted: call fit(X, y) again.")
        return is_exact

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError("this EntropyClassifier is not fitted: call fit(X, y) first.")

    @cached_property
    def network_(self) -> EntropyNet | RuleNet:
        """The network that predicts from concepts; `fit` stores the trained one, any other is built from its weights.

        >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
        >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
        >>> model.network_.hidden
        (1,)
        """
        self._check_fitted()
        network: EntropyNet | RuleNet = self.weights_.network()
        return network

    @property
    def rules_(self) -> RuleSet:
        """The formulas of all classes and the meaning of their concepts: they predict raw rows without a network.

        With `exact` the rules are the model; otherwise they explain it.
        """
        self._check_fitted()
        self._check_method()
        if not hasattr(self, "_rules"):
            # Explained once; later calls reuse the rules.
            self._rules = self.explain().rules
        return self._rules

    @property
    def relevance_(self) -> pd.DataFrame:
        """The relevance of each concept for each class: 1 for the most relevant one; one row per class.

        In an exact model all concepts of a formula are equally relevant.
        """
        self._check_fitted()
        names = self.schema_.names
        if self._is_exact:
            heads = self.certificate_.heads
            relevance = np.array([[float(name in head.concepts) for name in names] for head in heads])
        else:
            from logiclens.explain.forward import relevance_of

            relevance = relevance_of(self.network_)
        return pd.DataFrame(relevance, index=list(self.schema_.class_names), columns=list(names))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the model leans on each input column: one number per column of `fit`, of sum 1.

        It is the relevance of concepts (`relevance_`), the mean over classes, summed over the concepts of a column. For
        an exact model it says what the rules use, for any other what the network uses.

        >>> table = pd.DataFrame({"age": [25, 37, 61, 74] * 10, "unit": ["CCU", "MICU"] * 20})
        >>> model = EntropyClassifier().fit(table, ["well", "well", "ill", "ill"] * 10)
        >>> model.feature_names_in_[model.feature_importances_.argmax()]
        'age'
        """
        self._check_fitted()
        schema, mean = self.schema_, self.relevance_.to_numpy().mean(axis=0)
        if schema.cutting is None:
            summed = mean
        else:
            place = {column: at for at, column in enumerate(schema.columns)}
            summed = np.zeros(len(schema.columns))
            for name, share in zip(schema.names, mean, strict=True):
                # The days between two dates belong to both columns.
                sources = schema.cutting.sources_of(name)
                for source in sources:
                    summed[place[source]] += share / len(sources)
        importances: NDArray[np.float64] = summed / summed.sum()
        return importances

    def explain(self, X: Any = None, y: Any = None, *, exclusive: bool = True) -> Explanation:
        """Return the formula of each class with its statistics on the training rows, or on other rows.

        The explanation says how often each rule is found again on the bags.

        Args:
            X: other rows; with `method="paper"` formulas are extracted from the network's answers on them. Default:
                None, the training rows.
            y: the labels of other rows. Default: None.
            exclusive: whether formulas rely on exclusive groups, such as the categories of a column, instead of
                spelling them out. Default: True.
        """
        self._check_fitted()
        flag().check("exclusive", exclusive)
        if X is None and not hasattr(self, "table_"):
            raise LogicLensError("a loaded model keeps no rows: pass the rows to explain, explain(rows).")
        self._check_method()
        with within_memory(), collected_warnings() as sentences, working(bool(self.verbose)):
            explanation = self._explanation(self.table_ if X is None else self._table(X, y), exclusive)
        for sentence in sentences:
            # Warn at the caller's line.
            warn(sentence, stacklevel=2)
        return explanation

    def _explanation(self, table: ConceptTable, exclusive: bool) -> Explanation:
        """Return the formula of each class on some rows."""
        if self._is_exact:
            if not exclusive:
                raise LogicLensError("the formulas of an exact model are certified as they are: leave out exclusive.")
            return self._explain_exact(table)
        if self.method != "paper":
            return self._learned_explanation(table, exclusive)
        from logiclens.explain.classwise import explain_all

        explanation = explain_all(
            self.network_,
            table,
            method="paper",
            answer="threshold" if self.schema_.multilabel else "argmax",
            exclusive=exclusive,
        )
        return self._labelled(explanation, notes=self._notes)

    def _check_method(self) -> None:
        if hasattr(self, "table_") and hasattr(self, "learned_") != (self.method != "paper"):
            raise NotFittedError("method was changed after the model was fitted: call fit(X, y) again.")

    def _learned_explanation(self, table: ConceptTable, exclusive: bool = True) -> Explanation:
        """Return the formulas found by the search, measured on some rows; for a loaded model those of its rules."""
        if hasattr(self, "learned_"):
            formulas, choices = self.learned_.formulas, self.learned_.choices
        else:
            formulas, choices = self._rules.formulas, ()
        explanation = explain_learned(self._read_soft(table), formulas, choices, exclusive=exclusive)
        notes, known = (*self._notes, *table.group_warnings()), getattr(self, "_rules", None)
        explanation = self._labelled(explanation, notes=notes, stability=self._on_bags())
        if known is None or exclusive:
            return replace(explanation, model_rules=known)
        # Formulas that are spelled out have the same meaning, so the order of the classes stays.
        return replace(explanation, order=known.order, otherwise=known.otherwise)

    def _on_bags(self) -> Stability | None:
        """Return how often rules are found again in the bags; for a loaded model what its rules store."""
        if not hasattr(self, "learned_"):
            return known_recurrence(self._rules) if hasattr(self, "_rules") else None
        return stability_of(self.learned_.choices, self.schema_.class_names, self.schema_.predicates)

    @within_memory()
    def statistics(
        self, X: Any = None, y: Any = None, *, by: Any = None, per_file: bool = False, sample_weight: Any = None
    ) -> RuleStatistics:
        """Return support, coverage, confidence and lift of every rule, with intervals, on held-out rows.

        Args:
            X: rows that are not among the training rows. Default: None, those that `set_aside` held out.
            y: the labels of these rows, or the name of their column; for a table in an engine the name. Default: None.
            by: measure each value of a column separately: the name of the column, or one value for each row passed (for
                held-out rows: for each row passed to `fit`). The model need not use that column. In an engine, dates
                are grouped by month. Default: None.
            per_file: whether each file of a folder or a pattern, such as `"lake/2027/*.parquet"`, is measured. Default:
                False.
            sample_weight: what each row passed counts for. Default: None, 1 for each.
        """
        return statistics_of(self, X, y, by=by, per_file=per_file, sample_weight=sample_weight)

    def _explain_exact(self, table: ConceptTable) -> Explanation:
        choices = self.learned_.choices if hasattr(self, "learned_") else ()
        is_bound = self.knowledge is not None
        explanation = explain_exact(self.certificate_, table, choices=choices, is_bound=is_bound)
        return self._labelled(
            explanation,
            notes=(*self._notes, *table.group_warnings()),
            model_rules=self._rules,
            stability=self._on_bags(),
        )

    def _read_soft(self, table: ConceptTable) -> Reading:
        """Return what the trained network says about rows. For training and held-out rows `fit` may have asked it."""
        from logiclens.explain.forward import read

        network = self.network_
        readings: tuple[Reading, ...] = getattr(self, "_readings", ())
        for known in readings:
            if known.table is table and known.network is network:
                return known
        return read(network, table, "threshold" if self.schema_.multilabel else "argmax")

    def _agreement(self, rules: RuleSet, packed: PackedRows, reading: Reading) -> float:
        """Return the share of rows on which rules decide as the network does."""
        if self.schema_.multilabel:
            agree = (reading.yes == rules.fires(packed)).mean(axis=1)
        else:
            agree = rules.predict_places(packed) == reading.logits.argmax(axis=1)
        return float(np.average(agree, weights=reading.table.weight))

    @within_memory()
    def explain_local(
        self, X: Any, explanation: Explanation | None = None, *, target: str | int | None = None
    ) -> tuple[LocalExplanation, ...]:
        """Return for each row the concepts that led to its class, reduced to a shortest reason in the class formula.

        Args:
            X: a table as in `predict`; a single row may be a Series.
            explanation: the explanation whose formulas are used. Default: None, that of `explain`.
            target: the class to give reasons for ("why not ICU?"). Default: None, the predicted one.
        """
        if getattr(X, "ndim", 2) == 1 and hasattr(X, "to_frame"):
            # A Series has one dtype for all cells; infer that of each column again.
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
        """Return the reason codes of one raw row: which rule decides, which fire, and what each other one lacks.

        With `exact` the rules are the model; otherwise `explain_local` says which concepts the network itself used.

        Args:
            row: a dictionary from column to value, a Series, or a table with one row.
        """
        return self.rules_.why(row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """Return a smallest change of one raw row that changes the answer of the rules.

        With `exact` the rules are the model; otherwise the network may answer differently.

        Args:
            row: as in `why`.
            frozen: columns and concepts that do not change. Default: none.
            to: the class to reach. Default: None, any other.
            of: the class whose formula must change its answer; needed if a row can have several labels. Default: None.
        """
        return self.rules_.flip(row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Property | str, *, of: Scalar | None = None) -> Check:
        """Return whether the rules of each class have a property on all possible rows.

        With `exact` the rules are the model; otherwise nothing is said of the network.

        Args:
            wanted: a property, such as `"never uses 'gender'"` or `"increasing in 'age'"`.
            of: the one class to check. Default: None, all.
        """
        return self.rules_.check(wanted, of=of)

    def _labelled(self, explanation: Explanation, **more: Any) -> Explanation:
        """Return the explanation with the labels and the meaning of the concepts."""
        return replace(
            explanation,
            labels=() if self.schema_.multilabel else tuple(self.classes_.tolist()),
            predicates=self.schema_.predicates,
            facts=self._table_facts,
            resolve=self._rules.resolve if hasattr(self, "_rules") else self.resolve,
            first=place_of_positive(self, self.schema_.class_names),
            **more,
        )

    @property
    def _table_facts(self) -> TableFacts:
        """What is known of the training table: for a loaded model what its rules store."""
        if hasattr(self, "_rules"):
            return self._rules.facts
        cutting = self.schema_.cutting
        return TableFacts(
            self.target_name_,
            () if cutting is None else cutting.whole,
            () if cutting is None else cutting.complete,
            self.schema_.column_kinds,
            {} if cutting is None else cutting.categories,
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        # A loaded model has no notes on its fit.
        notes = [*getattr(self, "_fit_notes", ()), *getattr(self, "_asked_notes", ())]
        notes += [note] if (note := note_of(self)) is not None else []
        choices, names = self.learned_.choices if hasattr(self, "learned_") else (), self.schema_.class_names
        said = names if self.schema_.multilabel else [self._table_facts.class_words(name) for name in names]
        notes += [f"{said[choice.klass]}: {choice.note}" for choice in choices if choice.note]
        if hasattr(self, "teacher_fidelity_"):
            shares = self.teacher_fidelity_
            rows = "the held-out rows" if "set_aside" in shares else "the training rows"
            share = percent(shares.get("set_aside", shares["train"]), 1)
            notes.append(
                f"the rules explain {teacher_name(self.teacher)}: they decide as it does on {share} of {rows}."
            )
        return tuple(notes)

    def plot_relevance(self, target: Any = None, *, ax: Axes | None = None) -> Axes:
        """Plot the relevance of concepts for each class, and return the axes; see `Explanation.plot_relevance`.

        Args:
            target: the class to show. Default: None, all.
            ax: axes to draw on. Default: None, those of a new figure.
        """
        known = self.rules_
        asked = None if target is None else known.rule(target)
        relevance = {
            known.class_heading(rule.name): dict(zip(self.schema_.names, shares, strict=True))
            for rule, shares in zip(known.rules, self.relevance_.to_numpy().tolist(), strict=True)
            if asked in (None, rule)
        }
        used = {known.class_heading(rule.name): rule.formula.concepts for rule in known.rules}
        return plot_relevance(relevance, used, ax)

    def plot_history(self, *, ax: Axes | None = None) -> Axes:
        """Plot loss and accuracy per epoch, with the epoch that was kept, and return the axes.

        Args:
            ax: axes to draw on. Default: None, those of a new figure.
        """
        return plot_history(self.history_, ax)

    def plot_pareto(
        self,
        X: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        score: Literal["f1", "accuracy"] = "f1",
        ax: Axes | None = None,
    ) -> Axes:
        """Plot the score for each number of literals, mark the chosen formulas, and return the axes.

        See `Explanation.plot_pareto`.

        Args:
            X: rows to measure on. Default: None, the training rows, on which scores are optimistic.
            y: the labels of these rows. Default: None.
            target: the class to show. Default: None, all.
            score: `"f1"` or `"accuracy"`. Default: `"f1"`.
            ax: axes to draw on. Default: None, those of a new figure.
        """
        if hasattr(self, "table_"):
            return self.explain().plot_pareto(X, y, target=target, score=score, ax=ax)
        return self.explain(X, y).plot_pareto(target=target, score=score, ax=ax)

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram before `fit`, the rules after it."""
        if not hasattr(self, "schema_"):
            return str(super()._repr_html_inner())
        # Rendering neither warns nor caches; `explain()` does both.
        with collected_warnings():
            try:
                known = self._rules if hasattr(self, "_rules") else self.explain().rules
                rules: RuleSet | None = known
                facts = _facts(self, known)
            except Exception as error:  # Settings may have changed since `fit`: show the error.
                rules, facts = None, [f"The rules cannot be shown: {error}"]
        return model_html(type(self).__name__, _changed_settings(self), rules, facts)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return text and HTML for a notebook; `sklearn.set_config(display="text")` leaves the HTML out."""
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else shown


def _plan(model: EntropyClassifier, rows: Any) -> dict[str, float]:
    """Return the steps that a fit will take, with their usual shares of the time."""
    is_paper = model.method == "paper"
    taken = {
        COUNTING: is_lake(rows),
        # Whether concepts lie between 0 and 1, so that a network is trained by default, is not known yet.
        STEP: is_paper or (model.exact is False and model.teacher is None),
        SEARCHING: not is_paper,
    }
    return {step: PLAN[step] for step, is_taken in taken.items() if is_taken}


def _one_of(y: Any, target: str | None) -> Any:
    if y is not None and target is not None:
        raise LogicLensError("y and target are two names of one thing: pass one of them.")
    if y is None and target is None:
        # scikit-learn's tests expect these words.
        raise LogicLensError("requires y to be passed, but the target y is None: pass labels, or target='column'.")
    return target if y is None else y


def _answers_in(ready: Prepared) -> NDArray[np.float64] | None:
    """Return what rules match in place of the labels: the answers of a teacher, if there is one."""
    return None if ready.taught is None else ready.taught[1]


def _n_columns(rows: Any) -> int:
    if isinstance(rows, ConceptTable):
        return rows.n_concepts
    return len(rows.columns) if hasattr(rows, "columns") else int(np.shape(rows)[1])
