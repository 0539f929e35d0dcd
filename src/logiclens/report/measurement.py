"""Measurement of a fitted model and its rules on held-out rows: `result_of`, and `write_report` for the page."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens import __version__
from logiclens.errors import LogicLensError, quoted
from logiclens.estimator.classifier import EntropyClassifier, statistics_aside
from logiclens.estimator.inputs import SetAside, teacher_name
from logiclens.explain.candidates import best_literal
from logiclens.explain.gap import STEP_WORDS, Gap
from logiclens.explain.leaning import Leaning
from logiclens.explain.reading import Reading
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.formula.column_kinds import CATEGORY, KINDS
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.english import condition_words, gap_conditions, literal_words
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.metrics.rule_statistics import (
    AnswerCost,
    Confusion,
    RuleStatistics,
    Share,
    answer_costs,
    confusion,
    count_decided,
    known,
)
from logiclens.metrics.scores import explanation_accuracy, metric_named
from logiclens.report.page import render
from logiclens.report.result import (
    KIND,
    SCHEMA,
    Certified,
    ClassResult,
    ConceptWords,
    Constraint,
    Curves,
    Data,
    FiringCounts,
    GapCount,
    GapStep,
    GapSummary,
    Headline,
    HeldOutRow,
    InputColumn,
    Metric,
    Parts,
    ProtectedColumn,
    Relevance,
    Result,
    Simplest,
    UnusedColumn,
)
from logiclens.storage import write_whole
from logiclens.tables.frames import Column
from logiclens.words import percent

DATE, DURATION = KINDS["date"], KINDS["timedelta"]
MOST_ROWS = 1_000
"""The most held-out rows that a result contains."""
TELLTALE = 0.95
"""The mean share of the rows of a class and of the other rows that a single condition tells, from which on it may be
the outcome under another name. Always saying the most frequent class tells a half."""


@dataclass(frozen=True)
class Source:
    """Where the rows come from.

    Args:
        name: the name of the file.
        rows: its number of rows.
        columns: its number of columns without the target.
        target: the column that is predicted.
        sha256: the hash of the file. Default: None, not a file.
        command: the command that reproduces the result. Default: None.
        row_numbers: the number of each row in the file. Default: None, rows are numbered 1, 2, 3, ….

    >>> Source("iris.csv", rows=150, columns=4, target="species").target
    'species'
    """

    name: str
    rows: int
    columns: int
    target: str
    sha256: str | None = None
    command: str | None = None
    row_numbers: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class ModelMeasurement:
    """A model and its explanation on held-out rows: what everything in the result is computed from.

    `reading` is the network's answer on these rows; None if the rules are the model.
    """

    model: EntropyClassifier
    explanation: Explanation
    source: Source
    rules: RuleSet
    aside: SetAside
    statistics: RuleStatistics
    reading: Reading | None

    @cached_property
    def truth(self) -> NDArray[np.bool_]:
        """The true classes, `[rows, classes]`."""
        has: NDArray[np.bool_] = self.aside.table.targets() > 0
        return has

    @cached_property
    def packed(self) -> PackedRows:
        """The rows as Boolean concepts, packed."""
        return PackedRows.of(self.aside.table.boolean(), self.aside.table.names)

    @cached_property
    def by_rules(self) -> NDArray[Any]:
        """The answer of the rules for each row."""
        return self.rules.predict(self.packed)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """The answer of the model for each row."""
        return self.by_rules if self.reading is None else self.model._answers_of(self.reading)

    @cached_property
    def simplest(self) -> tuple[Literal, ...]:
        """The best single condition for each class, chosen on the training rows."""
        table = self.model.table_
        return tuple(best_literal(table, head) for head in range(len(table.class_names)))

    @property
    def weight(self) -> NDArray[np.float64]:
        """The weight of each row."""
        return self.aside.table.weight

    def klass(self, explained: ClassExplanation) -> ClassResult:
        """Return one class: its formula in words and symbols, its statistics, and the relevance of concepts."""
        head, table = explained.head, self.aside.table
        explained = self._told_of_the_rest(explained)
        decision = self.statistics[explained.name].decision
        simplest, certificate = self.simplest[head], explained.certificate
        alone = (simplest | DNF.false).evaluate(table.boolean(), table.names)
        told = replace(self.rules, facts=replace(self.rules.facts, target=self.source.target))
        return ClassResult(
            name=explained.name,
            formula=str(explained).splitlines()[0],
            english=told.sentence(told.rule(explained.name)),
            fidelity=explained.fidelity,
            equals_network=explained.equals_network,
            certified=None
            if certificate is None
            else Certified(
                str(certificate.domain),
                certificate.smallest_logit,
                certificate.rounding_bound,
                certificate.origin,
            ),
            reason=explained.reason,
            remedy=explained.remedy,
            precision=decision.precision.record(),
            recall=decision.recall.record(),
            f1=known(decision.f1),
            simplest=Simplest(
                condition_words(simplest, self.model.schema_.predicates, self.rules.facts), self._f1_alone(alone, head)
            ),
            relevance=tuple(
                Relevance(lean.concept, lean.relevance, lean.used, lean.reason, self._words(lean.concept))
                for lean in self._leanings(explained)
            ),
            gaps=tuple(self._gaps(cube) for cube in self.rules.rules[head].cubes),
        )

    def _told_of_the_rest(self, explained: ClassExplanation) -> ClassExplanation:
        """Return a class with what its reason lacks if it has no rule, but is the answer where no rule fires."""
        rules = self.rules
        is_rest = explained.head == rules.otherwise and rules.resolve != "none" and not rules.multilabel
        if not is_rest or explained.formula != DNF.false or explained.reason is None:
            return explained
        reason = f"{explained.reason.rstrip('.')}; {rules.class_words(explained.name)} where no rule fires."
        return replace(explained, reason=reason)

    def _gaps(self, cube: Cube) -> tuple[GapCount, ...]:
        """Return on how many rows that a cube fires on a value is missing, for each condition that this satisfies."""
        fires = DNF([cube]).evaluate(self.packed)
        counts = []
        for condition in gap_conditions(cube, self.rules.predicates, self.rules.facts):
            missing = [rows for column in condition.sources if (rows := self._missing(column)) is not None]
            if len(missing) < len(condition.sources):
                # A column that only an edit brought in, and an engine holds the rows.
                continue
            gone = np.logical_or.reduce(missing)
            absent, present = float(self.weight[fires & gone].sum()), float(self.weight[fires & ~gone].sum())
            counts.append(GapCount(condition.subject, condition.words, absent, present))
        return tuple(counts)

    def _missing(self, column: str) -> NDArray[np.bool_] | None:
        """Return on which rows a column has no value; None if that is not known."""
        for concept, meant in self.model.schema_.predicates.items():
            if meant.operator == "missing" and meant.column == column:
                return DNF([Cube([Literal(concept)])]).evaluate(self.packed)
        return next((own.missing for own in self.aside.columns if own.name == column), None)

    def _share(self, hits: float, total: float) -> Share:
        return Share(hits, total, self.aside.worth)

    def _metric(self, name: str, right: NDArray[np.bool_]) -> Metric:
        share = self._share(float(self.weight[right].sum()), float(self.weight.sum()))
        return Metric(name, 100 * share.value, 100 * share.low, 100 * share.high, "%")

    def _words(self, concept: str) -> str:
        """Return a condition in words."""
        return literal_words(Literal(concept), self.model.schema_.predicates, self.rules.facts)

    def _leanings(self, explained: ClassExplanation) -> tuple[Leaning, ...]:
        """Return what the network leans on; nothing if the rules are the model, since it has nothing beside them."""
        return () if self.reading is None else explained.leanings(self.model.schema_.predicates)

    def _f1_alone(self, fires: NDArray[np.bool_], head: int) -> float:
        """The F1 of a class if one condition alone decides for it; 0 if no row has the class or gets it."""
        return known(count_decided(fires, self.truth[:, head], self.weight)[0].f1) or 0.0

    def metrics(self) -> tuple[Metric, ...]:
        """Return accuracy of model and rules, fidelity, F1 and complexity of the formulas."""
        table, formulas = self.aside.table, self.explanation.formulas
        labels = np.asarray(table.labels) if table.is_multilabel else self.model.classes_[np.asarray(table.labels)]
        own = np.stack([f.evaluate(table.boolean(), table.names) for f in formulas], axis=1)
        lines = [
            self._metric(metric_named("model_accuracy").name, _right(self.predicted, labels)),
            *self.always(),
        ]
        if self.reading is not None:
            lines.append(self._metric("accuracy of the rules", _right(self.by_rules, labels)))
            agree = (own == self.reading.yes).mean(axis=1)
            agreement = 100 * float(np.average(agree, weights=self.weight))
            lines.append(_plain(f"{metric_named('fidelity').name}, by firing", agreement, "%"))
        f1 = explanation_accuracy(own, self.truth.astype(np.float64), self.weight)
        lines.append(_plain("macro-F1 of the rules' decision", 100 * self.statistics.macro_f1, "%"))
        lines.append(_plain(f"{metric_named('explanation_accuracy').name}, by firing", 100 * f1, "%"))
        literals = float(np.mean([formula.n_literals for formula in formulas]))
        lines.append(_plain(metric_named("complexity").name, literals, "literals per class"))
        return tuple(lines)

    def always(self) -> list[Metric]:
        """Return the accuracy of giving every row the most frequent class of the training rows."""
        if self.aside.table.is_multilabel:
            return []
        name, right = self._most_frequent()
        return [self._metric(f"for comparison: {self.source.target} is always {name}", right)]

    def headline(self) -> Headline | None:
        """Return the accuracy of the rules beside that of the most frequent class; None with several labels per row."""
        table = self.aside.table
        if table.is_multilabel:
            return None
        right = _right(self.by_rules, self.model.classes_[np.asarray(table.labels)])
        name, always = self._most_frequent()
        total = float(self.weight.sum())
        by_rules, by_name = (self._share(float(self.weight[rows].sum()), total).record() for rows in (right, always))
        return Headline(by_rules, name, by_name)

    def costs(self) -> tuple[AnswerCost, ...]:
        """Return what the rules cost by the costs of the knowledge, and each constant answer; nothing without costs."""
        bound, said = getattr(self.model, "_bound", None), self.confusion_of_rules()
        return () if bound is None or bound.costs is None or said is None else answer_costs(bound.costs, said)

    def _most_frequent(self) -> tuple[str, NDArray[np.bool_]]:
        """Return the most frequent class of the training rows, and which held-out rows have it."""
        trained, names = self.model.table_, self.aside.table.class_names
        most = int(np.argmax(np.bincount(np.asarray(trained.labels), trained.weight, minlength=len(names))))
        return names[most], np.asarray(self.aside.table.labels) == most

    def inputs(self) -> tuple[InputColumn, ...]:
        """Return the columns of texts that the rules use with their categories, the concepts and the other of two; and
        those of dates with a typical day.
        """
        cutting = self.model.schema_.cutting
        others = () if cutting is None else cutting.opposites.values()
        meant = [p for p in (*self.model.schema_.predicates.values(), *others) if p.kind is CATEGORY]
        columns = {column: [str(p.value) for p in meant if p.column == column] for column in self.rules.columns}
        # A table in an engine has no raw rows.
        held = self.model.schema_.named(self.aside.columns) if self.aside.columns else ()
        raw = {column.name: column for column in held}
        days = {name: typical_day(raw[name]) for name in columns if name in raw and KINDS[raw[name].kind] is DATE}
        return tuple(
            InputColumn(column, tuple(texts), days.get(column))
            for column, texts in columns.items()
            if texts or days.get(column)
        )

    def warnings(self) -> list[str]:
        """Return reasons to doubt the data: a single condition that predicts a class almost perfectly."""
        tables = (self.model.table_, self.aside.table)
        if self.aside.table.is_multilabel:
            return []
        weight = np.concatenate([table.weight for table in tables])
        truth = np.concatenate([table.targets() > 0 for table in tables])
        for head, literal in enumerate(self.simplest):
            fires = np.concatenate([(literal | DNF.false).evaluate(table.boolean(), table.names) for table in tables])
            right, sides = fires == truth[:, head], (truth[:, head], ~truth[:, head])
            told = [float(weight[rows & right].sum() / weight[rows].sum()) for rows in sides]
            if np.mean(told) >= TELLTALE:
                words = condition_words(literal, self.model.schema_.predicates, self.rules.facts)
                holds, fails = (percent(share, 1) for share in told)
                name = f"{self.source.target} is {self.aside.table.class_names[head]}"
                return [
                    f"one condition alone, {words}, holds on {holds} of the rows where {name}, and fails on {fails} of "
                    "the others: is it known before the outcome, or is it the outcome under another name?"
                ]
        return []

    def confusion(self) -> Confusion | None:
        """Return the confusion matrix of the model; None with several labels per row."""
        if self.reading is None or self.aside.table.is_multilabel:
            return self.confusion_of_rules()
        table, places = self.aside.table, self.reading.logits.argmax(axis=1)
        return confusion(table.class_names, np.asarray(table.labels), places, self.weight, "the network")

    def confusion_of_rules(self) -> Confusion | None:
        """Return the confusion matrix of the rules; None with several labels per row."""
        table = self.aside.table
        if table.is_multilabel:
            return None
        places = self.rules.predict_places(self.packed)
        return confusion(table.class_names, np.asarray(table.labels), places, self.weight, "the rules")

    def rows(self) -> tuple[HeldOutRow, ...]:
        """Return the first rows in file order with the answers for each; equal rows are listed separately."""
        table, copies = self.aside.table, self.aside.copies
        order = np.argsort(copies.places, kind="stable")[:MOST_ROWS]
        numbers = self.source.row_numbers
        used = [table.names.index(concept) for concept in self.rules.concepts]
        bits, labels = table.boolean()[:, used], np.asarray(table.labels)
        by_rules, network, names = self.by_rules, None if self.reading is None else self.predicted, table.class_names
        return tuple(
            HeldOutRow(
                row=place + 1 if numbers is None else int(numbers[place]),
                label=_label(labels[row], names),
                network=None if network is None else _said(network[row], names),
                rules=_said(by_rules[row], names),
                bits="".join("1" if bit else "0" for bit in bits[row]),
            )
            for place, row in zip(copies.places[order].tolist(), copies.rows[order].tolist(), strict=True)
        )


def typical_day(column: Column) -> str | None:
    """Return a day in the middle of a column of dates; None if there is none that a field holds.

    It is the first of a month, or where the column spans no such day, the one halfway from the first to the last:
    it is taken from no row.

    Args:
        column: a column of dates.

    >>> dates = np.array(["2021-03-09", "2021-04-20", "2021-04-28", "2022-12-31"], dtype="datetime64[us]")
    >>> typical_day(Column("admitted", "date", dates)), typical_day(Column("admitted", "date", dates[1:3]))
    ('2021-04-01', '2021-04-24')
    """
    days = np.sort(column.values[~column.missing]).astype("datetime64[D]")
    if not len(days):
        return None
    month = days[len(days) // 2].astype("datetime64[M]")
    firsts = [first.astype("datetime64[D]") for first in (month, month + 1)]
    within = [first for first in firsts if days[0] <= first <= days[-1]]
    # Halfway between two equal days would be the day of a row.
    spread = [days[0] + (days[-1] - days[0]) // 2] if days[0] < days[-1] else firsts
    day = (within or spread)[0].item()
    return day.isoformat() if isinstance(day, date) else None


def _right(predicted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = np.equal(predicted, known).reshape(len(known), -1).all(axis=1)
    return right


def _plain(name: str, value: float, unit: str) -> Metric:
    return Metric(name, value, None, None, unit)


def _label(label: Any, names: tuple[str, ...]) -> str:
    """Return the class of a row, or all of its classes."""
    if np.ndim(label) == 0:
        return names[int(label)]
    return _listed(label, names)


def _said(answer: Any, names: tuple[str, ...]) -> str:
    if np.ndim(answer):
        return _listed(answer, names)
    return "undecided" if answer is None else str(answer)


def _listed(flags: Any, names: tuple[str, ...]) -> str:
    return ", ".join(name for name, flag in zip(names, flags, strict=True) if flag) or "none"


PACKAGES = ("torch", "numpy", "scikit-learn", "pandas")


def result_of(model: EntropyClassifier, explanation: Explanation, source: Source, *, by: Any = None) -> Result:
    """Measure a fitted model and its explanation on held-out rows.

    Args:
        model: fitted with `set_aside`.
        explanation: what `model.explain()` returned.
        source: where the rows come from.
        by: a column by which subgroups are measured: its name, or one value for each row that `fit` was given.

    Raises:
        LogicLensError: if the model has no held-out rows.

    >>> from sklearn.datasets import load_iris
    >>> from logiclens import EntropyClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = EntropyClassifier(set_aside=0.25).fit(X, y)
    >>> result_of(model, model.explain(), Source("iris", rows=150, columns=4, target="species")).title
    'species: rules from iris'
    """
    aside = model.set_aside_
    if aside is None:
        raise LogicLensError("a report needs rows that chose nothing: fit with set_aside=0.25.")
    rules, table = explanation.rules, aside.table
    statistics, reading = statistics_aside(model, rules, by=by), None if model._is_exact else model.read(table)
    told = ModelMeasurement(model, explanation, source, rules, aside, statistics, reading)
    rows = told.rows()
    return Result(
        kind=KIND,
        schema=SCHEMA,
        logiclens=__version__,
        title=f"{source.target}: rules from {source.name}",
        command=source.command,
        data=_data(model, source),
        model_sha256=None,
        versions={
            "logiclens": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        seed=None if model.random_state is None else int(model.random_state),
        parts=Parts(model.table_.n_counted, table.n_counted),
        exact=bool(model._is_exact),
        resolve=rules.resolve,
        multilabel=rules.multilabel,
        concepts=tuple(_concept(concept, rules) for concept in rules.concepts),
        exclusive=tuple(map(tuple, rules.groups.exclusive)),
        implied=tuple(map(tuple, rules.groups.implied)),
        rules=rules,
        classes=tuple(told.klass(explained) for explained in explanation),
        statistics=statistics.record(),
        metrics=told.metrics(),
        confusion=told.confusion(),
        confusion_of_rules=told.confusion_of_rules(),
        firing=_firing(rules.fires(told.packed), table.copies),
        gap=None if reading is None else _gap(explanation.gap(table, reading)),
        history=_history(model),
        rows=rows,
        rows_shown=len(rows),
        rows_total=len(aside.copies.places),
        notes=(*told.warnings(), *explanation.notes, *getattr(model.booleaniser_, "notes_", ())),
        headline=told.headline(),
        costs=told.costs(),
        teacher=None if model.teacher is None else teacher_name(model.teacher),
        inputs=told.inputs(),
        knowledge=tuple(Constraint(one.constraint, one.holds, one.reason) for one in model.knowledge_proofs()),
        protected=tuple(_protected(model, rules, column) for column in getattr(model, "_protected", {})),
    )


def _protected(model: EntropyClassifier, rules: RuleSet, column: str) -> ProtectedColumn:
    """Measure the rules in each group of a protected column, and name the rules that use it."""
    return ProtectedColumn.of(column, rules, statistics_aside(model, rules, by=model._protected[column]))


def _data(model: EntropyClassifier, source: Source) -> Data:
    dropped: Mapping[str, str] = getattr(model.booleaniser_, "dropped_", {})
    left_out = tuple(UnusedColumn(column, reason) for column, reason in dropped.items())
    return Data(source.name, source.rows, source.columns, source.sha256, source.target, left_out)


def _concept(concept: str, rules: RuleSet) -> ConceptWords:
    words, words_not = (
        literal_words(Literal(concept, positive), rules.predicates, rules.facts) for positive in (True, False)
    )
    return ConceptWords(concept, rules.predicate(concept).column, words, words_not)


def _firing(fires: NDArray[np.bool_], copies: NDArray[np.float64]) -> FiringCounts:
    counts = np.bincount(np.minimum(fires.sum(axis=1), 2), copies, minlength=3).tolist()
    return FiringCounts(*map(int, counts))


def _gap(found: Gap) -> GapSummary:
    """Sum up over all classes how many answers each step from the network to the formulas changes."""
    steps = [GapStep(words, sum(one.changed[step] for one in found.classes)) for step, words in STEP_WORDS.items()]
    total = sum(one.n_rows for one in found.classes)
    return GapSummary(1 - sum(one.disagree for one in found.classes) / total, tuple(steps))


def _history(model: EntropyClassifier) -> Curves | None:
    """Return the training curves; None if no network was trained."""
    if not hasattr(model, "train_result_"):
        return None
    history = model.history_
    curves = {name: _finite(values) for name, values in history.columns().items() if name != "epoch"}
    return Curves(**curves, best_epoch=int(history.best_epoch))


def _finite(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    # A curve shows less than six digits; more would only make the page larger.
    return tuple(float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist())


def write_report(
    model: EntropyClassifier,
    path: str | Path,
    explanation: Explanation | None = None,
    *,
    title: str = "a table",
    by: str | None = None,
) -> Path:
    """Write the report page of a fitted model.

    Args:
        model: fitted with `set_aside`.
        path: the file to write, ending in `.html`.
        explanation: what `model.explain()` returned. Default: None, explain it now.
        title: the name of the data. Default: "a table".
        by: a column by which subgroups are measured. Default: None.

    Raises:
        LogicLensError: if the model has no held-out rows, the name is not that of a page, or it cannot be written.

    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from logiclens import EntropyClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = EntropyClassifier(set_aside=0.25).fit(X, y)
    >>> write_report(model, tempfile.mkdtemp() + "/rules.html", title="iris").name
    'rules.html'
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise LogicLensError(f"a report is an HTML page: the name must end in .html, got {quoted(target.name)}.")
    told = model.explain() if explanation is None else explanation
    known = Source(title, model.n_rows_, model.n_features_in_, model.target_name_ or "the class")
    text = render(result_of(model, told, known, by=by))
    return write_whole(target, text)
