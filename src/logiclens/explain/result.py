"""The results of explanations: `Explanation` for all classes and `ClassExplanation` for one, with printing and plots.

The classifier, the reports and the command line use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logiclens.concepts.concept_table import THRESHOLD, ConceptTable
from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.explain.certificate import Certificate, HeadCertificate
from logiclens.explain.decision import rule_set
from logiclens.explain.gap import Gap, SplitSuggestion, gap, suggest_splits
from logiclens.explain.leaning import Leaning, leanings
from logiclens.explain.paper_method import TraceStep
from logiclens.explain.reading import Reading
from logiclens.explain.stability import Stability, with_recurrence
from logiclens.formula.check import Check, parse_property
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.english import NO_FACTS, TableFacts
from logiclens.formula.flip import Flip
from logiclens.formula.knowledge import Costs
from logiclens.formula.packed_rows import PackedRows, RowsLike, as_array, places, unknown_concept
from logiclens.formula.predicate import Predicate, Scalar
from logiclens.formula.rule_set import Firing, Resolve, RuleSet, no_class
from logiclens.formula.text import format_first_order
from logiclens.formula.truth_table import Contradiction, TruthTable
from logiclens.formula.why import Why
from logiclens.metrics.scores import macro_f1
from logiclens.render.figures import plot_pareto, plot_relevance
from logiclens.render.html import class_html, explanation_html
from logiclens.words import for_reading, percent

if TYPE_CHECKING:
    from logiclens.render.figures import Axes


@dataclass(frozen=True)
class ParetoPoint:
    """The best formula of a class with a given number of literals; no shorter formula found is as good.

    `cross_validated` is the macro-F1 that formulas of the same price had in cross-validation inside the training rows;
    None if the formula was not searched.
    """

    name: str
    literals: int
    accuracy: float
    f1: float
    formula: DNF | Complement
    cross_validated: float | None = None

    @for_reading
    def __str__(self) -> str:
        """Return one line of the curve."""
        honest = "" if self.cross_validated is None else f", cross-validated {percent(self.cross_validated, 1)}"
        return (
            f"{self.name}: {self.literals:>2} literals, accuracy {percent(self.accuracy, 1)}, "
            f"F1 {percent(self.f1, 1)}{honest}   {self.formula}"
        )


def pareto(
    name: str,
    formulas: Sequence[DNF | Complement],
    rows: PackedRows,
    truth: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[ParetoPoint, ...]:
    """Return the formulas that no shorter one dominates, the shortest first.

    Args:
        name: the class.
        formulas: the formulas to compare.
        rows: rows that score the formulas.
        truth: whether each row has the class.
        weight: weight of each row.
    """
    points = []
    for formula in formulas:
        fires = formula.evaluate(rows)
        right = float(weight[fires == truth].sum() / weight.sum())
        points.append(ParetoPoint(name, formula.n_literals, right, macro_f1(truth, fires, weight), formula))
    points.sort(key=lambda point: (point.literals, -point.f1, -point.accuracy))
    kept: list[ParetoPoint] = []
    for point in points:
        if not any(other.f1 >= point.f1 and other.accuracy >= point.accuracy for other in kept):
            kept.append(point)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class ClassExplanation:
    """The formula of one class, with its basis and its quality.

    Attributes:
        name: the class.
        head: index of the head in the network.
        formula: the explanation φ; `DNF.false` and `DNF.true` have a `reason`. If there are two classes, one may be the
            `Complement` of the other's formula.
        relevance: α̃ of the head's relevant concepts, the most relevant first.
        table: the truth table T of the network's answers.
        fidelity: how often formula and network agree on the explained rows.
        equals_network: whether they agree on every row, whatever its weight.
        score: macro-F1 of the formula on the rows that chose it, against `scored_against`.
        scored_against: `"labels"` or `"network"`.
        method: `"search"`, `"paper"` or `"exact"`.
        trace: the cubes of the formula and the other candidates with the most support, and why each was kept or
            dropped.
        proved_minimal: whether the formula equals the network on all rows and it is proved that none with fewer
            literals does.
        reason: why the formula is constant, in words; None if it is not.
        remedy: what to do about it.
        reading: answers of the network on the explained rows.
        certificate: claim that head and formula are equal on a stated domain, if the network was made exact.
        path: the formulas of every length that the search found, each with its cross-validated macro-F1.
        price: the macro-F1 that a literal had to earn in the search, of a complement in that of the formula that it
            refers to; None if it was not searched.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens import explain_class
    >>> told = explain_class(network, rows, target=1)
    >>> print(told.formula, told.fidelity)
    a & b 1.0
    """

    name: str
    head: int
    formula: DNF | Complement
    relevance: dict[str, float]
    table: TruthTable = field(repr=False)
    fidelity: float
    equals_network: bool
    score: float
    scored_against: str
    method: str
    trace: tuple[TraceStep, ...] = field(repr=False)
    proved_minimal: bool
    reason: str | None
    remedy: str | None
    reading: Reading = field(repr=False)
    certificate: HeadCertificate | None = None
    path: tuple[tuple[DNF, float | None], ...] = field(default=(), repr=False)
    price: float | None = None

    def leanings(self, predicates: Mapping[str, Predicate] | None = None) -> tuple[Leaning, ...]:
        """Return what the network leans on: the concepts of the formula first, then why others are not in it.

        Args:
            predicates: meanings of the concepts. Default: each concept is a column.
        """
        reading, names = self.reading, self.reading.table.names
        own = {name: float(reading.relevance[self.head, names.index(name)]) for name in self.formula.concepts}
        return leanings(
            self.formula,
            {**own, **self.relevance},
            reading.table,
            self.head,
            predicates=predicates or {},
            price=self.price,
            constant=self.reason,
        )

    @property
    def better_constant(self) -> str | None:
        """A note that a constant answer agrees with the network on more of the explained rows; None if none does."""
        seen = self.reading.seen
        share_of_yes = float(seen.weight @ seen.yes[:, self.head] / seen.weight.sum())
        answer, share = ("yes", share_of_yes) if share_of_yes > 0.5 else ("no", 1 - share_of_yes)
        return f"always {answer} agrees on {percent(share, 1)}" if share > self.fidelity else None

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Boolean rows that the network answers both ways, the most frequent first."""
        return self.table.contradictions

    def suggest_splits(self) -> tuple[SplitSuggestion, ...]:
        """Return the concepts that, split finer or added, would separate the contradictions; the best first."""
        return suggest_splits(self.reading, self.head, self.table.names)

    @property
    def first_order(self) -> str:
        """The formula as a first-order sentence."""
        return format_first_order(
            self.formula,
            self.name,
            fidelity=None if self.equals_network else self.fidelity,
            groups=self.reading.table.kept_groups(),
            other=self._other,
        )

    @property
    def _other(self) -> str | None:
        """The other of two classes."""
        names = self.reading.class_names
        return names[1 - self.head] if len(names) == 2 else None

    @for_reading
    def __str__(self) -> str:
        """Return the formula as a sentence, with the reason if it is constant."""
        told = f"{self.first_order}   (otherwise)" if isinstance(self.formula, Complement) else self.first_order
        told += "" if self.better_constant is None else f"   [{self.better_constant}]"
        return told if self.reason is None else f"{told}\n    {self.reason} {self.remedy}"

    def _repr_html_(self) -> str:
        return class_html(self, {})


