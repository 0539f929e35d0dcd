"""Explanation and ClassExplanation: frozen results with names, and how they are printed and plotted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from logiclens.concepts.concept_table import THRESHOLD, ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.certificate import Certificate, HeadCertificate
from logiclens.explain.decision import rule_set
from logiclens.explain.gap import Gap, SplitSuggestion, gap, suggest_splits
from logiclens.explain.paper_method import TraceStep
from logiclens.explain.reading import Reading
from logiclens.explain.stability import Stability, with_recurrence
from logiclens.formula.check import Check, parse_property
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.flip import Flip
from logiclens.formula.packed_rows import PackedRows, RowsLike, as_array, places, unknown_concept
from logiclens.formula.predicate import Predicate, Scalar
from logiclens.formula.rule_set import Firing, Resolve, RuleSet, no_class
from logiclens.formula.text import format_first_order
from logiclens.formula.truth_table import Contradiction, TruthTable
from logiclens.formula.why import Why
from logiclens.metrics.scores import macro_f1
from logiclens.render.figures import plot_pareto, plot_relevance, require_matplotlib
from logiclens.render.html import class_html, explanation_html
from logiclens.words import percent

if TYPE_CHECKING:
    from logiclens.render.figures import Axes


@dataclass(frozen=True)
class ParetoPoint:
    """The best formula of a class with so many literals; no shorter one found is as true.

    `cross_validated` is the macro-F1 that formulas of the same price had in cross-validation inside the training rows,
    where the formula was searched.
    """

    name: str
    literals: int
    accuracy: float
    f1: float
    formula: DNF | Complement
    cross_validated: float | None = None

    def __str__(self) -> str:
        """One line of the curve."""
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
    """The formulas that no shorter one beats, the shortest first; scored on some rows."""
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
    """The formula of one class, what it rests on, and how true it is.

    Attributes:
        name: the class.
        head: which head of the network it is.
        formula: the explanation φ; `DNF.false` and `DNF.true` come with a `reason`. Of two classes one may be the
            `Complement` of the other's formula.
        relevance: α̃ of the head's relevant concepts, the most relevant first.
        table: the truth table T that the network filled.
        fidelity: how often formula and network agree on the explained rows.
        equals_network: whether they agree on every one of them, whatever it weighs.
        score: macro-F1 of the formula on the rows that chose it, against `scored_against`.
        trace: the cubes of the formula and the best supported other candidates, and why each was kept or dropped.
        proved_minimal: whether the formula equals the network on all rows and, proved, none with fewer literals does.
        reason: in words, why the formula is constant, where it is.
        remedy: what to do about it.
        certificate: that head and formula are equal on a stated domain, where the network was made exact.
        path: the formulas of every length that the search found, each with its cross-validated macro-F1.
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

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Boolean rows that the network answers both ways, the most frequent first."""
        return self.table.contradictions

    def suggest_splits(self) -> tuple[SplitSuggestion, ...]:
        """Which concept, split finer or added, would separate the contradictions; the best first."""
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

    def __str__(self) -> str:
        """The formula as a sentence; the reason where it is constant."""
        told = f"{self.first_order}   (otherwise)" if isinstance(self.formula, Complement) else self.first_order
        return told if self.reason is None else f"{told}\n    {self.reason} {self.remedy}"

    def _repr_html_(self) -> str:
        return class_html(self, {})


@dataclass(frozen=True, eq=False)
class Explanation(Sequence[ClassExplanation]):
    """The explanations of all classes: a sequence, also by the name of a class.

    Attributes:
        classes: one explanation for each head.
        notes: what the reader should know.
        labels: the classes as labels, where they are not their names.
        predicates: what the concepts mean on the raw table.
        resolve: who decides where not exactly one formula fires; see `RuleSet`.
        order: with `resolve="order"`, the places of the classes in the order in which they decide; without one, the
            order that `best_order` finds on the explained rows.
        otherwise: the place of the class of rows on which no formula fires; without one, that with the best score.
        answers: what a teacher says of the explained rows, 0 to 1 for each class; the order and the class `otherwise`
            then follow it, and not the labels.
        model_rules: the rules that the model itself predicts with, where it was made exact.
        soft_network: the network before it was made exact, where it is kept.
        rows: the explained rows as they came, where the network read them cut to 0 and 1.
        soft_agreement: where the network was made exact, the share of the explained rows on which the rules predict
            what the soft network did.
        stability: how often concepts and cubes are chosen when rows are drawn again, where that was asked for.
    """

    classes: tuple[ClassExplanation, ...]
    notes: tuple[str, ...] = ()
    labels: tuple[Scalar, ...] = ()
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    resolve: Resolve = "order"
    soft_agreement: float | None = None
    stability: Stability | None = None
    model_rules: RuleSet | None = field(default=None, repr=False)
    soft_network: nn.Module | None = field(default=None, repr=False)
    rows: ConceptTable | None = field(default=None, repr=False)
    order: tuple[int, ...] = ()
    otherwise: int | None = None
    answers: NDArray[np.float64] | None = field(default=None, repr=False)

    def __getitem__(self, key: Any) -> Any:
        """By position, slice, or class name."""
        if not isinstance(key, str):
            return self.classes[key]
        for explained in self.classes:
            if explained.name == key:
                return explained
        known = ", ".join(repr(explained.name) for explained in self.classes[:8])
        raise LogicLensError(f"there is no class {key!r}; the classes are {known}.")

    def __iter__(self) -> Iterator[ClassExplanation]:
        """The classes in order."""
        return iter(self.classes)

    def __len__(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def formulas(self) -> tuple[DNF | Complement, ...]:
        """The formula of each class."""
        return tuple(explained.formula for explained in self.classes)

    def fires(self, rows: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """On which row the formula of which class holds: `[rows, classes]`.

        A table with the columns of all concepts is read as the network reads it, true from 0.5 on; any other by what
        the concepts mean on the raw table.
        """
        if hasattr(rows, "columns") and set(self.reading.table.names) <= {str(column) for column in rows.columns}:
            table = self._table(rows)
            rows = PackedRows.of(table.boolean(), table.names)
        return self.rules.fires(rows, names)[:, -len(self.classes) :]

    @property
    def reading(self) -> Reading:
        """What the network says about the explained rows."""
        return self.classes[0].reading

    @property
    def certified(self) -> tuple[HeadCertificate, ...]:
        """The certificate of each head, where the network was made exact."""
        return tuple(explained.certificate for explained in self.classes if explained.certificate is not None)

    @property
    def certificate(self) -> Certificate | None:
        """That all heads are their formulas, where the network was made exact."""
        return Certificate(self.certified) if len(self.certified) == len(self.classes) else None

    @cached_property
    def rules(self) -> RuleSet:
        """The formulas as rules that predict, without the network; confidences are those of the explained rows.

        They are measured against the labels of the rows, or where these are not known against the network's answers.
        Where the search was repeated on bags, each cube knows in how many of them it recurs.
        """
        if self.model_rules is not None:
            return self.model_rules
        reading, table = self.reading, self.reading.table
        truth = reading.yes.astype(np.float64) if table.labels is None else reading.targets()
        formulas, labels = list(self.formulas), list(self.labels or (explained.name for explained in self.classes))
        if len(self.classes) == 1 and not table.is_multilabel:
            # One head answers for two classes: what it refuses is the other.
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
            multilabel=table.is_multilabel,
            answers=self.answers,
        )
        return with_recurrence(made, self.stability)

    def firing(self, rows: RowsLike | None = None) -> Firing:
        """On how many rows no formula, exactly one, or several fire; on the explained rows where none are given."""
        table = self._table(rows)
        fired = np.minimum(self.rules.fires(table.boolean(), self.reading.table.names).sum(axis=1), 2)
        # A row that stands for several counts as often.
        counts = np.bincount(fired, table.copies, minlength=3)
        return Firing(*(int(count) for count in counts))

    def why(self, row: Any) -> Why:
        """Which cubes fired on a row, and which literals failed in the others: the reason codes."""
        return self.rules.why(row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """A smallest change of a row that changes the answer, told on the raw columns.

        `to` asks for a class; `of` asks that the formula of one class turns.
        """
        return self.rules.flip(row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Any, *, of: Scalar | None = None) -> Check:
        """Whether the rules have a property, such as `"never uses 'gender'"`; with a counterexample where not.

        `of` asks for the formula of one class only. A column that the model has never seen is an error, not a yes.
        """
        asked = parse_property(wanted) if isinstance(wanted, str) else wanted
        columns = [predicate.column for predicate in self.predicates.values()]
        known = dict.fromkeys((*columns, *self.reading.table.names))
        if (column := getattr(asked, "column", None)) is not None and column not in known:
            raise unknown_concept(column, tuple(known))
        return self.rules.check(asked, of=of)

    def gap(self, rows: RowsLike | None = None, reading: Reading | None = None) -> Gap:
        """Where network and formulas disagree, and at which step on the way; see `logiclens.explain.gap`.

        `reading` is what the network says about the rows, where that is known already.
        """
        tables = [explained.table for explained in self.classes]
        if rows is None and self.soft_network is None and self.rows is None:
            reading = self.reading
        return gap(self.reading, tables, self.formulas, self._table(rows), self.soft_network, reading)

    def pareto(self, rows: RowsLike | None = None, labels: ArrayLike | None = None) -> tuple[ParetoPoint, ...]:
        """What accuracy and F1 each number of literals buys, class by class: a curve to choose `max_literals` from.

        Scored on the labels of the explained rows (on the network's answers where they have none), which is flattering;
        pass `rows` and their `labels` for an honest curve. Formulas that were searched have their cross-validated score
        beside it.
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
        """What scores formulas of a class on some rows, and leaves out those that a shorter one beats."""
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

    def plot_relevance(self, target: Scalar | None = None, *, axes: Axes | None = None) -> Axes:
        """How much the network leans on each concept, class under class, or for the class `target` only.

        A class is told by its label or its name. Drawn on `axes`, or on those of a new figure, which are returned; the
        new figure is not one of pyplot's, so that nothing else is drawn on it: `plot_relevance().figure.savefig(...)`.
        """
        names, chosen = self.reading.table.names, self._asked(target)
        relevance = {
            explained.name: dict(zip(names, self.reading.relevance[explained.head].tolist(), strict=True))
            for explained in chosen
        }
        return plot_relevance(relevance, {explained.name: explained.formula.concepts for explained in chosen}, axes)

    def plot_pareto(
        self,
        rows: RowsLike | None = None,
        labels: ArrayLike | None = None,
        *,
        target: Scalar | None = None,
        score: Literal["f1", "accuracy"] = "f1",
        axes: Axes | None = None,
    ) -> Axes:
        """The curves of `pareto(rows, labels)`, of all classes or of the class `target`; rings are the formulas chosen.

        A ring off its curve: a shorter formula is as good on these rows. For `axes` see `plot_relevance`.
        """
        require_matplotlib()
        if score not in _SCORES:
            raise LogicLensError(f"score must be 'f1' or 'accuracy', got {score!r}.")
        curve = self._curve_on(rows, labels)
        curves, rings = {}, {}
        for explained in self._asked(target):
            points: list[tuple[int, float]] = []
            for point in curve(explained, _candidates(explained)):
                # A longer formula may only be better by the other score.
                if not points or getattr(point, score) > points[-1][1]:
                    points.append((point.literals, getattr(point, score)))
            (ring,) = curve(explained, (explained.formula,))
            curves[explained.name], rings[explained.name] = points, (ring.literals, getattr(ring, score))
        against = (
            " against the network" if rows is None and labels is None and self.reading.table.labels is None else ""
        )
        where = "on the explained rows" if rows is None else "on the rows given"
        return plot_pareto(curves, rings, f"{_SCORES[score]}{against} {where}", axes)

    def _asked(self, target: Scalar | None) -> tuple[ClassExplanation, ...]:
        """The class with a label or name; all where none is asked for."""
        labels = self.labels[-len(self.classes) :] or tuple(explained.name for explained in self.classes)
        found = [e for e, label in zip(self.classes, labels, strict=True) if target in (None, label, e.name)]
        if not found:
            raise no_class(target, [explained.name for explained in self.classes])
        return tuple(found)

    def _codes(self, labels: ArrayLike) -> NDArray[Any]:
        """Labels as class numbers: by the model's labels, else by the names of the classes, else as they are."""
        given = as_array(labels)
        known = list(self.labels) or list(self.reading.table.class_names)
        if given.ndim != 1 or not known or (not self.labels and given.dtype.kind in "iu"):
            return given
        place = {label: i for i, label in enumerate(known)}
        for label in given.tolist():
            if label not in place:
                raise LogicLensError(f"there is no class {label!r}; the classes are {', '.join(map(repr, known[:8]))}.")
        return np.array([place[label] for label in given.tolist()])

    def _table(self, rows: RowsLike | None) -> ConceptTable:
        """Other rows as concepts, by name or through their predicates; the explained ones where none are given."""
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
        place = places([predicate.column for predicate in meant], columns)
        held = [predicate.holds(rows[label[columns[i]]]) for predicate, i in zip(meant, place, strict=True)]
        return ConceptTable(np.column_stack(held), known.names)

    def __repr__(self) -> str:
        """What a prompt shows."""
        return str(self)

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def __str__(self) -> str:
        """One sentence a class, how the classes are decided, then the notes."""
        stability = [] if self.stability is None else [str(self.stability)]
        return "\n".join(
            [*map(str, self.classes), *self._in_order(), *(f"note: {note}" for note in self.notes), *stability]
        )

    def _in_order(self) -> list[str]:
        """The order of more than two classes, where it decides."""
        rules = self.rules
        if rules.resolve != "order" or rules.multilabel or len(rules.order) < 3:
            return []
        names = ", ".join(rules.names[place] for place in rules.order)
        otherwise = "" if rules.otherwise is None else f"; otherwise {rules.names[rules.otherwise]}"
        return [f"the first that applies decides: {names}{otherwise}"]


_SCORES = {"f1": "macro-F1", "accuracy": "accuracy"}


def _candidates(explained: ClassExplanation) -> tuple[DNF | Complement, ...]:
    """The formula of a class and others that were there to choose from."""
    return (*(formula for formula, _ in explained.path), explained.formula)


def _of_heads(table: ConceptTable, n_heads: int) -> NDArray[np.float64]:
    """The labels as 0/1 `[rows, heads]`; one head for two classes asks for class 1."""
    targets = table.targets()
    return targets[:, 1:] if n_heads == 1 and targets.shape[1] == 2 else targets