@dataclass(frozen=True, eq=False)
class Explanation(Sequence[ClassExplanation]):
    """The explanations of all classes: a sequence that also accepts the name of a class as index.

    Attributes:
        classes: one explanation for each head.
        notes: notes for the reader.
        labels: labels of the classes, if they differ from the names.
        predicates: meaning of the concepts on the raw table.
        resolve: how to decide if not exactly one formula fires; see `RuleSet`. Default: `"order"`.
        order: with `resolve="order"`, the places of the classes in the order in which they decide. Default: the order
            that `best_order` finds on the explained rows.
        otherwise: place of the class of rows on which no formula fires. Default: the class with the best score.
        answers: answers of a teacher on the explained rows, 0 to 1 for each class. If given, the order and the class
            `otherwise` follow them instead of the labels.
        model_rules: the rules that the model itself predicts with, if it was made exact.
        rows: the explained rows as given, if the network read them cut to 0 and 1.
        stability: how often rules are found again when rows are drawn again, if that was measured.
        facts: what is known of the training table, for words. Default: nothing.
        costs: what false alarms and misses of each class cost, if the order follows them. Default: None.
        factors: weight of each class in the score of the order. Default: None, equal weights.
        without_rest: classes that cannot be `otherwise` unless they are a complement. Default: none.
        multilabel: whether a row may have several classes, also if its rows have no labels. Default: as their labels
            say.
        first: place of the class that comes first in the order that is found. Default: any.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens import explain_all
    >>> explanation = explain_all(network, rows)
    >>> print(explanation[1].formula, len(explanation))
    a & b 2
    """

    classes: tuple[ClassExplanation, ...]
    notes: tuple[str, ...] = ()
    labels: tuple[Scalar, ...] = ()
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    resolve: Resolve = "order"
    stability: Stability | None = None
    model_rules: RuleSet | None = field(default=None, repr=False)
    rows: ConceptTable | None = field(default=None, repr=False)
    order: tuple[int, ...] = ()
    otherwise: int | None = None
    answers: NDArray[np.float64] | None = field(default=None, repr=False)
    facts: TableFacts = NO_FACTS
    costs: tuple[Costs, ...] | None = None
    factors: NDArray[np.float64] | None = field(default=None, repr=False)
    without_rest: frozenset[int] = frozenset()
    multilabel: bool = False
    first: int | None = None

    def __getitem__(self, key: Any) -> Any:
        """Return a class by position, slice, or class name."""
        if not isinstance(key, str):
            return self.classes[key]
        for explained in self.classes:
            if explained.name == key:
                return explained
        known = ", ".join(repr(explained.name) for explained in self.classes[:8])
        raise LogicLensError(f"there is no class {quoted(key)}; the classes are {known}.")

    def __iter__(self) -> Iterator[ClassExplanation]:
        """Iterate over the classes in order."""
        return iter(self.classes)

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.classes)

    @property
    def formulas(self) -> tuple[DNF | Complement, ...]:
        """The formula of each class."""
        return tuple(explained.formula for explained in self.classes)

    def fires(self, rows: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """Return on which rows the formula of each class holds: `[rows, classes]`.

        Args:
            rows: rows of concepts, or a raw table. A table with the columns of all concepts is read as the network
                reads it, true from 0.5 on; any other table by the meaning of the concepts on the raw columns.
            names: names of the columns. Default: None.
        """
        if hasattr(rows, "columns") and set(self.reading.table.names) <= {str(column) for column in rows.columns}:
            table = self._table(rows)
            rows = PackedRows.of(table.boolean(), table.names)
        return self.rules.fires(rows, names)[:, -len(self.classes) :]

    @property
    def reading(self) -> Reading:
        """The answers of the network on the explained rows."""
        return self.classes[0].reading

    @property
    def certified(self) -> tuple[HeadCertificate, ...]:
        """The certificate of each head, if the network was made exact."""
        return tuple(explained.certificate for explained in self.classes if explained.certificate is not None)

    @property
    def certificate(self) -> Certificate | None:
        """The claim that all heads equal their formulas, if the network was made exact."""
        return Certificate(self.certified) if len(self.certified) == len(self.classes) else None

    @cached_property
    def rules(self) -> RuleSet:
        """The formulas as rules that predict without the network, with confidences from the explained rows.

        Confidences are measured against the labels of the rows, or against the network's answers if there are no
        labels. If the search was repeated on bags, each cube has the number of bags in which it recurs.
        """
        if self.model_rules is not None:
            return self.model_rules
        reading, table = self.reading, self.reading.table
        multilabel = self.multilabel or table.is_multilabel
        truth = reading.yes.astype(np.float64) if table.labels is None else reading.targets()
        formulas, labels = list(self.formulas), list(self.labels or (explained.name for explained in self.classes))
        if len(self.classes) == 1 and not multilabel:
            # A single head answers for two classes: a no is the other class.
            other = table.class_names[0] if len(table.class_names) == 2 else f"not {labels[0]}"
            (formula,) = formulas
            refused = formula.of if isinstance(formula, Complement) else Complement(formula)
            formulas, truth = [refused, formula], np.column_stack([1 - truth, truth])
            labels = labels if len(labels) == 2 else [other, *labels]
        made = rule_set(
            formulas,
            labels,
            PackedRows.of(reading.bits, table.names),
            truth,
            table.weight,
            predicates=self.predicates,
            groups=table.groups,
            resolve=self.resolve,
            order=self.order if len(self.order) == sum(isinstance(formula, DNF) for formula in formulas) else (),
            otherwise=self.otherwise,
            multilabel=multilabel,
            answers=self.answers,
            costs=self.costs,
            factors=self.factors,
            without_rest=self.without_rest,
            first=self.first,
        )
        return replace(with_recurrence(made, self.stability), facts=self.facts)

    def firing(self, rows: RowsLike | None = None) -> Firing:
        """Return on how many rows no formula, exactly one, or several fire.

        Args:
            rows: the rows. Default: the explained rows.
        """
        table = self._table(rows)
        fired = np.minimum(self.rules.fires(table.boolean(), self.reading.table.names).sum(axis=1), 2)
        # A row that stands for several counts that many times.
        counts = np.bincount(fired, table.copies, minlength=3)
        return Firing(*(int(count) for count in counts))

    def why(self, row: Any) -> Why:
        """Return the reason codes of a row: which cubes fired, and which literals failed in the others.

        Args:
            row: a dictionary from column to value, a Series, or a table with one row.
        """
        return self.rules.why(row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """Return a smallest change of a row that changes the answer, in terms of the raw columns.

        Args:
            row: the row.
            frozen: columns and concepts that must not change. Default: none.
            to: class to reach. Default: any other class.
            of: class whose formula must change its answer; required if a row can have several labels. Default: None.
        """
        return self.rules.flip(row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Any, *, of: Scalar | None = None) -> Check:
        """Return whether the rules have a property, such as `"never uses 'gender'"`, or else a counterexample.

        Args:
            wanted: the property, as text or as a value.
            of: class whose formula alone is checked. Default: all classes.

        Raises:
            UnknownConcept: if the model has never seen the column of the property. Such a property is an error, not a
                yes.
        """
        asked = parse_property(wanted) if isinstance(wanted, str) else wanted
        columns = [name for one in self.predicates.values() for name in (one.column, *one.sources)]
        known = dict.fromkeys((*columns, *self.reading.table.names))
        if (column := getattr(asked, "column", None)) is not None and column not in known:
            raise unknown_concept(column, tuple(known))
        return self.rules.check(asked, of=of)

    def gap(self, rows: RowsLike | None = None, reading: Reading | None = None) -> Gap:
        """Return where network and formulas disagree, and at which step; see `logiclens.explain.gap`.

        Args:
            rows: the rows. Default: the explained rows.
            reading: answers of the network on the rows, if known. Default: computed.
        """
        tables = [explained.table for explained in self.classes]
        if rows is None and self.rows is None:
            reading = self.reading
        return gap(self.reading, tables, self.formulas, self._table(rows), reading)

    def pareto(self, rows: RowsLike | None = None, labels: ArrayLike | None = None) -> tuple[ParetoPoint, ...]:
        """Return the accuracy and F1 for each number of literals, class by class: a curve to choose `max_literals`.

        Scores on the explained rows are optimistic; pass `rows` and `labels` of held-out rows for an unbiased curve.
        Formulas that were searched also have their cross-validated score.

        Args:
            rows: rows that score the formulas. Default: the explained rows.
            labels: labels of the rows; required with `rows`. Default: the labels of the explained rows, or the
                network's answers if there are none.

        Raises:
            LogicLensError: if there are `rows` without `labels`, or a label is not a class.
        """
        curve, points = self._curve_on(rows, labels), []
        for explained in self.classes:
            scores: dict[DNF | Complement, float | None] = dict(reversed(explained.path))
            for point in curve(explained, _candidates(explained)):
                points.append(replace(point, cross_validated=scores.get(point.formula)))
        return tuple(points)

    def _curve_on(
        self, rows: RowsLike | None, labels: ArrayLike | None
    ) -> Callable[[ClassExplanation, Sequence[DNF | Complement]], tuple[ParetoPoint, ...]]:
        """Return a function that scores formulas of a class on some rows and drops the dominated ones."""
        table = self._table(rows)
        if labels is not None:
            table = ConceptTable(table.values, table.names, self._codes(labels), self.reading.table.class_names)
        elif rows is not None:
            raise LogicLensError("the curve of other rows needs their labels: pass labels=..., the class of each row.")
        packed = PackedRows.of(table.boolean(), table.names)
        truth = self.reading.yes if table.labels is None else _of_heads(table, len(self.classes)) > 0
        return lambda explained, formulas: pareto(
            explained.name, formulas, packed, truth[:, explained.head], table.weight
        )

    def plot_relevance(self, target: Scalar | None = None, *, ax: Axes | None = None) -> Axes:
        """Plot the relevance of each concept to the network, one class below the other.

        Args:
            target: label or name of the class. Default: all classes.
            ax: axes to draw on. Default: those of a new figure of pyplot, which `plt.show()` displays.

        Returns:
            The axes.

        Raises:
            LogicLensError: if there is no such class.
        """
        names, rules = self.reading.table.names, self.rules
        chosen = {rules.class_heading(explained.name): explained for explained in self._asked(target)}
        relevance = {
            heading: dict(zip(names, self.reading.relevance[explained.head].tolist(), strict=True))
            for heading, explained in chosen.items()
        }
        return plot_relevance(relevance, {heading: one.formula.concepts for heading, one in chosen.items()}, ax)

    def plot_pareto(
        self,
        rows: RowsLike | None = None,
        labels: ArrayLike | None = None,
        *,
        target: Scalar | None = None,
        score: Literal["f1", "accuracy"] = "f1",
        ax: Axes | None = None,
    ) -> Axes:
        """Plot the curves of `pareto(rows, labels)`; rings mark the chosen formulas.

        If a ring is off its curve, a shorter formula is as good on these rows.

        Args:
            rows: see `pareto`.
            labels: see `pareto`.
            target: label or name of the class. Default: all classes.
            score: `"f1"` or `"accuracy"`. Default: `"f1"`.
            ax: see `plot_relevance`.

        Returns:
            The axes.

        Raises:
            LogicLensError: if `score` is not valid, there is no such class, or there are `rows` without `labels`.
        """
        if score not in _SCORES:
            raise LogicLensError(f"score must be 'f1' or 'accuracy', got {quoted(score)}.")
        curve, told = self._curve_on(rows, labels), self.rules
        curves, rings = {}, {}
        for explained in self._asked(target):
            points: list[tuple[int, float]] = []
            for point in curve(explained, _candidates(explained)):
                # A longer formula may be better by the other score only.
                if not points or getattr(point, score) > points[-1][1]:
                    points.append((point.literals, getattr(point, score)))
            (ring,) = curve(explained, (explained.formula,))
            heading = told.class_heading(explained.name)
            curves[heading], rings[heading] = points, (ring.literals, getattr(ring, score))
        against = (
            " against the network" if rows is None and labels is None and self.reading.table.labels is None else ""
        )
        where = "on the explained rows" if rows is None else "on the rows given"
        return plot_pareto(curves, rings, f"{_SCORES[score]}{against} {where}", ax)

    def _asked(self, target: Scalar | None) -> tuple[ClassExplanation, ...]:
        """Return the class with a label or name; all classes without a target."""
        labels = self.labels[-len(self.classes) :] or tuple(explained.name for explained in self.classes)
        found = [e for e, label in zip(self.classes, labels, strict=True) if target in (None, label, e.name)]
        if not found:
            raise no_class(target, [explained.name for explained in self.classes])
        return tuple(found)

    def _codes(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels as class numbers: by the model's labels, else by the class names, else unchanged."""
        given = as_array(labels)
        known = list(self.labels) or list(self.reading.table.class_names)
        if given.ndim != 1 or not known or (not self.labels and given.dtype.kind in "iu"):
            return given
        place = {label: i for i, label in enumerate(known)}
        for label in given.tolist():
            if label not in place:
                raise LogicLensError(f"there is no class {quoted(label)}; the classes are {quoted_names(known)}.")
        return np.array([place[label] for label in given.tolist()])

    def _table(self, rows: RowsLike | None) -> ConceptTable:
        """Return rows as concepts, by name or through their predicates; the explained rows if none are given."""
        known = self.reading.table
        if rows is None:
            return known if self.rows is None else self.rows
        if isinstance(rows, ConceptTable):
            return rows.with_columns(known.names)
        if not hasattr(rows, "columns"):
            return ConceptTable(rows, known.names, class_names=known.class_names or None)
        columns = [str(column) for column in rows.columns]
        if set(known.names) <= set(columns) or not self.predicates:
            return ConceptTable(as_array(rows)[:, places(known.names, columns)], known.names)
        label = dict(zip(columns, rows.columns, strict=True))
        meant = [self.predicates.get(name) or Predicate(name, ">=", THRESHOLD) for name in known.names]
        sources = list(dict.fromkeys(name for predicate in meant for name in predicate.sources))
        place = places(sources, columns)
        raw = {name: rows[label[columns[i]]] for name, i in zip(sources, place, strict=True)}
        held = [predicate.held_by(raw) for predicate in meant]
        return ConceptTable(np.column_stack(held), known.names)

    def __repr__(self) -> str:
        """Return the same text as `str`."""
        return str(self)

    def _repr_html_(self) -> str:
        return explanation_html(self)

    @for_reading
    def __str__(self) -> str:
        """Return one sentence per class, how the classes are decided, then the notes."""
        stability = [] if self.stability is None else [str(self.stability)]
        return "\n".join(
            [*map(str, self.classes), *self._in_order(), *(f"note: {note}" for note in self.notes), *stability]
        )

    def _in_order(self) -> list[str]:
        """Return a line with the order of more than two classes, if the order decides."""
        rules = self.rules
        if rules.resolve != "order" or rules.multilabel or len(rules.order) < 3:
            return []
        names = ", ".join(rules.names[place] for place in rules.order)
        otherwise = "" if rules.otherwise is None else f"; otherwise {rules.names[rules.otherwise]}"
        return [f"the first that applies decides: {names}{otherwise}"]


_SCORES = {"f1": "macro-F1", "accuracy": "accuracy"}


def _candidates(explained: ClassExplanation) -> tuple[DNF | Complement, ...]:
    """Return the formula of a class and the other formulas that were available."""
    return (*(formula for formula, _ in explained.path), explained.formula)


def _of_heads(table: ConceptTable, n_heads: int) -> NDArray[np.float64]:
    """Return the labels as 0/1 `[rows, heads]`; a single head for two classes has the target class 1."""
    targets = table.targets()
    return targets[:, 1:] if n_heads == 1 and targets.shape[1] == 2 else targets
